"""All-reduces as plain functions: `name(chunks, rank, send, recv)`, each in a file of its own that imports nothing.

They use `len(chunks)`, `+`, assignment to `chunks[i]`, and the pair, and know nothing of processes or clocks. A
message is a chunk, or a list of chunks that travels as one. `name.lends` says whether a wire may lend its chunks
instead of copying them, `name.postcondition` what holds at the end ("allreduce" when it is not said).
"""

from .direct import direct_all_gather, direct_allreduce, direct_reduce_scatter
from .doubling import doubling_allreduce
from .halving import halving_allreduce
from .pass_around import pass_around_allreduce
from .ring import all_gather, reduce_scatter, ring_allreduce
from .star import pipelined_star_allreduce, star_allreduce
from .tree import broadcast, reduce, tree_allreduce

# The all-reduces by their short names, as `rl.run("star")` takes them
ALGORITHMS = {
    "ring": ring_allreduce,
    "pass_around": pass_around_allreduce,
    "star": star_allreduce,
    "pipelined_star": pipelined_star_allreduce,
    "tree": tree_allreduce,
    "doubling": doubling_allreduce,
    "halving": halving_allreduce,
    "direct": direct_allreduce,
}

__all__ = [
    "ALGORITHMS",
    "all_gather",
    "broadcast",
    "direct_all_gather",
    "direct_allreduce",
    "direct_reduce_scatter",
    "doubling_allreduce",
    "halving_allreduce",
    "pass_around_allreduce",
    "pipelined_star_allreduce",
    "reduce",
    "reduce_scatter",
    "ring_allreduce",
    "star_allreduce",
    "tree_allreduce",
]
