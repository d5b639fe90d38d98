"""`rl.run` in short formats: right by default, naive on request, replicas equal on a lossy wire, losses told once."""

import os
import warnings

import numpy as np
import pytest

import ringlab as rl
from ringlab import numerics
from ringlab.dtypes import dtype_of
from ringlab.remarks import LowPrecision, NotFinite, Overflow, WrappedAround
from ringlab.verdicts import BadInput, RankException

SHORT = ("fp16", "bf16", "e4m3", "e5m2")
WIRES = ("pipe", "virtual") if os.name == "nt" else ("pipe", "shm", "virtual")


def ones(dtype, ranks=4, n=8, value=1.0):
    return [np.full(n, value).astype(dtype_of(dtype))] * ranks


# ---- right by default ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("short", SHORT)
def test_short_floats_are_added_and_sent_in_float32_by_default(short, wire):
    inputs = ones(short)
    run = rl.run("ring", inputs, wire=wire)
    assert sum(run.sent) == 24 * 2 * 4, "two elements a message, four bytes each"
    for output in run.outputs:
        assert output.dtype == dtype_of(short)
        assert output.astype(float).tolist() == [4] * 8
    assert repr(run).endswith("every rank holds the sum")


@pytest.mark.parametrize(("short", "stops"), [("fp16", 2048), ("bf16", 256), ("e4m3", 16), ("e5m2", 8)])
def test_a_sum_that_sticks_when_asked_for_is_right_by_default(short, stops):
    """One rank is at the point where ones no longer count; three others bring a one each, and 2 * stops at the end."""
    values = [stops, 1, 1, 1, 1]
    inputs = [np.full(5, value, np.float32) for value in values]
    assert rl.run("star", inputs, wire="virtual").outputs[0].tolist() == [stops + 4] * 5
    with pytest.warns(LowPrecision, match=rf"stop growing at {stops} .*leave out accumulate= to add in float32"):
        stuck = rl.run("star", inputs, wire="virtual", accumulate=short)
    assert stuck.outputs[0].tolist() == [stops] * 5
    assert sum(stuck.sent) == 8 * 5 * dtype_of(short).itemsize


@pytest.mark.slow
def test_a_thousand_and_24_ones_in_bfloat16_by_tree_and_in_order():
    inputs = [np.ones(1, dtype_of("bf16"))] * 1024
    with pytest.warns(LowPrecision):
        assert float(rl.run("tree", inputs, wire="virtual", accumulate="bf16").outputs[5][0]) == 1024
    with pytest.warns(LowPrecision):
        star = rl.run("star", inputs, wire="virtual", accumulate="bf16")
    assert float(star.outputs[5][0]) == 256
    assert repr(star).endswith("every rank holds the sum, up to 75 % off in bfloat16")


@pytest.mark.night
def test_a_thousand_and_24_ones_round_a_ring():
    inputs = [np.ones(1, dtype_of("bf16"))] * 1024
    with pytest.warns(LowPrecision):
        assert float(rl.run("ring", inputs, wire="virtual", accumulate="bf16").outputs[5][0]) == 256
    assert float(rl.run("ring", inputs, wire="virtual").outputs[5][0]) == 1024


def test_the_mean_of_64_times_2000():
    inputs = ones("fp16", 64, 4, 2000)
    assert rl.run("ring", inputs, op="mean", wire="virtual").outputs[9].tolist() == [2000] * 4
    with pytest.warns(Overflow, match=r"float16 \(up to 65504\) overflowed in the sum.*accumulate='float32'"):
        with pytest.warns(LowPrecision):
            run = rl.run("ring", inputs, op="mean", wire="virtual", accumulate="fp16")
    assert np.isinf(run.outputs[9]).all()
    assert repr(run).endswith("ranks agree, 4096 of 4096 chunks complete (float16 overflowed in the sum)")
    assert run.verdict.lines[0] == "rank 0, element 0: inf, the mean is 128000.0"
    with pytest.warns(Overflow, match="overflowed on the wire: accumulate= cannot help, use wire_dtype='float32'"):
        run = rl.run("ring", inputs, op="mean", wire="virtual", wire_dtype="fp16")
    with pytest.warns(Overflow, match="does not fit float16 .*accumulate= cannot help, give float32 inputs"):
        run = rl.run("ring", inputs, wire="virtual")
    assert repr(run).endswith("every rank holds the sum (the sum does not fit float16)")
    before = [x / np.float16(64) for x in inputs]
    with pytest.warns(LowPrecision):
        assert rl.run("ring", before, wire="virtual", accumulate="fp16").outputs[9].tolist() == [1988] * 4


