"""What more devices bring: throughput and efficiency as their number grows, and where the all-reduce takes over.

Weak scaling keeps the work of each device fixed, so the batch grows; strong scaling keeps the batch, so each device's
share shrinks. In `sweep` the ring really runs for every number of ranks: on the virtual wire, or between processes over
emulated links. The rest are closed forms. F: arithmetic per second and device, B: bytes per second and device, one way.
"""

import time
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from .buckets import exposed as _exposed
from .buckets import ring_seconds
from .network import Network
from .programs import launch
from .runs import run
from .verdicts import BadInput

BACKWARD = Fraction(2, 3)  # of a step's arithmetic: 4 of 6 operations per parameter and token
VIRTUAL_PARTS = 8  # numbers per chunk on the virtual wire; its bytes are scaled to the size that is asked for


class Chip(NamedTuple):
    """What a device does per second: `flops` operations, `bandwidth` bytes over its links one way. source: of both."""

    flops: float
    bandwidth: float
    source: str


CHIPS = {
    "TPU v5p": Chip(4.59e14, 1.8e11, "scaling book, training.md: bf16, both directions of one axis of the torus"),
    "H100": Chip(9.89e14, 5e10, "vendor's data sheet: bf16 without sparsity, one 400 Gbit/s port"),
}

# DP -> tokens per second and GPU: Ultra-Scale Playbook, sweep over data parallelism
PLAYBOOK = {8: 40149.94, 16: 37609.69, 32: 35367.61, 64: 31112.23, 128: 26446.44, 256: 15700.38}
# 128 servers with 4 GPUs, 25 Gbit/s: share of linear scaling (Horovod, docs/benchmarks.rst)
# milliseconds of a step, 4 million parameters: on one T4, and when two share the work (a blog)
TWO_T4 = (22.03, 26.36)
HOROVOD = {"Inception V3": 0.90, "ResNet-101": 0.90, "VGG-16": 0.68}


class Row(NamedTuple):
    """One number of ranks. compute, allreduce, exposed, step: seconds.  samples: of one step, in batches of one rank.

    throughput: samples per second, as a multiple of one rank's.  efficiency: the same per rank.
    """

    ranks: int
    compute: float
    allreduce: float
    exposed: float
    step: float
    samples: float
    throughput: float
    efficiency: float

    @property
    def ratio(self):
        """Communication over computation."""
        return self.allreduce / self.compute


class Sweep(list):
    """Rows, one per number of ranks. kind: "weak" or "strong".  wire: "virtual", "pipe", or "model", computed only."""

    def __init__(self, rows, kind, wire):
        super().__init__(rows)
        self.kind, self.wire = kind, wire

    def __repr__(self):
        last = self[-1]
        return (
            f"{self.kind} scaling, {self.wire}: {last.ranks} ranks give {float(last.throughput):.2f} times the "
            f"throughput, {100 * float(last.efficiency):.1f} % each"
        )

    def table(self):
        """Text: times in ms, the ratio, and what it brings."""
        names = f"{'ranks':>5} {'compute':>9} {'all-reduce':>11} {'step':>9}  ms"
        lines = [f"{names} {'ratio':>7} {'throughput':>11} {'each':>8}"]
        for row in self:
            times = (
                f"{1e3 * float(row.compute):>9.2f} {1e3 * float(row.allreduce):>11.2f} {1e3 * float(row.step):>9.2f}"
            )
            brings = f"{float(row.throughput):>10.2f}x {100 * float(row.efficiency):>6.1f} %"
            lines.append(f"{row.ranks:>5} {times}     {float(row.ratio):>7.3f} {brings}")
        return "\n".join(lines)

    def figure(self, *others):
        """A figure: throughput and efficiency against the number of ranks, of this sweep and of `others`."""
        from .views.growth import of_sweep

        return of_sweep(self, *others)


