"""How far apart are two results? In steps of their format, in elements, in replicas."""

import hashlib

import numpy as np

from ..dtypes import format_of
from ..verdicts import BadInput
from .sums import neighbour

FAR = np.uint64(2**64 - 1)  # the distance between a number and NaN


def ulp(x):
    """The step of x's format at |x|: the distance to the next larger magnitude.

    >>> float(ulp(np.float32(1e8))), float(ulp(np.float16(2048)))
    (8.0, 2.0)
    """
    x = np.abs(np.asarray(x))
    _need_floats(x)
    above = neighbour(x, up=True)
    with np.errstate(invalid="ignore", over="ignore"):
        below = x - neighbour(x, up=False)
        return np.where(np.isfinite(above), above - x, below).astype(x.dtype)


def ulp_distance(a, b):
    """How many steps of their format lie between a and b, element by element, as uint64.

    0 for equal numbers, for +0 and -0, and for two NaNs; 2**64 - 1 for a number and NaN.

    >>> int(ulp_distance(np.float32(1), np.nextafter(np.float32(1), np.float32(2))))
    1
    """
    a, b = np.asarray(a), np.asarray(b)
    _need_floats(a)
    if a.dtype != b.dtype:
        raise BadInput(f"{a.dtype} and {b.dtype} have different steps", "give two results of one dtype")
    with np.errstate(over="ignore"):  # where() computes both sides
        a_place, b_place = _place(a), _place(b)
        steps = np.where(a_place > b_place, a_place - b_place, b_place - a_place)
    nans = (a != a).astype(int) + (b != b)
    return np.where(nans == 1, FAR, np.where(nans == 2, np.uint64(0), steps))


def _place(x):
    """The place of each number in the order of all numbers of its format, as uint64."""
    half = np.uint64(2**63)
    bits = x.view(f"u{x.dtype.itemsize}").astype(np.uint64)
    sign = np.uint64(2 ** (8 * x.dtype.itemsize - 1))
    return np.where(bits >= sign, half - (bits - sign), half + bits)


def same_bits(a, b):
    """Element by element, whether two results have the same bits (so -0 is not 0, and a NaN can be itself)."""
    a, b = np.asarray(a), np.asarray(b)
    if a.dtype != b.dtype:
        raise BadInput(f"{a.dtype} and {b.dtype} cannot have the same bits", "give two results of one dtype")
    if a.shape != b.shape:
        raise BadInput(f"shapes {a.shape} and {b.shape} cannot be compared", "give two results of one shape")
    size = a.dtype.itemsize
    left, right = (np.ascontiguousarray(x).reshape(-1).view(np.uint8).reshape(-1, size) for x in (a, b))
    return (left == right).all(axis=1).reshape(a.shape)


def differing(a, b):
    """The share of elements whose bits differ, from 0 to 1."""
    return float(np.mean(~same_bits(a, b))) if np.size(a) else 0.0


def count_replicas(outputs):
    """How many different results the ranks hold, bit for bit: 1 is what an all-reduce promises.

    >>> count_replicas([np.float32([0, 1]), np.float32([0, 1]), np.float32([-0.0, 1])])
    2
    """
    return len({np.ascontiguousarray(output).tobytes() for output in outputs})


def fingerprint(x):
    """A short text that stands for the bits, shape and dtype of `x`, the same on every machine."""
    x = np.ascontiguousarray(x)
    little = x.astype(x.dtype.newbyteorder("<")) if x.dtype.byteorder == ">" else x
    said = f"{x.dtype.name} {x.shape} ".encode() + little.tobytes()
    return hashlib.sha256(said).hexdigest()[:8]


def _need_floats(x):
    if format_of(x.dtype).bits > 64:
        raise BadInput(f"{x.dtype} has no steps that can be counted", "use float64 or shorter")
