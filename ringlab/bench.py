"""`ringlab bench`: our all-reduce beside MPI and Gloo, side by side in one run.

Everything that is measured takes turns, a measurement each, so that a machine that is slower for a while is slower for
all. Same data, same dtype, same check of the results, all in place; a core for every process when there are enough, and
else what suits each best: cores dealt out to ours and to Open MPI's, MPICH and Gloo left to the system. Times are
medians over the turns, of the slowest rank. How ours compares is said as a ratio, which a busy machine changes less.
"""

import argparse
import contextlib
import functools
import statistics
import time
from collections.abc import Callable
from typing import NamedTuple

from . import bench_table, machine
from .algorithms import ALGORITHMS
from .arguments import resolve
from .bench_timing import most_repeats, warm_ups
from .cost import algbw, busbw
from .source import name_of
from .verdicts import BadInput, NoResource
from .world import check_ranks

RANKS = (2, 4, 8)
SIZES = ("256", "4KiB", "64KiB", "1MiB", "16MiB", "64MiB")
WIRES = ("shm", "pipe")
BUFFERS = ("resident", "private")
SUFFIXES = {"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "KIB": 2**10, "MIB": 2**20, "GIB": 2**30}
# up to so many bytes: all-reduces in a row in one measurement, turns
EFFORTS = ((2**16, 20, 15), (2**20, 10, 11), (2**24, 3, 7), (2**63, 2, 5))


class Row(NamedTuple):
    """One line of the table.

    who: a wire of ours, or a peer.  buffers: "resident" (in shared memory from the start) or "private" (copied in and
    out where the wire needs that, the copies timed).  seconds: median over the turns, of the slowest rank.  spread:
    seconds from the lower to the upper quartile.  algbw, busbw: bytes per second.  limit_share: of what this machine's
    memory allows a ring.  right: whether every result was.
    """

    who: str
    ranks: int
    nbytes: int
    buffers: str
    seconds: float
    spread: float
    algbw: float
    busbw: float
    limit_share: float
    algorithm: str
    right: bool
    oversubscribed: bool


class Table(list):
    """Rows, with what was said beside them; `print` it."""

    def __init__(self, rows=(), notes=()):
        super().__init__(rows)
        self.notes = list(notes)

    def __str__(self):
        return "\n".join([*bench_table.text(self), *self.notes])

    __repr__ = __str__

    def row(self, who, ranks, nbytes, buffers=None, algorithm=None):
        """The first row that is asked for; None when there is none."""
        for row in self:
            if (row.who, row.ranks, row.nbytes) == (who, ranks, nbytes):
                if buffers in (None, row.buffers) and algorithm in (None, row.algorithm):
                    return row
        return None


def parse_size(text):
    """Bytes of "256", "64KB" (1000 bytes each) or "64KiB" (1024); down to a whole number of float32.

    >>> parse_size("64KB"), parse_size("64KiB"), parse_size(1000)
    (64000, 65536, 1000)
    """
    word = str(text).strip().upper()
    digits = word.rstrip("KMGIB ")
    suffix = word[len(digits) :].strip()
    if not digits.isdigit() or suffix not in SUFFIXES:
        raise BadInput(f"size {text!r} is no number of bytes", "write 4096, 64KiB (65,536 bytes) or 64KB (64,000)")
    return int(digits) * SUFFIXES[suffix] // 4 * 4


def compare(algorithms=("ring",), ranks=RANKS, sizes=SIZES, wires=WIRES, against=(), turns=None, say=lambda text: None):
    """A Table of `algorithms` on our wires beside the peers' own.

    algorithms: names from `rl.ALGORITHMS`, or functions of your own.  ranks, sizes: lists.  against: peers, of
    "mpich", "openmpi", "gloo"; one that is not installed is noted, with the command that installs it.  turns: how
    often each is measured (else by size: 15 to 5 times).  say(text) is called as things go on.
    """
    from .bench_peers import check_peers

    ranks = [check_ranks(p) for p in _listed(ranks)]
    sizes = [parse_size(size) for size in _listed(sizes)]
    for wire in wires:
        if wire not in WIRES:
            raise BadInput(f"wire {wire!r} is not measured", f"use some of {', '.join(WIRES)}")
    algorithms = [_measured(algorithm) for algorithm in _listed(algorithms)]
    here, notes = _those_here(check_peers(against))
    table = Table(notes=notes)
    for p in ranks:
        found, more = _with_ranks(p, sizes, algorithms, wires, here, turns, say)
        table.extend(found)
        table.notes += [note for note in more if note not in table.notes]
    return table


def _listed(value):
    return list(value) if isinstance(value, (list, tuple, range)) else [value]


def _measured(algorithm):
    """(name, what a program calls it by)."""
    function = resolve(algorithm)
    return name_of(function), algorithm if isinstance(algorithm, str) else function


def _those_here(names):
    from .bench_peers import PEERS, missing

    here, notes = [], []
    for name in names:
        lacking = missing(name)
        if lacking is None:
            here.append(name)
        else:
            notes.append(f"{name} is not measured, {lacking}: {PEERS[name].install}")
    return here, notes


def _with_ranks(p, sizes, algorithms, wires, peers, turns, say):
    """(rows, notes) of all sizes with p ranks."""
    from .bench_ours import OurJob
    from .bench_peers import PeerJob

    others, rows, notes = [], [], []
    ours = OurJob(p)
    try:
        for name in peers:
            say(f"starting {p} processes of {name}")
            others.append(PeerJob(name, p))
        for nbytes in sizes:
            say(f"{p} ranks, {bench_table.size_text(nbytes)}")
            found, more = _with_size(p, nbytes, ours, algorithms, wires, others, turns)
            rows += found
            notes += more
        notes += [f"{job.name} with {p} ranks {job.failed}" for job in others if job.failed]
    finally:
        ours.close()
        for job in others:
            job.close()
    return rows, notes


class Contender(NamedTuple):
    """Whoever is measured: `measure(nbytes, count, warm)` gives seconds and whether the results were right."""

    who: str
    buffers: str
    algorithm: str
    measure: Callable


def _contenders(ours, algorithms, wires, others):
    mine = [
        Contender(wire, buffers, name, functools.partial(ours.measure, wire, buffers == "resident", algorithm))
        for name, algorithm in algorithms
        for wire in wires
        for buffers in BUFFERS
    ]
    return mine + [Contender(job.name, "private", job.name, job.measure) for job in others]


def _with_size(p, nbytes, ours, algorithms, wires, others, turns):
    """(rows, notes) of one size: all contenders in turn, the first turn not counted."""
    from .bench_ours import limit_seconds

    count, usual = next((count, times) for most, count, times in EFFORTS if nbytes <= most)
    count = min(count, most_repeats(p))
    contenders = _contenders(ours, algorithms, wires, others)
    found: dict = {contender: [] for contender in contenders}
    limits, notes = [], []
    for turn in range(1 + (turns or usual)):
        with contextlib.suppress(NoResource):
            limits.append(ours.memory(nbytes, count))
        first = turn % len(contenders) if contenders else 0
        for contender in contenders[first:] + contenders[:first]:
            before = found[contender]
            try:
                measured = contender.measure(nbytes, count, warm_ups(before[-1][0] if before else None))
            except NoResource as error:
                notes.append(f"{contender.who} with {p} ranks of {bench_table.size_text(nbytes)}: {error.lines[0]}")
                contenders.remove(contender)
                continue
            if measured is not None:
                before.append(measured)
    limit = None
    if len(limits) > 1:
        copy, add = (statistics.median(rate[k] for rate in limits[1:]) for k in (0, 1))
        limit = limit_seconds(p, nbytes, copy, add)
        notes.append(
            f"{p} ranks, {bench_table.size_text(nbytes)}: memory moves {copy / 1e9:.1f} GB/s copying and "
            f"{add / 1e9:.1f} GB/s adding, so no ring here can take less than {bench_table.time_text(limit)}"
        )
    return [_row(contender, p, nbytes, all_[1:], limit) for contender, all_ in found.items() if all_[1:]], notes


def _row(contender, p, nbytes, measured, limit):
    times = sorted(seconds for seconds, _ in measured)
    seconds = statistics.median(times)
    quartiles = statistics.quantiles(times, n=4, method="inclusive") if len(times) > 1 else [seconds] * 3
    return Row(
        who=contender.who,
        ranks=p,
        nbytes=nbytes,
        buffers=contender.buffers,
        seconds=seconds,
        spread=quartiles[2] - quartiles[0],
        algbw=algbw(nbytes, seconds),
        busbw=busbw("allreduce", p, nbytes, seconds),
        limit_share=limit / seconds if limit else None,
        algorithm=contender.algorithm,
        right=all(right for _, right in measured),
        oversubscribed=p > machine.cpus(),
    )


# ---- the command -----------------------------------------------------------------------------------------------


def add_arguments(parser):
    """The options of `ringlab bench`."""
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = (
        "KB and MB are 1000 and 1000,000 bytes, KiB and MiB 1024 and 1,048,576. 'resident' buffers lie in shared\n"
        "memory from the start, 'private' ones are copied in and out, with the copies timed (a pipe needs neither).\n"
        "Other benches: `ringlab bench interaction` (what a learner waits for), `ringlab bench virtual`."
    )
    subjects = parser.add_subparsers(dest="subject", metavar="interaction | virtual")
    for name, text in (
        ("interaction", "how long a learner waits: import, first and warm call, player, trace, notebook"),
        ("virtual", "the virtual wire: events per second"),
    ):
        subject = subjects.add_parser(name, help=text, description=text[0].upper() + text[1:] + ".")
        module = _subject(name)
        if module is not None:
            module.add_arguments(subject)
            subject.set_defaults(play=module.command)
    words = {"metavar": "LIST", "type": _words}
    parser.add_argument("--ranks", default=list(RANKS), **words, help="how many processes (default: 2,4,8)")
    parser.add_argument("--sizes", default=list(SIZES), **words, help=f"default: {','.join(SIZES)}")
    parser.add_argument("--wires", default=list(WIRES), **words, help="ours: shm,pipe (default: both)")
    parser.add_argument(
        "--against",
        default=["mpich", "openmpi", "gloo"],
        **words,
        help="peers: mpich,openmpi,gloo (default: all); none",
    )
    parser.add_argument("--algorithm", default="ring", choices=sorted(ALGORITHMS), help="ours (default: ring)")
    parser.add_argument("--turns", type=int, metavar="N", help="how often each is measured (default: 15 to 5, by size)")
    parser.add_argument("--json", metavar="FILE", help="save the rows")
    parser.add_argument("--plot", metavar="FILE.html", help="draw them")


def _subject(name):
    """The module of another bench, or None when there is none."""
    import importlib

    try:
        return importlib.import_module(f".bench_{name}", __package__)
    except ModuleNotFoundError as error:
        if error.name == f"{__package__}.bench_{name}":
            return None
        raise


def _words(text):
    return [word.strip() for word in text.split(",") if word.strip() not in ("", "none")]


def command(options):
    """Measure, print, and save when asked."""
    begin = time.monotonic()
    try:
        ranks = [int(word) for word in options.ranks]
    except ValueError:
        raise BadInput(f"--ranks {','.join(map(str, options.ranks))} are no numbers", "write --ranks 2,4,8") from None
    if options.turns is not None and options.turns < 1:
        raise BadInput(f"--turns {options.turns} is too few", "use 1 or more")
    status = bench_table.Status()
    table = compare(
        options.algorithm, ranks, options.sizes, options.wires, options.against, turns=options.turns, say=status.say
    )
    status.clear()
    print(table)
    print(f"\nmeasured in {time.monotonic() - begin:.0f} s; times are medians, ± half of the middle half of the turns")
    if options.json:
        bench_table.save(table, options.json)
        print(f"rows saved in {options.json}")
    if options.plot:
        from .views.bench import save_plot

        save_plot(table, options.plot)
        print(f"drawing saved in {options.plot}")
    return 0 if all(row.right for row in table) else 1
