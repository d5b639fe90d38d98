"""`safe_mean(grads)`: the mean of float16 gradients over a wire of float16, without overflow and without vanishing.

Judged with 16 and 64 ranks on elements of 2000 (64 of them are more than float16 holds) and of a millionth (a 64th of
it is less than float16 holds), side by side in one gradient. The all-reduces that it makes are watched: they must
travel in float16.
"""

import inspect
import warnings

import numpy as np

from .. import progress, runs
from ..programs import launch
from ..verdicts import RankException, RinglabError
from .outcome import Outcome, not_written

RANKS = (64, 16)
VALUES = (2000.0, 1.0, 1e-6, -3e-5, 0.0)
CLOSE = {2000.0: 0.01, 1.0: 0.01, 1e-6: 0.15, -3e-5: 0.05, 0.0: 0}  # relative; a millionth has 4 bits in float16


def gradients(ranks):
    """One float16 array per rank, all alike: VALUES, twice."""
    return [np.array(VALUES * 2, np.float16) for _ in range(ranks)]


def check(safe_mean):
    """An Outcome: whether `safe_mean(grads)` gives the mean, over a wire of float16."""
    try:
        inspect.signature(safe_mean).bind([])
    except TypeError:
        return Outcome(False, "not right yet: it is called as safe_mean(grads) and does not take that")
    for ranks in RANKS:
        try:
            (told,) = launch(_tell, ranks=1, args=(safe_mean, gradients(ranks)))
        except RankException as error:
            return Outcome(False, f"not right yet: {error.lines[0]}")
        except RinglabError as error:
            return Outcome(False, f"not right yet: {error.verdict}: {error.lines[0]}")
        if told["mean"] is None:
            return not_written("safe_mean(grads) gives None")
        wrong = _wrong(told, ranks)
        if wrong:
            return Outcome(False, f"not right yet: {ranks} ranks: {wrong}")
    return Outcome(True, "passed: 64 times 2000 stays finite, a millionth is still there, float16 on the wire")


def _tell(comm, function, grads):
    """On the rank: what the function returned, and in which dtypes its all-reduces travelled."""
    import ringlab

    whole, probe_of = ringlab.run, runs.probe_of
    seen, kept = [], [grad.copy() for grad in grads]

    def watched(algorithm, inputs=None, **options):
        done = whole(algorithm, inputs, **{**options, "wire": "virtual"})
        seen.append(done.wire_dtype.name)
        return done

    ringlab.run = watched  # in this rank only
    runs.probe_of = lambda *_: None  # it takes seconds for 64 ranks, and nobody asks whose terms are where
    patience, progress.PATIENCE = progress.PATIENCE, float("inf")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            mean = function(grads)
    finally:
        ringlab.run, runs.probe_of, progress.PATIENCE = whole, probe_of, patience
    mean = None if mean is None else np.asarray(mean)
    if mean is not None and mean.dtype.kind not in "iufV":
        mean = np.zeros(0)
    same = all((old == grad).all() for old, grad in zip(kept, grads))
    return {"mean": mean if mean is None else mean.astype(np.float64), "wires": seen, "unchanged": same}


def _wrong(told, ranks):
    """What is wrong with an answer, in a sentence or two; None when nothing is."""
    mean, right = told["mean"], np.array(VALUES * 2)
    if mean.shape != right.shape:
        return f"an array of {len(right)} numbers is due, shaped as each rank's gradient"
    for value, said in zip(right, mean):
        if abs(said - value) <= CLOSE[value] * abs(value):
            continue
        words = f"the mean of {ranks} times {value:g} came out as {said:.4g}"
        if not np.isfinite(said):
            return f"{words}\nThe sum is more than float16 can carry. Divide before it gets there."
        if said == 0:
            return f"{words}\nA part of it is less than float16 can carry. Divide less before, and the rest after."
        return f"{words}\nBefore and after, it must have been divided by {ranks} in all, and not in too short a format."
    if not told["wires"]:
        return "right, but no all-reduce was seen: let rl.run add up what the ranks hold"
    wide = [name for name in told["wires"] if name != "float16"]
    if wide:
        return f"right, but it travelled in {wide[0]}; float16 is asked for: wire_dtype="
    return None if told["unchanged"] else "right, but it changed the gradients it was given"
