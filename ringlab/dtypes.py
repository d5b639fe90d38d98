"""Number formats by name, and what each can hold: the short floats of low precision included.

bfloat16 and the 8-bit floats come from ml_dtypes, which is imported when one of them is first named and not before.
"""

import contextlib
from typing import Any, NamedTuple

import numpy as np

from .verdicts import BadInput

# What people call them: numpy's (and ml_dtypes') names
SHORT_NAMES = {
    "fp64": "float64",
    "fp32": "float32",
    "fp16": "float16",
    "bf16": "bfloat16",
    "e4m3": "float8_e4m3fn",
    "e5m2": "float8_e5m2",
}


class Format(NamedTuple):
    """What a float format can hold.

    digits: significant bits, the hidden one included.  u: half the step above 1, the largest relative error of one
    rounding.  largest, smallest_normal, smallest: positive numbers; below `smallest_normal` precision fades.
    """

    name: str
    bits: int
    digits: int
    u: float
    largest: float
    smallest_normal: float
    smallest: float


def dtype_of(name, what="dtype"):
    """The np.dtype of a name ("float16", "bf16", "float8_e4m3fn", ...), a type or a dtype; BadInput names `what`.

    >>> dtype_of("bf16").name, dtype_of(np.float32).name
    ('bfloat16', 'float32')
    """
    if isinstance(name, str):
        name = SHORT_NAMES.get(name, name)
    try:
        return np.dtype(name)
    except TypeError:
        pass
    import ml_dtypes

    try:
        return np.dtype(getattr(ml_dtypes, name))
    except (AttributeError, TypeError):
        raise BadInput(
            f"{what}={name!r} is no number type", f"use a numpy dtype, or one of {', '.join(SHORT_NAMES)}"
        ) from None


def name_of(dtype):
    """A name from which `dtype_of` makes the same dtype: numpy's own text knows byte orders, but not short floats."""
    own = dtype.kind == "V" or (dtype.kind == "f" and dtype.itemsize == 1)
    return dtype.name if own else dtype.str


def is_float(dtype):
    """Whether the dtype is a real float: numpy's, bfloat16 and the 8-bit ones."""
    return dtype.kind == "f" or (dtype.kind == "V" and dtype.name.startswith(("bfloat", "float")))


def is_short(dtype):
    """Whether it is a float of 16 bits or fewer, in which a running sum soon stops growing."""
    return is_float(dtype) and dtype.itemsize <= 2


def format_of(dtype):
    """The Format of a float dtype (for complex numbers that of their parts), or BadInput.

    >>> format_of("fp16").u == 2**-11, format_of("bf16").digits
    (True, 8)
    """
    dtype = dtype_of(dtype)
    if dtype.kind == "c":
        dtype = np.empty(0, dtype).real.dtype
    if not is_float(dtype):
        raise BadInput(f"{dtype} is no float", f"use one of {', '.join(SHORT_NAMES)}")
    finfo: Any = np.finfo
    if dtype.kind == "V" or dtype.itemsize == 1:
        from ml_dtypes import finfo
    info = finfo(dtype)
    numbers = (info.eps, info.max, info.smallest_normal, info.smallest_subnormal)
    convert = float if dtype.itemsize <= 8 else np.longdouble
    sizes: Any = (convert(number) for number in numbers)
    eps, largest, normal, smallest = sizes
    digits = 1 - round(np.log2(float(eps)))
    return Format(dtype.name, 8 * dtype.itemsize, digits, eps / 2, largest, normal, smallest)


@contextlib.contextmanager
def quiet():
    """No numpy warnings about overflow in here: a run finds it itself and says what to do. "raise" stays "raise"."""
    now = np.geterr()
    silenced: Any = {kind: "ignore" for kind in ("over", "invalid") if now[kind] == "warn"}
    with np.errstate(**silenced):
        yield
