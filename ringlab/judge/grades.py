"""Structural grades: what a right all-reduce costs, counted in messages, bytes and rounds, never in time.

S is one rank's buffer. An all-reduce, built from messages between ranks, makes its busiest rank send at least
2(P-1)/P S and receive as much (Patarasuk and Yuan 2009); a reduce-scatter or an all-gather half of that.
"""

from fractions import Fraction
from typing import NamedTuple

from ..algorithms import ALGORITHMS
from ..texts import listed, plural
from ..verdicts import BadInput
from .finding import Finding

HALVES = {"allreduce": 2, "mean": 2, "reduce_scatter": 1, "all_gather": 1}
LIMITS = ("bytes", "rounds", "messages")
MENDS = {
    "bytes": "Cut the gradient: nobody needs to send or receive more than its share of every chunk.",
    "rounds": "Fewer, larger messages: in each round let a rank talk to one that is twice as far away as before.",
    "messages": "Put several chunks into one message: send a list of them.",
}


class Grade(NamedTuple):
    """One run at `ranks` ranks. sent, received: per rank, in units of S.  messages: sends per rank.  bound: what the
    busiest rank cannot send less than, in S.  star: what the root of a naive star sends."""

    ranks: int
    sent: tuple
    received: tuple
    messages: tuple
    rounds: int
    bound: Fraction
    star: int

    @property
    def busiest(self):
        """The rank through whose two ports most bytes go (the first of several)."""
        return max(range(self.ranks), key=lambda rank: (self.moved(rank), -rank))

    @property
    def peak(self):
        """The most that one port, in or out, of any rank carries, in S."""
        return max(*self.sent, *self.received)

    @property
    def best(self):
        """Whether no rank sends or receives more than the bound."""
        return self.peak <= self.bound

    def to_dict(self):
        """Plain numbers."""
        return {
            "sent": [float(x) for x in self.sent],
            "received": [float(x) for x in self.received],
            "messages": list(self.messages),
            "rounds": self.rounds,
            "peak_port": float(self.peak),
            "bound": float(self.bound),
            "star": self.star,
        }

    def in_words(self):
        """One line: what the busiest rank moves, beside the bound and the naive star."""
        if self.ranks == 1:
            return "with 1 rank there is nothing to send"
        if self.best:
            few, many = min(self.messages), max(self.messages)
            count = plural(many, "message") if few == many else f"{few} to {many} messages"
            each = f"each rank sends {count} and {'' if len(set(self.sent)) == 1 else 'at most '}{in_s(self.peak)}"
            return f"with {self.ranks} ranks: {plural(self.rounds, 'round')}, {each}, the fewest bytes possible"
        star = f" (a star's root: {in_s(2 * self.star)})" if self.moved(self.busiest) != 2 * self.star else ""
        return f"right, but with {self.ranks} ranks {self.excess()}; the bound is {in_s(self.bound)} each way{star}"

    def moved(self, rank):
        """What goes through both ports of a rank, in S."""
        return self.sent[rank] + self.received[rank]

    def excess(self):
        """'rank 0 moves 14 S (7 S out, 7 S in)'."""
        rank = self.busiest
        alike = len(set(zip(self.sent, self.received, strict=True))) == 1
        who = "every rank" if alike else f"rank {rank}"
        return f"{who} moves {in_s(self.moved(rank))} ({in_s(self.sent[rank])} out, {in_s(self.received[rank])} in)"


def in_s(amount):
    """'1.75 S', '7 S'.

    >>> in_s(Fraction(7, 4))
    '1.75 S'
    """
    return f"{float(amount):.4g} S"


def grade(seen, what="allreduce"):
    """The Grade of an observation, with equal chunks."""
    ranks, whole = seen.ranks, 8 * seen.ranks**3
    sent, received, messages = [Fraction(0)] * ranks, [Fraction(0)] * ranks, [0] * ranks
    for step in seen.steps:
        if step.peer == step.rank:
            continue
        share = Fraction(step.nbytes, whole)
        if step.kind == "send":
            sent[step.rank] += share
            messages[step.rank] += 1
        else:
            received[step.rank] += share
    bound = Fraction(HALVES[what] * (ranks - 1), ranks)
    return Grade(ranks, tuple(sent), tuple(received), tuple(messages), seen.rounds, bound, ranks - 1)


def check_at_most(at_most):
    """BadInput when `at_most` is none of: None, the name of an algorithm, a dict of limits."""
    if at_most is None or (isinstance(at_most, str) and at_most in ALGORITHMS):
        return
    if isinstance(at_most, dict) and at_most and set(at_most) <= set(LIMITS):
        return
    raise BadInput(
        f"at_most={at_most!r} is no limit",
        f"use the name of an algorithm ({', '.join(ALGORITHMS)}), or a dict with some of {', '.join(LIMITS)}",
    )


def over(graded, at_most, what="allreduce", model=None):
    """The Finding of a grade above `at_most`, or None.

    model: the Grade of the all-reduce that `at_most` names; half its bytes are allowed for half of an all-reduce.
    """
    limits = dict(at_most) if isinstance(at_most, dict) else {"bytes": model.peak * HALVES[what] / 2}
    measured = {"bytes": graded.peak, "rounds": graded.rounds, "messages": max(graded.messages)}
    broken = [name for name in LIMITS if name in limits and measured[name] > limits[name]]
    if not broken:
        return None
    rank = graded.busiest
    words = {
        "bytes": graded.excess(),
        "rounds": f"it takes {plural(graded.rounds, 'round')}",
        "messages": f"a rank sends {plural(max(graded.messages), 'message')}",
    }
    allowed = {
        "bytes": lambda limit: f"{in_s(limit)} each way",
        "rounds": lambda limit: plural(limit, "round"),
        "messages": lambda limit: plural(limit, "message"),
    }
    bound = "the bound is" if broken == ["bytes"] and limits["bytes"] == graded.bound else "allowed are"
    allowance = listed(allowed[name](limits[name]) for name in broken)
    text = f"{listed(words[name] for name in broken)}; {bound} {allowance}"
    where = f"Count what rank {rank} sends and receives in each round."
    return Finding("OVER_BOUND", "over", text, rank=rank, where=where, fill={"mend": MENDS[broken[0]]})
