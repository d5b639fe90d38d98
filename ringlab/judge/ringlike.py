"""The mistakes of a ring, found in code that sends round a ring.

In such code every rank sends to one neighbour and receives from the other, one chunk at a time. Each receive then adds
(A), replaces (C) or changes nothing (N), and a right ring reads AAACCC with four ranks: P-1 rounds add, P-1 copy.
"""

from collections import Counter
from math import gcd
from typing import NamedTuple


class Move(NamedTuple):
    """One receive of a rank and the send before it: which chunk was sent, came, was changed, and how (A, C, N, X)."""

    send: object
    recv: object
    sent: int | None
    came: int | None
    slot: int | None
    letter: str


class Mistake(NamedTuple):
    """A family of mistakes, the first step that shows it, what is seen there, and in which chunk."""

    family: str
    step: object = None
    text: str = ""
    chunk: int | None = None


def direction(seen):
    """By how many ranks every message goes on, or None when the code is no ring of single chunks."""
    ranks, turns = seen.ranks, set()
    for step in seen.steps:
        if len(step.parts) != 1:
            return None
        turns.add((step.peer - step.rank if step.kind == "send" else step.rank - step.peer) % ranks)
    return turns.pop() if len(turns) == 1 else None


def moves(seen, rank):
    """The Moves of one rank in program order."""
    found, send = [], None  # found: (send, recv, changes from then on)
    for step in seen.programs[rank]:
        if step.kind == "recv":
            found.append((send, step, list(step.changes)))
            send = None
        else:
            send = step
            if found:
                found[-1][2].extend(step.changes)
    return [_move(*move) for move in found]


def _move(send, recv, changes):
    came = recv.parts[0]
    slot, letter = None, "N"
    if changes:
        slot, before, after = changes[0][0], changes[0].before, changes[-1].after
        if any(change.slot != slot for change in changes) or after is None or before is None or came is None:
            slot, letter = None, "X"
        elif _counts(after) == _counts(came):
            letter = "C"
        elif _counts(after) == _counts(before) + _counts(came):
            letter = "A"
        else:
            letter = "X"
    return Move(send, recv, _number(send), _number(recv), slot, letter)


def _counts(held):
    return Counter((number, rank) for number, whose in held or () for rank in whose)


def _number(step):
    """Which chunk a message is: by the memory that was sent, else by what it holds; None when that is several."""
    if step is None:
        return None
    if len(step.lent) == 1:
        return step.lent[0]
    held = step.parts[0] or []
    return held[0][0] if len(held) == 1 else None


def mistake(seen, fault, what="allreduce"):
    """The Mistake of code that sends round a ring, or None when it is no ring or its mistake is another.

    fault: the Fault that shows at the end.  what: as in `check`; the halves of a ring are AAA and CCC.
    """
    ranks, turn = seen.ranks, direction(seen)
    if turn is None or ranks < 2:
        return None
    if turn not in (1, ranks - 1) or turn == 0:
        return _wrong_neighbour(seen, turn)
    rows = [moves(seen, rank) for rank in range(ranks)]
    programs = {"".join(move.letter for move in row) for row in rows}
    if len(programs) != 1 or not rows[0]:
        return None
    letters = programs.pop()
    wrong = _wrong_index(rows)
    if wrong is not None and turn == ranks - 1 and ranks > 2 and wrong.family in ("misplaced", "stale_send"):
        return wrong._replace(family="against")
    adds, copies = letters.count("A"), letters.count("C") + letters.count("N")
    if "X" in letters or not letters.lstrip("A").strip("CN") == "":
        return wrong
    if wrong is not None and wrong.family != "copies_incomplete":
        return wrong
    need, at_fault, last = ranks - 1, fault.step, rows[0][-1].recv
    if what == "all_gather":
        return Mistake("copies_too_short", last) if adds == 0 and copies < need else None
    if what == "reduce_scatter":
        if copies and not adds:
            return Mistake("overwrote_in_adding", at_fault)
        return Mistake("adds_too_short" if adds < need else "adds_too_long", last if adds < need else at_fault)
    if copies == 0 and adds >= 2 * need:
        return Mistake("added_in_copying" if adds == 2 * need else "adds_too_long", at_fault)
    if adds == 0:
        return Mistake("overwrote_in_adding" if copies >= 2 * need else "adding_missing", at_fault)
    if adds > need:
        return Mistake("adds_too_long", at_fault)
    if adds < need:
        return Mistake("adds_too_short", at_fault)
    if wrong is not None:
        return wrong
    if copies == 0:
        return Mistake("copying_missing", last)
    if copies < need:
        return Mistake("copies_too_short", last)
    return None


def _wrong_neighbour(seen, turn):
    step = next(step for step in seen.steps if step.kind == "send")
    loops = gcd(turn, seen.ranks)
    text = f"rank {step.rank} sends to rank {step.peer}"
    if loops > 1 and turn:
        text += f": {loops} rings that do not know of each other"
    return Mistake("wrong_neighbour", step, text)


def _wrong_index(rows):
    """The first move that does not send on what was just received, or puts it where it does not belong."""
    for k in range(max(len(row) for row in rows)):
        for row in rows:
            move = row[k]
            before = row[k - 1] if k else None
            if before is None or before.slot is None or move.sent is None or move.sent == before.slot:
                continue
            turning = before.letter == "A" and move.letter != "A"
            family = "copies_incomplete" if turning else "stale_send"
            rank = move.recv.rank
            text = f"rank {rank} sends c{move.sent}, and has just received c{before.slot}"
            return Mistake(family, move.send, text, move.sent)
        for row in rows:
            move = row[k]
            if move.slot is not None and move.came is not None and move.came != move.slot:
                does = "adds it to" if move.letter == "A" else "puts it into"
                text = f"rank {move.recv.rank} receives c{move.came} and {does} c{move.slot}"
                return Mistake("misplaced", move.recv, text, move.slot)
    return None
