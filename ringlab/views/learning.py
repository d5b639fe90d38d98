"""What a training learned, epoch by epoch: loss, and the share of held-out digits that is recognised."""

from .figures import FAINT, FIRST, SECOND, THIRD, Figure, layout, title

LOOKS = (("solid", FIRST), ("dash", SECOND), ("dot", THIRD), ("dashdot", "#dcbcfb"))


def curves(trainings, names):
    """The Figure of some `training.Training`s, one below the other: loss on a log axis, accuracy in percent."""
    data = []
    for number, (name, one) in enumerate(zip(names, trainings, strict=True)):
        dash, colour = LOOKS[number % len(LOOKS)]
        epochs = list(range(1, len(one.losses) + 1))
        look = {"type": "scatter", "mode": "lines+markers", "name": name, "x": epochs}
        look |= {"line": {"color": colour, "dash": dash}, "marker": {"color": colour, "size": 6}}
        data.append({**look, "y": [round(loss, 5) for loss in one.losses]})
        data.append(
            {**look, "y": [round(100 * share, 3) for share in one.accuracies], "yaxis": "y2", "showlegend": False}
        )
    drawn = layout("loss, and held-out digits recognised", {}, {}, height=460)
    drawn["xaxis"] = {
        "gridcolor": FAINT,
        "linecolor": FAINT,
        "fixedrange": True,
        **title("epoch"),
        "anchor": "y2",
        "nticks": 11,
        "tickformat": "d",
    }
    drawn["yaxis"] = {**drawn["yaxis"], "type": "log", "domain": [0.55, 1], **title("loss")}
    drawn["yaxis2"] = {**drawn["yaxis"], "type": "linear", "domain": [0, 0.45], **title("right, %")}
    drawn["legend"] = {"x": 0.98, "xanchor": "right", "y": 0.98}
    text = "\n".join(f"{name}: {one!r}" for name, one in zip(names, trainings))
    return Figure(text, data, drawn)
