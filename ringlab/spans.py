"""What each rank was doing when, read off the events of a trace: sending, waiting for a message, adding.

One list for the timeline and for the export. Times are seconds since the call began, as in the events.
"""

from typing import NamedTuple

SEND, WAIT, ADD = KINDS = ("send", "wait", "add")


class Span(NamedTuple):
    """`rank` from `start` to `end`. kind: "send", "wait" (until a message is there), "add" (what it then does with it).

    event: the message, sent or received.  done: whether it ended; a wait for what never came lasts as long as the run.
    """

    rank: int
    kind: str
    start: float
    end: float
    event: object
    done: bool = True


def spans_of(trace, rank):
    """The spans of one rank in the order of its program.

    An add is the time between a receive and whatever the rank does next; without one of any length there is no span.
    On a virtual clock a send takes no time of its rank, and its span is the time in which it holds its ports.
    """
    program = [event for event, _ in trace.by_rank(rank)]
    spans, asks = [], None  # asks: when the next receive begins
    for place in range(len(program) - 1, -1, -1):
        event = program[place]
        if event.kind == "recv":
            follow = [event.start for event in program[place + 1 : place + 2]] + ([] if asks is None else [asks])
            if follow and min(follow) > event.end:
                spans.append(Span(rank, ADD, event.end, min(follow), event))
            asks = event.start
        spans.append(Span(rank, WAIT if event.kind == "recv" else SEND, event.start, event.end, event))
    spans.reverse()
    return spans + _unfinished(trace, rank, program)


def _unfinished(trace, rank, program):
    """The wait in which the rank of a failed run was left, up to the last event of the run."""
    last = max((event.end for event in trace.events), default=0)
    since = program[-1].end if program else 0
    waits = [wait for wait in (trace.failure or {}).get("waiting") or () if wait[0] == rank]
    return [
        Span(rank, WAIT, min(since, last), last, _Awaited(rank, peer, () if chunk is None else (chunk,)), done=False)
        for _, peer, chunk in waits
    ]


class _Awaited(NamedTuple):
    """A message that never came, in the fields of an event."""

    rank: int
    peer: int
    chunks: tuple
    kind: str = "recv"
    terms: tuple | None = None
    nbytes: int = 0
    round: int | None = None
    line: int = 0


def chunk_names(trace, event):
    """The chunks of a message: 'c2', 'c0-c3', 'c0,c4', or '' when they are not known."""
    chunks = tuple(event.chunks)
    if len(chunks) > 1 and chunks == tuple(range(chunks[0], chunks[0] + len(chunks))):
        return f"{trace.name_of(chunks[0])}-{trace.name_of(chunks[-1])}"
    return ",".join(trace.name_of(chunk) for chunk in chunks)


def lanes_of(spans):
    """Per span a lane, from 0: the first that is free when it starts. Spans that do not overlap share lane 0."""
    lanes, busy = [], []  # busy[lane]: until when
    for span in spans:
        lane = next((lane for lane, until in enumerate(busy) if until <= span.start), len(busy))
        busy[lane : lane + 1] = [span.end]
        lanes.append(lane)
    return lanes
