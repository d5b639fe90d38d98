"""From facts to verdicts: the sentences that a learner reads when a call cannot finish."""

import linecache
import os
import signal

from . import source, waits
from .record import RECV
from .texts import plural
from .verdicts import PRECEDENCE, BadFrame, Mismatch, NoResource, RankException, RankExited, RankKilled, Stall

NAMELESS = "<dynamic-code>"  # what cloudpickle calls the file of a function that travelled by value
ORDER = (*PRECEDENCE, "BAD_FRAME", "NO_RESOURCE")
UNCHANGED = "nothing was returned, your inputs are unchanged"


class Story:
    """What the probe foretold of a run: rounds and chunks by rank and event. Without a probe it knows nothing.

    file: where the source of the function stands, which travels to the ranks without that name.  function: what runs.
    """

    def __init__(self, probe, file=None, function=None):
        self.probe, self.function = probe, function
        self.file = source.file_of(function) if file is None and function is not None else file
        self.rounds = probe["rounds"] if probe else None
        self.name = source.name_of(function) if function is not None else ""
        self.place = os.path.basename(self.file or "") if source.is_builtin(function) else self.name

    @property
    def messages(self):
        """How many messages the run will send in all; None when unknown."""
        if self.probe is None:
            return None
        return sum(kind != RECV for mine in self.probe["kinds"] for kind in mine)

    @property
    def events(self):
        """How many sends and receives there will be in all; None when unknown."""
        return None if self.probe is None else sum(map(len, self.probe["kinds"]))

    def code(self, line):
        """The text of a source line of the function; "" when it is not to be had."""
        known = dict(source.source_of(self.function) or ()) if self.function is not None else {}
        text = known.get(line, "").strip()
        if source.is_builtin(self.function) and "send" not in text and "recv" not in text:
            return ""  # a line of another file: one algorithm may call the next
        return text

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

    def moment(self, rank, events):
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
    if ranks is None:  # it ran in the kernel
        return UNCHANGED
    return f"{UNCHANGED}; the next call starts on {plural(ranks, 'fresh rank')}"


def death(rank, code, story, events, *, waiting, seconds, ranks):
    """KILLED or EXITED for a rank whose process ended with `code` (minus the signal's number, or an exit code)."""
    place = story.moment(rank, events)
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
        stuck = {wait[0]: waits.Wait(*wait) for wait in message["waits"]}
        return deadlock(stuck, message["done"], story, shut=message["shut"], seconds=seconds)
    place = story.moment(rank, events)
    fields = {"rank": rank, "round": story.round(rank, events), "seconds": seconds, "waiting": waiting}
    who_waited = _chain(rank, waiting)
    if message["verdict"] == "BAD_FRAME":
        return bad_frame(message["peer"], rank, message["detail"], fields["round"], waiting, seconds)
    if message["verdict"] == "NO_RESOURCE":
        head, *ways = message["text"].splitlines()
        return NoResource(f"rank {rank}: {head}", *ways, _fresh(ranks), **fields)
    if message["verdict"] == "MISMATCH":
        way = "every rank must call the same collectives in the same order"
        return Mismatch(message["text"], way, peer=message["peer"], **fields)
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


def failed(message, story, seconds=None):
    """The verdict for a virtual run that failed; message: its RankFailed or Deadlock as plain data."""
    if message["verdict"] == "DEADLOCK":
        return raised(None, message, story, None, waiting=(), seconds=seconds, ranks=None)
    rank, events = message["rank"], message["events"]
    waiting = [(wait[0], wait[1], story.chunk(wait[0], wait[4])) for wait in message["waits"] if not wait[2]]
    facts = {"waiting": waiting, "seconds": seconds, "ranks": None}
    if message["type"] == "SystemExit":
        code = message["text"]
        return death(rank, int(code) if code.isdigit() else int(code != "None"), story, events, **facts)
    return raised(rank, message, story, events, **facts)


def deadlock(stuck, done, story, shut=None, seconds=None):
    """DEADLOCK for the `stuck` (dict rank -> Wait), told with rounds and source lines; None when they can still end."""
    told = {}
    for rank, wait in stuck.items():
        foretold = story.round(rank, wait.events)
        told[rank] = wait._replace(
            round=wait.round if foretold is None else foretold, code=story.code(wait.line) if wait.line else ""
        )
    return waits.deadlock(told, done, story.place, shut=shut and tuple(shut), seconds=seconds)


def bad_frame(src, dst, what, round, waiting, seconds):
    """BAD_FRAME: a message from rank `src` to rank `dst` did not arrive as it was sent."""
    return BadFrame(
        f"a message from rank {src} to rank {dst} {what}",
        UNCHANGED,
        rank=dst,
        peer=src,
        round=round,
        waiting=waiting,
        seconds=seconds,
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
    ordered = sorted(verdicts, key=lambda v: (ORDER.index(v.verdict), v.rank or 0))
    best = ordered[0]
    best.details += tuple(f"also: {other.verdict}: {other.lines[0]}" for other in ordered[1:])
    return best
