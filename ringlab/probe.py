"""Provenance by probe: whose terms does a message or a chunk hold?

Before the data, the same code runs once on marks. Chunk c of rank r is a vector with a single 1 at position
c * P + r, so what a message holds says exactly which chunks and whose terms it carries, and how often (a 2 is a
double count), for any code that only adds, copies and scales. Nothing is wrapped or subclassed, and the code cannot
tell marks from gradients. Code that declares to cut its chunks in pieces (`function.pieces = 2`) gets marks in each
piece, and its trace follows the pieces as chunks of their own. The probe runs on the virtual wire with one time unit
per message, so it also gives the round of every message.
"""

import numpy as np

from .chunks import Chunks
from .network import ROUNDS
from .rounds import message_starts, rounds_of
from .wires.virtual import VirtualWire

__all__ = ["MAX_RANKS", "contents", "marks", "rounds_of", "run_probe"]

MAX_RANKS = 64  # above, runs are counted and not probed: the marks would outweigh the data
WATCH_ALL = 16  # up to here every chunk is compared at every call; above only those that were asked for since


def contents(vector, ranks, pieces=1):
    """What a mark vector holds: ((chunk, terms), ...), with a rank repeated in `terms` when counted more than once.

    A vector of several pieces holds what its pieces hold, a chunk of the trace each. A vector that was scaled as a
    whole (a mean) is read as if it had not been. None when it is no whole-number combination of marks, or no mark
    vector at all.
    """
    vector = np.asarray(vector)
    length = pieces * ranks * ranks
    if vector.ndim == 1 and len(vector) > length and len(vector) in range(length, pieces * length + 1, length):
        found = [contents(part, ranks, pieces) for part in vector.reshape(-1, length)]
        return None if None in found else tuple(pair for part in found for pair in part)
    if vector.shape != (length,):
        return None
    (where,) = np.nonzero(vector)
    if not len(where):
        return ()
    counts = vector[where]
    if counts.min() <= 0:
        return None
    if np.abs(counts - np.rint(counts)).max() > 1e-6:  # no whole numbers: scaled, if it is anything
        counts = counts / counts.min()
    whole = np.rint(counts)
    if (whole < 1).any() or np.abs(counts - whole).max() > 1e-6:
        return None
    held = {}
    for position, count in zip(where.tolist(), whole.astype(int).tolist(), strict=True):
        held.setdefault(position // ranks, []).extend([position % ranks] * count)
    return tuple((chunk, tuple(terms)) for chunk, terms in held.items())


def marks(rank, ranks, pieces=1):
    """The probe's buffer for one rank: per chunk (and piece) `pieces * ranks**2` float64, each with its single 1."""
    buffer = np.zeros((pieces * ranks, pieces * ranks * ranks))
    for chunk in range(pieces * ranks):
        buffer[chunk, chunk * ranks + rank] = 1
    return buffer.ravel()


class _AskedFor(Chunks):
    """Chunks that remember which of them were handed out."""

    def __init__(self, buffer, p):
        super().__init__(buffer, p)
        self.asked = set()

    def __getitem__(self, index):
        self.asked.update(range(len(self))[index] if isinstance(index, slice) else (index % len(self),))
        return super().__getitem__(index)

    def __setitem__(self, index, value):
        self.asked.add(index % len(self))
        super().__setitem__(index, value)


class Watcher:
    """Notes how one rank's chunks change between its calls of send and recv."""

    def __init__(self, rank, ranks, pieces=1):
        self.rank, self.ranks, self.pieces = rank, ranks, pieces
        self.chunks = (Chunks if ranks <= WATCH_ALL else _AskedFor)(marks(rank, ranks, pieces), ranks)
        self._before = self._now().copy()
        self.messages = []  # per event: contents of each array in the message
        self.changes = [[]]  # per event (index 0: before the first): (chunk, contents) that changed since

    def _now(self):
        return self.chunks.buffer.reshape(self.ranks * self.pieces, -1)

    def look(self, everywhere=False):
        """Note what changed since the last look."""
        now = self._now()
        candidates = np.arange(self.ranks * self.pieces)
        if isinstance(self.chunks, _AskedFor) and not everywhere:
            asked = np.array(sorted(self.chunks.asked), int)
            candidates = (asked[:, None] * self.pieces + np.arange(self.pieces)).ravel()
            self.chunks.asked.clear()
        changed = (now[candidates] != self._before[candidates]).any(axis=1)
        for chunk in candidates[changed].tolist():
            self.changes[-1].append((chunk, contents(now[chunk], self.ranks, self.pieces)))
            self._before[chunk] = now[chunk]

    def note(self, message):
        """Note one event and what its message holds."""
        parts = message if isinstance(message, (list, tuple)) else [message]
        self.messages.append([contents(part, self.ranks, self.pieces) for part in parts])
        self.changes.append([])


def run_probe(function, ranks, on_switch=None):
    """Plain data about one run of `function` on marks, or the exception that ended it.

    Per rank and event, in program order: `kinds`, `peers`, `messages` (contents of each array), `starts` (round);
    `changes` has one entry more, the first for what the code did before its first call. `final` is what each rank's
    returned chunks hold, `unread` the (src, dst) pairs with messages nobody received, `rounds` the end of the run.
    """
    pieces = getattr(function, "pieces", 1)
    watchers = [Watcher(rank, ranks, pieces) for rank in range(ranks)]
    wire = VirtualWire(ranks, ROUNDS, on_switch=on_switch)

    def program(watcher):
        def play(send, recv):
            def probed_send(x, dst):
                watcher.look()
                send(x, dst)
                watcher.note(x)

            def probed_recv(src):
                watcher.look()
                x = recv(src)
                watcher.note(x)
                return x

            returned = function(watcher.chunks, watcher.rank, probed_send, probed_recv)
            watcher.look(everywhere=True)
            return returned

        return play

    returned = wire.run([program(watcher) for watcher in watchers])
    return {
        "ranks": ranks,
        "chunks": ranks * pieces,
        "kinds": [[event[0] for event in events] for events in wire.events],
        "peers": [[event[1] for event in events] for events in wire.events],
        "lines": [[event[2] for event in events] for events in wire.events],
        "messages": [watcher.messages for watcher in watchers],
        "starts": message_starts(wire.events),
        "changes": [watcher.changes for watcher in watchers],
        "final": [_final(value, ranks, pieces) for value in returned],
        "unread": wire.unread(),
        "rounds": max(wire.now, default=0),
    }


def _final(value, ranks, pieces):
    if isinstance(value, Chunks):
        value = [value[i] for i in range(ranks)]
    if not isinstance(value, (list, tuple)):
        return None
    length = pieces * ranks * ranks
    final = []
    for part in value:
        if np.shape(part) == (pieces * length,):
            final += [contents(piece, ranks, pieces) for piece in np.reshape(part, (pieces, length))]
        else:
            final.append(None)
    return final
