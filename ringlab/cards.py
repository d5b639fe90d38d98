"""One card for each all-reduce: a picture of its messages, when it wins, what it costs, and one line to try."""

from html import escape
from typing import NamedTuple

import numpy as np

from . import cost
from .algorithms import ALGORITHMS
from .comparison import WITH_SWITCH
from .network import Network
from .sandbox import run_virtual
from .verdicts import BadInput
from .views.weave import weave_svg, weave_text

BYTES = 32  # of a chunk in a picture
RANKS = 8  # of the costs on a card
TALL = 16  # rounds from which on a picture takes 4 ranks instead of 8


class Words(NamedTuple):
    """title; what it does, in one sentence; when it wins, and when it loses; one line to try."""

    title: str
    idea: str
    wins: str
    loses: str
    line: str


CARDS = {
    "ring": Words(
        "Ring",
        "Cut the buffer in P chunks; send on what you just received, P - 1 rounds adding, P - 1 copying.",
        "large buffers, any P, and links to two neighbours only: it never crosses its own path.",
        "small buffers on many ranks: 2(P - 1) messages one after the other.",
        'print(rl.run("ring", ranks=8, wire="virtual"))',
    ),
    "pass_around": Words(
        "Pass-around",
        "Hand whole buffers round the ring; everybody adds what comes by.",
        "two ranks.",
        "all others: P - 1 whole buffers per rank. And every rank adds in another order, so replicas differ in bits.",
        'for x in rl.run("pass_around", [np.full(3, x, "f") for x in (1e8, -1e8, 1)]).outputs: print(x[0])',
    ),
    "star": Words(
        "Star",
        "Everybody sends everything to rank 0, which adds and sends the sum back.",
        "two or three ranks, or a root with a port for each of them.",
        "from then on: 2(P - 1) buffers through one port.",
        'rl.link_map(rl.run("star", ranks=8, wire="virtual"))',
    ),
    "pipelined_star": Words(
        "Pipelined star",
        "The star chunk by chunk: one chunk goes out while the next comes in.",
        "against the plain star, by nearly two for large buffers: the root's port works both ways at once.",
        "against all others: still every byte through one rank, in P times as many messages.",
        'rl.compare(["star", "pipelined_star", "ring"], 10**8, ranks=8)',
    ),
    "tree": Words(
        "Binomial tree",
        "A knock-out tournament to rank 0, and the same way back.",
        "small buffers where few messages must do, and where the root alone needs the sum.",
        "large buffers: the whole buffer in each of 2 log2 P rounds.",
        'print(rl.run("tree", ranks=8, wire="virtual").trace.table(2))',
    ),
    "doubling": Words(
        "Recursive doubling",
        "Swap whole buffers with a partner, each time twice as far away.",
        "small buffers: log2 P rounds, and no all-reduce can do with fewer.",
        "large ones: log2 P whole buffers per rank, and two rounds more when P is no power of two.",
        'print(rl.run("doubling", ranks=8, wire="virtual").trace.state(1))',
    ),
    "halving": Words(
        "Halving and doubling (Rabenseifner)",
        "Swap halves, quarters, eighths while adding; then the same backwards, copying.",
        "powers of two and anything above a few kilobytes: the bytes of the ring in 2 log2 P rounds.",
        "other P (two whole buffers more) and networks where far partners share a cable.",
        'print(rl.run("halving", ranks=8, wire="virtual").trace.state(2))',
    ),
    "direct": Words(
        "Direct",
        "Rank r looks after chunk r; everybody sends everybody their chunk.",
        "machines with a link between any two ranks: two rounds in all.",
        "one port per rank: then it takes as long as the ring, and needs a full mesh.",
        'rl.run("direct", ranks=8, wire="virtual", network=rl.Network(1, 0, ports="per-neighbour")).seconds',
    ),
    "two_way_ring": Words(
        "Two-way ring",
        "Half of every chunk goes clockwise, half counter-clockwise.",
        "two ports per rank, one to each neighbour: the bytes cost half the time.",
        "a single port: the halves queue behind each other, with twice the messages.",
        'rl.show(rl.run("two_way_ring"))',
    ),
    "torus": Words(
        "2D torus",
        "Rings along the rows of a grid, then its columns, then back.",
        "many ranks: 28 rounds instead of 126 for 64, and not one byte more than the ring.",
        "a prime P, where it is the ring; and halving has fewer rounds still.",
        'rl.compare(["ring", "torus"], 10**6, ranks=64)',
    ),
    "hierarchical": Words(
        "Hierarchical ring",
        "Ring inside each machine, ring across, ring inside again.",
        "two kinds of links: only 2(m - 1) messages wait for the slow ones, and each carries 1/g of the buffer.",
        "equal links and powers of two: then it is a torus, and halving has fewer rounds.",
        'rl.compare(["ring", "hierarchical", "leader"], 10**6, rl.Network(1e-6, 1e-10, groups=(4, 1e-5, 1e-9)), 16)',
    ),
    "leader": Words(
        "Leaders",
        "Everybody hands everything to a leader per machine; the leaders make a ring.",
        "machines whose other ranks have no way out.",
        "where they have: the leader alone moves g times as much across as each rank of the hierarchical ring.",
        'rl.compare(["leader", "hierarchical"], 10**8, rl.Network(1e-6, 1e-10, groups=(4, 1e-5, 1e-9)), 16)',
    ),
    "double_tree": Words(
        "Double binary tree",
        "Two trees for half of the chunks each; a leaf of one works inside the other.",
        "thousands of ranks with finely cut buffers: about 2S bytes, and log2 P deep. NCCL's choice there.",
        "few ranks, and chunks as coarse as ours.",
        "rl.algorithms.double_tree.trees(8)",
    ),
    "parameter_server": Words(
        "Parameter server",
        "k servers look after a share of the buffer each.",
        "servers that are extra machines, or as many servers as ranks: then it moves the bytes of the ring.",
        "one server: that is the star.",
        'rl.compare(["star", "parameter_server", "direct"], 10**8, ranks=8)',
    ),
    "switch": Words(
        "A switch that adds",
        "Every rank sends its buffer once; the switch, here the last rank, adds and sends the sum back.",
        "eight ranks and more: S bytes out and S in, up to half of what the ring moves.",
        "two ranks, where the ring moves no more either. And the switch must know how to add your numbers.",
        'rl.compare(["ring", "switch"], 10**8, ranks=8)',
    ),
    "nvls": Words(
        "A switch that adds, NVLink's way",
        "The switch, here the last rank, adds a chunk for its owner, who has it spread to all.",
        "eight GPUs on one switch: (P + 1)/P buffers each way instead of 2(P - 1)/P, 1.56 times less.",
        "two GPUs (0.67 times: a loss) and four (1.2 times in bytes, nothing in practice).",
        "[float(rl.cost.in_network_gain(p, nvls=True)) for p in (2, 4, 8)]",
    ),
}


