"""`exposed(n, nbytes, backward, ranks, alpha, beta)`: seconds that n equal buckets stick out after backward.

Judged against an account of every bucket: ready, sent when the one before has gone, done.
"""

import math

from ..buckets import ring_seconds, timeline
from .asking import Raised, ask
from .outcome import Outcome, not_written

FAST, SLOW = (1e9, 0.1, 8, 1e-6, 1 / 50e9), (1e9, 0.1, 8, 50e-6, 1 / 12.5e9)
QUESTIONS = [
    *((n, *FAST) for n in (1, 4, 10, 40, 100)),
    *((n, *SLOW) for n in (1, 12, 400)),
    (7, 3e8, 0.02, 4, 1e-5, 1e-10),
    (3, 3e6, 1.0, 2, 0, 1e-9),
]


def account(n, nbytes, backward, ranks, alpha, beta):
    """What the bucket-by-bucket account says."""
    return timeline([nbytes / n] * n, backward, ranks, alpha, beta).exposed


def check(exposed):
    """An Outcome: whether `exposed(...)` is what is left after backward, for the lesson's numbers and others."""
    answers = ask(exposed, QUESTIONS)
    if isinstance(answers, Outcome):
        return answers
    if answers[0] is None:
        return not_written("exposed(1, 1e9, 0.1, 8, 1e-6, 2e-11) gives None")
    for question, said in zip(QUESTIONS, answers):
        if isinstance(said, Raised):
            return Outcome(False, f"not right yet: exposed{question} raised {said.text}, at line {said.line}")
        right = account(*question)
        if isinstance(said, bool) or not isinstance(said, (int, float)):
            return Outcome(False, f"not right yet: exposed{question} gives {said}, where seconds are asked for")
        if not math.isclose(said, right, rel_tol=1e-6):
            text = (
                f"{question[0]} buckets: you say {1e3 * said:.3f} ms, counting bucket by bucket gives {1e3 * right:.3f}"
            )
            return Outcome(False, f"not right yet: {text}{_hint(said, *question)}")
    return Outcome(True, "passed: 35.01, 8.76, 3.51, 0.89 and 0.36 ms for 1, 4, 10, 40 and 100 buckets; never 0")


def _hint(said, n, nbytes, backward, ranks, alpha, beta):
    one, all_ = ring_seconds(nbytes / n, ranks, alpha, beta), ring_seconds(nbytes, ranks, alpha, beta)
    guesses = [
        (max(0, n * one - backward), "The last bucket is full only when backward is over. When can it begin?"),
        (max(0, all_ - backward), "The last bucket is full only when backward is over. When can it begin?"),
        (backward + account(n, nbytes, backward, ranks, alpha, beta), "That is the whole time. Take backward off."),
        (all_ / n, "Each bucket pays for its messages in full: alpha is not divided by n."),
        (ring_seconds(nbytes / n, ranks, 0, beta), "Messages cost something, too: 2(P-1) alpha for each bucket."),
        (one, "Right as long as backward is the slower of the two. Here the link is: buckets queue up."),
        (backward / n + n * one - backward, "Right as long as the link is the slower of the two. Here backward is."),
        (n * one, "Nothing of that is hidden. All but the last bucket can travel earlier."),
    ]
    return next(
        (f"\n{words}" for guess, words in guesses if math.isclose(said, guess, rel_tol=1e-6, abs_tol=1e-15)), ""
    )
