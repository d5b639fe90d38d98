"""Handwritten digits as a picture, framed in the colour of the rank that takes them. No script, no ids."""

import base64
import struct
import zlib
from html import escape

import numpy as np

from .still import COLOURS


class DigitsFigure:
    """HTML for a notebook: one frame per rank with its digits. As text: which rank takes which digits.

    images: (n, 64) from 0 paper to 1 ink.  labels: (n,).  Rank r takes r, r + ranks, r + 2 ranks, ...
    """

    def __init__(self, images, labels, ranks):
        self.images, self.labels, self.ranks = images, [int(label) for label in labels], ranks

    def __repr__(self):
        takes = (f"rank {rank} {_listed(self.labels[rank :: self.ranks])}" for rank in range(self.ranks))
        return f"{len(self.labels)} handwritten digits by rank: {', '.join(takes)}"

    def _repr_html_(self):
        frames = "".join(self._frame(rank) for rank in range(self.ranks))
        style = "display:flex;flex-wrap:wrap;gap:12px;margin:8px 0"
        return f'<div role="group" aria-label="{escape(repr(self))}" style="{style}">{frames}</div>'

    def _frame(self, rank):
        pictures = "".join(
            f'<img alt="{label}" width="44" height="44" style="image-rendering:pixelated;margin:2px" '
            f'src="data:image/png;base64,{base64.b64encode(png(image)).decode()}">'
            for image, label in zip(self.images[rank :: self.ranks], self.labels[rank :: self.ranks])
        )
        style = f"border:4px solid {COLOURS[rank % len(COLOURS)]};border-radius:8px;padding:4px 6px"
        return f'<div style="{style}"><div style="font-weight:600">rank {rank}</div>{pictures}</div>'


def png(image):
    """An 8 x 8 image from 0 paper to 1 ink as the bytes of a grey PNG, the same bytes on every machine."""
    grey = np.rint(255 * (1 - np.reshape(image, (8, 8)))).astype(np.uint8)
    rows = b"".join(b"\0" + row.tobytes() for row in grey)  # each row begins with its filter, 0: none
    # one stored block: a compressor's output differs between versions of zlib
    stored = b"\x78\x01\x01" + struct.pack("<HH", len(rows), len(rows) ^ 0xFFFF) + rows
    stored += struct.pack(">I", zlib.adler32(rows))
    head = struct.pack(">IIBBBBB", 8, 8, 8, 0, 0, 0, 0)  # width, height, bits, grey, and three zeros
    return b"\x89PNG\r\n\x1a\n" + _part(b"IHDR", head) + _part(b"IDAT", stored) + _part(b"IEND", b"")


def _part(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def _listed(labels):
    return "takes " + " ".join(map(str, labels)) if labels else "takes none"
