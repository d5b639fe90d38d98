"""`rl.check`: a learner's all-reduce, judged on marks and then on real processes."""

import inspect
import re
import time

from .. import source
from ..arguments import WIRES, resolve
from ..hygiene import LIBRARIES
from ..reports import Story
from ..ship import ship
from ..supervise import Supervisor
from ..verdicts import BadInput, RankExited, RankKilled, RinglabError
from ..warm import shared_world
from ..world import check_ranks
from . import data, grades
from .diagnosis import diagnose
from .finding import Finding
from .observe import observe
from .seen import Seen
from .telling import tell

WHATS = ("allreduce", "mean", "reduce_scatter", "all_gather")
MAIN = 4  # the number of ranks that is looked at first, as in the lessons
LAST = ("NOT_WRITTEN", "KILLED", "EXITED", "STALL")  # after these no other number of ranks is tried


def check(f, ranks=(1, 2, 3, 4, 5, 8), what="allreduce", at_most=None, wire="pipe", shift=0, timeout=5.0):
    """A Verdict on `f(chunks, rank, send, recv)`: right, or where it goes wrong first, and why.

    f: any function, also from a notebook cell, or a name from `rl.ALGORITHMS`. It runs on ranks only: first on marks
    that tell whose gradient went where, then on real processes with numbers, for every number in `ranks` and several
    sizes.  what: "allreduce", "mean", "reduce_scatter" (any one-to-one ownership passes) or "all_gather" (rank r comes
    with the complete chunk r + 1 - shift).  at_most: what passing may cost, at every number of ranks: the name of an
    algorithm, as "ring" (the bytes of its busiest port), or a dict of "bytes" (per port, in buffers), "rounds",
    "messages" (per rank).  wire: of the runs with numbers.  timeout: after how many seconds without any event a rank
    has stalled.

    Raises BadInput when the arguments cannot be used or `f` cannot travel to the ranks.
    """
    function, sizes = resolve(f), _sizes(ranks)
    if what not in WHATS:
        raise BadInput(f"what={what!r} is not known", f"use one of {', '.join(WHATS)}")
    if wire not in WIRES:
        raise BadInput(f"wire={wire!r} is not known", f"use one of {', '.join(WIRES)}")
    grades.check_at_most(at_most)
    judged = Check(function, sizes, what, shift, at_most)
    judged.judge(wire, timeout)
    return tell(judged)


def _sizes(ranks):
    """The numbers of ranks in the order in which they are looked at."""
    numbers = list(ranks) if hasattr(ranks, "__iter__") else [ranks]
    numbers = sorted({check_ranks(number) for number in numbers})
    if not numbers:
        raise BadInput("ranks is empty", "give at least one number of ranks, as in ranks=(1, 2, 3, 4, 5, 8)")
    main = MAIN if MAIN in numbers else numbers[-1]
    return [main, *(number for number in numbers if number != main)]


