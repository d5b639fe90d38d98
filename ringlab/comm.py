"""`comm`: what a program started by `rl.launch` gets on each rank."""

import zlib

import numpy as np

from . import algorithms
from .chunks import ADDERS, Chunks
from .reduction import accumulate_dtype, buffer_of, check_array, check_op, result_of
from .verdicts import BadInput


class Comm:
    """Rank `rank` of `size`: messages to any other rank, and collectives that all ranks call in the same order.

    `send(x, dst)` and `recv(src)` take plain data: None, numbers, text, bytes, arrays, and lists, tuples, dicts of
    these.
    """

    def __init__(self, rank, size, endpoint):
        self.rank, self.size = rank, size
        self.send, self.recv = endpoint.send, endpoint.recv
        self._endpoint = endpoint
        self._calls = 0

    def __repr__(self):
        return f"Comm(rank={self.rank}, size={self.size})"

    def allreduce(self, x, op="sum", algorithm="ring"):
        """The sum (mean, max, min) of all ranks' `x`: a new array of the same shape and dtype.

        algorithm: a name from `rl.ALGORITHMS` or any function `f(chunks, rank, send, recv)`. Every message carries
        the call's number, operation, shape and dtype, so a rank that calls something else is found before its data
        are added (MISMATCH).
        """
        array = check_array(x, self.rank)
        function = algorithms.ALGORITHMS.get(algorithm) if isinstance(algorithm, str) else algorithm
        if function is None:
            raise BadInput(f"algorithm {algorithm!r} is not known", f"use one of {', '.join(algorithms.ALGORITHMS)}")
        buffer = buffer_of(array, accumulate_dtype(array.dtype, check_op(op)))
        adder = ADDERS[op]
        chunks = Chunks(buffer.view(adder), self.size)

        def recv(src):
            return _viewed(self.recv(src), adder)

        self._enter(f"{op} of {array.dtype} {array.shape}")
        try:
            function(chunks, self.rank, self.send, recv if adder is not np.ndarray else self.recv)
        finally:
            self._endpoint.tag = 0
        return result_of(buffer, array.shape, array.dtype, op, self.size)

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

    def _enter(self, what):
        self._calls += 1
        self._endpoint.doing = f"collective {self._calls}: {what}"
        self._endpoint.tag = zlib.crc32(self._endpoint.doing.encode()) | 1


def _viewed(x, adder):
    return x.view(adder) if isinstance(x, np.ndarray) else [part.view(adder) for part in x]
