"""Wrong all-reduces by family, each with the verdict and the family that it must get.

CASES holds (function, verdict, family, options of check). The function's docstring says what is wrong with it.
"""

import os
import signal
import sys

import numpy as np

import ringlab as rl

# -- not written -----------------------------------------------------------------------------------------------


def stub(chunks, rank, send, recv):
    """Returns its chunks and does nothing."""
    return chunks


def empty(chunks, rank, send, recv):
    """Nothing but a docstring."""


def to_do(chunks, rank, send, recv):
    """Says that it is not written."""
    raise NotImplementedError


def open_blank(chunks, rank, send, recv):
    """A blank is still there."""
    p = len(chunks)
    for k in range(p - 1):
        send(chunks[(rank - k) % p], (rank + 1) % p)
        chunks[___] += recv((rank - 1) % p)  # noqa: F821
    return chunks


# -- the ring --------------------------------------------------------------------------------------------------


def ring(chunks, rank, send, recv, *, adds=0, copies=0, send_at=0, add_at=0, gather_at=0, put_at=0, way=1, back=1,
         adding="+", copying="="):  # fmt: skip
    """A ring with what can be wrong about it as options: extra rounds, shifted numbers, other neighbours, = for +=."""
    p = len(chunks)
    for k in range(p - 1 + adds if p > 1 else 0):
        send(chunks[(rank - k + send_at) % p], (rank + way) % p)
        came = recv((rank - back) % p)
        if adding == "+":
            chunks[(rank - k - 1 + add_at) % p] += came
        else:
            chunks[(rank - k - 1 + add_at) % p] = came
    for k in range(p - 1 + copies if p > 1 else 0):
        send(chunks[(rank - k + 1 + gather_at) % p], (rank + way) % p)
        came = recv((rank - back) % p)
        if copying == "+":
            chunks[(rank - k + put_at) % p] += came
        else:
            chunks[(rank - k + put_at) % p] = came
    return chunks


def adds_in_copying(chunks, rank, send, recv):
    """+= in both halves."""
    return ring(chunks, rank, send, recv, copying="+")


def overwrites_in_adding(chunks, rank, send, recv):
    """= in both halves."""
    return ring(chunks, rank, send, recv, adding="=")


def one_round_too_few(chunks, rank, send, recv):
    """range(p - 2) additions."""
    return ring(chunks, rank, send, recv, adds=-1)


def one_round_too_many(chunks, rank, send, recv):
    """Adds in p rounds, sending on what it has just received."""
    p = len(chunks)
    for t in range(2 * p - 1 if p > 1 else 0):
        send(chunks[(rank - t) % p], (rank + 1) % p)
        came = recv((rank - 1) % p)
        if t < p:
            chunks[(rank - t - 1) % p] += came
        else:
            chunks[(rank - t - 1) % p] = came
    return chunks


def one_copy_too_few(chunks, rank, send, recv):
    """range(p - 2) copies."""
    return ring(chunks, rank, send, recv, copies=-1)


def only_adds(chunks, rank, send, recv):
    """The first half alone."""
    return rl.reduce_scatter(chunks, rank, send, recv)


def only_copies(chunks, rank, send, recv):
    """The second half alone."""
    return rl.all_gather(chunks, rank, send, recv)


def puts_one_further(chunks, rank, send, recv):
    """The second half puts each chunk one place too far."""
    return ring(chunks, rank, send, recv, put_at=1)


def adds_one_further(chunks, rank, send, recv):
    """The first half adds to the chunk beside."""
    return ring(chunks, rank, send, recv, add_at=1)


def sends_one_further(chunks, rank, send, recv):
    """The first half sends the chunk beside."""
    return ring(chunks, rank, send, recv, send_at=1)


def always_sends_its_own(chunks, rank, send, recv):
    """Forgets the - k of the send."""
    p = len(chunks)
    for k in range(p - 1):
        send(chunks[rank], (rank + 1) % p)
        chunks[(rank - k - 1) % p] += recv((rank - 1) % p)
    return rl.all_gather(chunks, rank, send, recv)


