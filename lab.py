#!/usr/bin/env python3
"""Open the lab: python3 lab.py

    python3 lab.py                    make .venv (once), make your copies of the lessons, start JupyterLab
    python3 lab.py explore            the same, at the explorer: knobs to turn, and what they do
    python3 lab.py --wheels DIR       the same without network, from a folder of wheels
    python3 lab.py wheels DIR         make such a folder, on a machine with network, same system, same Python
    python3 lab.py test               run the quick tests (--full: all that CI runs; --night: long ones too)
    python3 lab.py doctor             say whether this machine is ready, and if not, exactly why
    python3 lab.py refresh [LESSON]   run the masters in notebooks/ again and save their outputs
    python3 lab.py screenshots [DIR]  pictures of each lesson, in light and dark

Anything else goes to JupyterLab: python3 lab.py --port 9000 --no-browser

This file needs a Python and nothing else; it makes .venv and hands over to the package inside it. A Python
too old for the lab must still be able to read it, in order to say so: no syntax newer than Python 2.7 here.
"""

from __future__ import print_function

import errno
import hashlib
import io
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time

NEEDS = (3, 11)
DISK = 600 * 10**6  # bytes: .venv takes 430 MB with the test extras, pip unpacks the wheels beside it
HERE = os.path.dirname(os.path.abspath(__file__))
VENV = os.path.join(HERE, ".venv")
CONSTRAINTS = os.path.join(HERE, "constraints.txt")

# What pip says when it reached no package index, as a pattern over its whole output.
NO_NETWORK = re.compile(
    "NewConnectionError|ConnectTimeoutError|ReadTimeoutError|NameResolutionError|ProxyError|SSLError"
    "|Connection (refused|reset|aborted|broken)|[Nn]etwork is unreachable|[Nn]ame resolution"
    "|getaddrinfo failed|Max retries exceeded"
)
NO_SPACE = re.compile(r"No space left on device|Disk quota exceeded|not enough space on the disk|\[Errno (28|122)\]")


class Stop(Exception):
    """The lab cannot start: `what` is wrong, in one sentence, and what `todo` about it."""

    def __init__(self, what, todo):
        Exception.__init__(self, what)
        self.what, self.todo = what, todo


def main(argv):
    """Do what the arguments say and give the exit code. Each foreseeable trouble is a Stop."""
    try:
        check_python(sys.version_info)
        wheels, argv = take_wheels(argv)
        command = argv[0] if argv else ""
        if command in ("-h", "--help", "help"):
            print(__doc__)
            return 0
        if command == "test":
            ensure("test", wheels)
            return run("-u", os.path.join("tests", "run.py"), *argv[1:])
        if command == "refresh":
            ensure("", wheels)
            return run("-m", "ringlab.lab.masters", *argv[1:])
        if command == "explore":
            ensure("", wheels)
            return run("-m", "ringlab", "lab", "--LabApp.default_url=/lab/tree/explorer.ipynb", *argv[1:])
        if command == "doctor":
            ensure("", wheels)
            return run("-m", "ringlab", "doctor", *argv[1:])
        if command == "screenshots":
            ensure("test", wheels)
            return run(os.path.join("tests", "browser", "screenshots.py"), *argv[1:])
        if command == "wheels":
            ensure("", None)
            return make_wheels(argv[1:])
        ensure("", wheels)
        return run("-m", "ringlab", "lab", *argv)
    except Stop as stop:
        return refuse(stop)
    except KeyboardInterrupt:
        print("\nlab.py: stopped. Type the same command to go on.", file=sys.stderr)
        return 130
    except EnvironmentError as error:
        if error.errno in (errno.ENOSPC, getattr(errno, "EDQUOT", None)):
            return refuse(full_disk())
        raise


def refuse(stop):
    print("lab.py: %s\n        What to do: %s" % (stop.what, stop.todo), file=sys.stderr)
    return 1


# ---- the Python that runs this file ------------------------------------------------------------------------


def check_python(version):
    """Stop when `version` is too old, naming a newer Python if this machine has one."""
    if tuple(version[:2]) >= NEEDS:
        return
    newer = next((name for name in ("python3.13", "python3.12", "python3.11") if answers(name)), None)
    raise Stop(
        "This is Python %d.%d, and the lab needs %d.%d or newer." % (tuple(version[:2]) + NEEDS),
        "this machine has a newer one, so type: %s lab.py" % newer
        if newer
        else "install a newer Python (python.org has one for every system) and start lab.py with it.",
    )


