"""`rl.read_nccl`: times of a real cluster, from a log or a JSON file of nccl-tests (`all_reduce_perf` and its kin).

    log = rl.read_nccl("my_cluster.log")
    print(log, log.fit())                      # alpha and beta of a ring that would take as long
    rl.curves(log.network(), points=log)       # the points over the model

A line of the log that begins with a number is a measurement; one that cannot be read is left out and named with its
number. What the test's programs and their launchers print around the table does not matter. The columns are those of
nccl-tests' `doc/PERFORMANCE.md`; the JSON is that of its option -J. rccl-tests, for AMD's cards, writes the same.
"""

import json
import math
import re
from pathlib import Path
from typing import NamedTuple

from . import cost
from .fitting import fit_allreduce
from .network import Network
from .verdicts import BadInput

A100 = Path(__file__).with_name("data") / "a100_allreduce.json"  # 8 A100 in one machine; see data/README.md
PROGRAMS = {
    "all_reduce": "allreduce",
    "reduce_scatter": "reduce_scatter",
    "all_gather": "all_gather",
    "alltoall": "all_to_all",
    "broadcast": "broadcast",
    "reduce": "reduce",
}
PROGRAM = re.compile(r"(all_reduce|reduce_scatter|all_gather|alltoall|broadcast|reduce)_perf")
MEASUREMENT = re.compile(r"\s*[-+]?\d+\s")
TAG = re.compile(r"\[\d+,\d+\]<std(out|err)>:")  # what mpirun puts in front of a line when asked to
RANK = re.compile(r"#\s+Rank\s+(\d+)\b")
SIZES = (0, 2**60)  # bytes that a line may speak of
LONGEST = 3600e6  # microseconds


class Row(NamedTuple):
    """One size: bytes, seconds (the better of out of place and in place), number of wrong elements (None: unchecked).

    line: where it stands: a line of the log, or a number of the JSON's results.
    """

    nbytes: int
    seconds: float
    wrong: int | None
    line: int


class Log:
    """What a file of nccl-tests says.

    rows: `Row`s.  collective: "allreduce" and so on.  ranks: how many.  bad: ((line number, text, why), ...), left out.
    """

    def __init__(self, name, rows, bad, collective, ranks):
        self.name, self.rows, self.bad, self.collective, self.ranks = name, tuple(rows), tuple(bad), collective, ranks

    def __repr__(self):
        sizes = [row.nbytes for row in self.rows]
        span = f"{len(sizes)} sizes from {min(sizes):,} to {max(sizes):,} bytes"
        lines = [f"{self.name}: {self.collective} over {self.ranks} ranks, {span}"]
        wrong = [row.line for row in self.rows if row.wrong]
        if wrong:
            lines.append(f"wrong results in line{'s' * (len(wrong) > 1)} {', '.join(map(str, wrong))}")
        lines += [f"left out: {_bad_line(*one)}" for one in self.bad]
        return "\n".join(lines)

    def table(self):
        """Text: size, time, algbw and busbw, in the units of nccl-tests (microseconds, GB/s)."""
        lines = [f"{'bytes':>14} {'time us':>11} {'algbw':>8} {'busbw':>8}"]
        for row in self.rows:
            bus = cost.busbw(self.collective, self.ranks, row.nbytes, row.seconds)
            alg = cost.algbw(row.nbytes, row.seconds)
            lines.append(f"{row.nbytes:>14,} {1e6 * row.seconds:>11.2f} {alg / 1e9:>8.2f} {bus / 1e9:>8.2f}")
        return "\n".join(lines)

    def fit(self, algorithm="ring", relative=True):
        """The `fitting.Fit` (alpha, beta) of an all-reduce by `algorithm` that would have taken these times."""
        if self.collective != "allreduce":
            raise BadInput(f"{self.name} is about {self.collective}", "only all-reduces are fitted")
        used = [row for row in self.rows if row.nbytes]
        return fit_allreduce(algorithm, self.ranks, [r.nbytes for r in used], [r.seconds for r in used], relative)

    def network(self, algorithm="ring"):
        """A Network with the alpha and beta of `fit`; adding is in beta."""
        alpha, beta = self.fit(algorithm).values
        return Network(alpha, beta, source=f"fitted to {self.name}, {self.ranks} ranks, as if by {algorithm}")


