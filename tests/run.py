"""The test command: python3 lab.py test [--full | --night] [what pytest is to run instead]

Each part has a budget, in seconds on two cores; the last lines say what each part took. Quick is what a learner or
a teacher runs to see that all is well; full is what CI runs; night adds the long figures.
"""

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
PYTEST = ["-m", "pytest", "-q"]
TWO = ["-n", "2", "--dist", "loadfile"]  # files at a time: tests wait more than they compute
NBVAL = [
    *PYTEST,
    *TWO,
    *("-p", "ringlab.lab.compare", "--nbval", "--nbval-current-env", "--nbval-cell-timeout=60"),
    *("--nbval-sanitize-with", "ringlab/lab/nbval_sanitize.cfg"),
    "notebooks",
]


class Part(NamedTuple):
    name: str
    budget: int
    command: list[str]


STYLE = [
    Part("style: ruff check", 5, ["-m", "ruff", "check", "."]),
    Part("style: ruff format", 5, ["-m", "ruff", "format", "--check", "."]),
    Part("types: mypy", 20, ["-m", "mypy"]),
    Part("security: bandit", 10, ["-m", "bandit", "-q", "-ll", "-c", "pyproject.toml", "-r", "ringlab", "lab.py"]),
]
QUICK = [
    Part("unit tests", 150, [*PYTEST, *TWO]),
    Part("lessons: nbval", 150, NBVAL),
]
FULL = [
    *STYLE,
    Part("unit tests, slow ones too", 440, [*PYTEST, *TWO, "-m", "not browser and not night"]),
    Part("lessons: nbval", 110, NBVAL),
    Part("browser", 290, [*PYTEST, "-n", "2", "--dist", "worksteal", "-m", "browser"]),
]
NIGHT = [*FULL, Part("night", 3600, [*PYTEST, "-m", "night"])]


def main(argv):
    """Run the parts of the tier, all of them even when one fails. Gives the exit code."""
    tier, name = (NIGHT, "night") if "--night" in argv else (FULL, "full") if "--full" in argv else (QUICK, "quick")
    chosen = [word for word in argv if word not in ("--full", "--night")]
    if chosen:
        return subprocess.call([sys.executable, *PYTEST, *chosen], cwd=ROOT)
    lines, failed = [], 0
    started = time.monotonic()
    for part in tier:
        print(f"\n==== {part.name}", flush=True)
        began = time.monotonic()
        code = subprocess.call([sys.executable, *part.command], cwd=ROOT, env=environment())
        took = time.monotonic() - began
        failed += code != 0
        over = ", over budget" if took > part.budget else ""
        lines.append(f"{part.name:<28} {'passed' if code == 0 else 'FAILED'}  {took:4.0f} s of {part.budget} s{over}")
    total = time.monotonic() - started
    print(f"\n==== {name} tier: {total:.0f} s of {sum(part.budget for part in tier)} s", *lines, sep="\n")
    print("parts:", f"{len(tier) - failed} passed, {failed} failed", flush=True)
    return int(failed > 0)


def environment():
    """This environment, with this .venv's kernels before those in the home folder."""
    return os.environ | {"JUPYTER_PREFER_ENV_PATH": "1"}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
