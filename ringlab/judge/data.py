"""The judge's runs with numbers, on real processes: other sizes than the marks have, and rounding.

In every run each rank and each element has a number of its own, so what comes out wrong says whose it is. Whole numbers
are summed exactly in every order; one case has floats that round, where only the order of adding tells replicas apart.
"""

import itertools
from typing import NamedTuple

import numpy as np

from .. import reports
from ..chunks import bounds
from ..network import ROUNDS
from ..runs import MODES
from ..ship import ship
from ..supervise import Supervisor
from ..verdicts import NoResource, RinglabError, StartupFailed
from . import faults
from .finding import Finding
from .words import listed, plural

LARGE = 100_000  # elements of the case that rounds


class Case(NamedTuple):
    """One run: per rank a flat buffer. rounds: whether its sums are rounded, so that orders of adding show."""

    buffers: list
    rounds: bool = False

    @property
    def elements(self):
        """Elements per rank."""
        return self.buffers[0].size

    def in_words(self):
        """'with 5 elements (chunks of 2, 1, 1 and 1)'."""
        ranks, offsets = len(self.buffers), bounds(self.elements, len(self.buffers))
        sizes = [high - low for low, high in itertools.pairwise(offsets)]
        count = f"with {self.elements} element{'s' if self.elements != 1 else ''}"
        return f"{count} (chunks of {listed(sizes)})" if 1 < ranks <= 8 and self.elements < 100 else count


def cases(ranks):
    """The runs for one number of ranks: 1 element, fewer than ranks, not divisible, and LARGE with rounding."""
    rng = np.random.default_rng(ranks)
    sizes = sorted({1, max(1, ranks - 1), 2 * ranks + 1})
    for size in sizes:
        yield Case([rng.integers(1, 10**6, size).astype(float) for _ in range(ranks)])
    yield Case([(rng.standard_normal(LARGE) + rank).astype(np.float32) for rank in range(ranks)], rounds=True)


class Job(NamedTuple):
    """What the runs of one number of ranks have in common."""

    function: object
    shipped: bytes
    seen: object
    wire: str
    timeout: float
    world: object


def judge(job, what, shift=0):
    """The Finding of the first run with numbers that goes wrong, or None."""
    owner = faults.ownership(job.seen) if what == "reduce_scatter" else None
    for case in cases(job.seen.ranks):
        try:
            returned, unread = run_case(job, case)
        except (NoResource, StartupFailed):
            raise  # nobody's mistake
        except RinglabError as error:
            return _from_error(error, case)
        found = judge_case(case, returned, what, shift, owner) or _unread(unread, case)
        if found is not None:
            return found
    return None


def run_case(job, case):
    """(what each rank returned, unread messages) of one run with numbers; raises the verdict of one that failed."""
    common = {"op": "sum", "wire_dtype": None}
    if job.wire == "virtual":
        things = ship((job.function, ROUNDS, ()))
        commands = [{"do": "virtual", "function": things, "buffers": case.buffers, "adds": None, **common}]
    else:
        common |= {"do": "run", "function": job.shipped, "wraps": None, "starts": None, "mode": MODES[job.wire]}
        commands = [{**common, "ranks": job.seen.ranks, "buffer": buffer} for buffer in case.buffers]
    story = reports.Story({**job.seen.data, "starts": job.seen.starts, "rounds": job.seen.rounds})
    replies, unread = Supervisor(job.world, len(commands), job.timeout, story, quiet=True).call(commands)
    if job.wire == "virtual":
        return replies[0]["value"][0], []
    return [reply["value"] for reply in replies], unread


def judge_case(case, returned, what, shift=0, owner=None):
    """The Finding of one run's results, or None when they are right."""
    ranks, offsets = len(case.buffers), bounds(case.elements, len(case.buffers))
    for rank, flat in enumerate(returned):
        if isinstance(flat, dict):
            text = f"{case.in_words()}: rank {rank} returns {flat['returned']}, not its chunks"
            return _wrong(case, "returned", text, rank, fill={"returned": flat["returned"]})
        if flat.size != case.elements:
            text = f"{case.in_words()}: rank {rank} returns {flat.size} elements"
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
            text = f"{case.in_words()}: element {index}, in c{chunk} on rank {rank}, {text}"
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
    says = f"is {value:.10g}; the {'mean' if what == 'mean' else 'sum'} is {right[index]:.10g}"
    if what == "all_gather":
        says = f"is {value:.10g}; its owner brought {right[index]:.10g}"
    ranks = len(parts)
    if value == 0:
        return "is 0", "only_numbers"
    if what == "mean" and value == np.floor(right[index]):
        return f"{says}: rounded down", "floor"
    if case.rounds:
        close = abs(value - right[index]) < 1e-2 * max(1, abs(right[index]))
        return says + (": digits are lost" if close else ""), "rounded" if close else "only_numbers"
    if what == "allreduce" and value == right[index] / ranks and ranks > 1:
        return f"{says}: it is the mean", "mean_not_sum"
    if what == "mean" and value == parts.sum() and ranks > 1:
        return f"{says}: it is the sum", "sum_not_mean"
    elsewhere = np.flatnonzero(right == value)
    if len(elsewhere):
        return f"is what belongs into element {elsewhere[0]}", "only_numbers"
    counts = _counts(value, parts)
    if counts is not None:
        missing = [rank for rank, count in enumerate(counts) if count == 0]
        twice = [rank for rank, count in enumerate(counts) if count > 1]
        words = [f"lacks rank {listed(missing)}"] if missing else []
        words += [f"has rank {listed(twice)} twice"] if twice else []
        return " and ".join(words), "only_numbers"
    return says, "only_numbers"


def _counts(value, parts):
    """How often each rank's number is in `value`, 0 to 2 times; None when it is made otherwise (or ranks are many)."""
    if len(parts) > 8:
        return None
    counts = np.array(list(itertools.product((1, 0, 2), repeat=len(parts))))
    (found,) = np.nonzero(counts @ parts == value)
    return counts[found[0]].tolist() if len(found) else None


def _wrong(case, family, text, rank=None, chunk=None, fill=None):
    where = f"Look at rank {rank}" + (f" and c{chunk}" if chunk is not None else "") + f", {case.in_words()}."
    return Finding(
        "WRONG_RESULT", family, text, rank, None, chunk, where=where, fill=fill or {}, elements=case.elements
    )


def _unread(unread, case):
    if not unread:
        return None
    src, dst, count = unread[0]
    text = f"{case.in_words()}: rank {dst} did not receive {plural(count, 'message')} from rank {src}"
    where = f"Look at what rank {src} sends, {case.in_words()}."
    return Finding("UNREAD", "unread", text, dst, where=where, elements=case.elements)


def _from_error(error, case):
    """The Finding of a run with numbers that ended in a verdict of the lab."""
    text = f"{case.in_words()}: {error.lines[0]}"
    where = f"It goes well with marks and goes wrong {case.in_words()}."
    return Finding(
        error.verdict,
        "only_numbers",
        text,
        rank=error.rank,
        round=error.round,
        line=_line_of(error),
        where=where,
        waiting=error.waiting,
        lines=error.lines[1:2],
        elements=case.elements,
        trace=getattr(error, "trace", None),
    )


def _line_of(error):
    """The learner's line in an error's text, 0 when it names none."""
    for line in (*error.lines[1:], *reversed(error.details)):
        head, _, tail = line.partition("line ")
        number = tail.split(":")[0].split(" ")[0].split(",")[0]
        if head is not line and number.isdigit():
            return int(number)
    return 0
