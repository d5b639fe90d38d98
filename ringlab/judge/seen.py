"""An observation as steps: who did what in which round, what each chunk held before and after."""

from functools import cached_property
from typing import NamedTuple

from .. import tracing
from ..probe import rounds_of

ELEMENTS = 2  # per chunk in the traces that the judge shows, as in the lessons: 4 ranks, 8 elements


class Change(NamedTuple):
    """Chunk `slot` of a rank held `before`, then `after`: contents as in `probe.contents`, None for no sum of marks."""

    slot: int
    before: tuple | None
    after: tuple | None


class Step(NamedTuple):
    """One call of send or recv on a rank, the `place`-th of its program, and what its chunks did until its next call.

    parts: contents of each array in the message.  lent: numbers of the chunks whose memory was handed to send.
    rewritten: place of the step after which that memory was first seen changed, or None.
    """

    rank: int
    place: int
    kind: str
    peer: int
    round: int
    line: int
    nbytes: int
    parts: tuple
    changes: tuple
    lent: tuple
    rewritten: int | None


def terms(held, chunk):
    """Whose gradients of this chunk are in `held`: a sorted tuple of ranks, one repeated when counted twice."""
    return next((tuple(whose) for number, whose in held or () if number == chunk), ())


def foreign(held, chunk):
    """Numbers of the other chunks that `held` holds parts of."""
    return [number for number, _ in held or () if number != chunk]


class Seen:
    """What `observe` saw with `ranks` ranks.

    programs[r]: the Steps of rank r in program order.  steps: all of them by (round, rank).  rounds: the run's length
    in rounds.  opening[r]: the Changes of rank r before its first call.  held[r]: what its chunks hold at the end.
    The rest as `observe` gives it.
    """

    def __init__(self, data):
        self.data = data
        self.ranks = data["ranks"]
        self.returned, self.final, self.weights = data["returned"], data["final"], data["weights"]
        self.pending, self.finished, self.ended = data["pending"], set(data["finished"]), data["ended"]
        self.starts, rounds = rounds_of(data["kinds"], data["peers"])
        self.rounds = max([rounds, *(start + 1 for mine in self.starts for start in mine)])
        self.opening, self.programs, self.held = [], [], []
        for rank in range(self.ranks):
            self._replay(rank)
        self.steps = sorted((step for mine in self.programs for step in mine), key=lambda s: (s.round, s.rank, s.place))

    def _replay(self, rank):
        data, held = self.data, [((chunk, (rank,)),) for chunk in range(self.ranks)]

        def changes(index):
            found = []
            for slot, after in data["changes"][rank][index]:
                after = None if after is None else tuple((number, tuple(whose)) for number, whose in after)
                found.append(Change(slot, held[slot], after))
                held[slot] = after
            return tuple(found)

        self.opening.append(changes(0))
        mine = [
            Step(
                rank,
                i,
                tracing.KINDS[kind],
                data["peers"][rank][i],
                self.starts[rank][i],
                data["lines"][rank][i],
                data["nbytes"][rank][i],
                tuple(data["messages"][rank][i]),
                changes(i + 1),
                tuple(data["lent"][rank][i]),
                data["rewritten"][rank][i],
            )
            for i, kind in enumerate(data["kinds"][rank])
        ]
        self.programs.append(mine)
        self.held.append(held)

    @property
    def silent(self):
        """Whether no rank sent or received anything."""
        return not any(self.programs) and not any(self.pending)

    @property
    def untouched(self):
        """Whether no chunk was changed."""
        return not any(self.opening) and not any(step.changes for step in self.steps)

    @cached_property
    def causal(self):
        """All Steps, each rank in program order and every receive after its send."""
        left, sent, order = [list(reversed(mine)) for mine in self.programs], {}, []
        moved = True
        while moved:
            moved = False
            for rank, mine in enumerate(left):
                while mine:
                    step = mine[-1]
                    pair = (step.peer, rank) if step.kind == "recv" else (rank, step.peer)
                    if step.kind == "recv" and not sent.get(pair):
                        break
                    sent[pair] = sent.get(pair, 0) + (1 if step.kind == "send" else -1)
                    order.append(mine.pop())
                    moved = True
        return order

    @cached_property
    def unread(self):
        """Dict (src, dst) -> messages sent and never received, where there are any."""
        left = {}
        for step in self.steps:
            pair = (step.rank, step.peer) if step.kind == "send" else (step.peer, step.rank)
            left[pair] = left.get(pair, 0) + (1 if step.kind == "send" else -1)
        return {pair: count for pair, count in sorted(left.items()) if count}

    def useful(self, what="allreduce", shift=0):
        """(additions, copies) over all ranks: chunks that came and were added where they were missing, and complete
        ones that replaced what was not.

        An all-reduce that adds each gradient once does P(P-1) of either; in an all-gather each rank's chunk number
        rank + 1 - shift is complete from the start.
        """
        everybody, added, copied = tuple(range(self.ranks)), 0, 0
        for step in self.steps:
            for slot, before, after in step.changes:
                mine, now = terms(before, slot), terms(after, slot)
                if foreign(after, slot) or mine == now or after is None:
                    continue
                complete = ((slot - 1 + shift) % self.ranks,) if what == "all_gather" else everybody
                came = [terms(part, slot) for part in step.parts if step.kind == "recv"]
                if now == complete and now in came:
                    copied += 1
                elif set(mine) < set(now) and len(set(now)) == len(now):
                    one = any(set(mine) | set(part) == set(now) for part in came)
                    added += 1 if one else len(now) - len(mine)
        return added, copied

    @property
    def probe(self):
        """This observation in the form of `probe.run_probe`."""
        more = {"chunks": self.ranks, "starts": self.starts, "rounds": self.rounds, "unread": list(self.unread)}
        return {**self.data, **more}

    def trace(self, about, until=None, failure=None):
        """The Trace of this run, for the player: up to and with round `until`, marked with `failure`.

        about: algorithm, source.  Bytes and values are those of 10**r in two elements per chunk.
        """
        scale = 8 * ELEMENTS / (8 * self.ranks * self.ranks)
        programs = [
            [
                (kind, peer, line, round(nbytes * scale), float(start), float(start + 1))
                for kind, peer, line, nbytes, start in zip(
                    self.data["kinds"][rank],
                    self.data["peers"][rank],
                    self.data["lines"][rank],
                    self.data["nbytes"][rank],
                    self.starts[rank],
                )
                if until is None or start <= until
            ]
            for rank in range(self.ranks)
        ]
        rounds = self.rounds if until is None else min(self.rounds, until + 1)
        probe = {**self.probe, "rounds": rounds}
        values = [[10.0**rank] * self.ranks for rank in range(self.ranks)]
        return tracing.build(probe, programs, values=values, failure=failure, **about)
