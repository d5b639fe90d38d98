"""One rank that calls something else than the others is always found, and named with the one that found it."""

import random
import re

import numpy as np
import pytest

import ringlab as rl
from ringlab import verdicts

SHAPES = [(0,), (1,), (7,), (3, 2), (64,), (5000,)]
DTYPES = ["int64", "float64", "float32", "int8"]
OPS = ["sum", "mean", "max", "min"]
WAYS = ["shape", "dtype", "operation", "order", "count"]


def step(draw):
    """One collective: what, operation, shape, dtype."""
    what = draw.choice(["allreduce", "allreduce", "allreduce", "reduce_scatter", "barrier"])
    return {"what": what, "op": draw.choice(OPS), "shape": draw.choice(SHAPES), "dtype": draw.choice(DTYPES)}


def case(seed):
    """(ranks, the odd one, what the others call, what it calls, how that differs)."""
    draw = random.Random(seed)
    ranks, way = draw.randint(2, 5), WAYS[seed % len(WAYS)]
    common = [step(draw) for _ in range(draw.randint(1, 4))]
    k = draw.randrange(len(common))
    common[k]["what"] = "allreduce"
    own = [dict(call) for call in common]
    if way == "shape":
        own[k]["shape"] = draw.choice([shape for shape in SHAPES if shape != own[k]["shape"]])
    elif way == "dtype":
        own[k]["dtype"] = draw.choice([dtype for dtype in DTYPES if dtype != own[k]["dtype"]])
    elif way == "operation":
        own[k]["op"] = draw.choice([op for op in OPS if op != own[k]["op"]])
    elif way == "order":
        other = {**common[k], "op": draw.choice([op for op in OPS if op != common[k]["op"]])}
        common.insert(k + 1, other)
        own[k : k + 1] = [dict(other), own[k]]
    else:
        del own[k]
    return ranks, draw.randrange(ranks), common, own, way


def program(comm, odd, common, own):
    done = 0
    for call in own if comm.rank == odd else common:
        x = np.ones(call["shape"], call["dtype"])
        if call["what"] == "allreduce":
            comm.allreduce(x, op=call["op"])
        elif call["what"] == "reduce_scatter":
            comm.reduce_scatter(x)
        else:
            comm.barrier()
        done += 1
    return done


def found_out(seed, wire):
    """The verdict of a case must say MISMATCH and name the odd rank and another.

    A rank that ends without the last call waits for nobody: then the others wait for a finished rank, which is a
    DEADLOCK that names both.
    """
    ranks, odd, common, own, way = case(seed)
    with pytest.raises((verdicts.Mismatch, verdicts.Deadlock)) as caught:
        rl.launch(program, ranks, wire=wire, args=(odd, common, own), timeout=30)
    error, first = caught.value, caught.value.lines[0]
    if isinstance(error, verdicts.Deadlock):
        assert way == "count", (seed, str(error))
        assert re.match(rf"rank {odd} finished while rank \d still waits for it", first), (seed, first)
        return "DEADLOCK"
    assert odd in (error.rank, error.peer) and error.rank != error.peer, (seed, first)
    assert f"rank {error.rank} " in first and f"rank {error.peer} " in first, (seed, first)
    return "MISMATCH"


@pytest.mark.parametrize(
    ("first", "count"), [(0, 50), pytest.param(50, 200, marks=pytest.mark.slow)], ids=["some", "two hundred"]
)
def test_mismatches_on_simulated_ranks(first, count):
    ends = [found_out(seed, "virtual") for seed in range(first, first + count)]
    assert ends.count("MISMATCH") >= 0.8 * count
    assert rl.launch(lambda comm: comm.allreduce(np.ones(2)).tolist(), 3, wire="virtual") == [[3, 3]] * 3


@pytest.mark.slow
@pytest.mark.parametrize("wire", ["pipe", "shm"])
def test_mismatches_between_real_ranks(wire):
    for seed in range(1000, 1003):
        found_out(seed, wire)
        assert rl.run("ring", wire=wire).outputs[3].tolist() == [1111] * 8


@pytest.mark.night
@pytest.mark.parametrize("wire", ["pipe", "shm"])
def test_two_hundred_mismatches_between_real_ranks(wire):
    for seed in range(2000, 2200):
        found_out(seed, wire)
        assert rl.run("ring", wire=wire).outputs[3].tolist() == [1111] * 8


@pytest.mark.parametrize("seed", range(40))
def test_inputs_that_differ_are_found_before_anything_moves(seed):
    draw = random.Random(seed)
    ranks = draw.randint(2, 16)
    odd, shape, dtype = draw.randrange(ranks), draw.choice(SHAPES), draw.choice(DTYPES)
    inputs = [np.ones(shape, dtype) for _ in range(ranks)]
    if seed % 2:
        inputs[odd] = np.ones(draw.choice([other for other in SHAPES if other != shape]), dtype)
    else:
        inputs[odd] = np.ones(shape, draw.choice([other for other in DTYPES if other != dtype]))
    with pytest.raises(verdicts.Mismatch, match="no data was moved") as caught:
        rl.run("ring", inputs)
    assert (caught.value.peer, caught.value.rank) == (0, odd or 1)
