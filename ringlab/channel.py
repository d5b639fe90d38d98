"""Framed plain data over a socket: the kernel's line to each rank.

The kernel's end never blocks: `queue` takes a message, `pump` moves what can be moved, `receive` gives complete
messages. A rank's end blocks, because between calls a rank has nothing else to do.
"""

import struct
from collections import deque

import numpy as np

from . import plain

FRAME = struct.Struct("<IQ")  # length of the header, length of the payload
SMALL = 1 << 16


def frame(value):
    """A message as a list of buffers."""
    header, buffers = plain.encode(value)
    return [FRAME.pack(len(header), plain.payload_size(buffers)) + header, *buffers]


class Channel:
    """The kernel's end of a rank's line. `moved` counts bytes, so that progress can be seen."""

    def __init__(self, sock):
        self.sock = sock
        self.moved = 0
        self.open = True
        self._out = deque()
        self._messages = deque()
        self._parser = self._parse()
        self._want = next(self._parser)  # the view that the next bytes go into
        sock.setblocking(False)

    def queue(self, value):
        """Send a message as far as it goes now; the rest goes with `pump`."""
        self._out.extend(memoryview(part) for part in frame(value) if len(part))
        self.write()

    @property
    def writing(self):
        """Whether something is still to be written."""
        return bool(self._out)

    def write(self):
        """Write what the socket takes."""
        while self._out:
            part = self._out[0]
            try:
                count = self.sock.send(part)
            except BlockingIOError:
                return
            except OSError:
                self.open = False
                self._out.clear()
                return
            self.moved += count
            if count == len(part):
                self._out.popleft()
            else:
                self._out[0] = part[count:]

    def read(self):
        """Read what is there; `receive` then has the complete messages."""
        while self.open:
            try:
                count = self.sock.recv_into(self._want)
            except BlockingIOError:
                return
            except OSError:
                count = 0
            if count == 0:
                self.open = False
                return
            self.moved += count
            self._want = self._want[count:] if count < len(self._want) else next(self._parser)

    def receive(self):
        """The next complete message, or None."""
        return self._messages.popleft() if self._messages else None

    def _parse(self):
        while True:
            head = bytearray(FRAME.size)
            yield memoryview(head)
            header_size, size = FRAME.unpack(head)
            header = bytearray(header_size)
            yield memoryview(header)
            payload = np.empty(size, np.uint8)
            if size:
                yield payload.data
            self._messages.append(plain.decode(bytes(header), payload.data if size else b""))


def send_message(sock, value):
    """Write a message on a blocking socket."""
    for part in frame(value):
        if len(part):
            sock.sendall(part)


def receive_message(sock):
    """Wait for a message on a blocking socket; EOFError when the other end is gone."""
    header_size, size = FRAME.unpack(_exactly(sock, FRAME.size))
    header = bytes(_exactly(sock, header_size))
    return plain.decode(header, _exactly(sock, size) if size else b"")


def _exactly(sock, size):
    data = np.empty(size, np.uint8)
    view = data.data
    while len(view):
        count = sock.recv_into(view)
        if count == 0:
            raise EOFError
        view = view[count:]
    return data.data
