"""`rl.curves`: the time of an all-reduce against the number of ranks or against the size, log-log, and why.

Two areas: what the messages cost and what the bytes cost. They are drawn one before the other and not stacked, since a
sum does not stack on a logarithmic axis; where they cross, P* (or S_half) stands as a line. Measured points lie over
the curve, from their fastest turn to their median, and below stands how far they are from it.
"""

import math

from .. import cost
from ..comparison import in_bytes, in_seconds
from ..network import Network
from ..presets import PRESETS
from ..verdicts import BadInput
from .figures import FIRST, INK, SECOND, THIRD, Figure, layout, title
from .slider import one_at_a_time, slider

SIZES = (10**6, 25 * 10**6, 10**8, 10**9)
RANKS = (2, 8, 64, 512)
FACTOR = 2.5  # what the lines below mark
STEPS = 6  # points of a curve per factor 10
AREAS = {"messages": ("rgba(91,155,234,0.30)", FIRST, "solid"), "bytes": ("rgba(247,183,51,0.30)", SECOND, "dash")}


def curves(network=None, against="ranks", ranks=RANKS, nbytes=SIZES, points=None, algorithm="ring", live=False):
    """A figure of the time of `algorithm` on `network` against "ranks" or "bytes", with a slider for the other one.

    network: alpha, beta and gamma count (default: preset "400G").  ranks, nbytes: of the states of the slider, a number
    or several.  points: measured times to lay over it: a `Forecast` that was checked, a `Log` of nccl-tests, or a list
    of (ranks, nbytes, seconds).  live: ipywidgets for alpha and the bandwidth, too, which need a kernel.  Its text is
    the table of the curves.
    """
    network = PRESETS["400G"] if network is None else network
    if not isinstance(network, Network):
        raise BadInput(f"network is a {type(network).__name__}", "give a Network, for example rl.Network(1e-6, 2e-11)")
    if against not in ("ranks", "bytes"):
        raise BadInput(f"against={against!r} is no axis", "use ranks or bytes")
    if algorithm not in cost.ALLREDUCES:
        raise BadInput(f"algorithm={algorithm!r} has no closed form", f"use one of {', '.join(cost.ALLREDUCES)}")
    ranks, nbytes = _several("ranks", ranks), _several("nbytes", nbytes)
    for p in ranks:
        cost.seconds(algorithm, p, 0, 0, 0)  # says what is wrong with it
    for size in nbytes:
        cost.seconds(algorithm, 2, size, 0, 0)
    points = _points(points)
    states = nbytes if against == "ranks" else ranks
    if live:
        from .live_curves import with_sliders

        return with_sliders(network, against, states, points, algorithm)
    return figure_of([(network, state) for state in states], against, points, algorithm)


def of_forecast(forecast):
    """The figure of a `Forecast`: time against the size, each number of ranks on the network measured with as many."""
    states = [(network, p) for p, network in forecast.networks.items()]
    timed = [(r.ranks, r.nbytes, r.measured, r.middle) for r in forecast.rows if r.times]
    return figure_of(states, "bytes", timed, forecast.algorithm, "ranks, on this machine")


def figure_of(states, against, points, algorithm, said=""):
    """The Figure of `states`, pairs of a network and a number: of bytes when `against` is "ranks", else of ranks."""
    groups, tables, names = [], [], []
    for network, state in states:
        panel = Panel(network, against, state, points, algorithm)
        groups.append(panel.traces())
        tables.append(panel.table())
        names.append(in_bytes(state) if against == "ranks" else f"{state}")
    active = min(2, len(states) - 1) if len(states) > 2 else 0
    traces, shown = one_at_a_time(groups, active)
    look = _layout(against, algorithm, bool(points) and any(t.get("yaxis") == "y2" for t in traces))
    if len(states) > 1:
        label = "each rank's buffer" if against == "ranks" else "ranks"
        look["sliders"] = [slider(label, names, [(step, {}) for step in shown], active)]
        look["margin"]["b"] = 130
        look["height"] += 80
    return Figure("\n\n".join(tables), traces, look)