def read_nccl(path, ranks=None, collective=None):
    """The `Log` of an nccl-tests log (text) or JSON file.

    ranks, collective ("allreduce", "all_gather", ...): only where the file does not say. BadInput for a file with no
    measurement in it, with the numbers of the lines that could not be read.
    """
    path = Path(path)
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise BadInput(f"path={str(path)!r} cannot be read: {error.strerror}") from None
    if not text.strip():
        raise BadInput(f"{path.name} is empty", "give the output of all_reduce_perf, or its JSON")
    read = _from_json if text.lstrip().startswith("{") else _from_log
    rows, bad, said_ranks, said_collective = read(text, path.name)
    if not rows:
        raise BadInput(
            f"{path.name} has no measurement in it",
            *[_bad_line(*one) for one in bad[:2]] or ["a line of nccl-tests begins with a number of bytes"],
        )
    collective = collective or said_collective or "allreduce"
    if collective not in cost.BUS_FACTORS:
        raise BadInput(f"collective={collective!r} is not known", f"use one of {', '.join(cost.BUS_FACTORS)}")
    ranks = said_ranks if ranks is None else ranks
    if ranks is None:
        raise BadInput(f"{path.name} does not say how many ranks there were", "give ranks=")
    if isinstance(ranks, bool) or not hasattr(ranks, "__index__") or ranks < 1:
        raise BadInput(f"ranks={ranks!r} is out of range", "use a whole number from 1 up")
    return Log(path.name, rows, bad, collective, int(ranks))


def _bad_line(number, text, why):
    return f"line {number}: {why}: {text.strip()[:60]!r}"


def _from_log(text, name):
    rows, bad, ranks, collective, with_root = [], [], set(), None, True
    for number, line in enumerate(text.splitlines(), 1):
        line = TAG.sub("", line, count=1)
        if found := RANK.match(line):
            ranks.add(int(found[1]))
        if found := PROGRAM.search(line):
            collective = PROGRAMS[found[1]]
        words = line.split()
        if line.startswith("#") and "size" in words and "count" in words:
            with_root = "root" in words  # older versions have no such column
        if not MEASUREMENT.match(line + " "):
            continue
        try:
            rows.append(_row(words, number, with_root))
        except ValueError as error:
            bad.append((number, line, str(error)))
    return rows, bad, len(ranks) or None, collective


def _row(words, number, with_root):
    """size count type redop root, then time algbw busbw #wrong, out of place and in place."""
    first = 5 if with_root else 4
    if len(words) < first + 3:
        raise ValueError(f"{len(words)} columns where {first + 3} or more are needed")
    times = [_seconds(words[first])]
    wrong = [_wrong(words[first + 3])] if len(words) > first + 3 else []
    if len(words) > first + 4:
        times.append(_seconds(words[first + 4]))
        wrong += [_wrong(words[first + 7])] if len(words) > first + 7 else []
    return Row(_size(words[0]), min(times), max((w for w in wrong if w is not None), default=None), number)


def _from_json(text, name):
    try:
        content = json.loads(text)
        results = content["results"]
        if not isinstance(results, list):
            raise TypeError
    except json.JSONDecodeError as error:
        raise BadInput(f"{name} is no JSON from line {error.lineno} on: {error.msg}") from None
    except (KeyError, TypeError):
        raise BadInput(f"{name} has no list 'results'", "give what nccl-tests wrote with -J") from None
    rows, bad, collective = [], [], None
    for number, result in enumerate(results, 1):
        try:
            rows.append(_result(result, number))
        except (ValueError, TypeError, KeyError) as error:
            bad.append((number, json.dumps(result), f"{type(error).__name__} {error}".removeprefix("ValueError ")))
    words = [*map(str, content.get("args") or []), *(str(r.get("experiment_name")) for r in results if type(r) is dict)]
    for word in words:
        if found := PROGRAM.search(word):
            collective = PROGRAMS[found[1]]
            break
    config = content.get("config") or {}
    devices = config.get("devices") if isinstance(config, dict) else None
    return rows, bad, len(devices) if isinstance(devices, list) and devices else None, collective


def _result(result, number):
    """One of the JSON's results: a size, and a time out of place, in place, or both (microseconds)."""
    if not isinstance(result, dict):
        raise ValueError("no object")
    sides = [side for side in (result.get("out_of_place"), result.get("in_place")) if side] or [result]
    times = [_seconds(side["time"]) for side in sides]
    wrong = [side["nwrong"] for side in sides if side.get("nwrong") is not None]
    return Row(_size(result["size"]), min(times), max(map(_wrong, wrong), default=None), number)


def _seconds(word):
    try:
        value = float(word)
    except (TypeError, ValueError):
        raise ValueError(f"time {word!r} is no number") from None
    if not 0 < value < LONGEST:
        raise ValueError(f"time {word} is no number of microseconds from 0 to an hour")
    return value / 1e6


def _wrong(word):
    """Elements that were wrong; None for 'N/A'. Old versions print the largest error instead, which is no count."""
    try:
        value = float(word)
    except ValueError:
        return None
    return int(value) if math.isfinite(value) and value == int(value) else None


def _size(word):
    value = int(word) if isinstance(word, str) else word
    if type(value) is not int:
        raise ValueError(f"size {word!r} is no whole number")
    if not SIZES[0] <= value <= SIZES[1]:
        raise ValueError(f"size {word} is no number of bytes")
    return value
