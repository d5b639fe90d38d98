"""`rl.forecast`: an all-reduce on this machine, predicted from messages and additions alone, and only then timed.

For each number of ranks alpha, beta and gamma are measured with that many ranks at once (`rl.measure`), and the closed
form says what the all-reduce will take. `check()` runs it and puts the two side by side. What is left between them is
what the three numbers do not know: that copying in the second half of a ring costs, too, that beta is not one number
when a buffer outgrows a cache, how the system deals out cores, and what one call costs besides its messages.
"""

from typing import NamedTuple

from .bench_ours import one_allreduce
from .bench_timing import most_repeats, warm_ups
from .cost import ALLREDUCES, seconds
from .measuring import WIRES, measure
from .programs import launch
from .progress import Progress
from .verdicts import BadInput
from .world import check_ranks

SIZES = (1_000, 4_000, 16_000, 64_000, 256_000, 1_000_000, 4_000_000, 16_000_000)
AT_ONCE = 8_000_000  # bytes of all-reduces in a row in one turn
MOST_IN_A_ROW = 10
MOST_WARM_UPS = 10
SMALL = 100_000  # bytes: what is over so soon is timed twice as often


class Row(NamedTuple):
    """One all-reduce: seconds predicted; after `check`, the times of all turns, sorted, each of the slowest rank."""

    ranks: int
    nbytes: int
    predicted: float
    times: tuple = ()

    @property
    def measured(self):
        """Seconds of the fastest turn, or None before `check`."""
        return self.times[0] if self.times else None

    @property
    def middle(self):
        """Seconds of the median turn, or None before `check`."""
        return self.times[len(self.times) // 2] if self.times else None

    @property
    def factor(self):
        """How many times as long as predicted it took."""
        return self.measured / self.predicted


class Forecast:
    """rows: `Row`s.  networks: {ranks: Measured}.  `check()` times what was predicted; `figure()` draws it."""

    def __init__(self, algorithm, wire, networks, rows):
        self.algorithm, self.wire, self.networks, self.rows = algorithm, wire, networks, tuple(rows)

    @property
    def worst(self):
        """The largest factor between prediction and measurement, either way; None before `check`."""
        factors = [row.factor for row in self.rows if row.times]
        return max(max(f, 1 / f) for f in factors) if factors else None

    def check(self, turns=5):
        """This forecast, with every row timed on real processes: `turns` times and more, the fastest counts."""
        if isinstance(turns, bool) or not hasattr(turns, "__index__") or turns < 1:
            raise BadInput(f"turns={turns!r} is out of range", "use a whole number from 1 up")
        found = []
        with Progress(f"timing the {self.algorithm}", len(self.rows), "sizes") as progress:
            for row in self.rows:
                found.append(row._replace(times=self._time(row, turns)))
                progress.reach(len(found))
        self.rows = tuple(found)
        return self

    def _time(self, row, turns):
        count = max(1, min(MOST_IN_A_ROW, AT_ONCE // row.nbytes, most_repeats(row.ranks)))
        warm = min(MOST_WARM_UPS, warm_ups(row.predicted or None))
        args = (row.nbytes, count, warm, True, self.algorithm)
        times = []
        for _ in range(2 * turns if row.nbytes <= SMALL else turns):
            found = launch(one_allreduce, row.ranks, self.wire, args=args, progress=False)
            times.append(max(took for took, _ in found))
        return tuple(sorted(times))

    def __repr__(self):
        lines = [f"{self.algorithm} over {self.wire}, ms"]
        timed = self.worst is not None
        lines.append(f"{'ranks':>5} {'bytes':>11} {'predicted':>10}" + f" {'measured':>10} {'factor':>7}" * timed)
        for row in self.rows:
            line = f"{row.ranks:>5} {row.nbytes:>11,} {1e3 * row.predicted:>10.3f}"
            lines.append(line + f" {1e3 * row.measured:>10.3f} {row.factor:>7.2f}" if row.times else line)
        if timed:
            lines.append(f"never off by more than a factor of {self.worst:.2f}")
        return "\n".join(lines)

    def figure(self):
        """The predictions as curves against the size, measured times over them, and how far they are off below."""
        from .views.curves import of_forecast

        return of_forecast(self)


def forecast(wire="pipe", ranks=(2, 4, 8), sizes=SIZES, algorithm="ring", networks=None):
    """A `Forecast` of `algorithm` over `wire`, for each number of ranks and each size; `.check()` times it.

    sizes: bytes of a rank's buffer, float32.  algorithm: a name that has a closed form.  networks: {ranks: Measured},
    where it was measured before.
    """
    if wire not in WIRES:
        raise BadInput(f"wire={wire!r} cannot be measured", f"use one of {', '.join(WIRES)}")
    if algorithm not in ALLREDUCES:
        raise BadInput(f"algorithm={algorithm!r} has no closed form", f"use one of {', '.join(ALLREDUCES)}")
    ranks = [check_ranks(p) for p in (ranks if isinstance(ranks, (list, tuple, range)) else [ranks])]
    sizes = [_size(n) for n in (sizes if isinstance(sizes, (list, tuple, range)) else [sizes])]
    if not ranks or not sizes:
        raise BadInput("ranks and sizes are empty", "give at least one of each")
    networks, measured = networks or {}, {}
    with Progress("measuring messages and additions", len(ranks), "numbers of ranks") as progress:
        for p in ranks:
            measured[p] = networks[p] if p in networks else measure(wire, p, progress=False)
            progress.reach(len(measured))
    rows = [
        Row(p, n, float(seconds(algorithm, p, n, network.alpha, network.beta, network.gamma)))
        for p, network in measured.items()
        for n in sizes
    ]
    return Forecast(algorithm, wire, measured, rows)


def _size(nbytes):
    if isinstance(nbytes, bool) or not hasattr(nbytes, "__index__") or not 4 <= nbytes <= 2**30 or nbytes % 4:
        raise BadInput(f"sizes={nbytes!r} is no size of a float32 buffer", "use whole multiples of 4, up to 2**30")
    return int(nbytes)
