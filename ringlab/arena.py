"""The memory that all ranks of a world see: one segment, divided in every call among the ranks that take part.

It has addresses for as much as the system's shared memory can ever hold, which cost nothing. Pages are taken when they
are asked for (`reserve`, which says what is missing instead of dying of it later) and given back between calls. A
place in it is one number, the same in every process, which is how a rank lends an array to another.

Rank r's region begins with its buffer of the call; what it takes for itself in the course of the call lies behind it.
"""

import contextlib
import mmap
import weakref
from collections import deque

import numpy as np

from . import machine, plain
from .segment import Segment
from .verdicts import NoResource

LINE = 64  # bytes; a count that others watch has a cache line of its own
PAGE = mmap.PAGESIZE
ELSEWHERE = 4 * 2**30  # addresses where the system does not tell how much shared memory there is
HUGE = 2**21  # bytes of a huge page
POPULATE_READ, POPULATE_WRITE, COLLAPSE = 22, 23, 25  # for madvise, from Linux 5.14 and 6.1 on


def up(nbytes, step):
    """`nbytes` rounded up to a multiple of `step`."""
    return -(-nbytes // step) * step


class Arena:
    """Shared memory of `ranks` ranks. The kernel makes it (`segment=None`), the ranks are given it."""

    def __init__(self, ranks, segment=None):
        self.ranks = ranks
        self.head = HUGE
        counted = up(ranks * ranks * LINE, PAGE)
        self.segment = _create(self.head) if segment is None else segment
        self.buffer = self.segment.buf
        self._ready = 0  # bytes at the beginning of each region that are reserved
        self.divide(ranks)
        self._base = np.frombuffer(self.buffer, np.uint8, 1).__array_interface__["data"][0]
        self._read_only = self.buffer.toreadonly()
        self.counts = self.buffer[: ranks * ranks * LINE].cast("q")  # see `count`
        if segment is None:
            self.reserve(0, counted)

    def divide(self, ranks):
        """Divide the memory among the first `ranks` ranks; whether that changed anything."""
        before = getattr(self, "region", None)
        size = (self.segment.size - self.head) // ranks
        self.region = size // (HUGE if size >= 64 * HUGE else PAGE) * (HUGE if size >= 64 * HUGE else PAGE)
        return self.region != before

    def start(self, rank):
        """Where the region of `rank` begins."""
        return self.head + rank * self.region

    def count(self, src, dst):
        """Index in `counts` of the number of doorbells that `src` has rung at `dst`."""
        return (src * self.ranks + dst) * (LINE // 8)

    def place(self, array, rank):
        """Where a C-contiguous array lies, or None when it is not in the region of `rank`."""
        offset = array.__array_interface__["data"][0] - self._base
        start = self.head + rank * self.region
        inside = start <= offset <= start + self.region - array.nbytes
        return offset if inside and array.flags.c_contiguous else None

    def array(self, offset, shape, dtype, writable=True):
        """The array at a place."""
        return np.ndarray(shape, dtype, self.buffer if writable else self._read_only, offset)

    def view(self, offset, nbytes):
        """The bytes at a place, not to be written to."""
        return self._read_only[offset : offset + nbytes]

    def reserve(self, offset, nbytes):
        """Take pages for a range; NoResource when there are not enough.

        Without this, a full /dev/shm ends whoever writes there first with SIGBUS instead of an error.
        """
        try:
            self.segment.reserve(offset, nbytes)
        except OSError:
            raise no_room(nbytes) from None

    def join_pages(self, offset, nbytes):
        """Make huge pages of a range that is reserved, where the system can: they are a tenth quicker to go through."""
        first, last = up(offset, HUGE), (offset + nbytes) // HUGE * HUGE
        if first < last:
            with contextlib.suppress(AttributeError, OSError, ValueError):
                self.segment.map.madvise(COLLAPSE, first, last - first)

    def held(self):
        """Bytes of pages that are taken."""
        return self.segment.held()

    def give_back(self):
        """Give back all pages of all regions; only between calls."""
        self._ready = 0
        with contextlib.suppress(AttributeError, OSError):  # not on this system: they stay until the world closes
            self.segment.map.madvise(mmap.MADV_REMOVE, self.head, self.segment.size - self.head)

    def make_room(self, ranks, nbytes):
        """Regions for `ranks` ranks with pages for their first `nbytes`; NoResource when there are not enough.

        What earlier calls left is kept, because pages that are there need not be made, unless it is much.
        """
        if self.divide(ranks) or self.held() > (self.segment.size - self.head) // 4:
            self.give_back()
        if nbytes > self.region:
            raise no_room(nbytes * ranks)
        if nbytes > self._ready:
            try:
                self._reserve_all(ranks, nbytes)
            except NoResource:
                self.give_back()
                try:
                    self._reserve_all(ranks, nbytes)
                except NoResource:
                    self.give_back()
                    raise no_room(nbytes * ranks) from None
            self._ready = nbytes

    def lay_out(self, buffers):
        """Copy flat buffers to the beginning of their ranks' regions; per rank what it must be told to find its own."""
        size = buffers[0].nbytes
        self.make_room(len(buffers), size)
        for rank, buffer in enumerate(buffers):
            self.touch(self.start(rank), size, write=True)
            self.array(self.start(rank), buffer.shape, buffer.dtype)[:] = buffer
        return [{"slot": plain.describe(buffer)} for buffer in buffers]

    def pick_up(self, rank, like):
        """A copy of what the buffer of `rank` holds now, of the size and dtype of `like`."""
        return self.array(self.start(rank), like.shape, like.dtype).copy()

    def _reserve_all(self, ranks, nbytes):
        for rank in range(ranks):
            self.reserve(self.start(rank), nbytes)
        for rank in range(ranks):
            self.join_pages(self.start(rank), nbytes)

    def touch(self, offset, nbytes, write=False):
        """Map a range into this process now, so that no page fault falls into a measured time."""
        if nbytes == 0:
            return
        first = offset // PAGE * PAGE
        try:
            option = POPULATE_WRITE if write else POPULATE_READ
            self.segment.map.madvise(option, first, up(offset + nbytes - first, PAGE))
        except (AttributeError, OSError, ValueError):
            self.array(offset, (nbytes,), np.uint8)[::PAGE].max()

    def close(self):
        """Let go of the memory."""
        for view in (self.counts, self._read_only):
            view.release()
        with contextlib.suppress(BufferError):
            self.segment.close()


def _create(head):
    """A segment as large as all of shared memory, or smaller where addresses are rationed."""
    size = up(machine.total_shm() or ELSEWHERE, PAGE)
    while True:
        try:
            return Segment(head + size)
        except OSError as error:
            if size <= 2**26:
                raise NoResource(
                    f"no shared memory can be made ({error.strerror})", "use wire='pipe', or see `ringlab doctor`"
                ) from None
            size = up(size // 4, PAGE)


def no_room(needed):
    """NoResource for `needed` bytes of shared memory."""
    free = machine.free_shm()
    return NoResource(
        f"{needed / 2**20:.1f} MiB of shared memory are needed"
        + ("" if free is None else f", {free / 2**20:.1f} MiB are free"),
        "use wire='pipe', or a smaller array",
        "(containers: --shm-size gives more)",
    )


class Heap:
    """What one rank takes from its region in the course of a call, behind the `used` bytes of the call's buffer."""

    def __init__(self, arena, rank, used=0):
        self._arena = arena
        self._first = arena.start(rank)
        self._end = self._first + up(used, PAGE)  # nothing is taken from here on
        self._last = self._first + arena.region
        self._reserved = self._end
        self._holes = {}  # offset -> bytes, below the end
        self._returned = deque()  # what garbage collection gives back, at any moment

    def take(self, nbytes):
        """(offset, bytes taken) of a fresh place for `nbytes`; NoResource when there is none."""
        while self._returned:
            self.give(*self._returned.popleft())
        size = up(nbytes, PAGE if nbytes >= PAGE else LINE)
        for offset in sorted(self._holes):
            hole = self._holes[offset]
            if hole >= size:
                del self._holes[offset]
                if hole > size:
                    self._holes[offset + size] = hole - size
                return offset, size
        offset = up(self._end, PAGE if nbytes >= PAGE else LINE)
        if offset + size > self._last:
            raise no_room(size)
        if offset + size > self._reserved:
            more = up(offset + size, PAGE) - self._reserved
            self._arena.reserve(self._reserved, more)
            self._arena.join_pages(self._reserved, more)
            self._arena.touch(self._reserved, more, write=True)
            self._reserved += more
        if offset > self._end:
            self._holes[self._end] = offset - self._end
        self._end = offset + size
        return offset, size

    def give(self, offset, size):
        """Give back what `take` gave."""
        for start in sorted(self._holes):
            if start + self._holes[start] == offset:
                offset, size = start, size + self._holes.pop(start)
            elif offset + size == start:
                size += self._holes.pop(start)
        if offset + size == self._end:
            self._end = offset
        else:
            self._holes[offset] = size

    def empty(self, shape, dtype):
        """A new array in the region, not initialised; its place is free again when nobody refers to it any more."""
        probe = np.empty(0, dtype)
        shape = (shape,) if isinstance(shape, int) else tuple(shape)
        nbytes = int(np.prod(shape, dtype=np.int64)) * probe.itemsize
        if nbytes == 0:
            return np.empty(shape, dtype)
        offset, size = self.take(nbytes)
        array = self._arena.array(offset, shape, probe.dtype)
        weakref.finalize(array, self._returned.append, (offset, size))
        return array
