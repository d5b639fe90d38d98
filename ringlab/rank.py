"""What a rank process does: wait for a call, play it, answer.

A rank trusts the kernel that started it and nobody else. It ignores Ctrl-C, prints into its record, and ends itself
when the kernel is gone, even while learner code loops.
"""

import contextlib
import functools
import os
import signal
import socket
import sys
import threading
import time
import traceback

from . import hygiene, machine, plain, source
from .arena import Arena
from .channel import receive_message, send_message
from .exceptions import describe_exception
from .plays import PLAYS
from .prints import Printer
from .record import DONE, PHASE, Record
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
        sys.stdout = sys.stderr = Printer(block)
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