def sweep(kind="weak", ranks=(1, 2, 4, 8, 16), *, compute, nbytes, network, buckets=None, wire="virtual"):
    """A `Sweep`: the step of data-parallel training at each number of ranks.

    kind: "weak" or "strong".  compute: seconds of arithmetic of one step on one rank alone; strong: divided by the
    ranks.  nbytes: of the gradient.  network: alpha and beta of the links.  buckets: None for an all-reduce after
    backward; a number of equal buckets that travel under backward, two thirds of the arithmetic (closed form of
    `buckets.exposed`).
    wire: "virtual" runs the ring on the virtual wire, "pipe" between processes that wait for `compute` and have
    emulated links, "model" computes only.
    """
    if kind not in ("weak", "strong"):
        raise BadInput(f"kind={kind!r} is not known", "use weak or strong")
    if wire not in ("virtual", "pipe", "model"):
        raise BadInput(f"wire={wire!r} is not known", "use virtual, pipe or model")
    if not isinstance(network, Network) or not network.plain:
        raise BadInput("a sweep needs a network whose links are all alike", "use rl.Network(alpha, beta)")
    if compute <= 0 or nbytes <= 0:
        raise BadInput(f"compute={compute!r} s and nbytes={nbytes!r}", "both are above 0")
    if wire == "pipe" and buckets is not None:
        raise BadInput("between processes a sweep reduces after backward", "rl.overlap.step has buckets")
    rows, alone = [], compute  # one rank by itself: as measured, when the sweep begins with it
    for p in ranks:
        work = compute if kind == "weak" else compute / p
        samples = p if kind == "weak" else 1
        if wire == "pipe":
            work, reduce = _between_processes(p, work, nbytes, network)
        else:
            reduce = _on_the_virtual_wire(p, nbytes, network) if wire == "virtual" else _model(p, nbytes, network)
        shown = reduce
        if buckets is not None and p > 1:
            shown = _exposed(buckets, nbytes, work * BACKWARD, p, network.alpha, network.beta)
        step = work + shown
        alone = step if p == 1 else alone
        throughput = samples * alone / step
        rows.append(Row(p, work, reduce, shown, step, samples, throughput, throughput / p))
    return Sweep(rows, kind, {"virtual": "virtual wire", "pipe": "emulated links", "model": "model"}[wire])


def _model(p, nbytes, network):
    return ring_seconds(nbytes, p, network.alpha, network.beta)


def _on_the_virtual_wire(p, nbytes, network):
    """Seconds of a real ring all-reduce of `nbytes` there: few numbers travel, and each stands for many."""
    if p == 1:
        return 0
    numbers = VIRTUAL_PARTS * p
    scaled = network.but(beta=network.beta * nbytes / (8 * numbers))
    return run("ring", [np.ones(numbers)] * p, ranks=p, wire="virtual", network=scaled).seconds


def _between_processes(p, work, nbytes, network):
    """(seconds of computing, of the all-reduce) that the slowest of `p` processes measured; the middle of three."""
    numbers = 64 * p
    scaled = network.but(beta=network.beta * nbytes / (8 * numbers))
    times = launch(_waiting_step, p, "pipe", args=(work, numbers, 3), network=scaled, progress=False)
    slowest = [max(steps, key=sum) for steps in zip(*times, strict=True)]
    return sorted(slowest, key=sum)[1]


def _waiting_step(comm, work, numbers, steps):
    """An emulated device that waits, then an all-reduce: (seconds, seconds) of each step."""
    gradient, found = np.ones(numbers), []
    for _ in range(steps):
        comm.barrier()
        begin = time.perf_counter()
        time.sleep(work)
        middle = time.perf_counter()
        comm.allreduce(gradient)
        found.append((middle - begin, time.perf_counter() - middle))
    return found


def last_that_fits(compute, nbytes, network, most=100_000):
    """The largest number of ranks at which, in strong scaling, the all-reduce still fits under the backward pass.

    Backward takes two thirds of compute/P, the ring 2(P-1)(alpha + nbytes beta / P): the one shrinks, the other grows.
    At least 1, where there is nothing to reduce.
    """
    p = 1
    while p < most and ring_seconds(nbytes, p + 1, network.alpha, network.beta) <= BACKWARD * compute / (p + 1):
        p += 1
    return p


