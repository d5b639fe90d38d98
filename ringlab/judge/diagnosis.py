"""From an observation to a Finding: the first thing that a learner should hear about."""

from fractions import Fraction

from ..texts import listed, times
from . import endings, faults, ringlike
from .finding import Finding
from .seen import foreign, terms
from .words import symptom


def diagnose(seen, what="allreduce", shift=0):
    """The Finding of what the code does with marks, or None when all of it is right.

    what: "allreduce", "mean", "reduce_scatter" or "all_gather".  shift: of the chunks that an all-gather starts from.
    """
    if endings.not_written(seen):
        family = what if what in ("reduce_scatter", "all_gather") else "allreduce"
        return Finding("NOT_WRITTEN", f"not_written_{family}", "not written yet", where="Nothing is sent yet.")
    found = endings.unfinished(seen) or endings.returned_wrong(seen)
    if found is None:
        found = wrong_result(seen, what, shift)
    unread = endings.unread(seen)
    if found is None or (found.verdict == "WRONG_RESULT" and unread and unread.family == "left_early"):
        return unread
    return found


def wrong_result(seen, what, shift=0):
    """The Finding of a result that is not what `what` promises, or None."""
    if what == "reduce_scatter":
        return _wrong_ownership(seen)
    wrong = faults.wrong_slots(seen, what, shift)
    if not wrong:
        return None
    fault = faults.first_fault(seen, what, wrong, shift)
    return _uniform(seen, what, wrong, fault) or _by_fault(seen, what, shift, fault, wrong)


def _wrong_ownership(seen):
    if faults.ownership(seen) is not None:
        return None
    ranks = range(seen.ranks)
    owners = {chunk: [rank for rank in ranks if faults.complete(seen, rank, chunk)] for chunk in ranks}
    nowhere = [chunk for chunk, mine in owners.items() if not mine]
    if nowhere:
        wrong = [(rank, chunk) for chunk in nowhere for rank in ranks]
        fault = faults.first_fault(seen, "reduce_scatter", wrong)
        return _by_fault(seen, "reduce_scatter", 0, fault, wrong, f"c{nowhere[0]} is complete on no rank")
    rich = sorted({rank for mine in owners.values() for rank in mine})
    idle = next((rank for rank in ranks if rank not in rich), rich[0])
    text = f"rank {idle} owns no complete chunk of its own"
    where = f"Look at who owns a complete chunk at the end: {'ranks' if len(rich) > 1 else 'rank'} {listed(rich)} only."
    return Finding("WRONG_RESULT", "not_one_each", text, rank=idle, where=where)


def _uniform(seen, what, wrong, fault):
    """Findings about all chunks of all ranks at once: counted twice, mean for sum, in each other's places."""
    ranks = range(seen.ranks)
    weights = {tuple(seen.weights[rank][chunk]) for rank in ranks for chunk in ranks}
    where = f"Look at round {fault.round}: what is added there is complete already." if fault.kind == "twice" else ""
    where = where or "Look at any chunk of any rank at the end."
    common = {"rank": 0, "chunk": 0, "round": fault.round, "line": _line(fault.step), "where": where}
    pure = not any(foreign(seen.final[rank][chunk], chunk) for rank in ranks for chunk in ranks)
    if pure and len(weights) == 1 and len(set(mine := weights.pop())) == 1 and what != "all_gather":
        count = mine[0]
        if what == "mean" and count == 1:
            return Finding("WRONG_RESULT", "sum_not_mean", "every rank holds the sum, not the mean", **common)
        if what == "allreduce" and abs(count * seen.ranks - 1) < 1e-6:
            return Finding("WRONG_RESULT", "mean_not_sum", "every rank holds the mean, not the sum", **common)
        if count > 1 and isinstance(count, int):
            text = f"every gradient is counted {times(count)}, in every chunk of every rank"
            return Finding("WRONG_RESULT", "counted", text, **common)
        if count > 0:
            share = _share(count * seen.ranks if what == "mean" else count)
            text = f"every rank holds {share} of the {'mean' if what == 'mean' else 'sum'}"
            return Finding("WRONG_RESULT", "divided", text, **common)
    turns = {_turn(seen, rank, chunk) for rank in ranks for chunk in ranks}
    if what in ("allreduce", "mean") and len(turns) == 1 and None not in turns and seen.ranks > 1:
        text = f"every chunk is complete but in another's place: c0 holds what belongs into c{turns.pop()}"
        return Finding("WRONG_RESULT", "shifted", text, **common)
    return None


