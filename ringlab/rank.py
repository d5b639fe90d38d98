"""What a rank process does: wait for a call, play it, answer.

A rank trusts the kernel that started it and nobody else. It ignores Ctrl-C, prints into its record, and ends itself
when the kernel is gone, even while learner code loops.
"""

import contextlib
import functools
import io
import os
import signal
import socket
import sys
import threading
import time
import traceback

import numpy as np

from . import hygiene, machine, plain, source
from .arena import Arena
from .channel import receive_message, send_message
from .chunks import ADDERS, Chunks
from .comm import Comm
from .dtypes import quiet
from .record import CURRENT, DONE, EVENTS, MARK, MARK_END, MOVED, PHASE, Record
from .wires.casting import Casting
from .wires.endpoint import Endpoint
from .wires.pipe import PipeWire
from .wires.shm import ShmWire


def main(rank, ranks, segment, control, life, death, links, shared=None):
    """Serve calls until the kernel says stop or disappears."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})  # it was blocked until now, see `world`
    if hasattr(socket, "fromshare") and not isinstance(control, socket.socket):  # Windows: handed over by a pipe
        control, life, *others = (socket.fromshare(control.recv_bytes()) for _ in range(ranks + 1))
        links = dict(zip([peer for peer in range(ranks) if peer != rank], others, strict=True))
    if death is not None:
        _die_when_closed(death.fileno())
    if hasattr(os, "register_at_fork"):  # a fork by learner code must not serve our lines as a second rank
        os.register_at_fork(after_in_child=functools.partial(os._exit, 1))
    arena = Arena(ranks, shared[0]) if shared is not None else None
    _limit_memory()
    control.setblocking(True)
    record = Record(ranks, segment)
    block = record.blocks[rank]
    watch_the_kernel(life, threading.main_thread().ident)
    wires: dict = {"buffered": PipeWire(rank, links)}
    if shared is not None:  # the memory that all ranks see, this one's doorbell, those of the others
        _, door, bells = shared
        wires["lending"] = ShmWire(rank, door.fileno(), {peer: bell.fileno() for peer, bell in bells.items()}, arena)
    _keep_to_a_core(rank, ranks)
    clean, modules = hygiene.state(), hygiene.Modules()
    modules.look()
    import cloudpickle  # noqa: F401  (now, so that no call pays for it)

    send_message(control, {"say": "up"})
    while True:
        try:
            call = receive_message(control)
        except (EOFError, OSError):
            os._exit(0)
        sys.stdout = sys.stderr = _Printer(block)
        wire = wires.get(call.get("mode"), wires["buffered"])
        answer = _answer(rank, call, wire, block, control)
        if answer["say"] == "done":
            answer |= {"dirty": hygiene.changed(clean, hygiene.state()), "modules": modules.look()}
        send_message(control, answer)


def watch_the_kernel(life, thread):
    """Answer the kernel's question "where are you?", and end this process when the kernel is gone."""

    def watch():
        while True:
            try:
                life.setblocking(True)
                asked = life.recv(1)
            except OSError:
                asked = b""
            if not asked:
                os._exit(1)
            frame = sys._current_frames().get(thread)
            stack = traceback.extract_stack(frame) if frame else []
            lines: list = [[entry.filename, entry.lineno or 0, entry.name] for entry in stack]
            with contextlib.suppress(OSError):
                send_message(life, [entry for entry in lines if not entry[0].startswith(source.PACKAGE)][-8:])

    threading.Thread(target=watch, daemon=True, name="ringlab watch").start()


def _die_when_closed(death):
    """Where the system can: a signal that ends this process, and what it forked, when `death` closes.

    Even if C code keeps the GIL.
    """
    with contextlib.suppress(ImportError, AttributeError, OSError):
        import fcntl

        os.setpgid(0, 0)  # what this rank forks is in its group, and ends with it
        fcntl.fcntl(death, fcntl.F_SETOWN, -os.getpid())
        fcntl.fcntl(death, fcntl.F_SETFL, fcntl.fcntl(death, fcntl.F_GETFL) | os.O_ASYNC)  # SIGIO ends a process


