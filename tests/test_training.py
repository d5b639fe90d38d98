"""Training: gradients are right, ranks together do what one process does, and the averages mean what they say.

`alone` runs the program of all ranks in this process, over the virtual wire; a few tests start real processes.
"""

import re

import numpy as np
import pytest

import ringlab as rl
from ringlab import digits, model, training
from ringlab.chunks import Chunks
from ringlab.verdicts import BadInput, Deadlock, RankException
from ringlab.views.digits import png


def images_and_labels(n=20):
    images, labels = digits.digits()
    return images[:n], labels[:n]


def recipe(**settings):
    """A recipe as `train` makes it."""
    names = ("model", "params", "data", "shares", "batch", "accumulate", "average", "join", "momentum", "algorithm")
    usual = dict(zip(names, (None, None, None, None, 32, 1, "images", True, 0.9, "ring"), strict=True))
    return training._recipe(**(usual | settings), seed=0)


def alone(ranks, **settings):
    """(weights of each rank after one epoch, steps) of a training with `ranks` ranks, in this process."""
    made = recipe(**settings)
    flat = model.flatten(made.params)
    states = [(flat, np.zeros_like(flat))]
    returned = training._all_in_one(None, ranks, made, 0, 0.1, states)
    return [weights for weights, _, _ in returned], returned[0][2]


# -- the data --------------------------------------------------------------------------------------------------


def test_digits_are_scaled_shuffled_and_the_same_everywhere():
    images, labels = digits.digits()
    assert images.shape == (1797, 64)
    assert images.dtype == np.float64
    assert (images.min(), images.max()) == (0, 1)
    assert labels[:16].tolist() == [0, 1, 5, 0, 5, 0, 7, 2, 0, 4, 5, 7, 2, 3, 8, 6]
    assert np.bincount(labels).tolist() == [178, 182, 177, 183, 181, 182, 181, 179, 174, 180]
    assert (images * 16).sum() == 561718


def test_nobody_can_change_the_digits_for_others():
    images, labels = digits.digits()
    with pytest.raises(ValueError, match="read-only"):
        images[0, 0] = 1
    with pytest.raises(ValueError, match="read-only"):
        labels += 1


def test_a_fifth_is_held_out():
    (images, labels), (held_images, held_labels) = digits.split(*digits.digits())
    assert (len(images), len(labels), len(held_images), len(held_labels)) == (1438, 1438, 359, 359)


@pytest.mark.parametrize("n", [0, 1, 2, 10, 1438])
@pytest.mark.parametrize("seed", [0, 1, -5, 10**12])
def test_a_permutation_has_every_number_once(n, seed):
    assert sorted(digits.permutation(n, seed).tolist()) == list(range(n))


def test_permutations_differ_by_seed():
    assert len({tuple(digits.permutation(30, seed).tolist()) for seed in range(50)}) == 50


@pytest.mark.parametrize("shares", [None, [1, 2, 3, 4], [0, 1, 0, 0], [0.5, 0.1, 0.1, 0.3]])
@pytest.mark.parametrize("n", [0, 1, 3, 10, 1438])
def test_every_image_goes_to_one_rank(n, shares):
    parts = digits.share_out(np.arange(n), 4, shares)
    assert len(parts) == 4
    assert sorted(np.concatenate(parts).tolist()) == list(range(n))
    if shares and n == 1438:
        wanted = np.array(shares) / sum(shares) * n
        assert np.abs(np.array([len(part) for part in parts]) - wanted).max() <= 1


@pytest.mark.parametrize("shares", [[1, 2], [1, -1, 1, 1], [0, 0, 0, 0], [np.nan, 1, 1, 1], [np.inf, 1, 1, 1]])
def test_shares_that_are_none_are_refused(shares):
    with pytest.raises(BadInput, match="shares"):
        digits.share_out(np.arange(10), 4, shares)


# -- the model -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("layers", [(64, 10), (64, 7, 10), model.LAYERS])
def test_the_gradient_agrees_with_finite_differences(layers):
    images, labels = images_and_labels()
    params = model.start(layers, seed=3)
    flat, step = model.flatten(params), 1e-6

    def loss(vector):
        return model.losses(model.scores(model.unflatten(vector, params), images), labels).mean()

    found = model.flatten(model.gradients(params, images, labels))
    for index in digits.permutation(len(flat), seed=1)[:40]:
        shift = np.zeros_like(flat)
        shift[index] = step
        slope = (loss(flat + shift) - loss(flat - shift)) / (2 * step)
        assert found[index] == pytest.approx(slope, rel=1e-5, abs=1e-8)


