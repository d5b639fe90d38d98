"""`cured_ring(chunks, rank, send, recv)`: a ring that does not hang although every send waits for its receiver.

Judged on the virtual wire with `eager=0` for 2 to 9 ranks: the sum is right, no cycle of waits, and a round of the ring
takes at most 2 sub-rounds (3 for an odd number of ranks). A sub-round is the time of one message. In it a rank is
either sending or receiving, because a send that waits keeps it busy; so the arrows of a ring have to take turns, and
two arrows that touch cannot go together: two turns are enough for a ring of even length, an odd one needs three. (Over
many rounds an odd ring needs 2P / (P - 1) on average: a round is no barrier, and the next one begins early.)
"""

import numpy as np

from ..network import Network
from ..programs import launch
from ..runs import run
from ..verdicts import Deadlock, RinglabError
from .outcome import Outcome, not_written

RANKS = range(2, 10)
RENDEZVOUS = Network(alpha=1, beta=0, eager=0)


def hang(algorithm, **options):
    """Run an all-reduce as `rl.run` does; the Deadlock that it ends in, or None when it ends well."""
    try:
        run(algorithm, **options)
    except Deadlock as stuck:
        return stuck
    return None


def ring_of(exchange):
    """The ring all-reduce whose every round is `exchange(x, rank, p, send, recv)`.

    exchange sends x to rank + 1 and returns what rank - 1 has sent; in which order is its own affair.
    """

    def ring(chunks, rank, send, recv):
        p = len(chunks)
        for k in range(p - 1):
            chunks[(rank - k - 1) % p] += exchange(chunks[(rank - k) % p], rank, p, send, recv)
        for k in range(p - 1):
            chunks[(rank - k) % p] = exchange(chunks[(rank - k + 1) % p], rank, p, send, recv)
        return chunks

    ring.__name__ = getattr(exchange, "__name__", "ring")
    ring.__wrapped__ = exchange  # type: ignore[attr-defined]  # its source is what a verdict shows
    return ring


def subrounds(exchange, ranks, eager=0):
    """How many messages' time one round of a ring takes, alone: sends above `eager` bytes wait (None: none does)."""

    def one_round(comm):
        exchange(np.ones(1), comm.rank, comm.size, comm.send, comm.recv)

    return launch(one_round, ranks, "virtual", network=Network(alpha=1, beta=0, eager=eager)).seconds


def fewest(ranks):
    """The fewest sub-rounds in which a ring of so many ranks can take its turns, found by running it."""
    return subrounds(_in_turns, ranks)


def _in_turns(x, rank, p, send, recv):
    if rank % 2:
        came = recv((rank - 1) % p)
        send(x, (rank + 1) % p)
        return came
    send(x, (rank + 1) % p)
    return recv((rank - 1) % p)


def check(cured_ring):
    """An Outcome: whether the ring is right, free of cycles, and quick enough, for P = 2 to 9."""
    for p in RANKS:
        try:
            for elements in (2 * p, 2 * p + 1):
                buffered = run(cured_ring, _inputs(p, elements), wire="virtual")
                if not any(buffered.messages):
                    return not_written(f"0 of {2 * p * (p - 1)} messages with {p} ranks")
                if buffered.verdict is not None:
                    return Outcome(False, f"P = {p}: no ring yet, even where no send waits: {buffered.words}")
            if set(buffered.messages) != {2 * (p - 1)}:
                text = f"P = {p}: right, but another algorithm: a ring sends {2 * (p - 1)} messages from each rank"
                return Outcome(False, f"{text}, this one {max(buffered.messages)}")
            waiting = run(cured_ring, _inputs(p, 2 * p), wire="virtual", network=RENDEZVOUS)
        except Deadlock as stuck:
            return Outcome(False, f"P = {p}: {stuck.lines[0]}\n{_hint(stuck, p)}")
        except RinglabError as error:
            return Outcome(False, f"P = {p}: {error.verdict}: {error.lines[0]}")
        allowed = 3 if p % 2 else 2
        took = waiting.seconds / (2 * (p - 1))
        if took > allowed:
            text = f"P = {p}: right and free of cycles, but {took:g} sub-rounds a round where {allowed} are enough"
            return Outcome(False, f"{text}\nWhile one pair talks, which other pairs could?")
    return Outcome(True, "passed: no cycle for P = 2 to 9, and no more than 2 sub-rounds a round (3 for odd P)")


def _hint(stuck, p):
    if not all(wait.sending for wait in stuck.waits):
        return "Somebody waits for a message whose sender waits as well: for whom?"
    if p % 2 and p > 2:
        return "Everybody in this cycle sends first. It works for even P: which two neighbours are alike when P is odd?"
    return "Everybody sends first, and nobody is there to receive. Who could begin by receiving?"


def _inputs(p, elements):
    return [np.arange(float(elements)) + 100 * rank for rank in range(p)]
