"""All-reduces (and means, reduce-scatters, all-gathers) that must pass, each written in another way."""

import functools

import numpy as np

import ringlab as rl


def other_numbering(chunks, rank, send, recv):
    """The ring with steps counted from 1 in both halves: rank r owns chunk r between them."""
    rl.reduce_scatter(chunks, rank, send, recv, shift=1)
    return rl.all_gather(chunks, rank, send, recv, shift=1)


def one_loop(chunks, rank, send, recv):
    """In round t rank r sends chunk r - t: one rule for both halves."""
    p = len(chunks)
    for t in range(2 * (p - 1)):
        send(chunks[(rank - t) % p], (rank + 1) % p)
        came = recv((rank - 1) % p)
        if t < p - 1:
            chunks[(rank - t - 1) % p] += came
        else:
            chunks[(rank - t - 1) % p] = came
    return chunks


def the_other_way_round(chunks, rank, send, recv):
    """A ring that sends to rank - 1."""
    p = len(chunks)
    for k in range(p - 1):
        send(chunks[(rank + k) % p], (rank - 1) % p)
        chunks[(rank + k + 1) % p] += recv((rank + 1) % p)
    for k in range(p - 1):
        send(chunks[(rank + k - 1) % p], (rank - 1) % p)
        chunks[(rank + k) % p] = recv((rank + 1) % p)
    return chunks


def receives_first_half_late(chunks, rank, send, recv):
    """Receives into a variable, and sends the next one before adding it up."""
    p = len(chunks)
    send(chunks[rank], (rank + 1) % p)
    for k in range(p - 1):
        mine = chunks[(rank - k - 1) % p]
        came = recv((rank - 1) % p)
        mine += came
        send(mine, (rank + 1) % p)
    for k in range(p - 1):
        came = recv((rank - 1) % p)
        chunks[(rank - k) % p] = came
        if k < p - 2:
            send(came, (rank + 1) % p)
    return chunks if p > 1 else _take_own(chunks, rank, recv)


def _take_own(chunks, rank, recv):
    recv(rank)  # with one rank the chunk was sent to itself
    return chunks


def list_of_views(chunks, rank, send, recv):
    """Works in a plain list of new arrays and returns that."""
    parts = [part.copy() for part in chunks]
    return rl.ring_allreduce(parts, rank, send, recv)


def one_flat_array(chunks, rank, send, recv):
    """Returns one array instead of the chunks."""
    rl.ring_allreduce(chunks, rank, send, recv)
    return np.concatenate(list(chunks))


def gather_then_add(chunks, rank, send, recv):
    """Everybody sends everything to everybody, and adds in the order of ranks."""
    p = len(chunks)
    mine = np.concatenate(list(chunks))
    for peer in range(p):
        if peer != rank:
            send(mine, peer)
    parts = [mine if peer == rank else recv(peer) for peer in range(p)]
    total, start = sum(parts), 0
    for i in range(p):
        size = len(chunks[i])
        chunks[i] = total[start : start + size]
        start += size
    return chunks


def chain(chunks, rank, send, recv):
    """Sums run up the ranks, results run down."""
    p = len(chunks)
    everything = list(range(p))
    if rank > 0:
        for i, part in zip(everything, recv(rank - 1), strict=True):
            chunks[i] += part
    if rank < p - 1:
        send([chunks[i] for i in everything], rank + 1)
        for i, part in zip(everything, recv(rank + 1), strict=True):
            chunks[i] = part
    if rank > 0:
        send([chunks[i] for i in everything], rank - 1)
    return chunks


def star_by_last(chunks, rank, send, recv):
    """A star whose root is the last rank, one message per chunk."""
    p = len(chunks)
    root = p - 1
    if rank != root:
        for i in range(p):
            send(chunks[i], root)
        for i in range(p):
            chunks[i] = recv(root)
        return chunks
    for peer in range(root):
        for i in range(p):
            chunks[i] += recv(peer)
    for peer in range(root):
        for i in range(p):
            send(chunks[i], peer)
    return chunks


