"""Scaling: the closed forms, the sweeps that run, and the published rates."""

from fractions import Fraction as F

import pytest
from plotly.graph_objects import Figure

import ringlab as rl
from ringlab import scaling
from ringlab.buckets import exposed, ring_seconds
from ringlab.scaling import CHIPS, PLAYBOOK, Chip, bubble, efficiencies, fit, last_that_fits, ratio, sweep, threshold
from ringlab.verdicts import BadInput
from ringlab.views import growth

GIGABYTE = {"nbytes": 10**9, "network": rl.Network(0, F(1, 50 * 10**9))}


# -- tokens ----------------------------------------------------------------------------------------------------


def test_2550_tokens_per_device_hide_the_all_reduce_on_a_tpu_v5p():
    assert threshold("TPU v5p") == 2550
    assert round(threshold("H100")) == 19780
    assert round(0.4 * threshold("H100")) == 7912  # at 40 % of the peak
    assert threshold("TPU v5p", itemsize=4) == 2 * 2550  # gradients in 32 bits


def test_at_the_threshold_the_all_reduce_takes_as_long_as_backward():
    for ranks in (2, 3, 8, 1000):
        tokens = threshold("H100", ranks)
        assert ratio(tokens, "H100", ranks) == pytest.approx(3 / 2)  # backward is two thirds of the arithmetic


@pytest.mark.parametrize("parameters", [10**6, 7 * 10**9, 10**12])
def test_the_number_of_parameters_cancels(parameters):
    chip, ranks, tokens, itemsize = CHIPS["TPU v5p"], 16, 4096, 2
    arithmetic = 6 * parameters * tokens / chip.flops
    communication = ring_seconds(itemsize * parameters, ranks, 0, 1 / chip.bandwidth)
    assert ratio(tokens, "TPU v5p", ranks) == pytest.approx(arithmetic / communication)


def test_more_devices_do_not_improve_the_ratio_at_the_same_tokens_each():
    ratios = [ratio(4096, "H100", ranks) for ranks in (2, 4, 8, 64, 10**6)]
    assert ratios == sorted(ratios, reverse=True)
    assert ratios[0] / ratios[-1] == pytest.approx(2, rel=1e-5)
    fast = Chip(CHIPS["H100"].flops, 2 * CHIPS["H100"].bandwidth, "twice the links")
    assert ratio(4096, fast, 8) == pytest.approx(2 * ratio(4096, "H100", 8))  # bandwidth is in the numerator


# -- sweeps ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("wire", ["virtual", "model"])
def test_weak_scaling_keeps_its_ratio_bounded(wire):
    weak = sweep("weak", (2, 4, 8, 64), compute=F(1, 10), wire=wire, **GIGABYTE)
    assert [row.ratio for row in weak] == [F(1, 5), F(3, 10), F(7, 20), F(63, 160)]
    assert [row.allreduce for row in weak] == [F(1, 50) * F(2 * (p - 1), p) for p in (2, 4, 8, 64)]


@pytest.mark.parametrize("wire", ["virtual", "model"])
def test_strong_scaling_loses_in_proportion_to_the_ranks(wire):
    strong = sweep("strong", (2, 4, 8, 64), compute=F(8, 10), wire=wire, **GIGABYTE)
    assert [row.ratio for row in strong] == [F(1, 20), F(3, 20), F(7, 20), F(63, 20)]


def test_the_far_ends_of_both():
    ends = [
        sweep(kind, (512,), compute=c, wire="model", **GIGABYTE)[0]
        for kind, c in (("weak", F(1, 10)), ("strong", F(8, 10)))
    ]
    assert [round(float(row.ratio), 3) for row in ends] == [0.399, 25.55]


def test_throughput_and_efficiency_are_those_of_the_step():
    for row in sweep("weak", (1, 2, 8), compute=F(1, 10), **GIGABYTE):
        assert row.step == row.compute + row.allreduce
        assert row.efficiency == F(1, 10) / row.step
        assert row.throughput == row.ranks * row.efficiency
    for row in sweep("strong", (1, 2, 8), compute=F(8, 10), **GIGABYTE):
        assert row.compute == F(8, 10) / row.ranks
        assert row.throughput == F(8, 10) / row.step


def test_strong_scaling_ends_at_the_time_of_the_all_reduce():
    last = sweep("strong", (100_000,), compute=F(8, 10), wire="model", **GIGABYTE)[0]
    assert last.step == pytest.approx(F(1, 25), rel=1e-3)  # 2 S / B
    assert last.throughput < 20


def test_buckets_hide_it_until_it_no_longer_fits_under_backward():
    network = rl.Network(1e-6, 1 / 50e9)
    fits = last_that_fits(0.8, 1e9, network)
    assert fits == 14
    for p, hidden in ((fits, True), (fits + 1, False)):
        assert (ring_seconds(1e9, p, 1e-6, 1 / 50e9) <= 2 / 3 * 0.8 / p) is hidden
    rows = sweep("strong", (8, 14, 32), compute=0.8, nbytes=1e9, network=network, buckets=10, wire="model")
    for row in rows:
        assert row.exposed == pytest.approx(exposed(10, 1e9, row.compute * 2 / 3, row.ranks, 1e-6, 1 / 50e9))
        assert row.step == pytest.approx(row.compute + row.exposed)
    assert rows[0].efficiency > 0.95 > rows[2].efficiency
    assert last_that_fits(1e-3, 1e9, network) == 1


