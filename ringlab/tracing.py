"""From what ranks recorded and the probe foretold to a Trace."""

from .events import Event
from .probe import rounds_of
from .record import RECV, SEND
from .trace import Trace

KINDS = {SEND: "send", RECV: "recv"}


def build(probe, programs, **about):
    """A Trace from recorded programs, with provenance from the probe when it made the same calls.

    programs: per rank a list of (kind, peer, line, nbytes, start, end) in program order, kind SEND or RECV.
    """
    kinds = [[event[0] for event in program] for program in programs]
    peers = [[event[1] for event in program] for program in programs]
    ranks = len(programs)
    foretold = probe is not None and all(
        probe["kinds"][rank][: len(kinds[rank])] == kinds[rank]
        and probe["peers"][rank][: len(peers[rank])] == peers[rank]
        for rank in range(ranks)
    )
    if foretold:
        starts, rounds = probe["starts"], probe["rounds"]
    else:
        starts, rounds = rounds_of(kinds, peers)
    built = []
    for rank, program in enumerate(programs):
        rows = []
        for i, (kind, peer, line, nbytes, start, end) in enumerate(program):
            chunks, terms, changes = (), None, ()
            if foretold:
                chunks, terms = _flat(probe["messages"][rank][i])
                changes = _own(probe["changes"][rank][i + 1])
            event = Event(rank, KINDS[kind], peer, chunks, terms, nbytes, starts[rank][i], line, start, end)
            rows.append((event, changes))
        built.append(rows)
    return Trace(built, ranks, rounds, **about, nchunks=probe.get("chunks") if foretold else None)


def _flat(message):
    """(chunks, terms) of a probed message; terms None when a part was no combination of marks."""
    if any(part is None for part in message):
        return (), None
    pairs = [pair for part in message for pair in part]
    return tuple(chunk for chunk, _ in pairs), tuple(tuple(terms) for _, terms in pairs)


def _own(changes):
    """(chunk, terms) of probed changes: the terms of the chunk itself, () when it now holds something else."""
    return tuple((chunk, tuple(dict(held or ()).get(chunk, ()))) for chunk, held in changes)
