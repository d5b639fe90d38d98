"""From facts to verdicts: the sentences that a learner reads when a call cannot finish."""

import linecache
import signal

from .record import RECV
from .verdicts import PRECEDENCE, Deadlock, Mismatch, RankException, RankExited, RankKilled, Stall

NAMELESS = "<dynamic-code>"  # what cloudpickle calls the file of a function that travelled by value
UNCHANGED = "nothing was returned, your inputs are unchanged"


class Story:
    """What the probe foretold of a run: rounds and chunks by rank and event. Without a probe it knows nothing.

    file: where the source of the function stands, which travels to the ranks without that name.
    """

    def __init__(self, probe, file=None):
        self.probe, self.file = probe, file
        self.rounds = probe["rounds"] if probe else None

    def round(self, rank, events):
        """The round of the rank's next event, after `events` of them; None when unknown or past the end."""
        if self.probe is None:
            return None
        starts = self.probe["starts"][rank]
        return starts[events] if events < len(starts) else None

    def chunk(self, rank, events):
        """The one chunk that the rank's next event, a receive, brings; None when unknown or several."""
        if self.probe is None or events >= len(self.probe["kinds"][rank]):
            return None
        message = self.probe["messages"][rank][events]
        if self.probe["kinds"][rank][events] != RECV or len(message) != 1 or not message[0] or len(message[0]) != 1:
            return None
        return message[0][0][0]

    def place(self, rank, events):
        """' in round 1 of 6' or ''."""
        current = self.round(rank, events)
        return "" if current is None else f" in round {current} of {self.rounds}"


def waits_in_words(waiting, shown=4):
    """'rank 3 waited for c1 from rank 2, rank 0 for c0 from rank 3'; '' for nobody.

    >>> waits_in_words([(3, 2, 1), (0, 3, None)])
    'rank 3 waited for c1 from rank 2, rank 0 for rank 3'
    """
    parts = [
        f"rank {rank}{' waited' if not i else ''} for "
        + (f"rank {peer}" if chunk is None else f"c{chunk} from rank {peer}")
        for i, (rank, peer, chunk) in enumerate(waiting[:shown])
    ]
    more = len(waiting) - shown
    return ", ".join(parts) + (f", and {more} more" if more > 0 else "")


def _fresh(ranks):
    return f"{UNCHANGED}; the next call starts on {ranks} fresh rank{'s' if ranks > 1 else ''}"


def death(rank, code, story, events, *, waiting, seconds, ranks):
    """KILLED or EXITED for a rank whose process ended with `code` (minus the signal's number, or an exit code)."""
    place = story.place(rank, events)
    who_waited = _chain(rank, waiting)
    fields = {"rank": rank, "round": story.round(rank, events), "seconds": seconds, "waiting": waiting}
    if code is not None and code < 0:
        try:
            name = f" ({signal.Signals(-code).name})"
        except ValueError:
            name = ""
        hint = {
            9: "signal 9 that nobody sent on purpose often means: out of memory",
            7: "signal 7 often means: shared memory is full",
            11: "signal 11: C code on that rank touched memory that is not its own",
        }.get(-code)
        return RankKilled(
            f"rank {rank} was killed by signal {-code}{name}{place}",
            *([who_waited] if who_waited else []),
            _fresh(ranks),
            details=[hint] if hint else [],
            **fields,
        )
    return RankExited(
        f"rank {rank} left with exit code {code}{place}",
        *([who_waited] if who_waited else []),
        "an all-reduce needs every rank until its end: return from the function instead of exiting",
        _fresh(ranks),
        **fields,
    )


def _chain(rank, waiting):
    """Who waited, those who waited for the lost rank first."""
    direct = [wait for wait in waiting if wait[1] == rank]
    others = [wait for wait in waiting if wait[1] != rank]
    return waits_in_words(direct + others, shown=3)


def raised(rank, message, story, events, *, waiting, seconds, ranks):
    """EXCEPTION (or the verdict that the exception itself carries) for a rank whose code raised."""
    if message["verdict"] == "DEADLOCK":  # found by the state of a virtual run
        return Deadlock(
            *message["text"].splitlines(), cycle=[tuple(pair) for pair in message["cycle"]], seconds=seconds
        )
    if message["rank"] is not None:  # a virtual rank, played by another process
        rank, events = message["rank"], 1 << 62
    place = story.place(rank, events)
    fields = {"rank": rank, "round": story.round(rank, events), "seconds": seconds, "waiting": waiting}
    who_waited = _chain(rank, waiting)
    if message.get("verdict") == "MISMATCH":
        return Mismatch(message["text"], "every rank must call the same collectives in the same order", **fields)
    text = message["text"].splitlines()[0][:200] if message["text"] else ""
    file = story.file if message["file"] == NAMELESS and story.file else message["file"]
    code = linecache.getline(file, message["line"]).strip()  # here in the kernel, where cells have their source
    where = f"line {message['line']}: {code}" if code else f"line {message['line']}"
    return RankException(
        f"rank {rank} raised {message['type']}{': ' + text if text else ''}{place}",
        *([f"in {message['where']}, {where}"] if message["line"] else []),
        *([who_waited] if who_waited else []),
        _fresh(ranks),
        details=[
            "the rank's own lines:",
            *(line.replace(NAMELESS, file) for line in message["traceback"]),
            f"{message['type']}: {message['text']}",
        ],
        **fields,
    )


def stall(rank, where, timeout, *, line, round, waiting, seconds):
    """STALL: `where` is the rank's stack, or None when it did not answer (stopped, or in C code)."""
    if where:
        doing = f"it is at line {where[-1][1]} in {where[-1][2]}"
    else:
        doing = "it does not answer: it is stopped, or busy in C code" + (f" after line {line}" if line else "")
    who_waited = _chain(rank, waiting)
    return Stall(
        f"rank {rank} has shown no event for {timeout:g} s, its time limit",
        doing,
        *([who_waited] if who_waited else []),
        f"{UNCHANGED}; a longer limit: timeout=",
        details=[f"  {file}, line {number}, in {name}" for file, number, name in where or []],
        rank=rank,
        round=round,
        seconds=seconds,
        waiting=waiting,
    )


def first(verdicts):
    """The verdict that comes first in PRECEDENCE, of the lowest rank; the others are named in its details."""
    ordered = sorted(verdicts, key=lambda v: (PRECEDENCE.index(v.verdict), v.rank or 0))
    best = ordered[0]
    best.details += tuple(f"also: {other.verdict}: {other.lines[0]}" for other in ordered[1:])
    return best
