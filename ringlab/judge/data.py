"""The judge's runs with numbers, on real processes: other sizes than the marks have, and rounding.

In every run each rank and each element has a number of its own, so what comes out wrong says whose it is. Whole numbers
are summed exactly in every order; one case has floats that round, where only the order of adding tells replicas apart.
"""

import contextlib
import functools
import io
import itertools
import warnings
from typing import NamedTuple

import numpy as np

from ..chunks import bounds
from ..runs import knowing, run
from ..texts import listed, plural, ranks_of
from ..verdicts import NoResource, RinglabError, StartupFailed, WrongResult
from . import faults
from .endings import mend
from .finding import Finding

LARGE = 100_000  # elements of the case that rounds


class Case(NamedTuple):
    """One run: per rank a flat buffer. rounds: whether its sums are rounded, so that orders of adding show."""

    buffers: list
    rounds: bool = False

    @property
    def elements(self):
        """Elements per rank."""
        return self.buffers[0].size

    def why(self):
        """What is special about this case."""
        if self.elements >= LARGE:
            return "Here they are long, and sums are rounded."
        empty = "empty" if self.elements < len(self.buffers) else "of unequal length"
        return f"Here some are {empty}." if len(self.buffers) > 1 else "Here they are short."

    def in_words(self):
        """'5 elements (chunks of 2, 1, 1 and 1)'."""
        ranks, offsets = len(self.buffers), bounds(self.elements, len(self.buffers))
        sizes = [high - low for low, high in itertools.pairwise(offsets)]
        count = plural(self.elements, "element")
        return f"{count} (chunks of {listed(sizes)})" if 1 < ranks <= 8 and self.elements < 100 else count


@functools.cache
def cases(ranks):
    """The runs for one number of ranks: 1 element, fewer than ranks, not divisible, and LARGE with rounding."""
    rng = np.random.default_rng(ranks)
    sizes = sorted({1, max(1, ranks - 1), 2 * ranks + 1})
    made = [Case([rng.integers(10**9, 10**10, size).astype(float) for _ in range(ranks)]) for size in sizes]
    large = [(rng.standard_normal(LARGE) + rank).astype(np.float32) for rank in range(ranks)]
    return (*made, Case(large, rounds=True))


def judge(function, seen, what, shift=0, wire="pipe", timeout=5.0):
    """The Finding of the first run with numbers that goes wrong at `seen.ranks` ranks, or None."""
    owner = faults.ownership(seen) if what == "reduce_scatter" else None
    for case in cases(seen.ranks):
        known = knowing(function, seen.probe)
        try:
            # what the ranks print, and numpy's warnings, are for rl.run
            with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings(action="ignore"), known:
                done = run(function, case.buffers, wire=wire, timeout=timeout)
        except (NoResource, StartupFailed):
            raise  # nobody's mistake
        except WrongResult as error:
            found = _wrong(case, "returned", error.lines[0], error.rank, fill={"returned": "no chunks"})
        except RinglabError as error:
            found = _from_error(error, case)
        else:
            found = judge_case(case, done.outputs, what, shift, owner) or _unread(done, case)
            found = found and found._replace(run=done)
        if found is not None:
            return found
    return None


def judge_case(case, returned, what, shift=0, owner=None):
    """The Finding of one run's results, or None when they are right."""
    ranks, offsets = len(case.buffers), bounds(case.elements, len(case.buffers))
    for rank, flat in enumerate(returned):
        if flat.size != case.elements:
            text = f"rank {rank} returns {plural(flat.size, 'element')}"
            return _wrong(case, "returned", text, rank, fill={"returned": f"{flat.size} elements"})
    right, tolerance = reference(case, what, shift)
    for rank, flat in enumerate(returned):
        where = np.arange(case.elements)
        if what == "reduce_scatter":
            where = where[offsets[owner[rank]] : offsets[owner[rank] + 1]]
        with np.errstate(invalid="ignore", over="ignore"):
            bad = where[~(np.abs(flat[where].astype(float) - right[where]) <= tolerance[where])]
        if len(bad):
            index = int(bad[0])
            chunk = next(c for c in range(ranks) if offsets[c] <= index < offsets[c + 1])
            text, family = _explain(case, flat[index], right, index, what)
            text = f"element {index}, in c{chunk} on rank {rank}, {text}"
            return _wrong(case, family, text, rank, chunk)
    if what in ("allreduce", "mean", "all_gather"):
        return _differing(case, returned)
    return None


def reference(case, what, shift=0):
    """(right result, tolerance per element); no tolerance for whole numbers that are only added."""
    buffers, ranks = case.buffers, len(case.buffers)
    wide = np.array(buffers, float)
    if what == "all_gather":
        offsets, right = bounds(case.elements, ranks), np.empty(case.elements)
        for chunk in range(ranks):
            part = slice(offsets[chunk], offsets[chunk + 1])
            right[part] = wide[(chunk - 1 + shift) % ranks][part]
        return right, np.zeros(case.elements)
    right = wide.sum(axis=0) / (ranks if what == "mean" else 1)
    eps = np.finfo(buffers[0].dtype).eps if case.rounds or what == "mean" else 0
    return right, 2 * ranks * eps * np.abs(wide).sum(axis=0)


