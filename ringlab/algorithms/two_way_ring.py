"""Two-way ring: two rings at once, one clockwise, one counter-clockwise, each with half of every chunk.

This file imports nothing. With 4 ranks, the first half of each chunk (0' is that of chunk 0) goes up, the second
half (0") goes down (half: from > to; the receivers add)

    step 0   0': 0>1   1': 1>2   2': 2>3   3': 3>0        0": 0>3   1": 1>0   2": 2>1   3": 3>2
    step 1   3': 0>1   0': 1>2   1': 2>3   2': 3>0        1": 0>3   2": 1>0   3": 2>1   0": 3>2
    step 2   2': 0>1   3': 1>2   0': 2>3   1': 3>0        2": 0>3   3": 1>0   0": 2>1   1": 3>2

and then come as many steps that copy. All bytes of the ring, in twice as many messages of half the size. Where each
neighbour has a port of its own (`Network(ports="per-neighbour")`) both rings run at the same time, and the part of
the time that goes with the bytes is halved. Through a single port they only queue up behind each other: then it is
the ring with twice its latency. With 2 ranks both neighbours are the same rank, so nothing is won either.
"""


def two_way_ring_allreduce(chunks, rank, send, recv):
    """Chunks that hold the sum over all ranks, on every rank."""
    p = len(chunks)
    up, down = (rank + 1) % p, (rank - 1) % p
    half = [(len(chunks[i]) + 1) // 2 for i in range(p)]
    for k in range(p - 1):
        send(chunks[(rank - k) % p][: half[(rank - k) % p]], up)
        send(chunks[(rank + k) % p][half[(rank + k) % p] :], down)
        i, j = (rank - k - 1) % p, (rank + k + 1) % p
        chunks[i][: half[i]] += recv(down)
        chunks[j][half[j] :] += recv(up)
    for k in range(p - 1):
        send(chunks[(rank - k + 1) % p][: half[(rank - k + 1) % p]], up)
        send(chunks[(rank + k - 1) % p][half[(rank + k - 1) % p] :], down)
        i, j = (rank - k) % p, (rank + k) % p
        chunks[i][: half[i]] = recv(down)
        chunks[j][half[j] :] = recv(up)
    return chunks


two_way_ring_allreduce.lends = True  # as in the ring: what was sent is written again only after it has been read
two_way_ring_allreduce.pieces = 2  # it cuts every chunk in two, so its trace follows 2p half chunks
