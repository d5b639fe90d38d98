"""lab.py: one clear sentence and what to do for each foreseeable trouble, and nothing done twice. No network needed."""

import ast
import collections
import errno
import importlib.util
import json
import os
import shutil
import socket
import subprocess
import sys
import textwrap
import types
from pathlib import Path

import pytest

from ringlab.lab import start

ROOT = Path(__file__).parents[1]


@pytest.fixture
def lab(tmp_path, monkeypatch):
    """lab.py as a module, with an empty folder for its home."""
    spec = importlib.util.spec_from_file_location("lab", ROOT / "lab.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    for name in ("constraints.txt", "pyproject.toml"):
        (tmp_path / name).write_text("x==1\n")
    monkeypatch.setattr(module, "HERE", str(tmp_path))
    monkeypatch.setattr(module, "VENV", str(tmp_path / ".venv"))
    monkeypatch.setattr(module, "CONSTRAINTS", str(tmp_path / "constraints.txt"))
    return module


@pytest.fixture
def spoken(capsys):
    """What was refused: (the sentence, what to do), checked for its shape."""

    def read():
        lines = capsys.readouterr().err.splitlines()
        assert len(lines) == 2, lines
        assert lines[0].startswith("lab.py: ")
        assert lines[0].endswith(".")
        assert lines[1].startswith("        What to do: ")
        return lines[0].removeprefix("lab.py: "), lines[1].removeprefix("        What to do: ")

    return read


# ---- the Python ------------------------------------------------------------------------------------------------------


def test_a_python_of_2010_can_read_lab_py():
    """Else its user would see a SyntaxError and not the sentence."""
    newer = (
        *(ast.JoinedStr, ast.NamedExpr, ast.AnnAssign, ast.AsyncFunctionDef, ast.Await, ast.Match, ast.TryStar),
        *(ast.Nonlocal, ast.YieldFrom, ast.MatMult),
    )
    for node in ast.walk(ast.parse((ROOT / "lab.py").read_text(), feature_version=(3, 6))):
        assert not isinstance(node, newer), ast.unparse(node)
        if isinstance(node, ast.FunctionDef):
            arguments = node.args
            assert not (node.returns or arguments.kwonlyargs or arguments.posonlyargs), node.name
            assert not any(argument.annotation for argument in arguments.args), node.name
        if isinstance(node, ast.Raise):
            assert node.cause is None, "raise ... from is Python 3"
        if isinstance(node, ast.Call):
            assert all(keyword.arg for keyword in node.keywords), ast.unparse(node)
            stars = [word for word in node.args if isinstance(word, ast.Starred)]
            assert not stars or (stars == node.args[-1:] and not node.keywords), ast.unparse(node)
        if isinstance(node, (ast.List, ast.Tuple, ast.Set)):
            assert not any(isinstance(part, ast.Starred) for part in node.elts), ast.unparse(node)
        if isinstance(node, ast.Dict):
            assert None not in node.keys, ast.unparse(node)
    (ROOT / "lab.py").read_bytes().decode("ascii")  # Python 2 refuses anything else without a coding line


def test_lab_py_imports_only_what_every_python_has():
    tree = ast.parse((ROOT / "lab.py").read_text())
    imported = {name.name for node in ast.walk(tree) if isinstance(node, ast.Import) for name in node.names}
    assert imported <= sys.stdlib_module_names


@pytest.mark.parametrize("version", [(2, 7, 18), (3, 6, 15), (3, 10, 13)])
def test_too_old_a_python_is_told_so(lab, spoken, monkeypatch, version):
    monkeypatch.setattr(lab, "sys", types.SimpleNamespace(version_info=version, stderr=sys.stderr))
    monkeypatch.setattr(lab, "answers", lambda python, code="": False)
    assert lab.main([]) == 1
    what, todo = spoken()
    assert what == f"This is Python {version[0]}.{version[1]}, and the lab needs 3.11 or newer."
    assert "install a newer Python" in todo


def test_a_newer_python_on_the_machine_is_named(lab, spoken, monkeypatch):
    monkeypatch.setattr(lab, "sys", types.SimpleNamespace(version_info=(3, 9, 2), stderr=sys.stderr))
    monkeypatch.setattr(lab, "answers", lambda python, code="": python in ("python3.12", "python3.11"))
    assert lab.main(["test"]) == 1
    assert "type: python3.12 lab.py" in spoken()[1]


def test_a_name_that_does_not_run_is_no_python(lab, tmp_path, monkeypatch):
    shim = tmp_path / "python3.13"
    shim.write_text("#!/bin/sh\nexit 127\n")
    shim.chmod(0o755)
    assert not lab.answers(str(shim))
    assert not lab.answers(str(tmp_path / "nothing"))
    assert lab.answers(sys.executable)


# ---- setting up ------------------------------------------------------------------------------------------------------


def test_no_venv_module(lab, spoken, monkeypatch):
    monkeypatch.setitem(sys.modules, "ensurepip", None)  # as on Debian without python3-venv
    assert lab.main([]) == 1
    what, todo = spoken()
    assert "cannot make virtual environments" in what
    assert "apt install python3-venv" in todo


def free(nbytes):
    return lambda path: collections.namedtuple("Usage", "total used free")(10**12, 10**12 - nbytes, nbytes)


def test_a_full_disk_is_seen_before_anything_is_made(lab, spoken, monkeypatch, tmp_path):
    monkeypatch.setattr(lab.shutil, "disk_usage", free(12 * 10**6))
    assert lab.main([]) == 1
    what, todo = spoken()
    assert what == "The disk is full: the lab needs 600 MB beside lab.py and 12 MB are free."
    assert "free some space" in todo
    assert not (tmp_path / ".venv").exists()


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT])
def test_a_disk_that_fills_meanwhile(lab, spoken, monkeypatch, number):
    def fills(*_):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(lab, "make_venv", fills)
    assert lab.main([]) == 1
    assert spoken()[0].startswith("The disk is full")


