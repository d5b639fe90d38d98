"""The fields of a Network, checked and brought into one form; BadInput names the field that cannot be."""

import math
from fractions import Fraction
from numbers import Real

from .verdicts import BadInput


def bad(field, value, advice):
    return BadInput(f"network.{field} is {value!r}", advice)


def check_number(field, value):
    if isinstance(value, bool) or not isinstance(value, Real):
        raise bad(
            field,
            value,
            "use a number of seconds: an int, a Fraction or a float"
            if field != "jitter"
            else "use a share, for example 0.1",
        )
    if not isinstance(value, Fraction) and not math.isfinite(value):
        raise bad(field, value, "use a finite number")
    if value < 0:
        raise bad(field, value, "no message arrives before it was sent: use 0 or more")


def check_whole(field, value, advice):
    if isinstance(value, bool) or not hasattr(value, "__index__") or value < 0:
        raise bad(field, value, advice)


def check_rank(field, rank):
    if isinstance(rank, bool) or not hasattr(rank, "__index__") or rank < 0:
        raise bad(field, rank, "ranks are whole numbers from 0 up")
    return int(rank)


def check_edge(field, edge):
    if not isinstance(edge, (tuple, list)) or len(edge) != 2:
        raise bad(field, edge, "an edge is a pair (src, dst)")
    src, dst = (check_rank(field, rank) for rank in edge)
    if src == dst:
        raise bad(field, edge, "an edge goes from one rank to another")
    return src, dst


def check_cost(field, cost):
    if not isinstance(cost, (tuple, list)) or len(cost) != 2:
        raise bad(field, cost, "give each edge a pair (alpha, beta)")
    for number in cost:
        check_number(field, number)
    return tuple(cost)


def check_factor(field, factor):
    check_number(field, factor)
    if not factor:
        raise bad(field, factor, "how many times as long a message takes: more than 0")
    return factor


def check_window(field, window):
    if not isinstance(window, (tuple, list)) or len(window) != 3:
        raise bad(field, window, "a window is (rank or (src, dst), since, until)")
    where, since, until = window
    where = check_edge(field, where) if isinstance(where, (tuple, list)) else check_rank(field, where)
    for time in (since, until):
        if time is not None:
            check_number(field, time)
    if since is None or (until is not None and not since < until):
        raise bad(field, window, "a window begins before it ends")
    return where, since, until


def check_groups(groups):
    if not isinstance(groups, (tuple, list)) or len(groups) != 3:
        raise bad("groups", groups, "give (ranks per host, alpha, beta) of the links between hosts")
    size, *cost = groups
    check_whole("groups", size, "a host holds at least one rank")
    if size < 1:
        raise bad("groups", groups, "a host holds at least one rank")
    return (int(size), *check_cost("groups", cost))


def items(field, values, check):
    if isinstance(values, (str, bytes)) or not hasattr(values, "__iter__"):
        raise bad(field, values, "give a tuple")
    return [check(field, value) for value in values]


def pairs(field, values, check_key, check_value):
    pairs = values.items() if isinstance(values, dict) else values
    try:
        pairs = [(key, value) for key, value in pairs]
    except (TypeError, ValueError):
        raise bad(field, values, "give a dict") from None
    return [(check_key(field, key), check_value(field, value)) for key, value in pairs]


def known(field, what, rank, ranks):
    if not 0 <= rank < ranks:
        raise BadInput(f"network.{field} names {what}, and this run has ranks 0 to {ranks - 1}", rank=rank)
