"""Is it safe to lend what an algorithm sends? Tried with readers as late and writers as far ahead as they can be."""

from collections import deque

import numpy as np
import pytest
from greenlet import greenlet

import ringlab as rl
from ringlab.chunks import Chunks

LENDERS = {
    f"{function.__module__.rpartition('.')[2]}.{function.__name__}": function
    for function in (getattr(rl, name) for name in rl.algorithms.__all__ if name != "ALGORITHMS")
    if getattr(function, "lends", False)
}


class LateReader:
    """A wire without a clock, in which every array is lent and rank `late` comes last.

    A message is the sender's own memory (a copy when the memory is somebody else's: nobody lends what is lent to him).
    Ranks run as far as they can; `late` reads a message only when no other rank can do anything more without it. What
    a rank does depends on its messages alone, so nobody can be further ahead in any other order of events: if the late
    reader still finds what was sent, it always does.
    """

    def __init__(self, function, buffers, late, forgets=False):
        self.late, self.clashes, self._forgets = late, [], forgets
        self._given = {}  # rank -> what it received last
        self._buffers = buffers
        self._mail = {}  # (src, dst) -> deque of (parts as lent, parts as they were)
        self._waits = [None] * len(buffers)  # whom each rank waits for
        self._sent = {}
        self._tasks = [
            greenlet(lambda rank=rank: function(Chunks(buffers[rank], len(buffers)), rank, *self._pair(rank)))
            for rank in range(len(buffers))
        ]

    def run(self):
        """The clashes: (reader, sender, number of the message) of every message that was changed before it was read."""
        self._hub = greenlet.getcurrent()
        while (rank := self._next()) is not None:
            self._tasks[rank].switch()
        assert all(task.dead for task in self._tasks), "ranks wait for ever"
        return self.clashes

    def _next(self):
        """A rank that can go on, the late one only when there is no other; None at the end."""
        able = [
            rank
            for rank, task in enumerate(self._tasks)
            if not task.dead and (self._waits[rank] is None or self._mail.get((self._waits[rank], rank)))
        ]
        others = [rank for rank in able if rank != self.late]
        return others[0] if others else able[0] if able else None

    def _pair(self, rank):
        def forget():
            """What a rank received goes with its next call."""
            for part in self._given.pop(rank, []):
                part.flags.writeable = True
                part[:] = -1

        def send(x, dst):
            forget()
            parts = x if isinstance(x, list) else [x]
            own = [part if np.may_share_memory(part, self._buffers[rank]) else part.copy() for part in parts]
            number = self._sent[rank, dst] = self._sent.get((rank, dst), 0) + 1
            message = (own, [part.copy() for part in parts], isinstance(x, list), number)
            self._mail.setdefault((rank, dst), deque()).append(message)

        def recv(src):
            forget()
            self._waits[rank] = src
            self._hub.switch()
            self._waits[rank] = None
            parts, as_sent, several, number = self._mail[src, rank].popleft()
            if any(not np.array_equal(part, then) for part, then in zip(parts, as_sent, strict=True)):
                self.clashes.append((rank, src, number))
            views = [part.copy() if self._forgets else part.view() for part in parts]
            for view in views:
                view.flags.writeable = False
            if self._forgets:
                self._given[rank] = views
            return views if several else views[0]

        return send, recv


def clashes(function, ranks):
    """All clashes, with each rank in turn as the late one."""
    found = []
    for late in range(ranks):
        buffers = [np.random.default_rng(rank).integers(1, 1000, 3 * ranks + 1) for rank in range(ranks)]
        found += LateReader(function, buffers, late).run()
    return found


@pytest.mark.parametrize("name", sorted(LENDERS))
def test_what_is_lent_is_read_before_it_changes(name):
    for ranks in (1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 16):
        assert clashes(LENDERS[name], ranks) == []


@pytest.mark.parametrize("name", sorted(LENDERS))
def test_what_a_lender_receives_it_reads_at_once(name):
    function = LENDERS[name]
    for ranks in (1, 2, 3, 4, 5, 8, 9):
        results = []
        for forgets in (False, True):
            buffers = [np.random.default_rng(rank).integers(1, 1000, 3 * ranks + 1) for rank in range(ranks)]
            LateReader(function, buffers, 0, forgets).run()
            results.append(buffers)
        assert np.array_equal(*results), "a view is gone with the next call of send or recv"


def test_keeping_what_was_received_is_caught():
    def keeps(chunks, rank, send, recv):
        send(chunks[0], 1 - rank)
        got = recv(1 - rank)
        send(chunks[1], 1 - rank)
        chunks[0] += got
        chunks[1] += recv(1 - rank)
        return chunks

    buffers = [np.arange(1, 5), np.arange(5, 9)]
    LateReader(keeps, buffers, 0, forgets=True).run()
    assert buffers[0].tolist() != [6, 8, 10, 12]


def test_all_lenders_are_tried():
    assert {f for f in rl.ALGORITHMS.values() if f.lends} <= set(LENDERS.values())
    assert {"ring.ring_allreduce", "star.star_allreduce", "halving.halving_allreduce"} <= set(LENDERS)


@pytest.mark.parametrize("ranks", [2, 3, 4, 8])
def test_recursive_doubling_is_caught(ranks):
    found = clashes(rl.doubling_allreduce, ranks)
    assert found, "it adds into chunks that its partner may still be reading"
    reader, sender, number = found[0]
    assert abs(reader - sender) == 1
    assert number == 1


@pytest.mark.parametrize("ranks", [2, 3, 4, 8])
def test_the_pass_around_is_caught(ranks):
    assert clashes(rl.pass_around_allreduce, ranks)


def test_a_ring_that_tidies_up_behind_itself_is_caught():
    def tidy(chunks, rank, send, recv):
        p = len(chunks)
        for k in range(p - 1):
            send(chunks[(rank - k) % p], (rank + 1) % p)
            chunks[(rank - k - 1) % p] += recv((rank - 1) % p)
            chunks[(rank - k) % p] = 0  # it is on its way, is it not?
        return rl.all_gather(chunks, rank, send, recv)

    assert clashes(tidy, 4)


def test_those_that_are_caught_do_not_lend():
    caught = {name for name, function in rl.ALGORITHMS.items() if any(clashes(function, ranks) for ranks in (2, 3, 4))}
    assert {"doubling", "pass_around"} <= caught
    assert not {name for name in caught if rl.ALGORITHMS[name].lends}
