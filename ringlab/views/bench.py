"""The rows of a bench as curves: time over size, a panel for each number of ranks."""

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from ringlab.bench_table import size_text, time_text

# lightness differs as well as colour, and dashes tell private from resident
LOOKS = {"shm": "#1b6ca8", "pipe": "#7fb3d5", "mpich": "#c0392b", "openmpi": "#e59866", "gloo": "#7d6608"}


def figure(rows):
    """A plotly Figure of the rows."""
    counts = sorted({row.ranks for row in rows})
    titles = [
        f"{p} ranks{', oversubscribed' if any(r.oversubscribed for r in rows if r.ranks == p) else ''}" for p in counts
    ]
    made = make_subplots(rows=1, cols=max(1, len(counts)), subplot_titles=titles, shared_yaxes=True)
    seen = set()
    for column, p in enumerate(counts, 1):
        curves = {}
        for row in rows:
            if row.ranks == p:
                curves.setdefault((row.who, row.buffers, row.algorithm), []).append(row)
        for (who, buffers, algorithm), points in curves.items():
            points.sort(key=lambda row: row.nbytes)
            name = who if algorithm == who else f"{who}, {buffers}" + ("" if "ring" in algorithm else f", {algorithm}")
            made.add_trace(
                go.Scatter(
                    x=[row.nbytes for row in points],
                    y=[row.seconds for row in points],
                    error_y={
                        "array": [row.spread / 2 for row in points],
                        "arrayminus": [min(row.spread / 2, row.seconds / 2) for row in points],
                        "thickness": 1,
                        "width": 2,
                    },
                    text=[f"{name}: {size_text(row.nbytes)} in {time_text(row.seconds)}" for row in points],
                    hoverinfo="text",
                    mode="lines+markers",
                    name=name,
                    legendgroup=name,
                    showlegend=name not in seen,
                    line={"color": LOOKS.get(who, "#555555"), "dash": "solid" if buffers == "resident" else "dash"},
                ),
                row=1,
                col=column,
            )
            seen.add(name)
    sizes = sorted({row.nbytes for row in rows})
    made.update_xaxes(type="log", title="a rank's buffer", tickvals=sizes, ticktext=[size_text(n) for n in sizes])
    made.update_yaxes(type="log")
    made.update_yaxes(title="seconds, slowest rank", col=1)
    made.update_layout(title="All-reduce, float32, in place", template="plotly_white", height=480)
    return made


def save_plot(rows, path):
    """Write the figure as one HTML file that needs no network."""
    figure(rows).write_html(path, include_plotlyjs=True, div_id="ringlab-bench")
