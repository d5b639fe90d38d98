"""Sums in short formats: where they stop, overflow and vanish, and what helps; the same numbers on every machine."""

import math
import subprocess
import sys
from fractions import Fraction

import numpy as np
import pytest

import ringlab as rl
from ringlab import numerics
from ringlab.dtypes import SHORT_NAMES, dtype_of, format_of, is_short, name_of
from ringlab.numerics.seeded import random_bits
from ringlab.numerics.sums import neighbour
from ringlab.verdicts import BadInput

ONES = np.ones(4096)


def test_what_each_format_can_hold():
    formats = {short: format_of(short) for short in SHORT_NAMES}
    assert {short: form.u for short, form in formats.items()} == {
        "fp64": 2**-53,
        "fp32": 2**-24,
        "fp16": 2**-11,
        "bf16": 2**-8,
        "e4m3": 2**-4,
        "e5m2": 2**-3,
    }
    assert formats["fp16"].largest == 65504
    assert formats["e4m3"].largest == 448
    assert formats["e5m2"].largest == 57344
    assert formats["fp32"].largest == pytest.approx(3.40e38, rel=1e-3)
    assert formats["bf16"].largest == pytest.approx(3.39e38, rel=1e-3)
    assert formats["fp16"].smallest_normal == pytest.approx(6.10e-5, rel=1e-3)
    assert formats["fp16"].smallest == 2**-24
    assert [formats[short].bits for short in ("fp32", "fp16", "bf16", "e4m3", "e5m2")] == [32, 16, 16, 8, 8]
    assert formats["bf16"].u / formats["fp32"].u == 65536


@pytest.mark.parametrize("name", ["floot16", 3.5, "V3"])
def test_a_name_that_is_no_number_type_is_refused(name):
    with pytest.raises(BadInput):
        format_of(dtype_of(name))


@pytest.mark.parametrize("short", SHORT_NAMES)
def test_every_format_has_a_name_that_leads_back(short):
    assert dtype_of(name_of(dtype_of(short))) == dtype_of(short)
    assert dtype_of(dtype_of(short)) == dtype_of(short)
    assert is_short(dtype_of(short)) == (format_of(short).bits <= 16)


