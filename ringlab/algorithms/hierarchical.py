"""Hierarchical all-reduce: inside each node, across the nodes, inside again.

This file imports nothing. Ranks 0 to g - 1 sit in node 0, the next g in node 1, and so on; inside a node links are
fast, across they are slow. With 4 ranks in 2 nodes (chunks: from > to)

    inside, adding    01: 0>1   23: 1>0  |  01: 2>3   23: 3>2       reduce-scatter in each node
    across, adding     2: 0>2    0: 1>3      3: 2>0    1: 3>1       a ring of those with the same place in their
    across, copying    3: 0>2    1: 1>3      2: 2>0    0: 3>1       node, over 1/g of the buffer
    inside, copying   23: 0>1   01: 1>0  |  23: 2>3   01: 3>2       all-gather in each node

so all g ranks of a node talk to the outside at the same time, each about its own part:
2(g - 1) fast rounds and 2(m - 1) slow ones for m nodes, where the flat ring waits 2(gm - 1) times for a slow link.

`leader_allreduce` is the variant to avoid: everybody hands everything to the first rank of the node, the m leaders
make a ring over the whole buffer, and hand the sum back. The leader moves g times as much across as any rank above.

`group` (g) must divide p; by default it is the divisor next above the square root.
"""


def hierarchical_allreduce(chunks, rank, send, recv, group=None):
    """Chunks that hold the sum over all ranks, on every rank."""
    p = len(chunks)
    if group is None:
        group = p // max(nodes for nodes in range(1, p + 1) if p % nodes == 0 and nodes * nodes <= p)
    if p % group:
        raise ValueError(f"nodes of {group} ranks do not make {p} ranks")
    nodes = p // group
    node, place = divmod(rank, group)
    after, before = node * group + (place + 1) % group, node * group + (place - 1) % group
    there, here = (rank + group) % p, (rank - group) % p  # my twin in the next node, and in the one before
    for k in range(group - 1):
        first = (place - k) % group * nodes
        send(chunks[first : first + nodes], after)
        part, first = recv(before), (place - k - 1) % group * nodes
        for i in range(nodes):
            chunks[first + i] += part[i]
    first = (place + 1) % group * nodes  # my part of the buffer, complete for this node
    for k in range(nodes - 1):
        send(chunks[first + (node - k) % nodes], there)
        chunks[first + (node - k - 1) % nodes] += recv(here)
    for k in range(nodes - 1):
        send(chunks[first + (node - k + 1) % nodes], there)
        chunks[first + (node - k) % nodes] = recv(here)
    for k in range(group - 1):
        first = (place - k + 1) % group * nodes
        send(chunks[first : first + nodes], after)
        part, first = recv(before), (place - k) % group * nodes
        for i in range(nodes):
            chunks[first + i] = part[i]
    return chunks


def leader_allreduce(chunks, rank, send, recv, group=None):
    """Chunks that hold the sum over all ranks, on every rank; one rank per node does all the talking."""
    p = len(chunks)
    if group is None:
        group = p // max(nodes for nodes in range(1, p + 1) if p % nodes == 0 and nodes * nodes <= p)
    if p % group:
        raise ValueError(f"nodes of {group} ranks do not make {p} ranks")
    nodes = p // group
    node, place = divmod(rank, group)
    if place:
        send(chunks[:], rank - place)
        parcel = recv(rank - place)
        for i in range(p):
            chunks[i] = parcel[i]
        return chunks
    for member in range(rank + 1, rank + group):
        parcel = recv(member)
        for i in range(p):
            chunks[i] += parcel[i]
    there, here = (rank + group) % p, (rank - group) % p
    for k in range(nodes - 1):
        first = (node - k) % nodes * group
        send(chunks[first : first + group], there)
        part, first = recv(here), (node - k - 1) % nodes * group
        for i in range(group):
            chunks[first + i] += part[i]
    for k in range(nodes - 1):
        first = (node - k + 1) % nodes * group
        send(chunks[first : first + group], there)
        part, first = recv(here), (node - k) % nodes * group
        for i in range(group):
            chunks[first + i] = part[i]
    for member in range(rank + 1, rank + group):
        send(chunks[:], member)
    return chunks


# Lending is safe: rings and stars one after the other, and each is.
hierarchical_allreduce.lends = leader_allreduce.lends = True