def test_softmax_regression_at_zero_has_a_gradient_in_closed_form():
    images, labels = images_and_labels(30)
    weights, bias = model.gradients([np.zeros((64, 10)), np.zeros(10)], images, labels)
    error = 0.1 - (labels[:, None] == np.arange(10))
    np.testing.assert_allclose(bias, error.mean(axis=0), atol=1e-15)
    np.testing.assert_allclose(weights, np.einsum("np,nd->pd", images, error) / 30, atol=1e-15)


def test_large_scores_do_not_overflow():
    rows = np.array([[1000.0, 0.0, -1000.0]])
    assert model.losses(rows, np.array([0])).tolist() == [0.0]
    assert model.losses(rows, np.array([1])).tolist() == [1000.0]
    assert model.softmax(rows).tolist() == [[1.0, 0.0, 0.0]]


def test_flatten_and_unflatten_are_inverse_and_check_shapes():
    params = model.start()
    flat = model.flatten(params)
    assert flat.shape == (17226,)
    for array, again in zip(params, model.unflatten(flat, params), strict=True):
        np.testing.assert_array_equal(array, again)
    with pytest.raises(ValueError, match=r"gradient 0 has shape \(10, 64\), its parameter \(64, 10\)"):
        model.flatten([np.zeros((10, 64))], like=[np.zeros((64, 10))])


# -- one step, in one process ----------------------------------------------------------------------------------


@pytest.mark.parametrize("ranks", [2, 3, 4, 8])
def test_many_ranks_do_what_one_does_with_a_batch_of_all(ranks):
    together, steps = alone(ranks, batch=24 // ranks)
    single, same_steps = alone(1, batch=24)
    assert steps == same_steps == 60
    assert all(np.array_equal(weights, together[0]) for weights in together)
    np.testing.assert_allclose(together[0], single[0], rtol=0, atol=1e-12)


@pytest.mark.parametrize("shares", [(1, 2, 3, 4), (0, 1, 0, 5), (1, 0, 0, 0)])
@pytest.mark.parametrize("accumulate", [1, 3])
def test_uneven_shares_weigh_every_image_the_same(shares, accumulate):
    made = recipe(shares=shares, accumulate=accumulate, momentum=0.0)
    weights, steps = alone(4, shares=shares, accumulate=accumulate, momentum=0.0)
    (images, labels), _ = digits.split(*digits.digits())
    parts = digits.share_out(digits.permutation(len(images), seed=1), 4, shares)
    taken, size = model.flatten(made.params), 32 * accumulate
    for step in range(steps):
        batch = np.concatenate([part[step * size : (step + 1) * size] for part in parts])
        params = model.unflatten(taken, made.params)
        taken = taken - 0.1 * model.flatten(model.gradients(params, images[batch], labels[batch]))
    assert steps == -(-max(map(len, parts)) // size)
    np.testing.assert_allclose(weights[0], taken, rtol=0, atol=1e-12)


def test_the_mean_of_means_is_another_step_when_shares_are_uneven():
    even, _ = alone(4, batch=8, average="ranks")
    right, _ = alone(4, batch=8, average="images")
    # 1438 images: in the last step two ranks have one image less
    np.testing.assert_allclose(even[0], right[0], rtol=0, atol=1e-3)
    wrong, _ = alone(4, shares=(1, 2, 3, 4), average="ranks")
    right, _ = alone(4, shares=(1, 2, 3, 4), average="images")
    assert np.abs(wrong[0] - right[0]).max() > 1e-2


def test_without_division_the_rate_counts_once_per_rank():
    images, labels = images_and_labels(20)  # 16 to train on: one step of 4 images a rank
    start = model.flatten(model.start())
    moved = {}
    for average in training.AVERAGES:
        weights, steps = alone(4, data=(images, labels), batch=4, average=average)
        assert steps == 1
        moved[average] = weights[0] - start
    np.testing.assert_allclose(moved["none"], 4 * moved["images"], rtol=0, atol=1e-14)
    np.testing.assert_allclose(moved["ranks"], moved["images"], rtol=0, atol=1e-14)


def test_one_number_more_than_the_gradient_travels():
    sizes = []

    def counting(chunks, rank, send, recv):
        if rank == 0:
            sizes.append(sum(map(len, chunks)))
        return rl.ring_allreduce(chunks, rank, send, recv)

    _, steps = alone(4, algorithm=counting)
    assert sizes == [17226 + 1] * steps


def test_a_parameter_without_gradient_on_one_rank_counts_as_zero_there():
    images, labels = images_and_labels(20)
    first = images[0].tobytes()

    def gradients(params, images, labels):
        weights, bias = model.gradients(params, images, labels)
        holds_first = any(image.tobytes() == first for image in images)
        return [weights, None if holds_first else bias]

    start = [np.zeros((64, 10)), np.zeros(10)]
    mine = {"model": (model.scores, gradients), "params": start, "data": (images, labels), "batch": 4}
    weights, _ = alone(4, **mine)
    parts = digits.share_out(digits.permutation(16, seed=1), 4)
    biases = [np.zeros(10) if 0 in p else model.gradients(start, images[p], labels[p])[1] for p in parts]
    np.testing.assert_allclose(weights[0][640:], -0.1 * np.mean(biases, axis=0), rtol=0, atol=1e-15)


def test_pass_around_leaves_replicas_with_different_bits():
    weights, _ = alone(4, algorithm="pass_around")
    assert len({w.tobytes() for w in weights}) == 4
    np.testing.assert_allclose(weights[0], weights[1], rtol=0, atol=1e-12)


def test_float32_parameters_stay_float32():
    params = [p.astype(np.float32) for p in model.start()]
    weights, _ = alone(2, model=(model.scores, model.gradients), params=params)
    assert weights[0].dtype == np.float32


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"average": "mean"}, "use one of images, ranks, none"),
        ({"algorithm": "rings"}, "algorithm 'rings' is not known"),
        ({"batch": 0}, "batch=0 is out of range\nuse a whole number from 1 up"),
        ({"accumulate": 1.5}, "accumulate=1.5 is out of range\nuse a whole number from 1 up"),
        ({"model": (model.scores, model.gradients)}, "needs both"),
        ({"params": [np.zeros(3)]}, "needs both"),
        ({"model": model.scores, "params": [np.zeros(3)]}, "a pair of functions"),
        ({"data": (np.zeros((9, 64)), np.zeros(8))}, "9 images and 8 labels"),
        ({"data": (np.zeros((4, 64)), np.zeros(4))}, "at least 5"),
    ],
)
def test_settings_that_cannot_be_are_refused(settings, says):
    with pytest.raises(BadInput, match=re.escape(says)):
        recipe(**settings)


