"""Figures of rounding: error against the number of ranks, where two runs differ, and the tree of one element's sum."""

import math

import numpy as np

from ..dtypes import dtype_of
from ..numerics import bounds, chunk_of, evaluate, exact_sum, parse, saved_drift, sketch, ulp_distance
from ..verdicts import BadInput
from .figures import INK, Figure, layout, title
from .slider import one_at_a_time, slider

# Lines that can be told from white and from a dark page, at least 3 to 1; dash and marker say the same
LINES = {
    "float16": "#c2630a",
    "float32": "#3b82f6",
    "bfloat16": "#168a5d",
    "float8_e4m3fn": "#a05be0",
    "float8_e5m2": "#c24f86",
    "float64": INK,
}
LOOKS = {"ring": ("solid", "circle"), "tree": ("dash", "square")}
OTHER_LOOKS = (("dot", "diamond"), ("dashdot", "triangle-up"), ("longdash", "x"), ("longdashdot", "star"))
LOSSY = "#c2630a"
MOST_ELEMENTS = 64  # of a map with a tree for each: more would be too much to look at, and to save


def drift_curves(drift=None, algorithms=("ring", "tree"), dtypes=("float16", "float32")):
    """Error against the number of ranks, log-log, with the bounds: per dtype a colour, per algorithm a dash.

    drift: a Drift, or None for the one that comes with the lab (P from 2 to 1,024). The figure's text is its table.
    """
    drift = (saved_drift() if drift is None else drift).only(algorithms, dtypes)
    data, names, ranks = [], [dtype_of(dtype).name for dtype in dtypes], sorted({row.p for row in drift.rows})
    for name in names:
        data += _bounds(name, ranks, first=name == names[0])
    looks = {**LOOKS, **dict(zip([a for a in algorithms if a not in LOOKS], OTHER_LOOKS))}
    for name in names:
        for algorithm in algorithms:
            rows = drift.curve(algorithm, name)
            dash, marker = looks[algorithm]
            data.append(
                {
                    "type": "scatter",
                    "mode": "lines+markers",
                    "name": f"{algorithm}, {name}",
                    "x": [row.p for row in rows],
                    "y": [float(f"{row.rms:.3g}") if math.isfinite(row.rms) else None for row in rows],
                    "line": {"color": LINES.get(name, INK), "width": 3, "dash": dash},
                    "marker": {"symbol": marker, "size": 8},
                    "hovertemplate": f"{algorithm}, {name}<br>P = %{{x}}: %{{y:.1e}}<extra></extra>",
                }
            )
    x = {**title("ranks (P)"), "type": "log", "tickvals": ranks, "ticktext": [str(p) for p in ranks]}
    y = {**title("error, as a share of sum|x|"), "type": "log", "exponentformat": "power", "dtick": 1}
    look = layout("What rounding costs a sum over P ranks", x, y, height=480, legend={"x": 1.02, "y": 1})
    look["margin"]["l"] = 85
    text = f"error of a sum of P terms as a share of sum|x|, root mean square of {drift.n} elements\n{drift}"
    return Figure(text, data, look)


def _bounds(name, ranks, first):
    """Three thin lines for a dtype: what cannot be passed, what usually is not, and what a tree cannot pass."""
    kinds = [
        ("worst case, (P - 1) u", bounds.worst_bound, "dot"),
        ("usual size, sqrt(P) u", bounds.typical_bound, "longdash"),
        ("tree, ceil(log2 P) u", bounds.tree_bound, "dashdot"),
    ]
    return [
        {
            "type": "scatter",
            "mode": "lines",
            "name": label,
            "legendgroup": label,
            "showlegend": first,
            "x": ranks,
            "y": [bound(p, name) for p in ranks],
            "line": {"color": INK, "width": 1, "dash": dash},
            "hovertemplate": f"{label}, {name}: %{{y:.1e}}<extra></extra>",
        }
        for label, bound, dash in kinds
    ]


# ---- where two runs differ ------------------------------------------------------------------------------------------