def _turn(seen, rank, chunk):
    """By how many places a chunk is shifted when it holds exactly another chunk's complete sum, else None."""
    held = seen.final[rank][chunk]
    if held is None or len(held) != 1 or held[0][0] == chunk or tuple(held[0][1]) != tuple(range(seen.ranks)):
        return None
    return (held[0][0] - chunk) % seen.ranks


def _by_fault(seen, what, shift, fault, wrong, text=None):
    """The Finding of one fault: in the words of the ring where it is one, else of any algorithm."""
    rank, round, chunk, step, extra = fault.rank, fault.round, fault.slot, fault.step, ""
    text = text or _agreeing(seen, what, wrong, fault) or _symptom(seen, what, fault)
    mistake = ringlike.mistake(seen, fault, what) if fault.kind != "scrambled" else None
    if mistake is not None:
        family, extra, step = mistake.family, mistake.text, mistake.step or step
        if extra and step is not None and (round is None or step.round < round):
            text = f"{extra}, in round {step.round}"
            rank, round, chunk = step.rank, step.round, mistake.chunk
    elif what == "all_gather":
        family = _gather_family(seen, shift, fault)
    elif fault.kind == "scrambled":
        family = _scrambled_family(seen, what, fault)
    elif forgot := _forgot_own(seen, wrong):
        family, text = "forgot_own", forgot
    elif fault.kind in ("never", "dropped") and (ignored := _ignored(seen, fault)):
        family, step = "ignored", ignored
        extra = f"rank {step.rank} receives rank {fault.whose}'s c{chunk} and does not keep it"
    else:
        family, extra = _never_family(seen, fault) if fault.kind == "never" else (fault.kind, "")
    line = _line(step) or endings.last_line(seen, rank)
    where = _where(step, fault, extra)
    return Finding("WRONG_RESULT", family, text, rank, round, chunk, line=line, where=where)


def _line(step):
    return step.line if step is not None else 0


def _where(step, fault, extra):
    """The first hint: which round, which rank, and what is seen there."""
    if step is not None:
        return f"Look at round {step.round} on rank {step.rank}" + (f": {extra}." if extra else ".")
    if fault.before:
        place = f"Look at rank {fault.rank} before its first message."
    else:
        place = f"Look at what c{fault.slot} on rank {fault.rank} holds after the last round."
    return f"{place} {extra[0].upper()}{extra[1:]}." if extra else place


def _symptom(seen, what, fault):
    """The headline of one fault."""
    if what == "all_gather" and fault.kind in ("never", "dropped"):
        when = "never gets to" if fault.kind == "never" else f"is overwritten in round {fault.round} on"
        return f"the complete c{fault.slot} {when} rank {fault.rank}"
    if fault.kind == "scrambled" and fault.after != ():
        weights = seen.weights[fault.rank][fault.slot]
        if 1 < seen.ranks <= 8 and any(weights) and max(map(abs, weights)) < 1000:
            shares = listed(_share(x) for x in weights)
            return f"in c{fault.slot} on rank {fault.rank} the gradients of ranks 0, 1, ... weigh {shares}"
    return symptom(fault)


def _share(number):
    """0.25 as '1/4'."""
    return str(Fraction(number).limit_denominator(1000))


def _agreeing(seen, what, wrong, fault):
    """The headline for replicas that are equal, and hold one gradient only in a chunk; None when they differ."""
    held = seen.final[0]
    if len(wrong) < seen.ranks**2 or any(mine != held for mine in seen.final):
        return None
    if not all(part is not None and len(part) == 1 and len(part[0][1]) == 1 for part in held):
        return None
    (number, (whose,)) = held[fault.slot][0]
    if what == "all_gather" or number != fault.slot:
        return None
    return f"all ranks agree, but on one gradient only: c{number} is rank {whose}'s own part everywhere"


