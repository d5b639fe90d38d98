"""The still picture of a run: who holds whose gradients at the start, when adding is over, and at the end.

One SVG text that needs no script: what a player shows in print, in an untrusted notebook and before it starts.
"""

from html import escape

from .encoding import in_program_order

# The colours of ranks 0 to 7, as in player.js: hue says whose gradient, and nothing else.
COLOURS = ("#5b9bea", "#f7b733", "#38b28a", "#dcbcfb", "#a98be8", "#9fe0f4", "#c48f5c", "#dfe766")
STYLE = (
    "text{font:11px system-ui,sans-serif;fill:#1b1b1f;text-anchor:middle}.t{font-weight:600;text-anchor:start}"
    "path:not([fill]){fill:none}.b{stroke:#c9c9d0}.c{stroke:#1b1b1f;stroke-width:2}.x{stroke:#b00020;stroke-width:2}"
)
PAD, NAME_W, HEAD_H = 12, 26, 44


def still_svg(trace):
    """SVG text of the picture; its bytes depend on the trace only."""
    panels = _moments(trace) if trace.provenance and trace.ranks <= 16 else []
    cell = _cell_size(trace.ranks)
    panel_w = NAME_W + trace.ranks * cell[0] + PAD
    width = max(320, PAD + len(panels) * panel_w)
    height = HEAD_H + trace.nchunks * cell[1] + PAD if panels else 60
    if len(panels) > 1 and width > 1010:  # one below the other
        width, rows = max(320, PAD + panel_w), len(panels)
    else:
        rows = 1
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{16 + rows * height}" '
        f'viewBox="0 0 {width} {16 + rows * height}"><style>{STYLE}</style>'
        f"{_patterns(trace.ranks, cell)}"
        f'<rect width="100%" height="100%" rx="8" fill="#fff"/>'
        f'<text class="t" x="{PAD}" y="18">{escape(_title(trace))}</text>'
    )
    parts = [head]
    for i, (words, held) in enumerate(panels):
        x, y = (PAD, 16 + i * height) if rows > 1 else (PAD + i * panel_w, 16)
        parts.append(f'<g transform="translate({x} {y})">{_panel(trace, words, held, cell)}</g>')
    if not panels:
        reason = "too many ranks for a still picture" if trace.ranks > 16 else "whose gradients moved is not known"
        parts.append(f'<text class="t" x="{PAD}" y="44">{reason}</text>')
    return "".join(parts) + "</svg>"


def _title(trace):
    failed = f", ended by {trace.failure.get('verdict')}" if trace.failure else ""
    failed = ", up to where it goes wrong" if failed.endswith("WRONG_RESULT") else failed
    bars = ", the longer a bar the more ranks are in" if trace.ranks > 8 else ""
    title = f"{trace.algorithm}, {trace.ranks} rank{'' if trace.ranks == 1 else 's'}{failed}{bars}"
    return "".join(c if c.isprintable() else " " for c in title)


def _moments(trace):
    """(words, holdings) of the start, of the end of adding where there is one, and of the end."""
    phases = [trace.phase(k) for k in range(trace.rounds)]
    moments = [("at the start", _held(trace, -1))]
    if "copying" in phases:
        turn = phases.index("copying")
        if 0 < turn and set(phases[:turn]) == {"adding"} and set(phases[turn:]) == {"copying"}:
            moments.append(("adding is over", _held(trace, turn - 1)))
    if trace.rounds:
        words = "where it stopped" if trace.failure else "at the end"
        moments.append((words, _held(trace, trace.rounds - 1)))
    return moments


def _held(trace, round):
    """Terms per rank and chunk after `round`, as the player shows them."""
    held = [list(row) for row in trace.initial]
    for rank, row in enumerate(held):
        for landed, _, _, changes in in_program_order(trace, rank):
            for chunk, terms in changes if landed <= round else ():
                row[chunk] = terms
    return held


def _cell_size(ranks):
    if ranks <= 4:
        return ranks * 9 + 8, 20
    if ranks <= 8:
        return (ranks + 1) // 2 * 6 + 8, 24
    return 18, 16


def _panel(trace, words, held, cell):
    w, h = cell
    p = trace.ranks
    boxes = {"c": [], "x": []}  # complete, counted twice; the others have the pattern's outline
    slots = {}  # colour -> strokes
    texts = [f'<text class="t" x="{NAME_W}" y="16">{words}</text>']
    for rank in range(p):
        texts.append(f'<text x="{NAME_W + rank * w + (w - 4) / 2:g}" y="34">{rank}</text>')
    for chunk in range(trace.nchunks):
        texts.append(f'<text x="{NAME_W / 2 - 2:g}" y="{HEAD_H + chunk * h + (h - 4) / 2 + 4:g}">c{chunk}</text>')
    for rank, row in enumerate(held):
        for chunk, terms in enumerate(row):
            x, y = NAME_W + rank * w, HEAD_H + chunk * h
            there = set(terms)
            kind = "x" if len(there) < len(terms) else "c" if len(there) == p else None
            if kind:
                boxes[kind].append(f"M{x} {y}h{w - 4}v{h - 4}h{4 - w}z")
            if p > 8:
                slots.setdefault("#5a5a62", []).append(f"M{x} {y + (h - 4) / 2:g}h{len(there) * (w - 4) / p:.1f}")
            elif len(there) < p:  # a full set comes from the pattern
                for term in there:
                    dx, dy, length, _ = _slot(p, term)
                    slots.setdefault(COLOURS[term], []).append(f"M{x + dx} {y + dy:g}h{length}")
    thick = _slot(p, 0)[3] if p <= 8 else h - 4
    paths = [f'<path fill="url(#b)" d="M{NAME_W - 1} {HEAD_H - 1}h{p * w - 2}v{trace.nchunks * h - 2}h{2 - p * w}z"/>']
    paths += [f'<path stroke="{colour}" stroke-width="{thick}" d="{"".join(d)}"/>' for colour, d in slots.items()]
    for kind, d in boxes.items():
        fill = ' fill="url(#f)"' if p <= 8 else ""
        paths += [f'<path class="{kind}"{fill} d="{"".join(d)}"/>'] if d else []
    return "".join(paths + texts)


def _slot(p, term):
    """(left, middle, length, thickness) of a rank's slot in a cell."""
    per_row, w, h = (p, 9, 12) if p <= 4 else ((p + 1) // 2, 6, 8)
    return 2 + term % per_row * w, 2 + term // per_row * h + h / 2, w - 1, h - 1


def _patterns(p, cell):
    """An empty cell and one with all its slots, as patterns that repeat from cell to cell."""
    w, h = cell
    strokes = ""
    for term in range(p if p <= 8 else 0):
        x, y, length, thick = _slot(p, term)
        strokes += f'<path stroke="{COLOURS[term]}" stroke-width="{thick}" d="M{x} {y:g}h{length}"/>'
    place = f'x="{NAME_W - 1}" y="{HEAD_H - 1}" width="{w}" height="{h}" patternUnits="userSpaceOnUse"'
    return (
        f'<pattern id="b" {place}><path class="b" d="M1 1h{w - 4}v{h - 4}h{4 - w}z"/></pattern>'
        f'<pattern id="f" {place}><g transform="translate(1 1)">{strokes}</g></pattern>'
    )
