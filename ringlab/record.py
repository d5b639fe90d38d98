"""What a rank leaves in shared memory while it runs: its wait state, its events, its prints.

The kernel reads this while the ranks run (who waits for whom, whether anything moves) and after a rank died, so
that even a killed rank leaves its record. Each rank writes only its own block, nobody locks.
"""

import struct

import numpy as np

from .segment import Segment
from .verdicts import NoResource

MAX_EVENTS = 4096  # per rank and call; further events are counted, not kept
MAX_PRINT = 64 * 1024  # bytes of prints per rank and call

# Phases. SENDING: until PEER begins to receive message NTH; LENDING: until it has read it; BLOCKED: the pipe is full.
IDLE, RUNNING, RECEIVING, SENDING, DONE, LENDING, BLOCKED = range(7)
SEND, RECV = range(2)  # kinds of events

EVENT = np.dtype(
    [
        ("kind", "i4"),
        ("peer", "i4"),
        ("line", "i4"),
        ("pad", "i4"),
        ("nbytes", "i8"),
        ("start", "i8"),
        ("end", "i8"),
    ]
)
PACK_EVENT = struct.Struct("<iiiiqqq").pack_into

# The words of a rank's state. PEER and NTH (from 1) say whom it waits for and for the how manieth message. MOVED
# grows with every step: no change means no progress. EVENTS and LINES count all, also what was not kept. CURRENT is
# the rank that a virtual run is in, in the process that plays all ranks. CHECKS counts how often a blocked rank has
# looked and found its pipe still full.
PHASE, PEER, NTH, MOVED, LINE, EVENTS, PRINTED, LINES, CURRENT, CHECKS = range(10)
WORDS = 10

# In the prints of a process that plays all ranks: MARK, a rank, MARK_END, then what that rank printed.
MARK, MARK_END = "\x1e", "\x1f"


def block_size(ranks):
    """Bytes of one rank's block in a world of `ranks`."""
    return 8 * (WORDS + 2 * ranks) + MAX_EVENTS * EVENT.itemsize + MAX_PRINT


class Block:
    """One rank's part of the record, as views of shared memory."""

    def __init__(self, buffer, rank, ranks):
        offset = rank * block_size(ranks)

        def words(count):
            nonlocal offset
            view = memoryview(buffer)[offset : offset + 8 * count].cast("q")
            offset += 8 * count
            return view

        self.state = words(WORDS)
        self.begun = words(ranks)  # sends begun, per destination
        self.taken = words(ranks)  # receives begun, per source
        self._events = memoryview(buffer)[offset : offset + MAX_EVENTS * EVENT.itemsize]
        offset += MAX_EVENTS * EVENT.itemsize
        self._prints = memoryview(buffer)[offset : offset + MAX_PRINT]

    def clear(self):
        """Ready for the next call."""
        for word, value in (
            (PEER, -1),
            (NTH, 0),
            (LINE, 0),
            (EVENTS, 0),
            (PRINTED, 0),
            (LINES, 0),
            (CURRENT, -1),
        ):
            self.state[word] = value
        for peer in range(len(self.begun)):
            self.begun[peer] = self.taken[peer] = 0
        self.state[MOVED] += 1
        self.state[PHASE] = RUNNING

    def add_event(self, kind, peer, line, nbytes, start, end):
        """Keep one event (times in nanoseconds of the monotonic clock), if there is room; count it in any case."""
        count = self.state[EVENTS]
        if count < MAX_EVENTS:
            PACK_EVENT(self._events, count * EVENT.itemsize, kind, peer, line, 0, nbytes, start, end)
        self.state[EVENTS] = count + 1
        self.state[MOVED] += 1

    def add_print(self, text):
        """Keep printed text up to the cap; count lines in any case."""
        self.state[LINES] += text.count("\n")
        self.state[MOVED] += 1
        used = self.state[PRINTED]
        kept = text.encode()[: MAX_PRINT - used]
        self._prints[used : used + len(kept)] = kept
        self.state[PRINTED] = used + len(kept)

    def copy_events(self):
        """A copy of the events so far, and how many more were not kept."""
        count = self.state[EVENTS]
        kept = min(count, MAX_EVENTS)
        return np.frombuffer(bytes(self._events[: kept * EVENT.itemsize]), EVENT), count - kept

    def copy_prints(self):
        """(text kept, number of lines printed in all)."""
        return bytes(self._prints[: self.state[PRINTED]]).decode("utf-8", "replace"), self.state[LINES]

    def release(self):
        """Let go of the memory."""
        for view in (self.state, self.begun, self.taken, self._events, self._prints):
            view.release()


class Record:
    """The blocks of all ranks, in one shared segment. The kernel makes it (`segment=None`), the ranks are given it."""

    def __init__(self, ranks, segment=None):
        self.segment = _create(ranks * block_size(ranks)) if segment is None else segment
        self.blocks = [Block(self.segment.buf, rank, ranks) for rank in range(ranks)]

    def close(self):
        """Let go of the memory."""
        for block in self.blocks:
            block.release()
        self.blocks = []
        self.segment.close()


def _create(size):
    segment = None
    try:
        segment = Segment(size)
        segment.reserve(0, size)
        return segment
    except OSError as error:
        if segment is not None:
            segment.close()
        raise NoResource(
            f"{size / 2**20:.1f} MiB of shared memory are needed and not free ({error.strerror})",
            "use fewer ranks, or free some of /dev/shm",
        ) from None
