"""Shards on a seesaw: where the average is claimed to be, and which way the averaged gradient points.

Left, every sample is a block on a beam, and the fulcrum stands where the weighted mean of the shards' means is: the
beam is level when the claim is right. Right, a gradient for each shard, their weighted mean, and their mean over all
samples, which is what one process would use.
"""

import math

from .figures import FAINT, INK, Figure, layout, title
from .slider import one_at_a_time, slider
from .still import COLOURS

STEEPEST = 14  # degrees


def seesaw(shards, weights, gradients):
    """A Figure with a slider over `weights`: per state the weight of each shard's mean.

    shards: lists of numbers.  gradients: for each shard the mean gradient (of two weights) of its samples.
    """
    everything = [x for shard in shards for x in shard]
    truth = sum(everything) / len(everything)
    whole = tuple(sum(len(s) * g[i] for s, g in zip(shards, gradients)) / len(everything) for i in (0, 1))
    groups, names, lines = [], [], []
    for chosen in weights:
        claimed = sum(w * sum(s) / len(s) for w, s in zip(chosen, shards)) / sum(chosen)
        arrow = tuple(sum(w * g[i] for w, g in zip(chosen, gradients)) / sum(chosen) for i in (0, 1))
        groups.append(_beam(shards, claimed, truth) + _arrows(gradients, arrow, whole))
        names.append(" : ".join(f"{w:g}" for w in chosen))
        level = (
            "level" if math.isclose(claimed, truth) else "tips to the left" if claimed > truth else "tips to the right"
        )
        lines.append(f"weights {names[-1]}: average {claimed:.2f}, the beam {'is ' if level == 'level' else ''}{level}")
    traces, shown = one_at_a_time(groups)
    steps = [(change, {"title.text": said}) for change, said in zip(shown, lines)]
    top = max(everything) + 1
    look = layout(lines[0], {}, {}, height=430, showlegend=False)
    bare = {"showgrid": False, "zeroline": False, "fixedrange": True}
    look["xaxis"] = {
        **bare,
        "domain": [0, 0.56],
        "range": [-0.5, top + 0.5],
        "dtick": 1,
        **title("value"),
        "linecolor": FAINT,
    }
    look["yaxis"] = {**bare, "range": [-1.6, 2.6], "showticklabels": False}
    grid = {"gridcolor": FAINT, "zerolinecolor": INK, "fixedrange": True}
    sides = [sorted([0, *(g[i] for g in gradients)]) for i in (0, 1)]
    look["xaxis2"] = {**grid, "domain": [0.66, 1], "anchor": "y2", **_room(sides[0]), **title("gradient, first weight")}
    look["yaxis2"] = {**grid, "anchor": "x2", "scaleanchor": "x2", **_room(sides[1]), **title("second weight")}
    look["sliders"] = [slider("weights of the two averages", names, steps)]
    return Figure("\n".join(lines), traces, look)


def _beam(shards, claimed, truth):
    """The beam through its fulcrum, tilted as the samples pull it, with a block for each sample."""
    pull = math.tanh((truth - claimed) / 2)
    slope = -math.tan(math.radians(STEEPEST)) * pull
    ends = [-0.3, max(max(s) for s in shards) + 1.3]
    traces = [
        _line(ends, [slope * (x - claimed) for x in ends], INK, 4),
        {
            "type": "scatter",
            "mode": "markers+text",
            "x": [claimed],
            "y": [-0.35],
            "text": [f"{claimed:.2f}"],
            "textposition": "bottom center",
            "marker": {"symbol": "triangle-up", "size": 26, "color": INK},
            "hoverinfo": "skip",
        },
    ]
    for rank, shard in enumerate(shards):
        traces.append(
            {
                "type": "scatter",
                "mode": "markers+text",
                "x": list(shard),
                "y": [slope * (x - claimed) + 0.3 for x in shard],
                "text": [f"{x:g}" for x in shard],
                "textfont": {"color": "#141416"},
                "marker": {
                    "symbol": "square",
                    "size": 30,
                    "color": COLOURS[rank],
                    "line": {"color": "#333", "width": 1},
                },
                "hovertemplate": f"rank {rank}: %{{x}}<extra></extra>",
            }
        )
    return traces


def _room(side):
    """The range of an axis, with room for the names at the arrows' tips."""
    space = 0.35 * (side[-1] - side[0])
    return {"range": [side[0] - space, side[-1] + space], "dtick": 1}


def _arrows(gradients, arrow, whole):
    traces = [_arrow(whole, "one process", "rgba(125,125,133,0.45)", 12, "top right")]
    traces += [
        _arrow(g, f"rank {rank}", COLOURS[rank], 4, "bottom center" if rank == 0 else "top center")
        for rank, g in enumerate(gradients)
    ]
    return [*traces, _arrow(arrow, "averaged", INK, 4, "top left")]


def _arrow(to, name, colour, width, where="top center"):
    marker = {"symbol": "arrow", "angleref": "previous", "size": [0, 10 + width], "color": colour}
    return {
        **_line([0, to[0]], [0, to[1]], colour, width),
        "mode": "lines+markers+text",
        "marker": marker,
        "text": ["", name],
        "textposition": where,
        "xaxis": "x2",
        "yaxis": "y2",
    }


def _line(x, y, colour, width):
    return {
        "type": "scatter",
        "mode": "lines",
        "x": list(x),
        "y": list(y),
        "line": {"color": colour, "width": width},
        "hoverinfo": "skip",
    }
