"""The error of whole all-reduces against the number of ranks, and what theory says of it."""

import json

import numpy as np
import pytest

from ringlab import numerics
from ringlab.numerics import drifts, seeded
from ringlab.verdicts import BadInput

U = {short: numerics.format_of(short).u for short in ("float32", "float16", "bfloat16")}


@pytest.fixture(scope="module")
def measured():
    return numerics.measure_drift(("ring", "tree"), tuple(U), (4, 16, 64), n=2048)


@pytest.mark.parametrize("dtype", U)
def test_the_error_of_a_ring_grows_like_the_root_of_p_and_that_of_a_tree_hardly(measured, dtype):
    ring = [row.rms / U[dtype] for row in measured.curve("ring", dtype)]
    tree = [row.rms / U[dtype] for row in measured.curve("tree", dtype)]
    assert ring == pytest.approx([0.63, 1.03, 1.88], rel=0.04)
    assert tree == pytest.approx([0.60, 0.66, 0.70], rel=0.04)
    assert ring[-1] == pytest.approx(0.23 * 8, rel=0.05), "0.23 sqrt(P) from here on"


def test_the_same_share_of_u_in_every_format(measured):
    for algorithm in ("ring", "tree"):
        shares = [[row.rms / U[dtype] for row in measured.curve(algorithm, dtype)] for dtype in U]
        assert np.ptp(shares, axis=0).max() < 0.1
    fp16, fp32 = (measured.curve("ring", dtype)[-1].rms for dtype in ("float16", "float32"))
    assert fp16 / fp32 == pytest.approx(2**13, rel=0.05), "float32 drifts too, ten thousand times less"


def test_256_ranks_in_ring_order():
    """The ring's order at P = 256, added up directly: 3.6 u on average, 15 u at worst, where (P - 1) u allows 255."""
    p, n = 256, 2048
    first = np.arange(n) * p // n
    for dtype in U:
        for seed in (0, 1, 2):
            inputs = np.stack([x.astype(numerics.dtype_of(dtype)) for x in numerics.uniforms(seed, (p, n))])
            total = numerics.in_order([inputs[(first + k) % p, np.arange(n)] for k in range(p)])
            exact = numerics.fsum(inputs)
            errors = np.abs(total.astype(float) - exact) / exact / U[dtype]
            assert 3.5 < np.sqrt((errors**2).mean()) < 3.75
            assert 10 < errors.max() < 20
    assert numerics.worst_bound(p, "bf16") / U["bfloat16"] == 255


def test_the_relative_error_of_zero_mean_sums_in_bfloat16():
    inputs = [x.astype(numerics.dtype_of("bf16")) for x in numerics.normals(0, (256, 5_000))]
    found = []
    for p in (4, 16, 64, 256):
        exact = numerics.fsum(inputs[:p])
        errors = numerics.in_order(inputs[:p]).astype(float) - exact
        found.append(np.sqrt((errors**2).mean() / (exact**2).mean()))
    assert found == pytest.approx([2.7e-3, 5.0e-3, 9.6e-3, 1.9e-2], rel=0.05)


def test_a_drift_is_the_error_of_real_runs():
    """The parcel of dtypes goes round as each dtype alone would."""
    import ringlab as rl
    from ringlab.remarks import LowPrecision

    p, n = 5, 64
    inputs = [x.astype(numerics.dtype_of("bf16")) for x in numerics.uniforms(4, (p, n))]
    for name in ("ring", "tree", "doubling", "halving"):
        row = numerics.measure_drift((name,), ("fp32", "bf16"), (p,), n, seed=4).curve(name, "bf16")[0]
        with pytest.warns(LowPrecision):
            output = rl.run(name, inputs, accumulate="bf16").outputs[0]
        errors = np.abs(output.astype(float) - numerics.fsum(inputs)) / numerics.fsum(inputs)
        assert row.largest == errors.max()
        assert row.rms == pytest.approx(np.sqrt((errors**2).mean()), rel=1e-12)


