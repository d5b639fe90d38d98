"""`cost(p, nbytes, alpha, beta)`: seconds of a ring all-reduce.

Judged against the virtual wire, which runs a real ring: with Fractions both are exact.
"""

from fractions import Fraction

import numpy as np

from ..network import Network
from ..runs import run
from .asking import Raised, ask
from .outcome import Outcome, not_written

# ranks, bytes, microseconds per message, nanoseconds per byte; whole numbers of elements per chunk
CASES = [
    (4, 64, 1, 1),
    *((p, 8 * p * k, 7, 3) for p in (1, 2, 3, 5, 8, 9) for k in (1, 50)),
    (4, 320, 0, 2),
    (4, 320, 5, 0),
]


def on_the_wire(p, nbytes, alpha, beta):
    """Seconds of a ring of `p` virtual ranks, to the last digit."""
    network = Network(Fraction(alpha, 10**6), Fraction(beta, 10**9))
    return run("ring", [np.ones(nbytes // 8)] * p, wire="virtual", network=network).seconds


def check(cost):
    """An Outcome: whether `cost(p, nbytes, alpha, beta)` is what rings on the virtual wire take, for P = 1 to 9."""
    questions = [(p, nbytes, alpha / 1e6, beta / 1e9) for p, nbytes, alpha, beta in CASES]
    answers = ask(cost, questions)
    if isinstance(answers, Outcome):
        return answers
    if answers[0] is None:
        return not_written(f"cost{questions[0]} gives None")
    for question, case, said in zip(questions, CASES, answers):
        if isinstance(said, Raised):
            return Outcome(False, f"not right yet: cost{question} raised {said.text}, at line {said.line}")
        if isinstance(said, bool) or not isinstance(said, (int, float)):
            return Outcome(False, f"not right yet: cost{question} gives {said}, where seconds are asked for")
        right = float(on_the_wire(*case))
        if abs(said - right) > 1e-9 * max(right, 1e-6):
            return Outcome(False, _wrong(said, right, *question))
    return Outcome(True, "passed: the virtual wire takes as long, for P = 1 to 9")


def _wrong(said, right, p, nbytes, alpha, beta):
    text = f"not right yet: P = {p}, {nbytes} bytes, {1e6 * alpha:g} us per message, {1e9 * beta:g} ns per byte: "
    text += f"you say {1e6 * said:.4f} us, a ring takes {1e6 * right:.4f}"
    if p == 1:
        return f"{text}\nA single rank sends nothing."
    chunk = alpha + beta * nbytes / p
    hints = [
        ((p - 1) * chunk, "That is adding. Every chunk must go round once more, to be copied."),
        (2 * p * chunk, "P - 1 rounds bring each chunk past all the others; the P-th would bring it home."),
        (2 * (p - 1) * (alpha + beta * nbytes), "A message is one chunk, not the whole buffer."),
        (2 * (alpha + beta * nbytes * (p - 1) / p), "The bytes are right. How many messages come one after the other?"),
        (2 * (p - 1) * alpha + beta * nbytes, "The messages are right. Do the bytes grow with P, and up to what?"),
        (2 * p * (p - 1) * chunk, "That is the work of all ranks. They work at the same time."),
    ]
    hint = next((words for value, words in hints if abs(said - value) <= 1e-9 * max(value, 1e-6)), None)
    return f"{text}\n{hint}" if hint else text
