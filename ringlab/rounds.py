"""Rounds: recorded calls replayed on a wire where every message takes one unit of time.

The round of a message is its start on that wire, the number of rounds of a run its end. Only the order of each rank's
calls goes in, so a run has the same rounds on every wire.
"""

from .network import ROUNDS
from .record import RECV
from .wires.virtual import VirtualWire


def rounds_of(kinds, peers):
    """(starts per rank and event, rounds) of recorded programs.

    kinds, peers: per rank the events in program order, SEND or RECV and the other rank. Receives without a matching
    send (the run broke off) and all that follows on that rank get the last time known.
    """
    wire = _replayed(kinds, peers)
    starts = message_starts(wire.events)
    for rank, mine in enumerate(starts):
        mine.extend([mine[-1] if mine else 0] * (len(kinds[rank]) - len(mine)))
    return starts, max(wire.now, default=0)


def clocks_of(kinds, peers):
    """Per rank the round in which it stood after its last event."""
    return _replayed(kinds, peers).now


def _replayed(kinds, peers):
    sends = {}
    for rank, (mine, to) in enumerate(zip(kinds, peers, strict=True)):
        for kind, peer in zip(mine, to, strict=True):
            if kind != RECV:
                sends[rank, peer] = sends.get((rank, peer), 0) + 1
    wire = VirtualWire(len(kinds), ROUNDS, lines=False)

    def program(rank):
        def play(send, recv):
            for kind, peer in zip(kinds[rank], peers[rank], strict=True):
                if kind == RECV:
                    if sends.get((peer, rank), 0) == 0:
                        return
                    sends[peer, rank] -= 1
                    recv(peer)
                else:
                    send(None, peer)

        return play

    wire.run([program(rank) for rank in range(len(kinds))])
    return wire


def message_starts(events):
    """Per rank and event the start of its message: a receive takes the start of the send it matches."""
    sent = {}
    for rank, program in enumerate(events):
        for kind, peer, _, _, start, _ in program:
            if kind != RECV:
                sent.setdefault((rank, peer), []).append(start)
    starts = []
    for rank, program in enumerate(events):
        mine, taken = [], {}
        for kind, peer, _, _, start, _ in program:
            if kind == RECV:
                nth = taken[peer] = taken.get(peer, -1) + 1
                start = sent[peer, rank][nth]
            mine.append(start)
        starts.append(mine)
    return starts