def test_a_drift_is_a_table_and_has_parts(measured):
    assert str(measured.only(("ring",), ("fp16", "bf16"), (4, 64))) == (
        "    P    ring float16   ring bfloat16\n"
        "    4         3.1e-04         2.5e-03\n"
        "   64         8.9e-04         7.4e-03"
    )
    with pytest.raises(BadInput, match="star in float16 was not measured"):
        measured.curve("star", "fp16")
    with pytest.raises(BadInput, match="algorithm 'rong'"):
        numerics.measure_drift(("rong",))
    with pytest.raises(BadInput, match="data='real'"):
        numerics.measure_drift(data="real")


# ---- the measurement that comes with the lab ------------------------------------------------------------------------


def again(algorithms, ranks):
    saved = numerics.saved_drift()
    dtypes = tuple(dict.fromkeys(row.dtype for row in saved.rows))
    new = numerics.measure_drift(algorithms, dtypes, ranks, saved.n, saved.data, saved.seed)
    for row in new.rows:
        (old,) = [r for r in saved.curve(row.algorithm, row.dtype) if r.p == row.p]
        assert old.rms == pytest.approx(row.rms, rel=1e-12)
        assert old.largest == row.largest


def test_overflow_is_an_infinite_error_and_a_gap_in_the_figure(monkeypatch):
    import ringlab as rl

    ten_times = {"uniform": lambda seed, shape: 10 * seeded.uniforms(seed, shape)}  # 128 of about 5 are above 448
    monkeypatch.setattr(drifts, "DATA", ten_times)
    drift = numerics.measure_drift(("tree",), ("e4m3",), (16, 128), n=1, data="uniform")
    assert [row.rms < 1 for row in drift.rows] == [True, False]
    assert str(drift).split()[-1] == "overflow"
    curve = rl.drift_curves(drift, ("tree",), ("e4m3",)).data[-1]
    assert curve["y"][-1] is None
    assert json.loads(json.dumps(drift.to_dict(), allow_nan=False))["rows"][1][3:] == [None, None]


def test_the_saved_drift_is_measured_again_up_to_64_ranks():
    again(("ring", "tree"), (2, 4, 8, 16, 32, 64))
    again(("star", "doubling", "halving", "direct"), (8, 32))


@pytest.mark.night
@pytest.mark.parametrize("ranks", [128, 256, 512, 1024])
@pytest.mark.parametrize("algorithm", ["ring", "star", "tree", "doubling", "halving", "direct"])
def test_the_saved_drift_is_measured_again_up_to_1024_ranks(algorithm, ranks):
    again((algorithm,), (ranks,))


def test_the_saved_drift_holds_what_the_figures_draw():
    saved = numerics.saved_drift()
    ranks = [2**k for k in range(1, 11)]
    for algorithm in ("ring", "star", "tree", "doubling", "halving", "direct"):
        for dtype in ("fp32", "fp16", "bf16", "e4m3", "e5m2"):
            curve = saved.curve(algorithm, dtype)
            assert [row.p for row in curve] == ranks
            for row in curve:
                if dtype == "e4m3" and row.p == 1024 and algorithm in ("tree", "doubling", "halving"):
                    assert row.rms == row.largest == np.inf, "448 is the end of e4m3, and the sum is 512"
                    continue
                bound = numerics.tree_bound if algorithm in ("tree", "doubling", "halving") else numerics.worst_bound
                assert 0 < row.rms <= row.largest <= bound(row.p, dtype)
    assert json.loads(drifts.SAVED.read_text())["n"] == 1024


def test_at_1024_ranks_bfloat16_is_swamped_and_float16_is_not():
    saved = numerics.saved_drift()
    share = {d: saved.curve("ring", d)[-1].rms / numerics.typical_bound(1024, d) for d in ("fp32", "fp16", "bf16")}
    assert share["fp32"] == pytest.approx(0.23, abs=0.03)
    assert share["fp16"] == pytest.approx(0.23, abs=0.03)
    assert share["bf16"] > 3, "terms below half a step are lost every time, so errors add up in one direction"
    assert saved.curve("ring", "bf16")[-1].rms == pytest.approx(0.5, abs=0.02)