# ---- the wire's dtype and the sum's, apart --------------------------------------------------------------------------


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("name", ["ring", "star", "tree", "doubling", "halving", "direct", "torus", "two_way_ring"])
def test_replicas_are_equal_on_a_lossy_wire(name, wire):
    inputs = [x.astype(np.float32) for x in numerics.normals(3, (4, 200))]
    run = rl.run(name, inputs, wire=wire, wire_dtype="bf16")
    assert numerics.count_replicas(run.outputs) == 1
    assert run.verdict is None
    plain = rl.run(name, inputs, wire=wire)
    assert [2 * nbytes for nbytes in run.sent] == list(plain.sent)
    error = np.abs(run.outputs[0] - plain.outputs[0])
    assert 0 < error.max() < 8 * numerics.format_of("bf16").u * np.abs(inputs).sum(axis=0).max()
    for x, again in zip(inputs, numerics.normals(3, (4, 200))):
        assert (x == again.astype(np.float32)).all(), "the sender adopts, the caller's array stays"


@pytest.mark.parametrize("wire", WIRES)
def test_without_adopting_four_ranks_hold_four_replicas(wire):
    inputs = [x.astype(np.float32) for x in numerics.normals(3, (4, 200))]
    run = rl.run("ring", inputs, wire=wire, wire_dtype="fp16", adopt=False)
    assert numerics.count_replicas(run.outputs) == 4
    chunks = [output.reshape(4, 50) for output in run.outputs]
    for rank in range(4):
        own = (rank + 1) % 4
        assert not (chunks[rank][own] == chunks[(rank + 1) % 4][own]).all(), "the owner keeps its exact copy"
        others = [chunk for chunk in range(4) if chunk not in (own, (rank + 2) % 4)]
        assert all((chunks[rank][c] == chunks[(rank + 1) % 4][c]).all() for c in others)


def test_messages_of_another_dtype_travel_as_they_are():
    def with_places(chunks, rank, send, recv):
        send(np.array([70_001], np.int64), (rank + 1) % len(chunks))
        place = recv((rank - 1) % len(chunks))
        chunks[0] += np.float64(place[0] - 70_001)
        return rl.ring_allreduce(chunks, rank, send, recv)

    run = rl.run(with_places, wire_dtype="fp16")
    assert run.outputs[1].tolist() == [1111] * 8


def test_max_on_a_lossy_wire_and_in_short_formats():
    inputs = [x.astype(np.float32) for x in numerics.normals(1, (4, 40))]
    run = rl.run("ring", inputs, op="max", wire_dtype="bf16")
    assert run.verdict is None
    assert numerics.count_replicas(run.outputs) == 1
    short = [x.astype(dtype_of("bf16")) for x in inputs]
    assert rl.run("ring", short, op="max").outputs[0].tolist() == np.maximum.reduce(short).tolist()


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("short", SHORT)
def test_naive_sums_come_back_from_every_wire_with_the_same_bits(short, wire):
    inputs = [x.astype(dtype_of(short)) for x in numerics.uniforms(2, (4, 30))]
    with pytest.warns(LowPrecision):
        run = rl.run("ring", inputs, wire=wire, accumulate=short)
    for element in range(30):
        order = run.trace.order(numerics.chunk_of(run, element))
        again = numerics.evaluate(order, [x[element : element + 1] for x in inputs])
        assert again.tobytes() == run.outputs[2][element : element + 1].tobytes()
    assert sum(run.sent) == 2 * 3 * 30 * dtype_of(short).itemsize


def test_how_far_off_is_said_only_where_it_can_be_seen():
    inputs = [x.astype(np.float32) for x in numerics.uniforms(2, (4, 30))]
    with pytest.warns(LowPrecision):
        assert "off in float8_e5m2" in repr(rl.run("ring", inputs, accumulate="e5m2"))
    with pytest.warns(LowPrecision):
        assert repr(rl.run("ring", ones("fp32"), accumulate="bf16")).endswith("every rank holds the sum")
    assert repr(rl.run("ring", inputs)).endswith("every rank holds the sum")


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"accumulate": "floot16"}, "accumulate='floot16' is no number type"),
        ({"accumulate": "int64"}, "accumulate='int64' cannot hold float64"),
        ({"accumulate": object}, "accumulate='object' cannot hold float64"),
        ({"wire_dtype": "int8"}, "wire_dtype='int8' cannot hold float64"),
        ({"wire_dtype": 8}, "wire_dtype=8 is no number type"),
        ({"inputs": [np.ones(3, complex)] * 2, "accumulate": "float64"}, "cannot hold complex128"),
    ],
)
def test_dtypes_that_would_cut_numbers_off_are_refused(options, says):
    with pytest.raises(BadInput) as caught:
        rl.run("ring", **options)
    assert says in str(caught.value)