def test_another_fault_of_the_system_is_not_hidden(lab, monkeypatch):
    def breaks(*_):
        raise OSError(errno.EIO, "I/O error")

    monkeypatch.setattr(lab, "make_venv", breaks)
    with pytest.raises(OSError, match="I/O error"):
        lab.main([])


# The end of what pip said in each case, as pip 23 and pip 26 say it.
PIP_SAYS = {
    "no network": """
WARNING: Retrying (Retry(total=0)) after connection broken by 'NewConnectionError('<pip._vendor.urllib3.connection
.HTTPSConnection object>: Failed to establish a new connection: [Errno -3] Temporary failure in name resolution')'
ERROR: Could not find a version that satisfies the requirement setuptools (from versions: none)
ERROR: No matching distribution found for setuptools""",
    "refused": """
WARNING: Retrying (Retry(total=4)) after connection broken by 'NewConnectionError("HTTPConnection(host='localhost',
port=9): Failed to establish a new connection: [Errno 111] Connection refused")'
ERROR: No matching distribution found for setuptools""",
    "pin not found": """
ERROR: Cannot install setuptools because these package versions have conflicting dependencies.

The conflict is caused by:
    The user requested setuptools
    The user requested (constraint) setuptools==84.2.1

ERROR: ResolutionImpossible: for help visit pip's pages""",
    "disk": """
Installing collected packages: plotly
ERROR: Could not install packages due to an OSError: [Errno 28] No space left on device""",
    "quota": "ERROR: Could not install packages due to an OSError: [Errno 122] Disk quota exceeded: '/home/a/x'",
    "other": """
  Getting requirements to build editable: finished with status 'error'
ERROR: Some build failed
hint: see above""",
}


@pytest.mark.parametrize(
    ("said", "what", "todo"),
    [
        ("no network", "there is no network", "--wheels DIR"),
        ("refused", "there is no network", "--wheels DIR"),
        ("pin not found", "there is no network", "--wheels DIR"),
        ("disk", "The disk is full", "free some space"),
        ("quota", "The disk is full", "free some space"),
        ("other", "pip could not install the packages: ERROR: Some build failed", "pip.log"),
    ],
)
def test_what_pip_says_becomes_one_sentence(lab, said, what, todo):
    stop = lab.pip_failed(PIP_SAYS[said], None)
    assert what in stop.what
    assert todo in stop.todo


