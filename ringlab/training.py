"""Data-parallel training on real handwritten digits: every rank its own process, its own images, its own gradient.

A step: each rank adds up the gradients of its next images, one all-reduce adds the ranks' sums and their numbers of
images, and every rank divides the one by the other and moves its weights. `epoch` is that program. `train` launches
it once per epoch and hands each rank back what it ended with, so replicas that drift apart stay apart; in between it
measures rank 0's weights.
"""

import contextlib
import time
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from . import model as network
from .algorithms import ALGORITHMS
from .arguments import whole
from .averaging import digit_gradients, digits_figure, seesaw_figure
from .comm import Comm
from .digits import digits, permutation, share_out, split
from .model import flatten, unflatten
from .programs import launch
from .source import name_of
from .texts import plural
from .verdicts import BadInput
from .world import check_ranks

__all__ = ["Training", "digit_gradients", "digits_figure", "epoch", "seesaw_figure", "train"]
AVERAGES = ("images", "ranks", "none")


class Recipe(NamedTuple):
    """What every rank knows of a training; `train` says what each field means."""

    scores: object
    gradients: object
    params: list
    data: tuple | None
    shares: tuple | None
    batch: int
    accumulate: int
    average: str
    join: bool
    momentum: float
    algorithm: object
    seed: int


@dataclass(frozen=True)
class Training:
    """A finished training. `losses` and `accuracies` have one number per epoch, taken at its end.

    loss: mean over the images trained on.  accuracy: share of the held-out fifth that is recognised, 0 to 1.
    params: rank 0's arrays.  replicas: how many different sets of weights the ranks ended with (1 is right).
    images: how many images each rank trained on.  steps: all-reduces of a gradient.  seconds: on the clock.
    """

    ranks: int
    wire: str
    algorithm: str
    losses: tuple
    accuracies: tuple
    params: list
    replicas: int
    images: tuple
    steps: int
    seconds: float

    @property
    def loss(self):
        """The loss after the last epoch."""
        return self.losses[-1]

    @property
    def accuracy(self):
        """The held-out accuracy after the last epoch."""
        return self.accuracies[-1]

    @property
    def weights(self):
        """All parameters as one vector."""
        return flatten(self.params)

    def curves(self, *others, names=None):
        """A figure: loss and held-out accuracy by epoch, of this training and of `others`. names: one for each."""
        from .views.learning import curves

        every = (self, *others)
        return curves(every, names or [f"{one.algorithm}, {plural(one.ranks, 'rank')}" for one in every])

    def __repr__(self):
        # steps of 5 %: the last digits depend on the machine's exp and matmul, and lessons compare this line
        right = int(self.accuracy * 20 + 1e-9) * 5
        same = "equal replicas" if self.replicas == 1 else f"{self.replicas} different replicas"
        return (
            f"{plural(len(self.losses), 'epoch')} on {plural(self.ranks, 'rank')} over {self.wire} by {self.algorithm}"
            f": {self.steps} steps, {same}, at least {right} % of the held-out digits right"
        )


def train(
    ranks=4,
    wire="pipe",
    epochs=20,
    seed=0,
    algorithm="ring",
    *,
    batch=32,
    accumulate=1,
    rate=0.1,
    momentum=0.9,
    shares=None,
    average="images",
    join=True,
    model=None,
    params=None,
    data=None,
    progress=True,
    timeout=60.0,
):
    """A `Training`: a classifier trained data-parallel by real ranks, each on its own images.

    wire: as for `launch`, or "virtual": one process plays all ranks in turn, with the same additions in the same
    order, so it ends with the same bits.  algorithm: a name of `rl.ALGORITHMS` or a function; None is the ring.
    batch: images of one rank in one gradient.  accumulate: how many such gradients a rank adds up before an
    all-reduce.  rate: of learning, falling in equal steps towards 0 from epoch to epoch.
    shares: one weight per rank for uneven shares of the images; without it ranks take turns.
    average: "images" weights each rank by its number of images (right for any shares); "ranks" takes the mean of the
    ranks' means (wrong for uneven shares); "none" forgets to divide, so that the rate counts `ranks` times.
    join: a rank whose images are used up adds zeros until all are done. Without it it leaves, and the rest hang.
    model: (scores, gradients), your two functions of (params, images) and (params, images, labels); `scores` gives a
    row per image, `gradients` of the mean loss one array per parameter, or None where this batch gives none.
    params: the arrays to start from, needed with `model`.  data: (images, labels); a fifth of them is held out.
    progress: show a bar.  timeout: as for `launch`, per epoch.
    Raises BadInput for settings that cannot be; else what `launch` raises.
    """
    recipe = _recipe(model, params, data, shares, batch, accumulate, average, join, momentum, algorithm, seed)
    ranks, epochs = check_ranks(ranks), whole("epochs", epochs)
    flat = flatten(recipe.params)
    states = [(flat, np.zeros_like(flat))] * ranks
    shown, held_out = split(*(recipe.data or digits()))
    losses, accuracies, steps, begin = [], [], 0, time.perf_counter()
    with _bar(epochs, progress) as bar:
        for number in range(epochs):
            job = (recipe, number, rate * (1 - number / epochs), states if _different(states) > 1 else states[:1])
            returned = _launch_epoch(ranks, wire, job, timeout)
            states = [(weights, velocity) for weights, velocity, _ in returned]
            steps += returned[0][2]
            losses.append(_measure(recipe, states[0][0], *shown)[0])
            accuracies.append(_measure(recipe, states[0][0], *held_out)[1])
            bar(losses[-1], accuracies[-1])
    return Training(
        ranks,
        wire,
        recipe.algorithm if isinstance(recipe.algorithm, str) else name_of(recipe.algorithm),
        tuple(losses),
        tuple(accuracies),
        unflatten(states[0][0], recipe.params),
        _different(states),
        tuple(len(part) for part in share_out(np.arange(len(shown[1])), ranks, recipe.shares)),
        steps,
        time.perf_counter() - begin,
    )


