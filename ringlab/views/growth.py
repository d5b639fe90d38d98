"""How throughput grows and efficiency falls with the number of ranks: one or several sweeps, or published rates."""

from .figures import FAINT, FIRST, INK, SECOND, THIRD, Figure, layout, title

LOOKS = (("circle", "solid", FIRST), ("square", "dash", SECOND), ("diamond", "dot", THIRD))


def of_sweep(*sweeps):
    """The Figure of `scaling.Sweep`s: throughput beside the straight line, and efficiency below."""
    curves = [
        (f"{one.kind}, {one.wire}", [(row.ranks, float(row.throughput), float(row.efficiency)) for row in one])
        for one in sweeps
    ]
    return of_points(curves, "\n".join(repr(one) for one in sweeps))


def of_points(curves, text):
    """The Figure of curves (name, [(ranks, throughput, efficiency), ...])."""
    ranks = sorted({p for _, points in curves for p, _, _ in points})
    least = min(ranks)
    data: list = [
        {
            "type": "scatter",
            "mode": "lines",
            "name": "if nothing were lost",
            "x": [ranks[0], ranks[-1]],
            "y": [1, ranks[-1] / least],
            "line": {"color": INK, "dash": "dot"},
        }
    ]
    for number, (name, points) in enumerate(curves):
        symbol, dash, colour = LOOKS[number % len(LOOKS)]
        x, throughput, efficiency = zip(*points)
        look: dict = {"type": "scatter", "mode": "lines+markers", "x": list(x), "line": {"color": colour, "dash": dash}}
        look["marker"] = {"symbol": symbol, "size": 9, "color": colour}
        data.append({**look, "name": name, "y": [round(y, 4) for y in throughput]})
        shares = [round(100 * y, 2) for y in efficiency]
        data.append({**look, "name": name, "showlegend": False, "y": shares, "yaxis": "y2"})
    look = layout("more devices, and what each of them still brings", {}, {}, height=460)
    common: dict = {"type": "log", "gridcolor": FAINT, "linecolor": FAINT, "tickvals": ranks, "fixedrange": True}
    look["xaxis"] = {**common, **title("devices"), "anchor": "y2"}
    look["yaxis"] = {**look["yaxis"], "type": "log", "domain": [0.5, 1], **title("throughput, times"), "dtick": 1}
    look["yaxis2"] = {
        **look["yaxis"],
        "type": "linear",
        "domain": [0, 0.4],
        "range": [0, 105],
        **title("each, %"),
        "dtick": 25,
    }
    look["legend"] = {"x": 0.02, "y": 0.98}
    return Figure(text, data, look)