def test_a_wheel_that_is_missing_from_the_folder_is_named(lab):
    said = "ERROR: Could not find a version that satisfies the requirement plotly>=6.3 (from versions: none)\n"
    stop = lab.pip_failed(said + "ERROR: No matching distribution found for plotly>=6.3", "/media/stick")
    assert stop.what == "The folder of wheels has no plotly>=6.3 for this system and Python."
    assert "lab.py wheels DIR" in stop.todo
    stop = lab.pip_failed(PIP_SAYS["pin not found"], "/media/stick")
    assert stop.what == "The folder of wheels has no setuptools==84.2.1 for this system and Python."


def test_a_folder_of_wheels_that_is_not_there(lab, spoken):
    assert lab.main(["--wheels", "nowhere"]) == 1
    assert spoken()[0] == "The folder of wheels 'nowhere' is not there."


@pytest.mark.parametrize("words", [["--wheels", "DIR", "test", "-x"], ["test", "--wheels=DIR", "-x"]])
def test_the_folder_of_wheels_may_stand_anywhere(lab, tmp_path, words):
    folder, rest = lab.take_wheels([word.replace("DIR", str(tmp_path)) for word in words])
    assert (folder, rest) == (str(tmp_path), ["test", "-x"])


# ---- a second start --------------------------------------------------------------------------------------------------


@pytest.fixture
def made(lab, tmp_path):
    """lab.py with a .venv that was completed for the lab, not for the tests."""
    python = Path(lab.venv_python())
    python.parent.mkdir(parents=True)
    python.write_text("")
    (tmp_path / ".venv" / "ringlab.json").write_text(json.dumps({"made_of": lab.wanted(), "extras": [""]}))
    return lab


def test_a_complete_venv_is_left_alone(made, monkeypatch):
    monkeypatch.setattr(made, "make_venv", lambda: pytest.fail("made again"))
    made.ensure("", None)
    assert not made.is_ready("test")


@pytest.mark.parametrize(
    "change", ["constraints.txt", "pyproject.toml", "the folder", "the Python", "no Python", "stamp"]
)
def test_a_venv_made_of_something_else_is_completed(made, monkeypatch, tmp_path, change):
    assert made.is_ready("")
    if change.endswith((".txt", ".toml")):
        (tmp_path / change).write_text("x==2\n")
    elif change == "the folder":
        monkeypatch.setattr(made, "HERE", str(shutil.copytree(tmp_path, tmp_path / "moved")))
    elif change == "the Python":
        monkeypatch.setattr(made, "sys", types.SimpleNamespace(version="3.99.0 (main)"))
    elif change == "no Python":
        Path(made.venv_python()).unlink()
    else:
        (tmp_path / ".venv" / "ringlab.json").write_text('{"made')
    assert not made.is_ready("")


# ---- handing over ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "extra", "handed"),
    [
        ([], "", ["-m", "ringlab", "lab"]),
        (["--port", "9000", "--no-browser"], "", ["-m", "ringlab", "lab", "--port", "9000", "--no-browser"]),
        (["doctor", "--quiet"], "", ["-m", "ringlab", "doctor", "--quiet"]),
        (["refresh", "03"], "", ["-m", "ringlab.lab.masters", "03"]),
        (["test", "--full"], "test", ["-u", os.path.join("tests", "run.py"), "--full"]),
        (["explore"], "", ["-m", "ringlab", "lab", "--LabApp.default_url=/lab/tree/explorer.ipynb"]),
        (["screenshots"], "test", [os.path.join("tests", "browser", "screenshots.py")]),
    ],
)
def test_each_command_gets_what_it_needs(lab, monkeypatch, words, extra, handed):
    calls = []
    monkeypatch.setattr(lab, "ensure", lambda extra, wheels: calls.append(extra))
    monkeypatch.setattr(lab, "run", lambda *arguments: calls.append(list(arguments)) or 7)
    assert lab.main(words) == 7
    assert calls == [extra, handed]