class Panel:
    """One state: the curves of a network for one size (against ranks) or one number of ranks (against bytes)."""

    def __init__(self, network, against, state, points, algorithm):
        self.network, self.against, self.state, self.algorithm = network, against, state, algorithm
        self.points = [point for point in points if point[1 if against == "ranks" else 0] == state]
        self.cross = self._cross()
        self.x = self._grid()

    def parts(self, x):
        """(seconds of messages, seconds of bytes, of both) at x."""
        p, size = (x, self.state) if self.against == "ranks" else (self.state, x)
        alpha, beta, gamma = (float(getattr(self.network, name)) for name in ("alpha", "beta", "gamma"))
        return tuple(
            float(cost.seconds(self.algorithm, p, size, *numbers))
            for numbers in ((alpha, 0, 0), (0, beta, gamma), (alpha, beta, gamma))
        )

    def _cross(self):
        """P*, or the size S_half at which a ring of that many ranks is half latency; None for others."""
        alpha, each = float(self.network.alpha), float(self.network.beta) + float(self.network.gamma) / 2
        if self.algorithm != "ring" or not alpha or not each:
            return None
        if self.against == "ranks":
            return cost.crossover(self.state, alpha, each)
        return cost.half_peak(alpha, each, self.state)

    def _grid(self):
        """About six points per factor 10, past the crossing and all points."""
        if self.against == "ranks":
            known = [point[0] for point in self.points] + ([self.cross] if self.cross else [])
            most = 10 ** min(7, max(2, math.ceil(math.log10(10 * max(known, default=10)))))
            ranks = {round(2 * (most / 2) ** (i / 40)) for i in range(41)}
            return sorted(ranks | {point[0] for point in self.points})
        known = [point[1] for point in self.points] + ([self.cross] if self.cross else [])
        least = 10 ** math.floor(math.log10(max(10, min([*known, 1000]))))
        most = 10 ** math.ceil(math.log10(max([*known, 1e8])))
        count = round(STEPS * math.log10(most / least))
        return [float(f"{least * (most / least) ** (i / count):.4g}") for i in range(count + 1)]

    def traces(self):
        """Areas, the sum, the line of the crossing, and measured points with their residuals."""
        at = [self.parts(x) for x in self.x]
        data: list = []
        for i, (name, (fill, colour, dash)) in enumerate(AREAS.items()):
            data.append(
                {
                    "type": "scatter",
                    "mode": "lines",
                    "name": name,
                    "x": self.x,
                    "y": [_short(parts[i]) for parts in at],
                    "fill": "tozeroy",
                    "fillcolor": fill,
                    "line": {"color": colour, "width": 2, "dash": dash},
                }
            )
        both = [_short(parts[2]) for parts in at]
        data.append({"type": "scatter", "mode": "lines", "name": "together", "x": self.x, "y": both})
        data[-1]["line"] = {"color": INK, "width": 3}
        if self.cross:
            name = f"P* = {self.cross:,.0f}" if self.against == "ranks" else f"S_half = {in_bytes(self.cross)}"
            low = min(y for trace in data for y in trace["y"] if y)
            data.append({"type": "scatter", "mode": "lines", "name": name, "x": [self.cross] * 2, "y": [low, both[-1]]})
            data[-1]["line"] = {"color": INK, "width": 2, "dash": "dot"}
        if self.points:
            data += self._measured()
        return data

    def _measured(self):
        """Points over the curve, from the fastest turn to the median; below, what multiple of the curve they are."""
        x = [point[0 if self.against == "ranks" else 1] for point in self.points]
        fastest = [point[2] for point in self.points]
        look = {"symbol": "diamond", "size": 9, "color": THIRD, "line": {"color": INK, "width": 1}}
        spread = {"type": "data", "symmetric": False, "array": [_short(p[3] - p[2]) for p in self.points]}
        spread |= {"arrayminus": [0] * len(x), "color": THIRD, "thickness": 2}
        points: dict = {
            "type": "scatter",
            "mode": "markers",
            "name": "measured",
            "x": x,
            "y": [_short(y) for y in fastest],
        }
        points |= {"marker": look, "error_y": spread}
        factors = [_short(y / self.parts(at)[2]) for at, y in zip(x, fastest)]
        below: dict = {"type": "scatter", "mode": "lines+markers", "name": "measured / curve", "x": x, "y": factors}
        below |= {"yaxis": "y2", "showlegend": False, "marker": look, "line": {"color": THIRD, "width": 1}}
        return [points, below]

    def table(self):
        """Text: the numbers of the curve at some x, and of every measured point."""
        alpha, beta = in_seconds(self.network.alpha), 1e-9 / float(self.network.beta) if self.network.beta else math.inf
        what = f"{in_bytes(self.state)} each" if self.against == "ranks" else f"{self.state} ranks"
        head = f"{self.algorithm}, {what}, {alpha} per message, {beta:.4g} GB/s"
        if self.cross:
            crossing = f"P* = {self.cross:,.0f}" if self.against == "ranks" else f"S_half = {in_bytes(self.cross)}"
            head += f": {crossing}"
        lines = [head, f"{self.against:>10} {'messages':>10} {'bytes':>10} {'together':>10}"]
        if self.points:
            lines[-1] += f" {'measured':>10} {'factor':>7}"
        measured = {point[0 if self.against == "ranks" else 1]: point[2] for point in self.points}
        for x in sorted(measured) or self._some():
            parts = self.parts(x)
            name = f"{x:,}" if self.against == "ranks" else in_bytes(x)
            line = f"{name:>10} " + " ".join(f"{in_seconds(part):>10}" for part in parts)
            if x in measured:
                line += f" {in_seconds(measured[x]):>10} {measured[x] / parts[2]:>7.2f}"
            lines.append(line)
        return "\n".join(lines)

    def _some(self):
        """A few x that say enough: powers of ten or of two."""
        if self.against == "ranks":
            return [p for p in (2, 8, 64, 512, 4096, 32768, 262144) if p <= self.x[-1]]
        return [10**k for k in range(3, 10) if self.x[0] <= 10**k <= self.x[-1]]


