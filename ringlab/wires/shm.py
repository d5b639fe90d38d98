"""The shared-memory wire: real processes that lend each other their arrays instead of copying them.

A message is a doorbell, a few bytes on the receiver's one inbound pipe; many ranks may ring there at once, because
what is no longer than PIPE_BUF arrives in one piece. A small message travels in its doorbell. A large one is only told
of: where the algorithm declares that it `lends`, the doorbell says where the sender's array lies, and `recv` gives a
read-only view of it. An array that lies elsewhere, in private memory, is copied to a place that all can see first, and
the view is of that copy. For all who do not lend, `send` copies and `recv` copies once more.

A rank that has borrowed says at the end that it has read all (a doorbell of the kind READ), and the lender's call does
not end before: only then may its array change. A doorbell of the kind FREE gives the place of a copy back; one that
was only viewed is given back with the next call of `send` or `recv`, since who lends also reads what it gets at once.

A rank that waits first looks at a count in shared memory for a moment, and then sleeps in the pipe's read. The count is
only a hint; the pipe alone carries the messages and puts them in order.
"""

import os
import select
import struct
import time
from collections import deque

import numpy as np

from .. import machine, plain
from ..arena import Heap
from .doorbell import BELL, COPIED, COPY, FREE, INLINE, LAST, LENT, LONGEST, PLACE, READ, ROOM, Bell
from .pipe import BLOCKED, MARK, FrameError, Outbox, wait_for_the_kernel

LENT_FROM = LONGEST // 2  # bytes; copying less is no slower than lending it, and needs no READ
AT_ONCE = 1 << 16  # bytes taken from the pipe in one read
# Looks at a count before a rank sleeps. Where looking did not help, the next look is shorter: ranks that share cores,
# with each other or with strangers, soon sleep at once.
MOST_SPINS, FEWEST_SPINS = 1000, 16
MOST_YIELDS = 1000
SLOW = 1e-4  # seconds; ranks that wait for one another yield sooner
KNOWN = 1000  # headers that are remembered


