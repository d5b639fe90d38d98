"""One measurement of an all-reduce in place, the same for ours and for every peer.

The data, the number of repetitions and the check of the result are here, so that nobody is measured by another rule.
This file imports numpy and no more: it also runs inside MPI's and Gloo's processes.
"""

import contextlib
import math
import os
import time

import numpy as np

WARM_SECONDS = 0.03
PERIOD = 8  # rank r holds (r + 1) * (1, 2, ... 8, 1, 2, ...): small whole numbers, exact in float32


def fill(x, rank):
    """Put rank `rank`'s numbers into the flat array `x`."""
    pattern = (rank + 1) * np.arange(1, PERIOD + 1, dtype=x.dtype)
    whole = len(x) // PERIOD * PERIOD
    x[:whole].reshape(-1, PERIOD)[:] = pattern
    x[whole:] = pattern[: len(x) - whole]


def is_right(x, ranks, count):
    """Whether `x` holds what `count` sums in place over `ranks` ranks leave of what `fill` put there."""
    expected = np.empty(min(len(x), PERIOD), x.dtype)
    fill(expected, 0)
    expected *= np.float64(ranks * (ranks + 1) // 2) * np.float64(ranks) ** (count - 1)
    whole = len(x) // PERIOD * PERIOD
    parts = [(x[:whole].reshape(-1, PERIOD), expected)] if whole else []
    parts.append((x[whole:], expected[: len(x) - whole]))
    return all(bool((np.abs(part - wanted) <= 1e-4 * wanted).all()) for part, wanted in parts)


def most_repeats(ranks):
    """How many sums in place stay within float32: the numbers grow by a factor of `ranks` in each."""
    return int(33 / math.log10(max(ranks, 2)))


def take_a_core(rank, ranks, share=False):
    """Keep this process to a core of its own when there are enough, else (`share`) to one dealt out in turn.

    Ranks that crowd on one core while another idles would time the system's scheduler and not the all-reduce. Gives
    back the cores it had, or None.
    """
    with contextlib.suppress(AttributeError, OSError):  # not on this system
        cores = sorted(os.sched_getaffinity(0))
        if share or ranks <= len(cores):
            os.sched_setaffinity(0, {cores[rank % len(cores)]})
            return cores
    return None


def warm_ups(seconds):
    """How many all-reduces, of so many seconds each (None: not known yet), are a good warm-up."""
    return 1 if seconds is None else max(1, min(2000, round(WARM_SECONDS / seconds)))


def measure(x, allreduce, barrier, rank, ranks, count, warm=1):
    """(seconds per all-reduce on this rank, whether the result is right) of `count` in a row on the array `x`.

    allreduce(x) sums in place. The first `warm` are not counted: they bring the pages in, and give the system time to
    move ranks that woke up on the same core apart.
    """
    x[:] = 0
    for _ in range(warm):
        allreduce(x)
    fill(x, rank)
    barrier()
    start = time.perf_counter()
    for _ in range(count):
        allreduce(x)
    seconds = (time.perf_counter() - start) / count
    return seconds, is_right(x, ranks, count)
