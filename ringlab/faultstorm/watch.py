"""The watchdog: starts the worker that plays the storm, decides from outside what hangs, and looks for leftovers."""

import contextlib
import json
import os
import queue
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor, wait

from tqdm.auto import tqdm

from . import leftovers

MARKER = "RINGLAB_STORM"
WORKER = ("-m", "ringlab.faultstorm.worker")
PATIENCE = 5.0  # seconds that processes may take to end
LOOK_EVERY = 50  # injections between two looks for listening sockets
GRACE = 30.0  # seconds beyond the time limit after which a call hangs; a busy machine may need to start eight ranks


def storm(injections, start="spawn", progress=True, jobs=1):
    """Play all injections; the history, as a list of dicts.

    `jobs` workers play at a time, each its own share: while one waits for a time limit, another has the cores. An
    interrupt ends the storm, with the history so far.
    """
    histories = [[] for _ in range(jobs)]
    playing = Playing()
    bar = tqdm(total=len(injections), desc="faults", unit="fault", disable=not progress, file=sys.stderr)
    with ThreadPoolExecutor(jobs) as threads:
        parts = [
            threads.submit(_one_job, injections[job::jobs], histories[job], bar, start, job, playing)
            for job in range(jobs)
        ]
        try:
            while wait(parts, timeout=0.2).not_done:  # without a time, nothing could interrupt it on Windows
                pass
        except KeyboardInterrupt:
            playing.give_up()
    for part in parts:
        part.result()
    bar.close()
    return [line for history in histories for line in history]


class Playing:
    """The workers that play now, until the storm is given up."""

    def __init__(self):
        self.given_up = threading.Event()
        self._workers = []

    def add(self, worker):
        """One more; ended at once when it comes too late."""
        self._workers.append(worker)
        if self.given_up.is_set():
            _kill(worker)

    def give_up(self):
        """End all of them."""
        self.given_up.set()
        for worker in self._workers:
            if worker.poll() is None:
                _kill(worker)


def _one_job(injections, history, bar, start, job, playing):
    round = 0
    while injections and not playing.given_up.is_set():
        done = _one_worker(injections, history, bar, start, f"{os.getpid()}-{job}-{round}", playing)
        injections, round = injections[done:], round + 1


def _one_worker(injections, history, bar, start, marker, playing):
    """How many of the injections one worker got through (the last one perhaps by hanging)."""
    folder = tempfile.mkdtemp(prefix="ringlab-storm-")  # what the worker leaves in its temporary folder is its own
    worker = subprocess.Popen(
        [sys.executable, *WORKER, start],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, MARKER: marker, "TMPDIR": folder, "RINGLAB_PROGRESS": "off"},  # a bar takes a semaphore
        start_new_session=True,
    )
    playing.add(worker)
    lines = queue.Queue()
    threading.Thread(target=_read, args=(worker.stdout, lines), daemon=True).start()
    threading.Thread(target=_feed, args=(worker.stdin, injections), daemon=True).start()
    done, sockets, semaphores = 0, 0, set()
    limit = GRACE
    while done < len(injections):
        try:
            line = lines.get(timeout=limit)
        except queue.Empty:
            line = None
        if line is None and playing.given_up.is_set():
            history.append({"what": "given up"})
            break
        if line is None:  # nothing came in time, or the worker has died
            history.append({"what": "hang", "n": injections[done].number})
            done += 1
            _kill(worker)
            break
        history.append(line)
        limit = GRACE + injections[min(done, len(injections) - 1)].timeout
        if line["what"] == "end" and line["call"] == "clean":
            done += 1
            bar.update()
            if done % LOOK_EVERY == 0 or done == len(injections):
                sockets = max(sockets, leftovers.listening(MARKER, marker))
                semaphores |= leftovers.semaphores(MARKER, marker)
    with contextlib.suppress(OSError):
        worker.stdin.close()
    _end(worker)
    allowed = start == "forkserver"  # its server has one Unix socket, in its own temporary folder
    left = leftovers.after(MARKER, marker, worker.pid, folder, PATIENCE)
    left["segments"] = sorted({*left["segments"], *semaphores})
    history.append({"what": "left", **left, "sockets": max(0, sockets - allowed)})
    shutil.rmtree(folder, ignore_errors=True)
    return done


def _read(stream, lines):
    for text in stream:
        lines.put(json.loads(text))
    lines.put(None)


def _feed(stream, injections):
    with contextlib.suppress(OSError, ValueError):  # the worker has died
        for injection in injections:
            stream.write(json.dumps(list(injection)) + "\n")
            stream.flush()


def _end(worker):
    """Wait for the worker's own end, and kill it when it does not come."""
    try:
        worker.wait(20)
    except subprocess.TimeoutExpired:
        _kill(worker)
        worker.wait()


def _kill(worker):
    with contextlib.suppress(OSError):
        os.killpg(worker.pid, signal.SIGKILL)
