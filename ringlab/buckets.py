"""Which gradients travel together, and how much of that hides behind the backward pass.

Backward makes gradients from the last layer to the first. A bucket is sent when all its gradients are there, so
everything but the last bucket can travel while backward still works. The last one never can: it is full only when
backward is over, which is when the optimiser would begin.
"""

import math
from typing import NamedTuple

from .shapes import SHAPES
from .verdicts import BadInput

__all__ = ["SHAPES", "Bucket", "Plan", "Timeline", "best_count", "drag", "exposed", "plan", "ring_seconds", "timeline"]

MIB = 2**20


class Bucket(NamedTuple):
    """Arrays that travel as one message stream: their names in the order they become ready, numbers and bytes."""

    names: tuple
    elements: int
    nbytes: int


class Plan(list):
    """Buckets in the order they are sent; `table()` shows them."""

    def __repr__(self):
        first, last = (f"{self[i].nbytes / MIB:.1f} MiB" for i in (0, -1))
        what = "1 bucket" if len(self) == 1 else f"{len(self)} buckets"
        return f"{what}, {self.nbytes / MIB:.1f} MiB: the first {first}, the last {last}"

    @property
    def nbytes(self):
        """Bytes of all buckets."""
        return sum(bucket.nbytes for bucket in self)

    def table(self):
        """Text: per bucket the number of arrays, MiB, and the first and last array that becomes ready."""
        lines = [f"{'bucket':>6} {'arrays':>7} {'MiB':>8}   from .. to"]
        for number, bucket in enumerate(self):
            ends = " .. ".join(dict.fromkeys((bucket.names[0], bucket.names[-1])))
            lines.append(f"{number:>6} {len(bucket.names):>7} {bucket.nbytes / MIB:>8.1f}   {ends}")
        lines[-1] += "   <- full only when backward is over"
        return "\n".join(lines)


def plan(shapes, cap=25 * MIB, first=MIB, itemsize=4):
    """The `Plan` of PyTorch's DistributedDataParallel: the bytes of each bucket, and what is in it.

    Arrays are taken in reverse order. A bucket is closed by the array that brings it to its limit, so it may be far
    over it and no array is cut: `first` bytes for the first bucket (it is small, so that sending starts early), `cap`
    for the others; what is left makes the last. cap=1 gives one bucket per array, cap=first=math.inf one for all.
    shapes: a network's name in `SHAPES`, or shapes, or (name, shape) pairs, or a dict, in forward order; for a shape
    also a whole number or anything with `.shape`. itemsize: bytes per number.
    Raises BadInput for limits that are not above 0, for shapes that are none, and when there are none.

    (Reducer, `compute_bucket_assignment_by_size`, and the DDP notes; the limits are PyTorch's defaults.)

    >>> plan("gpt2-small")
    13 buckets, 474.7 MiB: the first 9.0 MiB, the last 168.3 MiB
    >>> [bucket.nbytes for bucket in plan([100, 20, 30, 1], cap=200, first=100)]
    [124, 480]
    """
    cap, first = _limit("cap", cap), _limit("first", first)
    if isinstance(itemsize, bool) or not isinstance(itemsize, int) or itemsize < 1:
        raise BadInput(f"itemsize={itemsize!r}: give the bytes of one number, 4 for float32")
    buckets, names, elements, limit = Plan(), [], 0, min(first, cap)
    for name, shape in reversed(_named(shapes)):
        names.append(name)
        elements += math.prod(shape)
        if elements * itemsize >= limit:
            buckets.append(Bucket(tuple(names), elements, elements * itemsize))
            names, elements, limit = [], 0, cap
    if names:
        buckets.append(Bucket(tuple(names), elements, elements * itemsize))
    return buckets


def ring_seconds(nbytes, ranks, alpha, beta):
    """Seconds of one ring all-reduce: 2(P-1) messages of nbytes/P. alpha: s per message, beta: s per byte."""
    return 2 * (ranks - 1) * alpha + 2 * (ranks - 1) * nbytes * beta / ranks


class Sent(NamedTuple):
    """One bucket's times in seconds after backward began."""

    nbytes: int
    ready: float
    start: float
    end: float


class Timeline(NamedTuple):
    """When each bucket was ready, started and ended, in seconds after backward began."""

    buckets: tuple
    backward: float

    @property
    def seconds(self):
        """From the start of backward to the last reduced gradient."""
        return max(self.backward, self.buckets[-1].end)

    @property
    def exposed(self):
        """Seconds that the optimiser waits after backward: what nothing hides."""
        return self.seconds - self.backward

    def table(self):
        """Text: the buckets' times in milliseconds."""
        lines = [f"{'bucket':>6} {'MiB':>8} {'ready':>9} {'start':>9} {'end':>9}   ms"]
        for number, sent in enumerate(self.buckets):
            times = " ".join(f"{1e3 * float(t):>9.3f}" for t in (sent.ready, sent.start, sent.end))
            lines.append(f"{number:>6} {sent.nbytes / MIB:>8.1f} {times}")
        return "\n".join([*lines, f"exposed {1e3 * float(self.exposed):.3f} ms after backward's {self._backward}"])

    @property
    def _backward(self):
        return f"{1e3 * float(self.backward):.3f} ms"


