"""Closed forms: what each all-reduce costs, one function each, to be read beside the algorithm's own file.

Times are those of the virtual wire: a rank has one port out and one port in (a port per peer where it is said), a
message of x bytes holds its sender's and its receiver's for alpha + beta x, and adding x bytes takes gamma x. A rank
adds while the next message comes in; where a text writes one after the other, our time can be a little shorter.

Where p divides the number of elements, a form's seconds are those of the virtual wire to the last digit. Where they
are not, `least` and `most` say between which multiples of them the wire's time lies.
"""

from fractions import Fraction
from types import MappingProxyType
from typing import Any, NamedTuple

NOTHING = MappingProxyType({})


class Cost(NamedTuple):
    """seconds: of the slowest rank.  sent: bytes that the busiest rank sends (a switch is no rank).  port: bytes in
    and out of the busiest port.  least, most: the wire's time as multiples of `seconds`.
    """

    seconds: Any
    sent: Any
    port: Any
    least: Any = 1
    most: Any = 1


class Question(NamedTuple):
    """p ranks of S bytes each; seconds per message, per byte and per byte added; ports; what else a form takes."""

    p: int
    S: Any
    alpha: Any = 0
    beta: Any = 0
    gamma: Any = 0
    ports: Any = 1
    options: Any = NOTHING

    def message(self, nbytes):
        """Seconds for which one message of `nbytes` holds its two ports."""
        return self.alpha + self.beta * nbytes

    def add(self, nbytes):
        """Seconds to add `nbytes` to what a rank has."""
        return self.gamma * nbytes

    def crowd(self, count, nbytes):
        """Seconds until `count` messages have come to one rank and were added, through one port or a port each."""
        message, add = self.message(nbytes), self.add(nbytes)
        if not count:
            return 0
        if self.ports != 1:
            return message + count * add
        return max(count * message + add, message + count * add)

    def spread(self, count, nbytes):
        """Seconds until one rank has sent `count` messages."""
        return (count if self.ports == 1 else min(count, 1)) * self.message(nbytes)

    @property
    def share(self):
        """Bytes of one chunk."""
        return self.S / self.p

    @property
    def levels(self):
        """ceil(log2 p): how often a group must double to reach p."""
        return (self.p - 1).bit_length()

    @property
    def optimum(self):
        """2(p - 1)/p S: in no all-reduce out of messages does every rank send less (Patarasuk and Yuan 2009)."""
        return 2 * (self.p - 1) * self.share

    @property
    def even(self):
        """Whether p is a power of two."""
        return not self.p & (self.p - 1)

    def but(self, **changes):
        """The same question with something changed."""
        return self._replace(**changes)


def ring(q):
    """2(p-1) (alpha + beta S/p) + (p-1)/p S gamma."""
    seconds = 2 * (q.p - 1) * q.message(q.share) + (q.p - 1) * q.add(q.share)
    return Cost(seconds, q.optimum, 2 * q.optimum)


def pass_around(q):
    """(p-1) (alpha + beta S + gamma S)."""
    sent = (q.p - 1) * q.S
    return Cost((q.p - 1) * (q.message(q.S) + q.add(q.S)), sent, 2 * sent)


def star(q):
    """2(p-1) (alpha + beta S), and the last addition; with a port per leaf 2 (alpha + beta S) + (p-1) S gamma."""
    count, sent = q.p - 1, (q.p - 1) * q.S
    return Cost(q.crowd(count, q.S) + q.spread(count, q.S), sent, 2 * (sent if q.ports == 1 else q.S))


def pipelined_star(q):
    """(p+1)(p-1) (alpha + beta S/p): in and out at once, but for one chunk. With a port per leaf it is a switch."""
    return Cost(_hub(q, q.p), (q.p - 1) * q.S, 2 * (q.p - 1 if q.ports == 1 else 1) * q.S)


def _hub(q, n):
    """Seconds until n pieces came from p - 1 ranks to one rank, were added there and sent back, piece by piece."""
    piece, others = q.S / n, q.p - 1
    if q.ports == 1:
        return q.crowd(n * others, piece) + others * q.message(piece)
    message, add = q.message(piece), others * q.add(piece)
    return max(n * message + add, message + n * add) + message


def broadcast(q):
    """ceil(log2 p) (alpha + beta S), down a binomial tree."""
    levels = q.levels if q.ports == 1 or q.even else q.levels - 1
    return Cost(levels * q.message(q.S), q.levels * q.S, (q.levels if q.ports == 1 else 1) * q.S)


