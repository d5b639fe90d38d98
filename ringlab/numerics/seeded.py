"""Numbers from a seed that are the same on every machine and in every version of numpy.

numpy promises that of its bit generators but not of the streams made from them. Here everything is integer arithmetic
modulo 2**64 and one exact conversion.
"""

import math

import numpy as np

STEP = np.uint64(0x9E3779B97F4A7C15)  # 2**64 / golden ratio, odd


def random_bits(seed, shape):
    """An array of random uint64: the outputs of SplitMix64 started at `seed` (Steele, Lea, Flood, OOPSLA 2014).

    >>> [hex(x) for x in random_bits(0, 2).tolist()]
    ['0xe220a8397b1dcdaf', '0x6e789e6aa1b965f4']
    """
    shape = (shape,) if hasattr(shape, "__index__") else tuple(shape)
    state = np.arange(1, math.prod(shape) + 1, dtype=np.uint64) * STEP + np.array([seed % 2**64], np.uint64)
    state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return (state ^ (state >> np.uint64(31))).reshape(shape)


def uniforms(seed, shape):
    """Numbers of [0, 1), float64: whole multiples of 2**-32."""
    return (random_bits(seed, shape) >> np.uint64(32)).astype(np.int64) / 2.0**32


def normals(seed, shape):
    """Numbers with mean 0 and deviation 1, float64: each the sum of twelve uniform ones, less 6.

    Such a sum is as good as normal out to three deviations, and it is exact, so nobody's logarithm comes into it.
    """
    shape = (shape,) if hasattr(shape, "__index__") else tuple(shape)
    parts = (random_bits(seed, (12, *shape)) >> np.uint64(32)).astype(np.int64)
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    return (total - 6 * 2**32) / 2.0**32
