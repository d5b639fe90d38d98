"""`rl.run` between real processes: exact sums for every shape, dtype and size, and inputs left alone."""

import numpy as np
import pytest

import ringlab as rl
from ringlab.remarks import LowPrecision, Overflow
from ringlab.verdicts import BadInput, Mismatch, WrongResult


def distinct(ranks, shape, dtype=float):
    """Inputs in which every rank and every element differs, exact in every dtype that is used here."""
    n = int(np.prod(shape, dtype=int))
    return [((np.arange(n) * 3 + 7 * rank) % 31 + rank).reshape(shape).astype(dtype) for rank in range(ranks)]


def exact_sum(inputs):
    total = np.zeros(inputs[0].shape, inputs[0].dtype)
    for x in inputs:
        total = total + x
    return total


@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 5, 8])
@pytest.mark.parametrize("length", [0, 1, 7, 8, 9, 1000])
def test_every_rank_ends_with_the_sum(ranks, length):
    inputs = distinct(ranks, (length,))
    before = [x.copy() for x in inputs]
    run = rl.run(rl.ring_allreduce, inputs)
    for out in run.outputs:
        np.testing.assert_array_equal(out, exact_sum(inputs))
    for x, old in zip(inputs, before, strict=True):
        np.testing.assert_array_equal(x, old)
    assert run.verdict is None
    assert run.messages == (2 * (ranks - 1),) * ranks


@pytest.mark.parametrize("shape", [(), (3, 4), (2, 0, 3), (2, 3, 2, 2)])
def test_shapes_come_back(shape):
    inputs = distinct(3, shape)
    for out in rl.run("ring", inputs).outputs:
        assert out.shape == shape
        np.testing.assert_array_equal(out, exact_sum(inputs))


@pytest.mark.parametrize(
    "dtype",
    "i1 u1 i2 u2 i4 u4 i8 u8 f2 f4 f8 longdouble c8 c16 >i4 >f8 <f4".split(),
    ids=lambda d: d.replace(">", "big-"),
)
def test_every_number_type_sums_exactly(dtype):
    inputs = distinct(3, (10,), dtype)
    for out in rl.run("ring", inputs).outputs:
        assert out.dtype == np.dtype(dtype)
        np.testing.assert_array_equal(out, exact_sum(inputs))


def test_strided_fortran_read_only_and_broadcast_inputs_are_read_and_left_alone():
    base = np.arange(24.0).reshape(4, 6)
    read_only = base.copy()
    read_only.flags.writeable = False
    forms = [base[:, ::-2], np.asfortranarray(base)[:, 1:4], read_only[:, :3], np.broadcast_to(7.0, (4, 3))]
    before = [x.copy() for x in forms]
    for out in rl.run("ring", forms).outputs:
        np.testing.assert_array_equal(out, exact_sum(before))
        assert out.flags.writeable
    for x, old in zip(forms, before, strict=True):
        np.testing.assert_array_equal(x, old)


def test_outputs_belong_to_the_caller():
    run = rl.run("ring")
    run.outputs[0][:] = -1
    assert run.outputs[1].tolist() == [1111] * 8


@pytest.mark.parametrize("dtype", ["i1", "u1", "i4", "f4", "f2"])
def test_mean_max_min(dtype):
    inputs = distinct(4, (11,), dtype)
    stacked = np.stack(inputs).astype(float)
    mean = rl.run("ring", inputs, op="mean").outputs[2]
    assert mean.dtype == (np.dtype(dtype) if np.dtype(dtype).kind == "f" else np.float64)
    np.testing.assert_array_equal(mean, (stacked.sum(0) / 4).astype(mean.dtype))
    np.testing.assert_array_equal(rl.run("ring", inputs, op="max").outputs[0], stacked.max(0).astype(dtype))
    np.testing.assert_array_equal(rl.run("ring", inputs, op="min").outputs[3], stacked.min(0).astype(dtype))


def test_max_with_empty_chunks():
    assert rl.run("ring", [np.array([-3.0]), np.array([-1.0]), np.array([-2.0])], op="max").outputs[1].tolist() == [-1]


def test_the_mean_of_small_integers_does_not_wrap():
    assert rl.run("ring", [np.array([100, -100], np.int8)] * 2, op="mean").outputs[0].tolist() == [100, -100]


def test_half_precision_is_summed_and_sent_in_single():
    run = rl.run("ring", [np.full(8, 30000, np.float16)] * 4, op="mean")
    assert run.outputs[0].tolist() == [30000] * 8
    assert sum(run.sent) == 24 * 2 * 4
    with pytest.warns(Overflow, match="accumulate='float32'"), pytest.warns(LowPrecision):
        naive = rl.run("ring", [np.full(8, 30000, np.float16)] * 4, op="mean", accumulate="float16", timeout=5)
    assert np.isinf(naive.outputs[0]).all()


