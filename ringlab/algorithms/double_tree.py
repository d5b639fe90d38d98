r"""Double binary tree: two trees, half of the chunks each; whoever is a leaf in one works in the other.

This file imports nothing. With 8 ranks (parent above child)

    tree of the even chunks        tree of the odd chunks: the mirror image, rank r for 7 - r

    0-----------4                  7-----------3
             .--+--.                        .--+--.
             2     6                        5     1
            / \   / \                      / \   / \
           1   3 5   7                    6   4 2   0

Sums go up a tree chunk by chunk and come down again, one chunk behind the other, so the depth of log2 p is paid once
and not for every chunk. A leaf of one tree moves only half of the buffer there, once up and once down; inside a tree
a rank has two children. Because no rank is inside both trees (for even p; an odd p shifts the second tree by one, and
rank 0 is in both), a rank sends and receives at most about 2S in all. This is what NCCL does for large p, with chunks
cut finer than ours.
"""


def trees(p):
    """Two lists with the parent of every rank, None for the root: the tree of the even and that of the odd chunks."""
    first: list = [None]
    for x in range(1, p):
        bit = x & -x  # the lowest bit that is set: leaves have 1, their parents 2, and so on
        parent = (x ^ bit) | 2 * bit
        first.append(parent if parent < p else x ^ bit)
    second: list = [None] * p
    for x in range(1, p):
        if p % 2:
            second[(x + 1) % p] = (first[x] + 1) % p
        else:
            second[p - 1 - x] = p - 1 - first[x]
    return first, second


def double_tree_allreduce(chunks, rank, send, recv):
    """Chunks that hold the sum over all ranks, on every rank."""
    p = len(chunks)
    todo = []  # (step, place in the step, kind, chunk, peer); kind 0 sends, 1 adds, 2 replaces
    for tree, parents in enumerate(trees(p)):
        depth, above = 0, parents[rank]
        while above is not None:
            depth, above = depth + 1, parents[above]
        parent, children = parents[rank], [x for x in range(p) if parents[x] == rank]
        for i in range(tree, p, 2):
            # chunk pair i // 2 leaves depth d for its parent in step i // 2 - d and is sent to it in i // 2 + d
            up, down = i // 2 - depth, i // 2 + depth
            for place, child in enumerate(children):
                todo.append((up - 1, place, 1, i, child))
                todo.append((down + 1, place, 0, i, child))
            if parent is not None:
                place = [x for x in range(p) if parents[x] == parent].index(rank)
                todo.append((up, place, 0, i, parent))
                todo.append((down, place, 2, i, parent))
    # Two ranks may be neighbours in both trees; they agree on the order of their messages, as all sort alike.
    for _, _, kind, i, peer in sorted(todo):
        if kind == 0:
            send(chunks[i], peer)
        elif kind == 1:
            chunks[i] += recv(peer)
        else:
            chunks[i] = recv(peer)
    return chunks


# Lending is safe: what went up is written again when the sum comes down from the rank that has read it.
double_tree_allreduce.lends = True
