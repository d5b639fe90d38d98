"""Whether a process that shows no sign of life had the processor at all.

On a busy machine a healthy rank may wait for a core for longer than its time limit. It is not to be blamed for that:
only the time counts in which it could have acted.
"""

import time


def times_of(pid):
    """(state letter, seconds on a core, seconds of waiting for one) of a process's main thread; None if not told."""
    try:
        with open(f"/proc/{pid}/task/{pid}/schedstat") as file:
            ran, waited, _ = map(int, file.read().split())
        with open(f"/proc/{pid}/task/{pid}/stat") as file:
            state = file.read().rpartition(")")[2].split()[0]
    except (OSError, ValueError, IndexError):
        return None
    return state, ran / 1e9, waited / 1e9


class Pulse:
    """Looks at process `pid` from now on."""

    def __init__(self, pid, clock=time.monotonic, times=times_of):
        self._pid, self._clock, self._times = pid, clock, times
        self._begin, self._first = clock(), times(pid)

    def own_seconds(self):
        """Since the beginning, the seconds in which the process could have acted: it ran, slept or was stopped.

        A process that wants to run, state R, has only what it ran: the system counts a wait for a core when it ends.
        """
        passed, now = self._clock() - self._begin, self._times(self._pid)
        if self._first is None or now is None:
            return passed
        state, ran, waited = now
        return min(passed, ran - self._first[1]) if state == "R" else max(0.0, passed - (waited - self._first[2]))
