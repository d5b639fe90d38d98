"""Networks: what a message costs, for the virtual wire and for emulated delays on real wires."""

from typing import NamedTuple


class Network(NamedTuple):
    """A message of n bytes holds the sender's out-port and the receiver's in-port for `alpha + beta * n`.

    alpha: seconds per message.  beta: seconds per byte (1 / bandwidth, one direction).
    gamma: seconds per byte added.  eager: sends above this many bytes wait for their receiver (None: no send waits).
    ports: 1, or "per-neighbour" for one port per peer.  multiport: ranks with a port per peer (a switch, a server).
    Times are exact when the numbers are Fractions or integers.
    """

    alpha: object = 1
    beta: object = 0
    gamma: object = 0
    eager: int | None = None
    ports: int | str = 1
    multiport: tuple[int, ...] = ()

    def seconds(self, src, dst, nbytes):
        """How long a message of `nbytes` from rank `src` to rank `dst` holds its two ports."""
        return self.alpha + self.beta * nbytes

    def port(self, rank, peer):
        """Which port of `rank` talks to `peer`."""
        return (rank, peer) if self.ports == "per-neighbour" or rank in self.multiport else rank


ROUNDS = Network(alpha=1, beta=0)  # the time of this network counts rounds
