"""Ways of adding up a list of numbers, or of arrays element by element, in any float format.

`terms` is a sequence of numbers or of arrays of one shape; each is rounded to `dtype` first. All operations of a sum
are then rounded to `dtype`, as they would be on a machine that has nothing else.
"""

import math
from fractions import Fraction

import numpy as np

from ..dtypes import dtype_of
from .seeded import uniforms


def rounded(terms, dtype):
    """The terms as a list of arrays of `dtype` (None: of their own)."""
    arrays = [np.asarray(term) for term in terms]
    with np.errstate(over="ignore", invalid="ignore"):
        return arrays if dtype is None else [array.astype(dtype_of(dtype)) for array in arrays]


def in_order(terms, dtype=None):
    """((t0 + t1) + t2) + ...: what a ring does with each chunk, and a star with all.

    >>> float(in_order([1] * 4096, "float16"))
    2048.0
    """
    first, *rest = rounded(terms, dtype)
    total = first.copy()
    with np.errstate(over="ignore", invalid="ignore"):
        for term in rest:
            total = total + term
    return total


def pairwise(terms, dtype=None):
    """The sum of the two halves, each added up in the same way: ceil(log2 n) roundings on the way instead of n - 1.

    >>> float(pairwise([1] * 4096, "float16"))
    4096.0
    """
    level = rounded(terms, dtype)
    with np.errstate(over="ignore", invalid="ignore"):
        while len(level) > 1:
            pairs = [a + b for a, b in zip(level[::2], level[1::2])]
            level = pairs + level[len(level) - len(level) % 2 :]
    return level[0]


def kahan(terms, dtype=None):
    """In order, but what each addition loses is kept and added to the next term (Kahan, CACM 1965).

    >>> float(kahan([1] * 4096, "float16"))
    4096.0
    """
    first, *rest = rounded(terms, dtype)
    total, lost = first.copy(), np.zeros_like(first)
    with np.errstate(over="ignore", invalid="ignore"):
        for term in rest:
            mended = term - lost
            bigger = total + mended
            lost = (bigger - total) - mended
            total = bigger
    return total


def stochastic(terms, dtype, seed=0):
    """In order, every addition rounded up or down by chance: right on average, however short the format."""
    first, *rest = rounded(terms, dtype)
    dtype, total = dtype_of(dtype), first.copy()
    for step, term in enumerate(rest):
        exact = total.astype(np.float64) + term.astype(np.float64)
        total = stochastic_round(exact, dtype, seed * 1_000_003 + step)
    return total


def stochastic_round(x, dtype, seed=0):
    """`x` (float64) in `dtype`: one of its two neighbours there, the nearer one with the larger probability."""
    dtype, x = dtype_of(dtype), np.asarray(x, np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        nearest = x.astype(dtype)
    there = nearest.astype(np.float64)
    other = neighbour(nearest, up=there < x).astype(np.float64)
    with np.errstate(invalid="ignore", divide="ignore"):
        share = np.where(there == x, 0.0, (x - there) / (other - there))  # how far x is on the way to the other one
    moves = uniforms(seed, x.shape) < share
    return np.where(moves, other, there).astype(dtype)


def neighbour(x, up):
    """The next number of x's own format, upwards where `up` is true, else downwards. NaN and infinities stay."""
    x = np.asarray(x)
    whole = x.view(f"i{x.dtype.itemsize}").astype(np.int64)
    sign = np.int64(-1) << np.int64(8 * x.dtype.itemsize - 1)  # the sign bit, as these integers have it
    with np.errstate(over="ignore"):  # where() computes both sides
        ordered = np.where(whole < 0, sign - whole, whole) + np.where(up, 1, -1)  # their order is that of the numbers
        moved = np.where(ordered < 0, sign - ordered, ordered).astype(f"i{x.dtype.itemsize}").view(x.dtype)
    return np.where(np.isfinite(x), moved, x)


def exact_sum(terms):
    """The exact sum as Fractions, an array of objects (or one Fraction for plain numbers); NaN and infinity refuse.

    >>> exact_sum([1e16, 1.0, -1e16])
    Fraction(1, 1)
    """
    first, *rest = ([Fraction(float(x)) for x in np.asarray(term).ravel()] for term in terms)
    for term in rest:
        first = [a + b for a, b in zip(first, term)]
    shape = np.shape(terms[0])
    if not shape:
        return first[0]
    total = np.empty(len(first), object)
    total[:] = first
    return total.reshape(shape)


def fsum(terms):
    """The exact sum rounded once, to float64: the reference that errors are measured against."""
    columns = np.stack([np.asarray(term, np.float64).ravel() for term in terms], axis=1)
    return np.array([math.fsum(column) for column in columns.tolist()]).reshape(np.shape(terms[0]))


def long_double_sum(terms):
    """The sum in order in the machine's long double: 64 significant bits on x86, 113 or only 53 elsewhere."""
    return in_order(terms, np.longdouble)
