"""`comm`: what a program started by `rl.launch` gets on each rank."""

import contextlib
import zlib
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from . import algorithms, source
from .chunks import ADDERS, Chunks
from .reduction import accumulate_dtype, check_array, check_op, result_dtype, result_of
from .source import calling_line
from .verdicts import BadInput


class _Plan(NamedTuple):
    function: Callable
    dtype: np.dtype  # of the sums
    final: np.dtype  # of the result
    adder: type
    ours: bool
    lends: bool
    what: str


class _Doing(NamedTuple):
    call: int
    what: str

    def __str__(self):
        return f"collective {self.call} ({self.what})"


class Comm:
    """Rank `rank` of `size`: messages to any other rank, and collectives that all ranks call in the same order.

    `send(x, dst)` and `recv(src)` take plain data: None, numbers, text, bytes, arrays, and lists, tuples, dicts of
    these; `sendrecv(x, dst, src)` does both at once.  `empty(shape, dtype)` gives an array that the shared-memory wire
    can lend as it is.
    """

    def __init__(self, rank, size, endpoint):
        self.rank, self.size = rank, size
        self.send, self.recv = endpoint.send, endpoint.recv
        self._endpoint = endpoint
        self._calls = 0
        self._plans = {}
        # of the last call in place, which may come again: id of the array, op, algorithm, plan, chunks
        self._again = None

    def __repr__(self):
        return f"Comm(rank={self.rank}, size={self.size})"

    def sendrecv(self, x, dst, src):
        """Send `x` to rank `dst` and return the next message from rank `src`; neither waits for the other."""
        return self._endpoint.sendrecv(x, dst, src)

    def empty(self, shape, dtype=float):
        """A new array, not initialised: on wire="shm" one that need not be copied before it is lent."""
        return self._endpoint.empty(shape, dtype)

    @contextlib.contextmanager
    def lending(self, arrays):
        """Within this, `send` may lend `arrays`, where the wire can, as the ring does; in the end all loans were read.

        What was lent must not change before its receiver has read it.
        """
        endpoint = self._endpoint
        endpoint.line = calling_line()
        endpoint.lend(endpoint.can_lend, arrays)
        try:
            yield
            endpoint.settle()
        finally:
            endpoint.lend(False)
            endpoint.line = 0

    def allreduce(self, x, op="sum", algorithm="ring", out=None, name=""):
        """The sum (mean, max, min) of all ranks' `x`: a new array of the same shape and dtype.

        out: the array that gets the result instead and is returned; `x` itself will do.  name: what is reduced, in
        words; ranks that reduce things of different names at the same time are found, even when shapes are equal.
        algorithm: a name from `rl.ALGORITHMS` or any function `f(chunks, rank, send, recv)`. Every message carries
        the call's number, operation, shape and dtype, so a rank that calls something else is found before its data
        are added (MISMATCH).
        """
        if x is out and self._again is not None and self._again[:3] == (id(out), op, algorithm):
            _, _, _, plan, chunks = self._again  # the same array once more, which is what a training step does
        else:
            plan, chunks = self._prepare(x, op, algorithm, out)
        endpoint, adder = self._endpoint, plan.adder

        def recv(src):
            return _viewed(self.recv(src), adder)

        self._enter(plan.what, name)
        endpoint.line = calling_line() if plan.ours else 0
        endpoint.lend(plan.lends, chunks)
        try:
            plan.function(chunks, self.rank, self.send, recv if adder is not np.ndarray else self.recv)
            endpoint.settle()
        finally:
            endpoint.lend(False)
            endpoint.line = endpoint.tag = 0
        in_out = out is not None and chunks.buffer.base is out
        if in_out and op != "mean":
            return out
        result = result_of(chunks.buffer.view(np.ndarray), np.shape(x), plan.final, op, self.size)
        if out is not None:
            np.copyto(out, result)
            return out
        return result

    def _prepare(self, x, op, algorithm, out):
        """(plan, chunks with the numbers of `x`) for an all-reduce; the chunks of `out` itself where that will do."""
        array = x if type(x) is np.ndarray else check_array(x, self.rank)
        key = (array.shape, array.dtype, op, algorithm if isinstance(algorithm, str) else id(algorithm))
        plan = self._plans.get(key)
        if plan is None:
            if len(self._plans) > 100:
                self._plans.clear()
            plan = self._plans[key] = self._plan(check_array(x, self.rank), op, algorithm)
        if out is not None:
            _check_out(out, array.shape, plan.final, self.rank)
        in_out = out is not None and out.dtype == plan.dtype and out.flags.c_contiguous
        buffer = out.reshape(-1) if in_out else np.empty(array.size, plan.dtype)
        if out is not array or not in_out:
            np.copyto(buffer.reshape(array.shape), array, casting="unsafe")
        chunks = Chunks(buffer if plan.adder is np.ndarray else buffer.view(plan.adder), self.size)
        self._again = (id(out), op, algorithm, plan, chunks) if in_out and out is x else None
        return plan, chunks

    def own(self, array):
        """The part of the vector `array` that is this rank's after `reduce_scatter` (number rank + 1): a view."""
        return Chunks(array, self.size)[(self.rank + 1) % self.size]

    def reduce_scatter(self, x, name=""):
        """This rank's part of the sum of all ranks' vectors `x`, in length `own(x)`: the first half of a ring.

        The additions are those of `allreduce(x)` by the ring, in the same order.
        """
        array = check_array(x, self.rank).reshape(-1)
        buffer = np.array(array, dtype=accumulate_dtype(array.dtype), copy=True)
        self._enter(f"reduce_scatter of {array.dtype} {array.shape}", name)
        try:
            algorithms.reduce_scatter(Chunks(buffer, self.size), self.rank, self.send, self.recv)
        finally:
            self._endpoint.tag = 0
        return self.own(buffer).astype(array.dtype)

    def all_gather(self, part, name=""):
        """The vector whose parts the ranks bring, each the one that is its own: the other half of a ring."""
        part = check_array(part, self.rank).reshape(-1)
        parts = [part] * self.size
        self._enter(f"all_gather of {part.dtype}", name)
        try:
            algorithms.all_gather(parts, self.rank, self.send, self.recv)
        finally:
            self._endpoint.tag = 0
        return np.concatenate(parts)

    def barrier(self):
        """Return when every rank has come here: ceil(log2 P) rounds of empty messages."""
        self._enter("barrier")
        distance = 1
        try:
            while distance < self.size:
                self.send(np.empty(0), (self.rank + distance) % self.size)
                self.recv((self.rank - distance) % self.size)
                distance *= 2
        finally:
            self._endpoint.tag = 0

    def _plan(self, array, op, algorithm):
        """What all calls with such an array have in common."""
        function = algorithms.ALGORITHMS.get(algorithm) if isinstance(algorithm, str) else algorithm
        if function is None:
            raise BadInput(f"algorithm {algorithm!r} is not known", f"use one of {', '.join(algorithms.ALGORITHMS)}")
        dtype = accumulate_dtype(array.dtype, check_op(op))
        final = result_dtype(array.dtype, dtype, False, op)
        ours = source.is_builtin(function)
        lends = self._endpoint.can_lend and source.lends(function)
        return _Plan(function, dtype, final, ADDERS[op], ours, lends, f"{op} of {array.dtype} {array.shape}")

    def _enter(self, what, name=""):
        self._calls += 1
        doing = self._endpoint.doing = _Doing(self._calls, f"{name}, {what}" if name else what)
        self._endpoint.tag = zlib.crc32(doing.what.encode(), self._calls) | 1


def _check_out(out, shape, dtype, rank):
    if not isinstance(out, np.ndarray) or out.shape != shape or out.dtype != dtype or not out.flags.writeable:
        raise BadInput(
            f"out= of rank {rank} cannot take the result",
            f"give an array of shape {shape} and dtype {dtype} that may be written to",
            rank=rank,
        )


def _viewed(x, adder):
    return x.view(adder) if isinstance(x, np.ndarray) else [part.view(adder) for part in x]