# ---- what is told, and how often -------------------------------------------------------------------------------------


@pytest.mark.parametrize("op", ["sum", "mean", "max"])
def test_nan_and_infinity_are_reported_with_the_first_rank_and_index(op):
    inputs = [np.ones(6) for _ in range(4)]
    inputs[2][4], inputs[2][5], inputs[3][0] = np.nan, np.inf, np.inf
    with pytest.warns(NotFinite, match="rank 2's input is nan at index 4, the first of 2: whatever it is added to"):
        run = rl.run("ring", inputs, op=op)
    assert repr(run).endswith(f"every rank holds the {op} (rank 2's input is nan at index 4, the first of 2)")
    table = [np.ones((2, 3), dtype_of("bf16")) for _ in range(2)]
    table[1][1, 2] = -np.inf
    with pytest.warns(NotFinite, match=r"rank 1's input is -inf at index \(1, 2\): "):
        rl.run("ring", table, op=op)
    with pytest.warns(NotFinite, match="rank 0's input is nan: "):
        rl.run("ring", [np.array(np.nan)] * 2, op=op)


def test_large_finite_inputs_are_no_infinity():
    assert repr(rl.run("ring", [np.full(9, 3e38, np.float32), np.zeros(9, np.float32)])).endswith("holds the sum")


def test_float32_and_float64_overflow_too():
    with pytest.warns(Overflow, match="float32 .*accumulate='float64'"):
        rl.run("ring", [np.full(4, 3e38, np.float32)] * 2)
    with pytest.warns(Overflow, match="float64 .*accumulate='longdouble'"):
        rl.run("ring", [np.full(4, 1.7e308)] * 2)


@pytest.mark.parametrize(
    ("dtype", "top"), [("i1", 127), ("u1", 255), ("i4", 2**31 - 1), ("u8", 2**64 - 1), ("i8", 2**63 - 1)]
)
def test_integers_that_wrap_are_told(dtype, top):
    wraps = [np.array([top, 0, 1], dtype), np.array([0, 0, 0], dtype), np.array([1, 0, 0], dtype)]
    name = np.dtype(dtype).name
    with pytest.warns(WrappedAround, match=rf"a sum in {name} \(up to {top}\) wrapped around: accumulate="):
        run = rl.run("ring", wraps)
    assert repr(run).endswith(f"every rank holds the sum ({name} wrapped around)")
    fits = [np.array([top - 1, 0, 1], dtype), np.array([0, 0, 0], dtype), np.array([1, 0, 0], dtype)]
    assert int(rl.run("ring", fits).outputs[0][0]) == top


def test_negative_integers_wrap_too_and_cancelling_ones_do_not():
    with pytest.warns(WrappedAround):
        assert rl.run("ring", [np.array([-(2**63)]), np.array([-1])]).outputs[0].tolist() == [2**63 - 1]
    assert rl.run("ring", [np.array([2**62]), np.array([2**62]), np.array([-5])]).outputs[0].tolist() == [2**63 - 5]


def test_accumulate_mends_integers_that_wrap():
    inputs = [np.array([100, -100], np.int8)] * 3
    with pytest.warns(WrappedAround, match="accumulate='int64' gives int64 results"):
        assert rl.run("ring", inputs).outputs[0].tolist() == [44, -44]
    run = rl.run("ring", inputs, accumulate="int64")
    assert run.outputs[0].tolist() == [300, -300]
    assert run.outputs[0].dtype == np.int64
    assert rl.run("ring", [np.array([2**63 - 1])] * 2, accumulate="float64").outputs[0].tolist() == [2.0**64]
    assert rl.run("ring", inputs, op="max", accumulate="int64").outputs[0].dtype == np.int8
    assert rl.run("ring", inputs, op="mean").outputs[0].tolist() == [100, -100]


def test_a_loop_is_warned_once_and_another_listener_hears_it_again():
    def told():
        with warnings.catch_warnings(record=True) as heard:
            warnings.simplefilter("always")
            for _ in range(3):
                rl.run("ring", ones("fp32"), accumulate="fp16", wire="virtual")
        return [(w.category, w.filename, w.lineno) for w in heard]

    assert told() == [(LowPrecision, "rl.run", 1)]
    assert told() == [(LowPrecision, "rl.run", 1)]


def test_a_caller_who_wants_overflow_raised_gets_it():
    with np.errstate(over="raise"), pytest.raises(RankException, match="rank 0 raised FloatingPointError: overflow"):
        rl.run("ring", [np.full(4, 3e38, np.float32)] * 2, wire="virtual")
