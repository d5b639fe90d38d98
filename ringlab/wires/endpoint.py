"""One rank's `send` and `recv` on a real wire: counted, recorded, and cast to the wire's dtype."""

import time

import numpy as np

from .. import plain
from ..record import (
    BLOCKED,
    CHECKS,
    LENDING,
    LINE,
    MOVED,
    NTH,
    PEER,
    PHASE,
    RECEIVING,
    RECV,
    RUNNING,
    SEND,
    SENDING,
    Block,
)
from ..source import calling_line
from .exchange import Exchange


class Endpoint:
    """The pair over `wire` for one call; every use leaves an event in `block`.

    casting: a Casting, when arrays travel in another dtype.  adder: array class of what `recv` gives, so that `+`
    means the call's operation.  mode: "buffered", or "blocking" for sends that wait while the pipe is full.
    network: a Network whose delays are emulated.  eager: sends above this many bytes wait for their receiver.
    """

    def __init__(
        self, wire, block: Block, ranks, casting=None, adder=np.ndarray, mode="buffered", network=None, eager=None
    ):
        self._wire, self._block = wire, block
        self._exchange = None
        if network is not None or eager is not None:
            self._exchange = Exchange(wire, network, eager, self._progress)
        self._messages = self._exchange or wire
        self._casting, self._adder, self._mode = casting, adder, mode
        self._ranks = ranks
        self.doing = "no collective"  # in words: the collective that is running, or was last
        self.line = 0  # source line to be noted, when it is the same for a while
        self.tag = 0  # fingerprint of the collective that is running, carried by each of its messages
        self.events = self.sends = 0
        self.can_lend = wire.can_lend and self._exchange is None  # an exchange keeps messages, and loans do not keep
        wire.on_progress = self._progress

    def send(self, x, dst):
        """Send an array, or a list of arrays as one message, to rank `dst`."""
        self._post(x, dst, self._mode == "blocking", wait=True)

    def sendrecv(self, x, dst, src):
        """Send to `dst` and receive from `src` at the same time: neither waits for the other."""
        nbytes = self._post(x, dst, blocking=False, wait=False)
        got = self.recv(src)
        if dst != self._wire.rank:
            self._await_receiver(dst, nbytes)
        return got

    def _post(self, x, dst, blocking, wait):
        """Send a message, and wait for its receiver where sends of that size do and `wait` says so; its bytes."""
        if not 0 <= dst < self._ranks:
            self._refuse(dst, "sends to")
        block, state = self._block, self._block.state
        if not isinstance(x, (np.ndarray, list)):
            x = np.asarray(x) if isinstance(x, (int, float, complex, np.generic)) else x
        if self._casting is not None:
            x = self._casting.out(x)
        block.begun[dst] += 1
        state[MOVED] += 1
        line = state[LINE] = self.line or calling_line()
        start = time.perf_counter_ns()
        nbytes = x.nbytes if isinstance(x, np.ndarray) else plain.numbers_in(x)
        if blocking:
            self._messages.send_blocking(x, dst, lambda still: self._blocked(still, dst), self.tag)
            state[PHASE] = RUNNING
        else:
            self._messages.send(x, dst, self.tag)
        if wait:
            self._await_receiver(dst, nbytes)
        block.add_event(SEND, dst, line, nbytes, start, time.perf_counter_ns())
        self.events += 1
        self.sends += 1
        return nbytes

    def _await_receiver(self, dst, nbytes):
        if self._exchange is not None and self._exchange.waits(nbytes):
            self._wait(SENDING, dst, self._block.begun[dst])
            self._exchange.await_receipt(dst)
            self._block.state[PHASE] = RUNNING

    def recv(self, src):
        """The next message from rank `src`."""
        if not 0 <= src < self._ranks:
            self._refuse(src, "receives from")
        block, state = self._block, self._block.state
        nth = block.taken[src] = block.taken[src] + 1
        line = state[LINE] = self.line or calling_line()
        start = time.perf_counter_ns()
        state[PEER], state[NTH] = src, nth
        state[MOVED] += 1
        state[PHASE] = RECEIVING
        x, tag = self._messages.recv(src)
        state[PHASE] = RUNNING
        if tag != self.tag:
            raise TagMismatch(src, tag, f"rank {self._wire.rank} is in {self.doing}")
        nbytes = x.nbytes if isinstance(x, np.ndarray) else plain.numbers_in(x)
        block.add_event(RECV, src, line, nbytes, start, time.perf_counter_ns())
        self.events += 1
        if self._casting is not None:
            x = self._casting.back(x)
        return x if self._adder is np.ndarray else _viewed(x, self._adder)

    def lend(self, allowed, arrays=()):
        """Whether the sends that follow may lend, on a wire that can; `arrays` are those they will mostly be of."""
        self._wire.lend(allowed and self.can_lend, arrays)

    def settle(self):
        """Return when all that was lent has been read, so that it may change again."""
        if self._wire.settle(self._lending):
            self._block.state[PHASE] = RUNNING

    def _lending(self, peer, number):
        self._wait(LENDING, peer, number)

    def empty(self, shape, dtype):
        """A new array, not initialised, which the wire can lend when it can lend at all."""
        return self._wire.empty(shape, dtype)

    def clock(self, starts):
        """The Clock of this rank: `starts[i]` is the round of its event i, or None when nobody foretold them."""
        return Clock(self, self._wire, starts)

    def _wait(self, phase, peer, nth):
        state = self._block.state
        state[PEER], state[NTH] = peer, nth
        state[MOVED] += 1
        state[PHASE] = phase

    def _blocked(self, still, dst):
        if still:
            self._block.state[CHECKS] += 1
        else:
            self._wait(BLOCKED, dst, self._block.begun[dst])

    def _progress(self):
        self._block.state[MOVED] += 1

    def _refuse(self, peer, does):
        raise ValueError(f"rank {self._wire.rank} {does} rank {peer}: ranks are 0 to {self._ranks - 1}")


class Clock:
    """For faults: in which round a rank is, and whether what it sent is on its way."""

    def __init__(self, endpoint, wire, starts):
        self._endpoint, self._starts, self._wire = endpoint, starts, wire

    def flush(self):
        """Wait until what was sent is on its way; not for ever, since who should read it may be struck as well."""
        self._wire.flush(seconds=1.0)

    def pause(self, seconds):
        """Let this much time pass on the rank."""
        time.sleep(seconds)

    def tamper(self, change):
        """Let `change(list of buffers)` have its way with the next frame that this rank sends."""
        self._wire.tamper = change

    def round(self):
        """The round of the rank's next event; counted per send when nobody foretold the run."""
        if self._starts:
            return self._starts[min(self._endpoint.events, len(self._starts) - 1)]
        return self._endpoint.sends


class TagMismatch(Exception):
    """A message of another collective arrived: the ranks call in different orders or with different shapes."""

    verdict = "MISMATCH"

    def __init__(self, src, tag, doing):
        super().__init__(f"{doing}; rank {src} is in another")
        self.peer, self.tag = src, tag


def _viewed(x, adder):
    return x.view(adder) if isinstance(x, np.ndarray) else [part.view(adder) for part in x]
