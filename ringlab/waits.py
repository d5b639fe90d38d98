"""Who waits for whom: the wait-for graph, its cycles, and the sentences about them.

A rank is stuck when it waits for message k of a peer that has begun fewer than k sends to it (or, where sends wait,
for a peer that has begun fewer than k receives). "Everybody waits" is not enough: in a correct ring that is the
normal sight. Stuck ranks that form a cycle, or that wait for a rank which has finished, can never move again.
"""

from typing import NamedTuple

from .verdicts import Deadlock

SHOWN_WAITS = 8  # links of a cycle in the first line of a verdict
SHOWN_PLACES = 4  # ranks in its second line


class Wait(NamedTuple):
    """Rank `rank` waits for `peer`: to receive from it, or (`sending`) to be received by it.

    line, code: the source line at which it waits, and its text.  events: how many sends and receives it has completed.
    round: in which round it is. Each 0, "" or None where it is not known.
    """

    rank: int
    peer: int
    sending: bool = False
    line: int = 0
    events: int = 0
    round: int | None = None
    code: str = ""


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

    >>> describe(Wait(0, 3)), describe(Wait(0, 1, sending=True))
    ('0 waits for 3', '0 waits for 1 to receive')
    """
    return f"{wait.rank} waits for {wait.peer}" + (" to receive" if wait.sending else "")


def deadlock(waits, done, name="", shut=None, **fields):
    """A Deadlock verdict for the stuck `waits` (dict rank -> Wait), or None when they can still end.

    done: the ranks that have finished.  name: of the algorithm.  shut: (rank, why) of a rank whose message the network
    does not let through, if that is the reason.  fields: further ones of the verdict. The words depend on the waits
    alone, so they are the same for all sizes and on all wires.
    """
    found = (waits[shut[0]],) if shut else hopeless(waits, done)
    if not found:
        return None
    first = found[0]
    if shut:
        head = f"rank {first.rank} waits for {first.peer}, but {shut[1]}"
        tail = "no rank can move"
    elif first.peer in done:
        head = f"rank {first.peer} finished while rank {first.rank} still waits for it"
        head += " to receive" if first.sending else ""
        tail = f"rank {first.rank} can never move"
    else:
        head = ", ".join(describe(wait) for wait in found[:SHOWN_WAITS])
        head += f", ... ({len(found)} ranks in the cycle)" if len(found) > SHOWN_WAITS else ""
        tail = "none of them can ever move" if len(found) > 1 else f"rank {first.rank} can never move"
    place = places(found, name)
    everybody = [waits[rank] for rank in sorted(waits)]
    return Deadlock(
        head,
        *([place] if place else []),
        f"{tail}, so the call was ended; your inputs are unchanged",
        cycle=[(wait.rank, wait.peer) for wait in found],
        waits=everybody,
        done=done,
        shut=shut,
        rank=first.rank,
        peer=first.peer,
        round=first.round,
        waiting=[(wait.rank, wait.peer, None) for wait in everybody],
        details=[f"{describe(wait)}{_at(wait)}" for wait in everybody],
        **fields,
    )


def places(found, name=""):
    """Where the ranks wait, in words: one place when it is the same for all, else the first few; '' when unknown.

    >>> places([Wait(0, 1, line=3, round=0), Wait(1, 0, line=3, round=0, code="x = recv(1)")], "mine")
    'each of them at line 3 in mine, round 0'
    """
    if not any(wait.line for wait in found):
        return ""
    if len({(wait.line, wait.round) for wait in found}) == 1:
        who = "each of them" if len(found) > 1 else f"rank {found[0].rank}"
        return f"{who}{_at(found[0], name)}"
    where = f"in {name}: " if name else ""
    known = [
        f"rank {wait.rank} at line {wait.line}" + ("" if wait.round is None else f" in round {wait.round}")
        for wait in found[:SHOWN_PLACES]
    ]
    more = len(found) - SHOWN_PLACES
    return where + ", ".join(known) + (f", and {more} more" if more > 0 else "")


def _at(wait, name=""):
    """' at line 3 in mine, round 0: x = recv(1)', as far as it is known."""
    if not wait.line:
        return ""
    text = f" at line {wait.line}" + (f" in {name}" if name else "")
    text += "" if wait.round is None else f", round {wait.round}"
    return text + (f": {wait.code}" if wait.code else "")
