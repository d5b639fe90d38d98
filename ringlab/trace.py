"""The record of a run: a plain list of events, and the tables that are functions of it."""

import functools
import json

from . import expressions
from .events import Event, chunk_name, slots
from .verdicts import BadInput

VERSION = 1


class Trace:
    """What happened in one run, event by event, in order of (round, rank, program).

    ranks: P.  nchunks: P as well, or 2P when the algorithm works on half chunks.  algorithm, op: names.
    rounds: the run's end with one time unit per message.
    changes: aligned with `events`; each a tuple of (chunk, terms) that the rank's buffer held differently after the
    event.  values[r][c]: first element of chunk c in rank r's input, or None.  source: list of (line, text).
    failure: None, or a dict of verdict, rank, round, text, waiting for a run that did not finish.
    clock: whose seconds the times are, "real" or "virtual"; None when an older file does not say.
    """

    def __init__(
        self,
        programs,
        ranks,
        rounds,
        algorithm,
        op="sum",
        values=None,
        source=None,
        failure=None,
        nchunks=None,
        clock="real",
    ):
        self._programs = programs  # per rank the (event, changes) pairs in program order
        rows = sorted((row for program in programs for row in program), key=lambda row: (row[0].round, row[0].rank))
        self.events, self.changes = tuple(event for event, _ in rows), tuple(changes for _, changes in rows)
        self.ranks, self.nchunks = ranks, ranks if nchunks is None else nchunks
        self.rounds, self.algorithm, self.op = rounds, algorithm, op
        self.values, self.source, self.failure, self.clock = values, source, failure, clock

    def __repr__(self):
        sends = sum(event.kind == "send" for event in self.events)
        return f"trace of {self.algorithm}: {self.ranks} ranks, {self.rounds} rounds, {sends} messages"

    def __str__(self):
        return self.table()

    @functools.cached_property
    def provenance(self):
        """Whether the terms of every message are known."""
        return all(event.terms is not None for event in self.events)

    @property
    def initial(self):
        """Terms at the start: per rank and chunk, the rank's own."""
        return tuple(tuple((rank,) for _ in range(self.nchunks)) for rank in range(self.ranks))

    def name_of(self, chunk):
        """What a chunk is called: 'c2', or 'c2a' where the algorithm works on half chunks."""
        return chunk_name(chunk, self.nchunks // max(1, self.ranks))

    def by_rank(self, rank):
        """The (event, changes) pairs of one rank, in the order of its program."""
        return tuple(self._programs[rank])

    def holds(self, round):
        """Terms per rank and chunk after all messages of `round` (-1: at the start).

        A rank takes its messages in the order of its program: one that came early waits for those asked for before.
        """
        self._need_provenance()
        held = [list(row) for row in self.initial]
        for rank, program in enumerate(self._programs):
            landed = 0
            for event, changes in program:
                landed = max(landed, event.round)
                if landed <= round:
                    for chunk, terms in changes:
                        held[rank][chunk] = terms
        return tuple(tuple(row) for row in held)

    def phase(self, round):
        """What receivers do in a round: "adding", "copying", "mixed", or "moving" when their buffers stay."""
        kinds = set()
        for event, changes in zip(self.events, self.changes, strict=True):
            if event.kind == "recv" and event.round == round and event.terms is not None:
                came = dict(zip(event.chunks, event.terms, strict=True))
                for chunk, terms in changes:
                    kinds.add("copying" if came.get(chunk) == terms else "adding")
        return kinds.pop() if len(kinds) == 1 else "mixed" if kinds else "moving"

    def table(self, round=None):
        """Text: what each rank sends, gets and then holds in one round, or in all rounds."""
        if round is None:
            return "\n\n".join(self.table(r) for r in range(self.rounds)) or f"{self!r}: nothing moved"
        if not 0 <= round < max(1, self.rounds):
            raise BadInput(f"round {round} is not in this run", f"rounds are 0 to {self.rounds - 1}")
        head = f"round {round}, {self.phase(round)}" if self.provenance else f"round {round}"
        rows = {"sends": [""] * self.ranks, "gets": [""] * self.ranks, "then holds": [""] * self.ranks}
        for event, changes in zip(self.events, self.changes, strict=True):
            if event.round != round:
                continue
            row = rows["sends" if event.kind == "send" else "gets"]
            text = self._message(event)
            row[event.rank] = f"{row[event.rank]}; {text}" if row[event.rank] else text
            if event.kind == "recv" and changes:
                text = self._parts([c for c, _ in changes], [t for _, t in changes])
                rows["then holds"][event.rank] = text
        if not self.provenance:
            del rows["then holds"]
        return _grid(head, [f"rank {rank}" for rank in range(self.ranks)], rows)

    def state(self, round):
        """Text: whose terms every chunk holds on every rank after `round` (-1: at the start)."""
        held = self.holds(round)
        head = "at the start" if round < 0 else f"after round {round}"
        rows = {
            self.name_of(chunk): [slots(held[rank][chunk], self.ranks) for rank in range(self.ranks)]
            for chunk in range(self.nchunks)
        }
        return _grid(head, [f"rank {rank}" for rank in range(self.ranks)], rows)

    def owner(self, chunk):
        """The rank that first holds the complete chunk; None when no rank ever does, BadInput for no such chunk."""
        self._check_chunk(chunk)
        self._need_provenance()
        everybody = tuple(range(self.ranks))
        if self.ranks == 1:
            return 0
        for event, changes in zip(self.events, self.changes, strict=True):
            if event.kind == "recv" and (chunk, everybody) in [(c, tuple(sorted(t))) for c, t in changes]:
                return event.rank
        return None

    def order(self, chunk, rank=None):
        """The sum that chunk `chunk` holds at the end on `rank` (default: its owner), parenthesised as it was added.

        '((2 + 3) + 0) + 1' says that rank 2's part went to rank 3, which added its own, and so on. 'not known' when
        the trace cannot tell.
        """
        self._check_chunk(chunk)
        self._need_provenance()
        rank = rank if rank is not None else self.owner(chunk)
        return expressions.sums(self._programs, chunk)[0 if rank is None else rank]

    def to_dict(self):
        """Plain data, as `save` writes it."""
        return {
            "version": VERSION,
            "algorithm": self.algorithm,
            "op": self.op,
            "ranks": self.ranks,
            "nchunks": self.nchunks,
            "rounds": self.rounds,
            "programs": [
                [[list(event), [[chunk, list(terms)] for chunk, terms in changes]] for event, changes in program]
                for program in self._programs
            ],
            "values": self.values,
            "source": self.source,
            "failure": self.failure,
            "clock": self.clock,
        }

    @classmethod
    def from_dict(cls, data):
        """The trace of `to_dict`; BadInput when it is none."""
        try:
            if data["version"] != VERSION:
                raise BadInput(f"this trace has version {data['version']}, this ringlab reads version {VERSION}")
            programs = [
                [
                    (_event(*event), tuple((chunk, tuple(terms)) for chunk, terms in changes))
                    for event, changes in program
                ]
                for program in data["programs"]
            ]
            source = data["source"] and [tuple(pair) for pair in data["source"]]
            return cls(
                programs,
                data["ranks"],
                data["rounds"],
                data["algorithm"],
                data["op"],
                data["values"],
                source,
                data["failure"],
                data.get("nchunks"),
                data.get("clock"),
            )
        except (KeyError, TypeError, ValueError) as error:
            raise BadInput(f"this is no saved trace ({type(error).__name__}: {error})") from None

    def save(self, path):
        """Write the trace as JSON; `rl.load(path)` reads it."""
        with open(path, "w", encoding="utf-8") as file:
            json.dump(self.to_dict(), file, default=str)

    def to_perfetto(self, path):
        """Write the trace for ui.perfetto.dev or chrome://tracing: every rank on one clock, an arrow per message."""
        from .perfetto import trace_events

        with open(path, "w", encoding="utf-8") as file:
            json.dump(trace_events(self), file)

    def _message(self, event):
        if event.terms is None:
            return f"{event.nbytes} bytes"
        return self._parts(event.chunks, event.terms)

    def _parts(self, chunks, terms):
        """'c3 0··3', or 'c0-c3 01··' for several chunks with equal terms, or just their names."""
        if not len(chunks):
            return "nothing"
        if len(chunks) == 1:
            return f"{self.name_of(chunks[0])} {slots(terms[0], self.ranks)}"
        consecutive = list(chunks) == list(range(chunks[0], chunks[0] + len(chunks)))
        names = [self.name_of(chunk) for chunk in chunks]
        name = f"{names[0]}-{names[-1]}" if consecutive else ",".join(names)
        return f"{name} {slots(terms[0], self.ranks)}" if len(set(terms)) == 1 else name

    def _need_provenance(self):
        if not self.provenance:
            raise BadInput(
                "this trace does not know whose terms its messages carry",
                "the probe covers all-reduces of up to 64 ranks that make the same calls for any data",
            )

    def _check_chunk(self, chunk):
        if not 0 <= chunk < self.nchunks:
            raise BadInput(f"chunk {chunk} is not in this run", f"chunks are 0 to {self.nchunks - 1}")


def _event(rank, kind, peer, chunks, terms, *rest):
    known = None if terms is None else tuple(tuple(part) for part in terms)
    return Event(rank, kind, peer, tuple(chunks), known, *rest)


def load(path):
    """The Trace that `trace.save(path)` wrote; BadInput when the file is none."""
    try:
        with open(path, encoding="utf-8") as file:
            data = json.load(file)
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise BadInput(f"{path} is no saved trace: {error}") from None
    except OSError as error:
        raise BadInput(f"{path} cannot be read: {error.strerror}") from None
    if not isinstance(data, dict):
        raise BadInput(f"{path} is no saved trace: it holds a {type(data).__name__}")
    return Trace.from_dict(data)


def _grid(head, columns, rows):
    """A text table with `head` over the row names, without trailing blanks."""
    names = [head, *rows]
    width = max(len(name) for name in names)
    cells = [columns, *rows.values()]
    widths = [max(len(row[i]) for row in cells) for i in range(len(columns))]
    lines = []
    for name, row in zip(names, cells, strict=True):
        lines.append("   ".join([name.ljust(width), *(c.ljust(w) for c, w in zip(row, widths, strict=True))]).rstrip())
    return "\n".join(lines)
