"""What runs in each process of a peer: wait for an order, measure, answer.

    python -m ringlab.bench_peer mpi FOLDER RANKS
    python -m ringlab.bench_peer gloo FOLDER RANKS RANK

Orders come through a pipe of the rank's own, a JSON line each. A rank that waits for one sleeps in a plain read: MPI's
own waiting would keep a core busy while others are measured.
"""

import json
import os
import sys

import numpy as np

from .bench_timing import measure, take_a_core


def mpi(folder, ranks):
    """(rank, allreduce, barrier, name of the library) with MPI."""
    from mpi4py import MPI

    comm = MPI.COMM_WORLD
    if comm.size != ranks:
        raise SystemExit(f"mpi4py does not belong to this mpiexec: {comm.size} ranks came up together, not {ranks}")
    name = MPI.Get_library_version().split("\n")[0].split(",")[0].replace("Version:", "").split()
    return comm.rank, lambda x: comm.Allreduce(MPI.IN_PLACE, x), comm.Barrier, " ".join(name)


def gloo(folder, ranks, rank):
    """The same with PyTorch's Gloo, whose processes meet through a file."""
    import torch
    import torch.distributed as dist

    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{folder}/meeting", rank=rank, world_size=ranks)
    tensors = {}

    def allreduce(x):
        if id(x) not in tensors:
            tensors.clear()
            tensors[id(x)] = torch.from_numpy(x)
        dist.all_reduce(tensors[id(x)])

    return rank, allreduce, dist.barrier, f"Gloo in PyTorch {torch.__version__.partition('+')[0]}"


def serve(folder, ranks, rank, allreduce, barrier, name):
    """Measure as ordered, until told to stop."""
    with open(os.path.join(folder, f"to-{rank}")) as orders, open(os.path.join(folder, "back"), "w") as back:

        def answer(**what):
            back.write(json.dumps({"rank": rank, **what}) + "\n")
            back.flush()

        answer(name=name)
        take_a_core(rank, ranks, share="Open MPI" in name)  # the others are slower when they must share
        x = np.empty(0, np.float32)
        for line in orders:
            order = json.loads(line)
            if order.get("stop"):  # so that MPI can tidy up behind itself
                return
            if order["nbytes"] != x.nbytes:
                x = np.empty(order["nbytes"] // 4, np.float32)
            seconds, right = measure(x, allreduce, barrier, rank, ranks, order["count"], order["warm"])
            answer(seconds=seconds, right=right)


if __name__ == "__main__":
    kind, folder, *numbers = sys.argv[1:]
    ranks, *rank = (int(number) for number in numbers)
    serve(folder, ranks, *(mpi(folder, ranks) if kind == "mpi" else gloo(folder, ranks, *rank)))
