"""The committed notebooks are masters: run, clean, small, asking nobody. And what checks them must be able to fail."""

import copy
import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest

from ringlab.lab import masters

ROOT = Path(__file__).parents[1]
MASTERS = sorted((ROOT / "notebooks").glob("*.ipynb"))


@pytest.mark.parametrize("path", MASTERS, ids=lambda path: path.stem)
def test_a_committed_notebook_is_a_master(path):
    assert masters.problems_in(path) == []


def test_there_are_masters_to_check():
    assert MASTERS


# ---- each check refuses what it is there to refuse -------------------------------------------------------------------

GOOD = {
    "metadata": {"kernelspec": dict(masters.KERNEL)},
    "nbformat": 4,
    "nbformat_minor": 5,
    "cells": [
        {"cell_type": "markdown", "id": "a", "metadata": {}, "source": "See [the text](https://example.org/ring)."},
        {
            "cell_type": "code",
            "id": "b",
            "metadata": {},
            "source": "print(1)",
            "execution_count": 1,
            "outputs": [{"output_type": "stream", "name": "stdout", "text": "1\n"}],
        },
        {"cell_type": "code", "id": "c", "metadata": {}, "source": "", "execution_count": None, "outputs": []},
    ],
}
ERROR = {"output_type": "error", "ename": "Deadlock", "evalue": "rank 1 waits", "traceback": ["Deadlock: rank 1 waits"]}
PAGE = {"output_type": "display_data", "metadata": {}, "data": {"text/html": "<script src='https://cdn.example/x.js'>"}}
SVG = {"output_type": "display_data", "metadata": {}, "data": {"text/html": "<svg xmlns='http://www.w3.org/2000/svg'>"}}


def spoilt(where, value):
    """GOOD with the entry at the path `where` set to `value`."""
    book = copy.deepcopy(GOOD)
    inner = book
    for key in where[:-1]:
        inner = inner[key]
    inner[where[-1]] = value
    return book


def test_a_good_master_has_no_problems():
    assert masters.problems(GOOD, 1000) == []
    assert masters.problems(spoilt(("cells", 1, "outputs"), [SVG])) == []
    assert masters.problems(spoilt(("cells", 1, "source"), "url = 'http://127.0.0.1:8888'")) == []


@pytest.mark.parametrize(
    ("where", "value", "said"),
    [
        (("cells", 1, "execution_count"), None, "has no execution count"),
        (("cells", 1, "execution_count"), 7, "not run once each from top to bottom"),
        (("cells", 1, "outputs"), [ERROR], "ends in Deadlock and is not tagged"),
        (("cells", 1, "outputs"), [PAGE], "outside address in its output: https://cdn.example/x.js"),
        (("cells", 1, "source"), "fetch('https://example.org/data')", "outside address in its code"),
        (("cells", 1, "metadata"), {"execution": {"iopub.status.idle": "2026"}}, "holds the times of a run"),
        (("cells", 0, "source"), "![ring](https://example.org/ring.png)", "shows something from an outside"),
        (("cells", 0, "source"), "<img alt='x' src='http://example.org/ring.png'>", "shows something from an outside"),
        (("metadata", "widgets"), {"application/vnd.jupyter.widget-state+json": {}}, "saved widget state"),
        (("metadata", "kernelspec"), {"name": "my-venv"}, "its kernel is 'my-venv'"),
    ],
)
def test_a_spoilt_master_is_refused(where, value, said):
    (sentence,) = masters.problems(spoilt(where, value))
    assert said in sentence


def test_a_large_master_is_refused(tmp_path):
    path = tmp_path / "large.ipynb"
    path.write_text(json.dumps(spoilt(("cells", 1, "outputs", 0, "text"), "x" * 300_001)))
    (sentence,) = masters.problems_in(path)
    assert "more than 300,000" in sentence


def test_an_error_that_is_the_lesson_is_tagged():
    book = spoilt(("cells", 1, "outputs"), [ERROR])
    book["cells"][1]["metadata"] = {"tags": ["raises-exception"]}
    assert masters.problems(book) == []


# ---- running the masters again ---------------------------------------------------------------------------------------

NOISY = [
    "import sys\nfor word in 'abc':\n    print(word, flush=True)\n    print(word, file=sys.stderr, flush=True)",
    "import ipywidgets\nipywidgets.IntSlider(description='ranks')",
    "import plotly.graph_objects as go\ngo.Figure(go.Scatter(y=[1, 2]))",
    "1 / 0",
]


@pytest.fixture
def noisy(tmp_path):
    """A notebook that nobody ran, with all that changes from run to run."""
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source) for source in NOISY])
    book.cells[-1].metadata["tags"] = ["raises-exception"]
    path = tmp_path / "noisy.ipynb"
    nbformat.write(book, path)
    return path