def _forgot_own(seen, wrong):
    """The headline when every chunk lacks exactly one gradient, that of the rank that should have begun with it."""
    if len(wrong) != seen.ranks**2:
        return None
    lacking = {}
    for rank, chunk in wrong:
        weights = seen.weights[rank][chunk]
        missing = [other for other in range(seen.ranks) if not weights[other]]
        if len(missing) != 1 or any(x not in (0, 1) for x in weights) or foreign(seen.final[rank][chunk], chunk):
            return None
        lacking[rank, chunk] = missing[0]
    if all(missing == rank for (rank, _), missing in lacking.items()):
        return "every rank's sum lacks its own gradient"
    told = {
        (chunk, other) for step in seen.steps for part in step.parts for chunk, whose in part or () for other in whose
    }
    if any((chunk, missing) in told for (_, chunk), missing in lacking.items()):
        return None  # it went out and was lost elsewhere
    if len(set(lacking.values())) == 1:
        whose = next(iter(lacking.values()))
        return f"rank {whose}'s own gradient is missing from every chunk, on every rank"
    owners = [{lacking[rank, chunk] for rank in range(seen.ranks)} for chunk in range(seen.ranks)]
    if all(len(mine) == 1 for mine in owners) and len(set.union(*owners)) == seen.ranks:
        return f"each chunk lacks one gradient, on every rank: c0 that of rank {owners[0].pop()}"
    return None


def _ignored(seen, fault):
    """The first Step in which a rank received the missing gradient and never had it in its own chunk; or None."""
    has = {}  # rank -> whether the chunk ever held the gradient there
    for rank, mine in enumerate(seen.programs):
        held = [change.after for step in mine for change in step.changes if change.slot == fault.slot]
        has[rank] = rank == fault.whose or any(fault.whose in terms(after, fault.slot) for after in held)
    for step in seen.steps:
        came = step.kind == "recv" and any(fault.whose in terms(part, fault.slot) for part in step.parts)
        if came and not has[step.rank]:
            return step
    return None


def _never_family(seen, fault):
    """('no_way', 'too_early' or 'never', what is seen): why a gradient never came."""
    if _reaches(seen, fault.whose, fault.rank, in_time=True):
        return "never", ""
    if _reaches(seen, fault.whose, fault.rank, in_time=False):
        return "too_early", f"what rank {fault.rank} received was sent before anything of rank {fault.whose} was there"
    return "no_way", f"nothing that rank {fault.whose} sends ever gets to rank {fault.rank}"


def _reaches(seen, src, dst, in_time):
    """Whether a chain of messages leads from src to dst; `in_time`: each sent after the one before was received."""
    if not in_time:
        told, pairs = {src}, {(step.rank, step.peer) for step in seen.steps if step.kind == "send"}
        for _ in range(seen.ranks):
            told |= {to for start, to in pairs if start in told}
        return dst in told
    told, queues = {src}, {}  # queues: (src, dst) -> for each message on its way, whether its sender had been told
    for step in seen.causal:
        if step.kind == "send":
            queues.setdefault((step.rank, step.peer), []).append(step.rank in told)
        elif queues.get((step.peer, step.rank)) and queues[step.peer, step.rank].pop(0):
            told.add(step.rank)
    return dst in told


def _gather_family(seen, shift, fault):
    first = [next((step for step in mine if step.kind == "send"), None) for mine in seen.programs]
    starts = [step and step.parts[0] and step.parts[0][0][0] for step in first]
    if fault.kind in ("never", "dropped") and all(
        start is not None and start != (rank + 1 - shift) % seen.ranks for rank, start in enumerate(starts)
    ):
        return "wrong_start"
    return "mixed" if fault.kind in ("twice", "mixed") else fault.kind


def _scrambled_family(seen, what, fault):
    if fault.after == ():
        return "floor" if what == "mean" else "zeros"
    return "subtracted" if min(seen.weights[fault.rank][fault.slot]) < 0 else "weighed"
