"""One all-reduce on the virtual wire: real arithmetic on real arrays, simulated time."""

import numpy as np

from .chunks import ADDERS, Chunks
from .rank import returned_buffer
from .record import RECV
from .wires.virtual import VirtualWire


def simulate(function, buffers, op, network, wire_dtype=None, adds=None, wraps=(), on_switch=None):
    """(what each rank returned, events per rank, virtual seconds of the slowest rank) of `function` on flat buffers.

    adds: per rank and receive whether an addition follows, which is when gamma is charged (`additions` of a probe).
    """
    ranks, adder = len(buffers), ADDERS[op]
    wire = VirtualWire(ranks, network, adds=adds, on_switch=on_switch)

    def program(rank, buffer):
        def play(send, recv):
            if wire_dtype is not None and np.dtype(wire_dtype) != buffer.dtype:
                send, recv = _casting(send, recv, wire_dtype, buffer.dtype)
            if adder is not np.ndarray:
                recv = _viewing(recv, adder)
            for wrap in wraps:
                send, recv = wrap.wrap(rank, send, recv, None)
            chunks = Chunks(buffer.view(adder), ranks)
            return returned_buffer(function(chunks, rank, send, recv), chunks)

        return play

    returned = wire.run([program(rank, buffer) for rank, buffer in enumerate(buffers)])
    return returned, wire.events, max(wire.now)


def additions(probe):
    """Per rank, for each of its receives in order: whether what came was added rather than copied."""
    if probe is None:
        return None
    found = []
    for kinds, messages, changes in zip(probe["kinds"], probe["messages"], probe["changes"], strict=True):
        found.append(
            [_added(messages[i], changes[i + 1]) for i, kind in enumerate(kinds) if kind == RECV],
        )
    return found


def _added(message, changes):
    came = {chunk: tuple(terms) for part in message for chunk, terms in part or ()}
    return any(tuple(dict(held or ()).get(chunk, ())) != came.get(chunk) for chunk, held in changes)


def _each(x, change):
    return change(x) if isinstance(x, np.ndarray) else [change(part) for part in x]


def _casting(send, recv, wire_dtype, dtype):
    return (
        lambda x, dst: send(_each(x, lambda part: part.astype(wire_dtype)), dst),
        lambda src: _each(recv(src), lambda part: part.astype(dtype)),
    )


def _viewing(recv, adder):
    return lambda src: _each(recv(src), lambda part: part.view(adder))