def answers(python, code=""):
    """Whether `python` is there and runs `code` (version managers leave names that do not run)."""
    try:
        with open(os.devnull, "w") as nowhere:
            return subprocess.call([python, "-c", code], stdout=nowhere, stderr=nowhere) == 0
    except EnvironmentError:
        return False


def take_wheels(argv):
    """(folder of wheels or None, the other arguments)."""
    rest, folder = [], None
    words = iter(argv)
    for word in words:
        if word == "--wheels" or word.startswith("--wheels="):
            folder = word[9:] if "=" in word else next(words, "")
            if not os.path.isdir(folder):
                raise Stop(
                    "The folder of wheels %r is not there." % folder,
                    "name the folder that `python3 lab.py wheels DIR` made: python3 lab.py --wheels DIR",
                )
            folder = os.path.abspath(folder)
        else:
            rest.append(word)
    return folder, rest


# ---- .venv -------------------------------------------------------------------------------------------------


def venv_python():
    """Path of the Python inside .venv."""
    return os.path.join(VENV, *(("Scripts", "python.exe") if os.name == "nt" else ("bin", "python")))


def stamp_path():
    return os.path.join(VENV, "ringlab.json")


def wanted():
    """What .venv is made of, as one text: when it changes, pip runs again (-e records the folder, too)."""
    digest = hashlib.sha256()
    for path in (CONSTRAINTS, os.path.join(HERE, "pyproject.toml")):
        with io.open(path, "rb") as file:
            digest.update(file.read())
    return "%s %s %s" % (digest.hexdigest(), sys.version.split()[0], HERE)


def is_ready(extra):
    """Whether .venv was completed for these pins, this Python and this `extra` ("" or "test")."""
    try:
        with io.open(stamp_path(), encoding="utf-8") as file:
            stamp = json.load(file)
    except (EnvironmentError, ValueError):
        return False
    return stamp["made_of"] == wanted() and extra in stamp["extras"] and os.path.exists(venv_python())


def ensure(extra, wheels):
    """Make .venv, or complete it; nothing when it is ready (about 20 ms)."""
    if is_ready(extra):
        return
    started = time.time()
    if shutil.disk_usage(HERE).free < DISK:
        raise full_disk()
    if is_ready(""):
        print("Adding what the tests need to .venv.")
    else:
        print("Setting up the lab in .venv, once%s." % ("" if wheels else ": 80 MB to fetch, a minute or less"))
    make_venv()
    install(["setuptools"], wheels, "Preparing")
    target = ".[%s]" % extra if extra else "."
    install(["--no-build-isolation", "-e", target], wheels, "Fetching the packages")
    compile_some()
    with io.open(stamp_path(), "w", encoding="utf-8") as file:
        file.write("%s" % json.dumps({"made_of": wanted(), "extras": sorted({"", extra})}))
    print("Ready after %.0f s." % (time.time() - started))


