"""From an observation to a Finding: the first thing that a learner should hear about."""

from . import endings, faults, ringlike
from .finding import Finding
from .seen import foreign
from .words import plural, symptom, times


def diagnose(seen, what="allreduce", shift=0):
    """The Finding of what the code does with marks, or None when all of it is right.

    what: "allreduce", "mean", "reduce_scatter" or "all_gather".  shift: of the chunks that an all-gather starts from.
    """
    if endings.not_written(seen):
        return Finding("NOT_WRITTEN", "not_written", "not written yet", where="Nothing is sent yet.")
    found = endings.unfinished(seen) or endings.returned_wrong(seen)
    if found is None:
        found = wrong_result(seen, what, shift)
    unread = endings.unread(seen)
    if found is None or (found.family in ("never", "dropped") and unread and unread.family == "left_early"):
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
    finding = _uniform(seen, what, wrong, fault)
    if finding is None:
        finding = _by_fault(seen, what, fault, wrong)
    return finding


def _wrong_ownership(seen):
    if faults.ownership(seen) is not None:
        return None
    complete = {
        chunk: [rank for rank in range(seen.ranks) if faults.complete(seen, rank, chunk)] for chunk in range(seen.ranks)
    }
    nowhere = [chunk for chunk, owners in complete.items() if not owners]
    if nowhere:
        wrong = [(rank, chunk) for chunk in nowhere for rank in range(seen.ranks)]
        fault = faults.first_fault(seen, "reduce_scatter", wrong)
        return _by_fault(seen, "reduce_scatter", fault, wrong, f"c{nowhere[0]} is complete on no rank")
    owners = sorted({rank for mine in complete.values() for rank in mine})
    idle = next((rank for rank in range(seen.ranks) if rank not in owners), owners[0])
    text = f"rank {idle} owns no complete chunk, while rank {owners[0]} owns several"
    where = f"Look at what each rank holds at the end: {plural(len(owners), 'rank')} of {seen.ranks} own something."
    return Finding("WRONG_RESULT", "not_one_each", text, rank=idle, where=where)


def _uniform(seen, what, wrong, fault):
    """Findings about all chunks of all ranks at once: counted twice, mean for sum, in each other's places."""
    ranks, everywhere = range(seen.ranks), len(wrong) == seen.ranks**2
    weights = {tuple(seen.weights[rank][chunk]) for rank in ranks for chunk in ranks}
    where = "Look at any chunk of any rank at the end."
    common = {"rank": 0, "chunk": 0, "round": fault.round, "line": _line(fault), "where": where}
    pure = not any(foreign(seen.final[rank][chunk], chunk) for rank in ranks for chunk in ranks)
    if everywhere and pure and len(weights) == 1 and len(set(mine := weights.pop())) == 1:
        count = mine[0]
        share = 1 / seen.ranks
        if what == "mean" and count == 1:
            return Finding("WRONG_RESULT", "sum_not_mean", "every rank holds the sum, not the mean", **common)
        if what == "allreduce" and abs(count - share) < 1e-6:
            return Finding("WRONG_RESULT", "mean_not_sum", "every rank holds the mean, not the sum", **common)
        if what == "mean" and count:
            text = f"every rank holds {count * seen.ranks:.4g} times the mean"
            return Finding("WRONG_RESULT", "weighed", text, **common)
        if isinstance(count, int) and count > 1:
            text = f"every gradient is counted {times(count)}, in every chunk of every rank"
            return Finding("WRONG_RESULT", "counted", text, **common)
    turns = {_turn(seen, rank, chunk) for rank in ranks for chunk in ranks}
    if what in ("allreduce", "mean") and len(turns) == 1 and None not in turns and seen.ranks > 1:
        turn = turns.pop()
        text = f"every chunk is complete but in the wrong place: c0 holds what belongs into c{turn}"
        return Finding("WRONG_RESULT", "shifted", text, **common)
    return None


def _turn(seen, rank, chunk):
    """By how many places a chunk is shifted when it holds exactly another chunk's complete sum, else None."""
    held = seen.final[rank][chunk]
    if held is None or len(held) != 1 or held[0][0] == chunk or tuple(held[0][1]) != tuple(range(seen.ranks)):
        return None
    return (held[0][0] - chunk) % seen.ranks


