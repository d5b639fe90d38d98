"""Doorbells of the shared-memory wire: a few bytes each, on a pipe that several ranks may ring at once."""

import os
import select
import struct

# A doorbell: a mark, its length, source, kind, length of the header, call, tag of the collective, number of the
# message; the header and the payload, or where they are; a last byte, which no doorbell begins with, so that one which
# was cut short is found out by the next.
BELL = struct.Struct("<HHHHHIII")
LAST = b"\xa5"
INLINE, LENT, COPIED, READ, FREE = range(5)  # kinds
PLACE = struct.Struct("<Q")
COPY = struct.Struct("<QQI")  # of a copy: its place, its bytes, and those of the header behind it (0: it came along)
LONGEST = min(getattr(select, "PIPE_BUF", 512), 4096)
ROOM = LONGEST - BELL.size - len(LAST)  # for a header and a payload


class Bell:
    """The writing end of a peer's pipe, in the manner of a socket."""

    def __init__(self, fd):
        self._fd = fd
        os.set_blocking(fd, False)

    def send(self, data):
        """All or nothing, since a doorbell is no longer than PIPE_BUF."""
        return os.write(self._fd, data)

    def fileno(self):
        """The descriptor."""
        return self._fd
