"""Plain data as bytes, without pickle: what crosses from a rank to its peers and to the kernel.

None, bool, int, float, Fraction, complex, str, bytes, arrays of numbers, and lists, tuples and dicts of these.
Learners' objects never travel this way, so nothing that a rank sends can run code where it arrives.

`encode` gives a short header and the raw buffers behind it; `decode` makes arrays that share the payload's memory.
"""

import copy
import functools
import json
from fractions import Fraction

import numpy as np

from .dtypes import dtype_of, name_of

SCALARS = (bool, int, float, str, type(None))


def encode(value):
    """(header bytes, list of buffers) of a plain value; TypeError names what is not plain.

    >>> header, buffers = encode(np.arange(3.0))
    >>> header, [len(b) for b in buffers]
    (b'a<f8:3', [24])
    """
    if isinstance(value, np.ndarray):
        array = _sendable(value)
        return describe(array), [_bytes(array)]
    if type(value) is list and value and all(isinstance(part, np.ndarray) for part in value):
        arrays = [_sendable(part) for part in value]
        return describe(arrays), [_bytes(part) for part in arrays if part.nbytes]
    buffers = []
    return b"j" + json.dumps(_to_json(value, buffers), separators=(",", ":")).encode(), buffers


def describe(value):
    """The header that `encode` gives an array, or a list of arrays."""
    if isinstance(value, np.ndarray):
        return _describe(b"a", value)
    return b"l" + b";".join([_describe(b"", part) for part in value])


def shapes(header):
    """(dtype, shape) of each array that a header of `describe` tells of.

    >>> shapes(describe([np.zeros(3), np.zeros((2, 0))]))
    [(dtype('float64'), (3,)), (dtype('float64'), (2, 0))]
    """
    return [_parse(part)[:2] for part in header[1:].split(b";")]


def decode(header, payload):
    """The value of `encode`'s header and its joined buffers (any writable or read-only buffer)."""
    kind, text = header[:1], header[1:]
    if kind == b"a":
        return _array(payload, 0, *_parse(text))
    if kind == b"l":
        arrays, offset = [], 0
        for part in text.split(b";"):
            dtype, shape, nbytes = _parse(part)
            arrays.append(_array(payload, offset, dtype, shape, nbytes))
            offset += nbytes
        return arrays
    return _from_json(json.loads(text), payload)


def payload_size(buffers):
    """Bytes in `encode`'s buffers."""
    return sum(len(part) for part in buffers)


def numbers_in(value):
    """Bytes of array data in a message: an array, or a list of arrays sent as one message."""
    if isinstance(value, np.ndarray):
        return value.nbytes
    if isinstance(value, (list, tuple)):
        return sum(numbers_in(part) for part in value)
    return len(value) if isinstance(value, (bytes, str)) else 8 * (value is not None)


def copied(value):
    """A copy of a message that shares no memory with it."""
    if isinstance(value, np.ndarray):
        return value.copy()
    if type(value) in (list, tuple):
        return [copied(part) for part in value]
    return copy.deepcopy(value)


def _sendable(array):
    if array.dtype.hasobject or array.dtype.names:
        raise TypeError(f"an array of dtype {array.dtype} is no plain data: use a number type")
    return np.ascontiguousarray(array).reshape(array.shape)  # ascontiguousarray makes 0-d arrays 1-d


def _bytes(array):
    return array.reshape(-1).view(np.uint8).data if array.nbytes else b""  # a view: bfloat16 has no buffer format


def _describe(kind, array):
    return kind + f"{name_of(array.dtype)}:{','.join(map(str, array.shape))}".encode()


@functools.lru_cache(1024)
def _parse(text):
    name, _, shape = text.decode().partition(":")
    dims = tuple(int(n) for n in shape.split(",") if n)
    dtype = dtype_of(name)
    return dtype, dims, dtype.itemsize * int(np.prod(dims, dtype=np.int64))


def _array(payload, offset, dtype, shape, nbytes):
    if nbytes == 0:
        return np.empty(shape, dtype)
    return np.frombuffer(payload, np.uint8, nbytes, offset).view(dtype).reshape(shape)


def _to_json(value, buffers):
    if isinstance(value, np.ndarray):
        array = _sendable(value)
        buffers.append(_bytes(array))
        return {"a": [name_of(array.dtype), list(array.shape)]}
    if isinstance(value, SCALARS):
        return value
    if isinstance(value, np.generic):
        return _to_json(value.item(), buffers)
    if isinstance(value, Fraction):
        return {"f": [value.numerator, value.denominator]}
    if isinstance(value, complex):
        return {"c": [value.real, value.imag]}
    if isinstance(value, (bytes, bytearray, memoryview)):
        buffers.append(bytes(value))
        return {"b": len(value)}
    if isinstance(value, list):
        return [_to_json(part, buffers) for part in value]
    if isinstance(value, tuple):
        return {"t": [_to_json(part, buffers) for part in value]}
    if isinstance(value, dict):
        return {"d": [[_to_json(k, buffers), _to_json(v, buffers)] for k, v in value.items()]}
    raise TypeError(
        f"{type(value).__name__} is no plain data: use None, numbers, text, bytes, arrays, and lists, tuples, "
        "dicts of these"
    )


def _from_json(tree, payload):
    view, offset = memoryview(payload), 0

    def build(node):
        nonlocal offset
        if isinstance(node, list):
            return [build(part) for part in node]
        if not isinstance(node, dict):
            return node
        ((kind, body),) = node.items()
        if kind == "a":
            dtype, shape = dtype_of(body[0]), tuple(body[1])
            nbytes = dtype.itemsize * int(np.prod(shape, dtype=np.int64))
            array = _array(view, offset, dtype, shape, nbytes)
            offset += nbytes
            return array
        if kind == "b":
            data = bytes(view[offset : offset + body])
            offset += body
            return data
        if kind == "f":
            return Fraction(*body)
        if kind == "c":
            return complex(*body)
        if kind == "t":
            return tuple(build(part) for part in body)
        return {build(k): build(v) for k, v in body}

    return build(tree)
