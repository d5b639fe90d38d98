"""Lesson 09: low precision. Its numbers, and its exercise with solutions and wrong answers."""

import re

import numpy as np
import pytest

import ringlab as rl
from ringlab import numerics
from ringlab.remarks import LowPrecision

# ---- what the lesson says --------------------------------------------------------------------------------------------


def test_five_thousand_ones_in_float16():
    total = np.float16(0)
    for _ in range(5000):
        total += np.float16(1)
    assert total == 2048
    stops = {name: float(numerics.in_order(np.ones(5000), name)) for name in ("fp16", "bf16", "e4m3", "e5m2")}
    assert stops == {"fp16": 2048, "bf16": 256, "e4m3": 16, "e5m2": 8}


def test_a_thousand_and_24_ones_by_ring_and_by_tree():
    """In order is how a ring adds, by halves how a tree does: see the tests of orders."""
    ones = np.ones(1024)
    assert float(numerics.in_order(ones, "bf16")) == 256
    assert float(numerics.pairwise(ones, "bf16")) == 1024


def test_300_virtual_ranks_in_bfloat16():
    with pytest.warns(LowPrecision, match="stop growing at 256"):
        run = rl.run("ring", [np.ones(4)] * 300, wire="virtual", accumulate="bf16")
    assert run.outputs[7].tolist() == [256] * 4
    assert repr(run) == (
        "ring_allreduce, 300 ranks over virtual: 179400 messages, 4784 bytes, every rank holds the sum, "
        "up to 15 % off in bfloat16"
    )


def test_float32_on_the_wire_is_twice_float16():
    short = [np.ones(4, np.float16)] * 4
    with pytest.warns(LowPrecision):
        assert [sum(rl.run("ring", short, **o).sent) for o in ({}, {"accumulate": "fp16"})] == [96, 48]


def test_float32_drifts_ten_thousand_times_less():
    drift = numerics.saved_drift()
    fp16, fp32 = (drift.curve("ring", name)[-1] for name in ("fp16", "fp32"))
    assert fp16.p == fp32.p == 1024
    assert 5000 < fp16.rms / fp32.rms < 20000
    figure = rl.drift_curves(drift)
    curves = {trace["name"]: trace["y"] for trace in figure.data if trace["mode"] == "lines+markers"}
    assert all(curves["ring, float16"][i] < curves["ring, float16"][i + 1] for i in range(9)), "rings climb"
    assert max(curves["tree, float16"][2:]) < 1.4 * min(curves["tree, float16"][2:]), "trees are flat"


@pytest.mark.parametrize(
    ("divide", "big", "small"), [("after", "inf", "1.013e-06"), ("before", "1988", "0"), ("both", "1988", "9.537e-07")]
)
def test_three_divisions(divide, big, small):
    said = [f"{numerics.mean_of(x, 'fp16', divide):.4g}" for x in ([np.float16(2000)] * 64, [np.float16(1e-6)] * 64)]
    assert said == [big, small]


@pytest.mark.slow
def test_all_formats_learn_and_float16_loses_tiny_gradients():
    def accuracy(name, scale=1.0):
        ring = numerics.in_precision(name, scale=scale)
        trained = rl.training.train(algorithm=ring, epochs=6, progress=False)
        assert trained.replicas == 1
        return trained.accuracy

    assert min(accuracy(name) for name in ("fp32", "bf16", "fp16", "e5m2")) > 0.95
    assert accuracy("bf16", 2.0**-27) > 0.95
    assert accuracy("fp16", 2.0**-27) < 0.7


def test_a_thousand_hundredths():
    hundredths = [0.01] * 1000
    sums = {name: f"{numerics.in_order(hundredths, name):.6f}" for name in ("fp32", "fp16", "bf16")}
    assert sums == {"fp32": "10.000134", "fp16": "9.953125", "bf16": "4.000000"}
    assert f"{numerics.in_order(np.float16(hundredths), 'fp32'):.6f}" == "10.002136"
    assert float(numerics.kahan(hundredths, "bf16")) == 10


