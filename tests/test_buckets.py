"""Bucket plans are those of PyTorch's DDP, and the exposed time is what an event-by-event account gives."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ringlab as rl
from ringlab import model
from ringlab.buckets import SHAPES, Bucket, best_count, exposed, plan, ring_seconds, timeline
from ringlab.verdicts import BadInput

MIB = 2**20


def count(shapes):
    return sum(math.prod(shape) for _, shape in shapes)


@pytest.mark.parametrize(
    ("name", "arrays", "numbers"),
    [
        ("digits", 6, 17_226),
        ("resnet18", 62, 11_689_512),
        ("resnet18-cifar", 62, 11_173_962),
        ("gpt2-small", 148, 124_439_808),
        ("gpt2-medium", 292, 354_823_168),
    ],
)
def test_real_networks_have_as_many_parameters_as_published(name, arrays, numbers):
    shapes = SHAPES[name]
    assert (len(shapes), count(shapes)) == (arrays, numbers)
    assert len({name for name, _ in shapes}) == arrays


def test_the_digits_network_is_the_one_that_is_trained():
    assert [shape for _, shape in SHAPES["digits"]] == [param.shape for param in model.start()]


def test_gpt2_small_has_13_buckets_and_the_last_is_the_token_embedding():
    buckets = plan("gpt2-small")
    assert [round(bucket.nbytes / MIB, 1) for bucket in buckets] == [9.0, *[27.0] * 11, 168.3]
    assert buckets[-1].names[-1] == "wte.weight"
    assert repr(buckets) == "13 buckets, 474.7 MiB: the first 9.0 MiB, the last 168.3 MiB"
    assert -(-buckets.nbytes // (25 * MIB)) == 19  # what dividing by 25 MiB would say


def test_gpt2_medium_has_37_buckets():
    buckets = plan("gpt2-medium")
    assert (len(buckets), round(buckets.nbytes / MIB, 1), round(buckets[-1].nbytes / MIB, 1)) == (37, 1353.5, 216.3)
    assert -(-buckets.nbytes // (25 * MIB)) == 55


def test_resnet18_has_three_buckets():
    assert [round(bucket.nbytes / MIB, 1) for bucket in plan("resnet18")] == [2.0, 27.5, 15.1]


def test_a_table_before_anything_runs():
    assert plan([("a", (4, 25)), ("b", (20,)), ("c", 30)], cap=200, first=100).table() == (
        "bucket  arrays      MiB   from .. to\n"
        "     0       1      0.0   c\n"
        "     1       2      0.0   b .. a   <- full only when backward is over"
    )


def test_one_bucket_per_array_and_one_for_all():
    assert [bucket.names for bucket in plan("digits", cap=1)] == [(name,) for name, _ in reversed(SHAPES["digits"])]
    assert len(plan("gpt2-small", cap=1)) == 148
    assert len(plan("gpt2-small", cap=math.inf, first=math.inf)) == 1


def test_shapes_are_taken_in_every_form():
    pairs = [("a", (4, 25)), ("b", (20,)), ("c", ())]
    arrays = {name: np.zeros(shape) for name, shape in pairs}
    same = [plan(pairs), plan(arrays), plan(dict(pairs))]
    assert same[0] == same[1] == same[2] == [Bucket(("c", "b", "a"), 121, 484)]
    assert plan([(4, 25), 20, np.int64(1)]) == [Bucket(("array 2", "array 1", "array 0"), 121, 484)]
    assert plan(pairs, itemsize=2).nbytes == 242


@given(
    sizes=st.lists(st.integers(0, 300), min_size=1, max_size=40),
    cap=st.integers(1, 2000),
    first=st.integers(1, 2000),
)
def test_buckets_take_all_arrays_backwards_and_close_at_the_first_that_fills_them(sizes, cap, first):
    buckets = plan(sizes, cap=cap, first=first)
    names = [name for bucket in buckets for name in bucket.names]
    assert names == [f"array {number}" for number in reversed(range(len(sizes)))]
    assert buckets.nbytes == 4 * sum(sizes)
    left = list(reversed(sizes))
    for number, bucket in enumerate(buckets):
        taken, left = left[: len(bucket.names)], left[len(bucket.names) :]
        limit = min(first, cap) if number == 0 else cap
        assert bucket.elements == sum(taken)
        assert bucket.nbytes == 4 * bucket.elements
        assert 4 * sum(taken[:-1]) < limit
        assert bucket.nbytes >= limit or number == len(buckets) - 1


@pytest.mark.parametrize("cap", [0, -1, math.nan, "25 MiB", None, True])
@pytest.mark.parametrize("limit", ["cap", "first"])
def test_limits_that_are_none_are_refused(limit, cap):
    with pytest.raises(BadInput, match=f"{limit}="):
        plan("digits", **{limit: cap})


@pytest.mark.parametrize("shapes", [[(3, -1)], [("a", (1.5,))], [("a", None)], ["ab"], [(True, 2)], [[1, [2]]]])
def test_shapes_that_are_none_are_refused(shapes):
    with pytest.raises(BadInput, match="has shape"):
        plan(shapes)


def test_a_plan_needs_arrays_and_known_names():
    with pytest.raises(BadInput, match="at least one array"):
        plan([])
    with pytest.raises(BadInput, match="no shapes for 'gpt3'"):
        plan("gpt3")
    with pytest.raises(BadInput, match="itemsize=0"):
        plan("digits", itemsize=0)


# -- exposed time ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("n", "milliseconds"), [(1, 35.014), (4, 8.764), (10, 3.514), (40, 0.889), (100, 0.364)])
def test_exposed_time_of_a_gigabyte(n, milliseconds):
    assert exposed(n, 1e9, 0.1, 8, 1e-6, 1 / 50e9) * 1e3 == pytest.approx(milliseconds, abs=5e-4)


def test_on_a_slow_link_there_is_a_best_number_of_buckets():
    def total(n):
        return 0.1 + exposed(n, 1e9, 0.1, 8, 50e-6, 1 / 12.5e9)

    assert best_count(1e9, 0.1, 8, 50e-6, 1 / 12.5e9) == 12
    assert total(1) * 1e3 == pytest.approx(240.7)
    assert total(12) * 1e3 == pytest.approx(156.7, abs=0.05)
    assert total(400) * 1e3 == pytest.approx(420.2, abs=0.05)
    bound = ring_seconds(1e9, 8, 0, 1 / 12.5e9) + 2 * math.sqrt(0.1 * 14 * 50e-6)
    assert bound == pytest.approx(total(12), rel=1e-4)
    assert bound <= total(12)


numbers = st.fractions(min_value=Fraction(1, 1000), max_value=1000, max_denominator=1000)


@given(
    n=st.integers(1, 60), nbytes=st.integers(1, 10**6), backward=numbers, alpha=numbers, beta=numbers,
    ranks=st.integers(1, 9),
)  # fmt: skip
def test_the_closed_form_is_the_timeline_of_equal_buckets(n, nbytes, backward, ranks, alpha, beta):
    sent = timeline([Fraction(nbytes, n)] * n, backward, ranks, alpha, beta)
    assert sent.exposed == exposed(n, Fraction(nbytes), backward, ranks, alpha, beta)


@given(sizes=st.lists(st.integers(1, 1000), min_size=1, max_size=30), backward=numbers, alpha=numbers, beta=numbers)
def test_the_last_bucket_can_never_be_hidden(sizes, backward, alpha, beta):
    sent = timeline(sizes, backward, 4, alpha, beta)
    assert sent.exposed >= ring_seconds(sizes[-1], 4, alpha, beta) > 0
    assert sent.buckets[-1].ready == backward
    for before, after in zip(sent.buckets, sent.buckets[1:]):
        assert after.start == max(after.ready, before.end)


@given(
    nbytes=st.floats(1e3, 1e9), backward=st.floats(1e-4, 1), ranks=st.integers(2, 64), alpha=st.floats(1e-5, 1e-2),
    bandwidth=st.floats(1e8, 1e11),
)  # fmt: skip
def test_no_other_number_of_buckets_is_better(nbytes, backward, ranks, alpha, bandwidth):
    best = best_count(nbytes, backward, ranks, alpha, 1 / bandwidth)
    times = {n: exposed(n, nbytes, backward, ranks, alpha, 1 / bandwidth) for n in {best, *range(1, 400)}}
    assert times[best] <= min(times.values()) + 1e-12 * backward


def test_gpt2_small_exposes_its_embedding():
    sent = timeline(plan("gpt2-small"), 0.1, 8, 1e-6, 1 / 50e9)
    last = plan("gpt2-small")[-1].nbytes
    assert sent.exposed == pytest.approx(ring_seconds(last, 8, 1e-6, 1 / 50e9))
    assert sent.table().split("\n")[-1] == "exposed 6.190 ms after backward's 100.000 ms"


def test_one_bucket_takes_what_the_ring_takes_on_the_virtual_wire():
    alpha, beta = Fraction(1, 10**6), Fraction(1, 10**9)
    inputs = [np.zeros(800)] * 8
    run = rl.run(rl.ring_allreduce, inputs, ranks=8, wire="virtual", network=rl.Network(alpha, beta))
    assert run.seconds == ring_seconds(6400, 8, alpha, beta)


def test_numbers_that_have_no_best_are_refused():
    with pytest.raises(BadInput, match="costs nothing"):
        best_count(1e9, 0.1, 1, 1e-6, 1e-9)
    with pytest.raises(BadInput, match="costs nothing"):
        best_count(1e9, 0.1, 8, 0, 1e-9)
    with pytest.raises(BadInput, match="count=0"):
        exposed(0, 1e9, 0.1, 8, 1e-6, 1e-9)
    with pytest.raises(BadInput, match="needs buckets"):
        timeline([], 0.1, 8, 1e-6, 1e-9)
