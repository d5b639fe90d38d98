"""Which faults a storm throws, where and when: a list that a seed decides.

Every (number of ranks, round, place) is visited in turn, in shuffled order, so that a long storm covers each of them
equally often on every wire and size; the kind of fault is drawn by weight.
"""

import random
from typing import NamedTuple

RANKS = (2, 3, 4, 5, 8)
PLACES = ("send", "sent", "recv")  # before sending, while a large message is on its way, before receiving
ELEMENTS = (1, 10_000, 1_000_000)  # below and above what a pipe holds
# Weights after the faults that real systems inject; "two" are two deaths in one call, "between" one between calls.
WEIGHTS = {
    "crash": 30,
    "stop": 10,
    "fail": 10,
    "leave": 8,
    "hang": 8,
    "two": 6,
    "grip": 5,
    "segfault": 5,
    "exit": 4,
    "exhaust": 3,
    "between": 3,
    "drop": 2,
    "duplicate": 2,
    "delay": 2,
    "truncate": 2,
}
AT_SEND = ("drop", "duplicate", "truncate")  # these strike where a message is sent, whatever the plan says
SILENT = ("stop", "hang", "grip", "drop", "truncate")  # found by the time limit, which is short for them
SILENT_SECONDS, PATIENT_SECONDS = 0.5, 20.0


class Injection(NamedTuple):
    """One fault: `kind` strikes rank `rank` in `round` at `place` of a ring of `ranks`; `second` dies as well."""

    number: int
    kind: str
    ranks: int
    rank: int
    round: int
    place: str
    elements: int
    wire: str
    second: int | None = None

    @property
    def timeout(self):
        """The time limit of the call, in seconds."""
        return SILENT_SECONDS if self.kind in SILENT else PATIENT_SECONDS


def plan(count, seed, wires=("pipe",)):
    """`count` injections, decided by `seed`."""
    draw = random.Random(seed)
    places = [
        (ranks, round, place, elements, wire)
        for ranks in RANKS
        for round in range(2 * (ranks - 1))
        for place in PLACES
        for elements in ELEMENTS
        for wire in wires
    ]
    injections, order = [], []
    for number in range(count):
        if not order:
            order = places[:]
            draw.shuffle(order)
        ranks, round, place, elements, wire = order.pop()
        kind = draw.choices(list(WEIGHTS), list(WEIGHTS.values()))[0]
        rank = draw.randrange(ranks)
        second = draw.choice([other for other in range(ranks) if other != rank]) if kind == "two" else None
        injections.append(Injection(number, kind, ranks, rank, round, place, elements, wire, second))
    return injections
