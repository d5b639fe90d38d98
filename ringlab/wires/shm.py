"""The shared-memory wire: real processes that lend each other their arrays instead of copying them.

A message is a doorbell, a few bytes on the receiver's one inbound pipe; many ranks may ring there at once, because
what is no longer than PIPE_BUF arrives in one piece. A small message travels in its doorbell. A large one is only told
of: where the algorithm declares that it `lends`, the doorbell says where the sender's array lies, and `recv` gives a
read-only view of it. For everybody else `send` copies it to a place that all can see, and `recv` copies it from there.

A rank that has borrowed says at the end that it has read all (a doorbell of the kind READ), and the lender's call does
not end before: only then may its array change. A doorbell of the kind FREE gives the place of a copy back.

A rank that waits first looks at a count in shared memory for a moment, and then sleeps in the pipe's read. The count is
only a hint; the pipe alone carries the messages and puts them in order.
"""

import os
import select
import struct
from collections import deque

import numpy as np

from .. import machine, plain
from ..arena import Heap
from .pipe import BLOCKED, MARK, FrameError, Outbox, wait_for_the_kernel

# A doorbell: a mark, its length, source, kind, call, tag of the collective, number of the message; what kind there is;
# a last byte, which no doorbell begins with: so one that was cut short is found out by the next.
BELL = struct.Struct("<HIHHIII")
LAST = b"\xa5"
INLINE, LENT, COPIED, READ, FREE = range(5)  # kinds
SIZE = struct.Struct("<H")  # length of the header behind it
PLACE = struct.Struct("<QQI")  # a copy: its place, its bytes, length of its header (which comes first)
LONGEST = min(getattr(select, "PIPE_BUF", 512), 4096)
AT_ONCE = 1 << 16  # bytes taken from the pipe in one read
SPINS = 1000  # looks at a count before a rank sleeps


