"""The command line of the storm, and its report."""

import json
import statistics
import sys
from collections import Counter

from .history import violations
from .plan import plan
from .watch import storm


def add_arguments(parser):
    """The options of `ringlab faultstorm`."""
    parser.add_argument("--count", type=int, default=200, metavar="N", help="how many faults (default: 200)")
    parser.add_argument("--seed", type=int, default=1, metavar="S", help="decides all of them (default: 1)")
    parser.add_argument("--wires", default="pipe,shm", help="comma-separated (default: pipe,shm)")
    parser.add_argument("--start", default="spawn", choices=["spawn", "forkserver"], help="how ranks are started")
    parser.add_argument("--json", metavar="FILE", help="save the history, one JSON object per line")


def command(options):
    """Play, report, and give exit code 1 when any rule was broken."""
    injections = plan(options.count, options.seed, tuple(options.wires.split(",")))
    history = storm(injections, options.start, progress=sys.stderr.isatty())
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            file.writelines(json.dumps(line) + "\n" for line in history)
    broken = violations(history)
    print(report(history, options.seed))
    print("\n".join(broken[:20]) if broken else "0 violations")
    return 1 if broken else 0


def report(history, seed):
    """What happened, in a few lines."""
    ends = [line for line in history if line["what"] == "end"]
    faulty = [line for line in ends if line["call"] == "faulty"]
    wrong = sum(line["verdict"] is None and not line["right"] for line in ends)
    hangs = sum(line["what"] == "hang" for line in history)
    left = [line for line in history if line["what"] == "left"]
    processes, segments = (sum(len(line[name]) for line in left) for name in ("processes", "segments"))
    verdicts = Counter(str(line["verdict"]) for line in faulty)
    lines = [
        f"{len(faulty)} faults with seed {seed}: {hangs} hangs, {wrong} wrong results in {len(ends)} calls",
        f"{processes} processes and {segments} segments left behind",
        "verdicts: " + ", ".join(f"{name} {count}" for name, count in verdicts.most_common()),
    ]
    deaths = sorted(line["latency"] for line in faulty if line["latency"] and line["verdict"] in ("KILLED", "EXITED"))
    if deaths:
        lines.append(
            f"from death to verdict: median {1e3 * statistics.median(deaths):.0f} ms, "
            f"99 % within {1e3 * deaths[int(0.99 * (len(deaths) - 1))]:.0f} ms, longest {1e3 * deaths[-1]:.0f} ms"
        )
    again = sorted(line["seconds"] for line in ends if line["call"] == "clean")
    if again:
        lines.append(f"next call after a fault: median {statistics.median(again):.2f} s, longest {again[-1]:.2f} s")
    return "\n".join(lines)
