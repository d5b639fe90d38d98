"""Faults to order: given to `rl.run` as `wraps=[...]`, placed by rank and round."""

import os
import signal


class Crash:
    """Rank `rank` is killed (SIGKILL where the system has it) as it is about to act in round `round`."""

    def __init__(self, rank, round):
        self.rank, self.round = rank, round

    def __repr__(self):
        return f"crash(rank={self.rank}, round={self.round})"

    def wrap(self, rank, send, recv, clock):
        """The pair for one rank; `clock` gives the rank's round and hands over what it has sent so far."""
        if rank != self.rank:
            return send, recv

        def die_if_due():
            if clock.round() >= self.round:
                clock.flush()  # what was sent before the crash still arrives, so that runs repeat
                os.kill(os.getpid(), getattr(signal, "SIGKILL", signal.SIGTERM))

        def crashing_send(x, dst):
            die_if_due()
            send(x, dst)

        def crashing_recv(src):
            die_if_due()
            return recv(src)

        return crashing_send, crashing_recv


def crash(rank, round):
    """A fault: rank `rank` dies as it enters round `round`."""
    return Crash(rank, round)
