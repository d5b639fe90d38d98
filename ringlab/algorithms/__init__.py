"""All-reduces as plain functions: `name(chunks, rank, send, recv)`, each in a file of its own that imports nothing.

They use `len(chunks)`, `+`, assignment to `chunks[i]`, and the pair, and know nothing of processes or clocks. A
message is a chunk, or a list of chunks that travels as one. `name.lends` says whether a wire may lend its chunks
instead of copying them, `name.postcondition` what holds at the end ("allreduce" when it is not said).
"""

from .direct import direct_all_gather, direct_allreduce, direct_reduce_scatter
from .double_tree import double_tree_allreduce
from .doubling import doubling_allreduce
from .halving import halving_allreduce
from .hierarchical import hierarchical_allreduce, leader_allreduce
from .in_network import nvls_allreduce, switch_allreduce
from .parameter_server import parameter_server_allreduce
from .pass_around import pass_around_allreduce
from .ring import all_gather, reduce_scatter, ring_allreduce
from .star import pipelined_star_allreduce, star_allreduce
from .torus import torus_allreduce
from .tree import broadcast, reduce, tree_allreduce
from .two_way_ring import two_way_ring_allreduce

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
    "two_way_ring": two_way_ring_allreduce,
    "torus": torus_allreduce,
    "hierarchical": hierarchical_allreduce,
    "leader": leader_allreduce,
    "double_tree": double_tree_allreduce,
    "parameter_server": parameter_server_allreduce,
    "switch": switch_allreduce,
    "nvls": nvls_allreduce,
}

__all__ = [
    "ALGORITHMS",
    "all_gather",
    "broadcast",
    "direct_all_gather",
    "direct_allreduce",
    "direct_reduce_scatter",
    "double_tree_allreduce",
    "doubling_allreduce",
    "halving_allreduce",
    "hierarchical_allreduce",
    "leader_allreduce",
    "nvls_allreduce",
    "parameter_server_allreduce",
    "pass_around_allreduce",
    "pipelined_star_allreduce",
    "reduce",
    "reduce_scatter",
    "ring_allreduce",
    "star_allreduce",
    "switch_allreduce",
    "torus_allreduce",
    "tree_allreduce",
    "two_way_ring_allreduce",
]