def test_processes_over_emulated_links_are_never_faster_than_the_links():
    network = rl.Network(1e-3, 1e-11)
    rows = sweep("weak", (1, 2, 4), compute=0.02, nbytes=1e9, network=network, wire="pipe")
    for row in rows:
        assert row.compute >= 0.02
        assert row.allreduce >= ring_seconds(1e9, row.ranks, 1e-3, 1e-11) * 0.999
    assert rows[0].efficiency == 1
    assert rows[2].throughput > rows[1].throughput / 4
    assert repr(rows).startswith("weak scaling, emulated links: 4 ranks give ")


def test_a_sweep_shows_itself():
    weak = sweep("weak", (1, 2), compute=F(1, 10), **GIGABYTE)
    assert repr(weak) == "weak scaling, virtual wire: 2 ranks give 1.67 times the throughput, 83.3 % each"
    assert weak.table().split("\n")[2].split() == ["2", "100.00", "20.00", "120.00", "0.200", "1.67x", "83.3", "%"]
    drawn = growth.of_sweep(weak, sweep("strong", (1, 2), compute=F(1, 10), **GIGABYTE))
    figure = Figure({"data": drawn.data, "layout": drawn.layout})
    assert [trace.name for trace in figure.data if trace.showlegend is not False] == [
        "if nothing were lost",
        "weak, virtual wire",
        "strong, virtual wire",
    ]
    assert figure.data[1].y[1] == pytest.approx(1.6667)
    assert repr(drawn).split("\n")[0] == repr(weak)
    assert repr(weak.figure()) == repr(weak)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"kind": "strange"}, "kind='strange'"),
        ({"wire": "shm"}, "wire='shm'"),
        ({"compute": 0}, "above 0"),
        ({"nbytes": -1}, "above 0"),
        ({"network": rl.Network(1, 1, slow={0: 2})}, "all alike"),
        ({"network": None}, "all alike"),
        ({"wire": "pipe", "buckets": 4}, "after backward"),
    ],
)
def test_sweeps_that_cannot_be_are_refused(arguments, says):
    with pytest.raises(BadInput, match=says):
        sweep(**{"compute": 1, **GIGABYTE, **arguments})


@pytest.mark.parametrize("ranks", [1, 0, True, 2.5])
def test_ratios_need_at_least_two_devices(ranks):
    with pytest.raises(BadInput, match="nothing to reduce"):
        ratio(1000, "H100", ranks)
    with pytest.raises(BadInput, match="chip 'Z80' is not known"):
        threshold("Z80")


# -- what was published ----------------------------------------------------------------------------------------


def test_32_times_the_devices_gave_12_5_times_the_throughput():
    found = efficiencies()
    assert [f"{100 * each:.1f}" for _, each in found.values()] == ["100.0", "93.7", "88.1", "77.5", "65.9", "39.1"]
    assert max(found) // min(found) == 32
    assert round(found[256][0], 1) == 12.5
    throughputs = [times for times, _ in found.values()]
    assert throughputs == sorted(throughputs), "it still rises at every step"


def test_the_published_rates_are_drawn_and_told():
    figure = scaling.published()
    assert repr(figure).split("\n")[-1] == "256 GPUs: 12.51 times the throughput of 8, 39.1 % each"
    drawn = Figure({"data": figure.data, "layout": figure.layout})
    assert list(drawn.data[1].x) == [8, 16, 32, 64, 128, 256]
    assert drawn.data[0].y[-1] == 32


def test_bandwidth_alone_cannot_explain_the_loss_and_a_term_per_device_does():
    slope, error = fit()
    assert slope == pytest.approx(0.0055, abs=1e-4)
    assert error < 0.1
    lost = 1 / efficiencies()[256][1] - 1
    assert lost == pytest.approx(1.557, abs=1e-3)
    # an all-reduce bound by bandwidth grows by this factor from 8 devices to 256, and cannot take more than a step at 8
    growth_of_bandwidth = (255 / 256) / (7 / 8)
    assert growth_of_bandwidth - 1 < 0.14 < lost
    exact = {p: 1000 / (1 + 0.01 * (p - 8)) for p in (8, 16, 64, 256)}
    assert fit(exact) == (pytest.approx(0.01), pytest.approx(0, abs=1e-12))


def test_a_pipeline_idles_less_with_more_pieces():
    assert bubble(4, 4) == F(3, 7)
    assert bubble(1, 4) == 0
    assert [round(float(bubble(4, m)), 2) for m in (1, 4, 16, 64)] == [0.75, 0.43, 0.16, 0.04]


def test_every_number_has_its_source():
    assert set(PLAYBOOK) == {8, 16, 32, 64, 128, 256}
    assert all(chip.source for chip in CHIPS.values())
    one, two = scaling.TWO_T4
    assert two > one and round(100 * one / (2 * two), 1) == 41.8
    assert scaling.HOROVOD == {"Inception V3": 0.90, "ResNet-101": 0.90, "VGG-16": 0.68}
