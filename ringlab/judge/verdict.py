"""What a learner gets back from the judge."""

from fractions import Fraction
from typing import NamedTuple

from .words import FAMILIES


class Milestones(NamedTuple):
    """How far it came, as (done, of): additions, copies, and numbers of ranks (above 1) that are right."""

    adding: tuple
    copying: tuple
    all_p: tuple

    @property
    def credit(self):
        """From 0 to 1, a third for each milestone, in proportion: part of a ring earns part of the credit."""
        parts = [Fraction(done, of) for done, of in self if of]
        return round(float(sum(parts) / len(parts)), 3) if parts else 0.0


class Hint(str):
    """A hint that shows itself as it is, without quotes, at the end of a notebook cell."""

    def __repr__(self):
        return str(self)


class Verdict:
    """The judgement of one function; true when it passed.

    passed: bool.  verdict: None, or what kind of wrong: WRONG_RESULT, DEADLOCK, EXCEPTION, EXITED, KILLED, STALL, as in
    `ringlab.verdicts`, or NOT_WRITTEN, UNREAD (messages that nobody received), OVER_BOUND (right, but above `at_most`).
    family: the kind of mistake, a key of `judge.words.FAMILIES`.  ranks: the number of ranks at which it shows.
    rank, round, chunk: where it goes wrong first.  milestones, credit: how far it came.  grades: dict number of ranks
    to Grade, when the result is right.  notes: what to know about code that passes.  trace: the run up to the wrong
    step, for `rl.show`.  run: the run with numbers that went wrong, if it ended.  error: the error that says the same,
    for `rl.wait_graph` say.  `hint` says where to look, asked again what is wrong there, and then how to mend it.
    """

    def __init__(self, *, name, milestones, finding=None, ranks=None, lines=(), details=(), grades=None, notes=(),
                 hints=(), trace=None, seconds=None):  # fmt: skip
        self.name, self.finding, self.ranks = name, finding, ranks
        self.passed = finding is None
        self.verdict = finding and finding.verdict
        self.family = finding and finding.family
        self.rank, self.round, self.chunk = (finding.rank, finding.round, finding.chunk) if finding else (None,) * 3
        self.run, self.error = (finding.run, finding.error) if finding else (None, None)
        self.milestones, self.grades, self.notes = milestones, grades or {}, tuple(notes)
        self.trace, self.seconds = trace, seconds
        self.lines, self.details = tuple(lines), tuple(details)
        self._hints, self._asked = tuple(hints), 0

    def __bool__(self):
        return self.passed

    def __repr__(self):
        return "\n".join(self.lines)

    def _repr_pretty_(self, printer, cycle):
        printer.text(repr(self))

    def full(self):
        """All that is known, as text: the lines shown, and those of an exception or of a wait."""
        return "\n".join([*self.lines, *self.details])

    @property
    def credit(self):
        """From 0 to 1: 1 when it passed, else as far as the milestones were reached."""
        return 1.0 if self.passed else self.milestones.credit

    @property
    def hint(self):
        """Where to look; asked again, what is wrong there as well; asked once more, how to mend it, too."""
        if self.passed:
            return Hint("It passed: nothing to mend.")
        self._asked = min(self._asked + 1, len(self._hints))
        return Hint("\n".join(self._hints[: self._asked]))

    def to_dict(self):
        """Plain data, without spending a hint."""
        return {
            "function": self.name,
            "passed": self.passed,
            "verdict": self.verdict,
            "family": self.family,
            "ranks": self.ranks,
            "rank": self.rank,
            "round": self.round,
            "chunk": self.chunk,
            "text": list(self.lines),
            "credit": self.credit,
            "milestones": {name: list(pair) for name, pair in self.milestones._asdict().items()},
            "notes": list(self.notes),
            "hints": list(self._hints),
            "grades": {str(ranks): grade.to_dict() for ranks, grade in self.grades.items()},
        }


def hints(finding, source_line=""):
    """The three hints of a finding. source_line: 'line 5: send(...)', or ''."""
    what, how = FAMILIES[finding.family]
    fill = finding.fill or {}
    where = finding.where + (f" {source_line[0].upper()}{source_line[1:]}" if source_line else "")
    return where.strip(), what.format(**fill) if fill else what, how.format(**fill) if fill else how
