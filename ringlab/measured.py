"""A network that was measured here: alpha, beta and gamma with their intervals, and the points they come from."""

from dataclasses import dataclass, fields
from typing import Any, NamedTuple

from . import cost
from .network import Network
from .verdicts import BadInput

NAMES = {"alpha": ("message", 0), "beta": ("message", 1), "gamma": ("add", 1)}


class Point(NamedTuple):
    """Messages, or additions ("add"), of `nbytes` each, through a buffer of `buffer` bytes per rank.

    times: seconds for one, on the slowest rank, of each turn; from the fastest on.
    """

    what: str
    nbytes: int
    buffer: int
    times: tuple

    @property
    def seconds(self):
        """Of the fastest turn: what disturbs a measurement only ever adds to it."""
        return self.times[0]

    @property
    def middle(self):
        """The median of the turns."""
        return self.times[len(self.times) // 2]


@dataclass(frozen=True, eq=True, repr=False)
class Measured(Network):
    """A Network with `points`, and the `fits` (of "message" and "add") that its alpha, beta and gamma are from.

    wire, ranks, cores: what was measured, with how many ranks at once on how many cores. It holds for that many ranks:
    where they share cores, each message waits its turn, and that is in alpha and beta.
    """

    points: tuple = ()
    fits: Any = ()
    wire: str = ""
    ranks: int = 2
    cores: float = 1.0

    __hash__ = Network.__hash__

    @property
    def intervals(self):
        """{"alpha": (low, high), ...}: 95 %, in seconds, seconds per byte and seconds per byte added."""
        return {name: self.fits[what].intervals[i] for name, (what, i) in NAMES.items()}

    def but(self, **changes):
        """A plain Network with other values in some fields: what is changed is measured no longer."""
        return Network(**{field.name: getattr(self, field.name) for field in fields(Network)}).but(**changes)

    def predict(self, algorithm, nbytes):
        """Seconds for an all-reduce of `nbytes` over as many ranks as were measured, by its closed form."""
        return cost.seconds(algorithm, self.ranks, nbytes, self.alpha, self.beta, self.gamma)

    def of(self, what):
        """The points of "message" or "add"."""
        if what not in ("message", "add"):
            raise BadInput(f"what={what!r} is not measured", "use message or add")
        return tuple(point for point in self.points if point.what == what)

    def __repr__(self):
        low, high = self.intervals["alpha"]
        lines = [
            f"measured here: wire {self.wire}, {self.ranks} ranks on {self.cores:g} cores",
            f"alpha  {_us(self.alpha)} us per message ({_us(low)} to {_us(high)})",
        ]
        for name, what in (("beta", "each way"), ("gamma", "added")):
            low, high = self.intervals[name]
            lines.append(f"{name:<6} {_rate(getattr(self, name))} GB/s {what} ({_rate(high)} to {_rate(low)})")
        return "\n".join(lines)

    def table(self):
        """Text: every point, what the fit says there, and the residual."""
        lines = [f"{'':<8} {'bytes':>10} {'fastest us':>12} {'median us':>12} {'fit us':>12} {'fit/measured':>13}"]
        for what in ("message", "add"):
            start, slope = self.fits[what].values
            for point in self.of(what):
                said = start + slope * point.nbytes
                times = f"{_us(point.seconds):>12} {_us(point.middle):>12} {_us(said):>12}"
                lines.append(f"{what:<8} {point.nbytes:>10,} {times} {said / point.seconds:>13.2f}")
        return "\n".join(lines)

    def to_dict(self):
        """Plain data, for JSON: seconds, bytes and ranks."""
        return {
            "wire": self.wire,
            "ranks": self.ranks,
            "cores": self.cores,
            **{name: getattr(self, name) for name in NAMES},
            "intervals": {name: list(pair) for name, pair in self.intervals.items()},
            "points": [{**point._asdict(), "times": list(point.times)} for point in self.points],
            "residuals": {what: list(fit.residuals) for what, fit in self.fits.items()},
        }


def _us(seconds):
    return f"{1e6 * seconds:.4g}" if seconds < 1 else f"{1e6 * seconds:.0f}"


def _rate(per_byte):
    return f"{1e-9 / per_byte:.3g}" if 0 < per_byte < float("inf") else ("no limit" if not per_byte else "0")
