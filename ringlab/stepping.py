"""A step of `ringlab.overlap` on one rank: backward, the reducer that it tells of full buckets, and who did what."""

import threading
import time

import numpy as np

from .devices import Waits
from .reducers import REDUCERS

TOLERANCE = 1e-4  # float32 sums in another order, relative to the largest number of a bucket


class Watched:
    """A rank's `comm` that notes when its all-reduces run, and on which thread."""

    def __init__(self, comm, named):
        self._comm, self._named, self.spans = comm, named, []

    def __getattr__(self, name):
        return getattr(self._comm, name)

    def allreduce(self, x, name="", **options):
        """`comm.allreduce`, noted."""
        start = time.perf_counter_ns()
        result = self._comm.allreduce(x, name=name if self._named else "", **options)
        self.spans.append((threading.get_ident(), start, time.perf_counter_ns()))
        return result


def play(comm, sizes, orders, device, by, named):
    """The step on this rank."""
    order = orders[comm.rank]
    arrays = [comm.empty(size, np.float32) for size in sizes]
    backward = device.prepare(comm.rank, comm.size, sizes, order)
    watched, spans = Watched(comm, named), []
    reducer = (REDUCERS[by] if isinstance(by, str) else by)(watched)
    comm.allreduce(np.zeros(comm.size, np.float32))  # the first one is slow: code is loaded, memory touched
    comm.barrier()
    cpu, begin = time.process_time(), time.perf_counter_ns()
    start = begin
    for bucket in order:
        array, place = arrays[bucket], 0
        while place < len(array):
            part = np.ravel(next(backward))
            array[place : place + len(part)] = part
            place += len(part)
        end = time.perf_counter_ns()
        spans.append(["backward", bucket, 0, start, end])
        reducer.ready(bucket, array)
        start = time.perf_counter_ns()
    reducer.finish()
    cpu = time.process_time() - cpu
    computing = threading.get_ident()
    for bucket, (thread, start, end) in enumerate(watched.spans):
        spans.append(["all-reduce", bucket, int(thread != computing), start, end])
    return {
        "begin": begin,
        "spans": spans,
        "cpu": cpu,
        "right": _right(comm, arrays, sizes, order, device),
        "sums": [float(array[0]) for array in arrays],
    }


def _right(comm, arrays, sizes, order, device):
    """Whether every array holds the sum of all ranks' gradients."""
    if isinstance(device, Waits):
        return all(bool((array == device.total(bucket, comm.size)).all()) for bucket, array in enumerate(arrays))
    again = np.concatenate([np.ravel(part) for part in device.prepare(comm.rank, comm.size, sizes, order)])
    wanted, found = comm.allreduce(again), np.concatenate(arrays)
    return bool(np.abs(found - wanted).max() <= TOLERANCE * np.abs(wanted).max())