def _layout(against, algorithm, with_residuals):
    x = title("ranks (P)" if against == "ranks" else "bytes per rank (S)")
    axis = {"type": "log", "exponentformat": "SI", "dtick": 1}
    look = layout(f"Time of an all-reduce ({algorithm})", {**x, **axis}, {**title("seconds"), **axis}, height=420)
    look["legend"] = {"orientation": "h", "y": 1.02, "yanchor": "bottom"}
    look["margin"]["t"] = 90
    if with_residuals:
        look["height"] = 520
        look["yaxis"]["domain"] = [0.36, 1]
        ticks = {"tickvals": [1 / FACTOR, 1, FACTOR], "ticktext": [f"{1 / FACTOR:g}", "1", f"{FACTOR:g}"]}
        look["yaxis2"] = {**look["yaxis"], **title("factor"), "domain": [0, 0.26], **ticks}
        look["yaxis2"] |= {"range": [-0.7, 0.7]}
        look["xaxis"]["anchor"] = "y2"
    return look


def _points(points):
    """[(ranks, nbytes, seconds of the fastest, of the median)] of whatever holds measured times."""
    if points is None:
        return []
    rows = getattr(points, "rows", points)
    found = []
    for i, row in enumerate(rows):
        if hasattr(row, "times"):
            if row.times:
                found.append((row.ranks, row.nbytes, row.measured, row.middle))
        elif hasattr(row, "seconds"):
            found.append((getattr(row, "ranks", getattr(points, "ranks", None)), row.nbytes, row.seconds, row.seconds))
        else:
            try:
                p, size, took = row
            except (TypeError, ValueError):
                raise BadInput(f"points[{i}]={row!r} is no point", "give (ranks, nbytes, seconds)") from None
            found.append((p, size, took, took))
    for i, (p, size, took, _) in enumerate(found):
        cost.seconds("ring", p, size, 0, 0)  # says what is wrong with them
        if isinstance(took, bool) or not isinstance(took, (int, float)) or not 0 < took < math.inf:
            raise BadInput(f"points[{i}]: {took!r} is no measured time", "a time is above 0 seconds")
    if not found:
        raise BadInput("points is empty", "check a forecast first: forecast.check()")
    return [point for point in found if point[1] > 0]


def _several(name, values):
    values = list(values) if isinstance(values, (list, tuple, range)) else [values]
    if not values:
        raise BadInput(f"{name} is empty", "give one number or more")
    return values


def _short(value):
    return float(f"{value:.4g}") if value > 0 else None
