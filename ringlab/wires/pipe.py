"""The pipe wire: messages between real processes over one socket pair per two ranks.

Sends never wait. What the operating system's buffer does not take at once is copied and written by a small thread
for that destination, so messages of any size can cross each other. A rank whose peer has died simply goes on
waiting: the kernel sees the death and ends the call.
"""

import select
import struct
import sys
import threading
from collections import deque

import numpy as np

from .. import plain

PREFIX = struct.Struct("<IIIQ")  # call number, tag of the collective, length of the header, length of the payload
LARGEST_READ = 4 * 2**20  # progress is noted this often inside a large message
_BLOCKED = BlockingIOError


def wait_for(sock, write=False):
    """Wait until the socket can be read (or written)."""
    if hasattr(select, "poll"):
        waiter = select.poll()
        waiter.register(sock, select.POLLOUT if write else select.POLLIN)
        waiter.poll()
    else:  # Windows
        select.select([] if write else [sock], [sock] if write else [], [sock])


class Outbox:
    """What is on its way to one peer: written at once as far as it goes, the rest by a thread."""

    def __init__(self, sock):
        self._sock = sock
        self._lock = threading.Lock()
        self._left = deque()
        self._writer = None

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
        """Write all buffers and wait for the reader where there is no room: a raw, blocking send."""
        while buffers:
            buffers = self._write_now(buffers)
            if buffers:
                yield
                wait_for(self._sock, write=True)

    def flush(self):
        """Wait until everything has been handed to the operating system."""
        writer = self._writer
        if writer is not None:
            writer.join()

    def _write_now(self, buffers):
        """The buffers that are left when the socket takes no more."""
        for i, part in enumerate(buffers):
            view = memoryview(part)
            while len(view):
                try:
                    view = view[self._sock.send(view) :]
                except _BLOCKED:
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

    `on_progress` is called while a large message arrives. `call` numbers the calls: a message that was left over
    from an earlier one is dropped when it turns up.
    """

    def __init__(self, rank, links, on_progress=lambda: None):
        self.rank = rank
        self.call = 0
        self.on_progress = on_progress
        self._links = links
        self._outboxes = {peer: Outbox(sock) for peer, sock in links.items()}
        self._to_self = deque()
        for sock in links.values():
            sock.setblocking(False)

    def send(self, value, dst, tag=0):
        """Send plain data to rank `dst`; returns at once, with a copy taken."""
        header, buffers = plain.encode(value)
        if dst == self.rank:
            self._to_self.append((header, b"".join(buffers), tag))
            return
        prefix = PREFIX.pack(self.call, tag, len(header), plain.payload_size(buffers))
        self._outboxes[dst].write([prefix + header, *buffers])

    def send_blocking(self, value, dst, on_blocked, tag=0):
        """Send and wait for the reader where the pipe is full; `on_blocked()` is called when it is."""
        header, buffers = plain.encode(value)
        prefix = PREFIX.pack(self.call, tag, len(header), plain.payload_size(buffers))
        for _ in self._outboxes[dst].write_waiting([prefix + header, *buffers]):
            on_blocked()

    def recv(self, src):
        """(value, tag) of the next message from rank `src`; waits for ever, the kernel ends what cannot come."""
        if src == self.rank:
            if not self._to_self:
                _wait_for_the_kernel()
            header, payload, tag = self._to_self.popleft()
            return plain.decode(header, bytearray(payload)), tag
        while True:
            call, tag, header_size, size = PREFIX.unpack(self._read(src, PREFIX.size))
            header, payload = bytes(self._read(src, header_size)), self._read(src, size)
            if call == self.call:
                return plain.decode(header, payload), tag

    def flush(self):
        """Wait until the operating system has all that was sent."""
        for outbox in self._outboxes.values():
            outbox.flush()

    def _read(self, src, size):
        sock, buffer = self._links[src], np.empty(size, np.uint8)
        view = buffer.data if size else memoryview(b"")
        while len(view):
            try:
                count = sock.recv_into(view[:LARGEST_READ])
            except _BLOCKED:
                wait_for(sock)
                continue
            except OSError:
                count = 0
            if count == 0:
                _wait_for_the_kernel()
            view = view[count:]
            self.on_progress()
        return buffer.data if size else b""


def _wait_for_the_kernel():
    """Stay where we are: nothing can come any more, and the kernel is about to say so."""
    sys.stdout.flush()
    threading.Event().wait()
