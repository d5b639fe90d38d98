"""The ports of the virtual wire, the messages that go through them, and the clock.

A message holds its sender's out-port and its receiver's in-port for the network's `alpha + beta * nbytes`. Only the
head of each out-queue competes, a transfer starts when both ports are free, ties go by waiting time and then by rank.
The clock only adds and compares, so with Fractions its times are exact, and they never depend on scheduling.
"""

from collections import deque
from heapq import heappop, heappush

from ..record import SEND

NOBODY = -1


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


class Transfers:
    """All messages of one run on `network`, from the moment they are posted until they have arrived.

    now: per rank its time; logs: per rank what it did, in which a transfer's start and end are noted.  `links[src]`
    maps a receiver to the Link; `agenda` maps a time to the in-ports that are due then, and `times` is a heap of these
    times.  `asked[rank]` is whose message a rank waits for; `offers[rank]` the (peer, receipt) of a send in which it
    waits; `runnable` the ranks whose wait is over.  on_progress(count) is called now and then.
    """

    def __init__(self, network, now, logs, on_progress=None):
        self.network, self.plain, self._costs = network, network.plain, {}
        self._now, self._logs = now, logs
        self.ranks = len(now)
        self.links = [{} for _ in now]
        self._out, self._in = {}, {}  # ports by the network's names for them
        self.agenda, self.times = {}, []
        self.asked = [NOBODY] * self.ranks
        self.offers: list = [None] * self.ranks
        self.runnable = deque()
        self._on_progress, self._count = on_progress, 0

    def post(self, link, nbytes, payload, line, receipt):
        """Queue a message; `receipt` (a list) gets its end, when it is to wait for its receiver."""
        time, log, out = self._now[link.src], link.log, link.out
        log.extend((SEND, link.dst, line, nbytes, time, time))
        message = (link, time, nbytes, payload, len(log) - 2, receipt)
        if link.src == link.dst:
            if receipt is None:
                link.arrive((time, payload, nbytes))
        elif out.head is not None:
            out.more.append(message)
        else:
            out.head = message
            self.compete(out)

    def link(self, src, dst):
        """The Link from rank `src` to rank `dst`; ValueError for ranks that are not there."""
        link = self.links[src].get(dst) if 0 <= src < self.ranks else None
        if link is not None:
            return link
        for peer, does in ((dst, f"rank {src} sends to"), (src, f"rank {dst} receives from")):
            if not 0 <= peer < self.ranks:
                raise ValueError(f"{does} rank {peer}: ranks are 0 to {self.ranks - 1}")
        out = self._out.setdefault(self.network.port(src, dst), OutPort())
        gate = self._in.setdefault(self.network.port(dst, src), InPort())
        link = self.links[src][dst] = Link(src, dst, out, gate, self._logs[src])
        return link

    def compete(self, out):
        """Let the head of an out-queue compete for its receiver's in-port, if it may go at all by now."""
        link, ready, *_, receipt = out.head
        src, dst = link.src, link.dst
        ready = max(ready, out.free)
        if receipt is not None:
            if self.asked[dst] != src:
                return  # until the receiver asks: see invite
            ready = max(ready, self._now[dst])
        if not self.plain:
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
            if time in self.agenda:
                self.agenda[time].append(gate)
            else:
                self.agenda[time] = [gate]
                heappush(self.times, time)

    def _opens(self, link, time):
        """The first moment from `time` on at which the network lets a message start; None while it does not."""
        if link.dst in self.network.nat:
            called = self.link(link.dst, link.src).called
            if called is None:
                return None  # until the receiver has called: see _start_if_open
            time = max(time, called)
        return self.network.opens(link.src, link.dst, time)

    def invite(self, link):
        """The receiver asks: if the message at the head waits for that, it may now compete."""
        head = link.out.head
        if head is not None and head[-1] is not None and head[0] is link:
            self.compete(link.out)

    def advance(self):
        """Move the clock to the next moment at which in-ports are due, and start a transfer on each of them."""
        time = heappop(self.times)
        plain, costs, asked, wake = self.plain, self._costs, self.asked, self.runnable.append
        due = self.agenda.pop(time)
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
                    self.compete(out)
            if gate.wanted:
                self._schedule(gate, gate.wanted[0][0])
        if self._on_progress is not None:
            self._count += len(due)
            self._on_progress(self._count)

    def _start_if_open(self, gate, out, time):
        """As in advance, where the network has more to say than alpha and beta."""
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
        if self.asked[dst] == src:
            self.asked[dst] = NOBODY
            self.runnable.append(dst)
        if receipt is not None:
            self._acknowledge(src, receipt, end)
        if out.head is not None:
            self.compete(out)
        if link.called is None:
            link.called = end
            back = self.link(dst, src)
            if src in self.network.nat and back.out.head is not None and back.out.head[0] is back:
                self.compete(back.out)

    def _acknowledge(self, src, receipt, end):
        receipt.append(end)
        if self.offers[src] is not None and self.offers[src][1] is receipt:
            self.offers[src] = None
            self.runnable.append(src)

    def unread(self):
        """(src, dst) pairs with messages that nobody received."""
        left = {(link.src, link.dst) for links in self.links for link in links.values() if link.first}
        left |= {(m[0].src, m[0].dst) for port in self._out.values() for m in (port.head, *port.more) if m}
        return sorted(left)

    def shut(self, link):
        """Why a message cannot take this link, in words; None when it can."""
        src, dst = link.src, link.dst
        if (src, dst) in self.network.blocked:
            return f"nothing that rank {src} sends reaches rank {dst} (network.blocked)"
        if dst in self.network.nat and self.link(dst, src).called is None:
            return f"rank {dst} is behind NAT and has not called rank {src} first (network.nat)"
        if self.network.opens(src, dst, max(self._now)) is None:
            return f"the way from rank {src} to rank {dst} is off for good (network.off)"
        return None
