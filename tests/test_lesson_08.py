"""Lesson 08: same sum, different bits. Its numbers, and its two exercises with solutions and wrong answers."""

import re

import numpy as np
import pytest

import ringlab as rl
from ringlab import numerics

HUGE = [np.full(3, x, np.float32) for x in (1e8, -1e8, 1)]


def from_one(chunks, rank, send, recv):
    rl.reduce_scatter(chunks, rank, send, recv, shift=1)
    return rl.all_gather(chunks, rank, send, recv, shift=1)


# ---- what the lesson says --------------------------------------------------------------------------------------------


def test_a_one_added_to_a_hundred_million_is_lost():
    assert float(numerics.ulp(np.float32(1e8))) == 8
    assert np.float32(1e8) + np.float32(1) == np.float32(1e8)


def test_constant_in_not_constant_out():
    run = rl.run("ring", HUGE)
    assert [run.trace.order(c) for c in range(3)] == ["(0 + 1) + 2", "(1 + 2) + 0", "(2 + 0) + 1"]
    assert run.outputs[0].tolist() == [1, 0, 0]
    assert rl.run(from_one, HUGE).outputs[0].tolist() == [0, 0, 1]
    assert numerics.count_replicas(run.outputs) == 1
    exact = numerics.exact_sum([x[1] for x in HUGE])
    assert exact == 1
    assert f"{numerics.worst_bound(3, 'fp32') * (2e8 + 1):.1f}" == "23.8"


def test_ring_and_doubling_lose_ones_in_different_places():
    four = [np.full(4, x, np.float32) for x in (2**24, 1, 1, -(2**24))]
    assert rl.run("ring", four).outputs[0].tolist() == [0, 2, 2, 2]
    assert rl.run("doubling", four).outputs[0].tolist() == [1, 1, 1, 1]


def test_buckets_move_the_one():
    six = [np.full(6, v, np.float32) for v in (1e8, -1e8, 1)]
    halves = [rl.run("ring", [v[part] for v in six]).outputs[0] for part in (slice(0, 3), slice(3, 6))]
    assert rl.run("ring", six).outputs[0].tolist() == [1, 1, 0, 0, 0, 0]
    assert np.concatenate(halves).tolist() == [1, 0, 0, 1, 0, 0]


def test_two_ranks_never_differ():
    inputs = [x.astype(np.float32) for x in numerics.normals(9, (2, 5_000))]
    results = {rl.run(name, inputs, wire="virtual").outputs[1].tobytes() for name in rl.ALGORITHMS if name != "switch"}
    results.add(rl.run(from_one, inputs, wire="virtual").outputs[0].tobytes())
    assert len(results) == 1


def test_the_trees_of_three_algorithms():
    orders = {name: rl.run(name, ranks=8, wire="virtual").trace.order(0) for name in ("ring", "tree", "halving")}
    assert orders == {
        "ring": "((((((0 + 1) + 2) + 3) + 4) + 5) + 6) + 7",
        "tree": "((7 + 6) + (5 + 4)) + ((3 + 2) + (1 + 0))",
        "halving": "((7 + 3) + (5 + 1)) + ((6 + 2) + (4 + 0))",
    }


@pytest.mark.slow
def test_trainings_by_ring_and_doubling_drift_apart_and_pass_around_makes_four_models():
    ring, doubling, around = (
        rl.training.train(algorithm=name, epochs=6, progress=False) for name in ("ring", "doubling", "pass_around")
    )
    assert 0.1 < numerics.differing(ring.weights, doubling.weights) < 0.9
    np.testing.assert_allclose(ring.weights, doubling.weights, atol=1e-12)
    assert (ring.replicas, doubling.replicas, around.replicas) == (1, 1, 4)
    assert min(one.accuracy for one in (ring, doubling, around)) > 0.95


# ---- exercise: the order ---------------------------------------------------------------------------------------------

ORDERS = {
    "as the ring": (lambda chunk, p: [(chunk + k) % p for k in range(p)], None),
    "the first two swapped": (lambda chunk, p: [(chunk + k) % p for k in (1, 0, *range(2, p))], None),
    "a star": (lambda chunk, p: list(range(p)), "That is how a star adds"),
    "one late": (lambda chunk, p: [(chunk + 1 + k) % p for k in range(p)], "begins one rank late"),
    "one early": (lambda chunk, p: [(chunk - 1 + k) % p for k in range(p)], "begins one rank early"),
    "downwards": (lambda chunk, p: [(chunk - k) % p for k in range(p)], "travels to the next higher rank"),
    "backwards": (lambda chunk, p: [(chunk + k) % p for k in range(p)][::-1], "against the direction"),
    "not round the corner": (lambda chunk, p: [chunk + k for k in range(p)], "each of the 4 ranks belongs in it once"),
    "right for 4 only": (
        lambda chunk, p: [(chunk + k) % 4 for k in range(4)],
        r"order\(0, 2\) says \[0, 1, 2, 3\]; each of the 2",
    ),
    "a number": (lambda chunk, p: 3, "says 3; each of the 4 ranks"),
    "no ranks": (lambda chunk, p: [None] * p, "belongs in it once"),
    "a stub": (lambda chunk, p: [], r"not written yet: order\(2, 4\) gives \[\]"),
    "raises": (lambda chunk, p: [1 // 0], "raised ZeroDivisionError"),
    "too few arguments": (lambda chunk: [], "does not take that"),
}


@pytest.mark.parametrize("name", ORDERS)
def test_the_exercise_on_the_order(name):
    answer, said = ORDERS[name]
    outcome = rl.exercises.bits.check(answer)
    if said is None:
        assert repr(outcome) == "passed: the traces agree for every chunk, P = 2 to 8"
    assert outcome.passed == (said is None)
    if said is not None:
        assert re.search(said, repr(outcome)), outcome


# ---- exercise: find the drift ----------------------------------------------------------------------------------------


def ranks_where(differ):
    return lambda outputs: [rank for rank, output in enumerate(outputs) if differ(output, outputs[0])]


DRIFTS = {
    "bytes": (ranks_where(lambda a, b: a.tobytes() != b.tobytes()), None),
    "words": (ranks_where(lambda a, b: (a.view(np.uint32) != b.view(np.uint32)).any()), None),
    "nearly equal": (ranks_where(lambda a, b: not np.allclose(a, b, equal_nan=True)), "one last bit"),
    "the sums": (ranks_where(lambda a, b: sum(map(float, a)) != sum(map(float, b))), "two elements swapped"),
    "equal": (ranks_where(lambda a, b: not (a == b).all()), "NaN in the same place"),
    "equal or NaN": (ranks_where(lambda a, b: not np.array_equal(a, b, equal_nan=True)), "0 and -0"),
    "the neighbour": (
        lambda outputs: [r for r in range(1, len(outputs)) if outputs[r].tobytes() != outputs[r - 1].tobytes()],
        r"the pass-around .*\n?.*you say \[1, 2\], they differ on \[1\]",
    ),
    "yes or no": (lambda outputs: True, "you say True"),
    "a stub": (lambda outputs: None, "not written yet"),
}


@pytest.mark.parametrize("name", DRIFTS)
def test_the_exercise_on_drift(name):
    answer, said = DRIFTS[name]
    outcome = rl.exercises.replicas.check(answer)
    assert outcome.passed == (said is None), outcome
    if said is None:
        assert repr(outcome) == "passed: 7 sets of replicas, every drift found and no false one"
    else:
        assert re.search(said, repr(outcome)), outcome
