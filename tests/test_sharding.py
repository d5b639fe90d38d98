"""Sharding: the same weights as plain data parallelism, bytes and memory as the formulas say, at every stage."""

import tracemalloc
from fractions import Fraction as F

import numpy as np
import pytest

import ringlab as rl
from ringlab import model, sharding
from ringlab.sharding import NAMES, STAGES, Sharded, adam, compare, memory, train, volume
from ringlab.verdicts import BadInput, Mismatch

BILLION = 10**9


@pytest.fixture(scope="module")
def stages():
    """Every stage on four ranks."""
    return compare(4)


# -- the collectives it is made of -----------------------------------------------------------------------------


@pytest.mark.parametrize("wire", ["pipe", "shm"])
@pytest.mark.parametrize("ranks", [1, 2, 3, 4])
def test_reduce_scatter_and_all_gather_are_the_two_halves_of_a_ring(ranks, wire):
    def program(comm, length):
        mine = np.array([1 / (3 + i + 7 * comm.rank) for i in range(length)], np.float32)
        whole, part = comm.allreduce(mine), comm.reduce_scatter(mine)
        return whole, part, comm.own(whole), comm.all_gather(part)

    for length in (0, 1, ranks - 1, ranks + 1, 40):
        for whole, part, own, gathered in rl.launch(program, ranks, wire, args=(length,)):
            np.testing.assert_array_equal(part, own)
            np.testing.assert_array_equal(gathered, whole)
            assert part.dtype == gathered.dtype == np.float32


def test_one_rank_in_the_other_half_is_a_mismatch():
    def program(comm):
        return comm.all_gather(np.ones(2)) if comm.rank == 1 else comm.reduce_scatter(np.ones(4))

    with pytest.raises(Mismatch, match=r"reduce_scatter of float64|all_gather of float64"):
        rl.launch(program, 2)


def test_a_part_is_a_place_in_the_vector():
    def program(comm):
        vector = np.arange(10.0)
        comm.own(vector)[:] = -1
        return vector

    found = rl.launch(program, 4)
    assert [int((vector == -1).argmax()) for vector in found] == [3, 6, 8, 0]
    assert [int((vector == -1).sum()) for vector in found] == [3, 2, 2, 3]


# -- what runs -------------------------------------------------------------------------------------------------


def test_all_stages_end_with_the_same_weights(stages):
    plain = stages[0].vector
    assert plain.shape == (17226,)
    for stage in stages[1:]:
        np.testing.assert_array_equal(stage.vector, plain)
    assert np.isfinite(plain).all()


def test_a_stage_ends_where_one_process_with_the_whole_batch_does():
    layers, steps, batch = (64, 16, 10), 4, 8
    found = train(2, 2, steps=steps, batch=batch, layers=layers).vector
    (images, labels), _ = sharding.split(*sharding.digits())
    images = images.astype(np.float32)
    params, state = model.flatten([p.astype(np.float32) for p in model.start(layers)]), None
    like = model.start(layers)
    for step in range(steps):
        both = slice(step * 2 * batch, (step + 1) * 2 * batch)
        gradient = model.gradients(model.unflatten(params, like), images[both], labels[both])
        update, state = adam(model.flatten(gradient).astype(np.float32), state)
        params = params - update
    # Adam divides by the size of a gradient, so a rounding error in a tiny one can move a weight by up to the rate
    assert np.abs(found - params).max() <= 2 * steps * sharding.RATE
    assert np.median(np.abs(found - params)) < 1e-6
    assert np.abs(params - model.flatten(like)).max() > steps * sharding.RATE / 2


