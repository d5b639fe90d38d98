"""The virtual wire: all ranks in one process under a virtual clock.

Every rank is a greenlet that runs the unmodified algorithm on real arrays; only time is simulated. A message holds
its sender's out-port and its receiver's in-port for the network's `alpha + beta * nbytes`. Only the head of each
out-queue competes, a transfer starts when both ports are free, ties go by waiting time and then by rank. The clock
only adds and compares, so with Fractions its times are exact, and they never depend on scheduling.

When no rank can move, that is known at once, by the state and not by a timeout.
"""

import contextvars
import copy
import heapq
from collections import defaultdict, deque

import numpy as np
from greenlet import GreenletExit, getcurrent, greenlet

from ..network import ROUNDS
from ..plain import numbers_in
from ..record import RECV, SEND
from ..source import calling_line
from ..waits import Wait, deadlock


class RankFailed(Exception):
    """A program raised: `rank` and the exception as `__cause__`."""

    def __init__(self, rank):
        super().__init__(f"rank {rank} raised")
        self.rank = rank


class _Message:
    __slots__ = ("dst", "event", "nbytes", "payload", "posted", "src", "waits")

    def __init__(self, src, dst, payload, nbytes, posted, event, waits):
        self.src, self.dst, self.payload, self.nbytes = src, dst, payload, nbytes
        self.posted, self.event, self.waits = posted, event, waits


