"""`rl.check`: a learner's all-reduce, judged on marks and then on real processes."""

import inspect
import linecache
import time

from .. import source
from ..runs import resolve
from ..ship import ship
from ..supervise import Supervisor
from ..verdicts import BadInput, RankExited, RankKilled, RinglabError
from ..world import check_ranks, shared_world
from . import data
from .diagnosis import diagnose
from .finding import Finding
from .seen import Seen
from .verdict import Milestones, Verdict, hints
from .words import listed

WHATS = ("allreduce", "mean", "reduce_scatter", "all_gather")
PROMISES = {
    "allreduce": "every rank holds the sum",
    "mean": "every rank holds the mean",
    "reduce_scatter": "every rank owns one complete chunk",
    "all_gather": "every rank holds every chunk",
}
MAIN = 4  # the number of ranks that is looked at first, as in the lessons


def check(f, ranks=(1, 2, 3, 4, 5, 8), what="allreduce", at_most=None, wire="pipe", shift=0, timeout=5.0):
    """A Verdict on `f(chunks, rank, send, recv)`: right, or where it goes wrong first, and why.

    f: any function, also from a notebook cell, or a name from `rl.ALGORITHMS`. It runs on ranks only: first on marks
    that tell whose gradient went where, then on real processes with numbers, for every number in `ranks` and several
    sizes.  what: "allreduce", "mean", "reduce_scatter" (any one-to-one ownership passes) or "all_gather" (rank r comes
    with the complete chunk r + 1 - shift).  timeout: after how many seconds without any event a rank is stalled.

    Raises BadInput when the arguments cannot be used or `f` cannot travel to the ranks.
    """
    function = resolve(f)
    sizes = _check_arguments(ranks, what)
    return Check(function, sizes, what, shift, wire, timeout, at_most).verdict()


def _check_arguments(ranks, what):
    """The numbers of ranks in the order in which they are looked at."""
    if what not in WHATS:
        raise BadInput(f"what={what!r} is not known", f"use one of {', '.join(WHATS)}")
    numbers = [ranks] if hasattr(ranks, "__index__") else list(ranks)
    numbers = sorted({check_ranks(number) for number in numbers})
    if not numbers:
        raise BadInput("ranks is empty", "give at least one number of ranks, as in ranks=(1, 2, 3, 4, 5, 8)")
    main = MAIN if MAIN in numbers else numbers[-1]
    return [main, *(number for number in numbers if number != main)]


class _Round:
    """In a judged run the record counts rounds and not events; so a dead rank's place is what it says."""

    file = rounds = None

    def round(self, rank, events):
        return events

    def chunk(self, rank, events):
        return None

    def place(self, rank, events):
        return f" in round {events}"