@pytest.mark.parametrize("settings", [{"epochs": 0}, {"epochs": True}, {"seed": -1}, {"seed": 0.5}, {"ranks": 0}])
def test_numbers_that_cannot_be_are_refused(settings):
    with pytest.raises(BadInput):
        training.train(**settings, progress=False)


# -- real processes --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ranks", [1, 3, 4])
def test_the_mean_of_the_ranks_gradients_is_the_whole_batchs(ranks):
    parts, whole = training.digit_gradients(ranks)
    assert len(parts) == ranks
    assert all(part.shape == (650,) for part in parts)
    np.testing.assert_allclose(np.mean(parts, axis=0), whole, rtol=0, atol=1e-14)
    if ranks > 1:
        assert np.abs(parts[0] - parts[1]).max() > 1e-3
    mean = rl.run(rl.ring_allreduce, parts, ranks=ranks, op="mean").outputs[0]
    assert np.allclose(mean, whole)


def test_processes_end_with_the_bits_of_one_process_that_adds_in_the_same_order():
    run = training.train(epochs=2, progress=False)
    again = training.train(epochs=2, wire="virtual", progress=False)
    np.testing.assert_array_equal(run.weights, again.weights)
    single = training.train(ranks=1, batch=4 * 32, epochs=2, progress=False)
    np.testing.assert_allclose(run.weights, single.weights, rtol=0, atol=1e-12)
    assert run.replicas == again.replicas == 1
    assert run.images == (360, 360, 359, 359)
    assert len(run.losses) == len(run.accuracies) == 2
    assert run.loss == run.losses[1] < run.losses[0] < np.log(10)
    assert 0.5 < run.accuracy == run.accuracies[1] <= 1
    assert repr(run).startswith("2 epochs on 4 ranks over pipe by ring: 24 steps, equal replicas, at least ")