def test_short_floats_load_when_one_is_named_and_not_before():
    code = (
        "import sys, ringlab as rl, ringlab.numerics as n; rl.run('ring', ranks=2, wire='virtual');"
        "loaded = lambda: 'ml_dtypes' in sys.modules;"
        "print(loaded(), n.dtype_of('fp16').name, loaded(), n.dtype_of('bf16').name, loaded())"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert out == "False float16 False bfloat16 True\n"


# ---- swamping --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("short", "stops"), [("fp16", 2048), ("bf16", 256), ("e4m3", 16), ("e5m2", 8)])
def test_counting_by_ones_stops(short, stops):
    assert float(numerics.in_order(ONES, short)) == stops == 2 ** format_of(short).digits
    assert float(numerics.in_order(ONES[: stops + 1], short)) == stops
    assert float(numerics.in_order(ONES[: stops - 1], short)) == stops - 1


def test_float32_stops_at_2_to_the_24():
    stop = np.float32(2**24)
    assert stop + np.float32(1) == stop
    assert np.float32(2**24 - 1) + np.float32(1) == stop


def test_a_thousand_and_24_ones_in_bfloat16():
    ones = ONES[:1024]
    assert float(numerics.in_order(ones, "bf16")) == 256
    assert float(numerics.pairwise(ones, "bf16")) == 1024
    assert float(numerics.kahan(ones, "bf16")) == 1024


def test_a_thousand_hundredths():
    hundredths = [0.01] * 1000
    assert f"{float(numerics.in_order(hundredths, 'fp32')):.6f}" == "10.000134"
    assert float(numerics.in_order(hundredths, "fp16")) == 9.953125
    halves = [np.float16(0.01)] * 1000
    assert f"{float(numerics.in_order(halves, 'fp32')):.6f}" == "10.002136"
    assert float(numerics.in_order(hundredths, "bf16")) == 4.0
    assert float(numerics.in_order([0.01] * 10_000, "bf16")) == 4.0
    assert float(numerics.kahan(hundredths, "bf16")) == 10.0


def test_small_steps_away_from_one_in_bfloat16():
    one, bf16 = dtype_of("bf16").type(1), dtype_of("bf16").type
    assert one - bf16(0.001) == one
    assert one - bf16(0.002) != one


@pytest.mark.slow
def test_stochastic_rounding_is_right_on_average_and_noisy():
    sums = np.array([float(numerics.stochastic(ONES[:1024], "bf16", seed)) for seed in range(50)])
    # each sum strays by about 47; the mean of fifty by 7
    assert abs(sums.mean() - 1024) < 3 * 47 / math.sqrt(50)
    assert 30 < sums.std() < 65
    assert (numerics.stochastic(ONES[:1024], "bf16", 7) == numerics.stochastic(ONES[:1024], "bf16", 7)).all()


@pytest.mark.parametrize("short", ["fp32", "fp16", "bf16", "e4m3", "e5m2"])
def test_stochastic_rounding_takes_one_of_two_neighbours_by_its_distance(short):
    low = dtype_of(short).type(1)
    high = neighbour(np.asarray(low), up=True)
    x = np.full(20_000, float(low) + 0.25 * (float(high) - float(low)))
    rounded = numerics.stochastic_round(x, short, seed=3)
    assert set(rounded.astype(float).tolist()) == {float(low), float(high)}
    assert abs((rounded == high).mean() - 0.25) < 0.02
    exact = np.array([0.0, 1.0, -1.5, 2.0])
    assert (numerics.stochastic_round(exact, short).astype(float) == exact).all(), "what fits is not touched"


# ---- exact sums and references ---------------------------------------------------------------------------------------


def test_exact_sums():
    assert numerics.exact_sum([0.1] * 10) == 10 * Fraction(0.1)
    assert numerics.exact_sum([np.array([1e16, 1.0]), np.array([1.0, 2.0])]).tolist() == [10**16 + 1, 3]
    assert numerics.fsum([np.array([1e16, 0.1])] * 10).tolist() == [1e17, 1.0]
    assert numerics.fsum([1e16, 1.0, -1e16]) == 1
    with pytest.raises((ValueError, OverflowError)):
        numerics.exact_sum([np.nan, 1.0])


def test_long_double_sums_are_at_least_as_good_as_float64():
    terms = numerics.normals(1, 1000)
    exact = numerics.exact_sum(list(terms))
    long = abs(Fraction(*numerics.long_double_sum(terms).as_integer_ratio()) - exact)
    double = abs(Fraction(float(numerics.in_order(terms))) - exact)
    assert long <= double
    assert numerics.long_double_sum(terms).dtype == np.longdouble


@pytest.mark.parametrize("short", ["fp32", "fp16", "bf16"])
@pytest.mark.parametrize("data", [numerics.uniforms, numerics.normals])
def test_errors_stay_within_their_bounds(short, data):
    terms = [x.astype(dtype_of(short)) for x in data(2, (64, 500))]
    exact = numerics.fsum(terms)
    weight = numerics.fsum([np.abs(term.astype(float)) for term in terms])

    def error(result):
        return np.abs(result.astype(float) - exact) / weight

    in_order, halves, mended = (error(f(terms)) for f in (numerics.in_order, numerics.pairwise, numerics.kahan))
    assert in_order.max() <= numerics.worst_bound(64, short)
    assert np.sqrt((in_order**2).mean()) <= numerics.typical_bound(64, short)
    assert halves.max() <= numerics.tree_bound(64, short)
    assert mended.max() <= numerics.kahan_bound(64, short)
    assert np.sqrt((mended**2).mean()) < np.sqrt((halves**2).mean()) < np.sqrt((in_order**2).mean())


def test_bounds_count_roundings():
    assert numerics.worst_bound(256, "bf16") == 255 / 256
    assert numerics.typical_bound(256, "bf16") == 16 / 256
    assert [numerics.tree_bound(p, "fp16") * 2**11 for p in (1, 2, 3, 4, 5, 256, 257)] == [0, 1, 2, 2, 3, 8, 9]


# ---- distances -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("short", SHORT_NAMES)
def test_ulp_distance_counts_the_numbers_between(short):
    dtype = dtype_of(short)
    x = np.array([1, -1, 0, 1.5, -0.5], dtype)
    steps = x
    for _ in range(5):
        steps = neighbour(steps, up=True)
    assert (steps.astype(float) > x.astype(float)).all()
    assert numerics.ulp_distance(x, steps).tolist() == [5] * 5
    assert numerics.ulp_distance(steps, x).tolist() == [5] * 5
    assert neighbour(neighbour(x, up=True), up=False).astype(float).tolist() == x.astype(float).tolist()


def test_ulp_distance_at_the_edges():
    zeros = np.float32([0.0, -0.0])
    assert int(numerics.ulp_distance(zeros[0], zeros[1])) == 0
    smallest = np.float32(1e-45)
    assert int(numerics.ulp_distance(smallest, -smallest)) == 2
    nan = np.float32(np.nan)
    assert int(numerics.ulp_distance(nan, nan)) == 0
    assert int(numerics.ulp_distance(nan, np.float32(1))) == 2**64 - 1
    assert int(numerics.ulp_distance(np.float64(-np.inf), np.float64(np.inf))) == 2 * 0x7FF0000000000000
    with pytest.raises(BadInput, match="different steps"):
        numerics.ulp_distance(np.float32(1), np.float64(1))
    with pytest.raises(BadInput, match="is no float"):
        numerics.ulp_distance(np.int32(1), np.int32(1))


def test_ulp_is_the_step_of_the_format():
    assert float(numerics.ulp(np.float32(1e8))) == 8
    assert float(numerics.ulp(np.float32(2**24))) == 2
    assert float(numerics.ulp(np.float16(-1.5))) == 2**-10
    x = numerics.normals(0, 100)
    assert (numerics.ulp(x) == np.spacing(np.abs(x))).all()
    assert float(numerics.ulp(np.float64(1.7976931348623157e308))) == 2.0**971


def test_bits_replicas_and_fingerprints():
    a, b = np.float32([0.0, 1.0, np.nan]), np.float32([-0.0, 1.0, np.nan])
    assert numerics.same_bits(a, b).tolist() == [False, True, True]
    assert numerics.differing(a, b) == pytest.approx(1 / 3)
    assert numerics.count_replicas([a, a.copy(), b]) == 2
    assert numerics.fingerprint(a) != numerics.fingerprint(b)
    assert numerics.fingerprint(np.arange(3.0)) == numerics.fingerprint(np.arange(3.0).astype(">f8")) == "d5331e59"
    with pytest.raises(BadInput):
        numerics.same_bits(a, a[:2])


# ---- means and loss scaling ------------------------------------------------------------------------------------------


def test_three_ways_to_divide_64_times_2000_in_float16():
    big = [np.float16(2000)] * 64
    assert float(numerics.in_order(big)) == np.inf
    assert float(numerics.mean_of(big, "fp16", "after")) == np.inf
    assert float(numerics.mean_of(big, "fp16", "before")) == 1988
    assert abs(1988 / 2000 - 1) == pytest.approx(0.006)
    assert float(numerics.mean_of(big, "fp16", "both")) == 1988
    assert float(numerics.mean_of(big, "fp32", "after")) == 2000


def test_three_ways_to_divide_a_millionth_in_float16():
    small = [np.float16(1e-6)] * 64
    assert float(np.float16(1e-6) / np.float16(64)) == 0
    assert float(numerics.mean_of(small, "fp16", "before")) == 0
    for divide in ("after", "both"):
        assert float(numerics.mean_of(small, "fp16", divide)) == pytest.approx(1e-6, rel=0.06)
    assert float(np.float16(2.0**-25)) == 0, "half the smallest number is rounded to the even one, 0"
    assert float(np.float16(2.0**-25 * 1.001)) == 2.0**-24


def test_loss_scaling_must_unscale_in_a_longer_format():
    assert float(np.float16(1e-8)) == 0
    short = numerics.scaled([1e-8], 1024, "fp16")
    assert float(short[0]) > 0
    assert float(numerics.unscaled(short, 1024, "fp16")[0]) == 0
    assert float(numerics.unscaled(short, 1024)[0]) == pytest.approx(1e-8, rel=0.01)


def test_unknown_ways_are_refused():
    with pytest.raises(BadInput, match="divide='never'"):
        numerics.mean_of([1.0], "fp16", "never")
    with pytest.raises(BadInput, match="algorithm 'rong'"):
        numerics.in_precision("fp16", "rong")


@pytest.mark.parametrize("wire", ["pipe", "virtual"])
def test_an_algorithm_in_another_precision(wire):
    inputs = [np.ones(300)] * 8
    ring = numerics.in_precision("e5m2")
    run = rl.run(ring, inputs, wire=wire)
    assert run.outputs[0].dtype == np.float64
    assert run.outputs[0].tolist() == [8] * 300
    assert sum(run.sent) == 2 * 7 * 300, "one byte each"
    assert "ring_allreduce in float8_e5m2" in repr(run)
    assert run.trace.order(0) == "not known", "it adds in an array of its own, which the trace does not see"
    more = rl.run(ring, [np.ones(16)] * 16, wire=wire)
    assert more.outputs[3].tolist() == [8] * 16, "three significant bits"


# ---- numbers from a seed ---------------------------------------------------------------------------------------------


def test_seeded_numbers_are_the_same_everywhere():
    assert [hex(x) for x in random_bits(1234567, 3).tolist()] == [
        "0x599ed017fb08fc85",
        "0x2c73f08458540fa5",
        "0x883ebce5a3f27c77",
    ]
    assert (numerics.uniforms(0, (2, 2)) * 2**32).tolist() == [[0xE220A839, 0x6E789E6A], [0x06C45D18, 0xF88BB8A8]]
    assert numerics.fingerprint(numerics.normals(0, 1000)) == "89c60daf"


def test_seeded_numbers_look_right():
    u, z = numerics.uniforms(5, 100_000), numerics.normals(5, 100_000)
    assert 0 <= u.min() < 1e-4
    assert 1 - 1e-4 < u.max() < 1
    assert abs(u.mean() - 0.5) < 0.005
    assert abs(z.mean()) < 0.01
    assert abs(z.std() - 1) < 0.01
    assert abs(np.corrcoef(z[:-1], z[1:])[0, 1]) < 0.01
    assert not (numerics.normals(1, 50) == numerics.normals(2, 50)).any()
