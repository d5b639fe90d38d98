"""Ring all-reduce: reduce-scatter, then all-gather.

This file imports nothing. It does not know whether `send` is a socket, shared memory, MPI or a virtual clock,
nor whether a chunk holds gradients or marks that say whose gradient it holds.

With 4 ranks, reduce-scatter moves (chunk: from > to; the receiver adds)

    step 0   0: 0>1   1: 1>2   2: 2>3   3: 3>0
    step 1   3: 0>1   0: 1>2   1: 2>3   2: 3>0
    step 2   2: 0>1   3: 1>2   0: 2>3   1: 3>0

and leaves rank r with the complete chunk (r + 1) % 4. All-gather goes on in the same way (the receiver replaces)

    step 0   1: 0>1   2: 1>2   3: 2>3   0: 3>0
    step 1   0: 0>1   1: 1>2   2: 2>3   3: 3>0
    step 2   3: 0>1   0: 1>2   1: 2>3   2: 3>0

so every rank sends on what it has just received: p - 1 rounds add, p - 1 rounds copy. Each rank sends 2(p - 1)
messages and, when p divides the buffer of S bytes, 2(p - 1)/p * S bytes: no all-reduce built from messages
between ranks can do with fewer (Patarasuk and Yuan 2009).

`shift` turns the chunk numbers: after a reduce-scatter rank r owns chunk (r + 1 - shift) % p. The default 0 counts
steps from 0; shift=1 gives the ownership that MPI and NCCL promise, chunk r on rank r. An all-gather must be given
the shift of the reduce-scatter before it: mixing two numberings leaves equal, wrong replicas
(`ringlab.bugs.mixed_numbering`).
"""


def reduce_scatter(chunks, rank, send, recv, shift=0):
    """Chunks of which rank r's number (r + 1 - shift) % p is complete; the others hold partial sums."""
    p = len(chunks)
    for k in range(p - 1):
        send(chunks[(rank - k - shift) % p], (rank + 1) % p)
        chunks[(rank - k - 1 - shift) % p] += recv((rank - 1) % p)
    return chunks


def all_gather(chunks, rank, send, recv, shift=0):
    """Chunks that are all complete, given that rank r comes with the complete number (r + 1 - shift) % p."""
    p = len(chunks)
    for k in range(p - 1):
        send(chunks[(rank - k + 1 - shift) % p], (rank + 1) % p)
        chunks[(rank - k - shift) % p] = recv((rank - 1) % p)  # replace, not add: it is complete already
    return chunks


def ring_allreduce(chunks, rank, send, recv):
    """Chunks that hold the sum over all ranks, on every rank."""
    reduce_scatter(chunks, rank, send, recv)
    all_gather(chunks, rank, send, recv)
    return chunks


# Lending a chunk instead of copying it is safe here: what a rank sends in one round it next writes when the
# chunk comes back round, and that is after its receiver has read it and passed the sum on.
reduce_scatter.lends = all_gather.lends = ring_allreduce.lends = True
reduce_scatter.postcondition, all_gather.postcondition = "reduce_scatter", "all_gather"
