"""`rl.compare`: several all-reduces on one network, side by side, on the virtual clock; and who wins where.

The virtual wire moves a small buffer whose bytes stand for many, so a gigabyte on 64 ranks takes no memory. That is
exact in this model, as long as chunks are equally long.
"""

import itertools
import math
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from . import cost, source
from .arguments import resolve
from .network import Network
from .runs import run
from .sandbox import run_virtual
from .verdicts import BadInput
from .views.figures import bars, winners_map

WITH_SWITCH = ("switch", "nvls")  # these get one rank more: the switch, with a port per worker
ELEMENTS = 4  # per chunk of the small buffer, so that it can be halved twice
BEST_OF = 3  # real runs of which the fastest counts, when times are asked for


class Row(NamedTuple):
    """One all-reduce: its name; rounds and bytes that come one after the other; bytes in and out of the busiest port;
    seconds on the network, of which `latency` are left when bytes cost nothing, and `transfer` when messages cost
    nothing; seconds measured on real processes, or None.
    """

    algorithm: str
    rounds: int
    critical_bytes: Any
    port_bytes: Any
    seconds: Any
    latency: Any
    transfer: Any
    measured: float | None = None


class Comparison:
    """What `compare` returns: `rows`, a text table, `fastest` (a name) and `figure()`."""

    def __init__(self, rows, nbytes, network, ranks):
        self.rows, self.nbytes, self.network, self.ranks = tuple(rows), nbytes, network, ranks

    @property
    def fastest(self):
        """The algorithm with the fewest virtual seconds; the first of equals."""
        return min(self.rows, key=lambda row: row.seconds).algorithm

    def __getitem__(self, algorithm):
        """The row of one algorithm."""
        return next(row for row in self.rows if row.algorithm == algorithm)

    def __repr__(self):
        measured = any(row.measured is not None for row in self.rows)
        head = ["", "rounds", "bytes in a row", "busiest port", "time", *(["measured"] if measured else [])]
        table = [head]
        for row in self.rows:
            size = float(self.nbytes) or 1
            cells = [row.algorithm, f"{row.rounds:,}", f"{float(row.critical_bytes) / size:.4g} S"]
            cells += [f"{float(row.port_bytes) / size:.4g} S", in_seconds(row.seconds)]
            if measured:
                cells.append("" if row.measured is None else in_seconds(row.measured))
            table.append(cells)
        widths = [max(len(line[i]) for line in table) for i in range(len(head))]
        lines = [
            "  ".join(
                [line[0].ljust(widths[0]), *(cell.rjust(w) for cell, w in zip(line[1:], widths[1:], strict=True))]
            )
            for line in table
        ]
        return "\n".join([f"{self.ranks} ranks, S = {in_bytes(self.nbytes)} each", *lines])

    def figure(self):
        """Bars of time: what the messages cost, and what the bytes cost."""
        return bars(self)


def compare(names=None, nbytes=10**6, network=None, ranks=8, wire=None):
    """A `Comparison` of all-reduces of `nbytes` per rank, on the virtual clock of `network`.

    names: short names from `rl.ALGORITHMS`, or functions `f(chunks, rank, send, recv)`; by default all of ours.
    network: a Network (default: 1 us per message, 50 GB/s, one port per rank).  ranks: how many, without the switch
    that "switch" and "nvls" bring along, with a port per worker.  wire: also time real processes on this wire, the
    fastest of 3 runs; those times are of this machine and have nothing to do with `network`.
    """
    network = Network(1e-6, 1 / 50e9) if network is None else network
    if not isinstance(network, Network):
        raise BadInput(f"network is a {type(network).__name__}", "give a Network, for example rl.Network(1e-6, 2e-11)")
    cost.cost("ring", ranks, nbytes)  # says what is wrong with the numbers
    names = list(cost.ALLREDUCES) if names is None else [names] if isinstance(names, str) or callable(names) else names
    rows = [_row(name, nbytes, network, ranks, wire) for name in names]
    return Comparison(rows, nbytes, network, ranks)


