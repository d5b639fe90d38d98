"""Direct all-reduce: every rank looks after one chunk, and everybody sends to everybody.

This file imports nothing. With 4 ranks, reduce-scatter moves (chunk: from > to; the receiver adds)

    step 0   1: 0>1   2: 1>2   3: 2>3   0: 3>0
    step 1   2: 0>2   3: 1>3   0: 2>0   1: 3>1
    step 2   3: 0>3   0: 1>0   1: 2>1   2: 3>2

and leaves rank r with the complete chunk r, which it then sends to everybody (the receiver replaces)

    step 0   0: 0>1   1: 1>2   2: 2>3   3: 3>0
    step 1   0: 0>2   1: 1>3   2: 2>0   3: 3>1
    step 2   0: 0>3   1: 1>0   2: 2>1   3: 3>2

Nothing is passed on, so where a rank has a port per peer there are two rounds in all; with one port it takes as
long as the ring. Each rank sends 2(p - 1) messages and 2(p - 1)/p * S bytes, the least possible. A parameter server
split over all its clients does exactly this.
"""


def direct_reduce_scatter(chunks, rank, send, recv):
    """Chunks of which rank r's number r is complete; the others are as they came."""
    p = len(chunks)
    for k in range(1, p):  # each to another rank first, so that nobody's door is crowded
        send(chunks[(rank + k) % p], (rank + k) % p)
    for k in range(1, p):
        chunks[rank] += recv((rank - k) % p)
    return chunks


def direct_all_gather(chunks, rank, send, recv):
    """Chunks that are all complete, given that rank r comes with the complete number r."""
    p = len(chunks)
    for k in range(1, p):
        send(chunks[rank], (rank + k) % p)
    for k in range(1, p):
        chunks[(rank - k) % p] = recv((rank - k) % p)
    return chunks


def direct_allreduce(chunks, rank, send, recv):
    """Chunks that hold the sum over all ranks, on every rank."""
    direct_reduce_scatter(chunks, rank, send, recv)
    direct_all_gather(chunks, rank, send, recv)
    return chunks


# Lending is safe: a rank adds only into its own chunk, which it sends when complete, and writes another's chunk
# only when that comes back from the rank that has read it.
direct_reduce_scatter.lends = direct_all_gather.lends = direct_allreduce.lends = True
direct_reduce_scatter.postcondition, direct_all_gather.postcondition = "reduce_scatter", "all_gather"
