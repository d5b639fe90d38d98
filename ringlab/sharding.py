"""Data parallelism with its memory cut up: who keeps which part of weights, gradients and the optimiser's state.

    stage 0   plain data parallelism: everybody keeps everything; gradients are all-reduced
    stage 1   the optimiser's state is cut up: reduce-scatter, update your own part, all-gather the weights
    stage 2   the gradients too: each layer's are reduce-scattered as soon as backward has made them
    stage 3   the weights too: each layer's are gathered when forward and backward need them, and let go again

(Rajbhandari et al., ZeRO, arXiv 1910.02054.) A ring all-reduce is a reduce-scatter and an all-gather, so stages 1 and 2
move as many bytes as plain data parallelism, and stage 3 half as many again: cutting up saves memory, not bytes.

`train` does each of them between real ranks on the digits, with Adam in float32, and counts what travels and what is
kept. `memory` and `volume` are the closed forms.
"""

from fractions import Fraction
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from . import model as network
from .digits import digits, split
from .programs import launch
from .verdicts import BadInput
from .world import check_ranks

STAGES = (0, 1, 2, 3)
NAMES = ("DDP", "ZeRO-1", "ZeRO-2", "ZeRO-3")
RATE, FIRST, SECOND, SMALL = 1e-3, 0.9, 0.999, 1e-8  # Adam's usual numbers


def memory(params, ranks, stage, weights=2, gradients=2, state=12):
    """Bytes on each device for the states of a model with `params` parameters, exact where params is.

    weights, gradients, state: bytes per parameter. 2, 2 and 12 are 16-bit training with Adam: its state is a 32-bit
    copy of the weights, a mean and a variance. In plain 32-bit training they are 4, 4 and 8.

    >>> [float(memory(7.5e9, 64, stage) / 1e9) for stage in (0, 3)]
    [120.0, 1.875]
    """
    stage, ranks = _stage(stage), check_many(ranks)
    kept = [
        part / Fraction(ranks) if stage >= since else part for part, since in ((state, 1), (gradients, 2), (weights, 3))
    ]
    whole = sum(Fraction(part) for part in kept)
    return whole * params if isinstance(params, int) else float(whole) * params


def volume(stage):
    """Numbers that a device sends per step, per parameter and (P-1)/P: 2, 2, 2, 3.

    >>> [volume(stage) for stage in (0, 1, 2, 3)]
    [2, 2, 2, 3]
    """
    return 3 if _stage(stage) == 3 else 2


def check_many(ranks):
    """Any number of devices from 1 up, or BadInput: nothing starts here."""
    if isinstance(ranks, bool) or not hasattr(ranks, "__index__") or ranks < 1:
        raise BadInput(f"ranks={ranks!r}: give a whole number from 1 up")
    return int(ranks)


def adam(gradient, state=None, rate=RATE):
    """(what to subtract from the weights, new state) of Adam (Kingma and Ba, 2014) for any vector of gradients.

    state: (mean, variance, number of steps), None to begin. Each number's update needs its own gradient and state only,
    which is why they can be cut up.
    """
    mean, variance, steps = (np.zeros_like(gradient), np.zeros_like(gradient), 0) if state is None else state
    steps += 1
    one = gradient.dtype.type(1)  # a Python float would do too, but for old rules of promotion
    mean = FIRST * mean + (one - FIRST) * gradient
    variance = SECOND * variance + (one - SECOND) * gradient * gradient
    corrected = np.sqrt(variance / (1 - SECOND**steps)) + SMALL
    return (rate / (1 - FIRST**steps) * mean / corrected).astype(gradient.dtype), (mean, variance, steps)


