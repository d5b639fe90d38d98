"""One all-reduce, or any program, on the virtual wire: real arithmetic on real arrays, simulated time."""

import numpy as np

from .chunks import ADDERS, Chunks, returned_buffer
from .comm import Comm
from .dtypes import quiet
from .wires.casting import Casting
from .wires.virtual import VirtualWire
from .wires.virtual_endpoint import VirtualEndpoint

ADDITIONS = (np.add, np.maximum, np.minimum)  # what `+` means under the four operations


def simulate(
    function, buffers, op, network, wire_dtype=None, adopt=True, wraps=(), starts=None, watch=None, **wire_options
):
    """(what each rank returned, the VirtualWire after the run) of `function` on flat buffers, which it changes.

    starts: per rank and event its round, where foretold, for wraps that act in a round. watch(rank, events) is called
    when a rank gets the floor and around its sends and receives, with the number of events behind it. wire_options: as
    VirtualWire takes them.
    """
    ranks, adder = len(buffers), ADDERS[op]
    wire = _wire(ranks, network, watch, wire_options)

    def program(rank, buffer):
        def play(send, recv):
            casting = Casting.between(buffer.dtype, wire_dtype, adopt)
            if casting is not None:
                send, recv = _cast(send, recv, casting)
            if network.gamma:
                recv = _viewing(recv, _charging(adder, lambda nbytes: wire.spend(rank, network.gamma * nbytes)))
            elif adder is not np.ndarray:
                recv = _viewing(recv, adder)
            for wrap in wraps:
                send, recv = wrap.wrap(rank, send, recv, Clock(wire, rank, starts and starts[rank]))
            if watch is not None:
                send, recv = _watched(send, recv, lambda: watch(rank, wire.completed(rank)))
            chunks = Chunks(buffer.view(adder), ranks)
            return returned_buffer(function(chunks, rank, send, recv), chunks)

        return play

    with quiet():
        returned = wire.run([program(rank, buffer) for rank, buffer in enumerate(buffers)])
    return returned, wire


def simulate_program(program, args, ranks, network, watch=None, **wire_options):
    """(what each rank returned, the VirtualWire after the run) of `program(comm, *args)` on every rank."""
    wire, tags = _wire(ranks, network, watch, wire_options), VirtualEndpoint.tags()

    def play(rank):
        def on_this_rank(send, recv):
            if watch is not None:
                send, recv = _watched(send, recv, lambda: watch(rank, wire.completed(rank)))
            return program(Comm(rank, ranks, VirtualEndpoint(wire, rank, send, recv, tags)), *args)

        return on_this_rank

    return wire.run([play(rank) for rank in range(ranks)]), wire


def _wire(ranks, network, watch, options):
    wire = VirtualWire(ranks, network, **options)
    if watch is not None:
        wire.on_switch = lambda rank: watch(rank, wire.completed(rank))
    return wire


class Clock:
    """For wraps: in which round a virtual rank is (counted per event when nobody foretold the rounds)."""

    def __init__(self, wire, rank, starts):
        self._wire, self._rank, self._starts = wire, rank, starts

    def round(self):
        """The round of the rank's next event."""
        done = self._wire.completed(self._rank)
        return self._starts[min(done, len(self._starts) - 1)] if self._starts else done

    def flush(self):
        """What was sent is on its way already."""

    def pause(self, seconds):
        """Let the rank be busy for that long, on its own clock."""
        self._wire.spend(self._rank, seconds)

    def tamper(self, change):
        """There are no frames here that could be lost, doubled or cut."""
        raise ValueError("frames are lost, doubled and cut on real wires only: use wire='pipe'")


def _charging(adder, charge):
    """An array class like `adder` that tells of every addition it takes part in: charge(bytes added)."""

    class Charging(adder):  # type: ignore[valid-type, misc]
        def __array_ufunc__(self, ufunc, method, *inputs, out=None, **options):
            plain = [x.view(np.ndarray) if isinstance(x, Charging) else x for x in inputs]
            if out is not None:
                options["out"] = tuple(x.view(np.ndarray) if isinstance(x, np.ndarray) else x for x in out)
            result = getattr(ufunc, method)(*plain, **options)
            if ufunc in ADDITIONS and method == "__call__" and isinstance(result, np.ndarray):
                charge(result.nbytes)
            if out is not None:
                return out[0]
            return result.view(adder) if isinstance(result, np.ndarray) else result

    return Charging


def _each(x, change):
    return change(x) if isinstance(x, np.ndarray) else [change(part) for part in x]


def _cast(send, recv, casting):
    return lambda x, dst: send(casting.out(x), dst), lambda src: casting.back(recv(src))


def _watched(send, recv, watch):
    def watched_send(x, dst):
        watch()
        send(x, dst)
        watch()

    def watched_recv(src):
        watch()
        got = recv(src)
        watch()
        return got

    return watched_send, watched_recv


def _viewing(recv, adder):
    return lambda src: _each(recv(src), lambda part: part.view(adder))
