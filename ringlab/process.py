"""How the process of one rank starts and ends, and what the kernel holds of it."""

import contextlib
import os
import signal
import time
from collections import deque

import multiprocess
from multiprocess import resource_tracker, spawn

from .channel import receive_message
from .verdicts import BadInput

RANK_ENVIRONMENT = {
    "RINGLAB_RANK": "1",  # lets anybody find our processes
    "OMP_NUM_THREADS": "1",  # one BLAS thread per rank: ranks are the parallelism here
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "VECLIB_MAXIMUM_THREADS": "1",
    "NUMEXPR_NUM_THREADS": "1",
}


def context_of(start):
    """How processes start: "spawn" everywhere; "forkserver" starts ten times faster, but opens a socket of its own.

    Never "fork": the kernel has threads, and its copies would hold each other's lines open.
    """
    if start not in ("spawn", "forkserver") or (start == "forkserver" and os.name == "nt"):
        raise BadInput(f"start={start!r} is no way to start ranks", "use 'spawn', or 'forkserver' on Linux and macOS")
    context = multiprocess.get_context(start)
    if start == "forkserver":
        context.set_forkserver_preload(["ringlab.rank", "cloudpickle"])
    return context


@contextlib.contextmanager
def environment():
    """Start processes with our environment, and without the user's main module: a script needs no guard.

    They begin with SIGINT blocked, or a second press of the interrupt button, which goes to the kernel's whole group,
    would end fresh ranks before they can ignore it. The tracker must run by then: starting it unblocks the signal.
    """
    mask = None
    if os.name != "nt":
        resource_tracker.ensure_running()
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    prepared = spawn.get_preparation_data
    spawn.get_preparation_data = lambda name: {
        key: value for key, value in prepared(name).items() if not key.startswith("init_main")
    }
    before = {key: os.environ.get(key) for key in RANK_ENVIRONMENT}
    os.environ.update(RANK_ENVIRONMENT)
    try:
        yield
    finally:
        spawn.get_preparation_data = prepared
        if mask is not None:
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        for key, value in before.items():
            if value is None:
                os.environ.pop(key, None)
            else:
                os.environ[key] = value


class Rank:
    """The kernel's side of one rank: its process and its lines."""

    def __init__(self, process, channel, life, death):
        self.process, self.channel = process, channel
        self._life, self._death = life, death
        self._asked = deque()  # when it was asked where it is, and has not been heard yet

    @property
    def alive(self):
        """Whether the process runs (asked of the system, not of a pipe)."""
        return self.process.exitcode is None

    def ask(self):
        """Ask the rank where it is; `where` has the answer."""
        with contextlib.suppress(OSError):
            self._life.setblocking(False)
            self._life.send(b"?")
            self._asked.append(time.monotonic())

    def where(self, seconds=0.3):
        """Stack of the rank as a list of [file, line, function], or None when it cannot answer (stopped, in C code).

        It has `seconds` from when it was last asked; it is asked now when it was not.
        """
        if not self._asked:
            self.ask()
        answer = None
        try:
            while self._asked:
                self._life.settimeout(max(0.01, self._asked[-1] + seconds - time.monotonic()))
                answer = receive_message(self._life)
                self._asked.popleft()
        except (OSError, EOFError):
            return None
        return answer

    def kill(self):
        """Kill the process, and with it all that it forked."""
        with contextlib.suppress(OSError, AttributeError, ValueError):
            pid = self.process.pid
            self.process.kill()
            os.killpg(pid, signal.SIGKILL)

    def end(self):
        """Kill and reap; never waits for the rank's consent."""
        self.kill()
        for line in (self.channel.sock, self._life, self._death):
            if line is not None:
                line.close()
        self.process.join(5)
        with contextlib.suppress(ValueError):
            self.process.close()
