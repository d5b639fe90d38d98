"""From a judgement to the Verdict that a learner reads: which finding, which lines, which notes."""

import linecache

from .. import source
from ..reports import NAMELESS
from ..texts import listed
from .learnerfile import LearnerFunction
from .lending import hazard
from .verdict import Milestones, Verdict, hints

PROMISES = {
    "allreduce": "every rank holds the sum",
    "mean": "every rank holds the mean",
    "reduce_scatter": "every rank owns one complete chunk",
    "all_gather": "every rank holds every chunk",
}


def tell(judged):
    """The Verdict of a `Check` that has judged."""
    sizes = sorted(judged.sizes)
    wrong = [ranks for ranks in judged.sizes if judged.findings.get(ranks)]
    notes = _notes(judged) if judged.grades else ()
    milestones = _milestones(judged)
    common = {
        "name": judged.name,
        "milestones": milestones,
        "grades": judged.grades,
        "notes": notes,
        "seconds": judged.seconds,
    }
    if not wrong:
        ranks = judged.sizes[0]
        lines = [f"passed with {_ranks(sizes)}: {PROMISES[judged.what]}", judged.grades[sizes[-1]].in_words()]
        dear = [grade for grade in judged.grades.values() if not grade.best]
        if dear and judged.grades[sizes[-1]].best:  # as halving, which is at its best for powers of two
            lines.append(max(dear, key=lambda grade: grade.peak / grade.bound).in_words())
        lines += [f"note: {note}" for note in notes]
        return Verdict(ranks=ranks, lines=lines, trace=judged.seen[ranks].trace(_about(judged)), **common)
    ranks = max(wrong) if judged.grades else next((ranks for ranks in wrong if ranks > 1), wrong[0])
    finding = judged.findings[ranks]
    return Verdict(
        finding=finding,
        ranks=ranks,
        lines=_lines(judged, ranks, finding, milestones),
        details=finding.details,
        hints=hints(finding, source_line(judged.function, finding.line)),
        trace=_trace(judged, ranks, finding),
        **common,
    )


def _lines(judged, ranks, finding, milestones):
    """The few lines that a learner sees of what is wrong."""
    done = _progress(milestones)
    if finding.family.startswith("not_written"):
        return [f"not written yet: {done}"]
    if finding.verdict == "OVER_BOUND":
        lines = [f"right, but too much to pass: with {_ranks([ranks])} {finding.text}"]
    elif finding.verdict == "NOT_WRITTEN":
        lines = [f"not written yet: {finding.text}"]
    else:
        size = f" and {finding.size}" if finding.size else ""
        lines = [f"not right yet, with {_ranks([ranks])}{size}: {finding.text}"]
    if finding.verdict not in ("WRONG_RESULT", "UNREAD", "OVER_BOUND"):
        lines += [f"  {line}" for line in own_lines(judged.function, finding)]
    if all(reached == of for reached, of in milestones[:2]):
        done = ""  # nothing is missing there
    name = judged.name if judged.name.isidentifier() else "..."  # a lambda has none
    lines += [_which(judged), done, f"hints: v = rl.check({name}), then v.hint; ask again for more"]
    return [line for line in lines if line]


def own_lines(function, finding):
    """The learner's own lines that a finding points to: of an exception its last three frames."""
    if len(finding.frames) > 1:
        return [f"in {name}, {source_line(function, line, file)}" for file, line, name in finding.frames[-3:]]
    return [source_line(function, finding.line)] if finding.line else []


def source_line(function, line, file=NAMELESS):
    """'line 5: send(...)', 'line 5' when there is no text to show, '' for line 0."""
    if not line:
        return ""
    own = getattr(function, "path", None) or source.file_of(function) or ""
    text = dict(_source(function) or ()).get(line) if file == NAMELESS else None
    text = text or linecache.getline(own if file == NAMELESS else file, line)
    return f"line {line}: {text.strip()}" if text.strip() else f"line {line}"


def _which(judged):
    """'right with 1 and 2 ranks, wrong with 3 and 5: odd numbers'; '' when there is nothing to tell apart."""
    right = sorted(ranks for ranks, finding in judged.findings.items() if finding is None)
    wrong = sorted(ranks for ranks, finding in judged.findings.items() if finding is not None)
    if judged.grades or not [ranks for ranks in right if ranks > 1]:
        return ""
    pattern = f": {judged.pattern}" if judged.pattern else ""
    return f"right with {_ranks(right)}, wrong with {listed(wrong)}{pattern}"


def _milestones(judged):
    """How far it came at the main number of ranks, and at how many numbers of ranks it is right."""
    main = judged.sizes[0]
    whole = main * (main - 1)
    adds = 0 if judged.what == "all_gather" else whole
    copies = 0 if judged.what == "reduce_scatter" else whole
    sizes = [ranks for ranks in judged.sizes if ranks > 1] or judged.sizes
    right = sum(bool(judged.grades) or judged.findings.get(ranks, True) is None for ranks in sizes)
    if main in judged.marked:
        added, copied = adds, copies
    elif main in judged.seen:
        added, copied = judged.seen[main].useful(judged.what, judged.shift)
    else:
        added = copied = 0
    return Milestones((min(added, adds), adds), (min(copied, copies), copies), (right, len(sizes)))


def _progress(milestones):
    """'adding 12 of 12 messages, copying 0 of 12'."""
    (added, adds), (copied, copies), _ = milestones
    parts = [f"adding {added} of {adds} messages"] if adds else []
    parts += [f"copying {copied} of {copies}" + ("" if adds else " messages")] if copies else []
    return ", ".join(parts)


def _notes(judged):
    """What to know about code whose result is right."""
    notes = []
    for ranks in judged.sizes:
        found = hazard(judged.seen[ranks])
        if found is not None:
            notes.append(f"with {ranks} ranks, {found.in_words()}")
            break
    seen = judged.seen[judged.sizes[0]]
    elsewhere = any(what != "chunks" for what in seen.returned)
    if judged.what in ("allreduce", "mean") and elsewhere and seen.held != seen.final:
        notes.append("the result is in what you return and not in `chunks`: the caller's own gradient did not change")
    return tuple(notes)


def _trace(judged, ranks, finding):
    """The run up to the wrong step, marked; None when nothing was seen."""
    seen = judged.seen.get(ranks)
    if seen is None or finding.verdict == "NOT_WRITTEN":
        return None
    failure = {
        "verdict": finding.verdict,
        "rank": finding.rank,
        "round": finding.round,
        "chunk": finding.chunk,
        "text": f"{finding.text[0].upper()}{finding.text[1:]}.",
        "waiting": list(finding.waiting),
    }
    if finding.verdict == "OVER_BOUND":
        return seen.trace(_about(judged))
    if finding.run is not None:
        trace = finding.run.trace
        trace.failure = failure
        return trace
    until = finding.round if finding.verdict == "WRONG_RESULT" else None
    if finding.size:  # it broke off on real processes: of what the marks foretold, the rounds before
        until = None if finding.round is None else finding.round - 1
    return seen.trace(_about(judged), until=until, failure=failure)


def _about(judged):
    return {"algorithm": judged.name, "source": _source(judged.function)}


def _source(function):
    return function.source() if isinstance(function, LearnerFunction) else source.source_of(function)


def _ranks(numbers):
    return f"{listed(numbers)} rank{'' if list(numbers) == [1] else 's'}"
