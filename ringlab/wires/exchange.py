"""What one call adds to a real wire: the delays of an emulated network, and sends that wait for their receiver.

Both work on top of any wire. A delayed message carries when it started and how long it takes; its receiver hands it
over no earlier than that. A send that waits ends when a receipt comes back: an empty message with a tag of its own.
What arrives before the receipt on the same link is kept for later.
"""

import time
from collections import Counter, defaultdict, deque

import numpy as np

from .. import plain
from .pipe import wait_for_the_kernel

RECEIPT = 2  # its tag: those of collectives are odd, or 0
LONGEST_SLEEP = 0.25  # seconds; progress is noted this often in a long delay
ONE, SEVERAL = range(2)  # what follows a stamp: an array, or a list of arrays
NOTHING = np.empty(0, np.uint8)


class Exchange:
    """Messages of one rank over `wire`, delayed as on `network` and acknowledged above `eager` bytes (None: neither).

    on_progress is called now and then in a long delay.
    """

    def __init__(self, wire, network=None, eager=None, on_progress=lambda: None):
        self._wire, self._network, self._eager = wire, network, eager
        self._on_progress = on_progress
        self._free_out, self._free_in = Counter(), Counter()  # port -> nanoseconds of the clock that all ranks share
        self._sent = Counter()
        self._kept = defaultdict(deque)  # sender -> messages that came before a receipt
        self._receipts = Counter()  # sender -> receipts that came before they were waited for

    def send(self, value, dst, tag=0):
        """Send without waiting for the receiver."""
        self._wire.send(self._stamped(value, dst), dst, tag)

    def send_blocking(self, value, dst, on_blocked, tag=0):
        """Send as the raw pipe does."""
        self._wire.send_blocking(self._stamped(value, dst), dst, on_blocked, tag)

    def waits(self, nbytes):
        """Whether a send of that many bytes waits for its receiver."""
        return self._eager is not None and nbytes > self._eager

    def await_receipt(self, dst):
        """Return when `dst` has received the last message sent to it."""
        if dst == self._wire.rank:
            wait_for_the_kernel()  # nobody can receive it while this rank waits
        while not self._receipts[dst]:
            message = self._wire.recv(dst)
            if message[1] == RECEIPT:
                self._receipts[dst] += 1
            else:
                self._kept[dst].append(message)
        self._receipts[dst] -= 1

    def recv(self, src):
        """(value, tag) of the next message from rank `src`."""
        value, tag = self._kept[src].popleft() if self._kept[src] else self._wire.recv(src)
        while tag == RECEIPT:  # of a send that is still to be waited for
            self._receipts[src] += 1
            value, tag = self._wire.recv(src)
        if self._network is not None:
            value = self._delayed(value, src)
        if src != self._wire.rank and self.waits(plain.numbers_in(value)):
            self._wire.send(NOTHING, src, RECEIPT)
        return value, tag

    def _stamped(self, value, dst):
        """The message with its start and its duration in nanoseconds."""
        if self._network is None:
            return value
        rank, nbytes = self._wire.rank, plain.numbers_in(value)
        duration = round(self._network.seconds(rank, dst, nbytes, self._sent[dst]) * 10**9)
        self._sent[dst] += 1
        port = self._network.port(rank, dst)
        start = max(time.perf_counter_ns(), self._free_out[port])
        self._free_out[port] = start + duration
        if isinstance(value, np.ndarray):
            return [np.array([start, duration, ONE]), value]
        if type(value) is list and value and all(isinstance(part, np.ndarray) for part in value):
            return [np.array([start, duration, SEVERAL]), *value]
        return (start, duration, value)

    def _delayed(self, message, src):
        """The message without its stamp, at the time when it would have arrived."""
        if type(message) is tuple:
            start, duration, value = message
        else:
            (start, duration, kind), parts = message[0].tolist(), message[1:]
            value = parts[0] if kind == ONE else parts
        port = self._network.port(self._wire.rank, src)
        arrival = self._free_in[port] = max(start, self._free_in[port]) + duration
        while (left := arrival - time.perf_counter_ns()) > 0:
            time.sleep(min(left / 1e9, LONGEST_SLEEP))
            self._on_progress()
        return value
