"""Figures as plain data for plotly: no script, no ids, the same bytes for the same run, each with its text table.

A figure is shown through plotly's mime type and needs no plotly to be made. Its ink is one grey that can be read on
white and on black, and its ground is the page's. Colour repeats what position, pattern or a word says already.
"""

import math
from html import escape

from .still import COLOURS

MIME = "application/vnd.plotly.v1+json"
INK = "#7d7d85"  # 4.1 to 1 on white, 4.5 to 1 on JupyterLab's dark grey
FAINT = "rgba(125,125,133,0.3)"
FIRST, SECOND, THIRD = "#5b9bea", "#f7b733", "#38b28a"


def painted(colour, shape):
    """A bar's colour with a pattern over it, dark enough to be seen on the colour in every theme."""
    return {"color": colour, "pattern": {"shape": shape, "fillmode": "overlay", "fgcolor": "#3a2a00"}}


class Figure:
    """A plotly figure as plain data, and the same as text."""

    def __init__(self, text, data, layout):
        self.text, self.data, self.layout = text, data, layout

    def __repr__(self):
        return self.text

    def _repr_mimebundle_(self, include=None, exclude=None):
        return {"text/plain": self.text, MIME: {"data": self.data, "layout": self.layout}}


def layout(title, x, y, **more):
    """A plain layout: title, two axes (dicts, at least a title each), no template."""
    axis = {"gridcolor": FAINT, "zerolinecolor": FAINT, "linecolor": FAINT, "tickcolor": FAINT, "fixedrange": True}
    return {
        "title": {"text": escape(title), "font": {"size": 15}},
        "font": {"family": "system-ui, sans-serif", "size": 13, "color": INK},
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "xaxis": {**axis, **x},
        "yaxis": {**axis, **y},
        "margin": {"l": 70, "r": 20, "t": 50, "b": 50},
        "height": 360,
        **more,
    }


def title(text):
    """The title of an axis."""
    return {"title": {"text": text}}


def pick_unit(most):
    """(unit, its size in seconds) for times up to `most`."""
    return next(((unit, size) for unit, size in (("s", 1), ("ms", 1e-3), ("us", 1e-6)) if most >= size), ("ns", 1e-9))


def bars(comparison):
    """Times of a Comparison: per algorithm what the messages cost, what the bytes cost, and what is left."""
    rows = comparison.rows[::-1]
    unit, size = pick_unit(float(max(row.seconds for row in rows)))
    names = [row.algorithm for row in rows]
    rest = [max(0.0, float(row.seconds - row.latency - row.transfer)) for row in rows]
    parts = [
        ("messages", [float(row.latency) for row in rows], FIRST, ""),
        ("bytes", [float(row.transfer) for row in rows], SECOND, "/"),
        ("adding and waiting", rest, THIRD, "x"),
    ]
    data = [
        {
            "type": "bar",
            "orientation": "h",
            "name": name,
            "y": names,
            "x": [round(x / size, 6) for x in values],
            "marker": painted(colour, shape),
        }
        for name, values, colour, shape in parts
        if name != "adding and waiting" or max(values) > 1e-6 * float(max(row.seconds for row in rows))
    ]
    first = repr(comparison).split("\n")[0]
    look = layout(first, title(f"time ({unit})"), {}, barmode="stack", legend={"traceorder": "normal"})
    look["height"] = 130 + 32 * len(rows)
    look["margin"]["l"] = 130
    return Figure(repr(comparison), data, look)


def skyline(*runs, nbytes=None):
    """Bytes in and out of every rank's port, one group of towers per run, in buffers of `nbytes` (default: of outputs).

    The text says the same, a line per run.
    """
    data, lines, names = [], [], _labels(runs)
    for i, (run, name) in enumerate(zip(runs, names, strict=True)):
        size = nbytes or run.outputs[0].nbytes or 1
        out, into = ([float(x) / size for x in side] for side in (run.sent, run.received))
        both = _listed(a + b for a, b in zip(out, into, strict=True))
        lines.append(f"{run.algorithm}, {run.ranks} ranks: in and out {both}")
        for side, values, colour, shape in (("out", out, FIRST, ""), ("in", into, SECOND, "/")):
            data.append(
                {
                    "type": "bar",
                    "name": side,
                    "x": [[escape(name)] * run.ranks, [str(rank) for rank in range(run.ranks)]],
                    "y": values,
                    "showlegend": i == 0,
                    "marker": painted(colour, shape),
                }
            )
    look = layout("Bytes through each rank's port", {}, title("buffers (S)"), barmode="stack")
    look["xaxis"].update(type="multicategory", showgrid=False, dividercolor=FAINT)
    return Figure("\n".join(lines), data, look)


