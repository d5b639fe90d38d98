"""The peers we measure ourselves against: which are here, how each is started, and how to get those that are not."""

import contextlib
import functools
import importlib.util
import json
import os
import select
import shutil
import subprocess
import sys
import tempfile
import time
from typing import NamedTuple

from .verdicts import BadInput

UP_SECONDS = 120  # until all processes of a peer have met
ANSWER_SECONDS = 300  # for one measurement
LAST_WORDS_SECONDS = 5  # for the others of a peer of which one process has ended


class Peer(NamedTuple):
    """A library with an all-reduce of its own. `marks`: what its mpiexec says of itself."""

    name: str
    install: str
    marks: tuple = ()


PEERS = {
    "mpich": Peer("mpich", "pip install '.[mpi]'", ("HYDRA", "mpich")),
    "openmpi": Peer("openmpi", "apt install openmpi-bin && pip install mpi4py", ("Open MPI", "OpenRTE")),
    "gloo": Peer("gloo", "pip install torch"),
}


def check_peers(names):
    """The names, or BadInput."""
    for name in names:
        if name not in PEERS:
            raise BadInput(f"peer {name!r} is not known", f"use some of {', '.join(PEERS)}")
    return list(names)


@functools.cache
def launcher(name):
    """Path of the peer's mpiexec, or None."""
    folders = [os.path.dirname(sys.executable), *os.environ.get("PATH", "").split(os.pathsep)]
    words = ("mpiexec", "mpiexec.hydra", "mpiexec.mpich", "mpiexec.openmpi", "mpirun", "mpirun.openmpi")
    for folder in folders:
        for word in words:
            path = shutil.which(word, path=folder) if folder else None
            if path and any(mark in _version(path) for mark in PEERS[name].marks):
                return path
    return None


@functools.cache
def _version(path):
    try:
        done = subprocess.run([path, "--version"], capture_output=True, text=True, timeout=20)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout + done.stderr


def missing(name):
    """What of the peer is not here, in words; None when all is."""
    if os.name == "nt":
        return "needs Linux or macOS"
    if name == "gloo":
        return None if importlib.util.find_spec("torch") else "PyTorch is not installed"
    if launcher(name) is None:
        return "its mpiexec is not installed"
    return None if importlib.util.find_spec("mpi4py") else "mpi4py is not installed"


def _library_of(name):
    """What tells mpi4py, whose wheels can do with any MPI, to take the one that this mpiexec belongs to."""
    folder = os.path.join(os.path.dirname(os.path.dirname(launcher(name))), "lib")
    if any(file.startswith("libmpi.") for file in os.listdir(folder)):
        return {"MPI4PY_LIBMPI": folder, "LD_LIBRARY_PATH": f"{folder}:{os.environ.get('LD_LIBRARY_PATH', '')}"}
    return {"MPI4PY_MPIABI": name}


class PeerJob:
    """`ranks` processes of a peer, ready to measure. `failed` says in words why it can measure no more."""

    def __init__(self, name, ranks):
        self.name, self.ranks, self.failed, self.library = name, ranks, None, name
        self._folder = tempfile.mkdtemp(prefix="ringlab-bench-")
        self._errors = open(os.path.join(self._folder, "errors"), "w+")
        for pipe in ["back", *(f"to-{rank}" for rank in range(ranks))]:
            os.mkfifo(os.path.join(self._folder, pipe))
        # read and write: so opening waits for nobody, and no end of file comes when a process leaves
        self._back = os.open(os.path.join(self._folder, "back"), os.O_RDWR | os.O_NONBLOCK)
        self._orders = [os.open(os.path.join(self._folder, f"to-{rank}"), os.O_RDWR) for rank in range(ranks)]
        self._rest = b""
        self._processes = [
            subprocess.Popen(command, stdout=self._errors, stderr=self._errors, stdin=subprocess.DEVNULL, env=env)
            for command, env in self._commands()
        ]
        names = self._answers(UP_SECONDS)
        if names:
            self.library = names[0]["name"]

    def measure(self, nbytes, count, warm):
        """(seconds of the slowest rank per all-reduce, whether all results are right), or None when it failed."""
        if self.failed:
            return None
        order = json.dumps({"nbytes": nbytes, "count": count, "warm": warm}).encode() + b"\n"
        for pipe in self._orders:
            os.write(pipe, order)
        answers = self._answers(ANSWER_SECONDS)
        if answers is None:
            return None
        return max(answer["seconds"] for answer in answers), all(answer["right"] for answer in answers)

    def close(self):
        """End the processes and take the pipes away."""
        for pipe in self._orders:
            os.write(pipe, b'{"stop": true}\n')
        for process in self._processes:
            for end in (lambda: None, process.terminate, process.kill):  # mpiexec hands a signal on to its ranks
                with contextlib.suppress(OSError):
                    end()
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(10)
                    break
        for pipe in [self._back, *self._orders]:
            os.close(pipe)
        self._errors.close()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _commands(self):
        """(command, environment) of each process that we start."""
        us = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
        env = {
            **os.environ,
            "OMP_NUM_THREADS": "1",
            "PYTHONPATH": os.pathsep.join([us, os.environ.get("PYTHONPATH", "")]),
        }
        program = [sys.executable, "-m", f"{__package__}.bench_peer"]
        if self.name == "gloo":
            env["GLOO_SOCKET_IFNAME"] = os.environ.get("GLOO_SOCKET_IFNAME", "lo" if sys.platform == "linux" else "lo0")
            return [(program + ["gloo", self._folder, str(self.ranks), str(rank)], env) for rank in range(self.ranks)]
        env |= _library_of(self.name)
        options = ["-n", str(self.ranks)]
        if self.name == "openmpi":
            options += ["--oversubscribe", "--bind-to", "none"]  # ranks take a core themselves, as ours do
            env |= {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
        return [([launcher(self.name), *options, *program, "mpi", self._folder, str(self.ranks)], env)]

    def _answers(self, seconds):
        """One answer of every rank, in rank order; None (and `failed`) when they do not come."""
        answers, end = {}, time.monotonic() + seconds
        while len(answers) < self.ranks:
            ready = select.select([self._back], [], [], 0.2)[0]
            if ready:
                *lines, self._rest = (self._rest + os.read(self._back, 1 << 16)).split(b"\n")
                for line in lines:
                    answer = json.loads(line)
                    answers[answer["rank"]] = answer
            elif any(process.poll() is not None for process in self._processes):
                self.failed = f"ended early: {self._last_words()}"
                return None
            elif time.monotonic() > end:
                self.failed = f"did not answer within {seconds} s"
                return None
        return [answers[rank] for rank in range(self.ranks)]

    def _last_words(self):
        """The line that tells why; it may be that of a process that ends a moment after the first."""
        end = time.monotonic() + LAST_WORDS_SECONDS
        for process in self._processes:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(max(0.0, end - time.monotonic()))
        self._errors.flush()
        self._errors.seek(0)
        lines = [line.strip() for line in self._errors.read().splitlines() if line.strip()]
        telling = [line for line in lines if "rror" in line or "mpi4py" in line]
        return (telling or lines or ["without a word"])[-1][:200]
