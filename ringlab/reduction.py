"""Arrays in, arrays out: which dtypes can be reduced, what they are added up in, and what the result looks like."""

import math

import numpy as np

from .chunks import ADDERS
from .dtypes import dtype_of, is_float, is_short
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
    return dtype.kind in "iuc" or is_float(dtype)


def accumulate_dtype(dtype, op="sum", accumulate=None):
    """The dtype in which sums are formed.

    What the caller asks for, if it can hold such numbers; float32 for 16- and 8-bit floats, because a running sum in
    them soon stops growing; int64 for the mean of smaller integers, because their sum may not fit; else the dtype
    itself, in the machine's byte order.
    """
    if accumulate is not None:
        return same_kind(dtype, accumulate, "accumulate")
    if is_short(dtype):
        return np.dtype(np.float32)
    dtype = dtype.newbyteorder("=") if dtype.kind in "iufc" else dtype
    if op == "mean" and dtype.kind in "iu" and dtype.itemsize < 8:
        return np.dtype(np.int64)
    return dtype


def same_kind(dtype, name, argument):
    """The dtype called `name` for numbers of `dtype`; BadInput when it would cut off fractions or imaginary parts."""
    chosen = dtype_of(name, argument)
    if not is_number(chosen) or _kind(chosen) < _kind(dtype):
        nearest = {0: "int64", 1: "float32", 2: "complex64"}[_kind(dtype)]
        raise BadInput(f"{argument}={chosen.name!r} cannot hold {dtype.name}", f"use a dtype such as {nearest}")
    return chosen


def _kind(dtype):
    """0 for integers, 1 for floats, 2 for complex numbers: each holds those before it."""
    return 2 if dtype.kind == "c" else int(is_float(dtype))


def result_dtype(dtype, accumulate, given, op):
    """The dtype of the results: the input's, but float64 for a mean of integers.

    Integers whose sum was asked for in a wider dtype (`given`) come back in it: cut to the input's dtype they would
    wrap around after all. Floats are rounded to the input's dtype whatever they were added in.
    """
    if dtype.kind in "iu" and op == "mean":
        return np.dtype(np.float64)
    if dtype.kind in "iu" and op == "sum" and given:
        return np.result_type(dtype, accumulate)
    return dtype


def buffer_of(array, dtype):
    """A flat copy in C order, as `dtype`."""
    with np.errstate(over="ignore"):  # a value beyond a narrow `accumulate` is found in the result
        return np.array(array, dtype=dtype, order="C", copy=True).reshape(-1)


def result_of(buffer, shape, dtype, op, ranks):
    """One rank's result in `shape` and `dtype` (see `result_dtype`); a mean is divided first, in float32 at least."""
    if op == "mean":
        buffer = (buffer.astype(np.float32) if is_short(buffer.dtype) else buffer) / ranks
    if buffer.size == math.prod(shape):
        buffer = buffer.reshape(shape)
    with np.errstate(over="ignore", invalid="ignore"):
        return buffer.astype(dtype, copy=False)
