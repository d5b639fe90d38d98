"""Arrays in, arrays out: which dtypes can be reduced, what they are added up in, and what the result looks like."""

import math

import numpy as np

from .chunks import ADDERS
from .verdicts import BadInput

OPS = tuple(ADDERS)


def check_op(op):
    """The operation's name, or BadInput."""
    if op not in OPS:
        raise BadInput(f"op={op!r} is no operation of an all-reduce", f"use one of {', '.join(OPS)}")
    return op


def check_array(x, rank):
    """`x` as an array of numbers (no copy), or BadInput that names the rank and the dtype."""
    if isinstance(x, np.ma.MaskedArray):
        raise BadInput(
            f"rank {rank}'s input is a masked array, whose mask would be lost",
            "fill it first: x.filled(0)",
            rank=rank,
        )
    try:
        array = np.asarray(x)
    except ValueError:
        raise BadInput(f"rank {rank}'s input is no rectangular array", "give one array per rank", rank=rank) from None
    if not is_number(array.dtype):
        nearest = {"b": "int64, which counts", "M": "int64", "m": "int64"}.get(array.dtype.kind, "float64")
        raise BadInput(
            f"rank {rank}'s input has dtype {array.dtype}, which cannot be reduced",
            f"use a number type, for example {nearest}",
            rank=rank,
        )
    return array


def is_number(dtype):
    """Whether arrays of this dtype can be added: integers, floats (float8 and bfloat16 too), complex."""
    if dtype.hasobject or dtype.names or dtype.subdtype:
        return False
    return dtype.kind in "iufc" or (dtype.kind == "V" and dtype.name.startswith(("bfloat", "float")))


def accumulate_dtype(dtype, op="sum", accumulate=None):
    """The dtype in which sums are formed.

    float32 for 16- and 8-bit floats, because a running sum in them soon stops growing; int64 for the mean of smaller
    integers, because their sum may not fit; else the dtype itself, in the machine's byte order.
    """
    if accumulate is not None:
        return np.dtype(accumulate)
    dtype = dtype.newbyteorder("=") if dtype.kind in "iufc" else dtype
    if dtype.kind in "fV" and dtype.itemsize <= 2:
        return np.dtype(np.float32)
    if op == "mean" and dtype.kind in "iu" and dtype.itemsize < 8:
        return np.dtype(np.int64)
    return dtype


def buffer_of(array, dtype):
    """A flat copy in C order, as `dtype`."""
    return np.array(array, dtype=dtype, order="C", copy=True).reshape(-1)


def result_of(buffer, shape, dtype, op, ranks):
    """The result for one rank: the input's shape and dtype; the mean of integers is float64."""
    if op == "mean":
        if dtype.kind in "iu":
            dtype = np.dtype(np.float64)
        buffer = buffer / ranks
    if buffer.size == math.prod(shape):
        buffer = buffer.reshape(shape)
    with np.errstate(over="ignore"):
        return buffer.astype(dtype, copy=False)
