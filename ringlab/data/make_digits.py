"""Make digits.npz from the handwritten digits that scikit-learn ships.

    python ringlab/data/make_digits.py PATH

PATH is a scikit-learn wheel, a folder that holds the installed package (site-packages or sklearn itself), or
its file digits.csv.gz. Nothing is downloaded and scikit-learn is not imported: only that one file is read.

The file has one image per line, 64 whole numbers from 0 to 16 and the label, 1,797 lines (README.md beside
this script says where they come from). digits.npz keeps that order:

    images   uint8 (1797, 8, 8), 0 = paper to 16 = ink
    labels   uint8 (1797,), the digit written
"""

import gzip
import io
import sys
import zipfile
from pathlib import Path

import numpy as np

INSIDE = "sklearn/datasets/data/digits.csv.gz"
TARGET = Path(__file__).with_name("digits.npz")


def read_source(path):
    """The bytes of digits.csv.gz found at `path`; FileNotFoundError says what was looked for."""
    path = Path(path)
    if path.is_file() and zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as wheel:
            if INSIDE not in wheel.namelist():
                raise FileNotFoundError(f"no {INSIDE} in {path}: is it a scikit-learn wheel?")
            return wheel.read(INSIDE)
    for candidate in (path, path / INSIDE, path.parent / INSIDE):
        if candidate.is_file():
            return candidate.read_bytes()
    raise FileNotFoundError(f"no {INSIDE} at {path}: give a scikit-learn wheel or its installed folder")


def parse(source):
    """(images, labels) as above, from the bytes of digits.csv.gz; ValueError when they are something else."""
    with gzip.open(io.BytesIO(source), "rt", encoding="ascii") as lines:
        table = np.loadtxt(lines, delimiter=",")
    if table.ndim != 2 or table.shape[1] != 65:
        raise ValueError(f"expected 65 numbers a line, got a table of shape {table.shape}")
    pixels, labels = table[:, :64], table[:, 64]
    if not (np.isin(pixels, np.arange(17)).all() and np.isin(labels, np.arange(10)).all()):
        raise ValueError("expected pixels in 0..16 and labels in 0..9, all of them whole numbers")
    return pixels.astype(np.uint8).reshape(-1, 8, 8), labels.astype(np.uint8)


def make(path, target=TARGET):
    """Write `target` from the source at `path` and return (images, labels)."""
    images, labels = parse(read_source(path))
    np.savez_compressed(target, images=images, labels=labels)
    return images, labels


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    images, labels = make(sys.argv[1])
    print(f"digits.npz: {len(images)} images, {np.bincount(labels, minlength=10).tolist()} per digit")
