"""The critical path of a run: the chain of messages and work, each waiting for the one before, that ends last.

    path = critical_path(run.trace)
    print(path)                  # critical path: 6 messages, 0 > 1 > 2 > 3 > 0 > 1 > 2

A step goes back to whatever it waited for, from the last event of the run to its beginning. Making anything else
faster does not make the run faster. It knows events and times and nothing else: no network, no algorithm, no picture.
"""

from typing import NamedTuple

from .texts import plural
from .verdicts import BadInput

VIRTUAL = "virtual"


class Step(NamedTuple):
    """One step of a path, from `start` to `end` (seconds since the call began).

    kind: "message" from `rank` to `peer`, or "work" of `rank` alone: adding, copying, getting ready (peer None).
    round, chunks, nbytes: of the message; None, (), 0 for work.
    """

    kind: str
    rank: int
    peer: int | None
    start: float
    end: float
    round: int | None = None
    chunks: tuple = ()
    nbytes: int = 0


class CriticalPath:
    """steps: in the order of time, each beginning where the one before ends.  seconds: from the first to the last.

    It ends with the last recorded event: what a rank adds after its last message is in no event.
    """

    def __init__(self, steps):
        self.steps = _merged(steps)
        self.seconds = self.steps[-1].end - self.steps[0].start if self.steps else 0
        self.messages = tuple(step for step in self.steps if step.kind == "message")

    def __repr__(self):
        count = len(self.messages)
        head = f"critical path: {plural(count, 'message')}"
        return f"{head}, {' > '.join(map(str, self._ranks()))}" if count else head

    def _ranks(self):
        """The ranks it passes; a message that waited for a port, and not for news, begins where it was sent."""
        ranks = []
        for step in self.messages:
            ranks += [step.rank] if not ranks or ranks[-1] != step.rank else []
            ranks.append(step.peer)
        return ranks


def _merged(steps):
    """The steps with neighbouring work of one rank made one."""
    whole = []
    for step in steps:
        if whole and whole[-1].kind == step.kind == "work" and whole[-1].rank == step.rank:
            whole[-1] = whole[-1]._replace(end=step.end)
        else:
            whole.append(step)
    return tuple(whole)


def critical_path(trace):
    """The CriticalPath of a trace; of several that are equally long, one, always the same.

    On the virtual wire a message is a step for as long as it holds its ports, and it waits for its sender's program,
    for one of its two ports, or for its receiver. On real wires it is a step from the begin of its send to the end of
    its receive, and it waits for its sender's program. BadInput when the trace has no events.
    """
    if not trace.events:
        raise BadInput("this run sent no messages, so it has no critical path", "use two ranks or more")
    return CriticalPath(reversed(list(_Walk(trace).steps())))


class _Walk:
    """From the last event backwards: `steps` are found latest first."""

    def __init__(self, trace):
        self.programs = [[event for event, _ in trace.by_rank(rank)] for rank in range(trace.ranks)]
        self.virtual = getattr(trace, "clock", None) == VIRTUAL
        self.partner = self._partners()
        self.seen = set()
        self.ends = {}  # (side, rank, time) -> sends that let go of that port then: places in programs
        if self.virtual:
            for rank, program in enumerate(self.programs):
                for place, event in enumerate(program):
                    if event.kind == "send":
                        self.ends.setdefault(("out", rank, event.end), []).append((rank, place))
                        self.ends.setdefault(("in", event.peer, event.end), []).append((rank, place))

    def _partners(self):
        """(rank, place) of a receive -> of its send, and back: the nth on a link belongs to the nth."""
        sends = {}
        for rank, program in enumerate(self.programs):
            for place, event in enumerate(program):
                if event.kind == "send":
                    sends.setdefault((rank, event.peer), []).append((rank, place))
        partner, taken = {}, {}
        for rank, program in enumerate(self.programs):
            for place, event in enumerate(program):
                if event.kind == "recv":
                    nth = taken[event.peer, rank] = taken.get((event.peer, rank), -1) + 1
                    if nth < len(sends.get((event.peer, rank), ())):
                        send = sends[event.peer, rank][nth]
                        partner[rank, place], partner[send] = send, (rank, place)
        return partner

    def event(self, where):
        return self.programs[where[0]][where[1]]

    def steps(self):
        """The steps, the last one first."""
        places = ((rank, place) for rank, program in enumerate(self.programs) for place in range(len(program)))
        where = max(places, key=lambda where: (self.event(where).end, self.event(where).kind == "recv", -where[0]))
        while where is not None:
            where = yield from self._explain(where)

    def _explain(self, where):
        """Yield the steps that end with this event; the event that they waited for, or None at the beginning."""
        self.seen.add(where)
        event = self.event(where)
        send = where if event.kind == "send" and self.virtual else None
        if event.kind == "recv" and where in self.partner and self.event(self.partner[where]).end > event.start:
            send = self.partner[where]
            self.seen.add(send)
        if send is None:
            if event.end > event.start:
                yield Step("work", event.rank, None, event.start, event.end)
            before, time = self._in_program(where, event.start), event.start
        else:
            sent = self.event(send)
            end = max(sent.end, event.end)
            yield Step("message", sent.rank, sent.peer, sent.start, end, sent.round, sent.chunks, sent.nbytes)
            before, time = self._before(send), sent.start
        since = 0 if before is None else self.event(before).end
        if time > since:
            yield Step("work", self.event(before or send or where).rank, None, since, time)
        return before

    def _before(self, send):
        """What a send waited for: news for its sender, a port, or its receiver."""
        sent = self.event(send)
        mine = self._in_program(send, sent.start)
        if not self.virtual or (mine is not None and self.event(mine).end == sent.start):
            return mine
        for port in (("out", sent.rank), ("in", sent.peer)):
            for place in self.ends.get((*port, sent.start), ()):
                if place not in self.seen:
                    return place
        asked = self.partner.get(send)
        if asked is not None and self.event(asked).start == sent.start and self._held_its_rank(send):
            return self._in_program(asked, sent.start) or mine
        return mine

    def _held_its_rank(self, send):
        """Whether the rank went on only when its receiver had the message (`eager`), as its next receive tells."""
        program = self.programs[send[0]]
        follow = next((event for event in program[send[1] + 1 :] if event.kind == "recv"), None)
        return follow is not None and follow.start >= self.event(send).end

    def _in_program(self, where, time):
        """The latest event before this one on its rank that its program waited for, or None."""
        rank, place = where
        for earlier in range(place - 1, -1, -1):
            event = self.programs[rank][earlier]
            waited = not self.virtual or event.kind == "recv" or event.end == time  # a virtual send waits for nothing
            if waited and event.end <= time and (rank, earlier) not in self.seen:
                return rank, earlier
        return None
