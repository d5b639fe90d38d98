"""Worlds: a set of rank processes that are started once and then serve many calls.

The kernel makes every link before it starts the ranks and keeps only its own lines to them. A call that fails ends
with all its ranks: they are killed, and fresh ones start in the background, so no message, buffer or half-written
frame of a failed call can ever reach a later one. No lock is shared between processes.

This is the only place where processes start.
"""

import atexit
import contextlib
import os
import selectors
import socket
import threading
import time

from . import hygiene, needs
from . import rank as rank_module
from .arena import Arena, no_room
from .channel import Channel
from .process import Rank, context_of, environment
from .record import Record
from .verdicts import BadInput, Closed, NoResource, StartupFailed

MAX_RANKS = 64
STARTUP_SECONDS = 60
START = "spawn"  # how ranks start where nobody says how
_starting = threading.Lock()
_worlds = []  # every world that is open, for the end of the kernel


def check_ranks(ranks):
    """`ranks` as an int from 1 to MAX_RANKS, or BadInput."""
    if isinstance(ranks, bool) or not hasattr(ranks, "__index__"):
        raise BadInput(f"ranks={ranks!r} is no whole number", f"use 1 to {MAX_RANKS}")
    if not 1 <= ranks <= MAX_RANKS:
        raise BadInput(f"ranks={ranks} is out of range", f"real processes: 1 to {MAX_RANKS}; wire='virtual' takes more")
    return int(ranks)