def make_venv():
    """Make .venv with pip in it. One that works is kept; one that does not (half made, say) is replaced."""
    probe = "import sys; sys.exit(sys.version_info[:2] != %r)" % (tuple(sys.version_info[:2]),)
    if answers(venv_python(), probe) and answers(venv_python(), "import pip"):
        return
    no_venv = Stop(
        "This Python cannot make virtual environments: it has no venv module (or no ensurepip).",
        "install it (Debian, Ubuntu: sudo apt install python3-venv) or take the Python of python.org.",
    )
    try:
        import ensurepip  # noqa: F401
        import venv  # noqa: F401
    except ImportError:
        raise no_venv  # noqa: B904
    print("Making .venv with Python %d.%d.%d" % sys.version_info[:3])
    sys.stdout.flush()
    clear = [] if answers(venv_python(), probe) else ["--clear"]
    process = subprocess.Popen(
        [sys.executable, "-m", "venv"] + clear + [VENV], stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    said = process.communicate()[0].decode("utf-8", "replace")
    if process.returncode != 0:
        if NO_SPACE.search(said):
            raise full_disk()
        if "ensurepip" in said:
            raise no_venv
        raise Stop("Making .venv failed: %s" % last_line(said), "see to that, then run lab.py again.")


def install(what, wheels, title):
    """pip install `what` into .venv at the pinned versions, with one line of progress."""
    offline = ["--no-index", "--find-links", wheels] if wheels else []
    code, said = pip(["install", "--no-compile"] + offline + what, title)
    if code != 0:
        with io.open(os.path.join(VENV, "pip.log"), "w", encoding="utf-8") as file:
            file.write(said)
        raise pip_failed(said, wheels)


def pip(words, title):
    """Run .venv's pip at the pinned versions and show how far it is. Gives (exit code, all it said)."""
    command = [venv_python(), "-u", "-m", "pip", "--disable-pip-version-check", "--no-input"]
    process = subprocess.Popen(
        command + words + ["-c", CONSTRAINTS], cwd=HERE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    said, packages, started, live = [], 0, time.time(), sys.stdout.isatty()
    print(title, end="" if live else "\n")
    sys.stdout.flush()
    for raw in iter(process.stdout.readline, b""):
        line = raw.decode("utf-8", "replace")
        said.append(line)
        packages += line.startswith("Collecting ")
        if line.startswith("Installing collected packages:") and "," in line:
            note = "unpacking %d packages, the longest part" % (line.count(",") + 1)
        elif packages and line.startswith("Collecting ") and (live or packages % 25 == 0):
            note = "%d packages" % packages
        else:
            continue
        line = "%s: %s (%.0f s)" % (title, note, time.time() - started)
        print("\r" + line.ljust(78) if live else "  " + line, end="" if live else "\n")
        sys.stdout.flush()
    if live:
        print()
    return process.wait(), "".join(said)


def compile_some():
    """Leave compiled files of what a start imports; compiling all, as pip would, takes five times as long."""
    code = (
        "import jupyterlab.labapp, ipykernel.kernelapp, ipykernel.zmqshell, ipywidgets, plotly.graph_objects, ringlab"
    )
    env = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    with open(os.devnull, "w") as nowhere:
        subprocess.call([venv_python(), "-c", code], stdout=nowhere, stderr=nowhere, env=env)


def pip_failed(said, wheels):
    """The Stop for what pip said."""
    # the second form: pip has another version here already, and calls the pin a conflict
    missing = re.search(r"No matching distribution found for ([^\s;]+)|\(constraint\) (\S+)", said)
    if NO_SPACE.search(said):
        return full_disk()
    if wheels and missing:
        return Stop(
            "The folder of wheels has no %s for this system and Python." % (missing.group(1) or missing.group(2)),
            "make it again with this Python version, on the same system: python3 lab.py wheels DIR",
        )
    if NO_NETWORK.search(said) or "from versions: none" in said or (missing and missing.group(2)):
        return Stop(
            "The packages could not be fetched: there is no network, or the package index does not answer.",
            "connect and run lab.py again; or set up from a folder of wheels: python3 lab.py --wheels DIR",
        )
    return Stop(
        "pip could not install the packages: %s" % last_line(said),
        "look into %s for the whole story; python3 -m venv --clear .venv starts afresh."
        % os.path.join(".venv", "pip.log"),
    )


def last_line(said):
    """The last line that says something: pip's own errors come last."""
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    errors = [line for line in lines if line.lower().startswith("error")]
    return (errors or lines or ["it said nothing"])[-1]


def full_disk():
    free = shutil.disk_usage(HERE).free // 10**6
    return Stop(
        "The disk is full: the lab needs %d MB beside lab.py and %d MB are free." % (DISK // 10**6, free),
        "free some space (or move this folder to a larger disk) and run lab.py again.",
    )


# ---- handing over ------------------------------------------------------------------------------------------


def make_wheels(argv):
    """Fill a folder with a wheel of everything, tests included, for machines without network."""
    if len(argv) != 1:
        raise Stop("`lab.py wheels` needs the folder to fill.", "type: python3 lab.py wheels wheels")
    folder = os.path.abspath(argv[0])
    code, said = pip(["wheel", "--no-build-isolation", "-w", folder, "setuptools", ".[test]"], "Fetching")
    if code != 0:
        raise pip_failed(said, None)
    print("Carry %s and a clone to the other machine and type there: python3 lab.py --wheels DIR" % argv[0])
    return 0


def run(*arguments):
    """Run .venv's Python in this folder and give its exit code; where the system can, become it."""
    command = [venv_python()] + list(arguments)
    os.chdir(HERE)
    sys.stdout.flush()
    if os.name != "nt":
        os.execv(command[0], command)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C goes to both: the child decides
    return subprocess.call(command)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