def _differing(case, returned):
    """The Finding of ranks whose results are all right but not equal to the last bit."""
    for rank, flat in enumerate(returned):
        if not np.array_equal(flat, returned[0]):
            (where,) = np.nonzero(flat != returned[0])
            offsets = bounds(case.elements, len(returned))
            chunk = next(c for c in range(len(returned)) if offsets[c] <= where[0] < offsets[c + 1])
            share = 100 * len(where) / case.elements
            text = f"ranks 0 and {rank} differ in the last bits of {share:.0f} % of the elements, first in c{chunk}"
            return _wrong(case, "bits", text, rank, chunk)
    return None


def _explain(case, value, right, index, what):
    """(what the wrong number is, family): whose gradients it is made of, when that can be told."""
    value, parts = float(value), np.array([float(buffer[index]) for buffer in case.buffers])
    digits = 7 if case.rounds else 15
    says = f"is {value:.{digits}g}; the {'mean' if what == 'mean' else 'sum'} is {right[index]:.{digits}g}"
    if what == "all_gather":
        says = f"is {value:.{digits}g}; its owner brought {right[index]:.{digits}g}"
    ranks = len(parts)
    if not np.isfinite(value):
        return f"is {value}: too large for a dtype on the way", "rounded"
    if value == 0:
        return "is 0", "only_here"
    if what == "mean" and value == np.floor(right[index]):
        return f"{says}: rounded down", "floor"
    if what == "allreduce" and value == right[index] / ranks and ranks > 1:
        return f"{says}: it is the mean", "mean_not_sum"
    if what == "mean" and value == parts.sum() and ranks > 1:
        return f"{says}: it is the sum", "sum_not_mean"
    elsewhere = np.flatnonzero(right == value)
    if len(elsewhere):
        return f"is what belongs into element {elsewhere[0]}", "only_here"
    counts = _counts(value, parts)
    if counts is not None:
        missing = [rank for rank, count in enumerate(counts) if count == 0]
        twice = [rank for rank, count in enumerate(counts) if count > 1]
        words = [f"lacks the gradient of {ranks_of(missing)}"] if missing else []
        words += [f"has that of {ranks_of(twice)} twice"] if twice else []
        return " and ".join(words), "only_here"
    if abs(value - right[index]) < 1e-2 * max(1, abs(right[index])):
        return f"{says}: digits are lost", "rounded"
    return says, "only_here"


def _counts(value, parts):
    """How often each rank's number is in `value`, 0 to 2 times; None when it is made otherwise (or ranks are many)."""
    if len(parts) > 8:
        return None
    counts = np.array(list(itertools.product((1, 0, 2), repeat=len(parts))))
    (found,) = np.nonzero(counts @ parts == value)
    return counts[found[0]].tolist() if len(found) else None


def _wrong(case, family, text, rank=None, chunk=None, fill=None):
    place = f"rank {rank}" if chunk is None else f"c{chunk} on rank {rank}"
    where = f"Look at {place}, with {case.in_words()}."
    fill = fill or {"why": case.why()}
    return Finding("WRONG_RESULT", family, text, rank, None, chunk, where=where, fill=fill, size=case.in_words())


def _unread(done, case):
    if sum(done.sent) == sum(done.received):
        return None
    text = f"{sum(done.sent)} bytes were sent and {sum(done.received)} received"
    where = f"Look at who sends to whom, with {case.in_words()}."
    return Finding("UNREAD", "unread", text, where=where, size=case.in_words())


def _from_error(error, case):
    """The Finding of a run with numbers that ended in a verdict of the lab."""
    fill = {"why": case.why()}
    family = "only_here"
    if error.verdict == "EXCEPTION":
        told = error.lines[0].partition(" raised ")[2].partition(" in round ")[0]
        kind, _, text = told.partition(": ")
        family, fill = "raised", {"error": told, "mend": mend(kind, text)}
    where = f"Look at {'the ranks' if error.rank is None else f'rank {error.rank}'}, with {case.in_words()}."
    return Finding(
        error.verdict,
        family,
        error.lines[0],
        rank=error.rank,
        round=error.round,
        line=_line_of(error),
        where=where,
        waiting=error.waiting,
        error=error,
        fill=fill,
        size=case.in_words(),
        details=(*error.lines[1:], *error.details),
    )


def _line_of(error):
    """The learner's line in an error's text, 0 when it names none."""
    for line in (*error.lines[1:], *reversed(error.details)):
        head, _, tail = line.partition("line ")
        number = tail.split(":")[0].split(" ")[0].split(",")[0]
        if head is not line and number.isdigit():
            return int(number)
    return 0
