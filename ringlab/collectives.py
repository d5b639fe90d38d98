"""Closed forms of what is no all-reduce, or half of one: see `forms.py` for what they promise.

From Thakur, Rabenseifner and Gropp 2005, sections 3 and 4. S is the whole buffer: what the root has in the beginning or
in the end, or what all ranks together hold.
"""

from .forms import Cost, broadcast, halves, reduce


def _levels_of(q):
    """Bytes that move in each step of a binomial scatter: the half of what a subtree needs, and so on."""
    return [min(step, q.p - step) * q.share for step in (1 << k for k in range(q.levels))]


def scatter(q):
    """ceil(log2 p) alpha + (p-1)/p S beta, down a binomial tree."""
    sent = (q.p - 1) * q.share
    return Cost(sum(q.message(part) for part in _levels_of(q)), sent, sent)


def gather(q):
    """The scatter, played backwards: the root receives."""
    cost = scatter(q)
    return cost._replace(sent=max(_levels_of(q)))


def reduce_scatter(q):
    """(p-1) (alpha + beta S/p + gamma S/p), round the ring."""
    sent = (q.p - 1) * q.share
    return Cost((q.p - 1) * (q.message(q.share) + q.add(q.share)), sent, 2 * sent)


def all_gather(q):
    """(p-1) (alpha + beta S/p), round the ring."""
    sent = (q.p - 1) * q.share
    return Cost((q.p - 1) * q.message(q.share), sent, 2 * sent)


def direct_reduce_scatter(q):
    """(p-1) (alpha + beta S/p) and the last addition: everybody to everybody (pairwise)."""
    sent = (q.p - 1) * q.share
    return Cost(q.crowd(q.p - 1, q.share), sent, 2 * sent if q.ports == 1 else 2 * q.share)


def direct_all_gather(q):
    """(p-1) (alpha + beta S/p)."""
    sent = (q.p - 1) * q.share
    return Cost(q.spread(q.p - 1, q.share), sent, 2 * sent if q.ports == 1 else 2 * q.share)


def halving_reduce_scatter(q):
    """log2 p alpha + (p-1)/p S (beta + gamma), for powers of two."""
    sent = (q.p - 1) * q.share
    return Cost(sum(q.message(part * q.share) + q.add(part * q.share) for part in halves(q.p)), sent, 2 * sent)


def doubling_all_gather(q):
    """log2 p alpha + (p-1)/p S beta, for powers of two."""
    sent = (q.p - 1) * q.share
    return Cost(sum(q.message(part * q.share) for part in halves(q.p)), sent, 2 * sent)


def bruck_all_gather(q):
    """ceil(log2 p) alpha + (p-1)/p S beta, for any p."""
    sent = (q.p - 1) * q.share
    return Cost(sum(q.message(part) for part in _levels_of(q)), sent, 2 * sent)


def scatter_broadcast(q):
    """(ceil(log2 p) + p-1) alpha + 2(p-1)/p S beta: a scatter, then an all-gather round the ring."""
    down, round_ = scatter(q), all_gather(q)
    return Cost(down.seconds + round_.seconds, down.sent + round_.sent, down.port + round_.port)


def all_to_all(q):
    """(p-1) (alpha + beta S/p), S bytes on every rank, a part for each other one."""
    return direct_all_gather(q)


def barrier(q):
    """ceil(log2 p) alpha: nobody has news of fewer messages in a row."""
    return Cost(q.levels * q.alpha, 0, 0)


OTHERS = {
    form.__name__: form
    for form in (
        reduce_scatter,
        all_gather,
        reduce,
        broadcast,
        direct_reduce_scatter,
        direct_all_gather,
        halving_reduce_scatter,
        doubling_all_gather,
        bruck_all_gather,
        scatter,
        gather,
        scatter_broadcast,
        all_to_all,
        barrier,
    )
}
POWERS_ONLY = ("halving_reduce_scatter", "doubling_all_gather")
