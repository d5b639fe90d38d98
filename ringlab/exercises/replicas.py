"""`drifted(outputs)`: which ranks hold something else than rank 0, to the last bit; a list of ranks.

Judged on replicas that are equal, that differ in one last bit, in the sign of a zero, or hold NaN in the same place.
"""

import numpy as np

from ..numerics import normals
from ..runs import run
from .asking import Raised, ask
from .outcome import Outcome, not_written


def cases():
    """(outputs, the ranks that differ, what it is a case of, what to look at), the simplest first."""
    x = normals(7, 40).astype(np.float32)
    huge = [np.full(3, value, np.float32) for value in (1e8, -1e8, 1)]
    last, zero, swapped, hole = x.copy(), x.copy(), x.copy(), x.copy()
    last[-1] = np.nextafter(last[-1], np.float32(9))
    swapped[[3, 4]] = swapped[[4, 3]]
    plus = x.copy()
    plus[5], zero[5], hole[8] = 0.0, -0.0, np.nan
    inputs = [part.astype(np.float32) for part in normals(8, (4, 40))]
    lossy = run("ring", inputs, wire="virtual", wire_dtype="float16", adopt=False).outputs
    around = run("pass_around", huge, wire="virtual").outputs
    return [
        (around, [1], "the pass-around of 1e8, -1e8 and 1", "Rank 0 and rank 2 hold 0, rank 1 holds 1."),
        ([x, x.copy(), x.copy()], [], "three equal replicas", "Nobody differs from rank 0 here."),
        (
            [x, x.copy(), x.copy(), last],
            [3],
            "one last bit",
            "Nearly equal is not equal: replicas drift on from there.",
        ),
        ([x, swapped, x.copy()], [1], "two elements swapped", "Their sum is the same. Compare element by element."),
        ([hole, hole.copy()], [], "NaN in the same place", "NaN == NaN is false. Its bits are the same all the same."),
        ([plus, plus.copy(), zero], [2], "0 and -0", "0 == -0 is true, but the bits differ: 1/x tells them apart."),
        (lossy, [1, 2, 3], "a lossy wire whose owners keep their exact copy", "There all ranks differ from rank 0."),
    ]


def check(drifted):
    """An Outcome: whether `drifted(outputs)` finds the ranks whose replica is not that of rank 0."""
    every = cases()
    answers = ask(drifted, [(outputs,) for outputs, *_ in every])
    if isinstance(answers, Outcome):
        return answers
    if answers[0] is None:
        return not_written("drifted(outputs) gives None")
    for said, (_, right, name, hint) in zip(answers, every):
        if isinstance(said, Raised):
            return Outcome(False, f"not right yet: {name}: it raised {said.text}, at line {said.line}")
        if not isinstance(said, list) or sorted(map(repr, said)) != sorted(map(repr, right)):
            return Outcome(False, f"not right yet: {name}: you say {said}, they differ on {right}\n{hint}")
    return Outcome(True, f"passed: {len(every)} sets of replicas, every drift found and no false one")
