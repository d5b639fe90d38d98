"""What a learner's code does with marks: every step, until its end or as far as it came.

This runs in a rank process, for all ranks of the run at once, on the virtual wire. Like `probe.run_probe` it gives
every chunk a mark that says whose it is; unlike it, code that raises, blocks or returns early leaves its steps too.
"""

import inspect

import numpy as np
from greenlet import GreenletExit

from ..chunks import Chunks
from ..exceptions import describe_exception
from ..network import ROUNDS
from ..probe import Watcher, contents
from ..source import calling_line
from ..verdicts import Deadlock
from ..wires.virtual import RankFailed, VirtualWire

WATCHED = 16  # up to so many ranks the memory of what was sent is watched; above, that would take too long
MOST_LOANS = 128  # per rank, of memory that is watched at the same time


def most_events(ranks):
    """How many calls of send and recv a rank may make before it is said to be endless: a star chunk by chunk is not."""
    return 1000 + 4 * ranks * ranks


class Endless(Exception):
    """A rank makes more calls of send and recv than any all-reduce needs."""


def observe(function, ranks, note=None, on_switch=None):
    """Plain data about `function` on marks with `ranks` ranks, whatever it does short of hanging.

    Per rank and event, in program order: `kinds`, `peers`, `lines`, `nbytes`, `messages` (contents of each array),
    `lent` (numbers of the chunks whose memory was handed to send), `rewritten` (after which event of the same rank that
    memory was first seen changed, or None); `changes` as in `probe.run_probe`. Per rank:
    `returned` (in words), `final` (contents of what it returned), `weights` (own coefficients of each chunk, which
    `final` may have scaled), `pending` ((peer, line) of the receive in which it was left, or None). `finished`: ranks
    that returned. `ended`: None, or what stopped the run. note(round) is called at every event.
    """
    watchers = [Watcher(rank, ranks) for rank in range(ranks)]
    wire = VirtualWire(ranks, ROUNDS, on_switch=on_switch)
    lent, loans = [[] for _ in watchers], [_Loans(ranks <= WATCHED) for _ in watchers]
    pending, finished, errors = [None] * ranks, [], []

    def program(watcher):
        rank = watcher.rank

        def step():
            watcher.look()
            loans[rank].look(watcher.changes[-1])
            if len(watcher.messages) >= most_events(ranks):
                raise Endless
            if note:
                note(int(wire.now[rank]))

        def play(send, recv):
            def watched_send(x, dst):
                step()
                slots = _slots_of(x, watcher.chunks.buffer, ranks)
                send(x, dst)
                lent[rank].append(slots)
                loans[rank].add(x, slots)
                watcher.note(x)

            def watched_recv(src):
                step()
                pending[rank] = (src, calling_line())
                x = recv(src)
                pending[rank] = None
                if note:
                    note(int(wire.now[rank]))
                lent[rank].append([])
                loans[rank].add((), ())
                watcher.note(x)
                return x

            try:
                returned = function(watcher.chunks, rank, watched_send, watched_recv)
            except (GreenletExit, Endless):
                raise
            except BaseException as error:  # let the others go on, so that the earliest error can be told
                errors.append((wire.now[rank], rank, error))
                return None
            finished.append(rank)
            return returned

        return play

    returned: list = [None] * ranks
    ended = None
    try:
        returned = wire.run([program(watcher) for watcher in watchers])
    except RankFailed as error:
        ended = {"kind": "endless", "rank": error.rank, **_told(error.__cause__)}
    except Deadlock as error:
        ended = {"kind": "deadlock", "cycle": [tuple(pair) for pair in error.cycle]}
    if errors:
        _, rank, first = min(errors, key=lambda found: found[:2])
        ended = {"kind": "exit" if isinstance(first, SystemExit) else "exception", "rank": rank, **_told(first)}
    for watcher, mine in zip(watchers, loans, strict=True):
        watcher.look(everywhere=True)
        mine.look(watcher.changes[-1])
        if note:  # with many ranks even this takes a while
            note(int(wire.now[watcher.rank]))
    parts = [_parts(value, watcher) for value, watcher in zip(returned, watchers, strict=True)]
    words = [_in_words(value, watcher) for value, watcher in zip(returned, watchers, strict=True)]
    for value in returned:
        if inspect.iscoroutine(value):
            value.close()  # or Python warns that nobody awaited it
    recorded = [len(watcher.messages) for watcher in watchers]  # an event may lack what its call did not finish
    events = [mine[:count] for mine, count in zip(wire.events, recorded, strict=True)]
    return {
        "ranks": ranks,
        "kinds": [[event[0] for event in mine] for mine in events],
        "peers": [[event[1] for event in mine] for mine in events],
        "lines": [[event[2] for event in mine] for mine in events],
        "nbytes": [[event[3] for event in mine] for mine in events],
        "messages": [watcher.messages for watcher in watchers],
        "changes": [watcher.changes for watcher in watchers],
        "lent": lent,
        "rewritten": [mine.rewritten for mine in loans],
        "returned": words,
        "final": [part and [contents(x, ranks) for x in part] for part in parts],
        "weights": [part and [_weights(x, chunk, ranks) for chunk, x in enumerate(part)] for part in parts],
        "pending": pending,
        "finished": finished,
        "ended": ended,
    }


