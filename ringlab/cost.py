"""What a collective costs, without running it: seconds, rounds, bytes, bounds and switch points.

    rl.cost.seconds("ring", 8, 640_000, alpha=1e-6, beta=1e-10)     # 0.000126

alpha: seconds per message.  beta: seconds per byte (1 / bandwidth, one direction).  gamma: seconds per byte added.
nbytes: S, the size of one rank's buffer. With whole numbers and Fractions all results are exact. The formulas stand in
`forms.py`, the names are those of `rl.ALGORITHMS` and of a few collectives that are no all-reduce. Nonsense raises
BadInput, which names the argument.
"""

import math
from fractions import Fraction
from numbers import Rational, Real
from typing import Any, NamedTuple

from .arguments import whole
from .collectives import OTHERS, POWERS_ONLY
from .forms import ALLREDUCES, OWN_PORTS, Cost, Question
from .verdicts import BadInput

LONGEST = 3600  # seconds per message, per byte or per byte added: nobody waits longer
OPTIONS = {
    "torus": ("columns",),
    "hierarchical": ("group", "across"),
    "leader": ("group", "across"),
    "parameter_server": ("servers",),
    "switch": ("pieces",),
}
BUS_FACTORS: dict = {  # nccl-tests, doc/PERFORMANCE.md
    "allreduce": lambda n: Fraction(2 * (n - 1), n),
    "reduce_scatter": lambda n: Fraction(n - 1, n),
    "all_gather": lambda n: Fraction(n - 1, n),
    "all_to_all": lambda n: Fraction(n - 1, n),
    "broadcast": lambda n: 1,
    "reduce": lambda n: 1,
}


def cost(algorithm, p, nbytes, alpha=0, beta=0, gamma=0, ports=None, **options):
    """A `forms.Cost`: seconds, bytes that the busiest rank sends, bytes at the busiest port, and how exact it is.

    ports: 1, or "per-neighbour" for a port per peer (for switch and nvls: per worker, at the switch); by default what
    the algorithm is made for. options: columns= (torus), group= and across=(alpha, beta) between nodes (hierarchical,
    leader), servers= (parameter_server), pieces= per chunk (switch). The last rank of switch and nvls is the switch.
    """
    form = _form(algorithm, options)
    ranks = whole("p", p, least=1)
    if algorithm in POWERS_ONLY and ranks & (ranks - 1):
        raise BadInput(f"p={p}: {algorithm} needs a power of two")
    if ports not in (None, 1, "per-neighbour"):
        raise BadInput(f"ports={ports!r} is not known", "use 1 or 'per-neighbour'")
    for name in ("columns", "group", "servers", "pieces"):
        if options.get(name) is not None:
            whole(name, options[name], least=1)
            if name in ("columns", "group") and ranks % options[name]:
                raise BadInput(f"{name}={options[name]} does not divide p={ranks}")
    if options.get("across") is not None:
        across = options["across"]
        if not isinstance(across, (tuple, list)) or len(across) != 2:
            raise BadInput(f"across={across!r} is no pair", "give (alpha, beta) of the links between nodes")
        options["across"] = tuple(_time("across", number) for number in across)
    size, times = _size(nbytes), (_time("alpha", alpha), _time("beta", beta), _time("gamma", gamma))
    if ranks == 1:
        return Cost(0, 0, 0)
    if ports is None:
        ports = "per-neighbour" if algorithm in OWN_PORTS else 1
    return form(Question(ranks, size, *times, ports, options))


def seconds(algorithm, p, nbytes, alpha, beta, gamma=0, ports=None, **options):
    """Seconds for one `algorithm` over `p` ranks with `nbytes` each, all links equal; see `cost` for the rest.

    >>> seconds("ring", 8, 640_000, Fraction(1, 10**6), Fraction(1, 10**10))
    Fraction(63, 500000)
    """
    return cost(algorithm, p, nbytes, alpha, beta, gamma, ports, **options).seconds


def rounds(algorithm, p, ports=None, **options):
    """How many messages one after the other: the seconds when each takes one, whatever its size.

    >>> [int(rounds(name, 8)) for name in ("star", "tree", "doubling", "halving", "ring", "direct")]
    [14, 6, 3, 6, 14, 14]
    """
    return int(seconds(algorithm, p, 0, 1, 0, 0, ports, **options))


def critical_bytes(algorithm, p, nbytes, ports=None, **options):
    """Bytes that must pass one after the other: the seconds when a byte takes one and a message nothing more."""
    return seconds(algorithm, p, nbytes, 0, 1, 0, ports, **options)


def bytes_per_rank(algorithm, p, nbytes, **options):
    """Bytes that the busiest rank sends (a switch is no rank).

    >>> bytes_per_rank("ring", 8, 64), bytes_per_rank("star", 8, 64)
    (Fraction(112, 1), Fraction(448, 1))
    """
    return cost(algorithm, p, nbytes, **options).sent


def busiest_port(algorithm, p, nbytes, ports=None, **options):
    """Bytes in and out of the busiest port.

    >>> [int(busiest_port("star", p, 1)) for p in (2, 4, 8)]
    [2, 6, 14]
    """
    return cost(algorithm, p, nbytes, ports=ports, **options).port


class Bounds(NamedTuple):
    """No all-reduce out of messages between ranks is faster than any of these (seconds)."""

    latency: Any
    bandwidth: Any
    compute: Any