class World:
    """`ranks` processes, ready for calls; a context manager.

    `run` and `launch` are as `rl.run` and `rl.launch`, on this world's ranks. One call at a time: a second thread
    waits. `close` ends the ranks; a call after that raises Closed.
    """

    def __init__(self, ranks=4, wire="pipe", start=None):
        self.size, self.wire = check_ranks(ranks), wire
        self._context = context_of(start or START)
        self.lock = threading.RLock()
        self.used = time.monotonic()
        self.calls = 0
        self._ranks, self._record, self._arena, self._selector = [], None, None, None
        self._closed = False
        self._start_error = None
        self.failed = False  # the ranks could not be started the last time
        self.calling = False  # a call is on, or was given up so hastily that its ranks may still be at it
        self._starter = None
        self.modules = {}  # the learner's files that the ranks have loaded, with their times
        _worlds.append(self)
        self.start_in_background()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def __repr__(self):
        return f"World(ranks={self.size}, wire={self.wire!r})"

    def run(self, algorithm, inputs=None, **options):
        """`rl.run` on this world's ranks."""
        from .runs import run

        options.setdefault("ranks", self.size)
        options.setdefault("wire", self.wire)
        return run(algorithm, inputs, world=self, **options)

    def launch(self, program, args=(), **options):
        """`rl.launch` on this world's ranks."""
        from .programs import launch

        options.setdefault("ranks", self.size)
        options.setdefault("wire", self.wire)
        return launch(program, args=args, world=self, **options)

    def start_in_background(self):
        """Begin to start the ranks; `ready` waits for them."""
        self._starter = _Starter(self._start)
        self._starter.start()

    def ready(self):
        """The ranks, all up and alive: fresh ones when some have died, or a learner's module was edited."""
        if self._closed:
            raise Closed("this world is closed", "make a new one, or use rl.run, which keeps its own")
        self._starter.await_end()
        broken = self.calling or len(self._ranks) != self.size  # somebody pressed interrupt again and again
        stale = broken or hygiene.edited(self.modules) or not all(rank.alive for rank in self._ranks)
        if self._start_error is None and stale:
            self.replace()
            self._starter.await_end()
        if self._start_error is not None:
            error, self._start_error = self._start_error, None
            self.failed = True
            self.start_in_background()  # the next call may find more room
            raise error
        self.failed = False
        return self._ranks

    def kill(self, rank):
        """Kill the process of one rank, now: a call that is under way ends in KILLED. From any thread."""
        for one in self._ranks[rank : rank + 1]:
            one.kill()

    def replace(self):
        """Kill all ranks now and start fresh ones in the background."""
        self.modules = {}
        self._end_ranks()
        if not self._closed:
            self.start_in_background()
        self.calling = False

    def close(self):
        """End the ranks. Closing twice is fine."""
        self._closed = True
        if self._starter is not threading.current_thread():
            self._starter.await_end()
        self._end_ranks()
        if self in _worlds:
            _worlds.remove(self)

    @property
    def closed(self):
        """Whether `close` was called."""
        return self._closed

    @property
    def record(self):
        """The shared record of the ranks."""
        return self._record

    @property
    def arena(self):
        """The memory that all ranks see; NoResource when there was none to be had."""
        if self._arena is None:
            raise no_room(2**20)
        return self._arena

    def poll(self, seconds):
        """Move bytes on all lines for at most `seconds`; True when something moved or a rank died."""
        for rank in self._ranks:
            if rank.channel.open:
                mask = selectors.EVENT_READ | (selectors.EVENT_WRITE if rank.channel.writing else 0)
                self._selector.modify(rank.channel.sock, mask, rank.channel)
        found = self._selector.select(seconds)
        for key, mask in found:
            channel = key.data
            if mask & selectors.EVENT_WRITE:
                channel.write()
            if mask & selectors.EVENT_READ:
                channel.read()
            if not channel.open:
                self._selector.unregister(channel.sock)
        return bool(found)

    def _start(self):
        try:
            with _starting:
                self._spawn()
            self._wait_until_up()
        except Exception as error:
            self._start_error = error
            self._end_ranks()

    def _spawn(self):
        size = self.size
        needs.check(size)
        self._selector = selectors.DefaultSelector()
        self._record = Record(size)
        doors = self._make_arena()
        links = [{} for _ in range(size)]
        for low in range(size):
            for high in range(low + 1, size):
                links[low][high], links[high][low] = socket.socketpair()
        with environment():
            for rank in range(size):
                self._ranks.append(self._spawn_rank(rank, links[rank], doors))
                self._selector.register(self._ranks[-1].channel.sock, selectors.EVENT_READ, self._ranks[-1].channel)
        for end in [*(sock for ends in links for sock in ends.values()), *(end for door in doors for end in door)]:
            end.close()

    def _make_arena(self):
        """The memory that all ranks see; per rank the (reading, writing) ends of its doorbell. Not on Windows."""
        if os.name == "nt":
            return []
        with contextlib.suppress(NoResource):  # only calls on the shm wire need it
            self._arena = Arena(self.size)
            return [self._context.Pipe(duplex=False) for _ in range(self.size)]
        return []

    def _spawn_rank(self, rank, links, doors):
        context = self._context
        control, rank_control = socket.socketpair()
        life, rank_life = socket.socketpair()
        if os.name == "nt":
            rank_end, kernel_end = context.Pipe(duplex=False)
            arguments: tuple = (rank, self.size, self._record.segment, rank_end, None, None, None)
            death = rank_death = None
        else:
            rank_death, death = context.Pipe(duplex=False)
            arguments = (rank, self.size, self._record.segment, rank_control, rank_life, rank_death, links)
            if doors:
                bells = {peer: bell for peer, (_, bell) in enumerate(doors) if peer != rank}
                arguments += ((self._arena.segment, doors[rank][0], bells),)
        process = context.Process(target=rank_module.main, args=arguments, name=f"ringlab rank {rank}", daemon=True)
        process.start()
        if os.name == "nt":
            for sock in (rank_control, rank_life, *links.values()):
                kernel_end.send_bytes(sock.share(process.pid))
        for line in (rank_control, rank_life, rank_death):
            if line is not None:
                line.close()
        return Rank(process, Channel(control), life, death)

    def _wait_until_up(self):
        deadline = time.monotonic() + STARTUP_SECONDS
        waiting = set(range(self.size))
        while waiting:
            self.poll(0.05)
            for rank in sorted(waiting):
                if self._ranks[rank].channel.receive() is not None:
                    waiting.discard(rank)
                elif not self._ranks[rank].alive:
                    raise StartupFailed(
                        f"rank {rank} ended with code {self._ranks[rank].process.exitcode} before it was up",
                        "run `python3 lab.py doctor`: it says what this machine lacks",
                        rank=rank,
                    )
            if time.monotonic() > deadline:
                raise StartupFailed(f"rank {min(waiting)} was not up after {STARTUP_SECONDS} s", rank=min(waiting))

    def _end_ranks(self):
        for rank in self._ranks:
            rank.kill()
        ranks, self._ranks = self._ranks, []
        for rank in ranks:
            rank.end()
        if self._record is not None:
            self._record.close()
            self._record = None
        if self._arena is not None:
            self._arena.close()
            self._arena = None
        if self._selector is not None:
            self._selector.close()
            self._selector = None


class _Starter(threading.Thread):
    """A thread that does one thing, and its end, which one can await and be interrupted.

    An interrupted `join` would take the thread for dead (before Python 3.13), and the ranks that it starts for lost.
    """

    def __init__(self, work):
        super().__init__(daemon=True)
        self._work, self._ended = work, threading.Event()

    def run(self):
        """Do it."""
        try:
            self._work()
        finally:
            self._ended.set()

    def await_end(self):
        """Return when it is done."""
        if self.ident is None:  # an interrupt came just before its start
            self.start()
        self._ended.wait()


def close():
    """End all ranks of all worlds; the next call starts fresh ones."""
    for world in list(_worlds):
        world.close()


atexit.register(close)