class Card:
    """What `card` returns: HTML with a picture in a notebook, the same as text elsewhere."""

    def __init__(self, name):
        self.name, self.words = name, CARDS[name]

    @property
    def ranks(self):
        """Ranks in the picture."""
        return RANKS if cost.rounds(self.name, RANKS) < TALL else 4

    def programs(self):
        """Events per rank of a run of the picture's size, with times in messages, on the ports it is made for."""
        ranks, network = self.ranks, Network(1, 0)
        if self.name in WITH_SWITCH:
            network = network.but(multiport=(ranks - 1,))
        elif self.name == "two_way_ring":
            network = network.but(ports="per-neighbour")
        buffers = [np.ones(BYTES // 8 * ranks) for _ in range(ranks)]
        return run_virtual(ALGORITHMS[self.name], buffers, network, None, 10.0, op="sum", wire_dtype=None, adopt=True)[
            1
        ]

    def costs(self):
        """One sentence: rounds and bytes with 8 ranks."""
        of = cost.cost(self.name, RANKS, 1)
        about = "about " if of.least != of.most else ""
        return (
            f"With {RANKS} ranks: {about}{cost.rounds(self.name, RANKS)} rounds, {float(of.sent):.4g} S sent per rank."
        )

    def __repr__(self):
        words = self.words
        lines = [words.title, words.idea, self.costs(), f"Wins: {words.wins}", f"Loses: {words.loses}"]
        return "\n".join([*lines, f"Try: {words.line}", "", weave_text(self.programs())])

    def _repr_html_(self):
        words = self.words
        description = f"{words.title}: who sends to whom, round by round, with {self.ranks} ranks"
        picture = weave_svg(self.programs(), BYTES * self.ranks, description)
        return (
            '<div style="display:flex;flex-wrap:wrap;gap:16px;align-items:flex-start;margin:8px 0">'
            f'<div style="flex:0 0 auto">{picture}</div><div style="flex:1 1 260px;max-width:460px">'
            f'<div style="font-weight:600;font-size:1.1em">{escape(words.title)}</div>'
            f"<p>{escape(words.idea)} {escape(self.costs())}</p>"
            f"<p><b>Wins:</b> {escape(words.wins)}<br><b>Loses:</b> {escape(words.loses)}</p>"
            f"<p><b>Try:</b> <code>{escape(words.line)}</code></p></div></div>"
        )


def card(name):
    """The Card of an all-reduce, by its short name; BadInput when there is none."""
    if name not in CARDS:
        raise BadInput(f"there is no card for {name!r}", f"cards: {', '.join(CARDS)}")
    return Card(name)