def epoch(comm, recipe, number, rate, states):
    """One epoch on this rank: (weights, velocity, how many steps).

    states: (weights, velocity) of each rank, or one pair for all while they are equal.
    """
    (images, labels), _ = split(*(recipe.data or digits()))
    order = permutation(len(images), seed=1000 * recipe.seed + number + 1)
    mine = share_out(order, comm.size, recipe.shares)[comm.rank]
    weights, velocity = (vector.copy() for vector in states[comm.rank % len(states)])
    pieces = _pieces(_pieces(mine, recipe.batch), recipe.accumulate)
    steps = len(pieces)
    if recipe.join:
        steps = int(comm.allreduce(np.array([steps]), op="max")[0])
    for step in range(steps):
        batches = [(images[i], labels[i]) for i in (pieces[step] if step < len(pieces) else [])]
        velocity = recipe.momentum * velocity + mean_gradient(comm, recipe, weights, batches)
        weights -= rate * velocity
    return weights, velocity, steps


def mean_gradient(comm, recipe, weights, batches):
    """The ranks' gradients averaged; `batches` are this rank's (images, labels), none when its images are used up.

    One number more than the gradient travels: how many images it stands for. A rank without images sends zeros and
    0, and so does a parameter that got no gradient, which is what it contributes to the sum.
    """
    params, total, count = unflatten(weights, recipe.params), np.zeros_like(weights), 0
    for images, labels in batches:
        total += len(labels) * flatten(recipe.gradients(params, images, labels), like=params)
        count += len(labels)
    if recipe.average != "images" and count:
        total /= count
    summed = comm.allreduce(np.append(total, weights.dtype.type(count)), algorithm=recipe.algorithm)
    return summed[:-1] / {"images": summed[-1], "ranks": comm.size, "none": 1}[recipe.average]


def _measure(recipe, weights, images, labels):
    """(mean loss, share of right answers)."""
    rows = np.asarray(recipe.scores(unflatten(weights, recipe.params), images))
    return float(network.losses(rows, labels).mean()), float((rows.argmax(axis=1) == labels).mean())


def _pieces(things, size):
    return [things[i : i + size] for i in range(0, len(things), size)]


def _launch_epoch(ranks, wire, job, timeout):
    if wire == "virtual":
        return launch(_all_in_one, 1, "pipe", args=(ranks, *job), timeout=timeout, progress=False)[0]
    return launch(epoch, ranks, wire, args=job, timeout=timeout, progress=False)  # `train` has a bar of its own


def _all_in_one(comm, ranks, *job):
    """`epoch` of all ranks in this one process, over the virtual wire."""
    from .wires.virtual import VirtualWire

    def program(rank):
        return lambda send, recv: epoch(Comm(rank, ranks, _Copying(send, recv)), *job)

    return VirtualWire(ranks, lines=False).run([program(rank) for rank in range(ranks)])


class _Copying:
    """A pair as the endpoint that `Comm` needs: it lends nothing."""

    can_lend = False

    def __init__(self, send, recv):
        self.send, self.recv = send, recv

    def lend(self, allowed, arrays=()):
        """Nothing is lent."""

    def settle(self):
        """Nothing is out."""


def _different(states):
    """How many different weights the ranks have, bit for bit."""
    return len({weights.tobytes() for weights, _ in states})


def _recipe(model, params, data, shares, batch, accumulate, average, join, momentum, algorithm, seed):
    """The settings, checked where they are given rather than on a rank."""
    if (model is None) != (params is None):
        raise BadInput("a model of your own needs both", "model=(scores, gradients) and params=[arrays to start from]")
    if model is None:
        model, params = (network.scores, network.gradients), network.start(seed=whole("seed", seed, 0))
    if not isinstance(model, (tuple, list)) or len(model) != 2 or not all(callable(part) for part in model):
        raise BadInput("model is a pair of functions: (scores, gradients)")
    params = [np.array(p, dtype=p.dtype if getattr(p, "dtype", None) == np.float32 else float) for p in params]
    if average not in AVERAGES:
        raise BadInput(f"average={average!r} is not known", f"use one of {', '.join(AVERAGES)}")
    algorithm = "ring" if algorithm is None else algorithm
    if not callable(algorithm) and algorithm not in ALGORITHMS:
        raise BadInput(f"algorithm {algorithm!r} is not known", f"use one of {', '.join(ALGORITHMS)}, or a function")
    if data is not None:
        data = (np.asarray(data[0]), np.asarray(data[1]))
        if len(data[0]) != len(data[1]) or len(data[1]) < 5:
            raise BadInput(f"{len(data[0])} images and {len(data[1])} labels", "give at least 5, one label per image")
    scores, gradients = model
    return Recipe(
        scores,
        gradients,
        params,
        data,
        None if shares is None else tuple(shares),
        whole("batch", batch),
        whole("accumulate", accumulate),
        average,
        bool(join),
        momentum,
        algorithm,
        whole("seed", seed, 0),
    )


@contextlib.contextmanager
def _bar(epochs, progress):
    """A function (loss, accuracy) that moves a progress bar by one epoch, or does nothing."""
    try:
        from tqdm.auto import tqdm
    except ImportError:
        progress = False
    if not progress:
        yield lambda loss, accuracy: None
        return
    with tqdm(total=epochs, unit="epoch") as bar:

        def move(loss, accuracy):
            bar.set_postfix_str(f"loss {loss:.3f}, {100 * accuracy:.1f} % right", refresh=False)
            bar.update()

        yield move
