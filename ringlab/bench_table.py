"""The rows of a bench as a table in the manner of nccl-tests, as JSON, and what is said while it runs."""

import json
import sys

from . import machine

HEAD = ("size", "who", "buffers", "time", "±", "algbw", "busbw", "of limit")


def size_text(nbytes):
    """Bytes in words: 256 B, 64 KiB, 64 MB.

    >>> size_text(256), size_text(65536), size_text(64_000_000), size_text(1000)
    ('256 B', '64 KiB', '64 MB', '1 KB')
    """
    for unit, name in ((2**20, "MiB"), (10**6, "MB"), (2**10, "KiB"), (10**3, "KB")):
        if nbytes >= unit and nbytes % unit == 0:
            return f"{nbytes // unit} {name}"
    return f"{nbytes} B"


def time_text(seconds):
    """Three digits and a unit.

    >>> time_text(1.2345e-5), time_text(0.25), time_text(12.3)
    ('12.3 us', '250 ms', '12.3 s')
    """
    scale, unit = (1, "s") if seconds >= 1 else (1e3, "ms") if seconds >= 1e-3 else (1e6, "us")
    return f"{seconds * scale:.3g} {unit}" if seconds * scale < 999.5 else f"{seconds * scale:.0f} {unit}"


def text(rows):
    """The lines of the table, a part for each number of ranks; peers' ratios behind our rows."""
    lines = []
    for ranks in sorted({row.ranks for row in rows}):
        mine = [row for row in rows if row.ranks == ranks]
        names = list(dict.fromkeys(row.who for row in mine if row.algorithm == row.who))
        several = len({row.algorithm for row in mine if row.algorithm not in names}) > 1
        cores = machine.cpus()
        head = f"{ranks} ranks on {cores:g} cores, float32, sum, in place"
        lines.append(head + (": oversubscribed" if mine[0].oversubscribed else ""))
        table = [[*HEAD, *(f"/ {name}" for name in names), *(["algorithm"] if several else [])]]
        for row in mine:
            table.append(_cells(row, mine, names) + ([row.algorithm] if several else []))
        widths = [max(len(cells[i]) for cells in table) for i in range(len(table[0]))]
        for cells in table:
            aligned = [
                cell.ljust(w) if i in (1, 2) else cell.rjust(w) for i, (cell, w) in enumerate(zip(cells, widths))
            ]
            lines.append("  " + "  ".join(aligned).rstrip())
        lines.append("")
    return lines


def _cells(row, rows, names):
    cells = [
        size_text(row.nbytes),
        row.who,
        row.buffers,
        time_text(row.seconds),
        f"{50 * row.spread / row.seconds:.0f}%",
        rate_text(row.algbw),
        rate_text(row.busbw),
        "" if row.limit_share is None else f"{row.limit_share:.2f}",
    ]
    for name in names:
        other = next((r for r in rows if r.who == name and r.nbytes == row.nbytes), None)
        cells.append("" if other is None or row.who in names else f"{row.seconds / other.seconds:.2f}")
    if not row.right:
        cells[3] += " WRONG"
    return cells


def rate_text(rate):
    """GB/s with three digits."""
    return f"{rate / 1e9:.3g} GB/s" if rate >= 1e7 else f"{rate / 1e9:.4f} GB/s"


def save(rows, path):
    """Write the rows as JSON: a list of objects."""
    with open(path, "w", encoding="utf-8") as file:
        json.dump([row._asdict() for row in rows], file, indent=1)
        file.write("\n")


class Status:
    """One line on a terminal that says what is going on; nothing where nobody watches."""

    def __init__(self, stream=None):
        self._stream = stream or sys.stderr
        self._shown = self._stream.isatty()

    def say(self, text):
        """Show `text` instead of what was shown."""
        if self._shown:
            self._stream.write(f"\r\x1b[K{text} ...")
            self._stream.flush()

    def clear(self):
        """Take the line away."""
        if self._shown:
            self._stream.write("\r\x1b[K")
            self._stream.flush()
