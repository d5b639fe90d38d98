"""Memory that the processes of one world share, and that nobody else can find.

A name in the file system outlives a kernel that is killed before it could remove it. So there is none: on Linux the
segment is a file of /dev/shm that never had a name, and each rank inherits its descriptor. However the processes end,
the system frees the memory with the last of them. Elsewhere on POSIX the name lives for the microseconds between two
system calls; on Windows the system counts who has the segment open.
"""

import mmap
import os
import secrets

from multiprocess import reduction

# Where shared memory is; no name is ever made in it.
FOLDER = "/dev/shm"  # nosec B108


class Segment:
    """`size` bytes of zeros. Given as an argument to a process that is being started, it arrives there as the same one.

    buf: the bytes.  map: the mmap behind them.  fd: the descriptor, -1 on Windows. OSError when none can be made.
    """

    def __init__(self, size):
        if os.name == "nt":
            from multiprocess import shared_memory

            self._take_named(shared_memory.SharedMemory(f"ringlab_{secrets.token_hex(8)}", create=True, size=size))
            return
        fd = _nameless_file()
        try:
            os.ftruncate(fd, size)
            self._take(fd, size)
        except OSError:
            os.close(fd)
            raise

    def _take(self, fd, size):
        self.fd, self.size = fd, size
        self.map = mmap.mmap(fd, size)
        self.buf = memoryview(self.map)

    def _take_named(self, memory):
        self._named, self.fd = memory, -1
        self.size, self.map, self.buf = memory.size, memory._mmap, memory.buf

    def __reduce__(self):
        if os.name == "nt":
            return _open_named, (self._named.name,)
        return _open, (reduction.DupFd(self.fd), self.size)

    def reserve(self, offset, nbytes):
        """Take pages for a range, where the system can: without this, a full /dev/shm ends who writes with SIGBUS.

        OSError when there are not enough.
        """
        if nbytes and hasattr(os, "posix_fallocate") and self.fd >= 0:
            os.posix_fallocate(self.fd, offset, nbytes)

    def held(self):
        """Bytes of pages that are taken; 0 where the system does not tell."""
        return os.fstat(self.fd).st_blocks * 512 if self.fd >= 0 else 0

    def close(self):
        """Let go of the memory; BufferError while views of it are in use (it then goes with the last of them)."""
        if os.name == "nt":
            self._named.close()
            return
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1
        self.buf.release()
        self.map.close()


def _open(inherited, size):
    segment = Segment.__new__(Segment)
    segment._take(inherited.detach(), size)
    return segment


def _open_named(name):
    from multiprocess import shared_memory

    segment = Segment.__new__(Segment)
    segment._take_named(shared_memory.SharedMemory(name))
    return segment


def _nameless_file():
    """The descriptor of shared memory that has no name (any more), for this user only."""
    if hasattr(os, "O_TMPFILE"):
        try:
            return os.open(FOLDER, os.O_TMPFILE | os.O_RDWR | os.O_CLOEXEC, 0o600)
        except OSError:  # no such folder, or one that is no tmpfs
            return os.memfd_create("ringlab", os.MFD_CLOEXEC)
    import _posixshmem

    name = f"/ringlab_{os.getpid()}_{secrets.token_hex(4)}"
    fd = _posixshmem.shm_open(name, os.O_CREAT | os.O_EXCL | os.O_RDWR, mode=0o600)
    _posixshmem.shm_unlink(name)
    return fd
