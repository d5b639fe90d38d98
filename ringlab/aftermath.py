"""What a run that could not finish leaves: the record of its ranks, up to where each of them stopped."""

import functools

from . import source, tracing
from .rounds import rounds_of
from .ship import ship
from .supervise import Supervisor
from .verdicts import RinglabError
from .warm import shared_world


def keep(error, function, ranks, **about):
    """Let `error.trace` be the Trace of the run that `error` ended, if its ranks left a record.

    about: op, values and clock of the run.  The trace is made when it is first asked for.
    """
    if error.left is not None:
        probe, programs = error.left
        error.recorded = functools.partial(_trace, error, function, ranks, probe, programs, about)


def _trace(error, function, ranks, probe, programs, about):
    if probe is None and not source.is_builtin(function):
        probe = _as_far_as_it_comes(function, ranks)
    failure = failure_of(error)
    about = {"algorithm": source.name_of(function), "source": source.source_of(function), **about}
    whole = tracing.build(probe, programs, failure=failure, **about)
    whole.rounds = 1 + max((event.round for event in whole.events), default=-1)
    return whole


def failure_of(error):
    """A verdict as the `failure` of a Trace."""
    first = error.lines[0] if error.lines else error.verdict
    return {
        "verdict": error.verdict,
        "rank": error.rank,
        "round": error.round,
        "text": f"{first[0].upper()}{first[1:]}.",
        "waiting": list(error.waiting),
    }


def _as_far_as_it_comes(function, ranks):
    """The probe of code that fails on marks too, up to there; None when its process does not come back."""
    if getattr(function, "pieces", 1) != 1:
        return None
    command = {"do": "judge", "function": ship(function), "ranks": ranks}
    try:
        (reply,), _ = Supervisor(shared_world(1), 1, timeout=1.0, quiet=True, virtual=ranks).call([command])
    except RinglabError:
        return None
    seen = reply["value"]
    starts, rounds = rounds_of(seen["kinds"], seen["peers"])
    return {**seen, "chunks": ranks, "starts": starts, "rounds": rounds}
