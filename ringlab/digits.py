"""Real handwritten digits, in an order that is the same on every machine, and who gets which of them.

Orders and starting weights come from a written-out integer generator, not from numpy's: its streams may change
between versions, and the numbers in a lesson must not.
"""

import functools
from pathlib import Path

import numpy as np

from .verdicts import BadInput

FILE = Path(__file__).with_name("data") / "digits.npz"
HELD_OUT = 5  # one image in five is kept for testing


def lcg(seed):
    """Endless whole numbers from 0 to 2**32 - 1: the high halves of Knuth's 64-bit congruential generator.

    >>> stream = lcg(0)
    >>> [next(stream) for _ in range(3)]
    [335903614, 436792849, 2599843874]
    """
    state = (seed * 6364136223846793005 + 1442695040888963407) % 2**64
    while True:
        yield state >> 32
        state = (state * 6364136223846793005 + 1442695040888963407) % 2**64


def permutation(n, seed):
    """The numbers 0 to n-1 in an order given by `seed` (Fisher and Yates), as an integer array.

    >>> permutation(5, seed=1).tolist()
    [3, 0, 1, 4, 2]
    """
    order, stream = list(range(n)), lcg(seed)
    for last in range(n - 1, 0, -1):
        other = next(stream) * (last + 1) >> 32
        order[last], order[other] = order[other], order[last]
    return np.array(order, dtype=np.intp)


@functools.cache
def _digits():
    with np.load(FILE, allow_pickle=False) as file:
        images, labels = file["images"], file["labels"]
    order = permutation(len(images), seed=0)
    images, labels = images[order].reshape(-1, 64) / 16.0, labels[order].astype(np.intp)
    images.flags.writeable = labels.flags.writeable = False  # one copy serves all callers
    return images, labels


def digits():
    """(images, labels): float64 (1797, 64) from 0 paper to 1 ink, integers (1797,). Read-only, in a fixed order."""
    return _digits()


def split(images, labels):
    """((images, labels) to train on, (images, labels) held out): the last fifth is held out."""
    cut = len(images) - len(images) // HELD_OUT
    return (images[:cut], labels[:cut]), (images[cut:], labels[cut:])


def share_out(order, ranks, shares=None):
    """One part of the array `order` for each rank.

    Without `shares` the ranks take turns, so parts differ by at most one in length. shares: one weight per rank;
    consecutive parts in these proportions, a rank of weight 0 gets none. BadInput for weights that are none.

    >>> [part.tolist() for part in share_out(np.arange(10), 4)]
    [[0, 4, 8], [1, 5, 9], [2, 6], [3, 7]]
    >>> [part.tolist() for part in share_out(np.arange(10), 3, shares=[1, 0, 4])]
    [[0, 1], [], [2, 3, 4, 5, 6, 7, 8, 9]]
    """
    if shares is None:
        return [order[rank::ranks] for rank in range(ranks)]
    weights = np.array(shares, dtype=float)
    if weights.shape != (ranks,) or not np.isfinite(weights).all() or (weights < 0).any() or not weights.any():
        raise BadInput(f"shares={shares!r}: give {ranks} weights, one per rank", "not negative and not all zero")
    cuts = np.rint(np.cumsum(weights) / weights.sum() * len(order)).astype(int)
    return np.split(order, cuts[:-1])
