"""One step's backward on real ranks, while a communication thread reduces full buckets; and what nothing hides.

    plan = rl.buckets.plan([65536] * 8, cap=2**18, first=2**18)
    step = rl.overlap.step(plan)         # four processes with two threads each, an emulated device
    print(step.table())                  # when each bucket was ready, when its all-reduce began and ended

The device is `devices.Waits` (emulated, and labelled so) or `devices.Computes` (a numpy backward); `reducers` says who
calls the all-reduces. What is shown is what the threads noted, on the clock that all processes of a machine share.
"""

from dataclasses import dataclass
from typing import NamedTuple

from . import buckets as model
from . import machine
from .devices import Computes, Waits
from .network import Network
from .programs import launch
from .reducers import REDUCERS
from .source import name_of
from .stepping import play
from .texts import plural
from .verdicts import BadInput
from .world import check_ranks

__all__ = ["Computes", "Step", "Waits", "compare", "step"]

MIB = 2**20


class Span(NamedTuple):
    """What one thread of a rank did: seconds since the ranks began together.

    kind: "backward" or "all-reduce".  thread: 0 is the one that computes.
    """

    rank: int
    kind: str
    bucket: int
    thread: int
    start: float
    end: float


@dataclass(frozen=True)
class Step:
    """One step as it ran. plan: the buckets.  by: who reduced.  right: whether every sum is.

    spans: all `Span`s, rank by rank.  sums: per bucket the first number on rank 0 afterwards.  cpu: seconds of
    processor time of all ranks.  network: the emulated one, or None.  shrink: how many numbers one stands for.
    """

    plan: list
    ranks: int
    by: str
    device: Waits | Computes
    wire: str
    network: Network | None
    shrink: int
    spans: tuple
    sums: tuple
    right: bool
    cpu: float

    def of(self, rank, kind):
        """The spans of one kind on one rank, in their order."""
        return [span for span in self.spans if span.rank == rank and span.kind == kind]

    def backward(self, rank):
        """Seconds for which the rank's device was at work."""
        return sum(span.end - span.start for span in self.of(rank, "backward"))

    def exposed(self, rank=None):
        """Seconds until the rank has all sums, less those for which its device worked: what nothing hid."""
        if rank is None:
            rank = self.slowest
        return self._end(rank) - self.backward(rank)

    @property
    def seconds(self):
        """Until the last rank has its last sum."""
        return self._end(self.slowest)

    @property
    def slowest(self):
        """The rank that ends last."""
        return max(range(self.ranks), key=self._end)

    def _end(self, rank):
        return max(span.end for span in self.spans if span.rank == rank)

    @property
    def least(self):
        """Seconds below which no order of the same work can come on this machine: processor time over cores."""
        return self.cpu / machine.cpus()

    @property
    def verdict(self):
        """None, or "WRONG_RESULT", "NO_OVERLAP" (all afterwards), "FAKE_OVERLAP" (in between, backward standing still).

        As it was: real when on some rank the device worked while an all-reduce was running.
        """
        if not self.right:
            return "WRONG_RESULT"
        sent = [span for span in self.spans if span.kind == "all-reduce"]
        for span in sent:
            if any(span.start < made.end and made.start < span.end for made in self.of(span.rank, "backward")):
                return None
        return "FAKE_OVERLAP" if any(span.start < self._over(span.rank) for span in sent) else "NO_OVERLAP"

    def _over(self, rank):
        """When the rank's backward is over."""
        return self.of(rank, "backward")[-1].end

    def __repr__(self):
        told = {
            None: "they travel while backward works, all but the last",
            "FAKE_OVERLAP": "fake overlap, backward stands still while they travel" + self._on_the_same_thread(),
            "NO_OVERLAP": "no overlap, they leave when backward is over",
            "WRONG_RESULT": "the sums are WRONG",
        }[self.verdict]
        links = "emulated links" if self.network is not None else self.wire
        count = plural(len(self.plan), "bucket")
        return f"{count}, {self.ranks} ranks, {links}, {self.device.label}: {told}"

    def _on_the_same_thread(self):
        same = all(span.thread == 0 for span in self.spans)
        return " (on one thread)" if same else ""

    def model(self):
        """The `buckets.timeline` of the same plan, where it can be foretold: a device that waits, emulated links."""
        if self.network is None or not self.network.plain or not isinstance(self.device, Waits):
            return None
        return model.timeline(self.plan, self.device.seconds, self.ranks, self.network.alpha, self.network.beta)

    def table(self, rank=None):
        """Text: per bucket MiB, and when it was ready, began and ended in ms; beside it the model's begin and end."""
        rank = self.slowest if rank is None else rank
        foretold = self.model() if self.by == "thread" else None
        head = f"{'bucket':>6} {'MiB':>8} {'ready':>8} {'start':>8} {'end':>8}"
        lines = [f"rank {rank}, times in ms", head + ("   model: start, end" if foretold else "")]
        full = {span.bucket: span.end for span in self.of(rank, "backward")}
        for bucket, sent in enumerate(self.of(rank, "all-reduce")):
            times = " ".join(f"{1e3 * t:>8.1f}" for t in (full[bucket], sent.start, sent.end))
            line = f"{bucket:>6} {self.plan[bucket].nbytes / MIB:>8.1f} {times}"
            if foretold:
                line += "   " + " ".join(f"{1e3 * t:>8.1f}" for t in foretold.buckets[bucket][2:])
            lines.append(line)
        lines[-1] += "   <- full only when backward is over"
        end = f"backward worked {1e3 * self.backward(rank):.1f} ms, exposed {1e3 * self.exposed(rank):.1f} ms"
        return "\n".join([*lines, end + (f" (model {1e3 * foretold.exposed:.1f})" if foretold else "")])

    def gantt(self):
        """A figure: for each rank what its device and its communication did when, the exposed end marked."""
        from .views.gantt import of_step

        return of_step(self)


