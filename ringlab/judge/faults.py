"""What is wrong at the end, and the first step that made it so: whose gradient, in which chunk, where, since when.

This knows no ring: it follows whose gradients a chunk holds, from step to step, for any code that adds and copies.
"""

from typing import NamedTuple

from .seen import Step, foreign, terms


class Fault(NamedTuple):
    """A step after which a chunk holds what it should not.

    kind: "twice" (rank `whose` counted again), "dropped" (rank `whose` was in it and is no longer), "foreign" (it holds
    parts of chunk `whose`), "scrambled" (no sum of gradients any more), "never" (rank `whose` never came), "mixed" (in
    an all-gather, rank `whose` beside what was complete).  step: the Step, None before the first call.
    """

    kind: str
    rank: int
    slot: int
    whose: int | None
    step: Step | None = None
    times: int = 0
    before: tuple | None = None
    after: tuple | None = None

    @property
    def round(self):
        """The round since when it is so; None when it was so from the start, or always."""
        return self.step.round if self.step is not None else None


def target(what, rank, chunk, ranks, shift=0):
    """The weight that each rank must have in `chunk` on `rank` at the end: a list of `ranks` numbers."""
    if what == "all_gather":
        owner = (chunk - 1 + shift) % ranks
        return [int(other == owner) for other in range(ranks)]
    return [1 / ranks if what == "mean" else 1] * ranks


def wrong_slots(seen, what, shift=0):
    """The (rank, chunk) pairs whose weights at the end are not the target, or that hold parts of other chunks."""
    wrong = []
    for rank in range(seen.ranks):
        for chunk in range(seen.ranks):
            right = target(what, rank, chunk, seen.ranks, shift)
            mine = seen.weights[rank][chunk]
            if any(abs(a - b) > 1e-6 for a, b in zip(mine, right)) or foreign(seen.final[rank][chunk], chunk):
                wrong.append((rank, chunk))
    return wrong


def ownership(seen):
    """For a reduce-scatter: dict rank -> the complete chunk it owns, one to one; None when there is no such choice."""
    whole = [[chunk for chunk in range(seen.ranks) if complete(seen, rank, chunk)] for rank in range(seen.ranks)]
    owner = {}  # chunk -> rank

    def place(rank, tried):
        for chunk in whole[rank]:
            if chunk not in tried:
                tried.add(chunk)
                if chunk not in owner or place(owner[chunk], tried):
                    owner[chunk] = rank
                    return True
        return False

    # the ring's own chunk first, so that an all-reduce is read like a ring
    for rank, mine in enumerate(whole):
        mine.sort(key=lambda chunk: (chunk - rank - 1) % seen.ranks)
    if not all(place(rank, set()) for rank in range(seen.ranks)):
        return None
    return {rank: chunk for chunk, rank in owner.items()}


def complete(seen, rank, chunk):
    """Whether a rank's chunk holds every gradient once, at the end, and nothing else."""
    return all(abs(x - 1) < 1e-6 for x in seen.weights[rank][chunk]) and not foreign(seen.final[rank][chunk], chunk)


def first_fault(seen, what, wrong, shift=0):
    """The Fault to tell a learner about: the earliest step that still shows in `wrong`, or what never came."""
    relevant = [fault for fault in faults(seen, what, shift) if _shows(fault, seen, wrong)]
    if relevant:
        return relevant[0]
    rank, chunk = wrong[0]
    weights, right = seen.weights[rank][chunk], target(what, rank, chunk, seen.ranks, shift)
    missing = [other for other in range(seen.ranks) if right[other] and not weights[other]]
    extra = [other for other in range(seen.ranks) if weights[other] and not right[other]]
    if missing:
        return Fault("never", rank, chunk, missing[0], after=seen.final[rank][chunk])
    if extra:
        return Fault("mixed", rank, chunk, extra[0], after=seen.final[rank][chunk])
    return Fault("scrambled", rank, chunk, None, after=seen.final[rank][chunk])


def faults(seen, what="allreduce", shift=0):
    """All Faults in order of (round, rank): changes that no sum of each gradient once needs."""
    for rank, changes in enumerate(seen.opening):
        for change in changes:
            yield from _faults_of(seen, what, shift, rank, None, change)
    for step in seen.steps:
        for change in step.changes:
            yield from _faults_of(seen, what, shift, step.rank, step, change)


def _faults_of(seen, what, shift, rank, step, change):
    slot, before, after = change
    if after is None or (after == () and before):
        yield Fault("scrambled", rank, slot, None, step, before=before, after=after)
        return
    for other in foreign(after, slot):
        if other not in foreign(before, slot):
            yield Fault("foreign", rank, slot, other, step, before=before, after=after)
    mine, now = terms(before, slot), terms(after, slot)
    if what == "all_gather":
        owner = (slot - 1 + shift) % seen.ranks
        for other in sorted(set(now) - {owner}) if owner in now else ():
            if not (owner in mine and other in mine):
                yield Fault("mixed", rank, slot, other, step, before=before, after=after)
        if owner in mine and owner not in now:
            yield Fault("dropped", rank, slot, owner, step, before=before, after=after)
        if now.count(owner) > max(1, mine.count(owner)):
            yield Fault("twice", rank, slot, owner, step, now.count(owner), before=before, after=after)
        return
    for other in sorted(set(now)):
        if now.count(other) > max(1, mine.count(other)):
            yield Fault("twice", rank, slot, other, step, now.count(other), before=before, after=after)
    for other in sorted(set(mine) - set(now)):
        yield Fault("dropped", rank, slot, other, step, before=before, after=after)


def _shows(fault, seen, wrong):
    """Whether this fault is still in one of the wrong chunks at the end."""
    for rank, chunk in wrong:
        held = seen.final[rank][chunk]
        if fault.kind == "foreign":
            if fault.whose in foreign(held, chunk):
                return True
        elif chunk != fault.slot:
            continue
        elif fault.kind == "twice":
            if seen.weights[rank][chunk][fault.whose] > 1:
                return True
        elif fault.kind == "dropped":
            if not seen.weights[rank][chunk][fault.whose]:
                return True
        elif fault.kind == "mixed":
            if seen.weights[rank][chunk][fault.whose]:
                return True
        elif held is None or not held:
            return True
    return False
