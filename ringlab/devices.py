"""What makes gradients in a step of `ringlab.overlap`: a real numpy backward, or an emulated device that only waits.

A device has a label, says the shapes it makes gradients of (or none, when it takes any), and prepares a backward: an
iterator that gives the gradients as arrays, in the order in which they become ready, from the last layer to the first.
"""

import time
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from . import model
from .digits import digits
from .shapes import digits_network


class Waits(NamedTuple):
    """An emulated device: its backward waits `seconds`, spread over the bytes, and leaves the cores free.

    So does a GPU, whose arithmetic costs the processor nothing. Its gradients are whole numbers: bucket b of rank r
    holds (b + 1) 10^r, so a sum over four ranks is 1111 times b + 1 and shows who is in it.
    """

    seconds: float = 0.2

    @property
    def label(self):
        """In words."""
        return "emulated device"

    def prepare(self, rank, ranks, sizes, order):
        """The backward of rank `rank`: for each bucket in `order`, an array of `sizes[bucket]` numbers."""
        return self._backward(rank, ranks, sizes, order)

    def _backward(self, rank, ranks, sizes, order):
        worked, made = 0.0, 0
        for bucket in order:
            made += sizes[bucket]
            begin = time.perf_counter()
            time.sleep(max(0, self.seconds * made / max(1, sum(sizes)) - worked))
            worked += time.perf_counter() - begin  # what one sleep took too long, the next makes up for
            yield np.full(sizes[bucket], self.value(bucket, rank, ranks), np.float32)

    @staticmethod
    def value(bucket, rank, ranks):
        """What every number of that rank's bucket is. Exact in float32 for up to 7 ranks and 13 buckets, at least."""
        return (bucket + 1) * (10**rank if ranks <= 7 else rank + 1)

    def total(self, bucket, ranks):
        """What every number of that bucket must be after the all-reduce."""
        return sum(self.value(bucket, rank, ranks) for rank in range(ranks))


class Computes(NamedTuple):
    """A real backward: numpy walks a network with these `layers` on `images` handwritten digits, in float32."""

    layers: tuple = (64, 1024, 1024, 1024, 10)
    images: int = 256

    @property
    def label(self):
        """In words."""
        return "numpy backward"

    @property
    def shapes(self):
        """(name, shape) of its parameters, as `rl.buckets.plan` takes them."""
        return digits_network(self.layers)

    def prepare(self, rank, ranks, sizes, order):
        """The backward of rank `rank`, after its forward: arrays in reverse order of `shapes`, whatever `order` is."""
        params = [p.astype(np.float32) for p in starting(self.layers)]
        images, labels = digits()
        mine = np.arange(rank, rank + self.images * ranks, ranks) % len(labels)
        layer, count = model.pairs(params), len(self.layers) - 1
        values = model.forward(count, layer, images[mine].astype(np.float32))
        return self._backward(model.backward(count, layer, values, labels[mine]))

    @staticmethod
    def _backward(layers):
        for _, weights, bias in layers:
            yield bias
            yield weights


def starting(layers):
    """Starting parameters as `model.start` gives them, but repeated from 1,009 drawn numbers: quick for wide layers."""
    drawn, params = model.start((1, 1009))[0].ravel() / np.sqrt(6), []
    for inputs, outputs in pairwise(layers):
        weights = np.resize(drawn, inputs * outputs).reshape(inputs, outputs) * np.sqrt(6 / inputs)
        params += [weights, np.zeros(outputs)]
    return params
