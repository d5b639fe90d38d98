"""`rl.measure`: alpha, beta and gamma of this machine, from messages and additions of real ranks.

The ping-pong is played with a ball for every rank: all serve to their right neighbour at the same moment, and each hits
on what comes from its left. With two ranks that is the usual game with two balls. With more ranks than cores it is as
crowded as an all-reduce will be, which is the point: who measures two ranks alone and then runs eight on two cores
predicts a quarter of what it takes. A message counts as arrived when it lies in a chunk of the receiver's.

Then every rank adds parts of its buffer, all at the same time. Buffers are as large as those of an all-reduce, since
what fits into a cache is faster. Of several turns the fastest counts, of each turn the slowest rank.
"""

import os
import time

import numpy as np

from . import machine
from .bench_timing import take_a_core
from .chunks import Chunks
from .fitting import fit_line
from .measured import Measured, Point
from .programs import launch
from .verdicts import BadInput
from .world import check_ranks

BUFFERS = (64, 1_000, 8_000, 64_000, 512_000, 2_000_000, 8_000_000, 16_000_000)  # bytes per rank
WIRES = ("pipe", "shm")
FEWEST_TURNS, MOST_TURNS = 3, 9
AT_ONCE = 2**20  # bytes that a rank sends in one measurement of small messages
MOST_MESSAGES = 40
ADDED_AT_ONCE, MOST_ADDITIONS = 2**23, 200  # bytes, and additions, of one measurement
ITEM = 4  # bytes of a float32


def measure(wire="pipe", ranks=2, seconds=1.0, largest=BUFFERS[-1], progress=True, world=None):
    """A `Measured` network: alpha, beta and gamma of `ranks` real ranks on `wire`, fitted, with intervals and points.

    wire: "pipe" or "shm".  ranks: from 2 up; the result holds for that many, cores shared as they are.  seconds: about
    how long to go on after the ranks have started (3 turns at least).  largest: bytes of the largest buffer per rank;
    less where shared memory is short.  progress: show a bar when it takes long.
    """
    if wire not in WIRES:
        raise BadInput(f"wire={wire!r} cannot be measured", f"use one of {', '.join(WIRES)}")
    ranks = check_ranks(ranks)
    if ranks < 2:
        raise BadInput(f"ranks={ranks}: a message needs a sender and a receiver", "use 2 or more")
    if isinstance(seconds, bool) or not isinstance(seconds, (int, float)) or not 0 <= seconds <= 3600:
        raise BadInput(f"seconds={seconds!r} is no time to measure for", "use 0 to 3600; 1 is good")
    buffers = _buffers(largest, wire, ranks)
    found = launch(ping_pong, ranks, wire, args=(buffers, float(seconds)), world=world, progress=progress)
    return from_times(buffers, np.max(found, axis=0), wire, ranks)


def from_times(buffers, times, wire, ranks, cores=None):
    """The `Measured` of `times`, of shape (turns, buffers, 2): seconds for one message, and for one addition."""
    points = []
    for which, what in enumerate(("message", "add")):
        for i, buffer in enumerate(buffers):
            points.append(Point(what, _part(buffer, ranks), buffer, tuple(sorted(times[:, i, which].tolist()))))
    fits = {}
    for what in ("message", "add"):
        mine = [point for point in points if point.what == what]
        fits[what] = fit_line([point.nbytes for point in mine], [point.seconds for point in mine])
    cores = machine.cpus() if cores is None else cores
    return Measured(
        alpha=fits["message"].values[0],
        beta=fits["message"].values[1],
        gamma=fits["add"].values[1],
        source=f"measured here: wire {wire}, {ranks} ranks on {cores:g} cores",
        points=tuple(points),
        fits=fits,
        wire=wire,
        ranks=ranks,
        cores=cores,
    )


def _buffers(largest, wire, ranks):
    if isinstance(largest, bool) or not isinstance(largest, (int, float)) or not BUFFERS[3] <= largest <= 2**30:
        raise BadInput(f"largest={largest!r} is no size of a buffer", f"use {BUFFERS[3]} to {2**30} bytes")
    free = machine.free_shm() if wire == "shm" else None
    if free is not None:
        largest = max(BUFFERS[3], min(largest, free / (3 * ranks)))  # half of it is left to whoever else is here
    return tuple(size for size in BUFFERS if size <= largest)


def _part(buffer, ranks):
    """Bytes of a rank's part of the buffer: a message, and what is added at once."""
    return max(1, buffer // (ITEM * ranks)) * ITEM


def ping_pong(comm, buffers, seconds):
    """On a rank: an array (turns, buffers, 2) of seconds per message and per addition; all ranks play as many turns."""
    cores = take_a_core(comm.rank, comm.size)
    whole = comm.empty(max(_part(buffer, comm.size) for buffer in buffers) // ITEM * comm.size, np.float32)
    whole[:] = 0
    turns, begin = [], time.perf_counter()
    try:
        while len(turns) < MOST_TURNS:
            turns.append([_turn(comm, whole, buffer) for buffer in buffers])
            took = comm.allreduce(np.array([time.perf_counter() - begin]), op="max")[0]
            if len(turns) >= FEWEST_TURNS and took * (1 + 1 / len(turns)) > seconds:
                break
    finally:
        if cores:
            os.sched_setaffinity(0, cores)
    return np.array(turns)


def _turn(comm, whole, buffer):
    """(seconds per message, seconds per addition) through a buffer of so many bytes."""
    rank, p, size = comm.rank, comm.size, _part(buffer, comm.size) // ITEM
    chunks = Chunks(whole[: p * size], p)
    right, left = (rank + 1) % p, (rank - 1) % p
    count = max(p, min(MOST_MESSAGES, AT_ONCE // buffer))
    comm.barrier()
    begin = time.perf_counter()
    with comm.lending(chunks):  # who writes over a chunk p - 1 messages later comes after who reads it
        for k in range(count):
            comm.send(chunks[(rank - k) % p], right)
            chunks[(rank - k - 1) % p] = comm.recv(left)
    messages = (time.perf_counter() - begin) / count
    count = max(p, min(MOST_ADDITIONS, ADDED_AT_ONCE // max(chunks[0].nbytes, 1)))
    comm.barrier()
    begin = time.perf_counter()
    for k in range(count):
        chunks[k % p] += chunks[(k + 1) % p]
    comm.barrier()  # who has a core to itself is done early; ranks that take turns are done when the last one is
    return messages, (time.perf_counter() - begin) / count
