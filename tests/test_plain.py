"""Plain data crosses processes without pickle, unchanged."""

from fractions import Fraction

import numpy as np
import pytest

from ringlab import plain


def there_and_back(value):
    header, buffers = plain.encode(value)
    return plain.decode(header, b"".join(buffers))


@pytest.mark.parametrize(
    "value",
    [
        None,
        True,
        -3,
        2**70,
        0.1,
        "ümläut <b>",
        b"\x00\xff",
        1 + 2j,
        Fraction(22, 7),
        [],
        [1, [2, (3, "x")]],
        (),
        {"a": 1, 2: (None, b"q")},
        {("t", 1): [True]},
    ],
)
def test_values_survive_the_journey_with_their_types(value):
    back = there_and_back(value)
    assert back == value
    assert type(back) is type(value)


@pytest.mark.parametrize("dtype", ["i1", "u8", "f2", "f4", ">f8", "c16", "bool", "longdouble"])
@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 0, 3), (2, 3)])
def test_arrays_keep_shape_dtype_and_bits(dtype, shape):
    array = (np.arange(np.prod(shape, dtype=int)) % 2).reshape(shape).astype(dtype)
    for back in (there_and_back(array), there_and_back({"x": array})["x"], there_and_back([array, array])[1]):
        assert back.dtype == array.dtype
        assert back.shape == shape
        np.testing.assert_array_equal(back, array)


def test_bfloat16_keeps_its_name():
    ml_dtypes = pytest.importorskip("ml_dtypes")
    array = np.array([1.5, -2.0], ml_dtypes.bfloat16)
    assert there_and_back(array).dtype == array.dtype
    assert there_and_back(array).tolist() == [1.5, -2.0]


def test_arrays_among_other_things_come_back_in_order():
    value = {"a": [np.arange(3), "x", np.arange(4.0)], "b": (b"raw", np.ones((2, 2)))}
    back = there_and_back(value)
    assert back["a"][0].tolist() == [0, 1, 2]
    assert back["a"][2].tolist() == [0, 1, 2, 3]
    assert back["b"][0] == b"raw"
    assert back["b"][1].tolist() == [[1, 1], [1, 1]]


def test_numpy_scalars_become_numbers():
    assert there_and_back([np.int64(3), np.float32(0.5)]) == [3, 0.5]


@pytest.mark.parametrize(("value", "name"), [(object(), "object"), ({1, 2}, "set"), (len, "builtin")])
def test_what_is_not_plain_is_named(value, name):
    with pytest.raises(TypeError, match=f"{name}.*is no plain data"):
        plain.encode(value)


def test_an_object_array_is_refused():
    with pytest.raises(TypeError, match="dtype object is no plain data"):
        plain.encode(np.array([1, "a"], object))


def test_a_message_weighs_what_its_arrays_weigh():
    assert plain.numbers_in(np.zeros(3)) == 24
    assert plain.numbers_in([np.zeros(3), np.zeros(2, "f4")]) == 32
