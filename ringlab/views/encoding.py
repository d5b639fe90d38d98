"""The trace as plain data for the player: messages, and what each changed on its receiver."""

import math

DRAWN = 64  # ranks; beyond them only counters are shown
PHASE_LETTERS = {"adding": "a", "copying": "c", "mixed": "m"}  # anything else: "v", moving


def encode(trace, times=False):
    """The data that `mountRing` of player.js reads.

    Sets of ranks are written once, as "0-2,5x2" (ranks 0 to 2 once, rank 5 twice), and referred to by number.
    A message is [src, dst, round, chunks, terms, nbytes, line, landing, times]; its landing (None: never taken) is
    [round, place in the receiver's program, line, changes].
    """
    written = {}

    def number(terms):
        return written.setdefault(_terms_text(terms), len(written))

    if trace.ranks > DRAWN:
        return _counters(trace)
    initial = [number(terms) for rank in trace.initial for terms in rank] if trace.provenance else None
    moves, edits = _pair_messages(trace, number, times)
    return {
        "name": str(trace.algorithm),
        "P": trace.ranks,
        "C": trace.nchunks,
        "R": trace.rounds,
        "op": trace.op,
        "phases": "".join(PHASE_LETTERS.get(trace.phase(k), "v") for k in range(trace.rounds)),
        "init": initial,
        "moves": moves,
        "edits": edits,
        "values": _values(trace.values),
        "buffer": _buffer_bytes(trace),
        "source": trace.source and [list(line) for line in trace.source],
        "failure": _failure(trace.failure),
        "terms": list(written),
    }


def _counters(trace):
    """The data of a run with more ranks than can be drawn: how much was sent, and nothing else."""
    sends = [event.nbytes for event in trace.events if event.kind == "send"]
    nothing = dict.fromkeys(("init", "values", "source", "failure"))
    empty = {name: [] for name in ("moves", "edits", "terms")}
    about = {"name": str(trace.algorithm), "P": trace.ranks, "C": trace.nchunks, "R": 0, "op": trace.op, "phases": ""}
    return {**about, **nothing, **empty, "counters": [trace.rounds, len(sends), sum(sends)]}


def _terms_text(terms):
    """(0, 1, 2, 5, 5) -> "0-2,5x2"."""
    counts = {}
    for rank in terms:
        counts[rank] = counts.get(rank, 0) + 1
    parts = []  # (first, last, count)
    for rank in sorted(counts):
        if parts and counts[rank] == 1 == parts[-1][2] and parts[-1][1] == rank - 1:
            parts[-1][1] = rank
        else:
            parts.append([rank, rank, counts[rank]])
    return ",".join(
        f"{first}x{count}" if count > 1 else f"{first}-{last}" if last > first else f"{first}"
        for first, last, count in parts
    )


def in_program_order(trace, rank):
    """(round, place, event, changes) of a rank: when its program had taken what it received, and its place there.

    A rank takes its messages in program order, so one that arrived early counts in the round of the one before it.
    """
    landed = 0
    for place, (event, changes) in enumerate(trace.by_rank(rank)):
        if event.kind == "recv":
            landed = max(landed, event.round)
        yield landed, place, event, changes if trace.provenance else ()


def _pair_messages(trace, number, times):
    """The messages of a trace, and changes that belong to no landing: (round, rank, chunk, terms)."""
    origin = min((event.start for event in trace.events), default=0.0)

    def micros(seconds):
        return max(0, round((seconds - origin) * 1e6))

    arrivals, edits = {}, []  # (src, dst) -> receives in order
    for rank in range(trace.ranks):
        for landed, place, event, changes in in_program_order(trace, rank):
            changed = [[chunk, number(terms)] for chunk, terms in changes]
            if event.kind == "recv":
                landing = [landed, place, event.line, changed]
                arrivals.setdefault((event.peer, rank), []).append((event, landing))
            else:
                edits += [[landed, rank, chunk, terms] for chunk, terms in changed]

    def message(src, dst, line, event, landing, received):
        terms = None if event.terms is None else [number(terms) for terms in event.terms]
        move = [src, dst, event.round, list(event.chunks or ()), terms, event.nbytes, line, landing]
        if times:
            taken = [None, None] if received is None else [micros(received.start), micros(received.end)]
            move.append([micros(event.start), micros(event.end), *taken])
        return move

    moves: list[list] = []
    for event in trace.events:
        if event.kind == "send":
            waiting = arrivals.get((event.rank, event.peer))
            received, landing = waiting.pop(0) if waiting else (None, None)
            moves.append(message(event.rank, event.peer, event.line, event, landing, received))
    # What a killed rank sent may be known only from its receiver.
    for (src, dst), rest in arrivals.items():
        moves += [message(src, dst, 0, event, landing, event) for event, landing in rest]
    moves.sort(key=lambda move: (move[2], move[0]))  # by round, then sender
    return moves, edits


def _values(values):
    """Per rank one number when all its chunks begin alike, else one per chunk; numbers that JSON lacks as text.

    None when nothing is known or the inputs are no real numbers; None for the value of an empty chunk.
    """
    if values is None or any(isinstance(x, complex | str) for row in values for x in row):
        return None

    def plain(x):
        if x is None:
            return None
        x = float(x)
        if not math.isfinite(x):
            return {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}[str(x)]
        return int(x) if x.is_integer() and abs(x) < 2**53 else x

    rows = [[plain(x) for x in row] for row in values]
    return [row[0] if len(set(row)) == 1 else row for row in rows]


def _buffer_bytes(trace):
    """Bytes of one rank's buffer as they cross the wire, from the messages; None when they do not tell."""
    sizes = {frozenset(event.chunks): event.nbytes for event in trace.events if event.chunks}
    covered, total = set(), 0
    for chunks in sorted(sizes, key=len):
        if not chunks & covered:
            covered |= chunks
            total += sizes[chunks]
    return total if len(covered) == trace.nchunks else None


def _failure(failure):
    if failure is None:
        return None
    return {
        "verdict": failure.get("verdict"),
        "rank": failure.get("rank"),
        "round": failure.get("round"),
        **({} if failure.get("chunk") is None else {"chunk": failure["chunk"]}),
        "text": str(failure.get("text") or failure.get("verdict") or "failed"),
        "waiting": [list(wait)[:3] for wait in failure.get("waiting") or ()],
    }
