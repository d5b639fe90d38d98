"""In which order were the terms added? Read from a run's trace, drawn as a tree, and evaluated again.

An order is text: "((2 + 3) + 0) + 1" says that rank 2's part was added to rank 3's, that sum to rank 0's, and so on.
As data it is a rank, or a pair of orders. a + b has the same bits as b + a, so the sides of a + may be swapped; its
parentheses may not be moved.
"""

import re

import numpy as np

from ..chunks import bounds
from ..verdicts import BadInput
from .sums import rounded


def orders(run, rank=None):
    """The order in which each chunk of a run (or trace) was added up, a tuple of texts.

    rank: whose copy; by default the rank that first held the complete chunk. 'not known' where the trace cannot tell,
    and BadInput where it knows nothing of terms.
    """
    trace = getattr(run, "trace", run)
    return tuple(trace.order(chunk, rank) for chunk in range(trace.nchunks))


def chunk_of(run, element):
    """Which chunk of the run's trace holds the flat index `element` of the buffer; BadInput when there is none."""
    trace, n = run.trace, run.outputs[0].size
    if not 0 <= element < n:
        raise BadInput(f"element {element} is not in this run", f"elements are 0 to {n - 1}")
    edges, pieces = bounds(n, trace.ranks), trace.nchunks // trace.ranks
    chunk = next(c for c in range(trace.ranks) if edges[c] <= element < edges[c + 1])
    size = edges[chunk + 1] - edges[chunk]
    starts = [edges[chunk] - -size * piece // pieces for piece in range(pieces)]  # the first pieces are the longer ones
    return chunk * pieces + max(piece for piece in range(pieces) if starts[piece] <= element)


def parse(order):
    """A rank, or a pair (left, right) of what `parse` gives.

    >>> parse("((2 + 3) + 0) + 1")
    (((2, 3), 0), 1)
    """
    tokens = re.findall(r"\d+|\S", order)[::-1]

    def term():
        token = tokens.pop() if tokens else ""
        if token.isdigit():
            return int(token)
        if token != "(":
            raise _no_order(order)
        inner = total()
        if not tokens or tokens.pop() != ")":
            raise _no_order(order)
        return inner

    def total():
        left = term()
        while tokens and tokens[-1] == "+":
            tokens.pop()
            left = (left, term())
        return left

    tree = total()
    if tokens:
        raise _no_order(order)
    return tree


def _no_order(order):
    return BadInput(f"{order!r} is no order of a sum", "an order is written like '((2 + 3) + 0) + 1'")


def evaluate(order, terms, dtype=None):
    """The sum of `terms` (one array per rank) in this order: the very bits that a run with this order gives.

    >>> float(evaluate("(0 + 1) + 2", [np.float32(1e8), np.float32(-1e8), np.float32(1)]))
    1.0
    """
    arrays = rounded(terms, dtype)

    def total(tree):
        return arrays[tree] if isinstance(tree, int) else total(tree[0]) + total(tree[1])

    with np.errstate(over="ignore", invalid="ignore"):
        return total(parse(order) if isinstance(order, str) else order)


def depth(order):
    """Additions on the longest way from a term to the sum: as many roundings can hit that term.

    >>> depth("((0 + 1) + 2) + 3"), depth("(0 + 1) + (2 + 3)")
    (3, 2)
    """

    def deep(tree):
        return 0 if isinstance(tree, int) else 1 + max(deep(tree[0]), deep(tree[1]))

    return deep(parse(order) if isinstance(order, str) else order)


def leaves(order):
    """The ranks of an order from left to right, as a list."""
    tree = parse(order) if isinstance(order, str) else order
    return [tree] if isinstance(tree, int) else leaves(tree[0]) + leaves(tree[1])


def swapped(order):
    """The order with the sides of each + sorted: equal for two orders that give the same bits for any numbers."""

    def sort(tree):
        return tree if isinstance(tree, int) else tuple(sorted((sort(tree[0]), sort(tree[1])), key=repr))

    return sort(parse(order) if isinstance(order, str) else order)


def sketch(order, terms=None, dtype=None):
    """The tree of an order as lines of text; with `terms` (a number per rank) also every sum on the way.

    >>> print(sketch("(0 + 1) + 2", [1e8, -1e8, 1], "float32"))
    + = 1
    ├─ + = 0
    │  ├─ rank 0: 1e+08
    │  └─ rank 1: -1e+08
    └─ rank 2: 1
    """
    numbers = None if terms is None else rounded(terms, dtype)

    def lines(tree):
        leaf = isinstance(tree, int)
        value = "" if numbers is None else f"{float(evaluate(tree, numbers)):.9g}"
        if leaf:
            return [f"rank {tree}: {value}" if value else f"rank {tree}"]
        first, second = lines(tree[0]), lines(tree[1])
        head = [f"+ = {value}" if value else "+"]
        head += ["├─ " + first[0], *("│  " + line for line in first[1:])]
        return head + ["└─ " + second[0], *("   " + line for line in second[1:])]

    return "\n".join(lines(parse(order) if isinstance(order, str) else order))
