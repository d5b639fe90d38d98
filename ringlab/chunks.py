"""Chunks: one flat buffer seen as P parts.

An algorithm reads and writes its gradient through this. Assigning to a part copies into the buffer, so
`chunks[i] = recv(...)` changes the gradient itself and not only a list slot, which is the trap of a plain
list of views.
"""

from typing import Any

import numpy as np


def bounds(n, p):
    """Where the chunks of an n-element buffer begin and end: p + 1 offsets.

    The first n % p chunks are longer by one; with n < p the last ones are empty.

    >>> bounds(10, 4)
    [0, 3, 6, 8, 10]
    """
    size, longer = divmod(n, p)
    return [i * size + min(i, longer) for i in range(p + 1)]


class Chunks:
    """`p` parts of the 1-D array `buffer`, in order; `chunks[i]` is a view, assigning to it copies into the buffer.

    Indexes like a list: negative numbers count from the end, IndexError beyond, slices give lists of views.

    >>> chunks = Chunks(np.arange(5.0), 3)
    >>> [part.tolist() for part in chunks]
    [[0.0, 1.0], [2.0, 3.0], [4.0]]
    >>> chunks[2] = 9
    >>> chunks.buffer.tolist()
    [0.0, 1.0, 2.0, 3.0, 9.0]
    """

    def __init__(self, buffer, p):
        self.buffer = buffer
        offsets = bounds(len(buffer), p)
        self._parts = [buffer[offsets[i] : offsets[i + 1]] for i in range(p)]

    def __len__(self):
        return len(self._parts)

    def __getitem__(self, index):
        return self._parts[index]

    def __setitem__(self, index, value):
        part = self._parts[index]
        if value is not part:  # after `chunks[i] += x` Python assigns the part to itself
            part[...] = value

    def __iter__(self):
        return iter(self._parts)

    def __repr__(self):
        return f"Chunks({[part.tolist() for part in self._parts]})"


class Maximum(np.ndarray):
    """An array whose `+` keeps the larger element: `op="max"` for an unmodified algorithm."""

    choose: Any = staticmethod(np.maximum)

    def __add__(self, other):
        return type(self).choose(self, other)

    __radd__ = __add__

    def __iadd__(self, other):
        type(self).choose(self, other, out=self)
        return self


class Minimum(Maximum):
    """An array whose `+` keeps the smaller element: `op="min"`."""

    choose = staticmethod(np.minimum)


ADDERS = {"sum": np.ndarray, "mean": np.ndarray, "max": Maximum, "min": Minimum}


def returned_buffer(returned, chunks):
    """The flat array of what an algorithm returned: its Chunks, or a list of arrays; plain data says what else."""
    if returned is chunks:
        return chunks.buffer.view(np.ndarray)
    if isinstance(returned, Chunks):
        return np.asarray(returned.buffer)
    if isinstance(returned, np.ndarray):
        return returned.ravel().view(np.ndarray)
    if isinstance(returned, (list, tuple)) and returned and all(isinstance(part, np.ndarray) for part in returned):
        return np.concatenate([part.ravel().view(np.ndarray) for part in returned])
    return {"returned": "None" if returned is None else type(returned).__name__}