def too_many_copies(chunks, rank, send, recv):
    """A ring with a useless round at its end: right, but not for the price of the ring."""
    p = len(chunks)
    rl.reduce_scatter(chunks, rank, send, recv)
    for k in range(p):
        send(chunks[(rank - k + 1) % p], (rank + 1) % p)
        chunks[(rank - k) % p] = recv((rank - 1) % p)
    return chunks


def too_many_additions(chunks, rank, send, recv):
    """A ring that adds once more than it needs to, to what it overwrites later: right, and too dear as well."""
    p = len(chunks)
    for k in range(p if p > 1 else 0):
        send(chunks[(rank - k) % p], (rank + 1) % p)
        chunks[(rank - k - 1) % p] += recv((rank - 1) % p)
    return rl.all_gather(chunks, rank, send, recv)


class Ring:
    """An object with __call__."""

    def __call__(self, chunks, rank, send, recv):
        return rl.ring_allreduce(chunks, rank, send, recv)


def with_an_option(chunks, rank, send, recv, loud=False):
    """Takes an option more."""
    if loud:
        print(rank)
    return rl.ring_allreduce(chunks, rank, send, recv)


def prints_a_lot(chunks, rank, send, recv):
    """Prints are no mistake, and not shown while judged."""
    for i in range(50):
        print("rank", rank, "line", i)
    return rl.ring_allreduce(chunks, rank, send, recv)


ALLREDUCES = [
    *rl.ALGORITHMS.values(),
    other_numbering,
    one_loop,
    the_other_way_round,
    receives_first_half_late,
    list_of_views,
    one_flat_array,
    gather_then_add,
    chain,
    star_by_last,
    too_many_copies,
    too_many_additions,
    Ring(),
    with_an_option,
    functools.partial(with_an_option, loud=True),
    prints_a_lot,
]
ALLREDUCES.remove(rl.pass_around_allreduce)  # its replicas differ in their last bits


def mean_after(chunks, rank, send, recv):
    """Divides at the end."""
    p = len(chunks)
    rl.ring_allreduce(chunks, rank, send, recv)
    for i in range(p):
        chunks[i] /= p
    return chunks


def mean_before(chunks, rank, send, recv):
    """Divides first."""
    p = len(chunks)
    for i in range(p):
        chunks[i] = chunks[i] / p
    return rl.ring_allreduce(chunks, rank, send, recv)


def mean_between(chunks, rank, send, recv):
    """Divides only the complete chunk, between the halves."""
    p = len(chunks)
    rl.reduce_scatter(chunks, rank, send, recv)
    chunks[(rank + 1) % p] /= p
    return rl.all_gather(chunks, rank, send, recv)


MEANS = [mean_after, mean_before, mean_between]


def owns_its_own(chunks, rank, send, recv):
    """The reduce-scatter after which rank r owns chunk r."""
    return rl.reduce_scatter(chunks, rank, send, recv, shift=1)


def everybody_to_its_owner(chunks, rank, send, recv):
    """Each rank sends every chunk straight to the rank that shall own it, the one three further on."""
    p = len(chunks)
    mine = (rank - 3) % p
    for chunk in range(p):
        if chunk != mine:
            send(chunks[chunk], (chunk + 3) % p)
    for peer in range(p):
        if peer != rank:
            chunks[mine] += recv(peer)
    return chunks


REDUCE_SCATTERS = [rl.reduce_scatter, owns_its_own, everybody_to_its_owner, rl.ring_allreduce]


def everybody_to_everybody(chunks, rank, send, recv):
    """Each owner sends its chunk straight to everybody."""
    p = len(chunks)
    for peer in range(p):
        if peer != rank:
            send(chunks[(rank + 1) % p], peer)
    for peer in range(p):
        if peer != rank:
            chunks[(peer + 1) % p] = recv(peer)
    return chunks


ALL_GATHERS = [rl.all_gather, everybody_to_everybody]
