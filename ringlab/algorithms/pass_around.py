"""Pass-around all-reduce: hand whole buffers round the ring and add them up on the way.

This file imports nothing. With 4 ranks (whose buffer: from > to; the receiver adds and hands it on)

    step 0   0: 0>1   1: 1>2   2: 2>3   3: 3>0
    step 1   3: 0>1   0: 1>2   1: 2>3   2: 3>0
    step 2   2: 0>1   3: 1>2   0: 2>3   1: 3>0

p - 1 rounds of S bytes each: half the messages of the ring, and p/2 times its bytes. Every rank adds in another
order, so the replicas can differ in their last bits.
"""


def pass_around_allreduce(chunks, rank, send, recv):
    """Chunks that hold the sum over all ranks, on every rank."""
    p = len(chunks)
    parcel = [chunks[i] for i in range(p)]
    for _ in range(p - 1):
        send(parcel, (rank + 1) % p)
        parcel = recv((rank - 1) % p)
        for i in range(p):
            chunks[i] += parcel[i]
    return chunks


pass_around_allreduce.lends = False  # it adds into the chunks of its first parcel while the receiver may still read
