"""One message, and what chunks and their terms are called in text."""

from typing import NamedTuple


class Event(NamedTuple):
    """One message, seen by its sender ("send") or its receiver ("recv").

    chunks: which chunks it carries.  terms[i]: whose gradients are in chunks[i], a sorted tuple of ranks, one
    repeated when counted twice; None for the whole field when the probe does not know.  nbytes: bytes of array data.
    round: the message's start when every message takes one unit of time.  line: the source line that acted.
    start, end: seconds since the call began (virtual seconds on the virtual wire).
    """

    rank: int
    kind: str
    peer: int
    chunks: tuple
    terms: tuple | None
    nbytes: int
    round: int
    line: int
    start: float
    end: float


def slots(terms, ranks):
    """Whose terms, as fixed slots: '01·3' lacks rank 2, '0123*' is complete, 'r1x2' counts rank 1 twice.

    Above 8 ranks the number of ranks instead.

    >>> slots((0, 1, 3), 4), slots((0, 1, 2, 3), 4), slots((0, 1, 1), 4)
    ('01·3', '0123*', '01·· r1x2')
    """
    here = set(terms)
    twice = sorted({rank for rank in terms if terms.count(rank) > 1})
    times = {terms.count(rank) for rank in here}
    if ranks <= 8:
        text = "".join(str(rank) if rank in here else "·" for rank in range(ranks))
    else:
        text = f"{len(here)} of {ranks}"
    if len(here) == ranks and times == {1}:
        return text + "*"
    if len(here) == ranks and len(times) == 1:
        return f"{text} x{times.pop()}"
    return text + "".join(f" r{rank}x{terms.count(rank)}" for rank in twice)


def chunk_name(chunk, pieces=1):
    """What a chunk is called: 'c2', or 'c2a' and 'c2b' when each chunk is cut in two pieces, numbered on.

    >>> chunk_name(2), chunk_name(5, pieces=2)
    ('c2', 'c2b')
    """
    return f"c{chunk}" if pieces <= 1 else f"c{chunk // pieces}{chr(ord('a') + chunk % pieces)}"
