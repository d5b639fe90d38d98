"""Chunks: parts of one buffer, and the assignment that copies."""

import numpy as np
import pytest

from ringlab.chunks import Chunks, Maximum, Minimum, bounds


@pytest.mark.parametrize(
    ("n", "p", "offsets"),
    [
        (10, 4, [0, 3, 6, 8, 10]),
        (8, 4, [0, 2, 4, 6, 8]),
        (2, 4, [0, 1, 2, 2, 2]),
        (0, 3, [0, 0, 0, 0]),
        (5, 1, [0, 5]),
    ],
)
def test_the_first_chunks_are_longer_by_one(n, p, offsets):
    assert bounds(n, p) == offsets


def test_assigning_copies_into_the_buffer():
    flat = np.arange(6.0)
    chunks = Chunks(flat, 3)
    chunks[1] = np.array([10.0, 20.0])
    chunks[2] += np.array([100.0, 200.0])
    assert flat.tolist() == [0, 1, 10, 20, 104, 205]


def test_a_chunk_indexes_like_a_list():
    chunks = Chunks(np.arange(5.0), 3)
    assert chunks[-1].tolist() == [4]
    assert [part.tolist() for part in chunks[1:]] == [[2, 3], [4]]
    with pytest.raises(IndexError):
        chunks[3]
    assert repr(chunks) == "Chunks([[0.0, 1.0], [2.0, 3.0], [4.0]])"


def test_plus_of_a_maximum_keeps_the_larger_from_either_side():
    big, plain = np.array([1.0, 5.0]).view(Maximum), np.array([3.0, 2.0])
    assert (big + plain).tolist() == [3, 5]
    assert (plain + big).tolist() == [3, 5]
    big += plain
    assert big.tolist() == [3, 5]
    assert (np.array([1, 5]).view(Minimum) + np.array([3, 2])).tolist() == [1, 2]