def reduce(q):
    """ceil(log2 p) (alpha + beta S + gamma S), up a binomial tree.

    When p is no power of two, two children of one rank are ready together: one addition hides behind a message.
    """
    message, add = q.message(q.S), q.add(q.S)
    seconds = q.levels * (message + add)
    if not q.even:
        seconds -= min(message, add) if q.ports == 1 else message
    least = 1 if q.even or q.ports != 1 or not q.gamma else Fraction(9, 10)  # of 9 ranks more than one can hide
    return Cost(seconds, q.S, (q.levels if q.ports == 1 else 1) * q.S, least)


def tree(q):
    """2 ceil(log2 p) (alpha + beta S) + ceil(log2 p) S gamma; an addition less when p is no power of two."""
    up = reduce(q)
    port = 2 * (q.levels if q.ports == 1 else 1) * q.S
    return Cost(up.seconds + broadcast(q).seconds, q.levels * q.S, port, up.least)


def doubling(q):
    """log2 p (alpha + beta S + gamma S); else two messages of S and one addition more, for the ranks that sit out."""
    steps = q.p.bit_length() - 1
    seconds = steps * (q.message(q.S) + q.add(q.S))
    port = 2 * (steps if q.ports == 1 else 1) * q.S
    if q.even:
        return Cost(seconds, steps * q.S, port)
    # ranks that need not wait for a pair add while others still send
    least = 1 if q.ports == 1 and not q.gamma else Fraction(1, 2)
    port = 2 * (steps + 1 if q.ports == 1 else 1) * q.S
    return Cost(seconds + 2 * q.message(q.S) + q.add(q.S), (steps + 1) * q.S, port, least)


