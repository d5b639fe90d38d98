"""What was measured and the straight lines through it: messages and additions, and how far off the fit is."""

from .figures import FIRST, INK, SECOND, Figure, layout, title

LOOKS = {"message": ("messages", FIRST, "circle", "solid"), "add": ("additions", SECOND, "square", "dash")}


def of_measured(measured):
    """The Figure of a `Measured` network; its text is its table."""
    data: list = []
    for what, (name, colour, symbol, dash) in LOOKS.items():
        points, (start, slope) = measured.of(what), measured.fits[what].values
        x, fastest = [point.nbytes for point in points], [point.seconds for point in points]
        look = {"type": "scatter", "x": x, "marker": {"symbol": symbol, "size": 8, "color": colour}}
        spread = {"type": "data", "symmetric": False, "array": [p.middle - p.seconds for p in points]}
        spread |= {"arrayminus": [0] * len(x), "color": colour}
        data.append({**look, "mode": "markers", "name": name, "y": fastest, "error_y": spread})
        line = {"type": "scatter", "mode": "lines", "x": x, "line": {"color": colour, "dash": dash}}
        data.append({**line, "name": f"fit of {name}", "y": [start + slope * n for n in x]})
        factors = [1 / (1 + residual) for residual in measured.fits[what].residuals]
        below = {**look, "mode": "lines+markers", "name": f"{name} / fit", "y": factors, "yaxis": "y2"}
        data.append({**below, "showlegend": False, "line": {"color": colour, "dash": dash}})
    axis = {"type": "log", "exponentformat": "SI", "dtick": 1}
    look = layout(measured.source, {**title("bytes"), **axis}, {**title("seconds"), **axis, "domain": [0.36, 1]})
    look["yaxis2"] = {**look["yaxis"], **title("factor"), "domain": [0, 0.26], "range": [-0.7, 0.7]}
    look["yaxis2"] |= {"tickvals": [0.4, 1, 2.5], "ticktext": ["0.4", "1", "2.5"], "zerolinecolor": INK}
    look["xaxis"]["anchor"] = "y2"
    look["height"] = 520
    return Figure(f"{measured!r}\n{measured.table()}", data, look)


def save_page(figure, path):
    """Write a Figure as one HTML file that needs no network."""
    import plotly.io

    plotly.io.write_html(
        {"data": figure.data, "layout": figure.layout},
        path,
        include_plotlyjs=True,
        div_id="ringlab-fit",
        validate=False,
    )