def _row(name, nbytes, network, ranks, wire):
    function = resolve(name)
    label = name if isinstance(name, str) else source.name_of(function)
    if name in WITH_SWITCH:
        ranks, network = ranks + 1, network.but(multiport=(*network.multiport, ranks))
    size = Fraction(nbytes) if isinstance(nbytes, (int, Fraction)) else nbytes
    scale = size / (8 * ELEMENTS * ranks)  # bytes that one byte of the small buffer stands for

    def play(played):
        buffers = [np.ones(ELEMENTS * ranks) for _ in range(ranks)]
        return run_virtual(function, buffers, played, None, 10.0, op="sum", wire_dtype=None, adopt=True)[1:]

    unit = Network(0, 1, ports=network.ports, multiport=network.multiport)
    programs, in_a_row = play(unit)
    rounds = play(unit.but(alpha=1, beta=0))[1]
    measured = None if wire is None else _measured(function, nbytes, ranks, wire)
    return Row(
        label,
        int(rounds),
        in_a_row * scale,
        max(_moved(programs, network).values(), default=0) * scale,
        play(scaled(network, 1, scale))[1],
        play(scaled(network, 1, 0))[1],
        play(scaled(network, 0, scale))[1],
        measured,
    )


def scaled(network, messages, nbytes):
    """The same network with all costs of a message and of a byte multiplied."""

    def both(alpha, beta):
        return alpha * messages, beta * nbytes

    alpha, beta = both(network.alpha, network.beta)
    links = {edge: both(*numbers) for edge, numbers in network.links.items()}
    groups = network.groups and (network.groups[0], *both(*network.groups[1:]))
    return network.but(alpha=alpha, beta=beta, gamma=network.gamma * nbytes, links=links, groups=groups)


def _measured(function, nbytes, ranks, wire):
    inputs = [np.ones(int(nbytes) // 8) for _ in range(ranks)]
    return min(run(function, inputs, wire=wire).seconds for _ in range(BEST_OF))


def _moved(programs, network):
    moved = {}
    for rank, program in enumerate(programs):
        for _, peer, _, nbytes, *_ in program:
            port = network.port(rank, peer)
            moved[port] = moved.get(port, 0) + nbytes
    return moved


def port_bytes(trace, network):
    """Bytes in and out of every port of a trace that was used: {port: bytes}, as `network.port` names them."""
    return _moved(
        [[(0, event.peer, 0, event.nbytes) for event, _ in trace.by_rank(rank)] for rank in range(trace.ranks)],
        network,
    )


def winners(network=None, names=("doubling", "halving", "ring"), ranks=range(2, 66), smallest=1, largest=10**9):
    """A map: which of `names` is fastest by its closed form, for each number of ranks and each size (a figure).

    Sizes go from `smallest` to `largest` bytes, eight per factor 10.  network: its alpha, beta and gamma count.
    """
    network = Network(1e-6, 1 / 12.5e9) if network is None else network
    names, ranks = list(names), list(ranks)
    if not names or not ranks or not 0 < smallest < largest:
        raise BadInput("a map needs names, ranks, and sizes from `smallest` up to a larger `largest`")
    steps = round(8 * math.log10(largest / smallest))
    sizes = [smallest * 10 ** (step / 8) for step in range(steps + 1)]

    def fastest(p, size):
        return cost.fastest(p, size, network.alpha, network.beta, network.gamma, names)

    grid = [[names.index(fastest(p, size)) for p in ranks] for size in sizes]
    return winners_map(grid, ranks, sizes, names, _in_words(fastest, ranks, sizes))


def _in_words(fastest, ranks, sizes):
    """For some numbers of ranks, who is fastest from which size on."""
    lines = ["the fastest, from the smallest buffers up"]
    for p in [p for p in (2, 3, 4, 8, 12, 48, 64, 512) if p in ranks] or ranks[:1]:
        parts = [fastest(p, sizes[0])]
        for low, high in itertools.pairwise(sizes):
            before, after = fastest(p, low), fastest(p, high)
            if before != after:
                while high > 1.0005 * low:  # where exactly, to three digits
                    middle = math.sqrt(low * high)
                    low, high = (middle, high) if fastest(p, middle) == before else (low, middle)
                parts.append(f"{after} from {in_bytes(high)}")
        lines.append(f"P = {p:<4} {', '.join(parts)}")
    return "\n".join(lines)


def in_bytes(nbytes):
    """'1 GB', '372 kB', '16 B': powers of ten, three digits.

    >>> in_bytes(18605), in_bytes(10**9), in_bytes(64)
    ('18.6 kB', '1 GB', '64 B')
    """
    for unit, size in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if float(nbytes) >= size:
            return f"{float(nbytes) / size:.3g} {unit}"
    return f"{float(nbytes):.3g} B"


def in_seconds(seconds):
    """'12.6 ms', '3.2 us': four digits.

    >>> in_seconds(0.000126), in_seconds(Fraction(1, 3))
    ('126 us', '333.3 ms')
    """
    for unit, size in (("s", 1), ("ms", 1e-3), ("us", 1e-6)):
        if float(seconds) >= size:
            return f"{float(seconds) / size:.4g} {unit}"
    return f"{float(seconds) * 1e9:.4g} ns"
