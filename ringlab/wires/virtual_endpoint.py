"""What `Comm` needs of a virtual rank: the pair, with each message marked by the collective it belongs to."""

from collections import defaultdict, deque

import numpy as np

from .endpoint import TagMismatch


class VirtualEndpoint:
    """The pair of `rank` on a VirtualWire. tags: one dict for all ranks, since marks cost no bytes here."""

    can_lend = False

    def __init__(self, wire, rank, send, recv, tags):
        self._wire, self._rank, self._send, self._recv, self._tags = wire, rank, send, recv, tags
        self.doing, self.tag = "no collective", 0

    @staticmethod
    def tags():
        """An empty dict for the endpoints of one run."""
        return defaultdict(deque)

    def send(self, x, dst):
        """Send a message to rank `dst`."""
        self._tags[self._rank, dst].append(self.tag)
        self._send(x, dst)

    def recv(self, src):
        """The next message from rank `src`."""
        return self._checked(self._recv(src), src)

    def sendrecv(self, x, dst, src):
        """Send to `dst` and receive from `src` at the same time: neither waits for the other."""
        self._tags[self._rank, dst].append(self.tag)
        return self._checked(self._wire.sendrecv(self._rank, x, dst, src, self._recv), src)

    def _checked(self, x, src):
        tag = self._tags[src, self._rank].popleft()
        if tag != self.tag:
            raise TagMismatch(src, tag, f"rank {self._rank} is in {self.doing}")
        return x

    def lend(self, allowed, arrays=()):
        """Nothing is lent here."""

    def settle(self):
        """Nothing was lent."""

    def empty(self, shape, dtype):
        """A new array."""
        return np.empty(shape, dtype)