class ShmWire:
    """One rank's ends: `inbox` is the descriptor of its inbound pipe, `bells` maps each peer to one of the peer's.

    `lending` says whether the calls of `send` that follow may lend. `tamper`, when set, is applied once, to the next
    doorbell: a fault.
    """

    can_lend = True

    def __init__(self, rank, inbox, bells, arena):
        self.rank, self.arena = rank, arena
        self.on_progress = None  # never called: no message comes in parts
        self._inbox, self._peers = inbox, sorted({rank, *bells})
        self._bells = {peer: _Bell(fd) for peer, fd in bells.items()}
        self._counts, self._cpus = arena.counts, machine.cpus()
        self._rest, self._source = b"", rank
        self._seen = dict.fromkeys(self._peers, 0)  # doorbells taken from the pipe, per source, over all calls
        self.begin(0)

    def begin(self, call, ranks=1):
        """Start call number `call`, on `ranks` ranks."""
        self.call, self.lending, self.tamper = call, False, None
        self.arena.divide(ranks)
        self.heap = Heap(self.arena, self.rank)
        self._spins = SPINS if ranks <= self._cpus else 0
        self._sent, self._got = dict.fromkeys(self._peers, 0), dict.fromkeys(self._peers, 0)
        self._messages = {peer: deque() for peer in self._peers}  # (number, tag, kind, header, payload)
        self._copies = {peer: deque() for peer in self._peers}  # (number, place, bytes) of copies not read yet
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

    def lendable(self, array):
        """Whether this array can be lent as it is."""
        return self.arena.place(array, self.rank) is not None

    # ---- sending -------------------------------------------------------------------------------------------

    def send(self, value, dst, tag=0):
        """Send plain data to rank `dst`; never waits for it."""
        number = self._sent[dst] = self._sent[dst] + 1
        if dst == self.rank:
            header, buffers = plain.encode(value)
            self._messages[dst].append((number, tag, INLINE, header, bytearray(b"".join(buffers))))
            return
        if self.lending:
            body = self._lend(value)
            if body is not None:
                self._lent[dst] = number
                self._ring(dst, LENT, tag, number, body)
                return
        header, buffers = plain.encode(value)
        size = plain.payload_size(buffers)
        if BELL.size + SIZE.size + len(header) + size < LONGEST:
            self._ring(dst, INLINE, tag, number, b"".join([SIZE.pack(len(header)), header, *buffers]))
        else:
            self._ring(dst, COPIED, tag, number, self._copy(header, buffers, size, dst, number))

    def settle(self, waiting):
        """Return when all that was lent has been read; `waiting(dst, number)` is called before each wait."""
        for src, number in self._borrowed.items():
            self._ring(src, READ, 0, number, b"")
        self._borrowed.clear()
        for dst, number in self._lent.items():
            while self._read[dst] < number:
                waiting(dst, number)
                self._hear(dst)
        self._lent.clear()

    def flush(self):
        """Wait until the operating system has all doorbells."""
        for bell in self._bells.values():
            bell.flush()

    def _lend(self, value):
        """What tells where the arrays of a message lie; None when they are small, or not in this rank's own region."""
        arrays = value if type(value) is list else [value]
        if not all(isinstance(part, np.ndarray) for part in arrays):
            return None
        if sum(part.nbytes for part in arrays) <= LONGEST // 2:
            return None
        places = [self.arena.place(part, self.rank) if part.nbytes else 0 for part in arrays]
        if None in places:
            return None
        header = plain.describe(value)
        body = b"".join([SIZE.pack(len(header)), header, struct.pack(f"<{len(places)}Q", *places)])
        return body if BELL.size + len(body) < LONGEST else None

    def _copy(self, header, buffers, size, dst, number):
        """Copy a message to where its receiver can see it; what tells where that is."""
        while self._copies[dst] and select.select([self._inbox], [], [], 0)[0]:
            self._hear(dst)  # it may have given some back
        offset, taken = self.heap.take(len(header) + size)
        place = self.arena.array(offset, (len(header) + size,), np.uint8)
        at = 0
        for part in (header, *buffers):
            place[at : at + len(part)] = np.frombuffer(part, np.uint8)
            at += len(part)
        self._copies[dst].append((number, offset, taken))
        return PLACE.pack(offset, at, len(header))

    def _ring(self, dst, kind, tag, number, body):
        counts, at = self._counts, self.arena.count(self.rank, dst)
        counts[at] = counts[at] + 1
        length = BELL.size + len(body) + 1
        bell = b"".join([BELL.pack(MARK, length, self.rank, kind, self.call, tag, number), body, LAST])
        if self.tamper is None:
            self._bells[dst].ring(bell)
        else:
            bells, self.tamper = self.tamper([bell]), None
            for bell in bells:
                self._bells[dst].ring(bell)

    # ---- receiving -----------------------------------------------------------------------------------------

    def recv(self, src):
        """(value, tag) of the next message from rank `src`; waits for ever, the kernel ends what cannot come."""
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
            offset, size, header_size = PLACE.unpack(payload)
            data = self.arena.array(offset, (size,), np.uint8).copy()
            self._ring(src, FREE, 0, number, b"")
            header, payload = data[:header_size].tobytes(), data[header_size:].data if size > header_size else b""
        return plain.decode(header, payload), tag

    def _hear(self, src):
        """Take what is in the inbound pipe, and sleep until there is something; `src` is who should be heard of."""
        if self._spins:
            counts, at, seen = self._counts, self.arena.count(src, self.rank), self._seen[src]
            for _ in range(self._spins):
                if counts[at] != seen:
                    break
        data = os.read(self._inbox, AT_ONCE)
        if not data:
            wait_for_the_kernel()
        if self._rest:
            data = self._rest + data
        at, end = 0, len(data)
        while end - at >= BELL.size:
            mark, length, source, kind, call, tag, number = BELL.unpack_from(data, at)
            if mark != MARK:
                raise FrameError(self._source, self.rank, "was cut short")
            if end - at < length:
                break
            if data[at + length - 1] != LAST[0]:
                raise FrameError(source, self.rank, "was cut short")
            self._source = source
            self._seen[source] += 1
            if call == self.call:  # else it was left over from an earlier one
                self._take(source, kind, tag, number, data[at + BELL.size : at + length - 1])
            at += length
        self._rest = data[at:]

    def _take(self, source, kind, tag, number, body):
        if kind == READ:
            self._read[source] = number
        elif kind == FREE:
            copies = self._copies[source]
            while copies and copies[0][0] <= number:
                self.heap.give(*copies.popleft()[1:])
        elif kind == COPIED:
            self._messages[source].append((number, tag, kind, b"", body))
        else:
            start = SIZE.size + SIZE.unpack_from(body)[0]
            payload = body[start:] if kind == LENT else bytearray(body[start:])
            self._messages[source].append((number, tag, kind, body[SIZE.size : start], payload))

    def _view(self, header, places):
        """Read-only views of the arrays that `header` describes."""
        offsets = struct.unpack(f"<{len(places) // 8}Q", places)
        views = [
            self.arena.array(offset, shape, dtype, writable=False)
            for (dtype, shape), offset in zip(plain.shapes(header), offsets, strict=True)
        ]
        return views if header[:1] == b"l" else views[0]


class _Bell:
    """The writing end of a peer's pipe. What the pipe does not take at once is written by a thread."""

    def __init__(self, fd):
        self._fd = fd
        self._outbox = Outbox(self)
        os.set_blocking(fd, False)

    def ring(self, bell):
        """Write one doorbell; never waits."""
        if self._outbox.idle:
            try:
                os.write(self._fd, bell)
                return
            except BLOCKED:
                pass
            except OSError:  # the peer is gone; the kernel knows
                return
        self._outbox.write([bell])

    def send(self, data):
        """As a socket's `send`: all or nothing, since a doorbell is no longer than PIPE_BUF."""
        return os.write(self._fd, data)

    def fileno(self):
        """The descriptor."""
        return self._fd

    def flush(self):
        """Wait until the pipe has taken all."""
        self._outbox.flush()
