"""Whether a run's outputs are what its algorithm promises, and the words for it."""

import numpy as np

from .dtypes import format_of, is_float
from .remarks import on_rounding
from .verdicts import WrongResult

REDUCE = {"sum": np.add, "mean": np.add, "max": np.maximum, "min": np.minimum}

PROMISES = {
    "allreduce": "every rank holds the {op}",
    "reduce_scatter": "every chunk is complete on one rank",
    "all_gather": "every rank holds every chunk",
    "reduce": "one rank holds the {op}",
    "broadcast": "every rank holds the same",
}


def judge_outputs(function, buffers, flat, op, probe, wire_dtype=None):
    """(words, None or WrongResult): the flat results against what `function` promises.

    buffers: per rank the flat input in the dtype of the sum.  flat: per rank what came back.  wire_dtype: the dtype
    of the messages.  Integers must be exact; floats may be off by (P - 1) u sum|x| for every order of adding (Higham,
    Accuracy and Stability of Numerical Algorithms, section 4.2), doubled for the reference's own rounding, and by as
    much again for the wire's dtype. Where that allows a visible error, the words say how large it is.
    """
    promise = getattr(function, "postcondition", "allreduce")
    if promise != "allreduce":
        return _judge_part(promise, probe, op)
    wire_dtype = wire_dtype or buffers[0].dtype
    reference, weight, tolerance = expected(buffers, op, wire_dtype)
    wrong = [rank for rank, mine in enumerate(flat) if not same(mine, reference, tolerance)]
    if not wrong:
        words = PROMISES["allreduce"].format(op=op)
        off = on_rounding(flat, reference, weight, buffers[0].dtype, wire_dtype)
        return (f"{words}, {off}" if off else words), None
    words = _words(buffers, flat, probe)
    rank, index = wrong[0], first_difference(flat[wrong[0]], reference, tolerance)
    if index is None:
        lines = [f"rank {rank} returned {flat[rank].size} elements, {reference.size} were expected"]
    else:
        lines = [f"rank {rank}, element {index}: {flat[rank][index]}, the {op} is {reference[index]}"]
    return words, WrongResult(lines[0], words, rank=rank)


def expected(buffers, op, wire_dtype):
    """(reference, sum|x|, tolerance) per element of reducing the flat buffers; the last two None for exact results."""
    dtype = buffers[0].dtype
    exact = not is_float(dtype) and dtype.kind != "c"
    narrow = wire_dtype != dtype
    if exact or (op in ("max", "min") and not narrow):
        reduced = buffers[0].copy()
        for buffer in buffers[1:]:
            REDUCE[op](reduced, buffer, out=reduced)
        return reduced, None, None
    wide = np.result_type(dtype, np.float64)
    total, weight = buffers[0].astype(wide), np.abs(buffers[0]).astype(np.float64)
    with np.errstate(invalid="ignore", over="ignore"):
        for buffer in buffers[1:]:
            REDUCE[op](total, buffer, out=total)
            weight += np.abs(buffer)
        tolerance = 4 * len(buffers) * format_of(dtype).u * weight
        if narrow:
            tolerance += 4 * len(buffers) * (format_of(wire_dtype).u * weight + format_of(wire_dtype).smallest)
    return total, weight, tolerance


def same(mine, reference, tolerance):
    """Whether a flat result is the reference, within the tolerance."""
    return mine.shape == reference.shape and first_difference(mine, reference, tolerance) is None


def first_difference(mine, reference, tolerance):
    """Index of the first wrong element, or None; None as well when the sizes differ."""
    if mine.shape != reference.shape:
        return None
    with np.errstate(invalid="ignore", over="ignore"):
        equal = (mine == reference) | ((mine != mine) & (reference != reference))
        if tolerance is not None:
            equal |= np.abs(mine - reference) <= tolerance  # the reference is wide, so this is too
    (where,) = np.nonzero(~equal)
    return int(where[0]) if len(where) else None


def _words(buffers, flat, probe):
    """What can be said of a wrong all-reduce in a few words."""
    ranks = len(flat)
    agree = all(np.array_equal(mine, flat[0], equal_nan=mine.dtype.kind not in "iu") for mine in flat)
    final = probe["final"] if probe else None
    if final is None or any(row is None or len(row) != ranks for row in final):
        return "ranks agree on a wrong result" if agree else "ranks differ"
    counts = [_times(row[chunk], chunk, ranks) for row in final for chunk in range(ranks)]
    if len(set(counts)) == 1 and counts[0] not in (None, 1):
        return f"every gradient counted {counts[0]} times"
    complete = counts.count(1)
    return f"ranks {'agree' if agree else 'differ'}, {complete} of {ranks * ranks} chunks complete"


def _times(held, chunk, ranks):
    """How often every rank is in this chunk, when it is the same number for all and nothing else is in; else None."""
    if held is None or len(held) != 1 or held[0][0] != chunk:
        return None
    counts = {held[0][1].count(rank) for rank in range(ranks)}
    return counts.pop() if len(counts) == 1 else None


def _judge_part(promise, probe, op):
    """The operations that are no all-reduce, judged by whose terms their chunks hold."""
    words = PROMISES[promise].format(op=op)
    if probe is None:
        return "not judged above 64 ranks", None
    final, ranks = probe["final"], probe["ranks"]
    if promise == "reduce_scatter":
        owners = [
            [rank for rank in range(ranks) if _times(final[rank][chunk], chunk, ranks) == 1] for chunk in range(ranks)
        ]
        if all(owners):
            return words, None
        chunk = next(chunk for chunk in range(ranks) if not owners[chunk])
        return f"chunk {chunk} is complete nowhere", WrongResult(f"chunk {chunk} is complete on no rank")
    if promise == "reduce":
        if any(all(_times(row[chunk], chunk, ranks) == 1 for chunk in range(ranks)) for row in final):
            return words, None
        return "no rank holds it all", WrongResult("no rank holds every chunk complete")
    for chunk in range(ranks):
        held = {str(row[chunk]) for row in final}
        if len(held) != 1:
            return f"ranks differ in chunk {chunk}", WrongResult(f"chunk {chunk} is not the same on every rank")
    return words, None