@pytest.mark.slow
def test_a_refreshed_master_is_clean_and_the_next_refresh_changes_nothing(noisy):
    assert masters.refresh(noisy)
    assert masters.problems_in(noisy) == []
    first = noisy.read_bytes()
    assert not masters.refresh(noisy)
    assert noisy.read_bytes() == first
    error = nbformat.read(noisy, as_version=4).cells[-1].outputs[0]
    assert error.traceback == ["ZeroDivisionError: division by zero"]


@pytest.mark.slow
def test_a_master_that_fails_is_left_as_it_was(noisy, capsys, monkeypatch):
    book = nbformat.read(noisy, as_version=4)
    del book.cells[-1].metadata["tags"]
    nbformat.write(book, noisy)
    before = noisy.read_bytes()
    monkeypatch.setattr(masters.copies, "masters_folder", lambda: noisy.parent)
    assert masters.main([]) == 1
    assert "ZeroDivisionError" in capsys.readouterr().out
    assert noisy.read_bytes() == before


# ---- what nbval must find --------------------------------------------------------------------------------------------


def nbval(path, timeout=60):
    """Check a notebook, or a folder of them, as the test command does. Gives (exit code, what pytest said)."""
    words = ["-p", "ringlab.lab.compare", "--nbval", "--nbval-current-env", f"--nbval-cell-timeout={timeout}"]
    words += ["--nbval-sanitize-with", str(ROOT / "ringlab" / "lab" / "nbval_sanitize.cfg")]
    command = [sys.executable, "-m", "pytest", "-q", "-c", str(ROOT / "pyproject.toml"), "-p", "no:cacheprovider"]
    done = subprocess.run([*command, *words, str(path)], capture_output=True, text=True, timeout=300, check=False)
    return done.returncode, re.sub(r"\x1b\[[0-9;]*m", "", done.stdout + done.stderr)


def write(path, source, count=1, text="1\n"):
    """A one-cell notebook with a text output, as if the cell had been run."""
    output = [nbformat.v4.new_output("stream", name="stdout", text=text)] if text else []
    book = nbformat.v4.new_notebook(metadata=GOOD["metadata"])
    book.cells = [nbformat.v4.new_code_cell(source, execution_count=count, outputs=output)]
    nbformat.write(book, path)
    return path


@pytest.mark.slow
def test_nbval_passes_a_refreshed_notebook_whatever_its_figures(noisy):
    masters.refresh(noisy)
    book = nbformat.read(noisy, as_version=4)
    figure = book.cells[2].outputs[0].data["application/vnd.plotly.v1+json"]
    figure["layout"]["title"] = {"text": "of an older release"}
    nbformat.write(book, noisy)
    code, said = nbval(noisy)
    assert code == 0, said


@pytest.mark.slow
def test_nbval_fails_what_must_fail(tmp_path):
    """Four notebooks that are wrong, each in its own way, and one that is right, in a single run."""
    sources = {
        "print(1)": "1 passed",
        "print(2)": "mismatch",
        "print(1); raise ValueError('rank 2')": "ValueError: rank 2",
        "import os; os._exit(1)": "Failed to interrupt kernel",
        "print(1)\nwhile True: pass": "exceeded executing cell",
    }
    for number, source in enumerate(sources):
        write(tmp_path / f"{number}.ipynb", source)
    code, said = nbval(tmp_path, timeout=5)
    assert code == 1
    assert "4 failed, 1 passed" in said
    for text in sources.values():
        assert text.lower() in said.lower(), said


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
def test_a_notebook_that_leaves_a_process_behind_fails(tmp_path):
    sleeper = "import subprocess, sys, threading\nwait = 'import threading; threading.Event().wait(300)'\n"
    sleeper += "left = subprocess.Popen([sys.executable, '-c', wait], start_new_session=True)\nprint(1)"
    code, said = nbval(write(tmp_path / "leaks.ipynb", sleeper))
    pids = [int(pid) for pid in re.findall(r"^ +process (\d+): .*threading.Event\(\)", said, re.M)]
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
    assert code == 1 and "1 passed" in said
    assert "the notebooks have ended and left 1 behind:" in said
    assert len(pids) == 1


@pytest.mark.slow
def test_nbval_alone_would_pass_cleared_outputs_so_the_master_check_must_not(tmp_path):
    path = write(tmp_path / "cleared.ipynb", "print(2)", count=None, text="")
    assert nbval(path)[0] == 0
    assert any("no execution count" in sentence for sentence in masters.problems_in(path))
