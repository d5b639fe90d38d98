"""Lesson 11: does it scale? Its numbers, and its exercises with solutions and wrong answers.

(The sweeps and the sharded training have their own tests: test_scaling.py, test_sharding.py.)
"""

import numpy as np
import pytest

import ringlab as rl
from ringlab.exercises import sharded, threshold, zero
from ringlab.scaling import efficiencies

# ---- what the lesson says --------------------------------------------------------------------------------------------


def test_32_times_the_gpus_give_12_5_times():
    assert round(efficiencies()[256][0], 1) == 12.5
    assert round(100 * efficiencies()[256][1], 1) == 39.1


def test_a_ring_moves_what_its_two_halves_move():
    vector = [np.ones(24)] * 4
    both = [rl.run(half, vector, wire="virtual").sent[0] for half in (rl.reduce_scatter, rl.all_gather)]
    assert rl.run("ring", vector, wire="virtual").sent[0] == sum(both)


# ---- the exercises ---------------------------------------------------------------------------------------------------


def test_the_threshold_takes_its_solution():
    outcome = threshold.check(lambda flops, bandwidth, itemsize: itemsize / 2 * flops / bandwidth)
    assert outcome.passed, outcome
    assert "2,550" in repr(outcome)


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        (lambda flops, bandwidth, itemsize: flops / bandwidth, "right for two of them only"),
        (lambda flops, bandwidth, itemsize: itemsize / 3 * flops / bandwidth, "not under the whole step"),
        (lambda flops, bandwidth, itemsize: itemsize / 2 * bandwidth / flops, "needs more tokens"),
        (lambda flops, bandwidth, itemsize: itemsize * flops / bandwidth, "each number crosses twice"),
        (lambda flops, bandwidth, itemsize: itemsize / 4 * flops / bandwidth, "crosses the wire twice"),
        (lambda flops, bandwidth, itemsize: [2550], "a number of tokens is asked for"),
        (lambda flops: 2550, "does not take that"),
        (lambda flops, bandwidth, itemsize: None, "not written yet"),
    ],
)
def test_the_threshold_says_what_is_wrong(wrong, says):
    outcome = threshold.check(wrong)
    assert not outcome.passed
    assert says in repr(outcome)


def test_a_wrong_threshold_is_shown_what_its_times_are():
    said = repr(threshold.check(lambda flops, bandwidth, itemsize: 255))
    assert "backward takes 2.22 ms and the all-reduce 22.2 ms" in said


def sharded_step(comm, params, grad, state):
    state = 0.9 * state + comm.reduce_scatter(grad) / comm.size
    return comm.all_gather(comm.own(params) - 0.1 * state), state


def from_send_and_recv(comm, params, grad, state):
    chunks = [part.copy() for part in rl_chunks(grad, comm.size)]
    rl.reduce_scatter(chunks, comm.rank, comm.send, comm.recv)
    mine = (comm.rank + 1) % comm.size
    state = 0.9 * state + chunks[mine] / comm.size
    parts = rl_chunks(params, comm.size)
    parts[mine] = parts[mine] - 0.1 * state
    rl.all_gather(parts, comm.rank, comm.send, comm.recv)
    return np.concatenate(parts), state


def rl_chunks(array, p):
    return np.array_split(array, p)


@pytest.mark.parametrize("solution", [sharded_step, from_send_and_recv])
def test_the_sharded_step_takes_its_solutions(solution):
    outcome = sharded.check(solution)
    assert outcome.passed, outcome


def plain(comm, params, grad, state):
    state = 0.9 * state + comm.allreduce(grad, op="mean")
    return params - 0.1 * state, state


def the_sum(comm, params, grad, state):
    state = 0.9 * state + comm.reduce_scatter(grad)
    return comm.all_gather(comm.own(params) - 0.1 * state), state


def cut_after_all(comm, params, grad, state):
    state = 0.9 * state + comm.own(comm.allreduce(grad)) / comm.size
    return comm.all_gather(comm.own(params) - 0.1 * state), state


def no_gather(comm, params, grad, state):
    state = 0.9 * state + comm.reduce_scatter(grad) / comm.size
    params = params.copy()
    comm.own(params)[:] -= 0.1 * state
    return params, state


def no_momentum(comm, params, grad, state):
    state = comm.reduce_scatter(grad) / comm.size
    return comm.all_gather(comm.own(params) - 0.1 * state), state


def uphill(comm, params, grad, state):
    state = 0.9 * state + comm.reduce_scatter(grad) / comm.size
    return comm.all_gather(comm.own(params) + 0.1 * state), state


def own_way(comm, params, grad, state):
    state = 0.9 * state + grad
    return params - 0.1 * state, state


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        (plain, "a rank keeps a state of 24 numbers"),
        (the_sum, "divide by comm.size"),
        (cut_after_all, "two halves of one all-reduce"),
        (no_gather, "Does every rank get those of the others?"),
        (no_momentum, "what became of the velocity"),
        (uphill, "points uphill"),
        (own_way, "nothing was reduced"),
        (lambda comm, params, grad, state: params, "return two things"),
        (lambda comm, params, grad, state: (params[:3], state), "params of shape (3,)"),
        (lambda comm, params: params, "does not take that"),
        (lambda comm, params, grad, state: None, "not written yet"),
    ],
)
def test_the_sharded_step_says_what_is_wrong(wrong, says):
    outcome = sharded.check(wrong)
    assert not outcome.passed
    assert says in repr(outcome)


def kept(params, ranks, stage):
    state = 12 / (ranks if stage >= 1 else 1)
    gradients = 2 / (ranks if stage >= 2 else 1)
    weights = 2 / (ranks if stage >= 3 else 1)
    return params * (weights + gradients + state)


def test_the_table_takes_its_solution():
    outcome = zero.check(kept)
    assert outcome.passed, outcome
    assert "120, 31.41, 16.64 and 1.875 GB" in repr(outcome)


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        (lambda params, ranks, stage: 16 * params / (ranks if stage else 1), "Not everything is cut up"),
        (lambda params, ranks, stage: 16 * params, "Something is cut up at this stage"),
        (lambda params, ranks, stage: 12 * params, "a 32-bit copy of the weights"),
        (lambda params, ranks, stage: kept(params, ranks, min(stage, 1)), "That is ZeRO-1"),
        (lambda params, ranks, stage: kept(params, ranks, min(stage, 2)), "That is ZeRO-2"),
        (lambda params, ranks, stage: kept(params, ranks, stage) / 1e9, "In bytes, not in GB"),
        (lambda params, ranks, stage: "lots", "where bytes are asked for"),
        (lambda params, ranks: 1, "does not take that"),
        (lambda params, ranks, stage: None, "not written yet"),
    ],
)
def test_the_table_says_what_is_wrong(wrong, says):
    outcome = zero.check(wrong)
    assert not outcome.passed
    assert says in repr(outcome)
