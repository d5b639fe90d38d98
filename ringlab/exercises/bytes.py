"""`sent(n, p, rank)`: how many elements a rank of a ring sends, for any buffer and any number of ranks.

Judged against counters: the ring itself is played with a send that only counts, for every n to 50 and P to 9.
"""

import functools

import numpy as np

from ..algorithms import ring_allreduce
from ..chunks import Chunks, bounds
from .asking import Raised, ask
from .outcome import Outcome, not_written

RANKS, ELEMENTS = range(1, 10), range(51)
FIRST = (10, 4, 0)  # the lesson's own case is asked first


@functools.cache
def counted(n, p, rank):
    """Elements that `rank` sends when the ring of p ranks runs on n elements: its program, with a send that counts."""
    chunks, lengths = Chunks(np.zeros(n), p), []
    ring_allreduce(chunks, rank, lambda part, dst: lengths.append(len(part)), lambda src: 0.0)
    return sum(lengths)


def questions():
    """All (n, p, rank), the lesson's first."""
    every = [(n, p, rank) for p in RANKS for n in ELEMENTS for rank in range(p)]
    first = [(FIRST[0], FIRST[1], rank) for rank in range(FIRST[1])]
    return [*first, *(question for question in every if question not in first)]


def check(sent):
    """An Outcome: whether `sent(n, p, rank)` is what the ring's counters say."""
    asked = questions()
    answers = ask(sent, asked)
    if isinstance(answers, Outcome):
        return answers
    if answers[0] is None:
        return not_written(f"sent{FIRST} gives None")
    for question, said in zip(asked, answers):
        if isinstance(said, Raised):
            return Outcome(False, f"not right yet: sent{question} raised {said.text}, at line {said.line}")
        if said is True or said != counted(*question):
            return Outcome(False, _wrong(sent, question, said, answers, asked))
    return Outcome(True, f"passed: the counters agree for every n to {ELEMENTS[-1]} and P to {RANKS[-1]}")


def _wrong(sent, question, said, answers, asked):
    n, p, rank = question
    text = f"not right yet: sent({n}, {p}, {rank}) says {said}, the counter says {counted(*question)}"
    hint = _hint(dict(zip(asked, answers)), question)
    return f"{text}\n{hint}" if hint else text


def _hint(said, question):
    n, p = question[:2]
    if p == 1:
        return "A single rank has nobody to talk to."
    sizes = [high - low for low, high in zip(bounds(n, p), bounds(n, p)[1:])]
    answer = said[question]
    if not isinstance(answer, (int, float)):
        return "The answer is a number of elements."
    theirs = [said[n, p, other] for other in range(p)]

    def without(r, *missing):
        return 2 * n - sum(sizes[(r + place) % p] for place in missing)

    guesses = [
        (lambda r: 2 * (p - 1) * n / p, "That is the average over all ranks. Chunks are of unequal length."),
        (lambda r: 2 * (p - 1) * n // p, "That is the average, rounded. Chunks are of unequal length."),
        (lambda r: 2 * (p - 1) * -(-n // p), "Not every chunk is as long as the longest."),
        (lambda r: 2 * (p - 1) * (n // p), "Not every chunk is as short as the shortest."),
        (lambda r: without(r, 0, 1), "That is what it receives, or what a ring sends that counts its steps from 1."),
        (lambda r: 2 * without(r, 1, 2), "Each message is sent once."),
        (lambda r: 8 * without(r, 1, 2), "Count elements, not bytes."),
        (lambda r: without(r, 1, 1), "One missing brick is right. The other one is of the copying half."),
        (lambda r: n - sizes[(r + 1) % p], "That is the adding half."),
        (lambda r: 2 * n, "Two bricks are missing in each wall."),
        (lambda r: 2 * (p - 1), "Count elements, not messages."),
    ]
    return next((words for guess, words in guesses if [guess(r) for r in range(p)] == theirs), None)
