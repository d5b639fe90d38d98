"""`order(chunk, p)`: in which order a ring of p ranks adds up a chunk, as a list of ranks.

Judged against traces of the ring for P = 2 to 8. The first two may be swapped: a + b is b + a, to the last bit.
"""

import functools

from ..numerics.orders import swapped
from ..runs import run
from .asking import Raised, ask
from .outcome import Outcome, not_written

RANKS = range(2, 9)
FIRST = (2, 4)  # the lesson's own case is asked first


@functools.cache
def traced(p):
    """The orders of all chunks of a ring of p ranks, from its trace."""
    trace = run("ring", ranks=p, wire="virtual").trace
    return tuple(trace.order(chunk) for chunk in range(p))


def check(order):
    """An Outcome: whether `order(chunk, p)` is what the traces say."""
    every = [(chunk, p) for p in RANKS for chunk in range(p)]
    asked = [FIRST, *(question for question in every if question != FIRST)]
    answers = ask(order, asked)
    if isinstance(answers, Outcome):
        return answers
    if answers[0] is None or answers[0] == []:
        return not_written(f"order{FIRST} gives {answers[0]}")
    for question, said in zip(asked, answers):
        chunk, p = question
        if isinstance(said, Raised):
            return Outcome(False, f"not right yet: order{question} raised {said.text}, at line {said.line}")
        if not isinstance(said, list) or sorted(map(repr, said)) != sorted(map(repr, range(p))):
            return Outcome(
                False, f"not right yet: order{question} says {said}; each of the {p} ranks belongs in it once"
            )
        if swapped(_as_added(said)) != swapped(traced(p)[chunk]):
            said_as = f"not right yet: order{question} says {said}, the trace says {traced(p)[chunk]}"
            return Outcome(False, "\n".join([said_as, *_hint(chunk, p, said)]))
    return Outcome(True, f"passed: the traces agree for every chunk, P = {RANKS[0]} to {RANKS[-1]}")


def _as_added(ranks):
    """The order that adds these ranks one after the other."""
    first, *rest = ranks
    for rank in rest:
        first = (first, rank)
    return first


def _hint(chunk, p, said):
    cyclic = [(chunk + k) % p for k in range(p)]
    hints = [
        (list(range(p)), "That is how a star adds: every chunk in the same order."),
        (cyclic[::-1], "That is against the direction in which the chunk travels."),
        ([(chunk + 1 + k) % p for k in range(p)], "That begins one rank late. Who sends this chunk in round 0?"),
        ([(chunk - 1 + k) % p for k in range(p)], "That begins one rank early. Who sends this chunk in round 0?"),
        ([(chunk - k) % p for k in range(p)], "The chunk starts there, but it travels to the next higher rank."),
    ]
    return [words for guess, words in hints if guess == said][:1]