def gathers_its_own(chunks, rank, send, recv):
    """The second half sends the same chunk in every round."""
    p = len(chunks)
    rl.reduce_scatter(chunks, rank, send, recv)
    for k in range(p - 1):
        send(chunks[(rank + 1) % p], (rank + 1) % p)
        chunks[(rank - k) % p] = recv((rank - 1) % p)
    return chunks


def against_the_numbers(chunks, rank, send, recv):
    """Sends to rank - 1 with the numbers of a ring that sends to rank + 1."""
    return ring(chunks, rank, send, recv, way=-1, back=-1)


def skips_a_neighbour(chunks, rank, send, recv):
    """Sends to rank + 2."""
    return ring(chunks, rank, send, recv, way=2, back=2)


def twice_over(chunks, rank, send, recv):
    """All-reduces what is all-reduced."""
    return rl.ring_allreduce(rl.ring_allreduce(chunks, rank, send, recv), rank, send, recv)


def chunk_zero_only(chunks, rank, send, recv):
    """Sends chunk 0 in every round."""
    p = len(chunks)
    for _ in range(2 * (p - 1)):
        send(chunks[0], (rank + 1) % p)
        chunks[0] = recv((rank - 1) % p)
    return chunks


def rank_nought_adds_wrong(chunks, rank, send, recv):
    """One rank replaces where all others add."""
    p = len(chunks)
    for k in range(p - 1):
        send(chunks[(rank - k) % p], (rank + 1) % p)
        came = recv((rank - 1) % p)
        if rank == 0:
            chunks[(rank - k - 1) % p] = came
        else:
            chunks[(rank - k - 1) % p] += came
    return rl.all_gather(chunks, rank, send, recv)


# -- stars, trees and others -----------------------------------------------------------------------------------


def star_without_root(chunks, rank, send, recv):
    """The root's own gradient is overwritten by the first that comes."""
    p = len(chunks)
    if rank:
        send(list(chunks), 0)
        for i, part in enumerate(recv(0)):
            chunks[i] = part
        return chunks
    for peer in range(1, p):
        for i, part in enumerate(recv(peer)):
            if peer == 1:
                chunks[i] = part
            else:
                chunks[i] += part
    for peer in range(1, p):
        send(list(chunks), peer)
    return chunks


def star_that_adds_back(chunks, rank, send, recv):
    """Leaves add the sum to their own gradient."""
    p = len(chunks)
    if rank:
        send(list(chunks), 0)
        for i, part in enumerate(recv(0)):
            chunks[i] += part
        return chunks
    for peer in range(1, p):
        for i, part in enumerate(recv(peer)):
            chunks[i] += part
    for peer in range(1, p):
        send(list(chunks), peer)
    return chunks


def star_in_a_hurry(chunks, rank, send, recv):
    """The root answers before everybody's gradient has come."""
    p = len(chunks)
    if rank:
        send(list(chunks), 0)
        for i, part in enumerate(recv(0)):
            chunks[i] = part
        return chunks
    for peer in range(1, p):
        for i, part in enumerate(recv(peer)):
            chunks[i] += part
        send(list(chunks), peer)
    return chunks


def star_that_forgets_one(chunks, rank, send, recv):
    """The root does not answer the last rank."""
    p = len(chunks)
    if rank:
        send(list(chunks), 0)
        for i, part in enumerate(recv(0)):
            chunks[i] = part
        return chunks
    for peer in range(1, p):
        for i, part in enumerate(recv(peer)):
            chunks[i] += part
    for peer in range(1, p - 1):
        send(list(chunks), peer)
    return chunks


def star_that_ignores_one(chunks, rank, send, recv):
    """The root receives rank 1's gradient and does nothing with it."""
    p = len(chunks)
    if rank:
        send(list(chunks), 0)
        for i, part in enumerate(recv(0)):
            chunks[i] = part
        return chunks
    for peer in range(1, p):
        parts = recv(peer)
        for i, part in enumerate(parts if peer > 1 else ()):
            chunks[i] += part
    for peer in range(1, p):
        send(list(chunks), peer)
    return chunks


