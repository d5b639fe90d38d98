"""Straight lines through measured times: seconds = alpha + beta * nbytes and the like, by least squares.

A pure function of numbers: nothing is measured here. By default every point counts by its *relative* error, since times
go over six powers of ten and a fit of plain seconds would see the longest only. No coefficient is below 0.
"""

import itertools
import math
from numbers import Real
from typing import NamedTuple

import numpy as np

from . import cost
from .verdicts import BadInput

# Student's t: 95 % of it lies between plus and minus this, for 1, 2, ... 30 degrees of freedom
T95 = (
    *(12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131),
    *(2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042),
)


class Fit(NamedTuple):
    """values: one per column, never negative.  intervals: of 95 %, a pair (low, high) each, as far as points scatter
    about the line at random.  residuals: (fitted - measured) / measured, one per point.
    """

    values: tuple
    intervals: tuple
    residuals: tuple

    @property
    def worst(self):
        """The largest residual, without its sign."""
        return max(abs(residual) for residual in self.residuals)


def least_squares(columns, seconds, relative=True):
    """The `Fit` of seconds = sum of value * column: values, intervals and residuals.

    columns: lists of numbers, one number per point.  relative: weigh each point by 1/seconds, so that 10 % count the
    same everywhere; else plain seconds.  BadInput for fewer points than columns, and for what is no time.
    """
    measured = np.array([_time(f"seconds[{i}]", value) for i, value in enumerate(seconds)])
    matrix = np.array(columns, dtype=float).T
    count, wanted = len(measured), len(columns)
    if count == 0:
        raise BadInput("seconds is empty: there is nothing to fit", "measure at least two sizes")
    if len(matrix) != count:
        raise BadInput(f"seconds has {count} points, and its columns have {len(matrix)}", "give as many of each")
    if count < wanted or np.linalg.matrix_rank(matrix / np.abs(matrix).max(axis=0)) < wanted:
        raise BadInput(f"{count} points do not tell {wanted} values apart", "measure more sizes, far apart")
    weights = 1 / measured if relative else np.ones(count)
    values, used = _not_negative(matrix * weights[:, None], measured * weights)
    residuals = (matrix @ values - measured) / measured
    spreads = _spreads(matrix * weights[:, None], measured * weights, values, used)
    intervals = tuple((max(0.0, value - spread), value + spread) for value, spread in zip(values.tolist(), spreads))
    return Fit(tuple(values.tolist()), intervals, tuple(residuals.tolist()))


def fit_line(nbytes, seconds, relative=True):
    """The `Fit` of alpha + beta * nbytes: values are (alpha in seconds, beta in seconds per byte).

    >>> alpha, beta = fit_line([0, 1000, 1000_000], [1e-6, 1.1e-6, 101e-6]).values
    >>> f"{alpha * 1e6:.3f} us, {1e-9 / beta:.3f} GB/s"
    '1.000 us, 10.000 GB/s'
    """
    sizes = [_size(f"nbytes[{i}]", value) for i, value in enumerate(nbytes)]
    return least_squares([[1] * len(sizes), sizes], seconds, relative)


def fit_allreduce(algorithm, ranks, nbytes, seconds, relative=True):
    """The `Fit` (alpha, beta) of whole all-reduces, by the closed form of `algorithm`.

    ranks: a number, or one per point. gamma is in beta: bytes that travel and bytes that are added grow alike, and no
    fit can tell them apart.
    """
    sizes = [_size(f"nbytes[{i}]", value) for i, value in enumerate(nbytes)]
    counts = list(ranks) if isinstance(ranks, (list, tuple, range)) else [ranks] * len(sizes)
    if len(counts) != len(sizes):
        raise BadInput(f"ranks has {len(counts)} numbers for {len(sizes)} points", "give one number, or one per point")
    points = list(zip(counts, sizes, strict=True))
    latency = [float(cost.seconds(algorithm, p, size, 1, 0)) for p, size in points]
    bandwidth = [float(cost.seconds(algorithm, p, size, 0, 1)) for p, size in points]
    return least_squares([latency, bandwidth], seconds, relative)


def _not_negative(matrix, target):
    """(values, columns used): the least squares among those with no value below 0."""
    columns, best = matrix.shape[1], None
    for number in range(columns, 0, -1):
        for used in itertools.combinations(range(columns), number):
            values = np.zeros(columns)
            scale = np.abs(matrix[:, used]).max(axis=0)
            values[list(used)] = np.linalg.lstsq(matrix[:, used] / scale, target, rcond=None)[0] / scale
            wrong = float(((matrix @ values - target) ** 2).sum())
            if values.min() >= 0 and (best is None or wrong < best[0]):
                best = wrong, values, used
        if best is not None:
            break
    return best[1:]


def _spreads(matrix, target, values, used):
    """Half the width of each value's interval; infinite when no point is left over to tell."""
    free = len(target) - len(used)
    if free < 1:
        return [math.inf] * len(values)
    scale = np.abs(matrix[:, used]).max(axis=0)
    noise = float(((matrix @ values - target) ** 2).sum()) / free
    inverse = np.linalg.inv((matrix[:, used] / scale).T @ (matrix[:, used] / scale))
    factor = T95[free - 1] if free <= len(T95) else 1.96 + 2.4 / free
    found = dict(zip(used, (factor * np.sqrt(noise * np.diag(inverse)) / scale).tolist()))
    return [found.get(i, 0.0) for i in range(len(values))]


def _time(name, value):
    number = _number(name, value, "seconds")
    if number <= 0:
        raise BadInput(f"{name}={value!r} is no measured time", "a time is above 0 seconds")
    return number


def _size(name, value):
    number = _number(name, value, "bytes")
    if number < 0:
        raise BadInput(f"{name}={value!r} is negative", "use 0 bytes or more")
    return number


def _number(name, value, unit):
    if isinstance(value, bool) or not isinstance(value, Real) or not math.isfinite(value):
        raise BadInput(f"{name}={value!r} is no number of {unit}", "use a finite number")
    return float(value)
