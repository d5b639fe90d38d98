"""All-reduces as plain functions: `name(chunks, rank, send, recv)`, each in a file of its own.

They use `len(chunks)`, `+`, assignment to `chunks[i]`, and the pair, and know nothing of processes or clocks.
`name.lends` says whether a wire may lend its chunks instead of copying them, `name.postcondition` what holds at
the end ("allreduce" when it is not said).
"""

from .pass_around import pass_around_allreduce
from .ring import all_gather, reduce_scatter, ring_allreduce

ALGORITHMS = {
    "ring": ring_allreduce,
    "pass_around": pass_around_allreduce,
}

__all__ = ["ALGORITHMS", "all_gather", "pass_around_allreduce", "reduce_scatter", "ring_allreduce"]
