"""Networks: what a message costs, for the virtual wire and for emulated delays on real wires.

A network is a value: numbers that describe machines which need not exist. Every message of n bytes holds its sender's
out-port and its receiver's in-port for `alpha + beta * n` seconds; the rest of the fields bend that rule for some
edges, some ranks or some time. Nothing here is measured, unless `source` says so.
"""

from dataclasses import dataclass, fields, replace
from typing import Any

from .network_fields import (
    bad,
    check_cost,
    check_edge,
    check_factor,
    check_groups,
    check_number,
    check_rank,
    check_whole,
    check_window,
    items,
    known,
    pairs,
)
from .verdicts import BadInput

MASK = 2**64 - 1


@dataclass(frozen=True, eq=True, repr=False)
class Network:
    """A message of n bytes holds the sender's out-port and the receiver's in-port for `alpha + beta * n`.

    alpha: seconds per message.  beta: seconds per byte (1 / bandwidth, one direction).  gamma: seconds per byte added.
    eager: sends above this many bytes wait for their receiver (None: no send waits; 0: all with a byte in them wait).
    ports: 1, or "per-neighbour" for a port per peer.  multiport: ranks with a port per peer (a switch, a server).

    links: {(src, dst): (alpha, beta)} for edges with numbers of their own.  groups: (size, alpha, beta) when ranks
    0..size-1, size..2*size-1, ... share a host each; these are the numbers between hosts.  slow: {rank: factor}, every
    message from or to the rank takes that many times as long.  blocked: (src, dst) edges on which nothing arrives.
    nat: ranks that a peer can reach only after they have sent it something themselves.  off: ((where, since, until),
    ...), no message starts in that time on the edge or at the rank `where` (until None: never again).  jitter: every
    message takes up to this share longer, drawn from `seed` in whole numbers, so that all machines agree.

    Times are exact when the numbers are integers or Fractions. BadInput names the field that cannot be.
    """

    alpha: Any = 1
    beta: Any = 0
    gamma: Any = 0
    eager: int | None = None
    ports: int | str = 1
    multiport: tuple = ()
    links: Any = ()
    groups: tuple | None = None
    slow: Any = ()
    blocked: tuple = ()
    nat: tuple = ()
    off: tuple = ()
    jitter: object = 0
    seed: int = 0
    name: str = ""
    source: str = ""

    def __post_init__(self):
        for field in ("alpha", "beta", "gamma", "jitter"):
            check_number(field, getattr(self, field))
        if self.eager is not None:
            check_whole("eager", self.eager, "a number of bytes, or None when no send waits")
        check_whole("seed", self.seed, "any whole number from 0 up")
        if self.ports != 1 and self.ports != "per-neighbour":
            raise bad("ports", self.ports, 'use 1 or "per-neighbour"')
        set_field = object.__setattr__  # frozen: the fields are brought into one form here, and never change again
        for field in ("multiport", "nat"):
            set_field(self, field, tuple(items(field, getattr(self, field), check_rank)))
        set_field(self, "blocked", tuple(items("blocked", self.blocked, check_edge)))
        set_field(self, "links", dict(pairs("links", self.links, check_edge, check_cost)))
        set_field(self, "slow", dict(pairs("slow", self.slow, check_rank, check_factor)))
        set_field(self, "off", tuple(items("off", self.off, check_window)))
        if self.groups is not None:
            set_field(self, "groups", check_groups(self.groups))

    def __hash__(self):
        return hash((self.alpha, self.beta, self.gamma, self.eager, self.ports, self.name))

    def __repr__(self):
        if self.name:
            speed = _rate(1 / self.beta) if self.beta else "no limit"
            text = f"{self.name}: {_seconds(self.alpha)} per message, {speed} each way (model only, nothing measured)"
            changed = self._changed({"name", "source", "alpha", "beta"})
            return f"{text}; {changed}" if changed else text
        return f"Network({self._changed(set())})"

    def _changed(self, apart):
        shown = [
            f"{field.name}={getattr(self, field.name)!r}"
            for field in fields(self)
            if field.name not in apart
            and (field.name in ("alpha", "beta") or getattr(self, field.name) not in (field.default, {}))
        ]
        return ", ".join(shown)

    @classmethod
    def preset(cls, name):
        """A network of `ringlab.presets` by name, for example "400G"; its `source` says where the numbers are from."""
        from .presets import preset

        return preset(name)

    def but(self, **changes):
        """The same network with other values in some fields."""
        unknown = [field for field in changes if field not in {f.name for f in fields(self)}]
        if unknown:
            raise BadInput(f"network.{unknown[0]} is no field", f"fields: {', '.join(f.name for f in fields(self))}")
        return replace(self, **changes)

    def slow_link(self, src, dst, times):
        """The same network with the one-way edge from `src` to `dst` that many times as slow."""
        alpha, beta = self._costs(src, dst)
        return self.but(links={**self.links, (src, dst): (alpha * times, beta * times)})

    def slow_rank(self, rank, times):
        """The same network with every message from or to `rank` taking that many times as long."""
        return self.but(slow={**self.slow, rank: times})

    def behind_nat(self, *ranks):
        """The same network with `ranks` that peers can reach only after having heard from them."""
        return self.but(nat=(*self.nat, *ranks))

    def check(self, ranks):
        """The network itself, when it fits that many ranks; BadInput names the field that does not."""
        for field in ("multiport", "nat", "slow"):
            for rank in getattr(self, field):
                known(field, rank, rank, ranks)
        for field, edges in (("links", self.links), ("blocked", self.blocked)):
            for edge in edges:
                for rank in edge:
                    known(field, edge, rank, ranks)
        for where, _, _ in self.off:
            for rank in where if isinstance(where, tuple) else (where,):
                known("off", where, rank, ranks)
        self._check_reach(ranks)
        return self

    def _check_reach(self, ranks):
        """BadInput for a rank that nobody can reach: no all-reduce can end on such a network."""
        shut = {where for where, since, until in self.off if until is None and since <= 0}
        for rank in range(ranks):
            for field, reaches in (
                ("blocked", lambda src, dst: (src, dst) not in self.blocked),
                ("off", lambda src, dst: not shut & {src, dst, (src, dst)}),
                (
                    "nat",
                    lambda src, dst: dst not in self.nat or (src not in self.nat and (dst, src) not in self.blocked),
                ),
            ):
                if ranks > 1 and not any(reaches(peer, rank) for peer in range(ranks) if peer != rank):
                    raise BadInput(
                        f"network.{field} leaves rank {rank} where nobody can reach it",
                        "an all-reduce needs a way to every rank: open at least one edge to it",
                        rank=rank,
                    )

    @property
    def plain(self):
        """Whether every message costs `alpha + beta * n`, whoever sends it and whenever."""
        return not (self.links or self.groups or self.slow or self.blocked or self.nat or self.off or self.jitter)

    def _costs(self, src, dst):
        own = self.links.get((src, dst))
        if own is not None:
            return own
        if self.groups is not None and src // self.groups[0] != dst // self.groups[0]:
            return self.groups[1:]
        return self.alpha, self.beta

    def seconds(self, src, dst, nbytes, nth=0):
        """How long message number `nth` from rank `src` to rank `dst`, of `nbytes`, holds its two ports."""
        alpha, beta = self._costs(src, dst)
        seconds = alpha + beta * nbytes
        for rank in (src, dst):
            if rank in self.slow:
                seconds = seconds * self.slow[rank]
        if self.jitter:
            seconds = seconds * (1 + self.jitter * draw(self.seed, src, dst, nth) / 2**32)
        return seconds

    def opens(self, src, dst, time):
        """The first moment from `time` on at which a message from `src` to `dst` may start; None for never."""
        if (src, dst) in self.blocked:
            return None
        moved = True
        while moved:
            moved = False
            for where, since, until in self.off:
                if where in (src, dst, (src, dst)) and since <= time and (until is None or time < until):
                    if until is None:
                        return None
                    time, moved = until, True
        return time

    def port(self, rank, peer):
        """Which port of `rank` talks to `peer`."""
        return (rank, peer) if self.ports == "per-neighbour" or rank in self.multiport else rank


