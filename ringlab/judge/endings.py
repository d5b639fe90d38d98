"""Code that did not get to the end of an all-reduce: not written, raised, blocked, returned early or something else."""

import re

from ..hygiene import LIBRARIES
from ..texts import listed, plural
from ..waits import Wait, deadlock
from .finding import Finding

OPEN_BLANK = ("Ellipsis", "ellipsis")
FRAME = re.compile(r'File "(.*)", line (\d+), in (.*)')


def unfinished(seen):
    """The Finding of code that has nothing written yet, raised, exited, went on for ever, or was blocked; or None."""
    ended = seen.ended
    if ended is None:
        return None
    if ended["kind"] == "deadlock":
        return _blocked(seen)
    return _raised(seen)


def not_written(seen):
    """Whether this is a stub: it sends nothing, changes nothing and returns its chunks or nothing."""
    if seen.ranks == 1 or not seen.silent or not seen.untouched:
        return False
    if seen.ended is not None:
        return seen.ended.get("type") == "NotImplementedError"
    return all(what in ("chunks", "None", "a ellipsis", "a NotImplementedType") for what in seen.returned) or (
        seen.final[0] is not None and all(seen.weights[0][c] == [1] + [0] * (seen.ranks - 1) for c in range(seen.ranks))
    )


def returned_wrong(seen):
    """The Finding of code that returned no chunks on some rank, or None."""
    for rank, part in enumerate(seen.final):
        if part is None:
            what = seen.returned[rank]
            family = "generator" if what in ("a generator", "a coroutine", "a async_generator") else "returned"
            return Finding(
                "WRONG_RESULT",
                family,
                f"rank {rank} returns {what}, not its chunks",
                rank=rank,
                line=last_line(seen, rank),
                where=f"Look at what the function returns on rank {rank}.",
                fill={"returned": what},
            )
    return None


def unread(seen):
    """The Finding of messages that nobody received, or None."""
    if not seen.unread:
        return None
    (src, dst), count = next(iter(seen.unread.items()))
    sends = [step for step in seen.programs[src] if step.kind == "send" and step.peer == dst]
    took = len(sends) - count
    step = sends[took]
    everybody = {dst for _, dst in seen.unread} == set(range(seen.ranks))
    shorter = len(seen.programs[dst]) < max(len(mine) for mine in seen.programs)
    taken = f"took {took}" if took else "took none"
    return Finding(
        "UNREAD",
        "left_early" if shorter and not everybody else "unread",
        f"rank {src} sent {plural(len(sends), 'message')} to rank {dst}, which {taken}",
        rank=dst,
        round=step.round,
        line=step.line,
        where=f"Look at what rank {src} sends in round {step.round}.",
    )


def last_line(seen, rank):
    """Line of the last call that a rank made; 0 when it made none."""
    return seen.programs[rank][-1].line if seen.programs[rank] else 0


def round_of(seen, rank):
    """The round in which a rank is after its last event."""
    if not seen.programs[rank]:
        return 0
    last = seen.programs[rank][-1]
    return last.round + (last.kind == "recv")


def _raised(seen):
    ended = seen.ended
    rank, frames = ended["rank"], own_frames(ended["traceback"])
    line = frames[-1][1] if frames else 0
    place = f"in round {round_of(seen, rank)}"
    where = f"Rank {rank} stops {place}."
    common = {"rank": rank, "round": round_of(seen, rank), "line": line, "where": where}
    if ended["kind"] == "exit":
        return Finding("EXITED", "exited", f"{place} rank {rank} left with exit code {ended['code']}", **common)
    if ended["kind"] == "endless":
        common["line"] = last_line(seen, rank)
        return Finding("STALL", "endless", f"rank {rank} sends and receives without end", **common)
    text = ended["text"].splitlines()[0][:160] if ended["text"] else ""
    error = f"{ended['type']}: {text}" if text else ended["type"]
    if _is_blank(ended):
        return Finding("NOT_WRITTEN", "blank", "a blank is still open", **common)
    fill = {"error": error, "mend": mend(ended["type"], text)}
    text = f"{place} rank {rank} raised {error}"
    return Finding("EXCEPTION", "raised", text, fill=fill, frames=frames, details=tuple(ended["traceback"]), **common)