def test_the_help_names_every_command(lab, capsys):
    assert lab.main(["--help"]) == 0
    said = capsys.readouterr().out
    words = ("test", "explore", "doctor", "refresh", "wheels", "screenshots", "--wheels")
    assert all(f"lab.py {word}" in said for word in words)


def lab_in(folder, *words, **settings):
    """Run lab.py as a user does, in a folder that holds what it reads, with pip's settings under control."""
    for name in ("lab.py", "pyproject.toml", "constraints.txt", "LICENSE"):
        shutil.copy(ROOT / name, folder)
    env = {key: value for key, value in os.environ.items() if not key.startswith("PIP_")}
    env |= {"PIP_CONFIG_FILE": os.devnull, "PIP_RETRIES": "0", "PIP_TIMEOUT": "2", **settings}
    return subprocess.run(
        [sys.executable, "lab.py", *words], cwd=folder, env=env, capture_output=True, text=True, timeout=120
    )


@pytest.mark.slow
def test_no_network_with_the_real_pip(tmp_path):
    with socket.socket() as nobody:  # bound but not listening: connections are refused
        nobody.bind(("127.0.0.1", 0))
        done = lab_in(tmp_path, PIP_INDEX_URL=f"http://127.0.0.1:{nobody.getsockname()[1]}/simple")
    assert done.returncode == 1
    assert "could not be fetched: there is no network" in done.stderr
    assert len(done.stderr.splitlines()) == 2
    assert not (tmp_path / ".venv" / "ringlab.json").exists(), "an unfinished .venv must not count as made"


@pytest.mark.slow
def test_an_empty_folder_of_wheels_with_the_real_pip(tmp_path):
    (tmp_path / "wheels").mkdir()
    done = lab_in(tmp_path, "--wheels", "wheels")
    assert done.returncode == 1
    assert "The folder of wheels has no setuptools" in done.stderr


# ---- JupyterLab ------------------------------------------------------------------------------------------------------


@pytest.fixture
def taken():
    """A port on which something listens."""
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        yield other.getsockname()[1]


def test_a_busy_port(taken, spoken, monkeypatch, tmp_path):
    monkeypatch.setenv("RINGLAB_LESSONS", str(tmp_path))
    monkeypatch.setattr(start.copies, "make", lambda folder: [])
    monkeypatch.setattr(start, "serve", lambda argv, folder: pytest.fail("started on a busy port"))
    assert start.command(types.SimpleNamespace(jupyterlab=["--port", str(taken), "--no-browser"])) == 1
    what, todo = spoken()
    assert what == f"Port {taken} is taken, perhaps by a lab that runs already."
    other = int(todo.rsplit(" ", 1)[1])
    assert other != taken
    assert not start.is_busy(other)


def test_a_full_disk_when_the_copies_are_made(spoken, monkeypatch, tmp_path):
    def fills(folder):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setenv("RINGLAB_LESSONS", str(tmp_path))
    monkeypatch.setattr(start.copies, "make", fills)
    assert start.command(types.SimpleNamespace(jupyterlab=[])) == 1
    assert "the disk is full" in spoken()[0]


@pytest.mark.parametrize(
    ("words", "port"),
    [
        ([], start.PORT),
        (["--port", "9000"], 9000),
        (["--no-browser", "--port=9001"], 9001),
        (["--ServerApp.port=9002"], 9002),
        (["--port=0"], 0),
    ],
)
def test_the_port_that_is_asked_for(words, port):
    assert start.port_of(words) == port


def test_a_request_of_the_last_moment_does_not_keep_the_lab_from_ending():
    code = """
        import anyio.to_thread, asyncio
        from ringlab.lab.start import end_tasks
        loop = asyncio.new_event_loop()
        async def request():
            await anyio.to_thread.run_sync(int)  # a thread that lives as long as this task
            loop.stop()
            await asyncio.Event().wait()
        task = loop.create_task(request())
        loop.run_forever()
        end_tasks(loop)
        print("over")
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (0, "over\n"), done.stderr