def halves(p):
    """Chunks in the largest message of each halving step; the players share the p chunks as evenly as they go.

    >>> halves(8), halves(6)
    ([4, 2, 1], [3, 2])
    """
    players = 1 << (p.bit_length() - 1)
    first = [i * p // players for i in range(players + 1)]
    found, distance = [], players // 2
    while distance:
        found.append(max(first[i + distance] - first[i] for i in range(0, players, distance)))
        distance //= 2
    return found


def halving(q):
    """2 log2 p alpha + 2(p-1)/p S beta + (p-1)/p S gamma (Rabenseifner).

    When p is no power of two: two messages of S and one addition more, and the players' parts are uneven, so that the
    sum of each step's largest message is an estimate.
    """
    parts = [chunks * q.share for chunks in halves(q.p)]
    seconds = sum(2 * q.message(part) + q.add(part) for part in parts)
    port = 2 * max(2 * part for part in parts)  # with a port per peer; the first swap and the last are with the same
    if q.even:
        return Cost(seconds, q.optimum, 2 * q.optimum if q.ports == 1 else port)
    seconds, sent = seconds + 2 * q.message(q.S) + q.add(q.S), 2 * sum(parts) + q.S
    return Cost(seconds, sent, 2 * sent if q.ports == 1 else max(port, 2 * q.S), Fraction(3, 4), Fraction(5, 4))


def direct(q):
    """2(p-1) (alpha + beta S/p), and the last addition; with a port per peer 2 (alpha + beta S/p)."""
    seconds = q.crowd(q.p - 1, q.share) + q.spread(q.p - 1, q.share)
    return Cost(seconds, q.optimum, 2 * q.optimum if q.ports == 1 else 4 * q.share)


def two_way_ring(q):
    """2(p-1) alpha + (p-1)/p S beta + (p-1)/p S gamma with a port per neighbour; with one, twice the messages."""
    own = q.ports != 1 and q.p > 2  # of two ranks both neighbours are the same one
    rounds = (2 if own else 4) * (q.p - 1)
    seconds = rounds * q.message(q.share / 2) + (q.p - 1) * q.add(q.share)
    # through one port, some additions hide behind messages
    return Cost(seconds, q.optimum, (1 if own else 2) * q.optimum, least=1 if own or not q.gamma else Fraction(1, 2))


def square(p):
    """(longer, shorter) side of the grid of p ranks that is as square as p allows.

    >>> square(64), square(12), square(7)
    ((8, 8), (4, 3), (7, 1))
    """
    shorter = max(side for side in range(1, p + 1) if p % side == 0 and side * side <= p)
    return p // shorter, shorter


def torus(q):
    """2(X-1) (alpha + beta S/X) + 2(Y-1) (alpha + beta S/p) + (p-1)/p S gamma; in bytes exactly the ring."""
    return _two_tiers(q, q.options.get("columns") or square(q.p)[0], q)


def hierarchical(q):
    """2(g-1) (alpha + beta S/g) inside + 2(m-1) (alpha' + beta' S/p) across + (p-1)/p S gamma."""
    return _two_tiers(q, q.options.get("group") or square(q.p)[0], _across(q))


def _two_tiers(q, inner, across):
    outer, part = q.p // inner, q.S / inner
    seconds = 2 * (inner - 1) * q.message(part) + (inner - 1) * q.add(part)
    seconds += 2 * (outer - 1) * across.message(q.share) + (outer - 1) * q.add(q.share)
    return Cost(seconds, q.optimum, 2 * q.optimum)


def leader(q):
    """A star inside, a ring of m leaders across: 2(g-1) (alpha + beta S) + 2(m-1) (alpha' + beta' S/m), and adding."""
    inner = q.options.get("group") or square(q.p)[0]
    outer = q.p // inner
    seconds = star(q.but(p=inner)).seconds + ring(_across(q).but(p=outer)).seconds
    sent = (inner - 1) * q.S + 2 * (outer - 1) * (q.S / outer)
    return Cost(seconds, sent, 2 * sent)


def _across(q):
    """The question with the links between nodes for all links."""
    alpha, beta = q.options.get("across") or (q.alpha, q.beta)
    return q.but(alpha=alpha, beta=beta)


def double_tree(q):
    """(2p + 4 ceil(log2 p)) (alpha + beta S/p), the best that two such trees can do (Sanders, Speck, Traeff 2009).

    On our wire messages of both trees meet at a port and queue, so that it takes up to twice that.
    """
    seconds = (2 * q.p + 4 * q.levels) * q.message(q.share) + q.p * q.add(q.share)
    return Cost(seconds, 2 * q.S, 4 * q.S, least=Fraction(1, 4), most=2)


def parameter_server(q):
    """2(p-1) (alpha + beta S/k) with k servers: the star for k = 1, direct for k = p, else an estimate."""
    servers = min(q.options.get("servers") or 2, q.p)
    served = -(-q.p // servers) * q.share  # by the busiest server
    seconds = q.crowd(q.p - 1, served) + q.spread(q.p - 1, served)
    sent = (q.p - 2) * served + q.S
    exact = servers in (1, q.p)
    return Cost(seconds, sent, 2 * sent, least=1 if exact else Fraction(1, 2), most=1 if exact else 2)


def switch(q):
    """(n + 1) (alpha + beta S/n) for n pieces, with a port per worker; with one port it is a pipelined star."""
    port = 2 * (q.p - 1 if q.ports == 1 else 1) * q.S
    return Cost(_hub(q, q.p * (q.options.get("pieces") or 1)), q.S, port)


def nvls(q):
    """(2p + 1) (alpha + beta S/p) and S + S/p bytes each way, with a port per worker."""
    sent, message, add = q.S + q.share, q.message(q.share), q.add(q.share)
    if q.ports == 1:
        messages = q.p * (q.p - 1)
        seconds = q.crowd(messages, q.share) + (messages + 1) * message
        return Cost(seconds, sent, 2 * (q.p - 1) * sent, least=Fraction(3, 4) if q.gamma else 1)
    add = (q.p - 1) * add
    summed = max(q.p * message + add, message + q.p * add)  # all chunks
    owned = max((q.p - 1) * message + add, message + (q.p - 1) * add)  # the last that a worker owns
    back = max(owned + message, q.p * message) + message  # it comes back when all other chunks are up
    down = max(summed, (q.p + 1) * message) + q.p * message
    return Cost(max(down, back + 2 * message), sent, 2 * sent)


ALLREDUCES = {
    form.__name__: form
    for form in (
        ring,
        pass_around,
        star,
        pipelined_star,
        tree,
        doubling,
        halving,
        direct,
        two_way_ring,
        torus,
        hierarchical,
        leader,
        double_tree,
        parameter_server,
        switch,
        nvls,
    )
}
OWN_PORTS = ("two_way_ring", "switch", "nvls")  # made for a port per neighbour, or per worker at the switch