def own_frames(traceback):
    """(file, line, function) of the learner's own frames in a formatted traceback, libraries left out."""
    found = [FRAME.search(text) for text in traceback]
    frames = [(match[1], int(match[2]), match[3]) for match in found if match]
    return tuple(frame for frame in frames if not frame[0].startswith(LIBRARIES))


def _is_blank(ended):
    """Whether the error is a `___` or a `...` where a number of a chunk should stand."""
    text = ended["text"]
    if ended["type"] == "NameError":
        name = text.split("'")[1] if text.count("'") >= 2 else ""
        return bool(name) and not name.strip("_")
    return ended["type"] in ("TypeError", "IndexError") and any(word in text for word in OPEN_BLANK)


def mend(kind, text):
    """How to mend code that raised: what this kind of error mostly comes from."""
    if kind == "IndexError":
        return "Chunks have the numbers 0 to P-1: take the number % p."
    if kind == "ValueError" and "ranks are 0 to" in text:
        return "Ranks have the numbers 0 to P-1: take the number % p, or leave out a rank that is not there."
    if kind in ("NameError", "UnboundLocalError"):
        return "Is that name spelt right? If it is, give it a value before this line, or in a cell before this one."
    if kind == "MemoryError":
        return "Look for an array that grows without need."
    if kind == "RecursionError":
        return "The function calls itself without end."
    return "Run it with rl.run: the error then comes with all its lines in err.full()."


def _blocked(seen):
    """The Finding of a deadlock: who waits for whom, and what kind of mistake makes them."""
    cycle = seen.ended["cycle"]
    first, peer = cycle[0]
    sent = _sent_to(seen, peer, first)
    lying = [src for src, dst in seen.unread if dst == first and src != peer]
    elsewhere = [dst for src, dst in seen.unread if src == peer and dst != first]
    if first == peer:
        family, text = "waits_for_itself", f"rank {first} waits for a message from itself"
    elif peer in seen.finished:
        family = "peer_finished"
        after = f" after sending {plural(sent, 'message')} to it" if sent else ""
        text = f"rank {first} waits for a message from rank {peer}, which has returned{after}"
    else:
        text = f"deadlock, {in_a_circle(cycle)}"
        if lying:
            family = "waits_for_another"
        elif elsewhere:
            family = "sent_elsewhere"
        elif all(_sent_to(seen, src, dst) == 0 for dst, src in cycle):
            family = "nobody_sends"
        else:
            family = "one_receive_too_many"
    waits = {
        rank: Wait(rank, pending[0], False, pending[1], len(seen.programs[rank]), round_of(seen, rank))
        for rank, pending in enumerate(seen.pending)
        if pending
    }
    round = max(waits[rank].round for rank, _ in cycle)
    where = f"Rank {first} is left waiting for {f'rank {peer}' if first != peer else 'itself'} in round {round}."
    if family == "waits_for_another":
        where += f" A message from rank {listed(lying)} to it lies unread."
    if family == "sent_elsewhere":
        where += f" Rank {peer} has sent to rank {listed(elsewhere)}, where it lies unread."
    return Finding(
        "DEADLOCK",
        family,
        text,
        rank=first,
        round=round,
        line=seen.pending[first][1],
        where=where,
        waiting=tuple((rank, pending[0], None) for rank, pending in enumerate(seen.pending) if pending),
        error=deadlock(waits, seen.finished),
    )


def in_a_circle(cycle, shown=8):
    """'rank 0 waits for rank 1, 1 for 2, 2 for 0'.

    >>> in_a_circle([(0, 1), (1, 0)])
    'rank 0 waits for rank 1, 1 for 0'
    """
    (first, peer), *others = cycle[:shown]
    words = [f"rank {first} waits for rank {peer}", *(f"{rank} for {after}" for rank, after in others)]
    return ", ".join(words) + (", and so on" if len(cycle) > shown else "")


def _sent_to(seen, src, dst):
    return sum(step.kind == "send" and step.peer == dst for step in seen.programs[src])