def _labels(runs):
    """Short names that tell the runs apart: what differs, the algorithm or the number of ranks."""
    names = [run.algorithm.removesuffix("_allreduce") for run in runs]
    counts = [f"{run.ranks} ranks" for run in runs]
    if len(set(names)) == 1 and len(set(counts)) == len(counts):
        return counts
    labels = names if len(set(counts)) == 1 else [f"{name}, {count}" for name, count in zip(names, counts, strict=True)]
    return [label if labels.count(label) == 1 else f"{label} ({i})" for i, label in enumerate(labels)]


def _listed(values):
    return " ".join(f"{value:.4g}S" for value in values)


def link_map(run, nbytes=None):
    """Bytes from every rank to every rank, in buffers: a heat map, and the same as a text table."""
    size, ranks = nbytes or run.outputs[0].nbytes or 1, run.ranks
    grid = [[0.0] * ranks for _ in range(ranks)]
    for event in run.trace.events:
        if event.kind == "send":
            grid[event.rank][event.peer] += event.nbytes / size
    cells = [[f"{x:.4g}" if x else "·" for x in row] for row in grid]
    width = max(len(cell) for row in cells for cell in [*row, "to 0"])
    head = " ".join(f"to {dst}".rjust(width) for dst in range(ranks))
    lines = [f"{run.algorithm}: buffers from rank to rank", "        " + head]
    lines += [f"from {src:<2} " + " ".join(cell.rjust(width) for cell in row) for src, row in enumerate(cells)]
    heat = {
        "type": "heatmap",
        "z": [[x if x else None for x in row] for row in grid],
        "text": [[cell if cell != "·" else "" for cell in row] for row in cells],
        "texttemplate": "%{text}",
        "textfont": {"color": "#141416"},
        "colorscale": [[0, "#dbe7fa"], [1, FIRST]],
        "zmin": 0,
        "zmax": max(2, *(max(row) for row in grid)),  # one buffer is pale in every map
        "showscale": False,
        "xgap": 2,
        "ygap": 2,
        "hovertemplate": "from %{y} to %{x}: %{z} S<extra></extra>",
    }
    look = layout(
        lines[0], {**title("to rank"), "dtick": 1}, {**title("from rank"), "dtick": 1, "autorange": "reversed"}
    )
    for axis, more in (("xaxis", {"constrain": "domain"}), ("yaxis", {"scaleanchor": "x", "constrain": "domain"})):
        look[axis].update(showgrid=False, zeroline=False, **more)
    return Figure("\n".join(lines), [heat], look)


def winners_map(grid, ranks, sizes, names, text):
    """Who is fastest: `grid[size][ranks]` is an index into `names`; `text` says the same for some numbers of ranks."""
    count = len(names)
    scale = [[edge, COLOURS[i % len(COLOURS)]] for i in range(count) for edge in (i / count, (i + 1) / count)]
    heat = {
        "type": "heatmap",
        "x": list(ranks),
        "y": [round(size, 2) for size in sizes],
        "z": grid,
        "zmin": -0.5,
        "zmax": count - 0.5,
        "colorscale": scale,
        "colorbar": {"tickvals": list(range(count)), "ticktext": list(names), "outlinewidth": 0, "thickness": 14},
        "xgap": 1,
        "hovertemplate": "%{x} ranks, %{y:.3s}B<extra></extra>",
    }
    look = layout("The fastest all-reduce", title("ranks (P)"), {**title("bytes per rank (S)"), "type": "log"})
    look["yaxis"]["exponentformat"] = "SI"
    look["annotations"] = _names_on_the_map(grid, ranks, sizes, names)
    look["xaxis"]["showgrid"] = False
    return Figure(text, [heat], look)


def _names_on_the_map(grid, ranks, sizes, names):
    """A name in the middle of each area, in a column three quarters along: colour is not the only way to tell."""
    place = 3 * len(ranks) // 4
    column = [row[place] for row in grid]
    written = []
    for index, name in enumerate(names):
        rows = [i for i, winner in enumerate(column) if winner == index]
        if rows:
            height = math.log10(sizes[rows[len(rows) // 2]])  # plotly wants a logarithm here
            font = {"color": "#141416", "size": 14}
            written.append({"x": ranks[place], "y": round(height, 3), "text": name, "showarrow": False, "font": font})
    return written
