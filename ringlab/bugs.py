"""Named wrong all-reduces, to be run, watched and found out. As the algorithms, they import nothing."""


def mixed_numbering(chunks, rank, send, recv):
    """Replicas that agree and are wrong: adding counts its steps from 0, copying from 1.

    The all-gather starts from chunk r, but the reduce-scatter has completed chunk r + 1, so every rank spreads its
    own, untouched part. All ranks end with the same numbers, and no gradient was averaged.
    """
    p = len(chunks)
    for k in range(p - 1):
        send(chunks[(rank - k) % p], (rank + 1) % p)
        chunks[(rank - k - 1) % p] += recv((rank - 1) % p)
    for k in range(1, p):
        send(chunks[(rank - k + 1) % p], (rank + 1) % p)
        chunks[(rank - k) % p] = recv((rank - 1) % p)
    return chunks
