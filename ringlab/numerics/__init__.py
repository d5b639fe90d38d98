"""Why sums of the same numbers differ, and by how much.

    seeded.py     numbers that are the same on every machine
    sums.py       ways of adding up: in order, pairwise, with compensation, with stochastic rounding; exactly
    orders.py     in which order a run added its terms: as an expression, as a tree, and evaluated again
    ulps.py       how far apart two results are: in steps of the format, in elements, in replicas
    bounds.py     how large the error can be, and usually is
    averages.py   a mean in a short format: divide before, after, or half and half; loss scaling
    layouts.py    what changes the bits of a run, and what does not
    drifts.py     the error of whole all-reduces, against the number of ranks

Everything here works for float64, float32, float16, bfloat16 and the 8-bit floats. Elementwise additions of IEEE
numbers give the same bits everywhere; `np.sum` and matrix products do not, so they are not used.
"""

from ..dtypes import dtype_of, format_of
from .averages import in_precision, mean_of, scaled, unscaled
from .bounds import kahan_bound, tree_bound, typical_bound, worst_bound
from .drifts import Drift, measure_drift, saved_drift
from .layouts import Changes, changed_bits
from .orders import chunk_of, depth, evaluate, orders, parse, sketch
from .seeded import normals, uniforms
from .sums import exact_sum, fsum, in_order, kahan, long_double_sum, pairwise, stochastic, stochastic_round
from .ulps import count_replicas, differing, fingerprint, same_bits, ulp, ulp_distance

__all__ = [
    "Changes",
    "Drift",
    "changed_bits",
    "chunk_of",
    "count_replicas",
    "depth",
    "differing",
    "dtype_of",
    "evaluate",
    "exact_sum",
    "fingerprint",
    "format_of",
    "fsum",
    "in_order",
    "in_precision",
    "kahan",
    "kahan_bound",
    "long_double_sum",
    "mean_of",
    "measure_drift",
    "normals",
    "orders",
    "pairwise",
    "parse",
    "same_bits",
    "saved_drift",
    "scaled",
    "sketch",
    "stochastic",
    "stochastic_round",
    "tree_bound",
    "typical_bound",
    "ulp",
    "ulp_distance",
    "uniforms",
    "unscaled",
    "worst_bound",
]