class Check:
    """One judgement: the observations on marks, then the runs with numbers, then the words."""

    def __init__(self, function, sizes, what, shift, wire, timeout, at_most):
        self.function, self.sizes, self.what, self.shift = function, sizes, what, shift
        self.wire, self.timeout, self.at_most = wire, timeout, at_most
        self.name = source.name_of(function)
        self.seen = {}  # ranks -> Seen
        self.findings = {}  # ranks -> Finding or None
        self._start = time.monotonic()

    def verdict(self):
        """The Verdict."""
        wrong = _signature(self.function, self.name)
        if wrong is not None:
            self.findings[self.sizes[0]] = wrong
            return self._failed()
        self.shipped = ship(self.function)
        for ranks in self.sizes:
            finding = self.findings[ranks] = self._observe(ranks)
            if finding is not None and (finding.verdict in ("NOT_WRITTEN", "KILLED", "EXITED", "STALL")):
                return self._failed()
        if not any(self.findings.values()):
            self._run_with_numbers()
        return self._failed() if any(self.findings.values()) else self._passed()

    def _run_with_numbers(self):
        """The same on real processes, with numbers; a run that did not end is the last one."""
        world = shared_world(1 if self.wire == "virtual" else max(self.sizes))
        self.findings = {}
        for ranks in self.sizes:
            seen = self.seen[ranks]
            finding = data.judge(
                self.function, self.shipped, seen, self.what, self.shift, self.wire, self.timeout, world
            )
            self.findings[ranks] = finding
            if finding is not None and finding.verdict != "WRONG_RESULT":
                return

    def _observe(self, ranks):
        """The Finding on marks with `ranks` ranks, or None."""
        world = shared_world(1)
        command = {"do": "judge", "function": self.shipped, "ranks": ranks}
        try:
            replies, _ = Supervisor(world, 1, self.timeout, _Round(), quiet=True).call([command])
        except (RankKilled, RankExited) as error:
            family = "killed" if isinstance(error, RankKilled) else "exited"
            where = f"Rank {error.rank} was in round {error.round}."
            return Finding(error.verdict, family, error.lines[0], error.rank, error.round, where=where)
        except RinglabError as error:
            if error.verdict != "STALL":
                raise
            where = f"Rank {error.rank} was in round {error.round}."
            text = f"rank {error.rank} shows no sign of life in round {error.round}"
            return Finding("STALL", "stalled", text, error.rank, error.round, line=_line_in(error), where=where)
        self.seen[ranks] = Seen(replies[0]["value"])
        return diagnose(self.seen[ranks], self.what, self.shift)

    def _failed(self):
        ranks = next(number for number in self.sizes if self.findings.get(number))
        finding = self.findings[ranks]
        milestones = self._milestones()
        lines = self._lines(ranks, finding, milestones)
        return Verdict(
            name=self.name,
            finding=finding,
            ranks=ranks,
            lines=lines,
            milestones=milestones,
            hints=hints(finding, self._source_line(finding.line)),
            trace=self._trace(ranks, finding),
            seconds=time.monotonic() - self._start,
        )

    def _passed(self):
        milestones = self._milestones(passed=True)
        lines = [f"passed with {listed(sorted(self.sizes))} ranks: {PROMISES[self.what]}"]
        return Verdict(
            name=self.name,
            ranks=self.sizes[0],
            lines=lines,
            milestones=milestones,
            trace=self.seen[self.sizes[0]].trace(self._about()),
            seconds=time.monotonic() - self._start,
        )

    def _milestones(self, passed=False):
        main = self.sizes[0]
        whole = main * (main - 1)
        adds = 0 if self.what == "all_gather" else whole
        copies = 0 if self.what == "reduce_scatter" else whole
        right = sum(self.findings.get(number, True) is None for number in self.sizes)
        if passed or (main in self.findings and self.findings[main] is None):
            return Milestones((adds, adds), (copies, copies), (right, len(self.sizes)))
        added, copied = self.seen[main].useful(self.what, self.shift) if main in self.seen else (0, 0)
        return Milestones((min(added, adds), adds), (min(copied, copies), copies), (right, len(self.sizes)))

    def _lines(self, ranks, finding, milestones):
        """The few lines that a learner sees."""
        done = _progress(milestones)
        if finding.family == "not_written":
            return [f"not written yet: {done}"]
        lines = [f"not right yet, with {ranks} rank{'s' if ranks > 1 else ''}: {finding.text}"]
        if finding.family == "blank":
            lines = [f"not written yet: {finding.text}"]
        at = self._source_line(finding.line)
        if finding.verdict in ("EXCEPTION", "STALL", "DEADLOCK", "NOT_WRITTEN") and at:
            lines.append(f"  {at}")
        if finding.verdict != "NOT_WRITTEN":
            lines.append(self._which())
        lines.append(done)
        lines.append("for a hint: v = rl.check(...), then v.hint, and again for more")
        return [line for line in lines if line]

    def _which(self):
        """'right with 1 and 2 ranks, wrong with 3, 4, 5 and 8', or '' when all are wrong or only one was tried."""
        right = sorted(number for number, finding in self.findings.items() if finding is None)
        wrong = sorted(number for number, finding in self.findings.items() if finding is not None)
        if not [number for number in right if number > 1]:
            return ""
        return f"right with {listed(right)} rank{'s' if right != [1] else ''}, wrong with {listed(wrong)}"

    def _source_line(self, line):
        """'line 5: send(...)', or '' when there is none to show."""
        if not line:
            return ""
        lines = dict(source.source_of(self.function) or ())
        text = lines.get(line) or linecache.getline(source.file_of(self.function) or "", line)
        return f"line {line}: {text.strip()}" if text and text.strip() else f"line {line}"

    def _about(self):
        return {"algorithm": self.name, "source": source.source_of(self.function)}

    def _trace(self, ranks, finding):
        """The run up to the wrong step, or None when nothing was seen."""
        seen = self.seen.get(ranks)
        if finding.trace is not None:
            return finding.trace
        if seen is None or finding.verdict == "NOT_WRITTEN":
            return None
        failure = {
            "verdict": finding.verdict,
            "rank": finding.rank,
            "round": finding.round,
            "chunk": finding.chunk,
            "text": finding.text,
            "waiting": list(finding.waiting),
        }
        until = finding.round if finding.verdict == "WRONG_RESULT" else None
        return seen.trace(self._about(), until=until, failure=failure)


def _progress(milestones):
    """'adding 12 of 12 messages, copying 0 of 12'."""
    adding, copying = milestones.adding, milestones.copying
    parts = []
    if adding[1]:
        parts.append(f"adding {adding[0]} of {adding[1]} messages")
    if copying[1]:
        parts.append(f"copying {copying[0]} of {copying[1]}" + ("" if parts else " messages"))
    return ", ".join(parts)


def _signature(function, name):
    """The Finding of a function that cannot be called with the four things, or None."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return None
    try:
        signature.bind(None, None, None, None)
    except TypeError:
        takes = ", ".join(signature.parameters) or "nothing"
        return Finding(
            "EXCEPTION",
            "signature",
            f"{name} takes ({takes}); it is called with (chunks, rank, send, recv)",
            where="Look at the first line, the one with def.",
            fill={"name": name},
        )
    return None


def _line_in(error):
    """The line of the learner's code at which a stalled rank was found."""
    for line in reversed(error.details):
        if ", line " in line:
            return int(line.split(", line ")[1].split(",")[0])
    return 0