class Check:
    """One judgement as data: what was seen, and what was found, at each number of ranks.

    sizes: the numbers of ranks, the main one first.  seen: dict to Seen.  findings: dict to a Finding or None (right),
    for the numbers that were tried.  marked: the numbers at which the marks came out right.  grades: dict to Grade,
    when all is right.  pattern: what the wrong numbers have in common, in words.  seconds: how long it took.
    """

    def __init__(self, function, sizes, what="allreduce", shift=0, at_most=None):
        self.function, self.sizes, self.what, self.shift, self.at_most = function, sizes, what, shift, at_most
        self.name = source.name_of(function)
        self.seen, self.findings, self.marked, self.grades = {}, {}, set(), {}
        self.pattern = ""
        self.seconds = 0.0

    @property
    def wrong(self):
        """Whether something was found."""
        return any(self.findings.values())

    def judge(self, wire="pipe", timeout=5.0):
        """Find what is wrong: in its signature, on marks, with numbers, in its costs; stop where something is."""
        start = time.monotonic()
        found = signature_finding(self.function, self.name)
        if found is not None:
            self.findings[self.sizes[0]] = found
        for stage in (self._on_marks, self._with_numbers, self._grade):
            if not self.wrong:
                stage(wire, timeout)
        self.seconds = time.monotonic() - start

    def _on_marks(self, wire, timeout):
        shipped = ship(self.function)
        for ranks in self.sizes:
            found = self.findings[ranks] = self.look(shipped, ranks, timeout)
            if found is None:
                self.marked.add(ranks)
            elif found.verdict in LAST:
                return
            elif found.family == "floor":  # marks are 0 and 1: numbers tell rounding down from zeros
                self.findings[ranks] = self._compute(ranks, wire, timeout) or found
        self.pattern = self._pattern(shipped, timeout)

    def look(self, shipped, ranks, timeout):
        """The Finding on marks with `ranks` ranks, or None."""
        seen = observe_on_a_rank(shipped, ranks, timeout)
        if isinstance(seen, Finding):
            return seen
        self.seen[ranks] = seen
        return diagnose(seen, self.what, self.shift)

    def _pattern(self, shipped, timeout):
        """'odd numbers' or 'numbers that are no power of two', when it is those that go wrong; else ''."""
        wrong = {ranks for ranks in self.sizes if self.findings[ranks] is not None}
        right = {ranks for ranks in self.sizes if ranks > 1} - wrong
        if len(wrong) < 2 or not right or not all(ranks % 2 for ranks in wrong) or any(ranks % 2 for ranks in right):
            return ""
        six = self.findings[6] if 6 in self.findings else None if 1 in wrong else self.look(shipped, 6, timeout)
        return "odd numbers" if six is None else "numbers that are no power of two"

    def _with_numbers(self, wire, timeout):
        """A run that does not end is the last one: its ranks are gone."""
        if wire != "virtual":
            shared_world(max(self.sizes))  # or it would be replaced by a larger one on the way
        self.findings = {}
        for ranks in self.sizes:
            found = self.findings[ranks] = self._compute(ranks, wire, timeout)
            if found is not None and found.verdict != "WRONG_RESULT":
                return

    def _compute(self, ranks, wire, timeout):
        return data.judge(self.function, self.seen[ranks], self.what, self.shift, wire, timeout)

    def _grade(self, wire, timeout):
        self.grades = {ranks: grades.grade(self.seen[ranks], self.what) for ranks in sorted(self.sizes)}
        for ranks in self.sizes if self.at_most is not None else ():
            model = None
            if isinstance(self.at_most, str):
                model = grades.grade(Seen(observe(resolve(self.at_most), ranks)))
            self.findings[ranks] = grades.over(self.grades[ranks], self.at_most, self.what, model)


def observe_on_a_rank(shipped, ranks, timeout):
    """The Seen of a function at `ranks` ranks, or the Finding when its process did not come back."""
    command = {"do": "judge", "function": shipped, "ranks": ranks}
    try:
        judge = Supervisor(shared_world(1), 1, timeout, _Rounds(), quiet=True, virtual=ranks)
        replies, _ = judge.call([command])
    except (RankKilled, RankExited) as error:
        family = "killed" if isinstance(error, RankKilled) else "exited"
        return _lost(error, family, error.lines[0])
    except RinglabError as error:
        if error.verdict != "STALL":
            raise
        text = f"rank {error.rank} shows no sign of life in round {error.round}"
        return _lost(error, "stalled", text, line=_line_of_stall(error))
    return Seen(replies[0]["value"])


def _lost(error, family, text, line=0):
    where = f"Rank {error.rank} was in round {error.round}."
    return Finding(error.verdict, family, text, error.rank, error.round, line=line, where=where)


class _Rounds(Story):
    """The story of a judged run: its record counts rounds and not events, so a lost rank's place is what it says."""

    def __init__(self):
        super().__init__(None)
        self.name = "judging"  # what a bar says when it takes long

    def round(self, rank, events):
        """The round that the record holds."""
        return events

    def moment(self, rank, events):
        """' in round 1'."""
        return f" in round {events}"


def _line_of_stall(error):
    """The line of the learner's code at which a stalled rank was found; 0 when it did not answer."""
    found = [re.search(r"^ *(.*), line (\d+), in ", line) for line in error.details]
    lines = [int(match[2]) for match in found if match and not match[1].startswith(LIBRARIES)]
    return lines[-1] if lines else 0


def signature_finding(function, name):
    """The Finding of a function that cannot be called with the four things, or None."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return None
    try:
        signature.bind(None, None, None, None)
    except TypeError:
        takes = f"({', '.join(signature.parameters)})"
        return Finding(
            "EXCEPTION",
            "signature",
            f"{name} takes {takes}; it is called with (chunks, rank, send, recv)",
            where="Look at the first line, the one with def.",
            fill={"name": name},
        )
    return None