def ratio(tokens, chip, ranks, itemsize=2):
    """Seconds of arithmetic over seconds of all-reduce for `tokens` per device: 3 D B P / (b F (P-1)).

    Each of the N parameters costs 6 operations per token, and b = `itemsize` bytes on the wire 2(P-1)/P times: N
    cancels. chip: a name in `CHIPS` or a `Chip`.

    >>> round(ratio(2550, "TPU v5p", 10**6), 3)
    1.5
    """
    chip, ranks = _chip(chip), _ranks(ranks)
    return 3 * tokens * chip.bandwidth * ranks / (itemsize * chip.flops * (ranks - 1))


def threshold(chip, ranks=None, itemsize=2):
    """Tokens per device from which on the all-reduce fits under backward: (b/2) (F/B) (P-1)/P. Without `ranks`: many.

    >>> round(threshold("TPU v5p")), round(threshold("H100")), round(threshold("TPU v5p", itemsize=4))
    (2550, 19780, 5100)
    """
    chip = _chip(chip)
    share = 1 if ranks is None else (_ranks(ranks) - 1) / ranks
    return itemsize / 2 * chip.flops / chip.bandwidth * share


def efficiencies(per_device=None):
    """Per number of devices (throughput over that of the fewest, efficiency), from rates per device.

    per_device: dict number -> rate of one device, default the Playbook's.

    >>> [f"{100 * each:.1f}" for _, each in efficiencies().values()]
    ['100.0', '93.7', '88.1', '77.5', '65.9', '39.1']
    >>> round(efficiencies()[256][0], 1)
    12.5
    """
    rates = PLAYBOOK if per_device is None else per_device
    fewest = min(rates)
    return {p: (rate * p / (rates[fewest] * fewest), rate / rates[fewest]) for p, rate in sorted(rates.items())}


def published():
    """A figure of the Playbook's sweep: throughput against the straight line, and what each GPU still brings."""
    from .views.growth import of_points

    found = efficiencies()
    lines = [
        f"{p} GPUs: {times:.2f} times the throughput of 8, {100 * each:.1f} % each"
        for p, (times, each) in found.items()
    ]
    return of_points([("Ultra-Scale Playbook", [(p, *pair) for p, pair in found.items()])], "\n".join(lines))


def fit(per_device=None):
    """(share per extra device, largest error) of the straight line that best fits 1/efficiency - 1 against P.

    If each step cost T (1 + s (P - P0)), efficiency would be 1 / (1 + s (P - P0)): a term that grows with the number of
    messages, as alpha does. A term in bandwidth alone would grow by (P-1)/P, that is hardly. The error is that of
    1/efficiency, least squares in relative terms.
    """
    points = efficiencies(per_device)
    fewest = min(points)
    found = [(p - fewest, 1 / each) for p, (_, each) in points.items() if p > fewest]
    # minimise the sum of ((1 + s d - y) / y)^2
    slope = sum(d * (y - 1) / y**2 for d, y in found) / sum(d * d / y**2 for d, y in found)
    return slope, max(abs(1 + slope * d - y) / y for d, y in found)


def bubble(stages, microbatches):
    """The share of time in which a pipeline of `stages` stands idle: (s-1)/(m+s-1).

    >>> bubble(4, 4), bubble(4, 16)
    (Fraction(3, 7), Fraction(3, 19))
    """
    return Fraction(stages - 1, microbatches + stages - 1)


def _chip(chip):
    if isinstance(chip, Chip):
        return chip
    if chip not in CHIPS:
        raise BadInput(
            f"chip {chip!r} is not known", f"use one of {', '.join(CHIPS)}, or Chip(flops, bandwidth, source)"
        )
    return CHIPS[chip]


def _ranks(ranks):
    if isinstance(ranks, bool) or not hasattr(ranks, "__index__") or ranks < 2:
        raise BadInput(f"ranks={ranks!r}: one device has nothing to reduce", "give a whole number from 2 up")
    return int(ranks)