def _limit_memory():
    """Let this process ask for what the machine has and no more: a MemoryError here instead of a dead machine."""
    free = machine.free_memory()
    with contextlib.suppress(ImportError, ValueError, OSError):
        import resource

        _, hard = resource.getrlimit(resource.RLIMIT_AS)
        if free is not None and sys.platform == "linux":
            with open("/proc/self/statm") as file:
                mapped = int(file.read().split()[0]) * resource.getpagesize()
            limit = mapped + free if hard == resource.RLIM_INFINITY else min(mapped + free, hard)
            resource.setrlimit(resource.RLIMIT_AS, (limit, hard))


def _keep_to_a_core(rank, ranks):
    """Where ranks fill all cores, deal the cores out: the system tends to put those that wait for each other on one."""
    with contextlib.suppress(AttributeError, OSError):  # not on this system
        cores = sorted(os.sched_getaffinity(0))
        if ranks >= len(cores):
            os.sched_setaffinity(0, {cores[(rank + os.getppid()) % len(cores)]})


class _Printer(io.TextIOBase):
    """Prints go to the record, from where the kernel shows them in the cell."""

    def __init__(self, block):
        self._block = block

    def write(self, text):
        self._block.add_print(text)
        return len(text)

    def writable(self):
        return True


class _PrinterForAll(_Printer):
    """The same for a process that plays all ranks: a mark says whose print follows."""

    def __init__(self, block):
        super().__init__(block)
        self._last = -1

    def write(self, text):
        current = self._block.state[CURRENT]
        if current != self._last:
            self._last = current
            self._block.add_print(f"{MARK}{current}{MARK_END}")
        return super().write(text.replace(MARK, " "))


def _answer(rank, call, wire, block, control):
    """Play one call; plain data about how it ended."""
    block.clear()
    wire.begin(call["call"], call.get("ranks", 1))
    try:
        play = PLAYS[call["do"]](rank, call, wire, block)
        send_message(control, {"say": "ready"})
        if receive_message(control) != "go":
            return {"say": "dropped"}
        start = time.perf_counter_ns()
        value = play()
        end = time.perf_counter_ns()
        block.state[PHASE] = DONE
        answer = {"say": "done", "value": value, "start": start, "end": end}
        plain.encode(answer)
    except SystemExit as left:
        code = left.code if isinstance(left.code, int) else 0 if left.code is None else 1
        wire.flush()
        os._exit(code)
    except BaseException as error:
        answer = describe_exception(error)
    return answer


def describe_exception(error):
    """What the kernel needs to know about an exception on a rank: plain text, the learner's own lines first."""
    if type(error).__name__ == "RankFailed":  # of a virtual run
        waits = [list(wait) for wait in error.waits.values()]
        return {**describe_exception(error.__cause__), "rank": error.rank, "events": error.events, "waits": waits}
    entries = traceback.extract_tb(error.__traceback__)
    own = [entry for entry in entries if not entry.filename.startswith(source.PACKAGE)]
    last = (own or entries or [None])[-1]
    return {
        "say": "raised",
        "type": type(error).__name__,
        "text": str(error),
        "line": last.lineno if last else 0,
        "where": last.name if last else "",
        "rank": None,
        "verdict": getattr(error, "verdict", None),
        "cycle": list(getattr(error, "cycle", ())),
        "waits": [list(wait) for wait in getattr(error, "waits", ())],
        "done": list(getattr(error, "done", ())),
        "shut": getattr(error, "shut", None),
        "peer": getattr(error, "peer", None),
        "detail": getattr(error, "detail", ""),
        "file": last.filename if last else "",
        "traceback": [line.rstrip() for entry in own for line in traceback.format_list([entry])],
    }


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


def returned_buffer(returned, chunks):
    """The flat array of what an algorithm returned: its Chunks, or a list of arrays; plain data says what else."""
    if returned is chunks:
        return chunks.buffer.view(np.ndarray)
    if isinstance(returned, Chunks):
        return np.asarray(returned.buffer)
    if isinstance(returned, np.ndarray):
        return returned.ravel().view(np.ndarray)
    if isinstance(returned, (list, tuple)) and returned and all(isinstance(part, np.ndarray) for part in returned):
        return np.concatenate([part.ravel().view(np.ndarray) for part in returned])
    return {"returned": "None" if returned is None else type(returned).__name__}


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
            sys.stdout = sys.stderr = _Printer(block)

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

    sys.stdout = sys.stderr = _PrinterForAll(block)
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
            sys.stdout = sys.stderr = _Printer(block)

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
