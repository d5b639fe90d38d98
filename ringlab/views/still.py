"""The still picture of a run: who holds whose gradients at the start, when adding is over, and at the end.

One SVG text that needs no script: what a player shows in print, in an untrusted notebook and before it starts.
"""

from html import escape

from ..events import chunk_name
from ..texts import plural
from .encoding import in_program_order

# The colours of ranks 0 to 7, as in player.css: hue says whose gradient, and nothing else.
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
        f"{_patterns(cell)}"
        f'<rect width="100%" height="100%" rx="8" fill="#fff"/>'
        f'<text class="t" x="{PAD}" y="18">{escape(_title(trace))}</text>'
    )
    parts = [head]
    for i, (words, held) in enumerate(panels):
        x, y = (PAD, 16 + i * height) if rows > 1 else (PAD + i * panel_w, 16)
        parts.append(f'<g transform="translate({x} {y})">{_panel(words, held, cell, i == 0)}</g>')
    if not panels:
        reason = "too many ranks for a still picture" if trace.ranks > 16 else "whose gradients moved is not known"
        parts.append(f'<text class="t" x="{PAD}" y="44">{reason}</text>')
    return "".join(parts) + "</svg>"


def _title(trace):
    failed = f", ended by {trace.failure.get('verdict')}" if trace.failure else ""
    failed = ", up to where it goes wrong" if failed.endswith("WRONG_RESULT") else failed
    bars = ", the longer a bar the more ranks are in" if trace.ranks > 8 else ""
    title = f"{trace.algorithm}, {plural(trace.ranks, 'rank')}{failed}{bars}"
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


def _panel(words, held, cell, first):
    w, h = cell
    p, chunks = len(held), len(held[0])
    grid = f'<path fill="url(#b)" d="M{NAME_W - 1} {HEAD_H - 1}h{p * w - 2}v{chunks * h - 2}h{2 - p * w}z"/>'
    names = f'<g id="n">{_names(p, chunks, cell)}</g>' if first else '<use href="#n"/>'
    title = f'<text class="t" x="{NAME_W}" y="16">{words}</text>'
    contents = _bars(p, held, cell) if p > 8 else _slots(p, held, cell)
    return grid + contents + _outlines(p, held, cell) + names + title


def _names(p, chunks, cell):
    w, h = cell
    names: list = [(NAME_W + rank * w + (w - 4) / 2, 34, rank) for rank in range(p)]
    names += [
        (NAME_W / 2 - 2, HEAD_H + chunk * h + (h - 4) / 2 + 4, chunk_name(chunk, chunks // p))
        for chunk in range(chunks)
    ]
    return "".join(f'<text x="{x:g}" y="{y:g}">{name}</text>' for x, y, name in names)


def _slots(p, held, cell):
    """Per rank one path: its slots in all cells. Slots below each other are one dashed line."""
    w, h = cell
    per_row, slot_w, slot_h = (p, 9, 12) if p <= 4 else ((p + 1) // 2, 6, 8)
    parts = []
    for term, colour in enumerate(COLOURS[:p]):
        strokes = []
        for rank, row in enumerate(held):
            x = NAME_W + rank * w + 2 + term % per_row * slot_w + slot_w // 2
            top = HEAD_H + 2 + term // per_row * slot_h
            inside = [term in terms for terms in row]
            for first, last in _runs(inside):
                strokes.append(
                    (x, top + first * h, f"v{(last - first) * h + slot_h - 1}", (last - first) * h + slot_h - 1)
                )
        dashes = f'stroke-width="{slot_w - 1}" stroke-dasharray="{slot_h - 1} {h - slot_h + 1}"'
        parts.append(f'<path stroke="{colour}" {dashes} d="{_path(strokes)}"/>')
    return "".join(parts)


def _bars(p, held, cell):
    w, h = cell
    strokes = []
    for rank, row in enumerate(held):
        for chunk, terms in enumerate(row):
            length = round(len(set(terms)) * (w - 4) / p)
            strokes.append((NAME_W + rank * w, HEAD_H + chunk * h + (h - 4) // 2, f"h{length}m{-length} 0", 0))
    return f'<path stroke="#5a5a62" stroke-width="{h - 4}" d="{_path(strokes)}"/>'


def _outlines(p, held, cell):
    """Thick around the complete cells, red around those that count a rank twice."""
    w, h = cell
    strokes = {"c": [], "x": []}
    for rank, row in enumerate(held):
        twice = [len(set(terms)) < len(terms) for terms in row]
        complete = [len(set(terms)) == p == len(terms) for terms in row]
        for kind, flags in (("x", twice), ("c", complete)):
            for first, last in _runs(flags):
                down = (last - first + 1) * h - 2
                box = f"h{w - 2}v{down}h{2 - w}z"
                strokes[kind].append((NAME_W + rank * w - 1, HEAD_H + first * h - 1, box, 0))
    return "".join(f'<path fill="url(#{kind})" d="{_path(some)}"/>' for kind, some in strokes.items() if some)


def _runs(flags):
    """(first, last) of every run of true flags.

    >>> _runs([True, True, False, True])
    [(0, 1), (3, 3)]
    """
    runs = []
    for i, flag in enumerate(flags):
        if flag and i and flags[i - 1]:
            runs[-1] = (runs[-1][0], i)
        elif flag:
            runs.append((i, i))
    return runs


def _path(strokes):
    """One SVG path of strokes (x, y, drawing, how far below y it ends), each placed relative to the one before."""
    path, at = "", (0, 0)
    for x, y, drawing, down in strokes:
        path += f"m{x - at[0]} {y - at[1]}{drawing}".replace(" -", "-")
        at = (x, y + down)
    return path


def _patterns(cell):
    """The outlines of a cell (plain, complete, counted twice), as patterns that repeat from cell to cell."""
    w, h = cell
    place = f'x="{NAME_W - 1}" y="{HEAD_H - 1}" width="{w}" height="{h}" patternUnits="userSpaceOnUse"'
    box = f'd="M1 1h{w - 4}v{h - 4}h{4 - w}z"'
    return "".join(f'<pattern id="{kind}" {place}><path class="{kind}" {box}/></pattern>' for kind in "bcx")
