"""Whether a process that shows no sign of life had the processor at all.

On a busy machine a healthy rank may wait for a core for longer than its time limit. It is not to be blamed for that:
only the time counts in which it could have acted.
"""

import os
import time


def times_of(pid):
    """{thread: (state letter, seconds on a core, seconds of waiting for one)} of a process; empty if not told.

    Every thread counts: a rank may sleep while the thread that writes its messages waits for a core.
    """
    try:
        threads = os.listdir(f"/proc/{pid}/task")
    except OSError:
        return {}
    found = {}
    for thread in threads:
        try:
            with open(f"/proc/{pid}/task/{thread}/schedstat") as file:
                ran, waited, _ = map(int, file.read().split())
            with open(f"/proc/{pid}/task/{thread}/stat") as file:
                state = file.read().rpartition(")")[2].split()[0]
        except (OSError, ValueError, IndexError):
            continue  # it has ended, or the system does not tell
        found[thread] = (state, ran / 1e9, waited / 1e9)
    return found


class Pulse:
    """Looks at process `pid` from now on."""

    def __init__(self, pid, clock=time.monotonic, times=times_of):
        self._pid, self._clock, self._times = pid, clock, times
        self._begin, self._first = clock(), times(pid)

    def own_seconds(self):
        """Since the beginning, the seconds in which it could have acted: each of its threads ran, slept or was stopped.

        A thread that wants to run, state R, has only what it ran: the system counts a wait for a core when it ends.
        """
        passed, now = self._clock() - self._begin, self._times(self._pid)
        own = passed
        for thread, (state, ran, waited) in now.items():
            _, ran_before, waited_before = self._first.get(thread, ("S", 0.0, 0.0))
            own = min(own, ran - ran_before if state == "R" else passed - (waited - waited_before))
        return max(0.0, own)
