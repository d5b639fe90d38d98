"""The virtual wire: all ranks in one process under a virtual clock.

Every rank is a greenlet that runs the unmodified algorithm on real arrays; only time is simulated. A message holds
its sender's out-port and its receiver's in-port for the network's `alpha + beta * nbytes`. Only the head of each
out-queue competes, a transfer starts when both ports are free, ties go by waiting time and then by rank. The clock
only adds and compares, so with Fractions its times are exact, and they never depend on scheduling.

How it goes: ranks run until each of them waits. Then the clock moves to the next moment at which an in-port is free
and wanted, the message that has waited longest for it starts, its end is known, and whoever waited for it runs on. A
rank that has to wait does this work itself and goes straight on to the next rank, which saves half of all switches.

When no rank can move, that is known at once, by the state and not by a timeout.
"""

import contextvars
import copy
from collections import deque
from heapq import heappop, heappush
from sys import _getframe

import numpy as np
from greenlet import GreenletExit, getcurrent, greenlet

from .. import source
from ..network import ROUNDS
from ..plain import numbers_in
from ..record import RECV, SEND
from ..waits import Wait, deadlock

FIELDS = 6  # of an event in a rank's log: kind, peer, line, nbytes, start, end
NOBODY = -1
BETWEEN = {__file__, source.PACKAGE + "simulate.py"}  # files between an algorithm of ours and this wire
ndarray = np.ndarray


class RankFailed(Exception):
    """A program raised: `rank`, how many `events` it had behind it, and the exception as `__cause__`.

    waits: dict rank -> Wait of the others, which ran on as far as they could.  programs: per rank its events.
    """

    def __init__(self, rank, events=0):
        super().__init__(f"rank {rank} raised")
        self.rank, self.events, self.waits, self.programs = rank, events, {}, []


class OutPort:
    """Messages leave one after the other: `head` is the one that competes, `more` those behind it.

    A message is (link, posted, nbytes, payload, place in the log, receipt).
    """

    __slots__ = ("free", "head", "more")

    def __init__(self):
        self.free, self.head, self.more = 0, None, deque()


class InPort:
    """Messages arrive one after the other.

    wanted: heap of (ready, sender, its OutPort), whose heads compete for this port.  due: when it is next seen to.
    """

    __slots__ = ("due", "free", "wanted")

    def __init__(self):
        self.free, self.wanted, self.due = 0, [], None