def test_bytes_are_2_2_2_3(stages):
    assert [stage.volume for stage in stages] == [2, 2, 2, 3]
    assert [stage.volume for stage in stages] == [volume(stage) for stage in STAGES]
    padded = 17228  # every layer up to a multiple of four
    assert [stage.params for stage in stages] == [padded] * 4
    assert [set(stage.sent) for stage in stages] == [{volume(s) * 3 * padded * 4 // 4} for s in STAGES]


def test_what_is_kept_is_what_the_formula_says(stages):
    for stage in stages:
        assert stage.kept == memory(stage.params, 4, stage.stage, weights=4, gradients=4, state=8)
        assert stage.state == 8 * stage.params // (4 if stage.stage else 1)
    assert [stage.kept / stages[0].kept for stage in stages] == [1, 0.625, 0.4375, 0.25]


@pytest.mark.parametrize("ranks", [1, 2, 3])
def test_other_numbers_of_ranks(ranks):
    found = compare(ranks, steps=2)
    for stage in found:
        np.testing.assert_array_equal(stage.vector, found[0].vector)
        assert stage.kept == memory(stage.params, ranks, stage.stage, 4, 4, 8)
        if ranks > 1:
            assert stage.volume == volume(stage.stage)
        else:
            assert stage.sent == (0,)


@pytest.mark.parametrize("stage", STAGES)
def test_the_allocator_agrees_with_what_is_counted(stage):
    def program(comm, stage):
        """Bytes that numpy holds after a step (weights and state), and what was counted."""
        layers = (64, 160, 160, 10)
        images, labels = np.ones((4, 64), np.float32), np.arange(4)
        Sharded(comm, stage, (64, 8, 10)).step(images, labels)  # what is loaded once is not counted
        tracemalloc.start()
        rank = Sharded(comm, stage, layers)
        rank.step(images, labels)
        now, _ = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        most = rank.held.most
        return now, most["weights"] + most["state"], len(rank.gradients)

    for now, counted, gradients in rl.launch(program, 4, args=(stage,)):
        assert gradients == 0
        assert counted <= now <= 1.02 * counted + 60_000


def test_a_table_of_all_stages(stages):
    lines = stages.table().split("\n")
    assert [line.split()[0] for line in lines[1:5]] == list(NAMES)
    assert lines[1].split()[1:] == ["103368", "2", "68912", "68912", "137824", "275648", "100.0", "%", "yes"]
    assert lines[4].split()[1:] == ["155052", "3", "17228", "17228", "34456", "68912", "25.0", "%", "yes"]
    assert repr(stages[3]) == "ZeRO-3 on 4 ranks: 155052 bytes sent per rank and step, 68912 bytes kept"
    other = stages[1]._replace(vector=stages[1].vector + 1)
    assert sharding.Stages([stages[0], other]).table().split("\n")[2].endswith("NO")


# -- formulas --------------------------------------------------------------------------------------------------


def test_seven_and_a_half_billion_parameters_on_64_devices():
    found = [memory(75 * BILLION // 10, 64, stage) for stage in STAGES]
    assert [float(nbytes / BILLION) for nbytes in found] == [120, 31.40625, 16.640625, 1.875]
    assert found[3] == F(120 * BILLION, 64)


@pytest.mark.parametrize("stage", STAGES)
def test_one_device_keeps_everything(stage):
    assert memory(1000, 1, stage) == 16_000


def test_more_devices_help_only_what_is_cut_up():
    assert [float(memory(1, 10**9, stage)) for stage in STAGES] == pytest.approx([16, 4, 2, 0], abs=1e-6)


def test_adam_is_the_published_one():
    gradient = np.array([0.5, -2.0, 0.0])
    update, (mean, variance, steps) = adam(gradient)
    np.testing.assert_allclose(update, [1e-3, -1e-3, 0], rtol=1e-7)  # the first step is the rate, whatever the size
    np.testing.assert_allclose((mean, variance), (0.1 * gradient, 1e-3 * gradient**2))
    update, (mean, variance, steps) = adam(np.ones(3), (mean, variance, steps))
    assert steps == 2
    corrected = (0.9 * 0.05 + 0.1) / (1 - 0.81) / np.sqrt((0.999 * 0.00025 + 0.001) / (1 - 0.999**2))
    assert update[0] == pytest.approx(1e-3 * corrected, rel=1e-6)
    assert adam(np.ones(2, np.float32))[0].dtype == np.float32


def test_adam_of_a_part_is_the_part_of_adam():
    gradient, state, parts = np.linspace(-1, 1, 12, dtype=np.float32), None, [None] * 3
    for _ in range(3):
        whole, state = adam(gradient, state)
        for i in range(3):
            update, parts[i] = adam(gradient[4 * i : 4 * i + 4], parts[i])
            np.testing.assert_array_equal(update, whole[4 * i : 4 * i + 4])


@pytest.mark.parametrize("stage", [4, -1, "1", True, 1.5])
def test_stages_that_are_none_are_refused(stage):
    for call in (lambda: memory(10, 2, stage), lambda: volume(stage), lambda: train(stage)):
        with pytest.raises(BadInput, match="stage="):
            call()


@pytest.mark.parametrize("ranks", [0, -1, 1.5, True])
def test_numbers_of_ranks_that_are_none_are_refused(ranks):
    with pytest.raises(BadInput, match="ranks="):
        memory(10, ranks, 1)
