"""`ringlab bench interaction`: the waits that a learner feels."""

import json
import statistics
import subprocess
import sys
import time
from typing import NamedTuple

import numpy as np

from .bench_table import Status, time_text

IMPORT = "import numpy, time; t = time.perf_counter(); import ringlab; print(time.perf_counter() - t)"
FIRST = """
import time, ringlab as rl
t = time.perf_counter(); rl.run("ring"); print(time.perf_counter() - t)
"""
TRACED_BYTES = 64 * 10**6


class Figure(NamedTuple):
    """One measured wait: median and quartiles, in `unit` ("s", "bytes", or "share")."""

    what: str
    value: float
    low: float
    high: float
    unit: str = "s"


def figure(what, values, unit="s"):
    """The Figure of repeated measurements."""
    values = sorted(values)
    low, middle, high = statistics.quantiles(values, n=4, method="inclusive") if len(values) > 1 else values * 3
    return Figure(what, middle, low, high, unit)


def in_fresh_processes(code, times):
    """What `code` prints, a number, in so many new Pythons."""
    found = []
    for _ in range(times):
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=True)
        found.append(float(done.stdout))
    return found


def warm_calls(ranks, wire, times):
    """Seconds of calls of `rl.run` with everything in place."""
    from .runs import run

    for _ in range(3):
        run("ring", ranks=ranks, wire=wire)
    found = []
    for _ in range(times):
        start = time.perf_counter()
        run("ring", ranks=ranks, wire=wire)
        found.append(time.perf_counter() - start)
    return found


def players(times):
    """(seconds to make a player of a run, its bytes of HTML)."""
    from .runs import run
    from .views.player import show

    traced = run("ring")
    seconds = []
    for _ in range(times):
        start = time.perf_counter()
        html = show(traced)._repr_html_()
        seconds.append(time.perf_counter() - start)
    return seconds, len(html.encode())


def _traced_and_not(comm, times, nbytes):
    """(seconds with, seconds without the record) of the same ring over shared memory, in turn."""
    from .algorithms import ring_allreduce
    from .chunks import Chunks

    wire = comm._endpoint._wire
    x = comm.empty(nbytes // 4, np.float32)
    x[:] = 0
    chunks, rank = Chunks(x, comm.size), comm.rank
    pairs = [(comm.send, comm.recv), (wire.send, lambda src: wire.recv(src)[0])]
    found = [[], []]
    for turn in range(2 * times + 2):
        comm.barrier()
        wire.lend(True, chunks)
        start = time.perf_counter()
        ring_allreduce(chunks, rank, *pairs[turn % 2])
        wire.settle(lambda peer, number: None)
        if turn >= 2:
            found[turn % 2].append(time.perf_counter() - start)
        wire.lend(False)
    return found


def trace_overhead(times, ranks=2, nbytes=TRACED_BYTES):
    """By which share a recorded all-reduce takes longer, pair by pair."""
    from .world import World

    with World(ranks, "shm") as world:
        found = world.launch(_traced_and_not, args=(times, nbytes), progress=False)
    traced, bare = (np.max([rank[k] for rank in found], axis=0) for k in (0, 1))
    return (traced / bare - 1).tolist()


def notebook_starts(times):
    """Seconds from the start of a kernel to the end of its first cell, which imports the lab; None without Jupyter."""
    try:
        from jupyter_client.manager import start_new_kernel
    except ModuleNotFoundError:
        return None
    found = []
    for _ in range(times):
        start = time.perf_counter()
        manager, client = start_new_kernel(stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            client.execute_interactive("import numpy as np, ringlab as rl", timeout=60)
            found.append(time.perf_counter() - start)
        finally:
            client.stop_channels()
            manager.shutdown_kernel(now=True)
    return found


def measure(times=9, say=lambda text: None):
    """All figures, as a list."""
    say("importing")
    rows = [figure("import ringlab, beyond numpy", in_fresh_processes(IMPORT, times))]
    say("first calls")
    rows.append(figure("first call of rl.run, 4 ranks", in_fresh_processes(FIRST, max(3, times // 3))))
    for wire in ("pipe", "shm"):
        for ranks in (2, 4, 8):
            say(f"warm calls, {ranks} ranks over {wire}")
            rows.append(figure(f"warm call of rl.run, {ranks} ranks, {wire}", warm_calls(ranks, wire, 2 * times)))
    say("the player")
    seconds, size = players(times)
    rows.append(figure("rl.show of a run", seconds))
    rows.append(figure("rl.show of a run, HTML", [size], "bytes"))
    say("the record")
    rows.append(figure("record of a run of 64 MB, 2 ranks, shm", trace_overhead(times), "share"))
    say("notebooks")
    starts = notebook_starts(max(3, times // 3))
    if starts:
        rows.append(figure("notebook: kernel up and ringlab imported", starts))
    return rows


def text(rows):
    """The figures as lines."""
    say = {
        "s": time_text,
        "bytes": lambda value: f"{value / 1000:.1f} kB",
        "share": lambda value: f"{100 * value:+.1f}%",
    }
    width = max(len(row.what) for row in rows)
    return [
        f"{row.what.ljust(width)}  {say[row.unit](row.value).rjust(8)}"
        + (f"   ({say[row.unit](row.low)} to {say[row.unit](row.high)})" if row.high != row.low else "")
        for row in rows
    ]


def add_arguments(parser):
    """The options of `ringlab bench interaction`."""
    parser.add_argument("--turns", type=int, default=9, metavar="N", help="how often each is measured (default: 9)")
    parser.add_argument("--json", metavar="FILE", help="save the figures")


def command(options):
    """Measure, print, and save when asked."""
    status = Status()
    rows = measure(max(1, options.turns), status.say)
    status.clear()
    print("\n".join(text(rows)))
    print("\nmedians, and from the lower to the upper quartile")
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump([row._asdict() for row in rows], file, indent=1)
            file.write("\n")
        print(f"figures saved in {options.json}")
    return 0
