"""The watchdog: starts the worker that plays the storm, decides from outside what hangs, and looks for leftovers."""

import contextlib
import json
import os
import queue
import signal
import subprocess
import sys
import threading
import time

from tqdm.auto import tqdm

MARKER = "RINGLAB_STORM"
GRACE = 30.0  # seconds beyond the time limit after which a call hangs; a busy machine may need to start eight ranks


def storm(injections, start="spawn", progress=True):
    """Play all injections; the history, as a list of dicts."""
    history, left = [], list(injections)
    bar = tqdm(total=len(left), desc="faults", unit="fault", disable=not progress, file=sys.stderr)
    round = 0
    while left:
        done = _one_worker(left, history, bar, start, f"{os.getpid()}-{round}")
        left, round = left[done:], round + 1
    bar.close()
    return history


def _one_worker(injections, history, bar, start, marker):
    """How many of the injections one worker got through (the last one perhaps by hanging)."""
    worker = subprocess.Popen(
        [sys.executable, "-m", "ringlab.faultstorm.worker", start],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, MARKER: marker},
        start_new_session=True,
    )
    lines = queue.Queue()
    threading.Thread(target=_read, args=(worker.stdout, lines), daemon=True).start()
    threading.Thread(target=_feed, args=(worker.stdin, injections), daemon=True).start()
    done, ended_calls = 0, 0
    limit = GRACE
    while done < len(injections):
        try:
            line = lines.get(timeout=limit)
        except queue.Empty:
            line = None
        if line is None:  # nothing came in time, or the worker has died
            history.append({"what": "hang", "n": injections[done].number})
            done += 1
            break
        history.append(line)
        limit = GRACE + injections[min(done, len(injections) - 1)].timeout
        ended_calls += line["what"] == "end"
        if line["what"] == "end" and line["call"] == "clean":
            done += 1
            bar.update()
    _end(worker)
    history.append(_left(marker, worker.pid))
    return done


def _read(stream, lines):
    for text in stream:
        lines.put(json.loads(text))
    lines.put(None)


def _feed(stream, injections):
    with contextlib.suppress(OSError):
        for injection in injections:
            stream.write(json.dumps(list(injection)) + "\n")
            stream.flush()
        stream.close()


def _end(worker):
    """Wait for the worker's own end, and kill it when it does not come."""
    try:
        worker.wait(20)
    except subprocess.TimeoutExpired:
        with contextlib.suppress(OSError):
            os.killpg(worker.pid, signal.SIGKILL)
        worker.wait()


def _left(marker, pid, patience=5.0):
    """What is still there `patience` seconds after the worker's end: processes of ours, shared memory, listeners."""
    end = time.monotonic() + patience
    wake = threading.Event()
    while (alive := _processes(marker)) and time.monotonic() < end:
        wake.wait(0.05)
    return {"what": "left", "processes": alive, "segments": _segments(pid), "sockets": 0}


def _processes(marker):
    found, wanted = [], f"{MARKER}={marker}".encode()
    for pid in filter(str.isdigit, os.listdir("/proc") if os.path.isdir("/proc") else ()):
        with contextlib.suppress(OSError), open(f"/proc/{pid}/environ", "rb") as file:
            if wanted in file.read().split(b"\0"):
                found.append(int(pid))
    return found


def _segments(pid):
    names = os.listdir("/dev/shm") if os.path.isdir("/dev/shm") else ()  # nosec B108
    return sorted(name for name in names if name.startswith(f"ringlab_{pid}_"))
