"""What callers ask for, checked before anything starts: algorithms by name, inputs, numbers of ranks, wires."""

import os

import numpy as np

from .algorithms import ALGORITHMS
from .reduction import check_array
from .verdicts import BadInput, Mismatch
from .world import check_ranks

WIRES = ("pipe", "shm", "pipe-blocking", "virtual")


def whole(name, value, least=1):
    """`value` as an int from `least` up, or BadInput that names it."""
    if isinstance(value, bool) or not hasattr(value, "__index__") or value < least:
        raise BadInput(f"{name}={value!r} is out of range", f"use a whole number from {least} up")
    return value.__index__()


def example_inputs(ranks, size=8):
    """Rank r holds 10**r in every element (float64): 1111 means that everybody is in once. Above 300 ranks just 1."""
    return [np.full(size, 10.0**rank if ranks <= 300 else 1.0) for rank in range(ranks)]


def resolve(algorithm):
    """The function of a name or a callable, or BadInput."""
    if isinstance(algorithm, str):
        if algorithm not in ALGORITHMS:
            raise BadInput(
                f"algorithm {algorithm!r} is not known", f"use one of {', '.join(ALGORITHMS)}, or a function"
            )
        return ALGORITHMS[algorithm]
    if not callable(algorithm):
        raise BadInput(
            f"algorithm is a {type(algorithm).__name__}, not a function",
            "give f(chunks, rank, send, recv) or a name",
        )
    return algorithm


def check_inputs(inputs, ranks, size, virtual=False):
    """The inputs as arrays of one shape and dtype; BadInput or Mismatch else."""
    if inputs is None:
        if not hasattr(size, "__index__") or size < 0:
            raise BadInput(f"size={size!r} is no number of elements", "use a whole number from 0 up")
        inputs = example_inputs(check_count(ranks, virtual), size)
    if isinstance(inputs, (str, bytes, dict)) or not hasattr(inputs, "__len__"):
        raise BadInput(f"inputs is a {type(inputs).__name__}", "give a list with one array per rank")
    arrays = [check_array(x, rank) for rank, x in enumerate(inputs)]
    check_count(len(arrays), virtual)
    for rank, array in enumerate(arrays):
        for what, mine, first in (
            ("shape", array.shape, arrays[0].shape),
            ("dtype", array.dtype, arrays[0].dtype),
        ):
            if mine != first:
                raise Mismatch(
                    f"rank 0 came with {what} {first}, rank {rank} with {mine}",
                    "an all-reduce adds element by element: give every rank the same shape and dtype",
                    "no data was moved",
                    rank=rank,
                    peer=0,
                )
    return arrays


def check_count(ranks, virtual):
    """`ranks` as an int the wire can take, or BadInput."""
    if not virtual:
        return check_ranks(ranks)
    if isinstance(ranks, bool) or not hasattr(ranks, "__index__") or not 1 <= ranks <= 1024:
        raise BadInput(f"ranks={ranks!r} is out of range", "the virtual wire takes 1 to 1024")
    return int(ranks)


def check_options(wire, timeout):
    """BadInput for an unknown wire or a timeout that is no positive number."""
    if wire not in WIRES:
        raise BadInput(f"wire={wire!r} is not known", f"use one of {', '.join(WIRES)}")
    if wire == "shm" and os.name == "nt":
        raise BadInput("wire='shm' needs Linux or macOS", "use wire='pipe'")
    if isinstance(timeout, bool) or not isinstance(timeout, (int, float)) or not timeout > 0:
        raise BadInput(f"timeout={timeout!r} is no time", "use seconds, a positive number")