def draw(seed, *numbers):
    """A whole number below 2**32 that looks random and is the same on every machine (SplitMix64's finaliser).

    >>> draw(0, 0, 1, 0), draw(1, 0, 1, 0)
    (3506471546, 3251651484)
    """
    state = seed & MASK
    for number in (*numbers, 0):
        state = (state + 0x9E3779B97F4A7C15 + number) & MASK
        state = ((state ^ (state >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        state = ((state ^ (state >> 27)) * 0x94D049BB133111EB) & MASK
        state ^= state >> 31
    return state >> 32


def _seconds(value):
    for unit, size in (("s", 1), ("ms", 1e-3), ("us", 1e-6)):
        if value >= size:
            return f"{float(value) / size:g} {unit}"
    return f"{float(value) * 1e9:g} ns"


def _rate(value):
    for unit, size in (("GB/s", 1e9), ("MB/s", 1e6), ("kB/s", 1e3)):
        if value >= size:
            return f"{float(value) / size:g} {unit}"
    return f"{float(value):g} B/s"


ROUNDS = Network(alpha=1, beta=0)  # the time of this network counts rounds


def of(network, eager=None):
    """`network` (ROUNDS when it is None), with another limit for sends that do not wait when `eager` is given."""
    if network is not None and not isinstance(network, Network):
        raise BadInput(f"network={network!r} is no Network", 'use rl.Network(alpha, beta) or rl.Network.preset("400G")')
    network = ROUNDS if network is None else network
    return network if eager is None else network.but(eager=eager)