def test_the_ring_adds_each_chunk_from_its_own_rank_on():
    gradients = [model.flatten(model.gradients(model.start(), *images_and_labels(n))) for n in (5, 7, 9, 11)]
    summed = rl.run(rl.ring_allreduce, gradients).outputs[0]
    for index, chunk in enumerate(Chunks(summed, 4)):
        terms = [Chunks(gradients[(index + k) % 4], 4)[index] for k in range(4)]
        np.testing.assert_array_equal(chunk, ((terms[0] + terms[1]) + terms[2]) + terms[3])


def test_replicas_that_drift_apart_stay_apart():
    run = training.train(algorithm="pass_around", epochs=2, progress=False)
    assert run.replicas == 4
    assert "4 different replicas" in repr(run)


def test_a_model_of_ones_own_defined_here():
    def scores(params, images):
        weights, bias = params
        return images @ weights + bias

    def gradients(params, images, labels):
        error = model.softmax(scores(params, images)) - (labels[:, None] == np.arange(10))
        return [images.T @ error / len(labels), error.mean(axis=0)]

    run = training.train(epochs=3, model=(scores, gradients), params=[np.zeros((64, 10)), np.zeros(10)], progress=False)
    assert run.accuracy > 0.85
    assert [p.shape for p in run.params] == [(64, 10), (10,)]


def test_a_rank_that_runs_out_of_images_and_leaves_is_named():
    with pytest.raises(Deadlock, match="rank 0 finished"):
        training.train(shares=(1, 2, 3, 4), join=False, epochs=1, progress=False)
    assert training.train(shares=(1, 2, 3, 4), epochs=1, progress=False).replicas == 1


def test_a_gradient_of_another_shape_names_itself():
    def gradients(params, images, labels):
        return [p.T for p in model.gradients(params, images, labels)]

    with pytest.raises(RankException, match="gradient 0 has shape"):
        training.train(
            epochs=1, model=(model.scores, gradients), params=[np.zeros((64, 10)), np.zeros(10)], progress=False
        )


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_over_95_percent_of_the_held_out_digits_are_recognised(seed):
    run = training.train(seed=seed, progress=False)
    assert run.accuracy > 0.95
    assert run.replicas == 1
    assert "at least 95 % of the held-out digits right" in repr(run)


def test_progress_is_shown_on_request_and_nothing_without(capfd, monkeypatch):
    monkeypatch.setattr("ringlab.progress.PATIENCE", 0)  # as if every call took long
    training.train(epochs=1, progress=False)
    assert capfd.readouterr() == ("", "")
    training.train(epochs=1, progress=True)
    assert "1/1" in capfd.readouterr().err


# -- the picture -----------------------------------------------------------------------------------------------


def test_the_figure_says_in_text_which_rank_takes_which_digits():
    figure = training.digits_figure(ranks=4)
    text = (
        "16 handwritten digits by rank: rank 0 takes 0 5 0 2, rank 1 takes 1 0 4 3, "
        "rank 2 takes 5 7 5 8, rank 3 takes 0 2 7 6"
    )
    assert repr(figure) == text
    html = figure._repr_html_()
    assert f'aria-label="{text}"' in html
    assert re.findall(r'alt="(\d)"', html) == list("0502104357580276")
    assert html == training.digits_figure(ranks=4)._repr_html_()
    assert not re.search(r"<script|https?:|\bid=", html)


def test_more_ranks_than_digits():
    assert repr(training.digits_figure(ranks=3, count=2)).endswith("rank 0 takes 0, rank 1 takes 1, rank 2 takes none")


def test_pictures_are_pngs_with_the_pixels_of_the_image():
    import struct
    import zlib

    image = digits.digits()[0][0]
    data, place, parts = png(image), 8, {}
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    while place < len(data):
        (length,) = struct.unpack(">I", data[place : place + 4])
        kind, body = data[place + 4 : place + 8], data[place + 8 : place + 8 + length]
        assert struct.unpack(">I", data[place + 8 + length : place + 12 + length]) == (zlib.crc32(kind + body),)
        parts[kind], place = body, place + 12 + length
    rows = np.frombuffer(zlib.decompress(parts[b"IDAT"]), np.uint8).reshape(8, 9)
    assert parts[b"IHDR"] == bytes([0, 0, 0, 8, 0, 0, 0, 8, 8, 0, 0, 0, 0])
    assert not rows[:, 0].any()
    np.testing.assert_array_equal(rows[:, 1:].ravel(), np.rint(255 - 255 * image))
