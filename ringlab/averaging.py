"""The average of gradients, before any training: one batch of digits shared out, and samples on a seesaw."""

import numpy as np

from . import model as network
from .digits import digits, split
from .model import flatten
from .programs import launch
from .world import check_ranks


def digit_gradients(ranks=4, wire="pipe"):
    """(list of each rank's gradient, gradient of the whole batch), vectors of 650 numbers.

    Softmax regression (64 x 10 weights, 10 biases) at fixed weights. Each rank is a process that takes every P-th of
    the first images to train on, as many as every other rank, so the mean of the ranks' gradients is the gradient of
    all those images in one batch.
    """
    ranks = check_ranks(ranks)
    return list(launch(_gradient_of_share, ranks, wire)), _softmax_gradient(0, 1, _equal_shares(ranks))


def _gradient_of_share(comm):
    return _softmax_gradient(comm.rank, comm.size, _equal_shares(comm.size))


def _equal_shares(ranks):
    """How many of the images make equal shares."""
    total = len(split(*digits())[0][1])
    return total - total % ranks


def _softmax_gradient(rank, ranks, total):
    images, labels = digits()
    mine = np.arange(rank, total, ranks)
    return flatten(network.gradients(network.start(layers=(64, 10)), images[mine], labels[mine]))


def digits_figure(ranks=4, count=16):
    """The first `count` digits, framed by the rank that takes them in `digit_gradients`: HTML with a fixed repr."""
    from .views.digits import DigitsFigure

    images, labels = digits()
    return DigitsFigure(images[:count], labels[:count], check_ranks(ranks))


def seesaw_figure(shards=((1, 2, 3), (10,)), weights=((1, 1), (2, 1), (3, 1), (4, 1)), gradients=((3, 1), (-1, 3))):
    """Samples on a beam that is level when the average is right; the averaged gradient, which turns with the weights.

    shards: the numbers that each rank has.  weights: of the ranks' own averages, one tuple for each place of a slider.
    gradients: for each rank the mean gradient of its samples, of a model with two weights.
    """
    from .views.seesaw import seesaw

    return seesaw(shards, weights, gradients)