def star_that_keeps_one(chunks, rank, send, recv):
    """The root answers with all chunks but the last."""
    p = len(chunks)
    if rank:
        send(list(chunks), 0)
        for i, part in enumerate(recv(0)):
            chunks[i] = part
        return chunks
    for peer in range(1, p):
        for i, part in enumerate(recv(peer)):
            chunks[i] += part
    for peer in range(1, p):
        send(list(chunks)[:-1], peer)
    return chunks


def star_that_slips(chunks, rank, send, recv):
    """The root adds what comes from rank 2 to the chunks beside."""
    p = len(chunks)
    if rank:
        send(list(chunks), 0)
        for i, part in enumerate(recv(0)):
            chunks[i] = part
        return chunks
    for peer in range(1, p):
        for i, part in enumerate(recv(peer)):
            chunks[(i + (peer == 2)) % p] += part
    for peer in range(1, p):
        send(list(chunks), peer)
    return chunks


def clears_its_buffer(chunks, rank, send, recv):
    """Sets everything to zero before it starts."""
    for i in range(len(chunks)):
        chunks[i] = 0
    return rl.ring_allreduce(chunks, rank, send, recv)


def two_islands(chunks, rank, send, recv):
    """The lower and the upper half of the ranks never talk to each other."""
    p = len(chunks)
    half = max(1, p // 2)
    low = 0 if rank < half else half
    members = range(low, half if rank < half else p)
    for peer in members:
        if peer != rank:
            send(list(chunks), peer)
    parts = [recv(peer) for peer in members if peer != rank]
    for part in parts:
        for i in range(p):
            chunks[i] += part[i]
    return chunks


def doubling_of_any_number(chunks, rank, send, recv):
    """Recursive doubling that forgets the numbers that are no power of two."""
    p, distance = len(chunks), 1
    while distance < p:
        peer = rank ^ distance
        send(list(chunks), peer)
        for i, part in enumerate(recv(peer)):
            chunks[i] += part
        distance *= 2
    return chunks


def halves_mixed_up(chunks, rank, send, recv):
    """Everybody gets chunk c of everybody, in the wrong order."""
    p = len(chunks)
    rl.ring_allreduce(chunks, rank, send, recv)
    whole = [part.copy() for part in chunks]
    for i in range(p):
        chunks[i] = whole[(i + 1) % p] if len(whole[i]) == len(whole[(i + 1) % p]) else whole[i]
    return chunks


def subtracts(chunks, rank, send, recv):
    """-= for +=."""
    p = len(chunks)
    for k in range(p - 1):
        send(chunks[(rank - k) % p], (rank + 1) % p)
        chunks[(rank - k - 1) % p] -= recv((rank - 1) % p)
    return rl.all_gather(chunks, rank, send, recv)


def starts_from_zero(chunks, rank, send, recv):
    """Everybody sums up what comes and forgets its own."""
    p = len(chunks)
    for peer in range(p):
        if peer != rank:
            send(list(chunks), peer)
    total = [np.zeros_like(part) for part in chunks]
    for peer in range(p):
        if peer != rank:
            for mine, part in zip(total, recv(peer), strict=True):
                mine += part
    if p > 1:
        for i in range(p):
            chunks[i] = total[i]
    return chunks


# -- means -----------------------------------------------------------------------------------------------------


def divides(chunks, rank, send, recv):
    """The mean where the sum is asked for."""
    p = len(chunks)
    rl.ring_allreduce(chunks, rank, send, recv)
    for i in range(p):
        chunks[i] /= p
    return chunks


def divides_twice(chunks, rank, send, recv):
    """Divides before and after."""
    p = len(chunks)
    for i in range(p):
        chunks[i] /= p
    return divides(chunks, rank, send, recv)


def rounds_down(chunks, rank, send, recv):
    """// for /."""
    p = len(chunks)
    rl.ring_allreduce(chunks, rank, send, recv)
    for i in range(p):
        chunks[i] //= p
    return chunks


def means_of_means(chunks, rank, send, recv):
    """Halves at every addition."""
    p = len(chunks)
    for k in range(p - 1):
        send(chunks[(rank - k) % p], (rank + 1) % p)
        mine = (rank - k - 1) % p
        chunks[mine] = (chunks[mine] + recv((rank - 1) % p)) / 2
    return rl.all_gather(chunks, rank, send, recv)


# -- blocked ---------------------------------------------------------------------------------------------------


def receives_first(chunks, rank, send, recv):
    """Everybody waits before it sends."""
    p = len(chunks)
    for k in range(p - 1):
        came = recv((rank - 1) % p)
        send(chunks[(rank - k) % p], (rank + 1) % p)
        chunks[(rank - k - 1) % p] += came
    return rl.all_gather(chunks, rank, send, recv)


def listens_to_the_wrong_side(chunks, rank, send, recv):
    """Sends to rank + 1 and receives from rank + 1."""
    return ring(chunks, rank, send, recv, back=-1)


def all_to_the_next_of_k(chunks, rank, send, recv):
    """Sends to k + 1, whoever it is itself."""
    p = len(chunks)
    for k in range(p - 1):
        send(chunks[(rank - k) % p], (k + 1) % p)
        chunks[(rank - k - 1) % p] += recv((rank - 1) % p)
    return rl.all_gather(chunks, rank, send, recv)


def one_receive_more(chunks, rank, send, recv):
    """Waits for a message that nobody sends."""
    p = len(chunks)
    rl.ring_allreduce(chunks, rank, send, recv)
    if p > 1:
        recv((rank - 1) % p)
    return chunks


def two_at_a_time(chunks, rank, send, recv):
    """Receives two by two, which fits even numbers of ranks only."""
    p = len(chunks)
    mine = [part.copy() for part in chunks]
    for d in range(1, p):
        send(mine, (rank + d) % p)
    parts = {rank: mine}
    for d in range(1, 2 * ((p + 1) // 2)):
        parts[(rank - d) % p] = recv((rank - d) % p)
    for i in range(p):
        chunks[i] = sum(parts[peer][i] for peer in range(p))
    return chunks


def skips_empty_chunks(chunks, rank, send, recv):
    """Does not send what is empty, and waits for it all the same."""
    p = len(chunks)
    for k in range(p - 1):
        if len(chunks[(rank - k) % p]):
            send(chunks[(rank - k) % p], (rank + 1) % p)
        chunks[(rank - k - 1) % p] += recv((rank - 1) % p)
    return rl.all_gather(chunks, rank, send, recv)


def last_rank_leaves(chunks, rank, send, recv):
    """The last rank leaves before its last receive."""
    p = len(chunks)
    rl.reduce_scatter(chunks, rank, send, recv)
    for k in range(p - 1):
        send(chunks[(rank - k + 1) % p], (rank + 1) % p)
        if rank == p - 1 and k == p - 2:
            return chunks
        chunks[(rank - k) % p] = recv((rank - 1) % p)
    return chunks


def rank_one_never_starts(chunks, rank, send, recv):
    """Rank 1 returns at once."""
    return chunks if rank == 1 else rl.ring_allreduce(chunks, rank, send, recv)


def one_send_more(chunks, rank, send, recv):
    """Sends a last message that nobody receives."""
    p = len(chunks)
    rl.ring_allreduce(chunks, rank, send, recv)
    if p > 1:
        send(chunks[rank], (rank + 1) % p)
    return chunks


# -- raised, left, killed, stuck -------------------------------------------------------------------------------


def chunk_of_the_last(chunks, rank, send, recv):
    """Forgets % p in the number of a chunk."""
    p = len(chunks)
    for k in range(p - 1):
        send(chunks[(rank - k) % p], (rank + 1) % p)
        chunks[rank + k + 1] += recv((rank - 1) % p)
    return chunks


def rank_after_the_last(chunks, rank, send, recv):
    """Forgets % p in the number of a rank."""
    p = len(chunks)
    for k in range(p - 1):
        send(chunks[(rank - k) % p], rank + 1)
        chunks[(rank - k - 1) % p] += recv((rank - 1) % p)
    return chunks


def helps_itself_badly(chunks, rank, send, recv):
    """Raises in a function of its own."""

    def one_round(k):
        if rank == 2:
            raise ZeroDivisionError("rank 2 cannot")
        send(chunks[(rank - k) % len(chunks)], (rank + 1) % len(chunks))
        return recv((rank - 1) % len(chunks))

    for k in range(len(chunks) - 1):
        chunks[(rank - k - 1) % len(chunks)] += one_round(k)
    return rl.all_gather(chunks, rank, send, recv)


def a_name_that_is_not(chunks, rank, send, recv):
    """A misspelt name."""
    send(chunks[rank], (rnak + 1) % len(chunks))  # noqa: F821
    return chunks


def eats_memory(chunks, rank, send, recv):
    """Asks for far more memory than there is."""
    np.ones(2**44, np.uint8)
    return chunks


def leaves(chunks, rank, send, recv):
    """sys.exit in a rank."""
    if rank == 1:
        sys.exit(3)
    return rl.ring_allreduce(chunks, rank, send, recv)


def leaves_hard(chunks, rank, send, recv):
    """os._exit in a rank, after one round."""
    p = len(chunks)
    if rank == 2:
        send(chunks[2], (rank + 1) % p)
        recv((rank - 1) % p)
        os._exit(4)
    return rl.ring_allreduce(chunks, rank, send, recv)


def kills_itself(chunks, rank, send, recv):
    """A signal ends it."""
    if rank == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    return rl.ring_allreduce(chunks, rank, send, recv)


def never_ends(chunks, rank, send, recv):
    """An endless loop on one rank."""
    while rank == 1:
        pass
    return rl.ring_allreduce(chunks, rank, send, recv)


def sends_for_ever(chunks, rank, send, recv):
    """An endless loop of sends."""
    while True:
        send(chunks[0], (rank + 1) % len(chunks))


# -- returned something else -----------------------------------------------------------------------------------


def forgets_return(chunks, rank, send, recv):
    """Does all of it and returns nothing."""
    rl.ring_allreduce(chunks, rank, send, recv)


def returns_one_chunk(chunks, rank, send, recv):
    """Returns its own chunk only."""
    return rl.ring_allreduce(chunks, rank, send, recv)[rank]


def returns_a_number(chunks, rank, send, recv):
    """Returns the sum of the sums."""
    rl.ring_allreduce(chunks, rank, send, recv)
    return float(sum(part.sum() for part in chunks))


def returns_the_others(chunks, rank, send, recv):
    """Returns a list that lacks a chunk."""
    rl.ring_allreduce(chunks, rank, send, recv)
    return list(chunks)[1:]


def yields(chunks, rank, send, recv):
    """A generator function."""
    yield rl.ring_allreduce(chunks, rank, send, recv)


async def waits_politely(chunks, rank, send, recv):
    """An async function."""
    return rl.ring_allreduce(chunks, rank, send, recv)


def three_things(chunks, rank, pair):
    """Takes three arguments."""
    return chunks


# -- seen with numbers only ------------------------------------------------------------------------------------


def loses_digits(chunks, rank, send, recv):
    """Halves the precision of what it sends."""

    def send_short(x, dst):
        send(x.astype(np.float16).astype(x.dtype), dst)

    return rl.ring_allreduce(chunks, rank, send_short, recv)


def forgets_the_last_element(chunks, rank, send, recv):
    """Takes every chunk to be as long as the last one."""
    p, size = len(chunks), len(chunks[-1])
    parts = [chunks[i][:size] for i in range(p)]
    for k in range(p - 1):
        send(parts[(rank - k) % p], (rank + 1) % p)
        parts[(rank - k - 1) % p] += recv((rank - 1) % p)
    for k in range(p - 1):
        send(parts[(rank - k + 1) % p], (rank + 1) % p)
        parts[(rank - k) % p][...] = recv((rank - 1) % p)
    return chunks


def dies_of_large_buffers(chunks, rank, send, recv):
    """Raises on large buffers only."""
    if len(chunks[0]) > 1000:
        raise ValueError("too large for me")
    return rl.ring_allreduce(chunks, rank, send, recv)


# -- halves ----------------------------------------------------------------------------------------------------


def reduces_to_one(chunks, rank, send, recv):
    """Everything is complete on rank 0 and nowhere else."""
    p = len(chunks)
    if rank:
        send(list(chunks), 0)
        return chunks
    for peer in range(1, p):
        for i, part in enumerate(recv(peer)):
            chunks[i] += part
    return chunks


def half_a_scatter(chunks, rank, send, recv):
    """A reduce-scatter one round too short."""
    p = len(chunks)
    for k in range(p - 2):
        send(chunks[(rank - k) % p], (rank + 1) % p)
        chunks[(rank - k - 1) % p] += recv((rank - 1) % p)
    return chunks


def other_start(chunks, rank, send, recv):
    """An all-gather that starts from chunk r on rank r."""
    return rl.all_gather(chunks, rank, send, recv, shift=1)


def adds_while_gathering(chunks, rank, send, recv):
    """An all-gather with +=."""
    p = len(chunks)
    for k in range(p - 1):
        send(chunks[(rank - k + 1) % p], (rank + 1) % p)
        chunks[(rank - k) % p] += recv((rank - 1) % p)
    return chunks


def half_a_gather(chunks, rank, send, recv):
    """An all-gather one round too short."""
    p = len(chunks)
    for k in range(p - 2):
        send(chunks[(rank - k + 1) % p], (rank + 1) % p)
        chunks[(rank - k) % p] = recv((rank - 1) % p)
    return chunks


MEAN, SCATTER, GATHER = {"what": "mean"}, {"what": "reduce_scatter"}, {"what": "all_gather"}
RING = {"at_most": "ring"}
CASES = [
    (stub, "NOT_WRITTEN", "not_written_allreduce", {}),
    (empty, "NOT_WRITTEN", "not_written_allreduce", {}),
    (to_do, "NOT_WRITTEN", "not_written_allreduce", {}),
    (stub, "NOT_WRITTEN", "not_written_allreduce", MEAN),
    (stub, "NOT_WRITTEN", "not_written_reduce_scatter", SCATTER),
    (stub, "NOT_WRITTEN", "not_written_all_gather", GATHER),
    (open_blank, "NOT_WRITTEN", "blank", {}),
    (adds_in_copying, "WRONG_RESULT", "added_in_copying", {}),
    (overwrites_in_adding, "WRONG_RESULT", "overwrote_in_adding", {}),
    (one_round_too_few, "WRONG_RESULT", "adds_too_short", {}),
    (one_round_too_many, "WRONG_RESULT", "adds_too_long", {}),
    (one_copy_too_few, "WRONG_RESULT", "copies_too_short", {}),
    (only_adds, "WRONG_RESULT", "copying_missing", {}),
    (only_copies, "WRONG_RESULT", "adding_missing", {}),
    (rl.bugs.mixed_numbering, "WRONG_RESULT", "copies_incomplete", {}),
    (puts_one_further, "WRONG_RESULT", "misplaced", {}),
    (adds_one_further, "WRONG_RESULT", "misplaced", {}),
    (sends_one_further, "WRONG_RESULT", "misplaced", {}),
    (always_sends_its_own, "WRONG_RESULT", "stale_send", {}),
    (gathers_its_own, "WRONG_RESULT", "stale_send", {}),
    (against_the_numbers, "WRONG_RESULT", "against", {}),
    (skips_a_neighbour, "WRONG_RESULT", "wrong_neighbour", {}),
    (twice_over, "WRONG_RESULT", "counted", {}),
    (chunk_zero_only, "WRONG_RESULT", "overwrote_in_adding", {}),
    (rank_nought_adds_wrong, "WRONG_RESULT", "dropped", {}),
    (star_without_root, "WRONG_RESULT", "forgot_own", {}),
    (star_that_adds_back, "WRONG_RESULT", "twice", {}),
    (star_in_a_hurry, "WRONG_RESULT", "too_early", {}),
    (star_that_forgets_one, "DEADLOCK", "peer_finished", {}),
    (star_that_ignores_one, "WRONG_RESULT", "ignored", {}),
    (star_that_keeps_one, "WRONG_RESULT", "never", {}),
    (star_that_slips, "WRONG_RESULT", "foreign", {}),
    (clears_its_buffer, "WRONG_RESULT", "zeros", {}),
    (two_islands, "WRONG_RESULT", "no_way", {}),
    (doubling_of_any_number, "EXCEPTION", "raised", {}),
    (halves_mixed_up, "WRONG_RESULT", "shifted", {}),
    (subtracts, "WRONG_RESULT", "subtracted", {}),
    (starts_from_zero, "WRONG_RESULT", "forgot_own", {}),
    (rl.ring_allreduce, "WRONG_RESULT", "sum_not_mean", MEAN),
    (divides, "WRONG_RESULT", "mean_not_sum", {}),
    (divides_twice, "WRONG_RESULT", "divided", MEAN),
    (rounds_down, "WRONG_RESULT", "floor", MEAN),
    (means_of_means, "WRONG_RESULT", "weighed", MEAN),
    (receives_first, "DEADLOCK", "nobody_sends", {}),
    (listens_to_the_wrong_side, "DEADLOCK", "waits_for_another", {}),
    (all_to_the_next_of_k, "DEADLOCK", "sent_elsewhere", {}),
    (one_receive_more, "DEADLOCK", "one_receive_too_many", {}),
    (two_at_a_time, "DEADLOCK", "waits_for_itself", {}),
    (skips_empty_chunks, "DEADLOCK", "only_here", {}),
    (last_rank_leaves, "UNREAD", "left_early", {}),
    (rank_one_never_starts, "DEADLOCK", "peer_finished", {}),
    (one_send_more, "UNREAD", "unread", {}),
    (chunk_of_the_last, "EXCEPTION", "raised", {}),
    (rank_after_the_last, "EXCEPTION", "raised", {}),
    (helps_itself_badly, "EXCEPTION", "raised", {}),
    (a_name_that_is_not, "EXCEPTION", "raised", {}),
    (eats_memory, "EXCEPTION", "raised", {}),
    (leaves, "EXITED", "exited", {}),
    (leaves_hard, "EXITED", "exited", {}),
    (kills_itself, "KILLED", "killed", {}),
    (never_ends, "STALL", "stalled", {"timeout": 1.0}),
    (sends_for_ever, "STALL", "endless", {}),
    (forgets_return, "WRONG_RESULT", "returned", {}),
    (returns_one_chunk, "WRONG_RESULT", "returned", {}),
    (returns_a_number, "WRONG_RESULT", "returned", {}),
    (returns_the_others, "WRONG_RESULT", "returned", {}),
    (yields, "WRONG_RESULT", "generator", {}),
    (waits_politely, "WRONG_RESULT", "generator", {}),
    (three_things, "EXCEPTION", "signature", {}),
    (rl.pass_around_allreduce, "WRONG_RESULT", "bits", {}),
    (loses_digits, "WRONG_RESULT", "rounded", {}),
    (forgets_the_last_element, "WRONG_RESULT", "only_here", {}),
    (dies_of_large_buffers, "EXCEPTION", "raised", {}),
    (reduces_to_one, "WRONG_RESULT", "not_one_each", SCATTER),
    (half_a_scatter, "WRONG_RESULT", "adds_too_short", SCATTER),
    (rl.all_gather, "WRONG_RESULT", "overwrote_in_adding", SCATTER),
    (other_start, "WRONG_RESULT", "wrong_start", GATHER),
    (adds_while_gathering, "WRONG_RESULT", "mixed", GATHER),
    (half_a_gather, "WRONG_RESULT", "copies_too_short", GATHER),
    (rl.star_allreduce, "OVER_BOUND", "over", RING),
    (rl.tree_allreduce, "OVER_BOUND", "over", RING),
    (rl.ring_allreduce, "OVER_BOUND", "over", {"at_most": {"rounds": 6, "bytes": 1.75}, "ranks": (8,)}),
]
