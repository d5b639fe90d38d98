"""The README tells the truth: its map names every module, its table every lesson, its example runs."""

import fnmatch
import re
from pathlib import Path

import ringlab as rl

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_what_the_map_names_is_there():
    map_ = README.split("## What is where")[1].split("**One algorithm, many wires:**")[0]
    names = re.findall(r"\w+\.py|\w+/", map_)
    assert len(names) > 40
    for name in set(names) - {"ringlab/", "notebooks/", "tests/", "lab.py", "FILE.py"}:
        assert list((ROOT / "ringlab").rglob(name.rstrip("/"))), f"{name} is in the map and not in ringlab/"


def test_the_map_has_every_file():
    map_ = README.split("## What is where")[1].split("**One algorithm, many wires:**")[0]
    patterns = re.findall(r"[\w*]+\.\w+", map_)
    for path in (ROOT / "ringlab").rglob("*"):
        if path.suffix in (".py", ".js", ".css") and not path.name.startswith("__"):
            assert any(fnmatch.fnmatch(path.name, pattern) for pattern in patterns), f"{path} is not in the map"


def test_the_table_has_seventeen_lessons_and_links_those_that_are_there():
    linked = set(re.findall(r"\]\((notebooks/[^)]+\.ipynb)\)", README))
    assert len(linked) >= 10
    for target in linked:
        assert (ROOT / target).exists(), target
    lessons = README.split("## Lessons")[1].split("\n## ")[0]
    numbers = re.findall(r"^\| \[?(\d\d)\b", lessons, re.M)
    assert numbers == [f"{number:02}" for number in range(17)]


def test_every_file_that_is_linked_is_there():
    for target in re.findall(r"\]\((?!http)([^)#]+)\)", README):
        assert (ROOT / target).exists(), target


def test_the_example_runs_and_says_what_it_says():
    run = rl.run(rl.ring_allreduce)
    assert "24 messages, 384 bytes, every rank holds the sum" in str(run)
    namespace = {"rl": rl}
    code = README.split("```python")[2].split("```")[0].split("rl.check")[0]
    exec(code, namespace)
    assert rl.run(namespace["my_ring"]).verdict is None


def test_every_public_name_is_what_it_says_even_after_all_modules_are_loaded():
    import importlib
    import pkgutil

    for module in pkgutil.iter_modules(rl.__path__):
        if module.name not in ("__main__", "rank", "bench_peer"):
            importlib.import_module(f"ringlab.{module.name}")
    for name in ("run", "launch", "check", "show", "predict", "claims", "compare", "load", "close"):
        assert callable(getattr(rl, name)), name
    for name in rl.__all__:
        getattr(rl, name)