class _Loans:
    """What one rank has sent, as the memory that it handed to send and a copy of what that held."""

    def __init__(self, watch):
        self._watch, self._open = watch, []  # open: (event, whether it is memory of the chunks, arrays, copies)
        self.rewritten = []  # per event: after which event its memory was first seen changed, or None

    def add(self, message, slots):
        """Note the next event: a message that shares memory with the chunks `slots`; () for a receive."""
        parts = message if isinstance(message, (list, tuple)) else [message]
        parts = [part for part in parts if isinstance(part, np.ndarray)] if self._watch else []
        if parts and len(self._open) < MOST_LOANS:
            self._open.append((len(self.rewritten), bool(slots), parts, [part.copy() for part in parts]))
        self.rewritten.append(None)

    def look(self, changes):
        """Note which of the memory sent so far has changed. changes: of the chunks, since the last look."""
        same = []
        for loan in self._open:
            index, of_chunks, parts, copies = loan
            if (of_chunks and not changes) or all(
                np.array_equal(part, copy) for part, copy in zip(parts, copies, strict=True)
            ):
                same.append(loan)
            else:
                self.rewritten[index] = len(self.rewritten) - 1
        self._open = same


def _told(error):
    """An exception as plain data."""
    told = describe_exception(error)
    code = getattr(error, "code", None)
    kept = {key: told[key] for key in ("type", "text", "traceback")}
    return {**kept, "code": code if isinstance(code, int) else 0 if code is None else 1}


def _slots_of(x, buffer, ranks):
    """The numbers of the chunks whose memory a message shares."""
    slots, size = set(), ranks * ranks * buffer.itemsize
    begin = buffer.__array_interface__["data"][0]
    for part in x if isinstance(x, (list, tuple)) else [x]:
        if isinstance(part, np.ndarray) and part.size and np.may_share_memory(part, buffer):
            low, high = np.lib.array_utils.byte_bounds(part)
            slots.update(range((low - begin) // size, -((begin - high) // size)))
    return sorted(slots)


def _parts(value, watcher):
    """What a rank returned, as one flat array per chunk; None when it is nothing of the kind."""
    ranks, chunks = watcher.ranks, watcher.chunks
    if isinstance(value, Chunks):
        value = [value[i] for i in range(len(value))]
    if isinstance(value, np.ndarray) and value.size == chunks.buffer.size:
        value = list(value.reshape(ranks, -1))
    if not isinstance(value, (list, tuple)) or len(value) != ranks:
        return None
    try:
        parts = [np.asarray(part, float).ravel() for part in value]
    except (TypeError, ValueError):
        return None
    return parts if all(part.size == ranks * ranks for part in parts) else None


def _in_words(value, watcher):
    """ "chunks" for what was handed in, else what it is."""
    if value is watcher.chunks:
        return "chunks"
    if value is None:
        return "None"
    name = type(value).__name__
    if isinstance(value, (list, tuple)) and len(value) != watcher.ranks:
        return f"a {name} of {len(value)}"
    return "an array" if isinstance(value, np.ndarray) else f"a {name}"


def _weights(vector, chunk, ranks):
    """How often each rank's gradient is in this chunk: one number per rank, fractions for a mean."""
    own = vector.reshape(ranks, ranks)[chunk]
    return [int(x) if float(x).is_integer() else float(x) for x in own]
