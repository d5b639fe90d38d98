"""`threshold(flops, bandwidth, itemsize)`: tokens per device from which on an all-reduce hides under backward.

Judged against times: at the answer backward and all-reduce of a model of any size must take equally long.
"""

import math

from ..scaling import CHIPS
from .asking import Raised, ask
from .outcome import Outcome, not_written

QUESTIONS = [
    (CHIPS["TPU v5p"].flops, CHIPS["TPU v5p"].bandwidth, 2),
    (CHIPS["H100"].flops, CHIPS["H100"].bandwidth, 2),
    (CHIPS["H100"].flops, CHIPS["H100"].bandwidth, 4),
    (1e12, 1e9, 1),
]


def check(threshold):
    """An Outcome: whether backward and all-reduce take equally long at `threshold(...)` tokens per device."""
    answers = ask(threshold, QUESTIONS)
    if isinstance(answers, Outcome):
        return answers
    if answers[0] is None:
        return not_written("threshold(4.59e14, 1.8e11, 2) gives None")
    for question, said in zip(QUESTIONS, answers):
        if isinstance(said, Raised):
            return Outcome(False, f"not right yet: threshold{question} raised {said.text}, at line {said.line}")
        if isinstance(said, bool) or not isinstance(said, (int, float)):
            return Outcome(
                False, f"not right yet: threshold{question} gives {said}, where a number of tokens is asked for"
            )
        if not math.isclose(said, right(*question), rel_tol=1e-3):
            return Outcome(False, _wrong(said, question))
    return Outcome(True, "passed: 2,550 tokens per device on a TPU v5p in bf16, whatever the size of the model")


def right(flops, bandwidth, itemsize):
    """2 b/B = 4 D/F, solved for D: N, the number of parameters, stands on both sides."""
    return itemsize / 2 * flops / bandwidth


def _wrong(said, question):
    flops, bandwidth, itemsize = question
    ratio = flops / bandwidth
    text = f"not right yet: threshold({flops:g}, {bandwidth:g}, {itemsize}) says {said:g}"
    if said > 0:
        backward, reduce = 1e9 * 4 * said / flops, 1e9 * 2 * itemsize / bandwidth
        text += f"\nThere, for 1e9 parameters, backward takes {1e3 * backward:.3g} ms"
        text += f" and the all-reduce {1e3 * reduce:.3g} ms."
    guesses = [
        (ratio, "How many bytes is a number? That is right for two of them only."),
        (itemsize / 3 * ratio, "Hidden under backward, which is 4 of the 6 operations, not under the whole step."),
        (itemsize * ratio, "Operations: 4 for each parameter and token in backward. Bytes: each number crosses twice."),
        (itemsize / 4 * ratio, "Each number crosses the wire twice: reduce-scatter and all-gather."),
        (itemsize / 2 / ratio, "A faster device needs more tokens, not fewer."),
    ]
    hint = next((words for guess, words in guesses if math.isclose(said, guess, rel_tol=1e-3)), None)
    return f"{text}\n{hint}" if hint else text
