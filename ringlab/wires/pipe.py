"""The pipe wire: messages between real processes over one socket pair per two ranks.

Sends never wait. What the operating system's buffer does not take at once is copied and written by a small thread
for that destination, so messages of any size can cross each other. A rank whose peer has died simply goes on
waiting: the kernel sees the death and ends the call.
"""

import select
import struct
import sys
import threading
from collections import Counter, deque

import numpy as np

from .. import plain

# A frame's first bytes: a mark, the call's number, the message's number on this link, the tag of the collective, the
# length of the header, the length of the payload. A frame that was lost, doubled or cut short breaks the sequence.
PREFIX = struct.Struct("<HIIIIQ")
MARK = 0x6C72
LARGEST_READ = 4 * 2**20  # progress is noted this often inside a large message
CHECK_SECONDS = 0.005  # how often a rank in a full pipe looks whether it is full still
BLOCKED = BlockingIOError


def wait_for(sock, write=False, seconds=None):
    """Wait until the socket can be read (or written), at most for `seconds`; whether it can."""
    if hasattr(select, "poll"):
        waiter = select.poll()
        waiter.register(sock, select.POLLOUT if write else select.POLLIN)
        return bool(waiter.poll(None if seconds is None else seconds * 1000))
    ready = select.select([] if write else [sock], [sock] if write else [], [sock], seconds)  # Windows
    return any(ready)


class Outbox:
    """What is on its way to one peer: written at once as far as it goes, the rest by a thread."""

    def __init__(self, sock):
        self._sock = sock
        self._lock = threading.Lock()
        self._left = deque()
        self._writer = None

    @property
    def idle(self):
        """Whether nothing is left to be written."""
        return self._writer is None

    def write(self, buffers):
        """Take all buffers; returns without waiting for the reader."""
        with self._lock:
            if self._writer is None:
                buffers = self._write_now(buffers)
            if buffers:
                self._left.extend(bytes(part) for part in buffers)  # a copy: the caller may now change its array
                if self._writer is None:
                    self._writer = threading.Thread(target=self._write_rest, daemon=True, name="ringlab writer")
                    self._writer.start()

    def write_waiting(self, buffers):
        """Write all buffers and wait for the reader where there is no room: a raw, blocking send.

        Gives False when the pipe turns out to be full, and True each time it is found to be so still.
        """
        while buffers:
            buffers = self._write_now(buffers)
            if buffers:
                yield False
                while not wait_for(self._sock, write=True, seconds=CHECK_SECONDS):
                    yield True

    def flush(self, seconds=None):
        """Wait until everything has been handed to the operating system, at most for `seconds`."""
        writer = self._writer
        if writer is not None:
            writer.join(seconds)

    def _write_now(self, buffers):
        """The buffers that are left when the socket takes no more."""
        for i, part in enumerate(buffers):
            view = memoryview(part)
            while len(view):
                try:
                    view = view[self._sock.send(view) :]
                except BLOCKED:
                    return [view, *buffers[i + 1 :]]
                except OSError:  # the peer is gone; the kernel knows
                    return []
        return []

    def _write_rest(self):
        while True:
            with self._lock:
                if not self._left:
                    self._writer = None
                    return
                part = self._left.popleft()
            while rest := self._write_now([part]):
                part = rest[0]
                wait_for(self._sock, write=True)


class PipeWire:
    """One rank's ends of the mesh: `links` maps each peer to a connected socket.

    `on_progress` is called while a large message arrives. `begin` numbers the calls: a message that was left over
    from an earlier one is dropped when it turns up. `tamper`, when set, is applied once, to the next frame: a fault.
    """

    can_lend = False  # a pipe copies

    def __init__(self, rank, links, on_progress=lambda: None):
        self.rank = rank
        self.begin(0)
        self.on_progress = on_progress
        self._links = links
        self._outboxes = {peer: Outbox(sock) for peer, sock in links.items()}
        self._to_self = deque()
        for sock in links.values():
            sock.setblocking(False)

    def begin(self, call, ranks=1):
        """Start call number `call`, on `ranks` ranks."""
        self.call, self.tamper = call, None
        self._sent, self._got = Counter(), Counter()

    def send(self, value, dst, tag=0):
        """Send plain data to rank `dst`; returns at once, with a copy taken."""
        header, buffers = plain.encode(value)
        if dst == self.rank:
            self._to_self.append((header, b"".join(buffers), tag))
            return
        self._outboxes[dst].write(self._frame(header, buffers, dst, tag))

    def send_blocking(self, value, dst, on_blocked, tag=0):
        """Send; when the pipe is full, `on_blocked(False)` is called, and `on_blocked(True)` while it still is."""
        header, buffers = plain.encode(value)
        if dst == self.rank:
            self._to_self.append((header, b"".join(buffers), tag))
            return
        for still in self._outboxes[dst].write_waiting(self._frame(header, buffers, dst, tag)):
            on_blocked(still)

    def _frame(self, header, buffers, dst, tag):
        self._sent[dst] += 1
        prefix = PREFIX.pack(MARK, self.call, self._sent[dst], tag, len(header), plain.payload_size(buffers))
        frame = [prefix + header, *buffers]
        if self.tamper is not None:
            frame, self.tamper = self.tamper(frame), None
        return frame

    def recv(self, src):
        """(value, tag) of the next message from rank `src`; waits for ever, the kernel ends what cannot come."""
        if src == self.rank:
            if not self._to_self:
                wait_for_the_kernel()
            header, payload, tag = self._to_self.popleft()
            return plain.decode(header, bytearray(payload)), tag
        while True:
            mark, call, number, tag, header_size, size = PREFIX.unpack(self._read(src, PREFIX.size))
            if mark != MARK:
                raise FrameError(src, self.rank, "was cut short")
            header, payload = bytes(self._read(src, header_size)), self._read(src, size)
            if call != self.call:
                continue
            self._got[src] += 1
            if number != self._got[src]:
                raise FrameError(src, self.rank, "came twice" if number < self._got[src] else "was lost")
            try:
                return plain.decode(header, payload), tag
            except MemoryError:
                raise
            except Exception as error:  # a header that goes on in the next message may look like anything
                raise FrameError(src, self.rank, "was cut short") from error

    def lend(self, allowed, arrays=()):
        """Nothing is lent here."""

    def settle(self, waiting):
        """Return when all that was lent has been read: at once. Whether there was a wait."""
        return False

    def empty(self, shape, dtype):
        """A new array where messages are best sent from: anywhere."""
        return np.empty(shape, dtype)

    def flush(self, seconds=None):
        """Wait until the operating system has all that was sent, at most for `seconds` per peer."""
        for outbox in self._outboxes.values():
            outbox.flush(seconds)

    def _read(self, src, size):
        sock, buffer = self._links[src], np.empty(size, np.uint8)
        view = buffer.data if size else memoryview(b"")
        while len(view):
            try:
                count = sock.recv_into(view[:LARGEST_READ])
            except BLOCKED:
                wait_for(sock)
                continue
            except OSError:
                count = 0
            if count == 0:
                wait_for_the_kernel()
            view = view[count:]
            self.on_progress()
        return buffer.data if size else b""


class FrameError(Exception):
    """A message did not arrive as it was sent."""

    verdict = "BAD_FRAME"

    def __init__(self, src, dst, what):
        super().__init__(f"a message from rank {src} to rank {dst} {what}")
        self.peer, self.detail = src, what


def wait_for_the_kernel():
    """Stay where we are: nothing can come any more, and the kernel is about to say so."""
    sys.stdout.flush()
    threading.Event().wait()
