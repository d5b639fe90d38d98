"""Every one-token mutant of ringlab/algorithms/ring.py, and what each really does.

A mutant is the file with one token replaced by another of its kind: an operator, an assignment, a number, a name, a
function that is called, or `return` left out. What it does is found out without the judge: it runs on numbers, rank by
rank, on the virtual wire.
"""

import inspect
import io
import tokenize

import numpy as np

from ringlab.algorithms import ring
from ringlab.chunks import Chunks
from ringlab.verdicts import Deadlock
from ringlab.wires.virtual import RankFailed, VirtualWire

KINDS = (
    ("+", "-", "*", "//", "%"),
    ("=", "+=", "-="),
    ("0", "1", "2"),
    ("rank", "k", "p", "shift"),
    ("send", "recv"),
    ("reduce_scatter", "all_gather"),
)
FUNCTIONS = (ring.reduce_scatter, ring.all_gather, ring.ring_allreduce)


def sources():
    """(name, source of the three functions) of every mutant."""
    found = []
    for place, function in enumerate(FUNCTIONS):
        texts = [inspect.getsource(other) for other in FUNCTIONS]
        for text, name in _mutations(texts[place]):
            source = "\n\n".join([*texts[:place], text, *texts[place + 1 :]])
            found.append((f"{function.__name__} {name}", source))
    return found


def _mutations(source):
    lines = source.splitlines(keepends=True)
    tokens = list(tokenize.generate_tokens(io.StringIO(source).readline))
    body = next(i for i, token in enumerate(tokens) if token.type == tokenize.NEWLINE)  # past the def line
    for token in tokens:
        header = token.start[0] <= tokens[body].end[0]
        if token.type == tokenize.NAME and token.string == "return":
            yield _replaced(lines, token, ""), f"line {token.start[0]}: no return"
            continue
        for kind in KINDS:
            if token.string not in kind or (header and token.type != tokenize.NUMBER):
                continue
            for other in kind:
                if other != token.string:
                    name = f"line {token.start[0]}, column {token.start[1]}: {token.string} becomes {other}"
                    yield _replaced(lines, token, other), name


def _replaced(lines, token, text):
    row, (start, end) = token.start[0] - 1, (token.start[1], token.end[1])
    changed = lines[row][:start] + text + lines[row][end:]
    return "".join([*lines[:row], changed, *lines[row + 1 :]])


def compiled(source):
    """The mutant's ring_allreduce; None when it is no Python."""
    space = {"__name__": "mutant"}
    try:
        exec(compile(source, "mutant.py", "exec"), space)
    except SyntaxError:
        return None
    return space["ring_allreduce"]


def truth(function, ranks):
    """What a mutant does at `ranks` ranks: ("raised" | "blocked" | "returned" | "wrong" | "unread" | "right", wrong).

    wrong: set of the (rank, chunk) pairs whose numbers are wrong at the end.
    """
    data = np.random.default_rng(ranks).integers(1, 10**9, (ranks, 3 * ranks)).astype(float)
    total = data.sum(axis=0).reshape(ranks, -1)
    wire = VirtualWire(ranks)

    def program(rank):
        def play(send, recv):
            chunks = Chunks(data[rank].copy(), ranks)
            return function(chunks, rank, send, recv)

        return play

    try:
        returned = wire.run([program(rank) for rank in range(ranks)])
    except RankFailed:
        return "raised", set()
    except Deadlock:
        return "blocked", set()
    if not all(isinstance(chunks, Chunks) for chunks in returned):
        return "returned", set()
    wrong = {
        (rank, chunk)
        for rank, chunks in enumerate(returned)
        for chunk in range(ranks)
        if not np.array_equal(chunks[chunk], total[chunk])
    }
    return ("wrong" if wrong else "unread" if wire.unread() else "right"), wrong
