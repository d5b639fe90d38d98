"""The error of whole all-reduces against the number of ranks, measured on the virtual wire.

One run carries every dtype at once: a chunk is a parcel of arrays, one per dtype, so an algorithm that is run once on
a thousand virtual ranks adds up in all of them, in its own order.
"""

import json
import math
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ..algorithms import ALGORITHMS
from ..chunks import bounds
from ..dtypes import dtype_of
from ..verdicts import BadInput
from ..wires.virtual import VirtualWire
from .seeded import normals, uniforms
from .sums import fsum

RANKS = (2, 4, 8, 16, 32, 64, 128)
DATA = {"uniform": uniforms, "normal": normals}
SAVED = Path(__file__).parents[1] / "data" / "drift.json"


class Row(NamedTuple):
    """Errors of one algorithm, dtype and P as shares of sum|x|: root mean square over the elements, and largest.

    Infinite when a sum overflowed.
    """

    algorithm: str
    dtype: str
    p: int
    rms: float
    largest: float


class Drift(NamedTuple):
    """Measured errors: `rows`, each over `n` elements of "uniform" or "normal" data. Its text is a table of the rms."""

    rows: tuple
    n: int
    data: str
    seed: int

    def curve(self, algorithm, dtype):
        """The rows of one algorithm and dtype, by P; BadInput when it was not measured."""
        name = dtype_of(dtype).name
        found = [row for row in self.rows if (row.algorithm, row.dtype) == (algorithm, name)]
        if not found:
            raise BadInput(f"{algorithm} in {name} was not measured", f"measured: {', '.join(self.names())}")
        return found

    def names(self):
        """What was measured, as "ring float16" and so on."""
        return list(dict.fromkeys(f"{row.algorithm} {row.dtype}" for row in self.rows))

    def only(self, algorithms=None, dtypes=None, ranks=None):
        """The part for these algorithms, dtypes and P, in the order asked for."""
        algorithms = list(dict.fromkeys(row.algorithm for row in self.rows)) if algorithms is None else algorithms
        dtypes = list(dict.fromkeys(row.dtype for row in self.rows)) if dtypes is None else dtypes
        rows = [row for dtype in dtypes for algorithm in algorithms for row in self.curve(algorithm, dtype)]
        return self._replace(rows=tuple(row for row in rows if ranks is None or row.p in ranks))

    def __str__(self):
        names, cells = self.names(), {(f"{row.algorithm} {row.dtype}", row.p): _shown(row.rms) for row in self.rows}
        width = max(map(len, names), default=0) + 3
        lines = ["P".rjust(5) + "".join(name.rjust(width) for name in names)]
        for p in sorted({row.p for row in self.rows}):
            lines.append(f"{p:>5}" + "".join(cells.get((name, p), "").rjust(width) for name in names))
        return "\n".join(lines)

    def __repr__(self):
        return str(self)

    def to_dict(self):
        """Plain data, as `saved_drift` reads it."""
        rows = [[*row[:3], *(x if math.isfinite(x) else None for x in row[3:])] for row in self.rows]
        return {**self._asdict(), "rows": rows}


def _shown(error):
    return f"{error:.1e}" if math.isfinite(error) else "overflow"


def saved_drift():
    """The Drift that comes with the lab: six algorithms, five dtypes, P from 2 to 1,024, all on the virtual wire.

    `ringlab/data/make_drift.py` measured it, and does so again.
    """
    data = json.loads(SAVED.read_text(encoding="utf-8"))
    rows = (Row._make(math.inf if x is None else x for x in row) for row in data["rows"])
    return Drift(**{**data, "rows": tuple(rows)})


def measure_drift(
    algorithms=("ring", "tree"), dtypes=("float16", "float32"), ranks=RANKS, n=1024, data="uniform", seed=0
):
    """The error of all-reduces that add up in short formats: a `Drift`.

    algorithms: names of `rl.ALGORITHMS`.  ranks: numbers of virtual ranks, up to 1,024.  n: elements per rank.
    data: "uniform" numbers of [0, 1), or "normal" ones, which look like gradients. Each element's error is measured
    against the exact sum of the numbers as the dtype holds them, and divided by their sum|x|.
    """
    for name in algorithms:
        if name not in ALGORITHMS:
            raise BadInput(f"algorithm {name!r} is not known", f"use one of {', '.join(ALGORITHMS)}")
    if data not in DATA:
        raise BadInput(f"data={data!r} is not known", f"use one of {', '.join(DATA)}")
    dtypes, rows = [dtype_of(dtype) for dtype in dtypes], {}
    for p in ranks:
        inputs = DATA[data](seed, (p, n))
        short = [[x.astype(dtype) for x in inputs] for dtype in dtypes]
        exact = [fsum(xs) for xs in short]
        weights = [fsum([np.abs(x.astype(np.float64)) for x in xs]) for xs in short]
        for name in algorithms:
            for dtype, total, right, weight in zip(dtypes, _totals(ALGORITHMS[name], short), exact, weights):
                errors = np.abs(total.astype(np.float64) - right) / weight
                errors[np.isnan(errors)] = math.inf  # some formats have no infinity
                rms = math.sqrt(math.fsum((errors * errors).tolist()) / n)
                rows.setdefault((name, dtype.name), []).append(Row(name, dtype.name, p, rms, float(errors.max())))
    return Drift(tuple(row for curve in rows.values() for row in curve), n, data, seed)


class Parcel:
    """A chunk in several dtypes: adding two parcels adds array by array."""

    __slots__ = ("arrays",)

    def __init__(self, arrays):
        self.arrays = arrays

    def __iadd__(self, other):
        for mine, theirs in zip(self.arrays, other.arrays):
            mine += theirs
        return self

    def __len__(self):
        return len(self.arrays[0])

    def __deepcopy__(self, memo):  # what a wire does to a message
        return Parcel([array.copy() for array in self.arrays])


def _totals(function, short):
    """Per dtype rank 0's sum; short[d][rank] are the inputs in dtype d. One virtual run for all dtypes."""
    ranks, n = len(short[0]), len(short[0][0])
    edges = bounds(n, ranks)

    def program(rank):
        parcels = [Parcel([xs[rank][low:high].copy() for xs in short]) for low, high in pairwise(edges)]
        return lambda send, recv: function(parcels, rank, send, recv)

    with np.errstate(over="ignore", invalid="ignore"):
        returned = VirtualWire(ranks, lines=None).run([program(rank) for rank in range(ranks)])[0]
    return [np.concatenate([returned[i].arrays[d] for i in range(ranks)]) for d in range(len(short))]
