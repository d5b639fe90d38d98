"""In-network reduction: the switch adds while the data pass through. Here the last rank is the switch.

This file imports nothing. With 3 workers and rank 3 as the switch (chunk: from > to; the switch adds)

    step 0   0: 0>3   0: 1>3   0: 2>3
    step 1   1: 0>3   1: 1>3   1: 2>3        0: 3>0   0: 3>1   0: 3>2
    step 2   2: 0>3   2: 1>3   2: 2>3        1: 3>0   1: 3>1   1: 3>2      (the workers replace)
    ...

A switch has a port per worker (`Network(multiport=(3,))`), so a step is one message long. A worker sends its buffer
once and receives the sum once: S bytes each way, where the ring needs 2(P - 1)/P * S with P workers. So the gain goes
from none at P = 2 to a factor 2, if the chunks are many: `pieces` cuts each of them further. Through a
single port the same code is a star.

`nvls_allreduce` is the form of NVLink SHARP: the switch hands each sum to the worker that owns the chunk, who sends
it back for everybody: S(P + 1)/P bytes each way.

A real switch has no gradient. This one adds its own buffer, like any rank: give it zeros. It also looks after its own
chunk, the last; with as many elements as workers that chunk is empty.
"""


def switch_allreduce(chunks, rank, send, recv, pieces=1):
    """Chunks that hold the sum over all ranks, on every rank; rank p - 1 is the switch that adds."""
    p = len(chunks)
    switch = p - 1
    parts = []  # (chunk, from, to)
    for i in range(p):
        n = len(chunks[i])
        parts += [(i, n * k // pieces, n * (k + 1) // pieces) for k in range(pieces)]
    if rank == switch:
        for i, start, stop in parts:
            for src in range(switch):
                chunks[i][start:stop] += recv(src)
            for dst in range(switch):
                send(chunks[i][start:stop], dst)
    else:
        for i, start, stop in parts:
            send(chunks[i][start:stop], switch)
        for i, start, stop in parts:
            chunks[i][start:stop] = recv(switch)
    return chunks


def nvls_allreduce(chunks, rank, send, recv):
    """Chunks that hold the sum over all ranks, on every rank; the switch adds, the owner of a chunk spreads it."""
    p = len(chunks)
    switch = p - 1
    if rank == switch:
        for i in range(p):
            for src in range(switch):
                chunks[i] += recv(src)
            if i != switch:
                send(chunks[i], i)
        for i in range(p):
            complete = recv(i) if i != switch else chunks[i]
            for dst in range(switch):
                send(complete, dst)
    else:
        for i in range(p):
            send(chunks[i], switch)
        chunks[rank] = recv(switch)
        send(chunks[rank], switch)
        for i in range(p):
            chunks[i] = recv(switch)
    return chunks


switch_allreduce.lends = True  # a worker writes what comes back, after it was read; the switch nothing it has sent
nvls_allreduce.lends = False  # the switch hands on what an owner has sent, and the owner then writes it once more
