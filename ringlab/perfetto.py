"""A trace in the trace-event format, for ui.perfetto.dev and chrome://tracing.

Every rank is a process with a track for its program (waiting, adding) and tracks for its sends; an arrow leads from
each send to the receive that took the message. Times are microseconds on the one clock of all ranks.

How the format is used: a complete event ("X") per span, a flow ("s" to "f", bound to the span that encloses it) per
message, metadata ("M") for names and order, an instant ("i") where a run failed. Spans on one track must not overlap,
so sends that do get tracks of their own.
"""

from .criticalpath import critical_path
from .events import slots
from .spans import ADD, SEND, chunk_names, lanes_of, spans_of
from .verdicts import BadInput

PROGRAM = 0  # the track of a rank on which it waits and adds


def trace_events(trace):
    """The trace as the dict that is written as JSON: "traceEvents" in the order of time, "otherData", and the unit."""
    tracks = _Tracks()
    critical = _critical(trace)
    sends, programs, arrows = [], [], _Arrows()
    spans = [spans_of(trace, rank) for rank in range(trace.ranks)]
    for rank, mine in enumerate(spans):
        sent = [span for span in mine if span.kind == SEND]
        for span, lane in zip(sent, lanes_of(sent), strict=True):
            sends += _send(trace, span, tracks.of(rank, 1 + lane), arrows, critical)
    for rank, mine in enumerate(spans):
        for span in mine:
            if span.kind != SEND:
                programs += _received(trace, span, tracks.of(rank, PROGRAM), arrows)
    # at equal times an arrow's beginning comes before its end: the sort is stable
    events = sorted([*sends, *programs, *_failed(trace, tracks)], key=lambda event: event["ts"])
    return {
        "traceEvents": [*_names(trace, tracks), *events],
        "displayTimeUnit": "ns",
        "otherData": {
            "algorithm": str(trace.algorithm),
            "op": trace.op,
            "ranks": trace.ranks,
            "rounds": trace.rounds,
            "clock": {"real": "real time", "virtual": "virtual time"}.get(trace.clock, "not known"),
            "recorded by": "ringlab",
        },
    }


def microseconds(seconds):
    """Microseconds as JSON has them: a whole number where it is one, so that virtual times stay exact.

    >>> from fractions import Fraction
    >>> microseconds(Fraction(3, 10**6)), microseconds(2), microseconds(Fraction(1, 2 * 10**6)), microseconds(3e-6)
    (3, 2000000, 0.5, 3)
    """
    scaled = seconds * 10**6
    if isinstance(scaled, float):
        scaled = round(scaled, 6)  # a float of seconds is exact to less than this picosecond
    return int(scaled) if scaled == int(scaled) else float(scaled)


class _Tracks:
    """Numbers of processes and threads: none is 0, which viewers take for the idle task, and none comes twice."""

    def __init__(self):
        self.numbers = {}  # (rank, track of the rank) -> thread

    def of(self, rank, track):
        """(process, thread) of a rank's track: PROGRAM, or 1, 2, ... for sends."""
        return rank + 1, self.numbers.setdefault((rank, track), len(self.numbers) + 1)


class _Arrows:
    """Ids of the messages: the nth on a link belongs to the nth receive from it."""

    def __init__(self):
        self.sent, self.taken = {}, {}

    def leaves(self, src, dst):
        nth = self.sent[src, dst] = self.sent.get((src, dst), 0) + 1
        return f"{src}-{dst}-{nth}"

    def lands(self, src, dst):
        """The id, or None when no such send is known: that of a killed rank may be missing."""
        nth = self.taken[src, dst] = self.taken.get((src, dst), 0) + 1
        return f"{src}-{dst}-{nth}" if nth <= self.sent.get((src, dst), 0) else None


def _critical(trace):
    """(rank, peer, start) of the messages on the critical path."""
    try:
        return {(step.rank, step.peer, step.start) for step in critical_path(trace).messages}
    except BadInput:
        return set()


def _complete(track, name, span, **about):
    pid, tid = track
    start = microseconds(span.start)
    length = microseconds(span.end - span.start)
    return {"ph": "X", "name": name, "cat": span.kind, "pid": pid, "tid": tid, "ts": start, "dur": length, **about}


def _flow(phase, track, ts, arrow, **more):
    pid, tid = track
    return {"ph": phase, "name": "message", "cat": "message", "id": arrow, "pid": pid, "tid": tid, "ts": ts, **more}


def _about(trace, event, side):
    """What is told of a message: its peer, size, chunks with whose terms, round and source line, where known."""
    about = {side: event.peer, "bytes": event.nbytes, "round": event.round}
    for chunk, terms in zip(event.chunks, event.terms or ()):
        about[trace.name_of(chunk)] = slots(terms, trace.ranks)
    return about | ({"line": event.line} if event.line else {})


def _send(trace, span, track, arrows, critical):
    event = span.event
    name = f"send {chunk_names(trace, event)}".strip()
    about = _about(trace, event, "to rank")
    if (event.rank, event.peer, event.start) in critical:
        about["critical path"] = True
    arrow = arrows.leaves(event.rank, event.peer)
    return [_complete(track, name, span, args=about), _flow("s", track, microseconds(span.start), arrow)]


def _received(trace, span, track, arrows):
    event = span.event
    name = f"{span.kind} {chunk_names(trace, event)}".strip()
    if span.kind == ADD:
        return [_complete(track, name, span, args={})]
    about = _about(trace, event, "from rank")
    if not span.done:
        about["never came"] = True
        return [_complete(track, name, span, args=about)]
    whole = _complete(track, name, span, args=about)
    arrow = arrows.lands(event.peer, event.rank)
    return [whole] if arrow is None else [whole, _flow("f", track, microseconds(span.end), arrow, bp="e")]


def _names(trace, tracks):
    for rank in range(trace.ranks):
        tracks.of(rank, PROGRAM)  # also of one that did nothing
        yield _named("process_name", rank + 1, 0, {"name": f"rank {rank}"})
        yield _named("process_sort_index", rank + 1, 0, {"sort_index": rank})
    for (rank, lane), tid in sorted(tracks.numbers.items()):
        text = "program" if lane == PROGRAM else "sends" if lane == 1 else f"sends ({lane})"
        yield _named("thread_name", rank + 1, tid, {"name": text})
        yield _named("thread_sort_index", rank + 1, tid, {"sort_index": lane})


def _named(what, pid, tid, args):
    return {"ph": "M", "name": what, "cat": "__metadata", "pid": pid, "tid": tid, "ts": 0, "args": args}


def _failed(trace, tracks):
    failure = trace.failure
    if failure is None or failure.get("rank") is None:
        return []
    pid, tid = tracks.of(failure["rank"], PROGRAM)
    last = max((event.end for event, _ in trace.by_rank(failure["rank"])), default=0)
    about = {"ph": "i", "name": str(failure["verdict"]), "cat": "failure", "s": "p"}
    return [{**about, "pid": pid, "tid": tid, "ts": microseconds(last), "args": {"text": str(failure["text"])}}]
