"""Curves: the areas cross where they must, a slider shows one state at a time, points lie over the curve."""

import json
import math

import pytest

import ringlab as rl
from ringlab import forecasting
from ringlab.verdicts import BadInput

NETWORK = rl.Network.preset("400G")


def named(figure, name, state=None):
    found = [trace for trace in figure.data if trace["name"].startswith(name)]
    return found if state is None else found[state]


def test_p_star_of_100_megabytes_at_400g_is_2000_and_the_areas_cross_there():
    figure = rl.curves(NETWORK, nbytes=10**8)
    assert named(figure, "P* = 2,000", 0)["x"] == [pytest.approx(2000)] * 2
    messages, nbytes = named(figure, "messages", 0), named(figure, "bytes", 0)
    assert messages["x"] == nbytes["x"]
    for p, one, other in zip(messages["x"], messages["y"], nbytes["y"]):
        assert (one < other) == (p < 2000)
    together = named(figure, "together", 0)["y"]
    assert together == sorted(together)  # no minimum anywhere
    assert figure.text.splitlines()[0] == "ring, 100 MB each, 1 us per message, 50 GB/s: P* = 2,000"
    assert "sliders" not in figure.layout


def test_against_bytes_the_areas_cross_at_s_half():
    figure = rl.curves(rl.Network(1e-6, 1 / 16.384e9), "bytes", ranks=8)
    assert named(figure, "S_half = 131 kB", 0)["x"][0] == pytest.approx(8 * 16384)
    assert figure.layout["yaxis"]["type"] == figure.layout["xaxis"]["type"] == "log"


@pytest.mark.parametrize("against", ["ranks", "bytes"])
def test_the_slider_shows_one_state_at_a_time(against):
    figure = rl.curves(NETWORK, against)
    (slider,) = figure.layout["sliders"]
    assert len(slider["steps"]) == 4
    for number, step in enumerate(slider["steps"]):
        (changes, _) = step["args"]
        shown = [i for i, visible in enumerate(changes["visible"]) if visible]
        assert len(changes["visible"]) == len(figure.data)
        assert shown == list(range(4 * number, 4 * number + 4))
    assert [trace["visible"] for trace in figure.data] == slider["steps"][slider["active"]]["args"][0]["visible"]
    assert len(figure.text.split("\n\n")) == 4
    assert len(json.dumps(figure._repr_mimebundle_())) < 40_000


def test_measured_points_lie_over_the_curve_with_spread_and_residuals():
    truth = rl.cost.seconds("ring", 8, 10**6, NETWORK.alpha, NETWORK.beta)
    rows = [forecasting.Row(8, 10**6, truth, (2 * truth, 3 * truth)), forecasting.Row(8, 10**3, truth, (truth,))]
    checked = forecasting.Forecast("ring", "pipe", {8: NETWORK}, rows)
    figure = checked.figure()
    points, factors = named(figure, "measured")
    assert points["error_y"]["array"][0] == pytest.approx(truth, rel=1e-3)
    assert factors["y"][0] == pytest.approx(2, rel=1e-3)
    assert factors["yaxis"] == "y2" and "yaxis2" in figure.layout
    assert checked.worst == pytest.approx(2)
    assert any(line.endswith("2.00") and "1 MB" in line for line in figure.text.splitlines())
    assert "never off by more than a factor of 2.00" in repr(checked)


def test_a_clusters_log_lies_over_the_model():
    log = rl.read_nccl(rl.A100)
    figure = rl.curves(log.network(), "bytes", ranks=8, points=log)
    (points, factors) = named(figure, "measured")
    assert len(points["x"]) == 20
    assert max(abs(math.log(f)) for f in factors["y"]) == pytest.approx(-math.log(1 - 0.362), abs=0.01)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: rl.curves("400G"), "network is a str"),
        (lambda: rl.curves(NETWORK, "time"), "against='time'"),
        (lambda: rl.curves(NETWORK, algorithm="rnig"), "algorithm='rnig'"),
        (lambda: rl.curves(NETWORK, "bytes", ranks=0), "p=0"),
        (lambda: rl.curves(NETWORK, "bytes", ranks=[]), "ranks is empty"),
        (lambda: rl.curves(NETWORK, nbytes=-1), "nbytes=-1"),
        (lambda: rl.curves(NETWORK, points=[]), "points is empty"),
        (lambda: rl.curves(NETWORK, points=[3]), "points[0]=3 is no point"),
        (lambda: rl.curves(NETWORK, points=[(0, 8, 1.0)]), "p=0"),
        (lambda: rl.curves(NETWORK, points=[(2, 8, 0.0)]), "points[0]: 0.0 is no measured time"),
        (lambda: rl.curves(rl.Network(3600, 1)), "alpha=3600"),
        (lambda: rl.forecast("virtual"), "wire='virtual'"),
        (lambda: rl.forecast(ranks=0), "ranks=0"),
        (lambda: rl.forecast(ranks=[]), "ranks and sizes are empty"),
        (lambda: rl.forecast(sizes=-4), "sizes=-4"),
        (lambda: rl.forecast(algorithm="gossip"), "algorithm='gossip'"),
        (lambda: forecasting.Forecast("ring", "pipe", {}, []).check(turns=0), "turns=0"),
    ],
)
def test_nonsense_is_named(call, said):
    with pytest.raises(BadInput) as caught:
        call()
    assert said in str(caught.value)


def test_a_forecast_is_made_before_it_is_checked():
    made = rl.forecast("pipe", 2, [1000, 64_000], networks={2: NETWORK})
    assert made.worst is None and [row.measured for row in made.rows] == [None, None]
    assert "measured" not in repr(made)
    assert made.check(turns=2).worst > 0
    assert all(len(row.times) == 4 and row.middle >= row.measured > 0 for row in made.rows)


@pytest.mark.slow
def test_live_sliders_change_the_curve():
    box = rl.curves(NETWORK, nbytes=[10**8, 10**9], live=True)
    sliders, figure, text = box.children
    before = figure.data[2].y
    sliders.children[0].value = 100.0  # microseconds
    assert figure.data[2].y != before
    assert "P* = 200" in text.value
