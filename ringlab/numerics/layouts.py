"""What changes the bits of a sum while the numbers and the ranks stay the same, and what does not."""

from typing import NamedTuple

import numpy as np

from ..algorithms import all_gather, doubling_allreduce, reduce_scatter, ring_allreduce
from ..network import ROUNDS
from ..simulate import simulate
from .seeded import normals
from .ulps import differing

CHANGES = ("nothing", "numbering", "two buckets", "padding", "ring order", "algorithm")


class Changes(NamedTuple):
    """Shares of elements whose bits differ: `shares[p][change]`; its text is a table."""

    n: int
    dtype: str
    shares: dict

    def __str__(self):
        names = list(next(iter(self.shares.values())))
        lines = ["what changed  " + "".join(f"{f'P={p}':>8}" for p in self.shares)]
        lines += [f"{name:<14}" + "".join(f"{self.shares[p][name]:>8.1%}" for p in self.shares) for name in names]
        return "\n".join(lines)

    def __repr__(self):
        return str(self)


def changed_bits(ranks=(2, 3, 4, 8), n=24_000, dtype="float32", seed=0):
    """Which share of a sum's elements change their bits when one thing about a ring all-reduce changes: `Changes`.

    The same n random numbers per rank are added up: once more ("nothing"), with steps counted from 1 ("numbering"),
    in two buckets instead of one, with n/10 zeros behind the numbers ("padding"), round the ring the other way ("ring
    order"), and by recursive doubling ("algorithm").
    """
    return Changes(n, str(dtype), {p: _changes(p, n, dtype, seed) for p in ranks})


def _changes(p, n, dtype, seed):
    inputs = [x.astype(dtype) for x in normals(seed, (p, n))]
    plain = total(ring_allreduce, inputs)
    half, pad = n // 2, np.zeros(n // 10, dtype)
    variants = {
        "nothing": total(ring_allreduce, inputs),
        "numbering": total(ring_from_one, inputs),
        "two buckets": np.concatenate(
            [total(ring_allreduce, [x[part] for x in inputs]) for part in np.s_[:half, half:]]
        ),
        "padding": total(ring_allreduce, [np.concatenate([x, pad]) for x in inputs])[:n],
        "ring order": total(ring_allreduce, inputs[::-1]),
        "algorithm": total(doubling_allreduce, inputs),
    }
    return {name: differing(plain, result) for name, result in variants.items()}


def total(function, inputs):
    """Rank 0's result of an all-reduce on the virtual wire."""
    returned = simulate(function, [x.copy() for x in inputs], "sum", ROUNDS)[0]
    return returned[0]


def ring_from_one(chunks, rank, send, recv):
    """The ring with steps counted from 1: rank r ends its reduce-scatter with chunk r."""
    reduce_scatter(chunks, rank, send, recv, shift=1)
    return all_gather(chunks, rank, send, recv, shift=1)