def ulp_map(one, other=None, inputs=None, live=False):
    """Which elements differ on which rank, in steps of their format: a map of rank by element.

    one, other: two runs of the same inputs; without `other` each rank is compared with rank 0 of the same run, which
    shows replicas that drift apart. `live`: a widget; click an element to see how `one` added it up (with `inputs`,
    one array per rank, also the sums on the way). The figure's text is its table.
    """
    theirs = [one.outputs[0]] * one.ranks if other is None else other.outputs
    if len(theirs) != one.ranks or theirs[0].shape != one.outputs[0].shape:
        raise BadInput("these two runs have different shapes", "compare runs of the same inputs")
    steps = np.array([ulp_distance(a, b).ravel() for a, b in zip(one.outputs, theirs)])
    against = "rank 0" if other is None else other.algorithm
    words = f"{one.algorithm} against {against}: {_differ(steps)}"
    figure = Figure("\n".join([words, *_step_lines(steps)]), [_heat(steps)], _map_layout(words, steps))
    return _clickable(figure, one, inputs) if live else figure


def _differ(steps):
    wrong, most = int((steps > 0).sum()), int(steps.max(initial=0))
    if not wrong:
        return "all bits are equal"
    return f"{wrong} of {steps.size} numbers differ, by up to {most:,} step{'' if most == 1 else 's'}"


def _step_lines(steps):
    """A line per rank: the steps of each element, or of the first 24."""
    cells = [["·" if step == 0 else str(step) for step in row[:24].tolist()] for row in steps]
    width = max((len(cell) for row in cells for cell in row), default=1)
    more = " ..." if steps.shape[1] > 24 else ""
    return [f"rank {rank:<3} " + " ".join(cell.rjust(width) for cell in row) + more for rank, row in enumerate(cells)]


def _heat(steps):
    shade = np.where(steps > 0, 1 + np.log2(np.maximum(steps, 1).astype(float)), 0)
    few = steps.shape[1] <= 24
    return {
        "type": "heatmap",
        "z": [[round(float(x), 3) if x else None for x in row] for row in shade],
        "text": [[str(step) if step else "" for step in row] for row in steps.tolist()],
        "texttemplate": "%{text}" if few else "",
        "textfont": {"color": "#141416"},
        "colorscale": [[0, "#fbe3c8"], [1, "#f0932b"]],
        "showscale": False,
        "xgap": 2 if few else 0,
        "ygap": 2,
        "hovertemplate": "rank %{y}, element %{x}: %{text} steps<extra></extra>",
    }


def _map_layout(words, steps):
    x, y = {**title("element")}, {**title("rank"), "dtick": 1, "autorange": "reversed"}
    look = layout(words, x, y, height=150 + 34 * len(steps))
    look["xaxis"] |= {"showgrid": False, "zeroline": False, "range": [-0.5, steps.shape[1] - 0.5]}
    look["yaxis"] |= {"showgrid": False, "zeroline": False}
    if steps.shape[1] <= 24:
        look["xaxis"]["dtick"] = 1
    return look


def _clickable(figure, run, inputs):
    """The map as a widget: a click on an element shows its tree below."""
    import ipywidgets
    import plotly.graph_objects as go

    top = go.FigureWidget(data=figure.data, layout=figure.layout)
    below = go.FigureWidget()

    def show(element, rank):
        tree = sum_tree(run, element, rank=rank, inputs=inputs)
        below.data = ()
        below.add_traces([go.Scatter(trace) for trace in tree.data])
        below.layout = tree.layout

    top.data[0].on_click(lambda trace, points, state: points.xs and show(int(points.xs[0]), int(points.ys[0])))
    show(0, 0)
    box = ipywidgets.VBox([top, below])
    box.pick = show
    return box


# ---- the tree of a sum -----------------------------------------------------------------------------------------------


def sum_tree(run, *elements, rank=None, inputs=None):
    """The additions that made elements of a run's result, as trees: first additions below, the sum on top.

    elements: flat indices, drawn side by side; none given: all of them (up to 64), one at a time with a slider.
    rank: whose copy (default: the owner's).  inputs: the run's inputs; then every sum shows its value, and a diamond
    where it was rounded. The figure's text is the same trees in text.
    """
    size, ranks = run.outputs[0].size, run.ranks
    chosen = elements or tuple(range(min(size, MOST_ELEMENTS)))
    drawn = [_Tree(run, element, rank, inputs) for element in chosen]
    text = (
        "\n\n".join(f"{tree.name}: {tree.order}\n{tree.sketch()}" for tree in drawn) if elements else _by_order(drawn)
    )
    height = max(tree.height for tree in drawn)
    if elements:
        traces = [trace for place, tree in enumerate(drawn) for trace in tree.traces(place * (ranks + 0.5))]
        width = len(drawn) * (ranks + 0.5)
        heading, more = f"{run.algorithm}: how {_and([tree.name for tree in drawn])} came about", {}
    else:
        traces, shown = one_at_a_time([tree.traces(0) for tree in drawn])
        names, width = [str(element) for element in chosen], ranks
        heads = [{"title.text": f"{run.algorithm}: {tree.name} = {tree.order}"} for tree in drawn]
        heading, more = heads[0]["title.text"], {"sliders": [slider("element", names, list(zip(shown, heads)))]}
    blank = {"showgrid": False, "zeroline": False, "showticklabels": False, "showline": False, "ticks": ""}
    x, y = {**blank, "range": [-0.8, width - 0.2]}, {**blank, "range": [-0.8, height + 0.6]}
    look = layout(heading, x, y, height=110 + 60 * height + (110 if more else 0), showlegend=False, **more)
    look["margin"] |= {"l": 20, "b": 20}
    return Figure(text, traces, look)


