"""Tests are tested too: with a known bug in place, the test that is there for it fails."""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import processes
import pytest
from seeded_bugs import BUGS

MARK = "RINGLAB_SEEDED"
ROOT = Path(__file__).resolve().parents[1]
NAMES = [bug.what for bug in BUGS]


@pytest.mark.parametrize("bug", BUGS, ids=NAMES)
def test_a_bug_has_one_place_and_a_test_that_exists(bug):
    assert (ROOT / "ringlab" / bug.file).read_text().count(bug.old) == 1
    assert bug.new != bug.old
    file, _, name = bug.test.partition("::")
    assert f"def {name}" in (ROOT / "tests" / file).read_text()


def test_there_are_thirty_or_more():
    assert len({(bug.file, bug.old) for bug in BUGS}) == len(BUGS) >= 30


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    """A copy of the package and its tests, in a folder of its own."""
    folder = tmp_path_factory.mktemp("seeded")
    for name in ("ringlab", "tests"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", folder)
    return folder


def outcome(folder, test):
    """How pytest ends in that folder; "hang" when it does not."""
    command = [sys.executable, "-B", "-m", "pytest", "-q", "-x", "-m", "", "-p", "no:cacheprovider", f"tests/{test}"]
    environment = {**os.environ, "PYTHONPATH": str(folder), MARK: str(folder)}
    try:
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=120)
    except subprocess.TimeoutExpired:
        return "hang"
    finally:  # some of the bugs let ranks outlive their kernel
        for pid in processes.alive(f"{MARK}={folder}"):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
    return {0: "passed", 1: "failed"}.get(done.returncode, done.stdout + done.stderr)


@pytest.mark.night
@pytest.mark.parametrize("bug", BUGS, ids=NAMES)
def test_the_test_fails_with_the_bug(copy, bug):
    file = copy / "ringlab" / bug.file
    text = file.read_text()
    file.write_text(text.replace(bug.old, bug.new))
    try:
        assert outcome(copy, bug.test) in ("failed", "hang")
    finally:
        file.write_text(text)


@pytest.mark.night
@pytest.mark.parametrize("test", sorted({bug.test for bug in BUGS}))
def test_the_test_passes_without(copy, test):
    assert outcome(copy, test) == "passed"
