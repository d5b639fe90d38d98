"""Code that did not get to its end as an all-reduce does: not written, raised, blocked, left early, returned something else."""

from ..waits import Wait, describe
from .finding import Finding
from .words import listed, plural

OPEN_BLANK = ("Ellipsis", "ellipsis")


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
    rank, line = ended["rank"], ended["line"]
    place = f" in round {round_of(seen, rank)}"
    where = f"Rank {rank} stops there{place}."
    common = {"rank": rank, "round": round_of(seen, rank), "line": line, "where": where}
    if ended["kind"] == "exit":
        return Finding("EXITED", "exited", f"rank {rank} left with exit code {ended['code']}{place}", **common)
    if ended["kind"] == "endless":
        common["line"] = last_line(seen, rank)
        return Finding("STALL", "endless", f"rank {rank} sends and receives without end", **common)
    text = ended["text"].splitlines()[0][:160] if ended["text"] else ""
    error = f"{ended['type']}: {text}" if text else ended["type"]
    if _is_blank(ended):
        return Finding("NOT_WRITTEN", "blank", "a blank is still open", **common)
    mend = _mend(ended["type"], text)
    lines = tuple(entry for block in ended["traceback"][-3:] for entry in block.splitlines())
    fill = {"error": error, "mend": mend}
    return Finding("EXCEPTION", "raised", f"rank {rank} raised {error}{place}", fill=fill, lines=lines, **common)


def _is_blank(ended):
    """Whether the error is a `___` or a `...` where a number of a chunk should stand."""
    text = ended["text"]
    if ended["type"] == "NameError":
        name = text.split("'")[1] if text.count("'") >= 2 else ""
        return bool(name) and not name.strip("_")
    return ended["type"] in ("TypeError", "IndexError") and any(word in text for word in OPEN_BLANK)


def _mend(kind, text):
    if kind == "IndexError":
        return "Chunks have the numbers 0 to P-1: take the number % p."
    if kind == "ValueError" and "ranks are 0 to" in text:
        return "Ranks have the numbers 0 to P-1: the next one is (rank + 1) % p, the one before (rank - 1) % p."
    if kind in ("NameError", "UnboundLocalError"):
        return "Define that name inside the function, or hand it in."
    if kind == "MemoryError":
        return "Look for an array that grows without need."
    if kind == "RecursionError":
        return "The function calls itself without end."
    return "Run it with rl.run: the error then comes with all its lines in err.full()."


def _blocked(seen):
    """The Finding of a deadlock: who waits for whom, and what kind of mistake makes them."""
    cycle = seen.ended["cycle"]
    waits = {rank: Wait(rank, pending[0], False, pending[1]) for rank, pending in enumerate(seen.pending) if pending}
    first, peer = cycle[0]
    sent = [step for step in seen.programs[peer] if step.kind == "send" and step.peer == first]
    asked = 1 + sum(step.kind == "recv" and step.peer == peer for step in seen.programs[first])
    if peer in seen.finished:
        family = "peer_finished"
        text = f"rank {first} waits for message {asked} from rank {peer}, which has returned after sending {len(sent)}"
    else:
        shown = ", ".join(describe(waits[rank]) for rank, _ in cycle[:8])
        text = f"deadlock: {shown}{', and so on' if len(cycle) > 8 else ''}"
        lying = [src for src, dst in seen.unread if dst == first and src != peer]
        if lying:
            family = "waits_for_another"
        elif all(_sent_to(seen, p, r) == 0 for r, p in cycle):
            family = "nobody_sends"
        else:
            family = "one_receive_too_many"
    lines = _lines_of(waits, cycle)
    round = max(round_of(seen, rank) for rank, _ in cycle)
    where = f"Rank {first} is left waiting for rank {peer} in round {round}."
    if family == "waits_for_another":
        where += f" A message from rank {listed(lying)} to it lies unread."
    return Finding(
        "DEADLOCK",
        family,
        text,
        rank=first,
        round=round,
        line=waits[first].line,
        where=where,
        waiting=tuple((wait.rank, wait.peer, None) for wait in waits.values()),
        lines=lines,
    )


def _sent_to(seen, src, dst):
    return sum(step.kind == "send" and step.peer == dst for step in seen.programs[src])


def _lines_of(waits, cycle):
    """'all of them at line 4' or '' ; the learner's lines, which the verdict shows with their source."""
    lines = sorted({waits[rank].line for rank, _ in cycle if rank in waits} - {0})
    if not lines:
        return ()
    if len(lines) == 1:
        return (f"{'all of them are' if len(cycle) > 1 else 'it is'} at line {lines[0]}",)
    return (f"they are at lines {listed(lines)}",)
