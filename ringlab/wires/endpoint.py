"""One rank's `send` and `recv` on a real wire: counted, recorded, and cast to the wire's dtype."""

import time

import numpy as np

from .. import plain
from ..record import LINE, MOVED, NTH, PEER, PHASE, RECEIVING, RECV, RUNNING, SEND, SENDING, Block
from ..source import calling_line


class Endpoint:
    """The pair over `wire` for one call; every use leaves an event in `block`.

    wire_dtype: arrays travel in this dtype and come back as `dtype`.  adder: array class of what `recv` gives, so that
    `+` means the call's operation.  mode: "buffered", or "blocking" for sends that wait while the pipe is full.
    """

    def __init__(self, wire, block: Block, ranks, wire_dtype=None, dtype=None, adder=np.ndarray, mode="buffered"):
        self._wire, self._block = wire, block
        self._wire_dtype = np.dtype(wire_dtype) if wire_dtype and np.dtype(wire_dtype) != dtype else None
        self._dtype, self._adder, self._mode = dtype, adder, mode
        self._ranks = ranks
        self.tag = 0  # fingerprint of the collective that is running, carried by each of its messages
        self.events = self.sends = 0
        wire.on_progress = self._progress

    def send(self, x, dst):
        """Send an array, or a list of arrays as one message, to rank `dst`."""
        self._check(dst, "sends to")
        block, state = self._block, self._block.state
        if not isinstance(x, (np.ndarray, list)):
            x = np.asarray(x) if isinstance(x, (int, float, complex, np.generic)) else x
        if self._wire_dtype is not None:
            x = _cast(x, self._wire_dtype)
        block.begun[dst] += 1
        state[MOVED] += 1
        line = state[LINE] = calling_line()
        start = time.perf_counter_ns()
        if self._mode == "blocking":
            self._wire.send_blocking(x, dst, lambda: self._wait(SENDING, dst, block.begun[dst]), self.tag)
            state[PHASE] = RUNNING
        else:
            self._wire.send(x, dst, self.tag)
        block.add_event(SEND, dst, line, plain.numbers_in(x), start, time.perf_counter_ns())
        self.events += 1
        self.sends += 1

    def recv(self, src):
        """The next message from rank `src`."""
        self._check(src, "receives from")
        block = self._block
        block.taken[src] += 1
        line = calling_line()
        start = time.perf_counter_ns()
        block.state[LINE] = line
        self._wait(RECEIVING, src, block.taken[src])
        x, tag = self._wire.recv(src)
        block.state[PHASE] = RUNNING
        if tag != self.tag:
            raise TagMismatch(src, tag)
        block.add_event(RECV, src, line, plain.numbers_in(x), start, time.perf_counter_ns())
        self.events += 1
        if self._wire_dtype is not None:
            x = _cast(x, self._dtype)
        return x if self._adder is np.ndarray else _viewed(x, self._adder)

    def clock(self, starts):
        """The Clock of this rank: `starts[i]` is the round of its event i, or None when nobody foretold them."""
        return Clock(self, self._wire, starts)

    def _wait(self, phase, peer, nth):
        state = self._block.state
        state[PEER], state[NTH] = peer, nth
        state[MOVED] += 1
        state[PHASE] = phase

    def _progress(self):
        self._block.state[MOVED] += 1

    def _check(self, peer, does):
        if not 0 <= peer < self._ranks:
            raise ValueError(f"rank {self._wire.rank} {does} rank {peer}: ranks are 0 to {self._ranks - 1}")


class Clock:
    """For faults: in which round a rank is, and whether what it sent is on its way."""

    def __init__(self, endpoint, wire, starts):
        self._endpoint, self._starts = endpoint, starts
        self.flush = wire.flush

    def round(self):
        """The round of the rank's next event; counted per send when nobody foretold the run."""
        if self._starts:
            return self._starts[min(self._endpoint.events, len(self._starts) - 1)]
        return self._endpoint.sends


class TagMismatch(Exception):
    """A message of another collective arrived: the ranks call in different orders or with different shapes."""

    verdict = "MISMATCH"

    def __init__(self, src, tag):
        super().__init__(f"rank {src} is in another collective")
        self.src, self.tag = src, tag


def _cast(x, dtype):
    return x.astype(dtype) if isinstance(x, np.ndarray) else [part.astype(dtype) for part in x]


def _viewed(x, adder):
    return x.view(adder) if isinstance(x, np.ndarray) else [part.view(adder) for part in x]
