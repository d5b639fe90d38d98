"""Star all-reduce: everybody sends everything to rank 0, which adds up and sends the sum back.

This file imports nothing. With 4 ranks (whose buffers: from > to)

    step 0   1: 1>0                step 3   0123: 0>1
    step 1   2: 2>0   (rank 0      step 4   0123: 0>2   (the others
    step 2   3: 3>0    adds)       step 5   0123: 0>3    replace)

Rank 0 has one door in and one door out, so its p - 1 messages of S bytes come one after the other, and leave so:
2(p - 1) rounds and 2(p - 1) S bytes through one rank, while every other rank moves 2S.

`pipelined_star_allreduce` does the same chunk by chunk. While chunk 1 still comes in, chunk 0 goes out, so both
doors of rank 0 work at once: about half the time, and still every byte through one rank.
"""


def star_allreduce(chunks, rank, send, recv):
    """Chunks that hold the sum over all ranks, on every rank."""
    p = len(chunks)
    if rank == 0:
        for src in range(1, p):
            parcel = recv(src)
            for i in range(p):
                chunks[i] += parcel[i]
        for dst in range(1, p):
            send(chunks[:], dst)
    else:
        send(chunks[:], 0)
        parcel = recv(0)
        for i in range(p):
            chunks[i] = parcel[i]
    return chunks


def pipelined_star_allreduce(chunks, rank, send, recv):
    """Chunks that hold the sum over all ranks, on every rank; rank 0 sends a chunk as soon as it is complete."""
    p = len(chunks)
    if rank == 0:
        for i in range(p):
            for src in range(1, p):
                chunks[i] += recv(src)
            for dst in range(1, p):
                send(chunks[i], dst)
    else:
        for i in range(p):
            send(chunks[i], 0)
        for i in range(p):
            chunks[i] = recv(0)
    return chunks


# Lending is safe: a leaf writes only what comes back, and that has been read; the root writes nothing it has sent.
star_allreduce.lends = pipelined_star_allreduce.lends = True
