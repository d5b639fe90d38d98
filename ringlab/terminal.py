"""`ringlab run`: an all-reduce in a terminal, with its steps as a table."""

from .algorithms import ALGORITHMS
from .arguments import WIRES
from .runs import run


def add_arguments(parser):
    """The options of `ringlab run`."""
    parser.add_argument("algorithm", nargs="?", default="ring", choices=sorted(ALGORITHMS), help="default: ring")
    parser.add_argument("--ranks", type=int, default=4, metavar="P", help="how many processes (default: 4)")
    parser.add_argument("--size", type=int, default=8, metavar="N", help="elements per rank (default: 8)")
    parser.add_argument("--wire", default="pipe", choices=WIRES, help="default: pipe")
    parser.add_argument("--round", type=int, metavar="K", help="show only this round")
    parser.add_argument("--state", action="store_true", help="show whose terms every chunk holds after each round")
    parser.add_argument("--json", metavar="FILE", help="save the trace")
    parser.add_argument("--perfetto", metavar="FILE", help="save the trace for ui.perfetto.dev or chrome://tracing")


def command(options):
    """Run, print, and save when asked."""
    result = run(options.algorithm, ranks=options.ranks, size=options.size, wire=options.wire)
    trace = result.trace
    rounds = range(trace.rounds) if options.round is None else [options.round]
    if options.state and options.round is None:
        print(trace.state(-1), end="\n\n")
    for k in rounds:
        print(trace.state(k) if options.state else trace.table(k), end="\n\n")
    print(result)
    for path, save in ((options.json, trace.save), (options.perfetto, trace.to_perfetto)):
        if path:
            save(path)
            print(f"trace saved in {path}")
    return 0 if result.verdict is None else 1