class Link:
    """The way from `src` to `dst`: its ports, and what has arrived: (end, payload, nbytes), `first` and `more`."""

    __slots__ = ("called", "dst", "first", "gate", "log", "more", "out", "src", "started")

    def __init__(self, src, dst, out, gate, log):
        self.src, self.dst, self.out, self.gate, self.log = src, dst, out, gate, log
        self.first, self.more, self.started = None, deque(), 0
        self.called = None  # when dst first heard of src

    def arrive(self, message):
        """Keep what has arrived until it is received."""
        if self.first is None:
            self.first = message
        else:
            self.more.append(message)


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
        self.on_switch, self._on_progress, self._lines = on_switch, on_progress, lines
        self._links = [{} for _ in range(ranks)]  # per sender: receiver -> Link
        self._out, self._in = {}, {}  # ports by the network's names for them
        self._agenda, self._times = {}, []  # time -> in-ports that are due; heap of these times
        self._asked = [NOBODY] * ranks  # whose message each rank waits for
        self._offers: list = [None] * ranks  # (peer, receipt) of a send in which each rank waits
        self._lines_at = [0] * ranks  # where each rank waits, or waited last
        self._runnable = deque()
        self._done, self._failed = set(), []
        self._over = False
        self._count = 0
        self._plain, self._costs = network.plain, {}
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
        left = {(link.src, link.dst) for links in self._links for link in links.values() if link.first}
        left |= {(m[0].src, m[0].dst) for port in self._out.values() for m in (port.head, *port.more) if m}
        return sorted(left)

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
        now, asked, agenda, times, lines_at = self.now, self._asked, self._agenda, self._times, self._lines_at
        eager, plain, ours, other = self.network.eager, self._plain, self._lines == "ours", self._lines is True
        seen = {}  # instruction -> (code, line): looking a line up is slow
        find, logs, links_of = self._link, self._logs, self._links
        compete, wait, invite, send_waiting = self._compete, self._wait, self._invite, self._send_waiting

        def pair(rank):
            log, links, sources = logs[rank], links_of[rank], {}  # sources: sender -> Link to this rank

            def send(x, dst):
                link = links.get(dst) or find(rank, dst)
                line = 0
                if ours:
                    frame = _getframe(1)
                    known = seen.get(frame.f_lasti)
                    line = known[1] if known and known[0] is frame.f_code else _our_line(frame, seen)
                elif other:
                    line = source.calling_line()
                if x.__class__ is ndarray:
                    nbytes, payload = x.nbytes, x.copy()
                else:
                    nbytes, payload = numbers_in(x), _copied(x)
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
                gate = link.gate  # from here on as in _compete and _schedule
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
                    line = known[1] if known and known[0] is frame.f_code else _our_line(frame, seen)
                elif other:
                    line = source.calling_line()
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
        line = source.calling_line() if self._lines else 0
        receipt = None if eager is None or nbytes <= eager or dst == rank else []
        self._post(self._link(rank, dst), nbytes, _copied(x), line, receipt)
        got = recv(src)
        if receipt is not None:
            self._await_receipt(rank, dst, receipt, line)
        return got

    def _send_waiting(self, link, nbytes, payload, line):
        receipt = []
        self._post(link, nbytes, payload, line, receipt)
        self._await_receipt(link.src, link.dst, receipt, line)

    def _post(self, link, nbytes, payload, line, receipt):
        """Queue a message; `receipt` (a list) gets its end, when it is to wait for its receiver."""
        time, log, out = self.now[link.src], link.log, link.out
        log.extend((SEND, link.dst, line, nbytes, time, time))
        message = (link, time, nbytes, payload, len(log) - 2, receipt)
        if link.src == link.dst:
            if receipt is None:
                link.arrive((time, payload, nbytes))
        elif out.head is not None:
            out.more.append(message)
        else:
            out.head = message
            self._compete(out)

    def _await_receipt(self, rank, dst, receipt, line):
        if not receipt:
            self._offers[rank], self._lines_at[rank] = (dst, receipt), line
            self._wait(rank)
        if receipt[0] > self.now[rank]:
            self.now[rank] = receipt[0]

    # ---- ports ---------------------------------------------------------------------------------------------

    def _link(self, src, dst):
        link = self._links[src].get(dst) if 0 <= src < self.ranks else None
        if link is not None:
            return link
        for peer, does in ((dst, f"rank {src} sends to"), (src, f"rank {dst} receives from")):
            if not 0 <= peer < self.ranks:
                raise ValueError(f"{does} rank {peer}: ranks are 0 to {self.ranks - 1}")
        out = self._out.setdefault(self.network.port(src, dst), OutPort())
        gate = self._in.setdefault(self.network.port(dst, src), InPort())
        link = self._links[src][dst] = Link(src, dst, out, gate, self._logs[src])
        return link

    def _compete(self, out):
        """Let the head of an out-queue compete for its receiver's in-port, if it may go at all by now."""
        link, ready, *_, receipt = out.head
        src, dst = link.src, link.dst
        ready = max(ready, out.free)
        if receipt is not None:
            if self._asked[dst] != src:
                return  # until the receiver asks: see _invite
            ready = max(ready, self.now[dst])
        if not self._plain:
            ready = self._opens(link, ready)
            if ready is None:
                return
        heappush(link.gate.wanted, (ready, src, out))
        self._schedule(link.gate, ready)

    def _schedule(self, gate, time):
        """See to an in-port as soon as it is free from `time` on."""
        time = max(time, gate.free)
        if gate.due is None or time < gate.due:
            gate.due = time
            if time in self._agenda:
                self._agenda[time].append(gate)
            else:
                self._agenda[time] = [gate]
                heappush(self._times, time)

    def _opens(self, link, time):
        """The first moment from `time` on at which the network lets a message start; None while it does not."""
        if link.dst in self.network.nat:
            called = self._link(link.dst, link.src).called
            if called is None:
                return None  # until the receiver has called: see _start
            time = max(time, called)
        return self.network.opens(link.src, link.dst, time)

    def _invite(self, link):
        """The receiver asks: if the message at the head waits for that, it may now compete."""
        head = link.out.head
        if head is not None and head[-1] is not None and head[0] is link:
            self._compete(link.out)

    def _advance(self):
        """Move the clock to the next moment at which in-ports are due, and start a transfer on each of them."""
        time = heappop(self._times)
        plain, costs, asked, wake = self._plain, self._costs, self._asked, self._runnable.append
        due = self._agenda.pop(time)
        for gate in due:
            if gate.due != time:  # it was seen to earlier
                continue
            gate.due = None
            _, src, out = heappop(gate.wanted)
            if not plain:
                self._start_if_open(gate, out, time)
            else:
                link, _, nbytes, payload, place, receipt = out.head
                out.head = out.more.popleft() if out.more else None
                if nbytes not in costs:
                    costs[nbytes] = self.network.seconds(src, link.dst, nbytes)
                end = out.free = gate.free = time + costs[nbytes]
                log = link.log
                log[place], log[place + 1] = time, end
                if link.first is None:
                    link.first = end, payload, nbytes
                else:
                    link.more.append((end, payload, nbytes))
                dst = link.dst
                if asked[dst] == src:
                    asked[dst] = NOBODY
                    wake(dst)
                if receipt is not None:
                    self._acknowledge(src, receipt, end)
                if out.head is not None:
                    self._compete(out)
            if gate.wanted:
                self._schedule(gate, gate.wanted[0][0])
        if self._on_progress is not None:
            self._count += len(due)
            self._on_progress(self._count)

    def _start_if_open(self, gate, out, time):
        """As in _advance, where the network has more to say than alpha and beta."""
        link, _, nbytes, payload, place, receipt = out.head
        src, dst = link.src, link.dst
        opens = self.network.opens(src, dst, time)
        if opens != time:
            if opens is not None:  # a window has closed while it waited for the port
                heappush(gate.wanted, (opens, src, out))
            return
        out.head = out.more.popleft() if out.more else None
        end = out.free = gate.free = time + self.network.seconds(src, dst, nbytes, link.started)
        link.started += 1
        link.log[place], link.log[place + 1] = time, end
        link.arrive((end, payload, nbytes))
        if self._asked[dst] == src:
            self._asked[dst] = NOBODY
            self._runnable.append(dst)
        if receipt is not None:
            self._acknowledge(src, receipt, end)
        if out.head is not None:
            self._compete(out)
        if link.called is None:
            link.called = end
            back = self._link(dst, src)
            if src in self.network.nat and back.out.head is not None and back.out.head[0] is back:
                self._compete(back.out)

    def _acknowledge(self, src, receipt, end):
        receipt.append(end)
        if self._offers[src] is not None and self._offers[src][1] is receipt:
            self._offers[src] = None
            self._runnable.append(src)

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
        while not self._runnable:
            if not self._times or self._over:
                return self._hub
            self._advance()
        return self._give_floor(self._runnable.popleft())

    def _give_floor(self, rank):
        if self.on_switch is not None:
            self.on_switch(rank)
        return self._tasks[rank]

    def _wait(self, rank):
        """Let others run until somebody wakes this rank."""
        runnable, times = self._runnable, self._times
        if self._starting:
            return self._hub.switch()
        while not runnable:
            if not times or self._over:
                return self._hub.switch()
            self._advance()
        woken = runnable.popleft()
        if self.on_switch is not None:
            self.on_switch(woken)
        if woken != rank:
            self._tasks[woken].switch()

    def _end(self):
        """Unwind the ranks that are left in a wait."""
        self._over = True
        self._runnable.clear()
        for task in self._tasks:
            if task and not task.dead:
                task.throw(GreenletExit)

    # ---- the end, when nothing can move --------------------------------------------------------------------

    def waits(self):
        """Dict rank -> Wait of the ranks that wait."""
        found = {}
        for rank in range(self.ranks):
            events, line = self.completed(rank), self._lines_at[rank]
            if self._asked[rank] != NOBODY:
                found[rank] = Wait(rank, self._asked[rank], False, line, events)
            elif self._offers[rank] is not None:
                found[rank] = Wait(rank, self._offers[rank][0], True, line, events - 1)
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
            head = self._link(*((wait.rank, wait.peer) if wait.sending else (wait.peer, wait.rank))).out.head
            why = head is not None and self._shut(head[0])
            if why:
                return deadlock(waits, self._done, shut=(wait.rank, why), programs=before)
        return deadlock(waits, self._done, programs=before)

    def _shut(self, link):
        """Why a message cannot take this link, in words; None when it can."""
        src, dst = link.src, link.dst
        if (src, dst) in self.network.blocked:
            return f"nothing that rank {src} sends reaches rank {dst} (network.blocked)"
        if dst in self.network.nat and self._link(dst, src).called is None:
            return f"rank {dst} is behind NAT and has not called rank {src} first (network.nat)"
        if self.network.opens(src, dst, max(self.now)) is None:
            return f"the way from rank {src} to rank {dst} is off for good (network.off)"
        return None


def _our_line(frame, seen):
    """Line of the nearest frame that is neither the wire's nor around it; `seen` keeps it for a direct caller."""
    caller = frame
    while frame.f_code.co_filename in BETWEEN:
        frame = frame.f_back
    if frame is caller:
        seen[frame.f_lasti] = frame.f_code, frame.f_lineno
    return frame.f_lineno


def _copied(x):
    if isinstance(x, ndarray):
        return x.copy()
    if type(x) in (list, tuple):
        return [_copied(part) for part in x]
    return copy.deepcopy(x)