class VirtualWire:
    """One run of `ranks` programs on `network`.

    After `run`, `events[rank]` is a list of [kind, peer, line, nbytes, start, end] in program order with virtual
    times, and `now[rank]` the time at which each rank ended. `adds[rank]`, when given, says for each receive of the
    rank whether an addition follows, which then costs the network's gamma. `on_switch(rank)` is called when another
    rank gets the floor.
    """

    def __init__(self, ranks, network=ROUNDS, adds=None, on_switch=None, lines=True):
        self.ranks, self.network = ranks, network
        self.now = [0] * ranks
        self.events = [[] for _ in range(ranks)]
        self._adds, self._on_switch, self._lines = adds, on_switch, lines
        self._free_out, self._free_in = defaultdict(int), defaultdict(int)
        self._queues = defaultdict(deque)  # out-port -> messages that have not started
        self._heads = []  # heap of (earliest start, waiting since, sender, out-port)
        self._arrived = defaultdict(deque)  # (src, dst) -> (time, payload)
        self._waiting = [None] * ranks  # the Wait of each blocked rank
        self._runnable = deque(range(ranks))
        self._done = set()
        self._received = [0] * ranks

    def run(self, programs):
        """The list of what `programs[rank](send, recv)` returned; Deadlock when no rank can move."""
        self._hub = getcurrent()
        self._results = [None] * self.ranks
        self._greenlets = []
        for rank, program in enumerate(programs):
            task = greenlet(self._task(rank, program))
            task.gr_context = contextvars.copy_context()  # or np.errstate of the caller is lost
            self._greenlets.append(task)
        try:
            while self._step():
                pass
        finally:
            for task in self._greenlets:
                if task and not task.dead:
                    task.throw(GreenletExit)
        if len(self._done) < self.ranks:
            raise self._stuck()
        return self._results

    def unread(self):
        """(src, dst) pairs with messages that nobody received."""
        left = {pair for pair, messages in self._arrived.items() if messages}
        left |= {(m.src, m.dst) for queue in self._queues.values() for m in queue}
        return sorted(left)

    def _task(self, rank, program):
        def send(x, dst):
            self._send(rank, x, dst)

        def recv(src):
            return self._recv(rank, src)

        def task():
            try:
                self._results[rank] = program(send, recv)
            except GreenletExit:
                return
            except BaseException as error:
                raise RankFailed(rank) from error
            self._done.add(rank)

        return task

    def _step(self):
        """Run all ranks that can run, then start one transfer; False when there is none."""
        while self._runnable:
            rank = self._runnable.popleft()
            if self._on_switch:
                self._on_switch(rank)
            self._greenlets[rank].switch()
        while self._heads:
            start, since, src, port = heapq.heappop(self._heads)
            message = self._queues[port][0]
            ready = max(message.posted, self._free_out[port])
            earliest = max(ready, self._free_in[self.network.port(message.dst, src)])
            if earliest > start:  # the receiver's port was taken meanwhile: compete again from then on
                heapq.heappush(self._heads, (earliest, since, src, port))
                continue
            self._transfer(message, port, start)
            return True
        return False

    def _transfer(self, message, port, start):
        src, dst = message.src, message.dst
        end = start + self.network.seconds(src, dst, message.nbytes)
        self._queues[port].popleft()
        self._free_out[port] = self._free_in[self.network.port(dst, src)] = end
        message.event[4:] = start, end
        self._arrived[src, dst].append((end, message.payload))
        wait = self._waiting[dst]
        if wait and wait.peer == src and not wait.sending:
            self._wake(dst)
        if message.waits:
            self.now[src] = end
            self._wake(src)
        if self._queues[port]:
            self._compete(port)

    def _compete(self, port):
        """Let the head of an out-queue compete for its ports, if its receiver is ready for it."""
        message = self._queues[port][0]
        ready = max(message.posted, self._free_out[port])
        if message.waits:
            wait = self._waiting[message.dst]
            if not (wait and wait.peer == message.src and not wait.sending):
                return
            ready = max(ready, self.now[message.dst])
            message.posted = ready
        start = max(ready, self._free_in[self.network.port(message.dst, message.src)])
        heapq.heappush(self._heads, (start, ready, message.src, port))

    def _send(self, rank, x, dst):
        if not 0 <= dst < self.ranks:
            raise ValueError(f"rank {rank} sends to rank {dst}: ranks are 0 to {self.ranks - 1}")
        nbytes, now, network = numbers_in(x), self.now[rank], self.network
        event = [SEND, dst, calling_line() if self._lines else 0, nbytes, now, now]
        self.events[rank].append(event)
        if dst == rank:
            self._arrived[rank, rank].append((now, _copied(x)))
            return
        waits = network.eager is not None and nbytes > network.eager
        message = _Message(rank, dst, _copied(x), nbytes, now, event, waits)
        port = network.port(rank, dst)
        queue = self._queues[port]
        queue.append(message)
        if len(queue) == 1:
            self._compete(port)
        if waits:
            self._block(Wait(rank, dst, True, event[2]))

    def _recv(self, rank, src):
        if not 0 <= src < self.ranks:
            raise ValueError(f"rank {rank} receives from rank {src}: ranks are 0 to {self.ranks - 1}")
        line = calling_line() if self._lines else 0
        asked, arrived = self.now[rank], self._arrived[src, rank]
        if not arrived:
            self._waiting[rank] = Wait(rank, src, False, line)
            queue = self._queues[self.network.port(src, rank)]
            if queue and queue[0].waits and queue[0].dst == rank:
                self._compete(self.network.port(src, rank))
            self._block(self._waiting[rank])
        end, payload = arrived.popleft()
        now = max(asked, end)
        self.events[rank].append([RECV, src, line, numbers_in(payload), asked, now])
        if self._adds and self._adds[rank][self._received[rank]]:
            now = now + self.network.gamma * self.events[rank][-1][3]
        self._received[rank] += 1
        self.now[rank] = now
        return payload

    def _block(self, wait):
        self._waiting[wait.rank] = wait
        self._hub.switch()

    def _wake(self, rank):
        self._waiting[rank] = None
        self._runnable.append(rank)

    def _stuck(self):
        waits = {wait.rank: wait for wait in self._waiting if wait}
        return deadlock(waits, self._done)


def _copied(x):
    if isinstance(x, np.ndarray):
        return x.copy()
    if type(x) in (list, tuple):
        return [_copied(part) for part in x]
    return copy.deepcopy(x)
