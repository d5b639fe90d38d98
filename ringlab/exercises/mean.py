"""`weighted_mean(comm, grad, count)`: the average over all samples, from each rank's average over its own.

Judged on real ranks against one process that has all samples: equal and unequal counts, a rank without samples, and at
most one number more on the wire than the gradient has.
"""

import numpy as np

from .outcome import Outcome, not_written
from .playing import play, takes

COUNTS: dict = {  # per number of ranks: how many samples each rank has, case by case
    4: [(2, 2, 2, 2), (3, 1, 4, 2), (3, 0, 1, 1)],
    2: [(3, 1)],
    3: [(1, 0, 5)],
    1: [(3,)],
}
LENGTH = 6


def samples(count, rank):
    """Gradients of the rank's samples, whole numbers: (count, LENGTH)."""
    return np.array([[(7 * i + 3 * j + 11 * rank) % 13 - 5 for j in range(LENGTH)] for i in range(count)], float)


def _case(comm, weighted_mean, counts):
    count = counts[comm.rank]
    mine = samples(count, comm.rank)
    # the mean over no samples is nan, as numpy's and PyTorch's are
    grad = mine.mean(axis=0) if count else np.full(LENGTH, np.nan)
    found = weighted_mean(comm, grad, count)
    if found is None or found is NotImplemented:
        return None
    return np.array(found, float) if isinstance(found, (np.ndarray, list, tuple, float, int)) else type(found).__name__


def check(weighted_mean):
    """An Outcome: whether `weighted_mean(comm, grad, count)` is the mean over all ranks' samples, on every rank."""
    wrong = takes(weighted_mean, "comm", "grad", "count")
    if wrong is not None:
        return wrong
    for ranks, cases in COUNTS.items():
        played = play(weighted_mean, ranks, [(counts,) for counts in cases], _case)
        if isinstance(played, Outcome):
            return played
        returned, sent = played
        if returned[0][0] is None:
            return not_written("weighted_mean(comm, grad, count) gives None")
        for number, counts in enumerate(cases):
            for rank in range(ranks):
                outcome = _compare(returned[rank][number], counts, rank)
                if outcome is not None:
                    return outcome
        allowed = 2 * (ranks - 1) * (LENGTH + 1) * 8 * len(cases)
        if sent > allowed:
            text = f"right, but {ranks} ranks send {sent} bytes in all where {allowed} will do"
            return Outcome(False, f"{text}\nOne all-reduce is enough, of one number more than the gradient has.")
    return Outcome(True, "passed: equal to one process with all samples, also where a rank has none; one number extra")


def _compare(found, counts, rank):
    """The Outcome of a wrong answer on a rank, or None."""
    grads = [samples(count, r).mean(axis=0) if count else np.zeros(LENGTH) for r, count in enumerate(counts)]
    wanted = sum(count * grad for count, grad in zip(counts, grads)) / sum(counts)
    where = f"not right yet: samples per rank {counts}, rank {rank}"
    if isinstance(found, str) or found is None or np.shape(found) != (LENGTH,):
        kind = found if isinstance(found, str) else "None" if found is None else f"shape {np.shape(found)}"
        return Outcome(False, f"{where} gives {kind} instead of {LENGTH} numbers")
    if np.allclose(found, wanted, rtol=1e-12, atol=1e-12):
        return None
    text = f"{where}: the first number is {found[0]:.4f}, one process says {wanted[0]:.4f}"
    total, ranks = sum(counts), len(counts)
    guesses = [
        (sum(grads) / ranks, "That is the mean of the means: each rank counts the same, however few samples it has."),
        (sum(grads), "That is the sum of the means. Nobody divided."),
        (wanted * total, "That is the sum over all samples. Nobody divided by their number."),
        (wanted * total / ranks, "Divide by the number of samples, not of ranks."),
        (sum(grads) / total, "Each rank's mean has to be weighed by its number of samples before the sum."),
        (grads[rank], "That is what the rank came with: nothing was reduced."),
    ]
    hint = next((words for guess, words in guesses if np.allclose(found, guess)), None)
    if hint is None and np.isnan(found).any():
        hint = "The mean over no samples is nan, and 0 times nan is nan. What should that rank send?"
    return Outcome(False, f"{text}\n{hint}" if hint else text)