def test_a_narrow_wire_counts_its_real_bytes():
    run = rl.run("ring", wire_dtype="float16")
    assert sum(run.sent) == 24 * 2 * 2
    assert run.outputs[0].tolist() == [1111] * 8


def test_counters_and_words_of_the_ring_and_the_pass_around():
    ring, around = rl.run(rl.ring_allreduce), rl.run(rl.pass_around_allreduce)
    assert repr(ring) == "ring_allreduce, 4 ranks over pipe: 24 messages, 384 bytes, every rank holds the sum"
    assert repr(around) == "pass_around_allreduce, 4 ranks over pipe: 12 messages, 768 bytes, every rank holds the sum"
    assert ring.sent == ring.received == (96,) * 4
    assert (ring.rounds, around.rounds) == (6, 3)
    assert ring.seconds > 0


def test_unequal_chunks_are_counted_by_rank():
    run = rl.run("ring", distinct(4, (10,)))
    assert [b // 8 for b in run.sent] == [15, 16, 15, 14]
    assert [b // 8 for b in run.received] == [14, 15, 16, 15]


def test_mixed_numbering_agrees_and_is_wrong():
    run = rl.run(rl.bugs.mixed_numbering)
    assert run.outputs[0].tolist() == [1, 1, 10, 10, 100, 100, 1000, 1000]
    assert repr(run).endswith("24 messages, 384 bytes, ranks agree, 0 of 16 chunks complete")
    assert isinstance(run.verdict, WrongResult)
    assert run.verdict.lines[0] == "rank 0, element 0: 1.0, the sum is 1111.0"


def test_a_ring_run_twice_counts_every_gradient_four_times():
    def twice(chunks, rank, send, recv):
        return rl.ring_allreduce(rl.ring_allreduce(chunks, rank, send, recv), rank, send, recv)

    run = rl.run(twice)
    assert run.outputs[3].tolist() == [4444] * 8
    assert repr(run).endswith("every gradient counted 4 times")


def test_rebinding_list_slots_leaves_the_buffer_half_done():
    def as_printed(chunks, rank, send, recv):
        rl.ring_allreduce(list(chunks), rank, send, recv)
        return chunks

    run = rl.run(as_printed)
    assert run.outputs[0].tolist() == [1, 1, 1111, 1111, 1101, 1101, 1001, 1001]
    assert repr(run).endswith("ranks differ, 4 of 16 chunks complete")


def test_functions_carry_their_globals_and_may_recurse_into_each_other():
    namespace = {"rl": rl, "np": np, "factor": 2.0, "__name__": "__main__"}
    exec(
        "def even(n): return True if n == 0 else odd(n - 1)\n"
        "def odd(n): return False if n == 0 else even(n - 1)\n"
        "def f(chunks, rank, send, recv):\n"
        "    chunks[0] = chunks[0] * (factor if even(4) else np.nan)\n"
        "    return rl.ring_allreduce(chunks, rank, send, recv)\n",
        namespace,
    )
    assert rl.run(namespace["f"]).outputs[0].tolist() == [2222] * 2 + [1111] * 6


def test_lambdas_and_callables_run_on_the_ranks():
    class Ring:
        def __call__(self, chunks, rank, send, recv):
            return rl.ring_allreduce(chunks, rank, send, recv)

    assert rl.run(lambda *a: rl.ring_allreduce(*a)).outputs[0].tolist() == [1111] * 8
    assert repr(rl.run(Ring())).startswith("Ring, 4 ranks")


def test_code_that_looks_at_the_data_says_that_its_terms_are_unknown():
    def skips_zeros(chunks, rank, send, recv):
        if chunks[0].sum() > 1:  # true for the data, false for the probe's marks
            send(chunks[0], (rank + 1) % len(chunks))
            recv((rank - 1) % len(chunks))
        return rl.ring_allreduce(chunks, rank, send, recv)

    run = rl.run(skips_zeros, [np.full(8, 5.0)] * 4)
    assert run.trace.events[0].terms is None
    assert repr(run).endswith("every rank holds the sum (terms unknown: it made other calls than its probe)")


def test_a_list_of_arrays_is_a_result():
    def as_list(chunks, rank, send, recv):
        rl.ring_allreduce(chunks, rank, send, recv)
        return [chunks[i] * 1 for i in range(len(chunks))]

    assert rl.run(as_list).outputs[0].tolist() == [1111] * 8


@pytest.mark.parametrize(("value", "word"), [(None, "None"), (3, "int"), ("x", "str")])
def test_returning_no_array_is_a_wrong_result(value, word):
    with pytest.raises(WrongResult, match=f"rank 0 returned {word}, not its chunks"):
        rl.run(lambda chunks, rank, send, recv: value)


def test_messages_left_unread_do_not_reach_the_next_call():
    def ring_with_leftovers(chunks, rank, send, recv):
        rl.ring_allreduce(chunks, rank, send, recv)
        send(np.full(100_000, -1.0), (rank + 1) % len(chunks))
        return chunks

    assert rl.run(ring_with_leftovers).outputs[0].tolist() == [1111] * 8
    assert rl.run("ring").outputs[0].tolist() == [1111] * 8


@pytest.mark.slow
@pytest.mark.parametrize("megabytes", [1, 64])
def test_large_chunks_cross_each_other(megabytes):
    n = 2 * megabytes * 2**20 // 8
    inputs = [np.arange(n, dtype=float) + rank for rank in range(2)]
    run = rl.run("ring", inputs)
    np.testing.assert_array_equal(run.outputs[0], inputs[0] + inputs[1])
    assert sum(run.sent) == 4 * megabytes * 2**20


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"algorithm": "rong"}, "algorithm 'rong' is not known"),
        ({"algorithm": 3}, "algorithm is a int, not a function"),
        ({"ranks": 0}, "ranks=0 is out of range"),
        ({"ranks": 65}, "ranks=65 is out of range"),
        ({"ranks": 2.5}, "ranks=2.5 is no whole number"),
        ({"ranks": True}, "ranks=True is no whole number"),
        ({"size": -1}, "size=-1 is no number of elements"),
        ({"op": "product"}, "op='product' is no operation"),
        ({"wire": "carrier pigeon"}, "wire='carrier pigeon' is not known"),
        ({"timeout": 0}, "timeout=0 is no time"),
        ({"timeout": float("nan")}, "timeout=nan is no time"),
        ({"inputs": []}, "ranks=0 is out of range"),
        ({"inputs": "abcd"}, "inputs is a str"),
        ({"inputs": [None, None]}, "rank 0's input has dtype object"),
        ({"inputs": [np.ones(2), np.array(["a", "b"])]}, "rank 1's input has dtype <U1"),
        ({"inputs": [np.array([True])] * 2}, "rank 0's input has dtype bool, which cannot be reduced"),
        ({"inputs": [np.array(["2026-01-01"], "M8[D]")] * 2}, "dtype datetime64"),
        ({"inputs": [np.zeros(2, [("a", "f4")])] * 2}, "which cannot be reduced"),
        ({"inputs": [np.ma.masked_array([1.0], [True])] * 2}, "masked array, whose mask would be lost"),
        ({"inputs": [[[1.0], [1.0, 2.0]]] * 2}, "no rectangular array"),
    ],
)
def test_bad_input_is_named_before_anything_moves(arguments, says):
    with pytest.raises(BadInput) as caught:
        rl.run(**{"algorithm": "ring", **arguments})
    assert says in str(caught.value)
    assert len(caught.value.lines) > 1, "it must say what to do"


