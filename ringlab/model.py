"""A small classifier in numpy: layers, their scores, and their gradient. It knows nothing of ranks.

Parameters are a list of arrays, weights and biases in turn: [(64, 128), (128,), (128, 64), (64,), (64, 10), (10,)].
Between the layers negative values become 0. Without hidden layers this is softmax regression.
"""

from itertools import pairwise

import numpy as np

from .digits import lcg

LAYERS = (64, 128, 64, 10)


def start(layers=LAYERS, seed=0):
    """Starting parameters: weights uniform in +-sqrt(6 / inputs), drawn one by one, biases 0. float64.

    (He et al., arXiv 1502.01852, in its uniform form.)
    """
    stream, params = lcg(seed), []
    for inputs, outputs in pairwise(layers):
        drawn = np.array([next(stream) for _ in range(inputs * outputs)], dtype=float)
        params += [((drawn / 2**31 - 1) * np.sqrt(6 / inputs)).reshape(inputs, outputs), np.zeros(outputs)]
    return params


def scores(params, images):
    """(n, 10) scores of `images` (n, 64); the largest of a row is the answer."""
    return forward(len(params) // 2, pairs(params), images)[-1]


def gradients(params, images, labels):
    """The gradient of the mean loss over these images, one array per parameter."""
    layers, layer = len(params) // 2, pairs(params)
    found = []
    for _, weights, bias in backward(layers, layer, forward(layers, layer, images), labels):
        found = [weights, bias, *found]
    return found


def pairs(params):
    """A function: the number of a layer to its (weights, bias)."""
    return lambda number: (params[2 * number], params[2 * number + 1])


def forward(layers, layer, images):
    """What enters the first of `layers` layers, and what leaves each one. layer(number): its (weights, bias)."""
    values = [images]
    for number in range(layers):
        if number:
            values[-1] = np.maximum(values[-1], 0)
        weights, bias = layer(number)
        values.append(values[-1] @ weights + bias)
    return values


def backward(layers, layer, values, labels):
    """Yields (number of the layer, gradient of its weights, of its bias), from the last layer to the first.

    values: what `forward` gave.  layer: asked once for each layer, when its turn comes.
    """
    slope = softmax(values[-1])
    slope[np.arange(len(labels)), labels] -= 1
    slope /= len(labels)
    for number in reversed(range(layers)):
        weights, _ = layer(number)
        yield number, values[number].T @ slope, slope.sum(axis=0)
        if number:
            slope = (slope @ weights.T) * (values[number] > 0)


def softmax(rows):
    """Each row as probabilities. The largest score is taken off first, so that nothing overflows."""
    powers = np.exp(rows - rows.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)


def losses(rows, labels):
    """The loss of each row of scores: minus the logarithm of the probability of its label."""
    shifted = rows - rows.max(axis=1, keepdims=True)
    return np.log(np.exp(shifted).sum(axis=1)) - shifted[np.arange(len(labels)), labels]


def flatten(arrays, like=None):
    """One vector of all numbers. With `like`, the arrays must have those shapes; None stands for zeros."""
    if like is not None:
        arrays = [np.zeros_like(p) if a is None else np.asarray(a) for a, p in zip(arrays, like, strict=True)]
        for number, (array, param) in enumerate(zip(arrays, like)):
            if array.shape != param.shape:
                raise ValueError(f"gradient {number} has shape {array.shape}, its parameter {param.shape}")
    return np.concatenate([np.ravel(array) for array in arrays])


def unflatten(vector, like):
    """The arrays of `flatten`, as views of `vector` in the shapes of `like`."""
    ends = np.cumsum([array.size for array in like])
    return [vector[end - p.size : end].reshape(p.shape) for end, p in zip(ends.tolist(), like)]