def timeline(buckets, backward, ranks, alpha, beta):
    """The `Timeline` of buckets sent one after the other, each when it is ready and the one before has gone.

    buckets: a plan, or their bytes.  backward: its seconds, spread over the bytes of the gradients: a bucket is ready
    when backward has made as large a part of all bytes.  ranks, alpha, beta: as for `ring_seconds`. Exact for
    Fractions.
    """
    sizes = [bucket.nbytes if isinstance(bucket, Bucket) else bucket for bucket in buckets]
    if not sizes or sum(sizes) <= 0 or min(sizes) < 0:
        raise BadInput("a timeline needs buckets with bytes in them")
    free, made, sent = 0, 0, []
    for nbytes in sizes:
        made += nbytes
        ready = backward * made / sum(sizes)
        start = max(ready, free)
        free = start + ring_seconds(nbytes, ranks, alpha, beta)
        sent.append(Sent(nbytes, ready, start, free))
    return Timeline(tuple(sent), backward)


def exposed(count, nbytes, backward, ranks, alpha, beta):
    """Seconds that `count` equal buckets of `nbytes` in all stick out after `backward` seconds.

    With c = 2(P-1) alpha + 2(P-1)/P nbytes/count beta for one bucket: max(T + c, T/count + count c) - T. The first is
    bound by backward (only the last bucket shows), the second by the link (every bucket waits for the one before).
    At least c, so from two ranks on never 0.

    >>> round(1e3 * exposed(10, 1e9, 0.1, 8, 1e-6, 1 / 50e9), 3)     # milliseconds
    3.514
    """
    if isinstance(count, bool) or not hasattr(count, "__index__") or count < 1:
        raise BadInput(f"count={count!r}: give a whole number of buckets, at least 1")
    one = ring_seconds(nbytes / count, ranks, alpha, beta)
    return max(backward + one, backward / count + count * one) - backward


def best_count(nbytes, backward, ranks, alpha, beta):
    """The number of equal buckets with the least exposed time.

    With A = 2(P-1) alpha and B = 2(P-1)/P nbytes beta: where the link is the bound, sqrt(T/A), and T + exposed is
    then B + 2 sqrt(T A). Where backward is, it is worth cutting until the link is: (T - B)/A. One rank, or messages
    that cost nothing, have no best number: BadInput.

    >>> best_count(1e9, 0.1, 8, 50e-6, 1 / 12.5e9)
    12
    """
    start = 2 * (ranks - 1) * alpha
    if start <= 0:
        raise BadInput("when a message costs nothing, more buckets are always better", "give alpha > 0 and 2 ranks")
    most = max(math.sqrt(backward / start), (backward - ring_seconds(nbytes, ranks, 0, beta)) / start, 1)
    around = (math.floor(most), math.floor(most) + 1)
    return min(around, key=lambda count: exposed(count, nbytes, backward, ranks, alpha, beta))


LIMITS = (
    ("every array", 1),
    *((f"{number} MiB", number * MIB) for number in (1, 5, 25, 100)),
    ("one buffer", math.inf),
)


def drag(shapes, backward, ranks, alpha, beta, limits=LIMITS, first=MIB):
    """A figure with a slider over the buckets' size: what travels under backward, and what sticks out.

    limits: (name, bytes) pairs; as for `plan`, with the first bucket at most `first` but for the last of them. The
    others are those of `timeline`.
    """
    from .views.gantt import of_timelines

    plans = [plan(shapes, cap, math.inf if cap == math.inf else first) for _, cap in limits]
    lines = [timeline(each, backward, ranks, alpha, beta) for each in plans]
    head = shapes if isinstance(shapes, str) else "the model"
    usual = next((i for i, (_, cap) in enumerate(limits) if cap == 25 * MIB), 0)
    return of_timelines(lines, "bucket size", [name for name, _ in limits], usual, head)


def _limit(name, value):
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not value > 0:
        raise BadInput(f"{name}={value!r}: give a number of bytes above 0", "math.inf for no limit")
    return value


def _named(shapes):
    """A list of (name, shape) in forward order."""
    if isinstance(shapes, str):
        if shapes not in SHAPES:
            raise BadInput(f"no shapes for {shapes!r}", f"there are {', '.join(SHAPES)}")
        return SHAPES[shapes]
    pairs = list(shapes.items()) if isinstance(shapes, dict) else list(shapes)
    if not pairs:
        raise BadInput("a plan needs at least one array")
    found = []
    for number, entry in enumerate(pairs):
        named = isinstance(entry, (tuple, list)) and len(entry) == 2 and isinstance(entry[0], str)
        name, shape = entry if named else (f"array {number}", entry)
        shape = getattr(shape, "shape", (shape,) if hasattr(shape, "__index__") else shape)
        if not isinstance(shape, (tuple, list)) or not all(_is_size(size) for size in shape):
            raise BadInput(f"{name} has shape {shape!r}", "a shape is whole numbers, none below 0")
        found.append((name, tuple(int(size) for size in shape)))
    return found


def _is_size(size):
    return hasattr(size, "__index__") and not isinstance(size, bool) and size >= 0
