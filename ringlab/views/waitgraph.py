"""Who waits for whom, drawn: ranks clockwise from the top, an arrow from each rank that waits to the one it waits for.

    try:
        rl.run(rl.ring_allreduce, eager=0)
    except rl.verdicts.Deadlock as stuck:
        display(rl.wait_graph(stuck))

The arrows that bite their tail are thick, red and numbered; those that only hang on to them are thin and dashed. One
SVG text without script, whose bytes depend on the waits only.
"""

import base64
import math
from html import escape

from ..verdicts import BadInput, Deadlock
from .still import COLOURS

STYLE = (
    "text{font:13px system-ui,sans-serif;fill:#1b1b1f;text-anchor:middle}"
    ".k{font-weight:700}.d{font-size:12px;fill:#5b5b63}"
    ".c{stroke:#b00020;stroke-width:4;fill:none}.w{stroke:#5b5b63;stroke-width:2;stroke-dasharray:6 4;fill:none}"
    ".r{stroke:#1b1b1f;stroke-width:2}.f{stroke:#5b5b63;stroke-width:2;stroke-dasharray:3 3;fill:#f1f1f4}"
    ".n{fill:#fff;stroke:#b00020;stroke-width:1.5}.m{fill:#b00020;font-size:11px;font-weight:700}"
)
HEADS = (
    '<defs><marker id="hc" viewBox="0 0 10 10" refX="8" refY="5" markerWidth="4" markerHeight="4" orient="auto">'
    '<path d="M0 0L10 5L0 10z" fill="#b00020"/></marker><marker id="hw" viewBox="0 0 10 10" refX="8" refY="5" '
    'markerWidth="6" markerHeight="6" orient="auto"><path d="M0 0L10 5L0 10z" fill="#5b5b63"/></marker></defs>'
)
LABEL = 40  # room around the ring of ranks
BESIDE = 0.45  # radians from the straight way at which an arrow leaves and lands
MOST = 64  # ranks that can still be told apart


def wait_graph(stuck):
    """The wait-for graph of a Deadlock, or of a judge's Verdict of one: a picture in a notebook, in words as text.

    Raises BadInput for anything else, and for more than 64 ranks.
    """
    return WaitGraph(getattr(stuck, "error", None) or stuck)


