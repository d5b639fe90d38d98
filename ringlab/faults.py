"""Faults to order: given to `rl.run` as `wraps=[...]`, placed by rank and round.

Each strikes once, as the rank is about to act in that round (or in the first later one in which it acts). What it
sent before is on its way by then, so that a run with a fault repeats.
"""

import copy
import os
import signal

from .verdicts import BadInput


class Fault:
    """What happens to rank `rank` as it enters round `round`: `name` for the repr, `strike(clock)` on the rank itself.

    `at(place)` narrows where: "send" (before it sends), "sent" (as soon as send has returned, while a large message is
    still on its way), "recv" (before it receives).
    """

    place = "any"

    def __init__(self, name, rank, round, strike, **arguments):
        for what, value in (("rank", rank), ("round", round)):
            if isinstance(value, bool) or not hasattr(value, "__index__") or value < 0:
                raise BadInput(f"{name}({what}={value!r}): no such {what}", "use a whole number from 0 up")
        self.name, self.rank, self.round = name, rank, round
        self.strike, self._arguments = strike, arguments

    def __repr__(self):
        shown = {"rank": self.rank, "round": self.round, **self._arguments}
        return f"{self.name}({', '.join(f'{key}={value!r}' for key, value in shown.items())})"

    def at(self, place):
        """The same fault at one place of the round."""
        if place not in ("any", "send", "sent", "recv"):
            raise BadInput(f"place {place!r} is not known", "use send, sent or recv")
        narrowed = copy.copy(self)
        narrowed.place = place
        return narrowed

    def wrap(self, rank, send, recv, clock):
        """The pair for one rank. `clock` gives the rank's round and hands over what it has sent so far."""
        if rank != self.rank:
            return send, recv
        struck = False

        def strike_if_due(place):
            nonlocal struck
            if not struck and clock.round() >= self.round and self.place in ("any", place):
                struck = True
                if place != "sent":
                    clock.flush()
                self.strike(clock, **self._arguments)

        def send_or_strike(x, dst):
            strike_if_due("send")
            send(x, dst)
            strike_if_due("sent")

        def recv_or_strike(src):
            strike_if_due("recv")
            return recv(src)

        return send_or_strike, recv_or_strike


def crash(rank, round):
    """Rank `rank` is killed (SIGKILL, where the system has it)."""
    return Fault("crash", rank, round, _kill, number=int(getattr(signal, "SIGKILL", signal.SIGTERM)))


def stop(rank, round):
    """Rank `rank` is stopped (SIGSTOP): alive, silent, and deaf to anything but SIGKILL."""
    return Fault("stop", rank, round, _kill, number=int(getattr(signal, "SIGSTOP", 0)))


def leave(rank, round, code=1):
    """Rank `rank` leaves with an exit code."""
    return Fault("leave", rank, round, _leave, code=code)


def fail(rank, round, text="a fault to order"):
    """Rank `rank` raises RuntimeError."""
    return Fault("fail", rank, round, _raise, text=text)


def hang(rank, round):
    """Rank `rank` loops for ever in Python."""
    return Fault("hang", rank, round, _loop)


def delay(rank, round, seconds):
    """Rank `rank` pauses for `seconds` and then goes on: a straggler."""
    if isinstance(seconds, bool) or not isinstance(seconds, (int, float)) or not seconds >= 0:
        raise BadInput(f"delay(seconds={seconds!r}): no time", "use seconds, 0 or more")
    return Fault("delay", rank, round, _pause, seconds=seconds)


def grip(rank, round):
    """Rank `rank` is busy in C code that never gives up Python's lock: not even its own threads run."""
    return Fault("grip", rank, round, _grip)


def segfault(rank, round):
    """Rank `rank` touches memory that is not its own (SIGSEGV)."""
    return Fault("segfault", rank, round, _kill, number=int(signal.SIGSEGV))


def exhaust(rank, round):
    """Rank `rank` asks for more memory than it may have: MemoryError, and the machine stays well."""
    return Fault("exhaust", rank, round, _exhaust)


def drop(rank, round):
    """The next message that rank `rank` sends is lost."""
    return Fault("drop", rank, round, _tamper, how="drop").at("send")


def duplicate(rank, round):
    """The next message that rank `rank` sends goes out twice."""
    return Fault("duplicate", rank, round, _tamper, how="duplicate").at("send")


def truncate(rank, round):
    """The next message that rank `rank` sends loses its last byte."""
    return Fault("truncate", rank, round, _tamper, how="truncate").at("send")


def _tamper(clock, how):
    clock.tamper(TAMPERED[how])


def _cut(frame):
    data = b"".join(bytes(part) for part in frame)
    return [data[:-1]]


TAMPERED = {"drop": lambda frame: [], "duplicate": lambda frame: frame + frame, "truncate": _cut}


def _kill(clock, number):
    os.kill(os.getpid(), number)


def _pause(clock, seconds):
    clock.pause(seconds)


def _raise(clock, text):
    raise RuntimeError(text)


def _leave(clock, code):
    os._exit(code)


def _loop(clock):
    while True:
        pass


def _grip(clock):
    sum(range(10**13))  # a day in one loop of C


def _exhaust(clock):
    bytearray(1 << 46)