def test_unscaling_in_float16_underflows_again():
    short = numerics.scaled([1e-8], 1024, "fp16")
    assert [f"{numerics.unscaled(short, 1024, name)[0]:.2g}" for name in ("fp16", "fp32")] == ["0", "1e-08"]


# ---- the exercise ----------------------------------------------------------------------------------------------------


def added(arrays, **options):
    return rl.run("ring", arrays, wire="virtual", **options).outputs[0]


def by_the_root(grads):
    root = np.sqrt(len(grads))
    return added([np.float32(grad) / root for grad in grads], wire_dtype="float16") / root


def half_before(grads):
    return added([np.float32(grad) / 2 for grad in grads], wire_dtype="float16") * 2 / len(grads)


def all_in_float16(grads):
    root = np.float16(np.sqrt(len(grads)))
    return added([grad / root for grad in grads], accumulate="float16") / root


def by_a_tree_over_processes(grads):
    root = np.sqrt(len(grads))
    return rl.run("tree", [np.float32(grad) / root for grad in grads], wire_dtype="fp16").outputs[3] / root


def changes_its_input(grads):
    mean = by_the_root(grads)
    grads[0][0] = 0
    return mean


ANSWERS = {
    "by the root": (by_the_root, None),
    "half before": (half_before, None),
    "all in float16": (all_in_float16, None),
    "by a tree": (by_a_tree_over_processes, None),
    "after": (
        lambda grads: added(grads, wire_dtype="float16") / len(grads),
        "the mean of 64 times 2000 came out as inf\nThe sum is more than float16 can carry",
    ),
    "before": (
        lambda grads: added([grad / len(grads) for grad in grads], wire_dtype="float16"),
        "the mean of 64 times 1e-06 came out as 0\nA part of it is less",
    ),
    "float32 on the wire": (lambda grads: added(grads, op="mean"), "travelled in float32; float16 is asked for"),
    "bfloat16 on the wire": (
        lambda grads: added([np.float32(g) / 2 for g in grads], wire_dtype="bf16") * 2 / len(grads),
        "the mean of 64 times 2000 came out as 2040\n",
    ),
    "no ranks": (lambda grads: np.mean(np.float32(grads), axis=0), "no all-reduce was seen"),
    "the sum": (
        lambda grads: added([np.float32(grad) / 8 for grad in grads], wire_dtype="fp16"),
        "the mean of 64 times 2000 came out as .*\nBefore and after, it must have been divided by 64 in all",
    ),
    "right for 64 only": (
        lambda grads: added([np.float32(grad) / 8 for grad in grads], wire_dtype="fp16") / 8,
        "16 ranks: the mean of 16 times 2000 came out as 500",
    ),
    "a number": (lambda grads: 5.0, "an array of 10 numbers is due"),
    "text": (lambda grads: "5", "an array of 10 numbers is due"),
    "changes its input": (changes_its_input, "changed the gradients it was given"),
    "a stub": (lambda grads: None, "^not written yet: safe_mean"),
    "raises": (lambda grads: 1 // 0, "rank 0 raised ZeroDivisionError"),
    "no argument": (lambda: None, "does not take that"),
}


@pytest.mark.parametrize("name", ANSWERS)
def test_the_exercise(name):
    answer, said = ANSWERS[name]
    outcome = rl.exercises.precision.check(answer)
    assert outcome.passed == (said is None), outcome
    if said is None:
        assert repr(outcome) == "passed: 64 times 2000 stays finite, a millionth is still there, float16 on the wire"
    else:
        assert re.search(said, repr(outcome)), outcome


def test_the_watching_ends_with_the_exercise():
    before = rl.run
    rl.exercises.precision.check(by_the_root)
    assert rl.run is before
    assert sum(rl.run("ring").sent) == 384