class Stage(NamedTuple):
    """One stage as it ran. sent: bytes per rank and step.  params: numbers of the model, padded to a multiple of P.

    weights, gradients, state: bytes that the rank with most of them keeps through a step.  passing: bytes of the most
    that it holds only for a moment beside them.  loss: at the end.  vector: the weights at the end.
    """

    stage: int
    ranks: int
    sent: tuple
    params: int
    weights: int
    gradients: int
    state: int
    passing: int
    loss: float
    vector: np.ndarray

    @property
    def kept(self):
        """Bytes of weights, gradients and state together."""
        return self.weights + self.gradients + self.state

    @property
    def volume(self):
        """Numbers sent per parameter and (P-1)/P, as `volume` foretells."""
        return Fraction(max(self.sent), 4 * self.params) * Fraction(self.ranks, max(1, self.ranks - 1))

    def __repr__(self):
        return (
            f"{NAMES[self.stage]} on {self.ranks} ranks: {max(self.sent)} bytes sent per rank and step, "
            f"{self.kept} bytes kept"
        )


def train(stage, ranks=4, steps=3, batch=32, layers=network.LAYERS, wire="pipe", timeout=60.0):
    """A `Stage`: the digits network trained for some steps with what `stage` says cut up, bytes and memory counted.

    All stages start and end with the same weights, bit for bit, since the sums are added in the same order.
    """
    stage, ranks = _stage(stage), check_ranks(ranks)
    parts = launch(_train, ranks, wire, args=(stage, steps, batch, tuple(layers)), timeout=timeout, progress=False)
    sent = [0] * ranks
    for event in parts.trace.events:
        sent[event.rank] += event.nbytes if event.kind == "send" else 0
    kept = [one["kept"] for one in parts]
    most = {kind: max(one[kind] for one in kept) for kind in ("weights", "gradients", "state", "passing")}
    vector = _assemble([one["layers"] for one in parts], layers, stage)
    params = network.unflatten(vector, network.start(layers))
    (images, labels), _ = split(*digits())
    loss = float(network.losses(network.scores(params, images), labels).mean())
    padded = sum(_padded(size, ranks) for size in _sizes(layers))
    return Stage(stage, ranks, tuple(count // steps for count in sent), padded, **most, loss=loss, vector=vector)


class Stages(list):
    """All stages of the same training; `table()` shows them."""

    def table(self):
        """Text: bytes sent and kept per rank, their ratios, and whether the weights are those of plain DDP."""
        head = f"{'':<8}{'sent':>10}{'ratio':>7}   {'weights':>9}{'gradients':>11}{'state':>9}{'kept':>9}{'share':>8}"
        lines = [f"{head}   same weights"]
        plain = self[0]
        for one in self:
            same = "yes" if np.array_equal(one.vector, plain.vector) else "NO"
            row = (
                f"{NAMES[one.stage]:<8}{max(one.sent):>10}{float(one.volume):>7g}   {one.weights:>9}{one.gradients:>11}"
            )
            lines.append(f"{row}{one.state:>9}{one.kept:>9}{100 * one.kept / plain.kept:>6.1f} %   {same}")
        return "\n".join(
            [*lines, f"bytes per rank; sent: per step, ratio: in units of (P-1)/P times the model, P = {plain.ranks}"]
        )


def compare(ranks=4, **options):
    """`Stages`: every stage, trained alike; options as for `train`."""
    return Stages(train(stage, ranks, **options) for stage in STAGES)


class Held:
    """What a rank keeps, by kind, and the most that it held of each at one time: the nbytes of its arrays."""

    def __init__(self):
        self._now, self.most = {}, dict.fromkeys(("weights", "gradients", "state", "passing"), 0)

    def keep(self, kind, key, array):
        """`array` takes the place of what `key` was; None lets it go. Gives the array."""
        if array is None:
            self._now.pop((kind, key), None)
        else:
            self._now[kind, key] = array.nbytes
        self.most[kind] = max(self.most[kind], sum(n for (which, _), n in self._now.items() if which == kind))
        return array


def _train(comm, stage, steps, batch, layers):
    """The training on this rank: what it kept, and its layers at the end (its parts of them at stage 3)."""
    (images, labels), _ = split(*digits())
    rank = Sharded(comm, stage, layers)
    for step in range(steps):
        first = (step * comm.size + comm.rank) * batch
        mine = np.arange(first, first + batch) % len(labels)
        rank.step(images[mine].astype(np.float32), labels[mine])
    return {"kept": rank.held.most, "layers": rank.weights}


class Sharded:
    """A rank of a sharded training. Each layer is one flat vector of weights and biases, padded to equal parts."""

    def __init__(self, comm, stage, layers):
        self.comm, self.stage, self.layers = comm, stage, layers
        self.held, self.count = Held(), len(layers) - 1
        self.shapes = [((layers[i], layers[i + 1]), (layers[i + 1],)) for i in range(self.count)]
        self.weights, self.gradients, self.states = [], {}, [None] * self.count
        for number, vector in enumerate(_starting(layers, comm.size)):
            self._set(number, comm.own(vector).copy() if stage == 3 else vector)

    def _set(self, number, vector):
        """These are now the weights of a layer, or this rank's part of them."""
        if number == len(self.weights):
            self.weights.append(vector)
        self.weights[number] = self.held.keep("weights", number, vector)

    def layer(self, number):
        """(weights, bias) of a layer, gathered from all ranks when each keeps a part only."""
        vector = self.weights[number]
        if self.stage == 3:
            # the layer before is let go: this name is the only one
            vector = self.held.keep("passing", "layer", self.comm.all_gather(vector, name=f"layer {number}"))
        (inputs, outputs), _ = self.shapes[number]
        cut = inputs * outputs
        return vector[:cut].reshape(inputs, outputs), vector[cut : cut + outputs]

    def step(self, images, labels):
        """One step: forward, backward, reduction, update."""
        values = network.forward(self.count, self.layer, images)
        for number, weights, bias in network.backward(self.count, self.layer, values, labels):
            self._made(number, _padded_vector([weights, bias], self.comm.size))
        for number in range(self.count):
            self._update(number)

    def _made(self, number, gradient):
        """Backward has made a layer's gradient."""
        if self.stage >= 2:
            self.held.keep("passing", "gradient", gradient)
            gradient = self.comm.reduce_scatter(gradient, name=f"layer {number}")
        elif self.stage == 0:
            self.comm.allreduce(gradient, out=gradient, name=f"layer {number}")
        self.gradients[number] = self.held.keep("gradients", number, gradient)

    def _update(self, number):
        """Move a layer's weights, or the part of them that is this rank's, and pass on what others need."""
        gradient, vector = self.gradients.pop(number), self.weights[number]
        if self.stage == 1:
            gradient = self.held.keep("passing", "part", self.comm.reduce_scatter(gradient, name=f"layer {number}"))
        update, self.states[number] = adam(gradient / self.comm.size, self.states[number])
        for which, array in zip(("mean", "variance"), self.states[number]):
            self.held.keep("state", (number, which), array)
        if self.stage in (1, 2):
            vector = self.comm.all_gather(self.comm.own(vector) - update, name=f"layer {number}")
        else:
            vector = vector - update
        self._set(number, vector)


def _starting(layers, ranks):
    params = network.start(layers)
    return [_padded_vector([p.astype(np.float32) for p in pair], ranks) for pair in zip(params[::2], params[1::2])]


def _padded_vector(arrays, ranks):
    """One vector, with zeros behind so that all parts are equally long."""
    vector = network.flatten(arrays)
    return np.concatenate([vector, np.zeros(_padded(len(vector), ranks) - len(vector), vector.dtype)])


def _padded(size, ranks):
    return -(-size // ranks) * ranks


def _sizes(layers):
    return [inputs * outputs + outputs for inputs, outputs in pairwise(layers)]


def _assemble(ranks_layers, layers, stage):
    """All weights as one vector, without padding: rank 0's, or at stage 3 the parts of all ranks, chunk by chunk."""
    whole, ranks = [], len(ranks_layers)
    for number, size in enumerate(_sizes(layers)):
        vector = ranks_layers[0][number]
        if stage == 3:
            vector = np.concatenate([ranks_layers[(chunk - 1) % ranks][number] for chunk in range(ranks)])
        whole.append(vector[:size])
    return np.concatenate(whole)


def _stage(stage):
    if isinstance(stage, bool) or stage not in STAGES:
        raise BadInput(f"stage={stage!r} is not known", "0 is plain data parallelism, 1 to 3 cut up more and more")
    return int(stage)
