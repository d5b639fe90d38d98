"""`fit(nbytes, seconds)`: (alpha, beta) of the ring of 8 that took these times, every point counting by its share.

Judged on times that a model made, where the truth is known, and on the published table of 8 A100.
"""

import math

from ..fitting import fit_allreduce
from ..nccl import A100, read_nccl
from .asking import Raised, ask
from .outcome import Outcome, not_written

RANKS = 8
TRUTH = (5e-6, 1 / 100e9)
EXACT_SIZES = [1000.0 * 4**k for k in range(10)]


def table():
    """(bytes, seconds) of the A100s, two lists."""
    rows = read_nccl(A100).rows
    return [float(row.nbytes) for row in rows], [row.seconds for row in rows]


def questions():
    """Times of the model, and the table."""
    made = [2 * (RANKS - 1) * (TRUTH[0] + TRUTH[1] * n / RANKS) for n in EXACT_SIZES]
    return [(EXACT_SIZES, made), table()]


def check(fit):
    """An Outcome: whether `fit(nbytes, seconds)` finds alpha and beta, of a model and of the A100s."""
    asked = questions()
    answers = ask(fit, asked)
    if isinstance(answers, Outcome):
        return answers
    if answers[0] is None:
        return not_written("fit(nbytes, seconds) gives None")
    for number, said in enumerate(answers):
        where = "on times of the model" if number == 0 else "on the A100s"
        if isinstance(said, Raised):
            return Outcome(False, f"not right yet: {where} it raised {said.text}, at line {said.line}")
        if not _pair(said):
            return Outcome(False, f"not right yet: {where} it gives {said}, where (alpha, beta) is asked for")
        right = TRUTH if number == 0 else fit_allreduce("ring", RANKS, *asked[1]).values
        if not _close(said, right):
            return Outcome(False, _wrong(said, right, where, asked[number]))
    return Outcome(True, "passed: 4.0 us per message and 210.6 GB/s, and no point is more than 36 % off")


def _pair(said):
    numbers = isinstance(said, list) and len(said) == 2
    return numbers and all(isinstance(x, (int, float)) and not isinstance(x, bool) for x in said)


def _close(said, right, tolerance=2e-3):
    return all(math.isclose(a, b, rel_tol=tolerance) for a, b in zip(said, right))


def _wrong(said, right, where, points):
    def shown(pair):
        rate = f"{1e-9 / pair[1]:.1f} GB/s" if pair[1] > 0 else "no bandwidth"
        return f"{1e6 * pair[0]:.1f} us, {rate}"

    text = f"not right yet: {where} you say {shown(said)}; it is {shown(right)}"
    rounds, share = 2 * (RANKS - 1), 2 * (RANKS - 1) / RANKS
    plain = fit_allreduce("ring", RANKS, points[0], points[1], relative=False).values
    hints = [
        (plain, "These are least squares of seconds: the longest times win. Divide each equation by its time."),
        (
            (right[0] * rounds, right[1] * share),
            "That is a line through the whole times. The ring has 14 messages in it.",
        ),
        (
            (plain[0] * rounds, plain[1] * share),
            "A line through the whole times, and the longest win. Two steps to go.",
        ),
        ((right[0], right[1] * share), "alpha is right. How many of the S bytes pass one after the other?"),
        ((right[0] * rounds, right[1]), "beta is right. How many messages are in a ring of 8?"),
        ((right[0], 1 / right[1]), "beta is seconds per byte: one over the bandwidth."),
    ]
    hint = next((words for guess, words in hints if _close(said, guess)), None)
    return f"{text}\n{hint}" if hint else text
