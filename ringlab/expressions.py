"""The order in which the terms of a chunk were added, told from the events of a run."""

UNKNOWN = "not known"


def sums(programs, chunk):
    """Per rank the sum that its chunk holds after the whole run, parenthesised as it was added.

    programs: per rank the (event, changes) pairs of a trace that knows whose terms its messages carry.
    """
    ranks = range(len(programs))
    texts = [str(rank) for rank in ranks]
    held = [(rank,) for rank in ranks]
    came = [[] for _ in ranks]  # per rank the (terms, expression) it received, the latest first
    on_the_way = {}  # (src, dst) -> expressions of the chunk in messages not yet received, in order
    for event, changes in _causal(programs):
        rank = event.rank
        terms = dict(zip(event.chunks, event.terms, strict=True)).get(chunk)
        if event.kind == "send":
            mine = [(held[rank], texts[rank]), *came[rank]]
            on_the_way.setdefault((rank, event.peer), []).append(_expression(mine, terms))
        else:
            expression = on_the_way[event.peer, rank].pop(0)
            if terms is not None:
                came[rank].insert(0, (terms, expression or UNKNOWN))
                if terms == held[rank] and expression != texts[rank]:
                    texts[rank] = UNKNOWN  # it may have been copied: that changes no terms
        for _, after in [change for change in changes if change[0] == chunk]:
            copied = _expression(came[rank], after)
            added = _expression(came[rank], _less(after, held[rank]))
            if copied is not None:
                texts[rank] = copied
            elif added is None or UNKNOWN in (added, texts[rank]):
                texts[rank] = UNKNOWN
            else:
                texts[rank] = f"({added} + {texts[rank]})"
            held[rank] = after
    return [text[1:-1] if text.startswith("(") and _outer(text) else text for text in texts]


def _causal(programs):
    """All (event, changes) pairs, each rank in program order and every receive after its send."""
    left = [list(reversed(program)) for program in programs]
    sent = {}
    moved = True
    while moved:
        moved = False
        for rank, program in enumerate(left):
            while program:
                event = program[-1][0]
                if event.kind == "recv":
                    if not sent.get((event.peer, rank)):
                        break
                    sent[event.peer, rank] -= 1
                else:
                    sent[rank, event.peer] = sent.get((rank, event.peer), 0) + 1
                yield program.pop()
                moved = True


def _expression(known, terms):
    """The expression of these terms among (terms, expression) pairs, the first that fits; None when there is none."""
    return next((expression for held, expression in known if held == terms), None)


def _less(terms, others):
    """The terms that are left when `others` are taken away, or None when some of those are not there."""
    left = list(terms)
    for term in others:
        if term not in left:
            return None
        left.remove(term)
    return tuple(left)


def _outer(text):
    """Whether the first and the last parenthesis belong together."""
    depth = 0
    for i, char in enumerate(text):
        depth += (char == "(") - (char == ")")
        if depth == 0:
            return i == len(text) - 1
    return False
