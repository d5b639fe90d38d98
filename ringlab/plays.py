"""What a rank can be asked to do: one all-reduce, any program, a probe, a virtual run of all ranks, a judged one.

Each `play(rank, call, wire, block)` gets everything ready and returns the function that does it; what that returns is
the rank's answer, plain data.
"""

import io
import sys

from .chunks import ADDERS, Chunks, returned_buffer
from .comm import Comm
from .dtypes import quiet
from .exceptions import describe_exception
from .prints import Printer, PrinterForAll
from .record import CURRENT, EVENTS, MOVED
from .wires.casting import Casting
from .wires.endpoint import Endpoint


def load(data):
    """A function (or other object) that the kernel sent by value."""
    import cloudpickle

    return cloudpickle.loads(data)


def _play_run(rank, call, wire, block):
    """One all-reduce over the chunks of a buffer; answers with the buffer that came back."""
    function, wraps = load(call["function"]), load(call["wraps"]) if call["wraps"] else ()
    ranks = call["ranks"]
    buffer = wire.buffer(call["slot"], ranks) if "slot" in call else call["buffer"]
    adder = ADDERS[call["op"]]
    casting = Casting.between(buffer.dtype, call["wire_dtype"], call.get("adopt", True))
    endpoint = Endpoint(wire, block, ranks, casting=casting, adder=adder, **_manner(call))
    send, recv = endpoint.send, endpoint.recv
    for wrap in wraps:
        send, recv = wrap.wrap(rank, send, recv, endpoint.clock(call["starts"]))
    chunks = Chunks(buffer.view(adder), ranks)

    def play():
        with quiet():
            endpoint.lend(call.get("lends", False))
            returned = function(chunks, rank, send, recv)
            endpoint.settle()
            if returned is chunks and "slot" in call:
                return "in its region"
            return returned_buffer(returned, chunks)

    return play


def _play_launch(rank, call, wire, block):
    """Any program on this rank; answers with what it returned."""
    program, args = load(call["function"])
    comm = Comm(rank, call["ranks"], Endpoint(wire, block, call["ranks"], **_manner(call)))
    return lambda: program(comm, *args)


def _manner(call):
    """How messages go in this call: their mode, the network that is emulated, and which sends wait."""
    network = load(call["network"]) if call.get("network") else None
    return {"mode": call["mode"], "network": network, "eager": call.get("eager")}


def _play_probe(rank, call, wire, block):
    """All ranks of a probe, in this one process; answers with None when the code does not run on marks."""
    from .probe import run_probe

    function = load(call["function"])

    def play():
        sys.stdout = sys.stderr = io.StringIO()  # a probe is silent
        try:
            return run_probe(function, call["ranks"], on_switch=_noting(block))
        except Exception:
            return None  # the run itself will tell why
        finally:
            sys.stdout = sys.stderr = Printer(block)

    return play


def _play_virtual(rank, call, wire, block):
    """All ranks of a virtual run, in this one process."""
    from .simulate import simulate

    function, network, wraps = load(call["function"])
    options = {key: call[key] for key in ("buffers", "op", "wire_dtype", "adopt", "starts")}
    return lambda: _virtually(block, simulate, function, network=network, wraps=wraps, **options)


def _play_virtual_launch(rank, call, wire, block):
    """All ranks of any program, in this one process."""
    from .simulate import simulate_program

    program, network, args = load(call["function"])
    return lambda: _virtually(block, simulate_program, program, args, call["ranks"], network)


def _virtually(block, simulation, *args, **options):
    """What a simulation returned, its events and its virtual seconds; or, as plain data, how it failed."""
    from .sandbox import pack
    from .verdicts import Deadlock
    from .wires.virtual import RankFailed

    sys.stdout = sys.stderr = PrinterForAll(block)
    note = _noting(block)
    try:
        returned, virtual = simulation(*args, watch=note, **options)
    except (RankFailed, Deadlock) as error:  # told as a value: nothing is wrong with this process
        return {"failed": describe_exception(error), "programs": [pack(program) for program in error.programs]}
    return returned, [pack(program) for program in virtual.events], max(virtual.now)


def _play_judge(rank, call, wire, block):
    """All ranks of a judged run, in this one process; answers with what they did, however far they came."""
    from .judge.observe import observe

    function = load(call["function"])

    def note(round):
        block.state[EVENTS] = round  # nothing else is recorded: so a death or a stall can be placed
        block.state[MOVED] += 1

    def play():
        sys.stdout = sys.stderr = io.StringIO()
        try:
            return observe(function, call["ranks"], note=note, on_switch=_noting(block))
        finally:
            sys.stdout = sys.stderr = Printer(block)

    return play


def _noting(block):
    """Note in the record which rank has the floor, and how many events it has behind it where that is told."""

    def note(current, events=None):
        block.state[CURRENT] = current
        if events is not None:
            block.state[EVENTS] = events
        block.state[MOVED] += 1

    return note


PLAYS = {
    "run": _play_run,
    "launch": _play_launch,
    "probe": _play_probe,
    "virtual": _play_virtual,
    "virtual-launch": _play_virtual_launch,
    "judge": _play_judge,
}
