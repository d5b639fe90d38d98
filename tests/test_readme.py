"""The README tells the truth: its map names every module, its table every lesson, its example runs."""

import re
from pathlib import Path

import ringlab as rl

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_map_names_every_module_and_folder():
    map_ = README.split("## What is where")[1].split("**One algorithm, many wires:**")[0]
    patterns = re.findall(r"[\w*]+\.py|\w+/", map_)
    for path in sorted((ROOT / "ringlab").iterdir()):
        if path.name.startswith(("_", ".")) or path.suffix not in ("", ".py"):
            continue
        name = path.name + ("/" if path.is_dir() else "")
        assert any(re.fullmatch(pattern.replace("*", ".*"), name) for pattern in patterns), f"{name} is not in the map"
    for pattern in patterns:
        if "*" not in pattern and pattern not in ("ringlab/", "notebooks/", "tests/", "lab.py"):
            assert (ROOT / "ringlab" / pattern).exists(), f"{pattern} is in the map and not in ringlab/"


def test_the_table_links_every_lesson_that_is_there_and_no_other():
    linked = set(re.findall(r"\]\((notebooks/[^)]+\.ipynb)\)", README))
    there = {f"notebooks/{path.name}" for path in (ROOT / "notebooks").glob("*.ipynb")}
    assert linked == there
    assert len(re.findall(r"^\| \[?\d\d\]?.*\|$", README, re.M)) == 17


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