@pytest.mark.parametrize(
    ("inputs", "says"),
    [
        ([np.ones(4), np.ones(3)], r"rank 0 came with shape \(4,\), rank 1 with \(3,\)"),
        ([np.ones((1, 2)), np.ones((2, 1))], r"shape \(1, 2\), rank 1 with \(2, 1\)"),
        ([np.ones(2, "i8"), np.ones(2, "i8"), np.ones(2, "u1")], "rank 0 came with dtype int64, rank 2 with uint8"),
    ],
)
def test_different_shapes_or_dtypes_are_a_mismatch(inputs, says):
    with pytest.raises(Mismatch, match=says):
        rl.run("ring", inputs)


def test_a_function_that_cannot_travel_names_the_variable():
    import threading

    lock = threading.Lock()

    def f(chunks, rank, send, recv):
        with lock:
            return chunks

    with pytest.raises(BadInput, match="uses 'lock', a lock, which cannot travel"):
        rl.run(f)


def test_a_function_that_carries_too_much_names_the_variable():
    table = np.zeros(3 * 2**20)

    def f(chunks, rank, send, recv):
        return chunks if table[0] == 0 else None

    with pytest.raises(BadInput, match="carries 24 MiB to every rank, 'table' alone 24 MiB"):
        rl.run(f)


def test_importing_ringlab_loads_numpy_and_nothing_heavy():
    import subprocess
    import sys

    code = (
        "import sys, ringlab; heavy = {'plotly', 'ipywidgets', 'IPython', 'multiprocess', 'greenlet', 'cloudpickle', "
        "'mpi4py', 'pandas'} & set(sys.modules); print(sorted(heavy))"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert out == "[]\n"
