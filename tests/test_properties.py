"""Generated inputs: any shape, layout, dtype and number of ranks, between real processes."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import ringlab as rl

INTEGERS = ["i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", ">i4"]
FLOATS = ["f2", "f4", "f8", ">f8", "c8"]
LAYOUTS = {
    "C": lambda x: x,
    "Fortran": lambda x: np.asfortranarray(x) if x.ndim else x,
    "strided": lambda x: np.repeat(x, 2, axis=-1)[..., ::2] if x.ndim else x,
    "reversed": lambda x: x[..., ::-1] if x.ndim else x,
    "read-only": lambda x: np.broadcast_to(x, x.shape),
}
shapes = st.lists(st.integers(0, 9), max_size=4).map(tuple)


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


@pytest.mark.filterwarnings("ignore::ringlab.remarks.WrappedAround")
@settings(max_examples=60, suppress_health_check=list(HealthCheck))
@given(
    seed=st.integers(0, 2**32 - 1),
    ranks=st.integers(1, 8),
    shape=shapes,
    dtype=st.sampled_from(INTEGERS),
    layout=st.sampled_from(sorted(LAYOUTS)),
    op=st.sampled_from(["sum", "max", "min"]),
    algorithm=st.sampled_from(sorted(rl.ALGORITHMS)),
    wire=st.sampled_from(["pipe", "shm", "virtual"]),
)
def test_integers_are_exact(seed, ranks, shape, dtype, layout, op, algorithm, wire):
    inputs = made(seed, ranks, shape, dtype, layout)
    before = [x.copy() for x in inputs]
    run = rl.run(algorithm, inputs, op=op, wire=wire)
    for out in run.outputs:
        assert out.dtype == inputs[0].dtype
        assert out.shape == shape
        np.testing.assert_array_equal(out, reduced(before, op))
    for x, old in zip(inputs, before, strict=True):
        np.testing.assert_array_equal(x, old)
    assert run.verdict is None


@settings(max_examples=60, suppress_health_check=list(HealthCheck))
@given(
    seed=st.integers(0, 2**32 - 1),
    ranks=st.integers(1, 8),
    shape=shapes,
    dtype=st.sampled_from(FLOATS),
    layout=st.sampled_from(sorted(LAYOUTS)),
    op=st.sampled_from(["sum", "mean"]),
    wire=st.sampled_from(["pipe", "shm", "virtual"]),
)
def test_floats_stay_within_the_bound_and_replicas_agree_bit_by_bit(seed, ranks, shape, dtype, layout, op, wire):
    inputs = made(seed, ranks, shape, dtype, layout)
    run = rl.run("ring", inputs, op=op, wire=wire)
    wide = np.stack([x.astype(np.result_type(dtype, np.longdouble)) for x in inputs])
    scale = ranks if op == "mean" else 1
    unit = np.finfo(np.dtype(dtype)).eps / 2
    # P - 1 additions, one division, and for float16 the rounding of the result
    bound = (ranks + 1) * unit * np.abs(wide).sum(0) / scale
    with np.errstate(over="ignore"):
        error = np.abs(run.outputs[0].astype(wide.dtype) - wide.sum(0) / scale)
    assert (error <= bound * 1.01).all()
    for out in run.outputs[1:]:
        assert out.tobytes() == run.outputs[0].tobytes()
    again = rl.run("ring", inputs, op=op, wire=wire)
    assert again.outputs[0].tobytes() == run.outputs[0].tobytes()