class WaitGraph:
    """waits: the Wait of every stuck rank.  cycle: (rank, peer) pairs that can never move.  done: who has finished."""

    def __init__(self, stuck):
        if not isinstance(stuck, Deadlock):
            raise BadInput(f"a wait-for graph needs a deadlock, not {type(stuck).__name__}", "give it the error itself")
        self.waits, self.cycle, self.done = stuck.waits, stuck.cycle, stuck.done
        seen = [rank for wait in self.waits for rank in (wait.rank, wait.peer)]
        self.ranks = 1 + max([*seen, *self.done])
        self.node = 22 if self.ranks <= 16 else 12  # radius of a rank
        if self.ranks > MOST:
            raise BadInput(
                f"{self.ranks} ranks are too many for one picture", f"draw up to {MOST}; print(error.full())"
            )

    def __repr__(self):
        in_cycle = dict(self.cycle)
        rows = [
            f"{'!' if in_cycle.get(wait.rank) == wait.peer else ' '} rank {wait.rank} --> rank {wait.peer}"
            + (f"   {self._why(wait)}" if self._why(wait) else "")
            for wait in self.waits
        ]
        rows += [f"  rank {rank} has finished" for rank in self.done]
        return "\n".join([self.summary(), *rows])

    def summary(self):
        """One sentence: what can never move."""
        ends = self.cycle[-1][1] if self.cycle else None
        if len(self.cycle) == 1 and ends in self.done:
            return f"rank {self.cycle[0][0]} waits for {ends}, which has finished"
        if self.cycle and ends == self.cycle[0][0]:
            path = [str(rank) for rank, _ in self.cycle]
            path = path if len(path) <= 9 else [*path[:8], "..."]
            return f"a cycle of {len(self.cycle)}: {' > '.join(path)} > {ends}"
        return "nobody can move"

    def _why(self, wait):
        return "until it receives" if wait.sending else "for a message"

    def svg(self):
        """The picture as SVG text."""
        radius = max(78, self.ranks * (self.node + 22) / math.pi)
        side = round(2 * (radius + self.node + LABEL))
        width = max(side, 8 * len(self.summary()))
        place = [self._place(rank, radius, width / 2, side / 2) for rank in range(self.ranks)]
        number = {pair: k + 1 for k, pair in enumerate(self.cycle)}
        head = (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{side + 28}" '
            f'viewBox="0 0 {width} {side + 28}" role="img"><title>{escape(self.summary())}</title>'
            f'<style>{STYLE}</style>{HEADS}<rect width="100%" height="100%" rx="8" fill="#fff"/>'
        )
        parts = [head]
        for wait in self.waits:
            parts.append(self._arrow(wait, place, number.get((wait.rank, wait.peer))))
        for rank, (x, y) in enumerate(place):
            kind = "f" if rank in self.done else "r"
            fill = "" if rank in self.done else f' fill="{COLOURS[rank % len(COLOURS)]}"'
            parts.append(f'<circle class="{kind}" cx="{x}" cy="{y}" r="{self.node}"{fill}/>')
            parts.append(f'<text class="k" x="{x}" y="{y + 5:g}">{rank}</text>')
            if rank in self.done:
                parts.append(f'<text class="d" x="{x}" y="{y + self.node + 15:g}">finished</text>')
        parts.append(f'<text class="k" x="{width / 2:g}" y="{side + 12}">{escape(self.summary())}</text></svg>')
        return "".join(parts)

    def _place(self, rank, radius, x, y):
        angle = 2 * math.pi * rank / self.ranks
        return round(x + radius * math.sin(angle), 1), round(y - radius * math.cos(angle), 1)

    def _arrow(self, wait, place, number):
        """The arrow of one wait, bent to its left so that two ranks that wait for each other have two arrows."""
        (x0, y0), (x1, y1) = place[wait.rank], place[wait.peer]
        kind, head = ("c", "hc") if number else ("w", "hw")
        if wait.rank == wait.peer:
            path = f"M{x0 - 12} {y0 - self.node + 3:g}c-34 -44 58 -44 27 -5"
            mark = (x0, round(y0 - self.node - 30, 1))
        else:
            along = math.atan2(y1 - y0, x1 - x0)
            bend = min(30, math.hypot(x1 - x0, y1 - y0) / 4)
            mx, my = (x0 + x1) / 2 + bend * math.sin(along), (y0 + y1) / 2 - bend * math.cos(along)
            leave, land = along - BESIDE, along + math.pi + BESIDE
            ends = [x0 + (self.node + 2) * math.cos(leave), y0 + (self.node + 2) * math.sin(leave), mx, my]
            ends += [x1 + (self.node + 5) * math.cos(land), y1 + (self.node + 5) * math.sin(land)]
            path = "M{:.1f} {:.1f}Q{:.1f} {:.1f} {:.1f} {:.1f}".format(*ends)
            mark = (round((ends[0] + 2 * mx + ends[4]) / 4, 1), round((ends[1] + 2 * my + ends[5]) / 4, 1))
        arrow = f'<path class="{kind}" d="{path}" marker-end="url(#{head})"/>'
        if not number or len(self.cycle) == 1:
            return arrow
        return (
            f'{arrow}<circle class="n" cx="{mark[0]}" cy="{mark[1]}" r="9"/>'
            f'<text class="m" x="{mark[0]}" y="{mark[1] + 4:g}">{number}</text>'
        )

    def _repr_html_(self):
        picture = base64.b64encode(self.svg().encode()).decode()
        words = escape(f"Wait-for graph. {self!r}".replace("\n", "; "), quote=True)
        return f'<img alt="{words}" src="data:image/svg+xml;base64,{picture}" style="max-width:100%">'