def _by_order(trees):
    """A line per order: the elements that were added up in it."""
    groups = {}
    for tree in trees:
        groups.setdefault(tree.order, []).append(tree.name.removeprefix("element "))
    return "\n".join(f"elements {' '.join(names)}: {order}" for order, names in groups.items())


def _and(names):
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


class _Tree:
    """One element's sum: its order, and where everything stands in the picture."""

    def __init__(self, run, element, rank, inputs):
        self.name, self.order = f"element {element}", run.trace.order(chunk_of(run, element), rank)
        tree = parse(self.order) if self.order != "not known" else None
        if tree is None:
            raise BadInput(f"the trace cannot tell how element {element} was added up")
        self.terms = None if inputs is None else [np.asarray(x).ravel()[element] for x in inputs]
        self.dtype = run.accumulate
        self.nodes, self.lines, self.next_leaf, self.tree = [], [], 0, tree
        self.height = self._place(tree)[1]

    def _place(self, tree, side="top center"):
        """(x, y) of a node; notes it and the lines to its parts. side: of its text, away from the line upwards."""
        if isinstance(tree, int):
            x, y = self.next_leaf, 0
            self.next_leaf += 1
        else:
            parts = [self._place(part, side) for part, side in zip(tree, ("top left", "top right"))]
            x, y = sum(x for x, _ in parts) / 2, 1 + max(y for _, y in parts)
            self.lines += [(x, y, *part) for part in parts]
        self.nodes.append((x, y, *self._words(tree), side))
        return x, y

    def _words(self, tree):
        """(text, whether the addition was rounded, hover) of a node."""
        leaf = isinstance(tree, int)
        name = f"rank {tree}" if leaf else "+"
        if self.terms is None:
            return name, False, name
        value = evaluate(tree, self.terms, self.dtype)
        shown = f"{float(value):.9g}"
        if leaf:
            return f"{name}<br>{shown}", False, f"{name} brings {shown}"
        left, right = (evaluate(part, self.terms, self.dtype) for part in tree)
        lost = float(exact_sum([float(left), float(right)])) - float(value)
        said = f"{float(left):.9g} + {float(right):.9g} = {shown}"
        return shown, lost != 0, f"{said}, rounded: {lost:.3g} is lost" if lost else said

    def sketch(self):
        """The tree as lines of text."""
        return sketch(self.tree, self.terms, self.dtype)

    def traces(self, shift):
        """Three plotly traces: lines, leaves, sums."""
        lines = [[at for line in self.lines for at in (line[i], line[i + 2], None)] for i in (0, 1)]
        sums, ends = [n for n in self.nodes if n[1]], [n for n in self.nodes if not n[1]]
        lossy = [n[3] for n in sums]
        return [
            {
                "type": "scatter",
                "mode": "lines",
                "x": [None if x is None else x + shift for x in lines[0]],
                "y": lines[1],
                "line": {"color": INK, "width": 1.5},
                "hoverinfo": "skip",
            },
            self._dots(ends, shift, "bottom center", "#3b82f6", "circle"),
            self._dots(
                sums,
                shift,
                [node[5] for node in sums],
                [LOSSY if x else "#3b82f6" for x in lossy],
                ["diamond" if x else "circle" for x in lossy],
            ),
        ]

    @staticmethod
    def _dots(nodes, shift, place, colour, symbol):
        return {
            "type": "scatter",
            "mode": "markers+text",
            "x": [node[0] + shift for node in nodes],
            "y": [node[1] for node in nodes],
            "text": [node[2] for node in nodes],
            "textposition": place,
            "hovertext": [node[4] for node in nodes],
            "hoverinfo": "text",
            "marker": {"size": 11, "color": colour, "symbol": symbol},
            "cliponaxis": False,
        }
