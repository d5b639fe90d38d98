"""What can go wrong, as a closed list of exceptions with fields and one message layout.

Every call of the lab ends in a result or in exactly one of these. The first line says who and where, at most
four lines are shown in a notebook, and `err.full()` has the rest. The text holds no times and no call numbers,
because lessons commit it and nbval compares it: those are fields (`err.seconds`) or lines of `full()`.

When several things went wrong at once, the first in PRECEDENCE is reported.
"""

import functools
import html
from collections.abc import Callable

PRECEDENCE = ("KILLED", "EXITED", "EXCEPTION", "MISMATCH", "DEADLOCK", "STALL")

SHOWN_LINES = 4


class RinglabError(Exception):
    """A verdict: `lines` are shown, `details` wait in `full()`.

    Fields where they apply, else None: `rank` (who), `peer` (the other rank), `round`, `seconds` (how long the
    call had run), `waiting` (tuple of (rank, peer, chunk) that were blocked when it happened).
    """

    verdict = "ERROR"
    left: tuple | None = None  # (probe, events per rank) of the run that it ended, for `tracing.build`, where recorded
    recorded: Callable | None = None  # makes `trace` of them

    def __init__(self, *lines, details=(), rank=None, peer=None, round=None, seconds=None, waiting=()):
        super().__init__(*lines)
        self.lines = tuple(lines)
        self.details = tuple(details)
        self.rank, self.peer, self.round, self.seconds = rank, peer, round, seconds
        self.waiting = tuple(waiting)

    def __str__(self):
        return "\n".join(self.lines[:SHOWN_LINES])

    def full(self):
        """All lines, as text: what was shown, what did not fit, and the details."""
        took = [f"after {self.seconds:.3f} s"] if self.seconds is not None else []
        return "\n".join([f"{self.verdict}: {self.lines[0]}", *self.lines[1:], *took, *self.details])

    @functools.cached_property
    def trace(self):
        """The Trace of the run that it ended, up to where each rank stopped, for `rl.show`; None when there is none."""
        return self.recorded() if self.recorded else None

    def _render_traceback_(self):
        first, *rest = str(self).split("\n")
        return [f"{self.verdict}: {first}", *(f"  {line}" for line in rest)]

    def _repr_html_(self):
        return f"<pre>{html.escape(self.full())}</pre>"


class BadInput(RinglabError, ValueError):
    """An argument that cannot be used; nothing has started."""

    verdict = "BAD_INPUT"


class Mismatch(RinglabError):
    """Two ranks came with different shapes, dtypes, operations or call orders."""

    verdict = "MISMATCH"


class WrongResult(RinglabError):
    """An algorithm ended, but what it returned is no array; also the verdict of a run whose sum is wrong."""

    verdict = "WRONG_RESULT"


class RankException(RinglabError):
    """Code on a rank raised."""

    verdict = "EXCEPTION"


class RankExited(RinglabError):
    """A rank left with sys.exit, os._exit or the like."""

    verdict = "EXITED"


class RankKilled(RinglabError):
    """A rank was ended by a signal."""

    verdict = "KILLED"


class Deadlock(RinglabError):
    """No rank can move: a cycle of waits, or a wait for a rank that has finished.

    cycle: (rank, peer) pairs, each rank waiting for the next.  waits: a `ringlab.waits.Wait` for every rank that is
    stuck, in the cycle or behind it.  done: the ranks that had finished.  shut: None, or (rank, why) of a rank whose
    message the network does not let through.  programs: per rank its events, where a virtual wire found it.
    """

    verdict = "DEADLOCK"

    def __init__(self, *lines, cycle=(), waits=(), done=(), shut=None, programs=(), **fields):
        super().__init__(*lines, **fields)
        self.cycle, self.programs = tuple(cycle), programs
        self.waits, self.done, self.shut = tuple(waits), tuple(sorted(done)), shut


class Stall(RinglabError):
    """A rank that others wait for showed no event for the whole timeout."""

    verdict = "STALL"


class BadFrame(RinglabError):
    """A message was dropped, duplicated or cut short on its way."""

    verdict = "BAD_FRAME"


class NoResource(RinglabError):
    """Not enough shared memory, descriptors, processes or memory; checked before anything starts."""

    verdict = "NO_RESOURCE"


class StartupFailed(RinglabError):
    """A rank did not come up."""

    verdict = "STARTUP_FAILED"


class Closed(RinglabError):
    """A call on a world that was closed."""

    verdict = "CLOSED"


class BadCheckpoint(RinglabError):
    """A saved state that is missing, cut short, or of another size or version."""

    verdict = "BAD_CHECKPOINT"


class Interrupted(KeyboardInterrupt):
    """The interrupt button: the call was given up, the ranks were replaced."""

    verdict = "INTERRUPTED"

    def __init__(self, *lines):
        super().__init__(*lines)
        self.lines = tuple(lines)

    def __str__(self):
        return "\n".join(self.lines[:SHOWN_LINES])

    def full(self):
        """All lines, as text."""
        return "\n".join([f"{self.verdict}: {self.lines[0]}", *self.lines[1:]])

    def _render_traceback_(self):
        return [f"{self.verdict}: {self.lines[0]}", *(f"  {line}" for line in self.lines[1:SHOWN_LINES])]
