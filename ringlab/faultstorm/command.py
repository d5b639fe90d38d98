"""The command line of the storm."""

import json
import sys

from .figures import figures, sentences
from .history import violations
from .plan import plan
from .watch import storm


def add_arguments(parser):
    """The options of `ringlab faultstorm`."""
    parser.add_argument("--count", type=int, default=200, metavar="N", help="how many faults (default: 200)")
    parser.add_argument("--seed", type=int, default=1, metavar="S", help="decides all of them (default: 1)")
    parser.add_argument("--wires", default="pipe,shm", help="comma-separated (default: pipe,shm)")
    parser.add_argument("--start", default="spawn", choices=["spawn", "forkserver"], help="how ranks are started")
    parser.add_argument("--jobs", type=int, default=1, metavar="J", help="storms at the same time (default: 1)")
    parser.add_argument("--json", metavar="FILE", help="save the history, one JSON object per line, figures last")


def command(options):
    """Play, report, and give exit code 1 when any rule was broken, 130 when the storm was interrupted."""
    injections = plan(options.count, options.seed, tuple(options.wires.split(",")))
    history = storm(injections, options.start, progress=sys.stderr.isatty(), jobs=max(1, options.jobs))
    broken = violations(history)
    found = {"what": "figures", "seed": options.seed, **figures(history), "violations": len(broken)}
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            file.writelines(json.dumps(line) + "\n" for line in [*history, found])
    print("\n".join(sentences(found)))
    print("\n".join(broken[:20]) if broken else "0 violations")
    if any(line["what"] == "given up" for line in history):
        print(f"interrupted after {found['faults']} of {options.count} faults")
        return 130
    return 1 if broken else 0
