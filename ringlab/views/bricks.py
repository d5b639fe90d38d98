"""A wall of bricks per rank: every chunk twice, once to be added and once to be copied, as far as the rank sends it.

    rl.wall(rl.run("ring", [np.ones(10)] * 4))

Two bricks are missing in each wall of a ring: whoever completes a chunk has no need to send it for adding, and to its
neighbour on the right it has no need to send the one that this neighbour has completed. A brick is as wide as its chunk
is long. What is drawn are the messages of a run, not a formula.
"""

import base64
from html import escape

from ..verdicts import BadInput
from .still import COLOURS

WIDTH, COURSE, LEFT = 560, 30, 150  # of a row of bricks, its height, where it begins
STYLE = (
    "text{font:12px system-ui,sans-serif;fill:#1b1b1f}.m{text-anchor:middle}.n{font-weight:600}.g{fill:#5b5b63}"
    ".b{fill:#e9e9ee;stroke:#1b1b1f}.s{fill:url(#s);stroke:#1b1b1f}.o{fill:none;stroke:#77777f;stroke-dasharray:5 4}"
)
STRIPES = (
    '<pattern id="s" width="8" height="8" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">'
    '<rect width="8" height="8" fill="#fff"/><rect width="3" height="8" fill="#d3d3da"/></pattern>'
)
PHASES = ("adding", "copying")


def wall(run):
    """The walls of a run that sends single chunks, as a ring does: HTML for a notebook, one line as text.

    Raises BadInput when a message holds several chunks, or the run does not know whose gradients its messages carry.
    """
    return Wall(run)


class Wall:
    """sizes: elements of each chunk.  sent[rank][phase]: the numbers of the chunks that it sends in that half."""

    def __init__(self, run):
        trace = getattr(run, "trace", None)
        if trace is None or not trace.provenance:
            raise BadInput(f"a wall needs a run that knows its chunks, not {type(run).__name__}")
        self.ranks, self.name = trace.ranks, trace.algorithm
        self.sizes = [0] * trace.nchunks
        self.sent = [([], []) for _ in range(self.ranks)]
        itemsize = run.outputs[0].itemsize
        for event in trace.events:
            if event.kind != "send":
                continue
            if len(event.chunks) != 1:
                raise BadInput(f"{self.name} sends {len(event.chunks)} chunks as one message: a wall takes single ones")
            (chunk,) = event.chunks
            self.sizes[chunk] = event.nbytes // itemsize
            self.sent[event.rank][trace.phase(event.round) == "copying"].append(chunk)

    def missing(self, rank):
        """(chunks not sent for adding, chunks not sent for copying) of one rank."""
        return tuple([chunk for chunk in range(len(self.sizes)) if chunk not in mine] for mine in self.sent[rank])

    def elements(self, rank):
        """How many elements a rank sends."""
        return sum(self.sizes[chunk] for mine in self.sent[rank] for chunk in mine)

    def __repr__(self):
        walls = "; ".join(f"rank {rank} {self._words(rank)}" for rank in range(self.ranks))
        lengths = " ".join(map(str, self.sizes))
        return f"walls of {2 * len(self.sizes)} bricks, chunks of {lengths} elements: {walls}"

    def _words(self, rank):
        adding, copying = (" ".join(f"c{chunk}" for chunk in mine) or "none" for mine in self.missing(rank))
        return f"lacks {adding} adding, {copying} copying, sends {self.elements(rank)}"

    def _repr_html_(self):
        picture = base64.b64encode(self.svg().encode()).decode()
        alt = escape(repr(self), quote=True)
        return f'<img alt="{alt}" src="data:image/svg+xml;base64,{picture}" style="max-width:100%">'

    def svg(self):
        """The picture as SVG text; it depends on the run's messages only."""
        pitch = 2 * COURSE + 22
        width, height = LEFT + WIDTH + 110, 34 + self.ranks * pitch + 30
        size = f'width="{width}" height="{height}" viewBox="0 0 {width} {height}"'
        parts = [f'<svg xmlns="http://www.w3.org/2000/svg" {size}><style>{STYLE}</style><defs>{STRIPES}</defs>']
        parts.append('<rect width="100%" height="100%" rx="8" fill="#fff"/>')
        title = f"what each rank sends: of {2 * len(self.sizes)} bricks all but the dashed ones"
        parts.append(f'<text class="n" x="14" y="22">{title}</text>')
        parts += [self._rows(rank, 36 + rank * pitch) for rank in range(self.ranks)]
        y = height - 14
        for x, kind, words in (
            (14, "b", "sent, to be added"),
            (160, "s", "sent, to be copied"),
            (316, "o", "not sent"),
        ):
            parts.append(f'<rect class="{kind}" x="{x}" y="{y - 11}" width="22" height="13"/>')
            parts.append(f'<text x="{x + 28}" y="{y}">{words}</text>')
        parts.append("</svg>")
        return "".join(parts)

    def _rows(self, rank, y):
        colour = COLOURS[rank % len(COLOURS)]
        parts = [
            f'<rect x="14" y="{y}" width="5" height="{2 * COURSE}" fill="{colour}"/>',
            f'<text class="n" x="27" y="{y + COURSE + 4}">rank {rank}</text>',
            f'<text class="n" x="{LEFT + WIDTH + 14}" y="{y + COURSE + 4}">sends {self.elements(rank)}</text>',
        ]
        total = sum(self.sizes) or 1
        for phase, (word, sent) in enumerate(zip(PHASES, self.sent[rank])):
            top = y + phase * COURSE
            parts.append(f'<text class="g" x="84" y="{top + 19}">{word}</text>')
            left = 0
            for chunk, size in enumerate(self.sizes):
                x, wide = LEFT + WIDTH * left / total, WIDTH * size / total
                left += size
                if not size:
                    continue
                kind, words = (("b", "s")[phase], "m") if chunk in sent else ("o", "m g")
                box = f'x="{x + 1:.1f}" y="{top + 1}" width="{wide - 2:.1f}" height="{COURSE - 2}"'
                parts.append(f'<rect class="{kind}" rx="2" {box}/>')
                parts.append(f'<text class="{words}" x="{x + wide / 2:.1f}" y="{top + 19}">c{chunk}</text>')
        return "".join(parts)
