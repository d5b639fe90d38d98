"""A learner's program on real ranks, for an exercise that is not an all-reduce: what it returned, and what it sent."""

import inspect

from ..programs import launch
from ..verdicts import RinglabError
from .outcome import Outcome


def play(function, ranks, cases, play_case, timeout=10.0):
    """(per rank and case what came back, bytes sent by all ranks), or an Outcome that says why there is none.

    play_case(comm, function, *case) runs on every rank for each of `cases`, and returns plain data.
    """
    try:
        returned = launch(_play, ranks, args=(function, cases, play_case), timeout=timeout, progress=False)
    except RinglabError as error:
        return Outcome(False, f"not right yet, with {ranks} ranks: {error.verdict}: {error.lines[0]}")
    sent = sum(event.nbytes for event in returned.trace.events if event.kind == "send")
    return list(returned), sent


def _play(comm, function, cases, play_case):
    return [play_case(comm, function, *case) for case in cases]


def takes(function, *names):
    """None, or the Outcome of a function that cannot be called with as many arguments."""
    try:
        inspect.signature(function).bind(*names)
    except TypeError:
        name = getattr(function, "__name__", "your function")
        return Outcome(False, f"not right yet: it is called as {name}({', '.join(names)}) and does not take that")
    return None
