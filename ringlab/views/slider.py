"""A plotly slider for a figure that is saved as plain data: it works without a kernel."""

from .figures import FAINT, INK


def slider(label, names, steps, active=0):
    """A slider of a layout. names: of its states.  steps: per state (changes of the data, changes of the layout)."""
    return {
        "active": active,
        "currentvalue": {"prefix": f"{label}: ", "font": {"size": 14}},
        "font": {"color": INK},
        "bgcolor": FAINT,
        "activebgcolor": INK,
        "bordercolor": INK,
        "tickcolor": INK,
        "pad": {"t": 65, "b": 0},
        "len": 0.9,
        "x": 0.05,
        "steps": [
            {"label": name, "method": "update", "args": [data, changed]}
            for name, (data, changed) in zip(names, steps, strict=True)
        ],
    }


def one_at_a_time(groups, active=0):
    """(all traces, per group the change that shows it alone); `groups` are lists of traces."""
    for number, group in enumerate(groups):
        for trace in group:
            trace["visible"] = number == active
    traces = [trace for group in groups for trace in group]
    shown = [
        {"visible": [number == other for other, group in enumerate(groups) for _ in group]}
        for number in range(len(groups))
    ]
    return traces, shown
