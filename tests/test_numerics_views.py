"""Figures of rounding: plain data for plotly, each with the same as text; a click on the map shows a tree."""

import json

import numpy as np
import pytest

import ringlab as rl
from ringlab import numerics
from ringlab.verdicts import BadInput
from ringlab.views.figures import MIME

HUGE = [np.full(3, x, np.float32) for x in (1e8, -1e8, 1)]


@pytest.fixture(scope="module")
def inputs():
    return [x.astype(np.float32) for x in numerics.normals(0, (4, 16))]


def plain(figure):
    """The figure's data, after a way through JSON: what a saved notebook holds."""
    bundle = figure._repr_mimebundle_()
    assert bundle["text/plain"] == repr(figure)
    text = json.dumps(bundle[MIME], allow_nan=False)
    assert "http" not in text
    return json.loads(text)


def readable(colour):
    """Contrast of a colour with white and with JupyterLab's dark page."""
    channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    light = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
    return min(1.05 / (light + 0.05), (light + 0.05) / (0.0056 + 0.05))


def test_drift_curves_draw_every_row_and_the_bounds():
    drift = numerics.measure_drift(("ring", "tree"), ("fp16", "fp32"), (2, 8, 32))
    figure = rl.drift_curves(drift)
    assert str(drift.only(("ring", "tree"), ("fp16", "fp32"))) in repr(figure)
    data = plain(figure)
    curves = {trace["name"]: trace for trace in data["data"] if trace["mode"] == "lines+markers"}
    assert list(curves) == ["ring, float16", "tree, float16", "ring, float32", "tree, float32"]
    for name, curve in curves.items():
        algorithm, dtype = name.split(", ")
        assert curve["x"] == [2, 8, 32]
        assert curve["y"] == pytest.approx([row.rms for row in drift.curve(algorithm, dtype)], rel=0.01)
    bounds = [trace for trace in data["data"] if trace["mode"] == "lines"]
    assert [trace["y"][-1] for trace in bounds[:3]] == [31 * 2**-11, 32**0.5 * 2**-11, 5 * 2**-11]
    assert sum(trace["showlegend"] for trace in bounds) == 3, "each kind of bound is named once"
    assert data["layout"]["xaxis"]["type"] == data["layout"]["yaxis"]["type"] == "log"
    assert len({(c["line"]["dash"], c["marker"]["symbol"]) for c in curves.values()}) == 2, "not by colour alone"


def test_lines_can_be_seen_on_white_and_on_dark():
    from ringlab.views.drift import LINES, LOSSY

    assert {name: round(readable(colour), 1) for name, colour in LINES.items() if readable(colour) < 3} == {}
    assert readable(LOSSY) >= 3


def test_a_drift_that_was_not_measured_is_refused():
    drift = numerics.measure_drift(("ring",), ("fp16",), (2,))
    with pytest.raises(BadInput, match="tree in float16 was not measured"):
        rl.drift_curves(drift)


def test_the_ulp_map_of_two_runs(inputs):
    one, other = rl.run("ring", inputs), rl.run("doubling", inputs)
    figure = rl.ulp_map(one, other)
    steps = numerics.ulp_distance(one.outputs[0], other.outputs[0]).tolist()
    lines = repr(figure).split("\n")
    assert lines[0] == "ring_allreduce against doubling_allreduce: 36 of 64 numbers differ, by up to 2 steps"
    assert lines[1] == "rank 0   " + " ".join("·" if step == 0 else str(step) for step in steps)
    (heat,) = plain(figure)["data"]
    assert [[cell is None for cell in row] for row in heat["z"]] == [[step == 0 for step in steps]] * 4
    assert "all bits are equal" in repr(rl.ulp_map(one, rl.run("ring", inputs)))


def test_the_ulp_map_of_replicas():
    around = rl.run("pass_around", HUGE)
    lines = repr(rl.ulp_map(around)).split("\n")
    assert lines[0] == ("pass_around_allreduce against rank 0: 3 of 9 numbers differ, by up to 1,065,353,216 steps"), (
        "so many float32 lie between 0 and 1"
    )
    assert [line.split()[2] for line in lines[1:]] == ["·", "1065353216", "·"]
    with pytest.raises(BadInput, match="different shapes"):
        rl.ulp_map(around, rl.run("ring"))


def test_the_tree_of_an_element():
    run = rl.run("ring", HUGE)
    figure = rl.sum_tree(run, 0, 2, inputs=HUGE)
    assert repr(figure).startswith("element 0: (0 + 1) + 2\n+ = 1\n├─ + = 0\n")
    data = plain(figure)["data"]
    assert len(data) == 6, "lines, leaves and sums, twice"
    leaves, sums = data[1], data[2]
    assert leaves["text"] == ["rank 0<br>100000000", "rank 1<br>-100000000", "rank 2<br>1"]
    assert sums["text"] == ["0", "1"]
    assert sums["marker"]["symbol"] == ["circle", "circle"]
    lost = data[5]
    assert lost["marker"]["symbol"] == ["diamond", "circle"]
    assert lost["hovertext"][0] == "1 + 100000000 = 100000000, rounded: 1 is lost"
    assert min(data[4]["x"]) > max(leaves["x"]), "side by side"


def test_a_tree_adds_in_what_the_run_added_in():
    short = [np.full(3, x, np.float16) for x in (2048, 1, 1)]
    assert "+ = 2050" in repr(rl.sum_tree(rl.run("ring", short), 0, inputs=short))
    with pytest.warns(match="stop growing"):
        naive = rl.run("ring", short, accumulate="fp16")
    assert "+ = 2048" in repr(rl.sum_tree(naive, 0, inputs=short))


def test_all_trees_with_a_slider_that_needs_no_kernel(inputs):
    figure = rl.sum_tree(rl.run("ring", inputs), inputs=inputs)
    assert repr(figure).split("\n")[1] == "elements 4 5 6 7: ((1 + 2) + 3) + 0"
    data = plain(figure)
    (slider,) = data["layout"]["sliders"]
    assert len(slider["steps"]) == 16
    assert len(data["data"]) == 48
    assert [trace["visible"] for trace in data["data"]] == [True] * 3 + [False] * 45
    shown, title = slider["steps"][5]["args"]
    assert [i for i, on in enumerate(shown["visible"]) if on] == [15, 16, 17]
    assert title == {"title.text": "ring_allreduce: element 5 = ((1 + 2) + 3) + 0"}


def test_trees_of_what_is_not_known_are_refused(inputs):
    run = rl.run("ring", inputs)
    with pytest.raises(BadInput, match="element 16 is not in this run"):
        rl.sum_tree(run, 16)
    in_short = rl.run(numerics.in_precision("fp16"), inputs)
    with pytest.raises(BadInput, match="cannot tell how element 0 was added up"):
        rl.sum_tree(in_short, 0)


def test_a_click_on_the_map_shows_the_tree_of_that_element(inputs):
    around, ring = rl.run("pass_around", inputs), rl.run("ring", inputs)
    box = rl.ulp_map(around, ring, inputs=inputs, live=True)
    top, below = box.children
    assert "element 0" in below.layout.title.text
    points = type("Points", (), {"xs": [9], "ys": [2]})()
    for clicked in top.data[0]._click_callbacks:
        clicked(top.data[0], points, None)
    assert below.layout.title.text == "pass_around_allreduce: how element 9 came about"
    drawn = rl.sum_tree(around, 9, rank=2, inputs=inputs)
    assert list(below.data[2].text) == drawn.data[2]["text"]
    assert list(below.data[2].text) != rl.sum_tree(around, 9, rank=1, inputs=inputs).data[2]["text"]
