"""`star_bytes(p, nbytes)`: how many bytes go through the root's port in a star, in and out.

Judged against the counters of real code: the star is run for 1 to 9 ranks, and what rank 0 sent and received is what
the formula must say.
"""

import numpy as np

from ..runs import run
from .outcome import Outcome, not_written

RANKS = range(1, 10)
SIZES = (8, 1000)  # elements of 8 bytes


def counted(p, elements):
    """(bytes in, bytes out) of the root, as a run of the star counts them."""
    star = run("star", [np.ones(elements)] * p, wire="virtual")
    return star.received[0], star.sent[0]


def check(star_bytes):
    """An Outcome: whether `star_bytes(p, nbytes)` is what the root's counters say, for P = 1 to 9."""
    for p in RANKS:
        for elements in SIZES:
            nbytes = 8 * elements
            said = star_bytes(p, nbytes)
            if said is None or said is NotImplemented:
                return not_written(f"star_bytes({p}, {nbytes}) gives {said}")
            into, out = counted(p, elements)
            if said != into + out:
                return Outcome(False, _wrong(said, p, nbytes, into, out))
    return Outcome(True, f"passed: the counters agree for P = {RANKS[0]} to {RANKS[-1]}")


def _wrong(said, p, nbytes, into, out):
    text = f"P = {p}, {nbytes} bytes each: you say {said}, the root's counters say {into} in and {out} out"
    if p == 1:
        return f"{text}\nA single rank has nobody to talk to."
    hints = {
        (p - 1) * nbytes: "That is one direction. The sum has to come back, too.",
        2 * p * nbytes: "The root is one of the P ranks: it sends nothing to itself.",
        2 * nbytes: "That is what a leaf moves. How many leaves does the root serve?",
        p * nbytes: "Count the leaves, and both directions.",
        2 * (p - 1): "Count bytes, not messages.",
    }
    hint = next((words for value, words in hints.items() if said == value), None)
    return f"{text}\n{hint}" if hint else text
