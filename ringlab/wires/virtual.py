"""The virtual wire: all ranks in one process under a virtual clock.

Every rank is a greenlet that runs the unmodified algorithm on real arrays; only time is simulated. A message holds
its sender's out-port and its receiver's in-port for the network's `alpha + beta * nbytes`: ports.py.

How it goes: ranks run until each of them waits. Then the clock moves to the next moment at which an in-port is free
and wanted, the message that has waited longest for it starts, its end is known, and whoever waited for it runs on. A
rank that has to wait does this work itself and goes straight on to the next rank, which saves half of all switches.

When no rank can move, that is known at once, by the state and not by a timeout.
"""

import contextvars
from heapq import heappush
from sys import _getframe

import numpy as np
from greenlet import GreenletExit, getcurrent, greenlet

from ..network import ROUNDS
from ..plain import copied, numbers_in
from ..record import RECV, SEND
from ..source import calling_line, our_line
from ..waits import Wait, deadlock
from .ports import NOBODY, Transfers

FIELDS = 6  # of an event in a rank's log: kind, peer, line, nbytes, start, end
ndarray = np.ndarray


class RankFailed(Exception):
    """A program raised: `rank`, how many `events` it had behind it, and the exception as `__cause__`.

    waits: dict rank -> Wait of the others, which ran on as far as they could.  programs: per rank its events.
    """

    def __init__(self, rank, events=0):
        super().__init__(f"rank {rank} raised")
        self.rank, self.events, self.waits, self.programs = rank, events, {}, []


