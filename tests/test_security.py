"""What comes from learners' processes and files cannot run in the kernel: nothing here unpickles or evaluates it."""

import ast
import os
import stat
import sys
from pathlib import Path

import pytest

from ringlab import bench_peers

PACKAGE = Path(__file__).resolve().parents[1] / "ringlab"
FILES = sorted(PACKAGE.rglob("*.py"))
UNPICKLERS = {"pickle", "_pickle", "dill", "marshal", "shelve", "joblib"}
# Where a rank, and only a rank, loads the function that its kernel sent.
LOADS_WHAT_THE_KERNEL_SENT = {"plays.py"}
# Where learners' own files are run as they asked: `ringlab check FILE.py:NAME`.
RUNS_A_LEARNERS_FILE = {"judge/learnerfile.py"}


def names_used(path):
    """(imported modules, called names such as "eval" or "cloudpickle.loads", keywords that are True) of a file."""
    imported, called, true = set(), set(), set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            imported |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and not node.level:
            imported.add(node.module.partition(".")[0])
        elif isinstance(node, ast.Call):
            called.add(ast.unparse(node.func))
            true |= {word.arg for word in node.keywords if ast.unparse(word.value) == "True"}
    return imported, called, true


def offences(path):
    """What a file of the package uses that it must not."""
    place = path.relative_to(PACKAGE).as_posix()
    imported, called, true = names_used(path)
    found = (imported & UNPICKLERS) | (true & {"allow_pickle"})
    if place not in LOADS_WHAT_THE_KERNEL_SENT:
        found |= {name for name in called if name.endswith((".loads", ".load")) and "pickle" in name}
    if place not in RUNS_A_LEARNERS_FILE:
        found |= called & {"eval", "exec", "compile", "os.system", "__import__"}
    return found


def test_nothing_is_unpickled_or_evaluated():
    assert len(FILES) > 100
    assert {path.name: found for path in FILES if (found := offences(path))} == {}


def test_the_check_would_see_them(tmp_path):
    file = tmp_path / "bad.py"
    file.write_text("import pickle, numpy as np\nfrom dill import loads\neval('1')\nnp.load('x', allow_pickle=True)\n")
    assert names_used(file) == ({"pickle", "numpy", "dill"}, {"eval", "np.load"}, {"allow_pickle"})


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has other rights")
def test_folders_of_runs_are_for_their_owner_only():
    made = [name for name in FILES if "mkdtemp" in name.read_text()]
    assert {name.name for name in made} >= {Path(bench_peers.__file__).name, "watch.py"}
    import tempfile

    folder = tempfile.mkdtemp(prefix="ringlab-test-")
    try:
        assert stat.S_IMODE(os.stat(folder).st_mode) == 0o700
    finally:
        os.rmdir(folder)
