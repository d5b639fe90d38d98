"""`plan(sizes, cap, first)`: which gradients travel together, as in PyTorch's DDP.

sizes: bytes of each array in forward order. The answer is the list of the buckets' bytes in the order in which they are
sent. Judged against `ringlab.buckets.plan` on small lists, where every rule shows, and on real networks.
"""

import math

from ..buckets import SHAPES
from ..buckets import plan as ours
from .asking import Raised, ask
from .outcome import Outcome, not_written

MIB = 2**20
SMALL = [
    ([400, 80, 120, 4], 200, 100),
    ([10, 20, 30], 25, 25),
    ([5, 5, 5, 5, 5, 5], 10, 5),
    ([100], 1000, 10),
    ([8, 1000, 8], 16, 8),
]
NETWORKS = ("digits", "resnet18", "gpt2-small", "gpt2-medium")


def sizes_of(name):
    """Bytes of each array of a network, in forward order."""
    return [4 * math.prod(shape) for _, shape in SHAPES[name]]


def wanted(sizes, cap, first):
    """What `ringlab.buckets.plan` says, in bytes."""
    return [bucket.nbytes for bucket in ours(sizes, cap, first, itemsize=1)]


def check(plan):
    """An Outcome: whether `plan(sizes, cap, first)` makes DDP's buckets."""
    questions = [*SMALL, *((sizes_of(name), 25 * MIB, MIB) for name in NETWORKS)]
    answers = ask(plan, questions)
    if isinstance(answers, Outcome):
        return answers
    if answers[0] is None:
        return not_written("plan(sizes, cap, first) gives None")
    for number, (question, said) in enumerate(zip(questions, answers)):
        small = number < len(SMALL)
        name = f"plan({', '.join(map(str, question))})" if small else f"the plan of {NETWORKS[number - len(SMALL)]}"
        if isinstance(said, Raised):
            return Outcome(False, f"not right yet: {name} raised {said.text}, at line {said.line}")
        if said != wanted(*question):
            return Outcome(
                False, f"not right yet: {name} {_difference(said, wanted(*question))}{_hint(said, *question)}"
            )
    return Outcome(True, "passed: GPT-2 small travels in 13 buckets, and 168.3 MiB of it in the last")


def _difference(said, right):
    if not isinstance(said, list):
        return f"gives {said}, where a list of bytes is asked for"
    if len(right) <= 8:
        return f"gives {said}, DDP makes {right}"
    if len(said) != len(right):
        return f"has {len(said)} buckets, DDP makes {len(right)}"
    place = next(i for i, (a, b) in enumerate(zip(said, right)) if a != b)
    return f"has {said[place]} bytes in bucket {place}, DDP puts {right[place]} there"


def _hint(said, sizes, cap, first):
    guesses = [
        (wanted(sizes[::-1], cap, first), "Backward makes the gradients of the last layer first."),
        (wanted(sizes, cap, cap), "The first bucket has a limit of its own."),
        (wanted(sizes, cap, first)[:-1], "What is left at the end makes a bucket, too."),
        (
            _never_over(sizes, cap, first),
            "The array that reaches the limit still goes into the bucket, then it is closed.",
        ),
        (_cut(sizes, cap), "Arrays are not cut: a bucket ends where an array ends."),
        (wanted(sizes, first, first), "The limit of the first bucket is for the first bucket only."),
    ]
    return next((f"\n{words}" for guess, words in guesses if said == guess), "")


def _never_over(sizes, cap, first):
    """Buckets that are closed before they would go over their limit."""
    buckets, held, limit = [], 0, first
    for size in reversed(sizes):
        if held and held + size > limit:
            buckets.append(held)
            held, limit = 0, cap
        held += size
    return [*buckets, held]


def _cut(sizes, cap):
    whole, rest = divmod(sum(sizes), cap)
    return [cap] * whole + [rest] * bool(rest)