class ShmWire:
    """One rank's ends: `inbox` is the descriptor of its inbound pipe, `bells` maps each peer to one of the peer's.

    `tamper`, when set, is applied once, to the next doorbell: a fault.
    """

    can_lend = True

    def __init__(self, rank, inbox, bells, arena):
        self.rank, self.arena = rank, arena
        self.on_progress = None  # never called: no message comes in parts
        self._inbox, self._bells, self._peers = inbox, bells, sorted({rank, *bells})
        self._outboxes = {peer: Outbox(Bell(fd)) for peer, fd in bells.items()}
        self._late = set()  # peers to whom not all is written yet
        self._counts, self._cpus = arena.counts, machine.cpus()
        self._rung = {peer: arena.count(rank, peer) for peer in bells}
        self._heard = {peer: arena.count(peer, rank) for peer in bells}
        self._seen = dict.fromkeys(self._peers, 0)  # doorbells taken from the pipe, per source, over all calls
        self._rest, self._source = b"", rank
        self._headers, self._arrays = {}, {}  # (dtype, shape) -> header of one array, and back
        self._spins = FEWEST_SPINS
        self._yields = MOST_YIELDS
        self.begin(0)

    def begin(self, call, ranks=1):
        """Start call number `call`, on `ranks` ranks."""
        self.call, self.tamper = call, None
        self.lend(False)
        self._known, self._known_of = {}, None
        self.arena.divide(ranks)
        self.heap = Heap(self.arena, self.rank)
        self._yields = MOST_YIELDS
        if ranks <= self._cpus:
            self._spins = MOST_SPINS
        self._sent, self._got = dict.fromkeys(self._peers, 0), dict.fromkeys(self._peers, 0)
        self._messages = {peer: deque() for peer in self._peers}  # (number, tag, kind, header, payload)
        self._copies = {peer: deque() for peer in self._peers}  # (number, place, bytes) of copies not read yet
        self._viewed = None  # (source, number) of the copy that was viewed last and is not given back yet
        self._lent, self._borrowed = {}, {}  # peer -> number of the last message lent to it, borrowed from it
        self._read = dict.fromkeys(self._peers, 0)  # the last message that peers say they have read

    # ---- memory --------------------------------------------------------------------------------------------

    def buffer(self, slot, ranks):
        """The rank's buffer of this call, which the kernel has laid out at the beginning of its region."""
        ((dtype, shape),) = plain.shapes(slot)
        array = self.arena.array(self.arena.start(self.rank), shape, dtype)
        self.heap = Heap(self.arena, self.rank, array.nbytes)
        for rank in range(ranks):
            self.arena.touch(self.arena.start(rank), array.nbytes, write=rank == self.rank)
        return array

    def empty(self, shape, dtype):
        """A new array in the rank's region."""
        return self.heap.empty(shape, dtype)

    # ---- sending -------------------------------------------------------------------------------------------

    def lend(self, allowed, arrays=()):
        """Whether the calls of `send` that follow may lend; `arrays` are those they will mostly be of."""
        self._lending = allowed
        if allowed and arrays is not self._known_of:
            # id of an array -> the array, its header, its place: found out once, while the arrays stay the same
            self._known, self._known_of = {id(array): [array, None, None] for array in arrays}, arrays

    def send(self, value, dst, tag=0):
        """Send plain data to rank `dst`; never waits for it."""
        if self._viewed is not None:
            self._give_back()
        number = self._sent[dst] = self._sent[dst] + 1
        if dst == self.rank:
            header, buffers = plain.encode(value)
            self._messages[dst].append((number, tag, INLINE, header, b"".join(buffers)))
            return
        if isinstance(value, np.ndarray):
            known = self._known.get(id(value)) if self._lending else None
            _, header, place = known or (value, None, None)
            if header is None:
                header = self._header(value)
            if value.nbytes <= LENT_FROM:
                if known:
                    known[1] = header
                self._ring(dst, INLINE, tag, number, header, value.tobytes())
                return
            if self._lending:
                place = place or self.arena.place(value, self.rank)
                if known:
                    known[1:] = header, place
                if place is not None:
                    self._lent[dst] = number
                    self._ring(dst, LENT, tag, number, header, PLACE.pack(place))
                    return
        elif self._lending and type(value) is list and self._lend(value, dst, tag, number):
            return
        header, buffers = plain.encode(value)
        size = plain.payload_size(buffers)
        if len(header) + size <= ROOM:
            self._ring(dst, INLINE, tag, number, header, b"".join(buffers))
        else:
            along, behind = (header, b"") if len(header) + COPY.size <= ROOM else (b"", header)
            self._ring(dst, COPIED, tag, number, along, self._copy(buffers, size, behind, dst, number))

    def settle(self, waiting):
        """Return when all that was lent has been read; `waiting(dst, number)` is called before each wait.

        Whether there was a wait.
        """
        if self._viewed is not None:
            self._give_back()
        if self._borrowed:
            for src, number in self._borrowed.items():
                self._ring(src, READ, 0, number, b"", b"")
            self._borrowed.clear()
        if not self._lent:
            return False
        for dst, number in self._lent.items():
            while self._read[dst] < number:
                waiting(dst, number)
                self._hear(dst)
        self._lent.clear()
        return True

    def flush(self, seconds=None):
        """Wait until the operating system has all doorbells, at most for `seconds` per peer."""
        for outbox in self._outboxes.values():
            outbox.flush(seconds)

    def _header(self, array):
        """As of plain.encode; looked up for an array whose like was sent before."""
        key = (array.dtype, array.shape)
        header = self._headers.get(key)
        if header is None:
            header, _ = plain.encode(array)
            if len(self._headers) < KNOWN:
                self._headers[key] = header
        return header

    def _lend(self, arrays, dst, tag, number):
        """Tell `dst` where a list of arrays lies; False when they are small, or not in our own region."""
        if not all(isinstance(part, np.ndarray) for part in arrays) or sum(part.nbytes for part in arrays) <= LENT_FROM:
            return False
        places = [self.arena.place(part, self.rank) if part.nbytes else 0 for part in arrays]
        header = plain.describe(arrays)
        if None in places or len(header) + 8 * len(places) > ROOM:
            return False
        self._lent[dst] = number
        self._ring(dst, LENT, tag, number, header, struct.pack(f"<{len(places)}Q", *places))
        return True

    def _copy(self, buffers, size, header, dst, number):
        """Copy a message to where its receiver can see it; what tells where that is."""
        while self._copies[dst] and select.select([self._inbox], [], [], 0)[0]:
            self._hear(dst)  # it may have given some back
        offset, taken = self.heap.take(size + len(header))
        place = self.arena.array(offset, (size + len(header),), np.uint8)
        at = 0
        for part in (*buffers, header):
            if len(part):
                place[at : at + len(part)] = np.frombuffer(part, np.uint8)
                at += len(part)
        self._copies[dst].append((number, offset, taken))
        return COPY.pack(offset, size, len(header))

    def _ring(self, dst, kind, tag, number, header, payload):
        self._counts[self._rung[dst]] += 1
        length = BELL.size + len(header) + len(payload) + 1
        head = BELL.pack(MARK, length, self.rank, kind, len(header), self.call, tag, number)
        bell = b"".join((head, header, payload, LAST))
        if self.tamper is not None:
            bells, self.tamper = self.tamper([bell]), None
            for bell in bells:
                self._outboxes[dst].write([bell])
            return
        if dst not in self._late:
            try:
                os.write(self._bells[dst], bell)
                return
            except BLOCKED:
                self._late.add(dst)
            except OSError:  # the peer is gone; the kernel knows
                return
        outbox = self._outboxes[dst]
        outbox.write([bell])
        if outbox.idle:
            self._late.discard(dst)

    # ---- receiving -----------------------------------------------------------------------------------------

    def recv(self, src):
        """(value, tag) of the next message from rank `src`; waits for ever, the kernel ends what cannot come."""
        if self._viewed is not None:
            self._give_back()
        queue = self._messages[src]
        while not queue:
            if src == self.rank:
                wait_for_the_kernel()
            self._hear(src)
        number, tag, kind, header, payload = queue.popleft()
        expected = self._got[src] = self._got[src] + 1
        if number != expected:
            raise FrameError(src, self.rank, "came twice" if number < expected else "was lost")
        if kind == LENT:
            self._borrowed[src] = number
            return self._view(header, payload), tag
        if kind == COPIED:
            offset, size, behind = COPY.unpack(payload)
            if behind:
                header = bytes(self.arena.view(offset + size, behind))
            payload = self.arena.view(offset, size)
            self._viewed = src, number
            if not self._lending:
                payload = bytearray(payload)
                self._give_back()
        elif not self._lending:  # what was not lent may be written to
            payload = bytearray(payload)
        known = self._arrays.get(header)
        if known is not None:
            return np.ndarray(known[1], known[0], payload), tag
        value = plain.decode(header, payload)
        if isinstance(value, np.ndarray) and value.nbytes:
            self._remember(header, value)
        return value, tag

    def _hear(self, src):
        """Take what is in the inbound pipe, and sleep until there is something; `src` is who should be heard of."""
        counts, at, seen = self._counts, self._heard[src], self._seen[src]
        if counts[at] == seen:
            for _ in range(self._spins):
                if counts[at] != seen:
                    self._spins = min(2 * self._spins, MOST_SPINS)
                    break
            else:
                self._spins = max(self._spins // 2, FEWEST_SPINS)
                self._let_others_run(counts, at, seen)
        data = os.read(self._inbox, AT_ONCE)
        if not data:
            wait_for_the_kernel()
        if self._rest:
            data = self._rest + data
        at, end = 0, len(data)
        while end - at >= BELL.size:
            mark, length, source, kind, header, call, tag, number = BELL.unpack_from(data, at)
            if mark != MARK:
                raise FrameError(self._source, self.rank, "was cut short")
            if end - at < length:
                break
            start, at = at + BELL.size, at + length
            if data[at - 1] != LAST[0]:
                raise FrameError(source, self.rank, "was cut short")
            self._source = source
            self._seen[source] += 1
            if call != self.call:  # left over from an earlier one
                continue
            if kind == READ:
                self._read[source] = number
            elif kind == FREE:
                self._take_back(source, number)
            else:
                middle = start + header
                self._messages[source].append((number, tag, kind, data[start:middle], data[middle : at - 1]))
        self._rest = data[at:]

    def _let_others_run(self, counts, at, seen):
        """Yield the core until a count changes: quicker than sleep, where none but ranks share it."""
        before = time.perf_counter()
        for _ in range(self._yields):
            os.sched_yield()
            if counts[at] != seen:
                break
            now = time.perf_counter()
            if now - before > SLOW:  # to somebody who had much to do: then sleep is better
                self._yields //= 4
                break
            before = now

    def _take_back(self, source, number):
        """The places of the copies up to `number`, which `source` has read."""
        copies = self._copies[source]
        while copies and copies[0][0] <= number:
            self.heap.give(*copies.popleft()[1:])

    def _give_back(self):
        """Give the place of the copy that was viewed last back to its sender."""
        (src, number), self._viewed = self._viewed, None
        self._ring(src, FREE, 0, number, b"", b"")

    def _view(self, header, places):
        """Read-only views of the arrays that `header` describes."""
        known = self._arrays.get(header)
        if known is not None:
            return self.arena.array(PLACE.unpack(places)[0], known[1], known[0], writable=False)
        offsets = struct.unpack(f"<{len(places) // 8}Q", places)
        views = [
            self.arena.array(offset, shape, dtype, writable=False)
            for (dtype, shape), offset in zip(plain.shapes(header), offsets, strict=True)
        ]
        if header[:1] == b"l":
            return views
        self._remember(header, views[0])
        return views[0]

    def _remember(self, header, array):
        if len(self._arrays) < KNOWN:
            self._arrays[header] = array.dtype, array.shape