def _by_fault(seen, what, fault, wrong, text=None):
    """The Finding of one fault: in the words of the ring where it is one, else of any algorithm."""
    mistake = ringlike.mistake(seen, fault) if what in ("allreduce", "mean") else None
    family, extra = fault.kind, ""
    text = text or _agreeing(seen, wrong) or symptom(fault)
    if mistake is not None:
        family, extra = mistake.family, mistake.text
    elif what == "all_gather":
        family = _gather_family(seen, fault)
    elif fault.kind == "scrambled":
        family = _scrambled_family(seen, what, fault)
    else:
        forgot = _forgot_own(seen, wrong)
        if forgot:
            family, text = "forgot_own", forgot
        elif fault.kind == "never" and not _reaches(seen, fault.whose, fault.rank):
            family, extra = "no_way", f"nothing that rank {fault.whose} sends ever reaches rank {fault.rank}"
    step = mistake.step if mistake is not None and mistake.step is not None else fault.step
    where = _where(seen, step, fault, extra)
    line = step.line if step is not None else endings.last_line(seen, fault.rank)
    return Finding(
        "WRONG_RESULT",
        family,
        text,
        rank=fault.rank,
        round=fault.round,
        chunk=fault.slot,
        line=line,
        where=where,
    )


def _where(seen, step, fault, extra):
    """The first hint: which round, which rank, and what is seen there."""
    if step is None:
        place = f"Look at rank {fault.rank} before its first message." if fault.before else "Look at the end"
        if not fault.before:
            place = f"Look at what c{fault.slot} on rank {fault.rank} holds after the last round."
        return place if not extra else f"{place} {extra[0].upper()}{extra[1:]}."
    place = f"Look at round {step.round} on rank {step.rank}"
    return f"{place}: {extra}." if extra else f"{place}."


def _agreeing(seen, wrong):
    """The headline for replicas that are equal, and hold one gradient only in a chunk; None when they differ."""
    if len(wrong) < seen.ranks**2 or any(mine != seen.final[0] for mine in seen.final):
        return None
    held = seen.final[0]
    if not all(part is not None and len(part) == 1 and len(part[0][1]) == 1 for part in held):
        return None
    return f"all ranks agree, and c0 is rank {held[0][0][1][0]}'s own part on every one: nothing was summed up"


def _forgot_own(seen, wrong):
    """The headline when every wrong chunk lacks exactly one gradient, that of the rank that should have begun with it."""
    lacking = {}
    for rank, chunk in wrong:
        weights = seen.weights[rank][chunk]
        missing = [other for other in range(seen.ranks) if not weights[other]]
        if len(missing) != 1 or any(x not in (0, 1) for x in weights):
            return None
        lacking[rank, chunk] = missing[0]
    if len(wrong) != seen.ranks**2:
        return None
    if all(missing == rank for (rank, _), missing in lacking.items()):
        return "every rank's sum lacks its own gradient"
    if len(set(lacking.values())) == 1:
        whose = next(iter(lacking.values()))
        return f"rank {whose}'s own gradient is missing from every chunk, on every rank"
    owners = {chunk: {lacking[rank, chunk] for rank in range(seen.ranks)} for chunk in range(seen.ranks)}
    if all(len(mine) == 1 for mine in owners.values()) and len(set.union(*owners.values())) == seen.ranks:
        return "each chunk lacks one gradient, on every rank: c0 that of rank " + str(owners[0].pop())
    return None


def _reaches(seen, src, dst):
    """Whether some chain of messages, each sent after the one before was received, leads from src to dst."""
    told, queues = {src}, {}  # queues: (src, dst) -> for each message on its way, whether its sender had been told
    for step in seen.causal:
        if step.kind == "send":
            queues.setdefault((step.rank, step.peer), []).append(step.rank in told)
        elif queues.get((step.peer, step.rank)):
            if queues[step.peer, step.rank].pop(0):
                told.add(step.rank)
    return dst in told


def _gather_family(seen, fault):
    if fault.kind != "never":
        return "mixed" if fault.kind in ("twice", "mixed") else fault.kind
    ranks = range(seen.ranks)
    if all(tuple(seen.final[rank][chunk] or ()) == ((chunk, (chunk,)),) for rank in ranks for chunk in ranks):
        return "wrong_start"
    starts = [next((s for s in mine if s.kind == "send"), None) for mine in seen.programs]
    stale = [s for s in starts if s is not None and s.parts[0] and s.parts[0][0][0] != (s.rank + 1) % seen.ranks]
    return "wrong_start" if len(stale) == seen.ranks else "never"


def _scrambled_family(seen, what, fault):
    if fault.after == ():
        return "floor"
    weights = seen.weights[fault.rank][fault.slot]
    return "weighed" if len({round(x, 6) for x in weights}) > 1 else "scrambled"


def _line(fault):
    return fault.step.line if fault.step is not None else 0
