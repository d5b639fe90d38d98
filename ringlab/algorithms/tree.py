"""Binomial tree all-reduce: a knock-out tournament to rank 0, then the same tree back.

This file imports nothing. With 8 ranks `reduce` moves whole buffers (from > to; the receiver adds)

    step 0   1>0   3>2   5>4   7>6
    step 1   2>0         6>4
    step 2   4>0

and `broadcast` the complete one (the receiver replaces)

    step 0   0>4
    step 1   0>2         4>6
    step 2   0>1   2>3   4>5   6>7

In each step half of those who still hold something drop out, so ceil(log2 p) steps up and as many down: few
rounds, but every one carries the whole buffer of S bytes. Any p will do: a partner that does not exist is skipped.

`reduce` and `broadcast` are operations of their own too; `root` turns the rank numbers.
"""


def reduce(chunks, rank, send, recv, root=0):
    """Chunks that are complete on rank `root`; the other ranks are left with partial sums."""
    p = len(chunks)
    place = (rank - root) % p  # as if the root were rank 0
    step = 1
    while step < p:
        if place & step:
            send(chunks[:], (rank - step) % p)
            break
        if place + step < p:
            parcel = recv((rank + step) % p)
            for i in range(p):
                chunks[i] += parcel[i]
        step *= 2
    return chunks


def broadcast(chunks, rank, send, recv, root=0):
    """Chunks that are those of rank `root`, on every rank."""
    p = len(chunks)
    place = (rank - root) % p
    step = 1
    while step < p and not place & step:
        step *= 2
    if place:
        parcel = recv((rank - step) % p)
        for i in range(p):
            chunks[i] = parcel[i]
    while step > 1:  # the farthest first: it has the most to pass on
        step //= 2
        if place + step < p:
            send(chunks[:], (rank + step) % p)
    return chunks


def tree_allreduce(chunks, rank, send, recv):
    """Chunks that hold the sum over all ranks, on every rank."""
    reduce(chunks, rank, send, recv)
    broadcast(chunks, rank, send, recv)
    return chunks


# Lending is safe: a rank writes what it has sent up only when the sum comes down, from the rank that has read it.
reduce.lends = broadcast.lends = tree_allreduce.lends = True
reduce.postcondition, broadcast.postcondition = "reduce", "broadcast"
