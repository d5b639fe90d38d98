"""Generated inputs: any shape, layout, dtype and number of ranks, between real processes."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import ringlab as rl

INTEGERS = ["i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", ">i4"]
FLOATS = ["f2", "f4", "f8", ">f8", "c8", "c16"]
LAYOUTS = {
    "C": lambda x: x,
    "Fortran": lambda x: np.asfortranarray(x) if x.ndim else x,
    "strided": lambda x: np.repeat(x, 2, axis=-1)[..., ::2] if x.ndim else x,
    "reversed": lambda x: x[..., ::-1] if x.ndim else x,
    "read-only": lambda x: np.broadcast_to(x, x.shape),
}
# 0 to 4 dimensions, and flat arrays from nothing to what no longer fits into a page
shapes = st.lists(st.integers(0, 9), max_size=4).map(tuple) | st.integers(0, 4097).map(lambda n: (n,))
# (wires, most ranks, examples): simulated ranks cost little, so they are tried most
TIERS = [
    pytest.param(("virtual",), 16, 40, id="virtual"),
    pytest.param(("pipe", "shm", "pipe-blocking"), 8, 25, id="real", marks=pytest.mark.slow),
    pytest.param(("virtual", "pipe", "shm", "pipe-blocking"), 16, 1500, id="all", marks=pytest.mark.night),
]


def try_all(property, wires, most, examples, **strategies):
    """Call `property` with generated inputs."""
    generated = given(
        seed=st.integers(0, 2**32 - 1),
        ranks=st.integers(1, most),
        shape=shapes,
        layout=st.sampled_from(sorted(LAYOUTS)),
        wire=st.sampled_from(wires),
        **strategies,
    )
    settings(max_examples=examples, suppress_health_check=list(HealthCheck))(generated(property))()


def made(seed, ranks, shape, dtype, layout):
    """One array per rank; every rank and element differs, within the dtype's range."""
    rng = np.random.default_rng(seed)
    kind = np.dtype(dtype).kind
    arrays = []
    for _ in range(ranks):
        if kind in "iu":
            info = np.iinfo(dtype)
            x = rng.integers(info.min, info.max, shape, np.dtype(dtype).newbyteorder("="), endpoint=True)
        else:
            x = rng.normal(size=shape) * 10.0 ** rng.integers(-2, 3, shape)
        arrays.append(LAYOUTS[layout](np.asarray(x).astype(dtype)))
    return arrays


def reduced(inputs, op):
    """The exact result for integers, wrapping as the dtype does."""
    total = inputs[0].astype(inputs[0].dtype.newbyteorder("="))
    for x in inputs[1:]:
        total = {"sum": np.add, "max": np.maximum, "min": np.minimum}[op](total, x)
    return total


def unchanged(inputs, before):
    """Whether the inputs are what they were, bit by bit."""
    return all(x.tobytes() == old.tobytes() for x, old in zip(inputs, before, strict=True))


def exact(seed, ranks, shape, dtype, layout, op, algorithm, wire):
    inputs = made(seed, ranks, shape, dtype, layout)
    before = [x.copy() for x in inputs]
    run = rl.run(algorithm, inputs, op=op, wire=wire)
    for out in run.outputs:
        assert out.shape == shape
        if op == "mean":  # in int64, which the sums of 8 and 16 bits fit into, then one division
            assert out.dtype == np.float64
            np.testing.assert_array_equal(out, sum(x.astype("i8") for x in before) / ranks)
        else:
            assert out.dtype == inputs[0].dtype
            np.testing.assert_array_equal(out, reduced(before, op))
    assert unchanged(inputs, before)
    assert run.verdict is None


def within_the_bound(seed, ranks, shape, dtype, layout, op, algorithm, wire):
    inputs = made(seed, ranks, shape, dtype, layout)
    before = [x.copy() for x in inputs]
    run = rl.run(algorithm, inputs, op=op, wire=wire)
    wide = np.stack([x.astype(np.result_type(dtype, np.longdouble)) for x in inputs])
    scale = ranks if op == "mean" else 1
    own, summed = (np.finfo(np.dtype(kind)).eps / 2 for kind in (dtype, "f4" if dtype == "f2" else dtype))
    gamma = (ranks - 1) * summed / (1 - (ranks - 1) * summed)
    total = np.abs(wide).sum(0) / scale
    bound = gamma * total  # of P - 1 additions; complex ones are two real ones
    bound = (
        bound + total * (summed * (op == "mean") * 1.01 + own * (dtype == "f2") * 1.01) + 1e-7 * (dtype == "f2")
    )  # below 6e-5 steps of float16 are 6e-8
    error = np.abs(run.outputs[0].astype(wide.dtype) - wide.sum(0) / scale)
    assert (error <= bound).all()
    for out in run.outputs[1:]:
        assert out.tobytes() == run.outputs[0].tobytes()
    again = rl.run(algorithm, inputs, op=op, wire=wire)
    assert again.outputs[0].tobytes() == run.outputs[0].tobytes()
    assert unchanged(inputs, before)


def picked(seed, ranks, shape, dtype, layout, op, algorithm, wire):
    inputs = made(seed, ranks, shape, dtype, layout)
    run = rl.run(algorithm, inputs, op=op, wire=wire)
    for out in run.outputs:
        np.testing.assert_array_equal(out, (np.maximum if op == "max" else np.minimum).reduce(inputs))


SAME_ON_ALL = sorted(set(rl.ALGORITHMS) - {"pass_around"})  # which adds in another order on every rank


@pytest.mark.filterwarnings("ignore::ringlab.remarks.WrappedAround")
@pytest.mark.parametrize(("wires", "most", "examples"), TIERS)
def test_integers_are_exact(wires, most, examples):
    of = {"dtype": st.sampled_from(INTEGERS), "op": st.sampled_from(["sum", "max", "min"])}
    try_all(exact, wires, most, examples, **of, algorithm=st.sampled_from(sorted(rl.ALGORITHMS)))
    of = {"dtype": st.sampled_from(["i1", "u1", "i2", "u2", ">i2", "i4"]), "op": st.just("mean")}
    try_all(exact, wires, most, examples // 4, **of, algorithm=st.just("ring"))


@pytest.mark.parametrize(("wires", "most", "examples"), TIERS)
def test_floats_stay_within_the_bound_and_replicas_agree_bit_by_bit(wires, most, examples):
    of = {"dtype": st.sampled_from(FLOATS), "op": st.sampled_from(["sum", "mean"])}
    try_all(within_the_bound, wires, most, examples, **of, algorithm=st.sampled_from(SAME_ON_ALL))
    of = {"dtype": st.sampled_from(["f2", "f4", "f8", ">f8"]), "op": st.sampled_from(["max", "min"])}
    try_all(picked, wires, most, examples // 4, **of, algorithm=st.sampled_from(sorted(rl.ALGORITHMS)))
