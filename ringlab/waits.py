"""Who waits for whom: the wait-for graph, its cycles, and the sentences about them.

A rank is stuck when it waits for message k of a peer that has begun fewer than k sends to it (or, where sends wait,
for a peer that has begun fewer than k receives). "Everybody waits" is not enough: in a correct ring that is the
normal sight. Stuck ranks that form a cycle, or that wait for a rank which has finished, can never move again.
"""

from typing import NamedTuple

from .verdicts import Deadlock


class Wait(NamedTuple):
    """Rank `rank` waits for `peer`: to receive from it, or (`sending`) to be received by it."""

    rank: int
    peer: int
    sending: bool = False
    line: int = 0


def hopeless(waits, done):
    """The waits that can never end: a cycle (in order), or the one wait for a finished rank; () when there is none.

    waits: dict rank -> Wait of the stuck ranks.  done: the ranks that have finished.
    """
    for rank in sorted(waits):
        path, seen = [], set()
        while rank in waits and rank not in seen:
            seen.add(rank)
            path.append(waits[rank])
            rank = waits[rank].peer
        if rank in seen:
            start = next(i for i, wait in enumerate(path) if wait.rank == rank)
            return tuple(path[start:])
        if rank in done:
            return tuple(path[-1:])
    return ()


def describe(wait):
    """One wait in words.

    >>> describe(Wait(0, 3))
    '0 waits for 3'
    """
    return f"{wait.rank} waits for {wait.peer}" + (" to receive" if wait.sending else "")


def deadlock(waits, done, rounds=None, **fields):
    """A Deadlock verdict for the stuck `waits`, or None when they can still end.

    rounds: dict rank -> round in which it is stuck, where known.
    """
    found = hopeless(waits, done)
    if not found:
        return None
    first, rounds = found[0], rounds or {}
    if first.peer in done and first.peer not in waits:
        head = f"rank {first.peer} finished while rank {first.rank} still waits for it"
    else:
        shown = ", ".join(describe(wait) for wait in found[:8])
        more = f", ... ({len(found)} ranks in the cycle)" if len(found) > 8 else ""
        head = shown + more
    lines = {wait.line for wait in found} - {0}
    where = f"at line {lines.pop()} of the algorithm" if len(lines) == 1 else "at their source lines"
    tail = f"the same wait on every rank, {where}" if len(found) > 1 and not lines else ""
    if not tail and found[0].line:
        tail = "; ".join(f"rank {w.rank} at line {w.line}" for w in found[:4])
    lines_shown = [head] + ([tail] if tail else [])
    lines_shown.append("no rank of these can ever move, so the call was ended; your inputs are unchanged")
    return Deadlock(
        *lines_shown,
        cycle=[(wait.rank, wait.peer) for wait in found],
        rank=first.rank,
        peer=first.peer,
        round=rounds.get(first.rank),
        waiting=[(wait.rank, wait.peer, None) for wait in waits.values()],
        details=[f"rank {w.rank}: {describe(w)}, line {w.line}" for w in waits.values()],
        **fields,
    )
