"""`kept(params, ranks, stage)`: bytes of a model's states on each device, for plain data parallelism and ZeRO 1 to 3.

In 16-bit training with Adam: 2 bytes per parameter for weights, 2 for gradients, 12 for the optimiser's state. Judged
against `ringlab.sharding.memory`, which the sharded training was measured against.
"""

import math

from ..sharding import NAMES, STAGES, memory
from .asking import Raised, ask
from .outcome import Outcome, not_written

CASES = ((7_500_000_000, 64), (1_000_000, 1), (124_439_808, 8))
QUESTIONS = [(params, ranks, stage) for params, ranks in CASES for stage in STAGES]


def check(kept):
    """An Outcome: whether `kept(params, ranks, stage)` gives 120, 31.41, 16.64 and 1.875 GB, and the rest."""
    answers = ask(kept, QUESTIONS)
    if isinstance(answers, Outcome):
        return answers
    if answers[0] is None:
        return not_written("kept(7500000000, 64, 0) gives None")
    for question, said in zip(QUESTIONS, answers):
        if isinstance(said, Raised):
            return Outcome(False, f"not right yet: kept{question} raised {said.text}, at line {said.line}")
        if isinstance(said, bool) or not isinstance(said, (int, float)):
            return Outcome(False, f"not right yet: kept{question} gives {said}, where bytes are asked for")
        if not math.isclose(said, float(memory(*question)), rel_tol=1e-9):
            return Outcome(False, _wrong(said, *question))
    return Outcome(True, "passed: 7.5 billion parameters on 64 devices keep 120, 31.41, 16.64 and 1.875 GB on each")


def _wrong(said, params, ranks, stage):
    right = float(memory(params, ranks, stage))
    text = f"not right yet: {NAMES[stage]}, {params} parameters on {ranks}: "
    text += f"you say {said / 1e9:.4g} GB, it is {right / 1e9:.4g}"
    per, n = said / params, ranks
    guesses = [
        (16 / n, "Not everything is cut up at this stage."),
        (4 + 12, "Something is cut up at this stage."),
        (2 + 2 / n + 12 / n if stage != 2 else None, "That is ZeRO-2."),
        (4 + 12 / n if stage != 1 else None, "That is ZeRO-1."),
        (2 + 2 + 8, "Adam's 12 bytes: a 32-bit copy of the weights, a mean and a variance, 4 bytes each."),
        (2 + 2 + 4, "Adam's 12 bytes: a 32-bit copy of the weights, a mean and a variance, 4 bytes each."),
        (16 * n, "On each device, not on all."),
        (right / params * 1e-9, "In bytes, not in GB."),
    ]
    hint = next(
        (words for guess, words in guesses if guess is not None and math.isclose(per, guess, rel_tol=1e-9)), None
    )
    return f"{text}\n{hint}" if hint else text
