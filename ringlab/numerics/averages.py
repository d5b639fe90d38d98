"""A mean in a short format: when to divide, and how to keep small numbers from vanishing."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..algorithms import ALGORITHMS
from ..chunks import Chunks
from ..dtypes import dtype_of
from ..verdicts import BadInput
from .sums import in_order

DIVIDE = ("before", "after", "both")


def mean_of(terms, dtype, divide="after"):
    """The mean of the terms with every operation in `dtype`, added in order.

    divide: "after" adding (the sum may overflow), "before" (small numbers may vanish), or "both": each term by sqrt(P)
    and the sum by sqrt(P), so that neither end of the format is met too soon. The terms are rounded to `dtype` first.
    """
    if divide not in DIVIDE:
        raise BadInput(f"divide={divide!r} is not known", f"use one of {', '.join(DIVIDE)}")
    dtype, p = dtype_of(dtype), len(terms)
    first, last = {"before": (p, 1), "after": (1, p), "both": (math.sqrt(p), math.sqrt(p))}[divide]
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        parts = [divided(np.asarray(term).astype(dtype), first) for term in terms]
        return divided(in_order(parts), last)


def divided(x, by):
    """x / by rounded once to x's own format, also for formats that cannot hold `by`."""
    return (x.astype(np.float64) / by).astype(x.dtype)


def scaled(gradient, scale, dtype):
    """Loss scaling: the gradient times `scale`, then rounded to `dtype`; so that small numbers are still there."""
    with np.errstate(over="ignore"):
        return (np.asarray(gradient, np.float64) * scale).astype(dtype_of(dtype))


def unscaled(gradient, scale, dtype="float32"):
    """The scaled gradient divided by `scale` in `dtype`: in the short format itself it would vanish after all.

    >>> short = scaled([1e-8], 1024, "float16")
    >>> float(unscaled(short, 1024, "float16")[0]), bool(unscaled(short, 1024)[0] > 9e-9)
    (0.0, True)
    """
    dtype = dtype_of(dtype)
    return divided(np.asarray(gradient).astype(dtype), scale)


@dataclass(frozen=True)
class InPrecision:
    """An all-reduce that runs in another precision than its chunks: see `in_precision`."""

    algorithm: Any
    dtype: str
    scale: float = 1.0

    @property
    def __name__(self):
        return f"{self.algorithm.__name__} in {self.dtype}"

    @property
    def pieces(self):
        """Into how many pieces the algorithm cuts its chunks."""
        return getattr(self.algorithm, "pieces", 1)

    def __call__(self, chunks, rank, send, recv):
        parts = [np.asarray(chunks[i]) for i in range(len(chunks))]
        with np.errstate(over="ignore", invalid="ignore"):
            short = Chunks((np.concatenate(parts) * self.scale).astype(dtype_of(self.dtype)), len(chunks))
            self.algorithm(short, rank, send, recv)
            for i in range(len(chunks)):
                chunks[i] = np.asarray(short[i])
                chunks[i] /= self.scale
        return chunks


def in_precision(dtype, algorithm="ring", scale=1.0):
    """An all-reduce `f(chunks, rank, send, recv)` that rounds to `dtype`, adds and sends in it, and hands that back.

    scale: numbers are multiplied by it before they are rounded, and the sum is divided by it in the chunks' own format
    (loss scaling, or, with a scale below 1, what happens to gradients that are so much smaller).
    For places that take an algorithm and no dtypes: `rl.training.train(algorithm=rl.numerics.in_precision("bf16"))`.
    """
    function = ALGORITHMS.get(algorithm) if isinstance(algorithm, str) else algorithm
    if not callable(function):
        raise BadInput(f"algorithm {algorithm!r} is not known", f"use one of {', '.join(ALGORITHMS)}, or a function")
    return InPrecision(function, dtype_of(dtype).name, scale)
