"""Recursive halving and doubling (Rabenseifner): the few rounds of a tree with the bytes of a ring.

This file imports nothing. With 8 ranks, recursive halving swaps half of what is left with a partner, far away first;
each keeps the half of its own side and adds what came for it

    step 0   0<>4   1<>5   2<>6   3<>7    4 chunks each way: c4-c7 go up, c0-c3 down
    step 1   0<>2   1<>3   4<>6   5<>7    2 chunks
    step 2   0<>1   2<>3   4<>5   6<>7    1 chunk

and leaves rank r with the complete chunk r. Recursive doubling then plays the same steps backwards, and copies. That
is 2 log2 p rounds and 2(p - 1)/p * S bytes per rank, the least possible.

When p is no power of two (as in MPICH) the first ranks make pairs, the even one hands its whole buffer to the odd one
and sits out, and gets the sum at the end: two more rounds, with S bytes each. The players then share the p chunks as
evenly as whole chunks allow.
"""


def halving_allreduce(chunks, rank, send, recv):
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
    first = [i * p // players for i in range(players + 1)]  # player i's own chunks are first[i] to first[i + 1]
    low, high = 0, players  # the players whose chunks are still mine to add up
    steps = []
    distance = players // 2
    while distance:
        middle = low + distance
        partner = place ^ distance
        peer = 2 * partner + 1 if partner < extra else partner + extra
        mine, theirs = ((low, middle), (middle, high)) if place < middle else ((middle, high), (low, middle))
        send(chunks[first[theirs[0]] : first[theirs[1]]], peer)
        parcel = recv(peer)
        for i in range(len(parcel)):
            chunks[first[mine[0]] + i] += parcel[i]
        steps.append((peer, mine, theirs))
        low, high = mine
        distance //= 2
    for peer, mine, theirs in reversed(steps):
        send(chunks[first[mine[0]] : first[mine[1]]], peer)
        parcel = recv(peer)
        for i in range(len(parcel)):
            chunks[first[theirs[0]] + i] = parcel[i]  # replace, not add: it is complete already
    if rank < 2 * extra:
        send(chunks[:], rank - 1)
    return chunks


# Lending is safe: the half that was sent is written next when it comes back complete, from the partner that read it.
halving_allreduce.lends = True
