"""Would this code be right on a wire that lends an array's memory instead of copying it?

With a copying send a rank may change an array as soon as send returns. With lent memory it must wait until its receiver
has surely read it: until a message has come back that was sent after that reading.
"""

from typing import NamedTuple


class Hazard(NamedTuple):
    """Rank `rank` sends chunk `chunk` (None: another array) to `reader` in step `sent` and changes it too early."""

    rank: int
    chunk: int | None
    reader: int
    sent: object

    def in_words(self):
        """A note for the learner."""
        what = "an array" if self.chunk is None else f"c{self.chunk}"
        return (
            f"rank {self.rank} changes {what} while rank {self.reader}, to which it was sent, may still be reading it: "
            "this would break without copying sends"
        )


def hazard(seen):
    """The first Hazard of an observation, or None."""
    clocks, reads = _clocks(seen), _reads(seen)
    for send in seen.steps:
        if send.kind != "send" or send.rewritten is None or send.peer == send.rank:
            continue
        read = reads.get((send.rank, send.place))
        known = clocks[send.rank, send.rewritten][send.peer]  # when it was changed, the reader had surely come so far
        if read is None or known <= read:
            return Hazard(send.rank, send.lent[0] if send.lent else None, send.peer, send)
    return None


def _clocks(seen):
    """(rank, place) of every step -> per rank the place of its last step that surely came before (-1: none)."""
    clocks, now, queues = {}, [[-1] * seen.ranks for _ in range(seen.ranks)], {}
    for step in seen.causal:
        mine = now[step.rank]
        if step.kind == "recv":
            mine = [max(pair) for pair in zip(mine, queues[step.peer, step.rank].pop(0), strict=True)]
        mine = [step.place if rank == step.rank else known for rank, known in enumerate(mine)]
        now[step.rank] = clocks[step.rank, step.place] = mine
        if step.kind == "send":
            queues.setdefault((step.rank, step.peer), []).append(mine)
    return clocks


def _reads(seen):
    """(sender, place of its send) -> place of the receive on the other side."""
    sends, found = {}, {}
    for step in seen.causal:
        if step.kind == "send":
            sends.setdefault((step.rank, step.peer), []).append(step.place)
        else:
            found[step.peer, sends[step.peer, step.rank].pop(0)] = step.place
    return found
