"""What a run says about its numbers: NaN that came in, sums that overflowed or wrapped, rounding that swallowed terms.

Each is a sentence in the run's own line and a warning. A warning is given once, however often its run is repeated, and
its text has no addresses of cells, because lessons keep it and nbval compares it.
"""

import warnings

import numpy as np

from .dtypes import format_of, is_short

SHOWN_OFF = 1e-3  # relative error from which a run with short floats says how far it is off


class NumberWarning(RuntimeWarning):
    """Numbers were lost, or are about to be."""


class NotFinite(NumberWarning):
    """An input holds NaN or infinity."""


class Overflow(NumberWarning):
    """A sum was too large for its float format."""


class WrappedAround(NumberWarning):
    """A sum was too large for its integer format and started again at the other end."""


class LowPrecision(NumberWarning):
    """A sum is formed in a float format in which it soon stops growing."""


_said, _filters = set(), None


def warn_once(text, category):
    """Give a warning unless it was given before under the same filters.

    Python's own "once" forgets as soon as anything, numpy for one, changes a filter for a moment; here a caller that
    sets filters of its own (`warnings.catch_warnings`, `pytest.warns`) hears everything afresh, and nobody else.
    """
    global _filters
    if _filters is not warnings.filters:
        _filters = warnings.filters
        _said.clear()
    if text not in _said:
        _said.add(text)
        warnings.warn_explicit(text, category, "rl.run", 1)


def on_options(accumulate, default):
    """Warn when the caller asked for sums in a short float; `default` is what they would be formed in otherwise."""
    if is_short(accumulate):
        form = format_of(accumulate)
        text = f"sums in {form.name} stop growing at {2**form.digits} when every term is 1"
        warn_once(f"{text}: leave out accumulate= to add in {default.name}", LowPrecision)


def on_numbers(arrays, outputs, flat, op, accumulate, wire_dtype):
    """Sentences about what was lost between the ranks' `arrays` and their `outputs`; each is a warning too.

    flat: per rank the result as it was formed, in the dtype `accumulate`; `wire_dtype` is that of the messages.
    """
    found = []
    if arrays[0].dtype.kind in "iu":
        if op == "sum" and accumulate.kind in "iu":
            found.append(on_wrap(arrays, min(accumulate, outputs[0].dtype, key=lambda dtype: np.iinfo(dtype).max)))
    else:
        found.append(on_inputs(arrays))
        if found == [None]:
            found.append(on_overflow(outputs, flat, accumulate, wire_dtype))
    return [text for text in found if text]


def on_inputs(arrays):
    """A sentence about the first NaN or infinity among the ranks' arrays, or None; also a warning."""
    for rank, array in enumerate(arrays):
        if _plainly_finite(array):
            continue
        where = np.argwhere(~np.isfinite(array))
        if not len(where):
            continue
        index = tuple(where[0].tolist())
        place = {0: "", 1: f" at index {index[0] if index else ''}"}.get(array.ndim, f" at index {index}")
        more = f", the first of {len(where)}" if len(where) > 1 else ""
        text = f"rank {rank}'s input is {array[index]}{place}{more}"
        warn_once(f"{text}: whatever it is added to is lost", NotFinite)
        return text
    return None


def _plainly_finite(array):
    """True when one pass without a temporary array shows that all is finite; False may mean a large sum only."""
    if array.dtype.itemsize < 4:
        return False
    with np.errstate(over="ignore", invalid="ignore"):
        return bool(np.isfinite(array.sum()))


def on_overflow(outputs, flat, accumulate, wire_dtype):
    """A sentence about a sum of finite floats that came out as infinity or NaN, or None; also a warning.

    outputs: the results in the caller's dtype.  flat: the same as they were formed, in the dtype `accumulate`.
    wire_dtype: the dtype in which messages travelled.
    """
    if all(_plainly_finite(output) or np.isfinite(output).all() for output in outputs):
        return None
    if all(np.isfinite(value).all() for value in flat):
        narrow, text = outputs[0].dtype, "the sum does not fit {}"
        cure = f"accumulate= cannot help, give {_wider(narrow)} inputs or take op='mean'"
    elif format_of(wire_dtype).largest < format_of(accumulate).largest:
        narrow, text = wire_dtype, "{} overflowed on the wire"
        cure = f"accumulate= cannot help, use wire_dtype='{_wider(narrow)}' or divide before adding"
    else:
        narrow, text = accumulate, "{} overflowed in the sum"
        cure = f"add in a wider format with accumulate='{_wider(narrow)}'"
    ends = format_of(narrow)
    warn_once(f"{text.format(f'{ends.name} (up to {ends.largest:g})')}: {cure}", Overflow)
    return text.format(ends.name)


def _wider(dtype):
    return "float32" if is_short(dtype) else "float64" if dtype.itemsize <= 4 else "longdouble"


def on_wrap(arrays, dtype):
    """A sentence when the exact sum of integer arrays does not fit the integer `dtype`, or None; also a warning."""
    info = np.iinfo(dtype)
    largest = sum(max(abs(int(array.max())), abs(int(array.min()))) for array in arrays if array.size)
    if largest <= info.max or not _outside(arrays, info).any():
        return None
    wider = "int64" if dtype.itemsize < 8 else "float64"
    text = f"a sum in {dtype.name} (up to {info.max}) wrapped around: accumulate='{wider}' gives {wider} results"
    warn_once(text, WrappedAround)
    return f"{dtype.name} wrapped around"


def _outside(arrays, info):
    """Which elements of the exact sum are outside the format: added in two halves of 32 bits, which cannot wrap."""
    high, low = np.zeros((2, *arrays[0].shape), np.int64)
    for array in arrays:
        wide = array.astype(np.uint64 if array.dtype.kind == "u" else np.int64)
        high += (wide >> 32).astype(np.int64)
        low += (wide & 0xFFFFFFFF).astype(np.int64)
    high, low = high + (low >> 32), low & 0xFFFFFFFF
    floor, ceiling = divmod(info.min, 2**32), divmod(info.max, 2**32)
    below = (high < floor[0]) | ((high == floor[0]) & (low < floor[1]))
    return below | (high > ceiling[0]) | ((high == ceiling[0]) & (low > ceiling[1]))


def on_rounding(flat, reference, weight, *dtypes):
    """How far off sums in short floats are, as a sentence: the largest error as a share of sum|x|; None when small."""
    short = [dtype for dtype in dtypes if is_short(dtype)]
    if not short or any(value.shape != reference.shape for value in flat):
        return None
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        off = max((np.nanmax(np.abs(value - reference) / weight, initial=0) for value in flat), default=0)
    if not SHOWN_OFF <= off < np.inf:
        return None
    return f"up to {100 * off:.2g} % off in {max(short, key=lambda dtype: format_of(dtype).u).name}"