class VirtualWire:
    """One run of `ranks` programs on `network`.

    After `run`, `events[rank]` is a list of (kind, peer, line, nbytes, start, end) in program order with virtual times,
    and `now[rank]` the time at which each rank ended. lines: True notes the learner's source line, "ours" the line of
    the nearest algorithm of ours (quicker, and right when no other code runs), False none. on_switch(rank) is called
    when another rank gets the floor, on_progress(count) now and then with the number of messages so far.
    """

    def __init__(self, ranks, network=ROUNDS, on_switch=None, lines=True, on_progress=None):
        self.ranks, self.network = ranks, network.check(ranks)
        self.now = [0] * ranks
        self._logs = [[] for _ in range(ranks)]
        self.on_switch, self._lines = on_switch, lines
        self._transfers = Transfers(network, self.now, self._logs, on_progress)
        self._lines_at = [0] * ranks  # where each rank waits, or waited last
        self._done, self._failed = set(), []
        self._over = False
        self._pairs = None

    @property
    def events(self):
        """Per rank its events as (kind, peer, line, nbytes, start, end) in program order."""
        return [list(zip(*[iter(log)] * FIELDS)) for log in self._logs]

    def run(self, programs):
        """The list of what `programs[rank](send, recv)` returned.

        Deadlock when no rank can move; RankFailed when one raised, after the others have come to rest.
        """
        self._hub = getcurrent()
        self._results = [None] * self.ranks
        self._tasks = [greenlet(self._task(rank, program)) for rank, program in enumerate(programs)]
        for task in self._tasks:
            task.gr_context = contextvars.copy_context()  # or np.errstate of the caller is lost
        try:
            self._starting = True  # all from here, since a task begins at the stack depth of the one that starts it
            for rank in range(self.ranks):
                self._give_floor(rank).switch()
            self._starting = False
            while (task := self._next()) is not self._hub:
                task.switch()
            waits = self.waits()
        finally:
            self._end()
        if self._failed:
            first = min(self._failed, key=lambda failed: failed.rank)
            first.waits, first.programs = waits, self._behind(waits)
            raise first
        if len(self._done) < self.ranks:
            raise self._stuck(waits)
        return self._results

    def unread(self):
        """(src, dst) pairs with messages that nobody received."""
        return self._transfers.unread()

    def completed(self, rank):
        """How many sends and receives the rank has behind it."""
        return len(self._logs[rank]) // FIELDS

    def spend(self, rank, seconds):
        """Let `rank` be busy for that long before its next step; called from the rank's own code."""
        self.now[rank] = self.now[rank] + seconds

    # ---- what a rank calls ---------------------------------------------------------------------------------

    def pair(self, rank):
        """`(send, recv)` of a rank."""
        if self._pairs is None:
            self._pairs = self._make_pairs()
        return self._pairs(rank)

    def _make_pairs(self):
        """The function behind `pair`.

        The few lines that every message passes are written out here, and what all ranks share stands in the outer
        function: with a thousand ranks, speed is a matter of how much memory each message touches.
        """
        transfers, now, logs, lines_at = self._transfers, self.now, self._logs, self._lines_at
        asked, agenda, times, links_of = transfers.asked, transfers.agenda, transfers.times, transfers.links
        find, compete, invite = transfers.link, transfers.compete, transfers.invite
        eager, plain, ours, other = self.network.eager, transfers.plain, self._lines == "ours", self._lines is True
        seen = {}  # instruction -> (code, line): looking a line up is slow
        wait, send_waiting = self._wait, self._send_waiting

        def pair(rank):
            log, links, sources = logs[rank], links_of[rank], {}  # sources: sender -> Link to this rank

            def send(x, dst):
                link = links.get(dst) or find(rank, dst)
                line = 0
                if ours:
                    frame = _getframe(1)
                    known = seen.get(frame.f_lasti)
                    line = known[1] if known and known[0] is frame.f_code else our_line(frame, seen)
                elif other:
                    line = calling_line()
                if x.__class__ is ndarray:
                    nbytes, payload = x.nbytes, x.copy()
                else:
                    nbytes, payload = numbers_in(x), copied(x)
                if eager is not None and nbytes > eager:
                    return send_waiting(link, nbytes, payload, line)
                time = now[rank]
                log.extend((SEND, dst, line, nbytes, time, time))
                if dst == rank:
                    return link.arrive((time, payload, nbytes))
                out, message = link.out, (link, time, nbytes, payload, len(log) - 2, None)
                if out.head is not None:
                    return out.more.append(message)
                out.head = message
                if not plain:
                    return compete(out)
                gate = link.gate  # from here on as in Transfers.compete
                if time < out.free:
                    time = out.free
                heappush(gate.wanted, (time, rank, out))
                if time < gate.free:
                    time = gate.free
                if gate.due is None or time < gate.due:
                    gate.due = time
                    if time in agenda:
                        agenda[time].append(gate)
                    else:
                        agenda[time] = [gate]
                        heappush(times, time)

            def recv(src):
                link = sources.get(src)
                if link is None:
                    link = sources[src] = find(src, rank)
                line = 0
                if ours:
                    frame = _getframe(1)
                    known = seen.get(frame.f_lasti)
                    line = known[1] if known and known[0] is frame.f_code else our_line(frame, seen)
                elif other:
                    line = calling_line()
                since = now[rank]
                if link.first is None:
                    asked[rank], lines_at[rank] = src, line
                    if eager is not None:
                        invite(link)
                    wait(rank)
                end, payload, nbytes = link.first
                link.first = link.more.popleft() if link.more else None
                if end < since:
                    end = since
                now[rank] = end
                log.extend((RECV, src, line, nbytes, since, end))
                return payload

            return send, recv

        return pair

    def sendrecv(self, rank, x, dst, src, recv):
        """Send to `dst` and receive from `src` with the rank's own `recv`: neither waits for the other."""
        nbytes, eager = numbers_in(x), self.network.eager
        line = calling_line() if self._lines else 0
        receipt = None if eager is None or nbytes <= eager or dst == rank else []
        self._transfers.post(self._transfers.link(rank, dst), nbytes, copied(x), line, receipt)
        got = recv(src)
        if receipt is not None:
            self._await_receipt(rank, dst, receipt, line)
        return got

    def _send_waiting(self, link, nbytes, payload, line):
        receipt = []
        self._transfers.post(link, nbytes, payload, line, receipt)
        self._await_receipt(link.src, link.dst, receipt, line)

    def _await_receipt(self, rank, dst, receipt, line):
        if not receipt:
            self._transfers.offers[rank], self._lines_at[rank] = (dst, receipt), line
            self._wait(rank)
        if receipt[0] > self.now[rank]:
            self.now[rank] = receipt[0]

    # ---- ranks ---------------------------------------------------------------------------------------------

    def _task(self, rank, program):
        send, recv = self.pair(rank)

        def task():
            try:
                self._results[rank] = program(send, recv)
            except (GreenletExit, KeyboardInterrupt):
                raise
            except BaseException as error:
                failed = RankFailed(rank, self.completed(rank))
                failed.__cause__ = error
                self._failed.append(failed)
            else:
                self._done.add(rank)

        return task

    def _next(self):
        """The task that runs next: transfers start until there is one; the hub when nothing can move."""
        while not self._transfers.runnable:
            if not self._transfers.times or self._over:
                return self._hub
            self._transfers.advance()
        return self._give_floor(self._transfers.runnable.popleft())

    def _give_floor(self, rank):
        if self.on_switch is not None:
            self.on_switch(rank)
        return self._tasks[rank]

    def _wait(self, rank):
        """Let others run until somebody wakes this rank."""
        runnable, times = self._transfers.runnable, self._transfers.times
        if self._starting:
            return self._hub.switch()
        while not runnable:
            if not times or self._over:
                return self._hub.switch()
            self._transfers.advance()
        woken = runnable.popleft()
        if self.on_switch is not None:
            self.on_switch(woken)
        if woken != rank:
            self._tasks[woken].switch()

    def _end(self):
        """Unwind the ranks that are left in a wait."""
        self._over = True
        self._transfers.runnable.clear()
        for task in self._tasks:
            if task and not task.dead:
                task.throw(GreenletExit)

    # ---- the end, when nothing can move --------------------------------------------------------------------

    def waits(self):
        """Dict rank -> Wait of the ranks that wait."""
        found = {}
        for rank in range(self.ranks):
            events, line = self.completed(rank), self._lines_at[rank]
            if self._transfers.asked[rank] != NOBODY:
                found[rank] = Wait(rank, self._transfers.asked[rank], False, line, events)
            elif self._transfers.offers[rank] is not None:
                found[rank] = Wait(rank, self._transfers.offers[rank][0], True, line, events - 1)
        return found

    def _behind(self, waits):
        """Per rank the events that it has behind it: a send that waits for its receiver is not."""
        return [mine[: waits[rank].events if rank in waits else None] for rank, mine in enumerate(self.events)]

    def _stuck(self, waits):
        from ..rounds import clocks_of

        before = self._behind(waits)
        clocks = clocks_of([[event[0] for event in mine] for mine in before], [[e[1] for e in mine] for mine in before])
        waits = {rank: wait._replace(round=clocks[rank]) for rank, wait in waits.items()}
        for wait in waits.values():
            head = self._transfers.link(*((wait.rank, wait.peer) if wait.sending else (wait.peer, wait.rank))).out.head
            why = head is not None and self._transfers.shut(head[0])
            if why:
                return deadlock(waits, self._done, shut=(wait.rank, why), programs=before)
        return deadlock(waits, self._done, programs=before)
