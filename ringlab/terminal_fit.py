"""`ringlab fit`: alpha, beta and gamma of this machine, or of a cluster whose nccl-tests log is given."""

import json

from .measuring import WIRES, measure
from .nccl import read_nccl


def add_arguments(parser):
    """The options of `ringlab fit`."""
    parser.add_argument("log", nargs="?", help="fit this log or JSON of nccl-tests instead of measuring here")
    parser.add_argument("--wire", default="pipe", choices=WIRES, help="what carries the messages (default: pipe)")
    parser.add_argument("--ranks", type=int, metavar="P", help="how many at once (default: 2; of a log: what it says)")
    parser.add_argument("--seconds", type=float, default=1.0, help="how long to measure (default: 1)")
    parser.add_argument(
        "--json", nargs="?", const="-", metavar="FILE", help="the fit and its points as JSON, printed or saved"
    )
    parser.add_argument("--plot", metavar="FILE.html", help="draw them")


def command(options):
    """Measure or read, fit, print, and save when asked."""
    text, content, figure = _of_log(options) if options.log else _of_machine(options)
    if options.json == "-":
        print(json.dumps(content, indent=1))
    else:
        print(text)
    if options.json not in (None, "-"):
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(content, file, indent=1)
            file.write("\n")
        print(f"fit saved in {options.json}")
    if options.plot:
        from .views.fitted import save_page

        save_page(figure(), options.plot)
        if options.json != "-":
            print(f"drawing saved in {options.plot}")
    return 0


def _of_machine(options):
    ranks = 2 if options.ranks is None else options.ranks
    found = measure(options.wire, ranks, options.seconds)

    def figure():
        from .views.fitted import of_measured

        return of_measured(found)

    return f"{found!r}\n\n{found.table()}", found.to_dict(), figure


def _of_log(options):
    log = read_nccl(options.log, ranks=options.ranks)
    fit = log.fit()
    alpha, beta = fit.values
    lines = [repr(log), f"as if by a ring: alpha {1e6 * alpha:.3g} us per message, beta {1e-9 / beta:.4g} GB/s"]
    used = [row for row in log.rows if row.nbytes]
    for row, residual in zip(used, fit.residuals, strict=True):
        lines.append(f"{row.nbytes:>16,} bytes {1e6 * row.seconds:>12.2f} us   fit/measured {1 + residual:.2f}")
    content = {
        "file": log.name,
        "ranks": log.ranks,
        "alpha": alpha,
        "beta": beta,
        "intervals": {"alpha": list(fit.intervals[0]), "beta": list(fit.intervals[1])},
        "residuals": list(fit.residuals),
        "points": [row._asdict() for row in used],
        "left_out": [list(one) for one in log.bad],
    }

    def figure():
        from .views.curves import curves

        return curves(log.network(), "bytes", ranks=log.ranks, points=log)

    return "\n".join(lines), content, figure
