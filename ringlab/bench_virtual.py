"""`ringlab bench virtual`: how many ranks fit under the virtual clock, and how long they take for real.

A ring of P ranks sends 2P(P - 1) messages, each a real addition or copy of real numbers; what is measured is the whole
call of `rl.run` on one element per rank and chunk. Its virtual time must be that of the formula, every time.
"""

import json
import sys
import time
from typing import NamedTuple

import numpy as np

from .bench_table import Status, time_text

RANKS = (4, 16, 64, 256, 1024)
ALPHA, BETA = 1, 0  # so that the virtual time is a whole number of rounds


class Row(NamedTuple):
    """One size: seconds of the fastest turn and processor time in it; right: both the result and the virtual time."""

    algorithm: str
    ranks: int
    messages: int
    seconds: float
    cpu: float
    right: bool


def measure(algorithm="ring", ranks=RANKS, turns=3, say=lambda text: None):
    """A Row for each number of ranks: the fastest of so many turns (one above 256 ranks)."""
    return [_best(algorithm, count, 1 if count > 256 else turns, say) for count in ranks]


def _best(algorithm, ranks, turns, say):
    from .runs import run

    inputs = [np.full(ranks, float(rank % 7)) for rank in range(ranks)]
    best = None
    for turn in range(turns):
        say(f"{algorithm} on {ranks} virtual ranks, turn {turn + 1} of {turns}")
        begin, cpu = time.perf_counter(), time.process_time()
        done = run(algorithm, inputs, wire="virtual")
        seconds, cpu = time.perf_counter() - begin, time.process_time() - cpu
        right = done.verdict is None and (algorithm != "ring" or done.seconds == 2 * (ranks - 1))
        row = Row(done.algorithm, ranks, sum(done.messages), seconds, cpu, right)
        best = row if best is None or row.seconds < best.seconds else best
    return best


def text(rows):
    """The rows as lines."""
    lines = [f"{'ranks':>6}{'messages':>12}{'time':>10}{'processor':>12}{'per message':>14}  result"]
    for row in rows:
        each = time_text(row.seconds / row.messages) if row.messages else ""
        lines.append(
            f"{row.ranks:>6}{row.messages:>12,}{time_text(row.seconds):>10}{time_text(row.cpu):>12}{each:>14}"
            f"  {'right' if row.right else 'WRONG'}"
        )
    return lines


def add_arguments(parser):
    """The options of `ringlab bench virtual`."""
    numbers = {"metavar": "LIST", "type": lambda text: [int(word) for word in text.split(",")]}
    parser.add_argument("--ranks", default=list(RANKS), **numbers, help=f"default: {','.join(map(str, RANKS))}")
    parser.add_argument("--algorithm", default="ring", metavar="NAME", help="default: ring")
    parser.add_argument("--turns", type=int, default=3, metavar="N", help="how often each is run (default: 3)")
    parser.add_argument("--json", metavar="FILE", help="save the rows")


def command(options):
    """Measure, print, and save when asked; 1 when a result was wrong."""
    status = Status()
    rows = measure(options.algorithm, options.ranks, max(1, options.turns), status.say)
    status.clear()
    print(f"{rows[0].algorithm} on the virtual wire, one process, Python {sys.version.split()[0]}\n")
    print("\n".join(text(rows)))
    print("\nthe fastest of the turns; `processor` is less where others use the machine as well")
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump([row._asdict() for row in rows], file, indent=1)
            file.write("\n")
        print(f"rows saved in {options.json}")
    return int(not all(row.right for row in rows))