def lower_bounds(p, nbytes, alpha, beta, gamma=0):
    """The `Bounds`: ceil(log2 p) alpha, 2(p-1)/p S beta and (p-1)/p S gamma.

    News at most doubles in a round; each of the S bytes must be sent p - 1 times to be added up and p - 1 times to be
    spread, by p ranks (Patarasuk and Yuan 2009). No algorithm meets the first two together.
    """
    p, nbytes = whole("p", p, least=1), _size(nbytes)
    alpha, beta, gamma = _time("alpha", alpha), _time("beta", beta), _time("gamma", gamma)
    share = nbytes / p
    return Bounds((p - 1).bit_length() * alpha, 2 * (p - 1) * share * beta, (p - 1) * share * gamma)


def crossover(nbytes, alpha, beta):
    """P*: the number of ranks at which a ring waits as long for its messages to start as for their bytes.

    >>> crossover(100_000_000, Fraction(1, 10**6), Fraction(1, 50 * 10**9))     # 100 MB at 400 Gbit/s and 1 us
    Fraction(2000, 1)
    """
    return _size(nbytes) * _time("beta", beta) / _positive("alpha", alpha)


def half_peak(alpha, beta, p=1):
    """Bytes at which half of the time is bandwidth: alpha / beta for one message, p times that for a ring of p.

    >>> half_peak(Fraction(1, 10**6), Fraction(1, 16_384_000_000))     # 16 KiB take 1 us at 16.4 GB/s
    Fraction(16384, 1)
    """
    return whole("p", p, least=1) * _time("alpha", alpha) / _positive("beta", beta)


def switch_point(few, many, p, alpha, beta, **options):
    """Bytes from which on `many` is faster than `few`, which has fewer rounds; None when it never is.

    >>> round(switch_point("doubling", "halving", 64, 1e-6, 1 / 12.5e9))
    18605
    """
    _positive("beta", beta)
    first, second = ((seconds(name, p, 0, alpha, 0), seconds(name, p, 1, 0, beta)) for name in (few, many))
    more_latency, less_per_byte = second[0] - first[0], first[1] - second[1]
    if less_per_byte <= 0:
        return None
    return max(0, more_latency / less_per_byte)


def fastest(p, nbytes, alpha, beta, gamma=0, names=("doubling", "halving", "ring")):
    """The name among `names` with the fewest seconds; the first of equals."""
    return min(names, key=lambda name: seconds(name, p, nbytes, alpha, beta, gamma))


def algbw(nbytes, seconds):
    """Bytes per second as the caller sees it: nbytes / seconds (nccl-tests).

    >>> round(algbw(2**30, 8203.9e-6) / 1e9, 2)
    130.88
    """
    return _size(nbytes) / _positive("seconds", seconds)


def busbw(collective, p, nbytes, seconds):
    """Bytes per second and rank that the wires must have carried: algbw times 2(p-1)/p for "allreduce" (nccl-tests).

    "reduce_scatter", "all_gather", "all_to_all": (p-1)/p, with nbytes the whole of it; "broadcast", "reduce": 1. It can
    exceed the wire when the network adds, because then fewer bytes pass than it supposes.

    >>> round(busbw("allreduce", 8, 2**30, 8203.9e-6) / 1e9, 2)
    229.04
    """
    if collective not in BUS_FACTORS:
        raise BadInput(f"collective {collective!r} is not known", f"use one of {', '.join(BUS_FACTORS)}")
    rate, factor = algbw(nbytes, seconds), BUS_FACTORS[collective](whole("p", p, least=1))
    return rate * factor if isinstance(rate, Rational) else rate * float(factor)


def in_network_gain(p, nvls=False):
    """Bytes per worker of a ring of p workers over those through a switch that adds: 2(p-1)/p, or 2(p-1)/(p+1).

    >>> [str(in_network_gain(p)) for p in (2, 8)], [str(in_network_gain(p, nvls=True)) for p in (2, 4, 8)]
    (['1', '7/4'], ['2/3', '6/5', '14/9'])
    """
    p = whole("p", p, least=1)
    return Fraction(2 * (p - 1), p + 1 if nvls else p)


def _form(algorithm, options):
    form = ALLREDUCES.get(algorithm) or OTHERS.get(algorithm) if isinstance(algorithm, str) else None
    if form is None:
        raise BadInput(f"algorithm {algorithm!r} has no closed form", f"use one of {', '.join([*ALLREDUCES, *OTHERS])}")
    for name in options:
        if name not in OPTIONS.get(algorithm, ()):
            raise BadInput(f"{algorithm} takes no {name}=")
    return form


def _number(name, value, unit):
    if isinstance(value, bool) or not isinstance(value, Real) or not math.isfinite(value) or value < 0:
        raise BadInput(f"{name}={value!r} is no number of {unit}", "use a finite number, 0 or more")
    if isinstance(value, Rational):  # also numpy's integers, which would overflow
        return Fraction(int(value.numerator), int(value.denominator))
    return value


def _size(nbytes):
    return _number("nbytes", nbytes, "bytes")


def _time(name, value):
    value = _number(name, value, "seconds")
    if value >= LONGEST:
        raise BadInput(f"{name}={value} is an hour or more", f"{name} is in seconds: a microsecond is 1e-6")
    return value


def _positive(name, value):
    value = _number(name, value, "seconds")
    if not value:
        raise BadInput(f"{name}=0: nothing can be divided by it", "use a number above 0")
    return value
