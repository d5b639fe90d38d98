"""Make drift.json: the error of six all-reduces in five number formats, from 2 to 1,024 ranks on the virtual wire.

    python ringlab/data/make_drift.py          # about a quarter of an hour on one quiet core

Every machine measures the same numbers: the inputs come from integers, the additions are IEEE's, and the errors are
taken against exactly rounded sums. `tests/test_numerics_drift.py` measures parts again.
"""

import json
import sys

from ringlab.numerics.drifts import SAVED, Drift, measure_drift

ALGORITHMS = ("ring", "star", "tree", "doubling", "halving", "direct")
DTYPES = ("float32", "float16", "bfloat16", "float8_e4m3fn", "float8_e5m2")
RANKS = (2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)


def main():
    """Measure and write; one line per step on the way."""
    rows = []
    for p in RANKS:
        for algorithm in ALGORITHMS:
            print(f"{algorithm}, {p} ranks", file=sys.stderr, flush=True)
            found = measure_drift((algorithm,), DTYPES, (p,))
            rows += found.rows
    place = {(a, d): i for i, (a, d) in enumerate((a, d) for a in ALGORITHMS for d in DTYPES)}
    rows.sort(key=lambda row: place[row.algorithm, row.dtype])
    whole = Drift(tuple(rows), found.n, found.data, found.seed)
    text_rows = ",\n".join(json.dumps(row) for row in whole.to_dict().pop("rows"))
    head = {key: value for key, value in whole.to_dict().items() if key != "rows"}
    text = json.dumps({**head, "rows": "ROWS"}).replace('"ROWS"', f"[\n{text_rows}\n]")
    SAVED.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