def step(
    plan,
    ranks=4,
    by="thread",
    device=None,
    *,
    wire="pipe",
    network=None,
    shrink=1,
    order=None,
    names=True,
    timeout=60.0,
):
    """A `Step`: every rank makes its gradients bucket by bucket, and `by` gets them reduced.

    plan: of `rl.buckets.plan`, in 4-byte numbers.  device: `Waits(seconds)`, the default, or `Computes(layers)` whose
    `shapes` the plan is made of.  by: "thread" (in the order of the plan), "as ready", "same thread", "afterwards", or
    a class of your own like those in `ringlab.reducers`.  network: emulated links.  shrink: send one number for that
    many, over links that are as much slower per byte: large plans in small memory.
    order: {rank: [buckets in the order in which they become ready there]}.  names: False leaves the all-reduces
    without the names by which mixed-up ones are found.
    Raises BadInput for what cannot be, and what `launch` raises: Mismatch when ranks call in different orders.
    """
    ranks, device = check_ranks(ranks), Waits() if device is None else device
    sizes = _sizes(plan, shrink)
    orders = _orders(order, ranks, len(sizes))
    if isinstance(device, Computes) and (shrink != 1 or order or sum(sizes) != model.plan(device.shapes).nbytes // 4):
        raise BadInput("a numpy backward needs the plan of its own shapes", "plan(device.shapes), no shrink, no order")
    if not callable(by) and by not in REDUCERS:
        raise BadInput(f"by={by!r} is not known", f"use one of {', '.join(REDUCERS)}, or a class")
    slower = network.but(beta=network.beta * shrink) if network is not None and shrink != 1 else network
    job = (sizes, orders, device, by, bool(names))
    returned = launch(play, ranks, wire, args=job, timeout=timeout, network=slower, progress=False)
    begin = min(one["begin"] for one in returned)
    spans = [
        Span(rank, kind, bucket, thread, (start - begin) / 1e9, (end - begin) / 1e9)
        for rank, one in enumerate(returned)
        for kind, bucket, thread, start, end in one["spans"]
    ]
    right = all(one["right"] for one in returned)
    cpu = sum(one["cpu"] for one in returned)
    name = by if isinstance(by, str) else name_of(by)
    sums = tuple(returned[0]["sums"])
    return Step(plan, ranks, name, device, wire, network, shrink, tuple(spans), sums, right, cpu)


def _sizes(plan, shrink):
    """How many numbers each bucket has on the wire."""
    if isinstance(shrink, bool) or not hasattr(shrink, "__index__") or shrink < 1:
        raise BadInput(f"shrink={shrink!r}: give a whole number, 1 or more")
    if not plan or not all(
        isinstance(bucket, model.Bucket) and bucket.nbytes == 4 * bucket.elements for bucket in plan
    ):
        raise BadInput("a step needs a plan in 4-byte numbers", "make one with rl.buckets.plan(shapes)")
    return [max(1, bucket.elements // shrink) for bucket in plan]


def _orders(order, ranks, count):
    """Per rank the order in which its buckets become ready."""
    orders = [list(range(count))] * ranks
    for rank, mine in (order or {}).items():
        if rank not in range(ranks) or sorted(mine) != list(range(count)):
            raise BadInput(f"order of rank {rank} is {mine!r}", f"name ranks below {ranks}, and every bucket once")
        orders[rank] = list(mine)
    return orders


class Comparison(list):
    """Steps of the same plan, one for each way of calling the all-reduces; `table()` shows them."""

    def table(self):
        """Text: what backward took, what was exposed, and both, of the slowest rank; what the cores need at least."""
        lines = [f"{'reduced by':<14} {'backward':>9} {'exposed':>9} {'together':>9} {'at least':>9}   ms"]
        for one in self:
            times = (one.backward(one.slowest), one.exposed(), one.seconds, one.least)
            lines.append(f"{one.by:<14} " + " ".join(f"{1e3 * t:>9.1f}" for t in times))
        both = {"afterwards", "thread"} <= {one.by for one in self}
        return "\n".join([*lines, *([self.gain_in_words()] if both else [])])

    @property
    def gain(self):
        """The share of the time exposed afterwards that the thread saved, 0 nothing, 1 all."""
        ways = {one.by: one for one in self}
        return (ways["afterwards"].seconds - ways["thread"].seconds) / ways["afterwards"].exposed()

    def gain_in_words(self):
        """The share that the thread saved, and what `at least` is."""
        saved = "nothing" if self.gain < 0.05 else f"{100 * min(self.gain, 1):.0f} %"
        least = f"at least: the ranks' processor time on {machine.cpus():g} cores, in whatever order"
        return f"the thread hid {saved} of what was exposed afterwards\n{least}"


def compare(plan, ranks=4, device=None, ways=("afterwards", "same thread", "thread"), repeats=3, **options):
    """A `Comparison`: the fastest of `repeats` steps for each of the `ways`, taken in turn; options as for `step`."""
    if isinstance(repeats, bool) or not hasattr(repeats, "__index__") or repeats < 1:
        raise BadInput(f"repeats={repeats!r}: give a whole number, 1 or more")
    found = {}
    for _ in range(repeats):
        for way in ways:
            one = step(plan, ranks, way, device, **options)
            found[way] = min(found.get(way, one), one, key=lambda each: each.seconds)
    return Comparison(found.values())
