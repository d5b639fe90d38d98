"""What the kernel sees of the ranks of one call: their records in shared memory, whatever the ranks do."""

from .record import BLOCKED, CHECKS, DONE, EVENTS, LENDING, LINE, MOVED, NTH, PEER, PHASE, RECEIVING, SENDING
from .waits import Wait


class Sight:
    """The record `blocks` of the ranks of one call, in rank order."""

    def __init__(self, blocks):
        self.blocks = blocks
        self.members = range(len(blocks))

    def unmoved(self, before, states):
        """rank -> Wait of the ranks that were stuck at two looks and have not moved in between.

        All of them were in these waits at the same moment, between the looks. A rank in a full pipe counts only when
        it has found the pipe full again since the first look: one that is slow to notice room is not stuck.
        """
        return {
            rank: wait
            for rank, wait in self.stuck(states).items()
            if before[rank][:-1] == states[rank][:-1]
            and (states[rank][0] != BLOCKED or states[rank][-1] - before[rank][-1] >= 2)
        }

    def states(self):
        """Per rank (phase, peer, nth, moved, line, checks), as one reading."""
        return [tuple(block.state[word] for word in (PHASE, PEER, NTH, MOVED, LINE, CHECKS)) for block in self.blocks]

    def done(self):
        """The ranks that have come to their end."""
        return {rank for rank in self.members if self.blocks[rank].state[PHASE] == DONE}

    def stuck(self, states):
        """rank -> Wait of every rank that waits for something its peer has not begun."""
        found = {}
        for rank, (phase, peer, nth, _, line, _) in enumerate(states):
            events = self.blocks[rank].state[EVENTS]
            if phase == RECEIVING and self.blocks[peer].begun[rank] < nth:
                found[rank] = Wait(rank, peer, False, line, events)
            elif phase in (SENDING, BLOCKED, LENDING) and self.blocks[peer].taken[rank] < nth:
                found[rank] = Wait(rank, peer, True, line, events)
        return found

    def unread(self):
        """(src, dst, count) of messages that were sent and never received; their links are not used again."""
        return [
            (src, dst, self.blocks[src].begun[dst] - self.blocks[dst].taken[src])
            for src in self.members
            for dst in self.members
            if self.blocks[src].begun[dst] > self.blocks[dst].taken[src]
        ]
