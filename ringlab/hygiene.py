"""What learner code may change in a rank and the next call must not meet; which learner modules a rank has loaded."""

import builtins
import os
import signal
import sys
import sysconfig
import threading

import numpy as np

from .source import PACKAGE

OURS = "ringlab"  # names of our own threads begin so
LIBRARIES = tuple(  # as they are called, and where they really are
    os.path.normcase(os.path.join(where(sysconfig.get_path(name)), ""))
    for where in (os.path.abspath, os.path.realpath)
    for name in ("stdlib", "platstdlib", "purelib", "platlib")
)


def state():
    """Name -> value of all that a call must leave as it was."""
    return {
        "working directory": os.getcwd(),
        "environment": hash(frozenset(os.environ.items())),
        "numpy's error state": tuple(sorted(np.geterr().items())),
        "signal handlers": tuple(_handler(number) for number in sorted(signal.valid_signals())),
        "threads": sum(not thread.name.startswith(OURS) for thread in threading.enumerate()),
        "module search path": tuple(sys.path),
        "numpy": hash(tuple(id(value) for value in vars(np).values() if callable(value))),
        "built-ins": hash(tuple(id(value) for value in vars(builtins).values() if callable(value))),
    }


def changed(before, after):
    """The names of what differs, sorted."""
    return sorted(name for name in before if before[name] != after[name])


def _handler(number):
    try:
        return id(signal.getsignal(number))
    except ValueError:
        return 0


class Modules:
    """The learner's modules that this process has loaded: neither Python's own, nor installed, nor ours."""

    def __init__(self):
        self._seen = set()
        self.files = {}  # file -> time of its last change, in nanoseconds, when it was noticed

    def look(self):
        """The files that were loaded since the last look, with their times."""
        new = set(sys.modules) - self._seen
        self._seen |= new
        found = {}
        for name in new:
            file = getattr(sys.modules.get(name), "__file__", None)
            if not file or file.startswith(PACKAGE):
                continue
            if os.path.normcase(file).startswith(LIBRARIES):  # most of them: this costs no look at the disk
                continue
            if os.path.normcase(os.path.realpath(file)).startswith(LIBRARIES):
                continue
            try:
                found[file] = os.stat(file).st_mtime_ns
            except OSError:
                continue
        self.files.update(found)
        return found


def edited(files):
    """Those of `files` (file -> time) that have changed or gone since."""
    found = []
    for file, time in files.items():
        try:
            if os.stat(file).st_mtime_ns != time:
                found.append(file)
        except OSError:
            found.append(file)
    return found
