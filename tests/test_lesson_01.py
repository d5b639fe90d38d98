"""Lesson 01: averaging is the job. Its numbers, its figure, and its exercise with solutions and wrong answers."""

import numpy as np
import pytest
from plotly.graph_objects import Figure

import ringlab as rl
from ringlab.exercises import mean as exercise

SHARDS = [np.array([1.0, 2, 3]), np.array([10.0])]


# ---- what the lesson says --------------------------------------------------------------------------------------------


def test_the_mean_of_the_means_is_6_and_the_mean_is_4():
    means = [np.array([shard.mean()]) for shard in SHARDS]
    assert rl.run("ring", means, ranks=2, op="mean").outputs[0] == 6.0
    assert np.concatenate(SHARDS).mean() == 4.0
    weighted = [np.array([shard.sum(), len(shard)]) for shard in SHARDS]
    total, count = rl.run("ring", weighted, ranks=2).outputs[0]
    assert total / count == 4.0


def test_sum_and_mean_differ_by_the_number_of_ranks():
    grads = [np.full(4, 10.0**rank) for rank in range(4)]
    assert rl.run("ring", grads).outputs[0][0] == 1111
    assert rl.run("ring", grads, op="mean").outputs[0][0] == 277.75


def test_averaging_the_losses_leaves_every_rank_with_its_own_gradient():
    def nothing(chunks, rank, send, recv):
        return chunks

    run = rl.training.train(algorithm=nothing, epochs=1, progress=False)
    assert run.replicas == 4
    assert "4 different replicas" in repr(run)


# ---- the figure ------------------------------------------------------------------------------------------------------


def test_the_beam_is_level_when_three_samples_count_three_times():
    figure = rl.training.seesaw_figure()
    assert repr(figure).split("\n") == [
        "weights 1 : 1: average 6.00, the beam tips to the left",
        "weights 2 : 1: average 4.67, the beam tips to the left",
        "weights 3 : 1: average 4.00, the beam is level",
        "weights 4 : 1: average 3.60, the beam tips to the right",
    ]
    drawn = Figure({"data": figure.data, "layout": figure.layout})
    (slider,) = drawn.layout.sliders
    for number, (step, tilt) in enumerate(zip(slider.steps, (-1, -1, 0, 1), strict=True)):
        shown = [trace for trace, visible in zip(drawn.data, step.args[0]["visible"], strict=True) if visible]
        beam = shown[0]
        assert np.sign(np.round(beam.y[0] - beam.y[1], 12)) == tilt, number
        averaged = next(trace for trace in shown if trace.text and "averaged" in trace.text)
        whole = next(trace for trace in shown if trace.text and "one process" in trace.text)
        assert (whole.x[1], whole.y[1]) == (2, 1.5)
        assert ((averaged.x[1], averaged.y[1]) == (2, 1.5)) is (tilt == 0)


# ---- the exercise ----------------------------------------------------------------------------------------------------


def one_message(comm, grad, count):
    whole = comm.allreduce(np.append(np.nan_to_num(grad) * count, count))
    return whole[:-1] / whole[-1]


def two_messages(comm, grad, count):
    total = comm.allreduce(grad * count if count else np.zeros_like(grad))
    return total / comm.allreduce(np.array([float(count)]))[0]


@pytest.mark.parametrize("solution", [one_message, two_messages])
def test_the_exercise_takes_its_solutions(solution):
    outcome = exercise.check(solution)
    assert outcome.passed, outcome
    assert repr(outcome).startswith("passed: equal to one process with all samples")


def mean_of_means(comm, grad, count):
    return comm.allreduce(np.nan_to_num(grad), op="mean")


def sum_of_means(comm, grad, count):
    return comm.allreduce(np.nan_to_num(grad))


def by_ranks(comm, grad, count):
    return comm.allreduce(np.nan_to_num(grad) * count) / comm.size


def spreads_nan(comm, grad, count):
    whole = comm.allreduce(np.append(grad * count, count))
    return whole[:-1] / whole[-1]


def chatty(comm, grad, count):
    whole = comm.allreduce(np.append(np.nan_to_num(grad) * count, count), algorithm="pass_around")
    return whole[:-1] / whole[-1]


def alone(comm, grad, count):
    return grad


def not_weighed(comm, grad, count):
    whole = comm.allreduce(np.append(np.nan_to_num(grad), count))
    return whole[:-1] / whole[-1]


def scalar(comm, grad, count):
    return 3.0


def hangs(comm, grad, count):
    return comm.recv((comm.rank + 1) % comm.size)


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        (mean_of_means, "That is the mean of the means"),
        (sum_of_means, "That is the sum of the means"),
        (by_ranks, "Divide by the number of samples, not of ranks"),
        (spreads_nan, "0 times nan is nan"),
        (chatty, "One all-reduce is enough"),
        (alone, "nothing was reduced"),
        (not_weighed, "weighed by its number of samples"),
        (scalar, "gives shape () instead of 6 numbers"),
        (hangs, "DEADLOCK"),
    ],
)
def test_the_exercise_says_what_is_wrong(wrong, says):
    outcome = exercise.check(wrong)
    assert not outcome.passed
    assert says in repr(outcome)


def test_a_stub_is_not_written_yet_and_another_signature_is_told():
    assert repr(exercise.check(lambda comm, grad, count: None)).startswith("not written yet")
    assert "does not take that" in repr(exercise.check(lambda grad: grad))
