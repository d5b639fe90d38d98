"""Named wrong all-reduces, to be run, watched and found out."""

from .algorithms.ring import all_gather, reduce_scatter


def mixed_numbering(chunks, rank, send, recv):
    """Replicas that agree and are wrong: adding counts its steps from 0, copying from 1.

    The all-gather starts from chunk r, but the reduce-scatter has completed chunk r + 1, so every rank spreads its
    own, untouched part. All ranks end with the same numbers, and no gradient was averaged.
    """
    reduce_scatter(chunks, rank, send, recv)
    all_gather(chunks, rank, send, recv, shift=1)
    return chunks
