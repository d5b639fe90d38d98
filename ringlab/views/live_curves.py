"""The curves of a network under ipywidgets' sliders: alpha, the bandwidth, and the size or the number of ranks."""

import ipywidgets
import plotly.graph_objects as go

from .curves import figure_of


def with_sliders(network, against, states, points, algorithm):
    """A box of sliders over a figure that follows them."""
    alpha = ipywidgets.FloatLogSlider(float(network.alpha) * 1e6 or 1.0, min=-2, max=5, description="alpha, us")
    rate = 1e-9 / float(network.beta) if network.beta else 1e3
    bandwidth = ipywidgets.FloatLogSlider(rate, min=-2, max=3, description="GB/s")
    label = "buffer" if against == "ranks" else "ranks"
    named = [(f"{state:,}", state) for state in states]
    state = ipywidgets.SelectionSlider(options=named, value=states[min(2, len(states) - 1)], description=label)

    def drawn():
        changed = network.but(alpha=alpha.value * 1e-6, beta=1e-9 / bandwidth.value)
        return figure_of([(changed, state.value)], against, points, algorithm)

    made = drawn()
    figure = go.FigureWidget({"data": made.data, "layout": made.layout})
    text = ipywidgets.HTML(f"<pre>{made.text}</pre>")

    def follow(_):
        now = drawn()
        with figure.batch_update():
            for trace, new in zip(figure.data, now.data):
                trace.x, trace.y, trace.name = new["x"], new["y"], new["name"]
                if "error_y" in new:
                    trace.error_y = new["error_y"]
        text.value = f"<pre>{now.text}</pre>"

    for widget in (alpha, bandwidth, state):
        widget.observe(follow, "value")
    return ipywidgets.VBox([ipywidgets.HBox([alpha, bandwidth, state]), figure, text])
