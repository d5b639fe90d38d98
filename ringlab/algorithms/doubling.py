"""Recursive doubling: swap whole buffers with a partner, each time twice as far away.

This file imports nothing. With 8 ranks (both send, both add)

    step 0   0<>1   2<>3   4<>5   6<>7
    step 1   0<>2   1<>3   4<>6   5<>7
    step 2   0<>4   1<>5   2<>6   3<>7

After step k every rank holds the sum of 2**(k+1) ranks, so log2 p rounds are enough, and no all-reduce can do
with fewer: what a rank knows can at most double in a round. The price is the whole buffer in every round, S log2 p
bytes per rank.

When p is no power of two (MPICH does the same), the first ranks make pairs, the even one hands its buffer to the
odd one and sits out, and gets the sum at the end: two more rounds. With 6 ranks

    before   0>1   2>3                    (1 and 3 add)
    step 0   1<>3   4<>5
    step 1   1<>4   3<>5
    after    1>0   3>2                    (0 and 2 replace)

Both partners add the same two numbers, and a + b is b + a to the last bit: all replicas are equal.
"""


def doubling_allreduce(chunks, rank, send, recv):
    """Chunks that hold the sum over all ranks, on every rank."""
    p = len(chunks)
    players = 1
    while players * 2 <= p:
        players *= 2
    extra = p - players  # so many ranks sit out: the even ones below 2 * extra
    if rank < 2 * extra and rank % 2 == 0:
        send(chunks[:], rank + 1)
        parcel = recv(rank + 1)
        for i in range(p):
            chunks[i] = parcel[i]
        return chunks
    if rank < 2 * extra:
        parcel = recv(rank - 1)
        for i in range(p):
            chunks[i] += parcel[i]
    place = rank // 2 if rank < 2 * extra else rank - extra
    distance = 1
    while distance < players:
        partner = place ^ distance
        partner = 2 * partner + 1 if partner < extra else partner + extra
        send(chunks[:], partner)
        parcel = recv(partner)
        for i in range(p):
            chunks[i] += parcel[i]
        distance *= 2
    if rank < 2 * extra:
        send(chunks[:], rank - 1)
    return chunks


doubling_allreduce.lends = False  # it adds into the very chunks that its partner may still be reading
