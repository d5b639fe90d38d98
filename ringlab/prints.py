"""What ranks print: into their records, and from there into the cell, rank by rank and capped."""

import io
import sys

from .record import CURRENT, MARK, MARK_END

PRINT_LINES = 200  # per rank and call


class Printer(io.TextIOBase):
    """Prints go to the record, from where the kernel shows them in the cell."""

    def __init__(self, block):
        self._block = block

    def write(self, text):
        self._block.add_print(text)
        return len(text)

    def writable(self):
        return True


class PrinterForAll(Printer):
    """The same for a process that plays all ranks: a mark says whose print follows."""

    def __init__(self, block):
        super().__init__(block)
        self._last = -1

    def write(self, text):
        current = self._block.state[CURRENT]
        if current != self._last:
            self._last = current
            self._block.add_print(f"{MARK}{current}{MARK_END}")
        return super().write(text.replace(MARK, " "))


def show_prints(blocks, virtual):
    """Show what ranks printed into these record blocks, rank by rank, capped. virtual: one process played all ranks."""
    for rank, block in enumerate(blocks):
        text, count = block.copy_prints()
        if virtual:
            _show_prints_of_all(text, count)
            continue
        lines = text.splitlines()
        for line in lines[:PRINT_LINES]:
            sys.stdout.write(f"[rank {rank}] {line}\n")
        if count > PRINT_LINES:
            sys.stdout.write(f"[rank {rank}] ... and {count - PRINT_LINES} more lines\n")


def _show_prints_of_all(text, count):
    texts = {}
    for part in text.split(MARK)[1:]:
        rank, _, printed = part.partition(MARK_END)
        texts[rank] = texts.get(rank, "") + printed
    for rank in sorted((rank for rank in texts if rank.isdigit()), key=int):
        lines = texts[rank].splitlines()[:PRINT_LINES]
        count -= len(lines)
        for line in lines:
            sys.stdout.write(f"[rank {rank}] {line}\n")
    if count > 0:
        sys.stdout.write(f"[all ranks] ... and {count} more lines\n")
