"""Our own all-reduce in the same measurement, and how fast this machine can copy and add at best."""

import os
import time

import numpy as np

from . import machine
from .bench_timing import measure, take_a_core
from .world import World

TIMEOUT = 300  # seconds for one measurement on a busy machine


def one_allreduce(comm, nbytes, count, warm, resident, algorithm):
    """On a rank: one measurement of `bench_timing.measure`, in shared memory (`resident`) or in memory of its own."""
    x = comm.empty(nbytes // 4, np.float32) if resident else np.empty(nbytes // 4, np.float32)

    def allreduce(x):
        comm.allreduce(x, algorithm=algorithm, out=x)

    cores = take_a_core(comm.rank, comm.size)
    try:
        return measure(x, allreduce, comm.barrier, comm.rank, comm.size, count, warm)
    finally:
        if cores:
            os.sched_setaffinity(0, cores)


def _memory_program(comm, nbytes, count, workers):
    """(seconds per byte moved by copying, by adding) on this rank, with as much memory in use as in an all-reduce."""
    if comm.rank >= workers:
        comm.barrier()
        comm.barrier()
        return None
    elements = max(1, nbytes * comm.size // workers // 8)
    a, b = comm.empty(elements, np.float32), comm.empty(elements, np.float32)
    a[:], b[:] = 1, 0
    cores = take_a_core(comm.rank, workers)
    found = []
    for action, moved in ((lambda: np.copyto(b, a), 2), (lambda: np.add(b, a, out=b), 3)):
        action()
        comm.barrier()
        start = time.perf_counter()
        for _ in range(count):
            action()
        found.append((time.perf_counter() - start) / (count * moved * a.nbytes))
    if cores:
        os.sched_setaffinity(0, cores)
    return tuple(found)


class OurJob:
    """`ranks` ranks of ours, ready to measure over any of our wires."""

    failed = None

    def __init__(self, ranks):
        self.ranks = ranks
        self._world = World(ranks, "shm")

    def measure(self, wire, resident, algorithm, nbytes, count, warm):
        """(seconds of the slowest rank per all-reduce, whether all results are right)."""
        args = (nbytes, count, warm, resident, algorithm)
        found = self._world.launch(one_allreduce, args=args, wire=wire, timeout=TIMEOUT, progress=False)
        return max(seconds for seconds, _ in found), all(right for _, right in found)

    def memory(self, nbytes, count):
        """(bytes per second moved by copying, by adding) of all cores together."""
        workers = max(1, min(self.ranks, int(machine.cpus())))
        found = self._world.launch(
            _memory_program, args=(nbytes, count, workers), wire="shm", timeout=TIMEOUT, progress=False
        )
        copy, add = (sum(1 / rank[k] for rank in found if rank is not None) for k in (0, 1))
        return copy, add

    def close(self):
        """End the ranks."""
        self._world.close()


def limit_seconds(ranks, nbytes, copy, add):
    """Seconds below which no ring of ours can stay: 3(P-1)S bytes moved by adding, 2(P-1)S by copying."""
    return (ranks - 1) * nbytes * (3 / add + 2 / copy)
