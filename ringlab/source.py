"""Which line of source acted, and the text of that source."""

import inspect
import os
import sys

PACKAGE = os.path.dirname(os.path.abspath(__file__)) + os.sep
ALGORITHMS = (PACKAGE + "algorithms" + os.sep, PACKAGE + "bugs.py")
RANK = PACKAGE + "rank.py"


def calling_line():
    """Line number of the nearest frame outside ringlab; of the algorithm's own file when all frames are ours."""
    frame = sys._getframe(2)
    ours = 0
    while frame is not None:
        name = frame.f_code.co_filename
        whose = _WHOSE.get(name)
        if whose is None:
            whose = _WHOSE[name] = _whose(name)
        if whose == THEIRS:
            return frame.f_lineno
        if whose == ALGORITHM and not ours:
            ours = frame.f_lineno
        elif whose == BOTTOM:
            break
        frame = frame.f_back
    return ours


# files between an algorithm of ours and the virtual wire
_BETWEEN = {PACKAGE + os.path.join("wires", "virtual.py"), PACKAGE + "simulate.py"}


def our_line(frame, seen):
    """Line of the nearest frame that is not of the virtual wire or around it; `seen` keeps it for a direct caller."""
    caller = frame
    while frame.f_code.co_filename in _BETWEEN:
        frame = frame.f_back
    if frame is caller:
        seen[frame.f_lasti] = frame.f_code, frame.f_lineno
    return frame.f_lineno


THEIRS, OURS, ALGORITHM, BOTTOM = range(4)  # whose a file is; BOTTOM: below it there is nothing to be found
_WHOSE = {}  # file -> whose it is: this is asked for every message


def _whose(file):
    if not file.startswith(PACKAGE):
        return THEIRS
    return ALGORITHM if file.startswith(ALGORITHMS) else BOTTOM if file == RANK else OURS


def is_builtin(function):
    """Whether `function` is one of our own algorithms (or bugs), reachable by its name."""
    module = getattr(function, "__module__", None) or ""
    if not module.startswith(("ringlab.algorithms", "ringlab.bugs")):
        return False
    return getattr(sys.modules.get(module), getattr(function, "__name__", ""), None) is function


def lends(function):
    """Whether a wire may lend this function's chunks instead of copying them: it is ours, and says so."""
    return bool(getattr(function, "lends", False)) and is_builtin(function)


def name_of(function):
    """A name to show for any callable."""
    return str(getattr(function, "__name__", None) or type(function).__name__)


def source_of(function):
    """List of (line number, text) of the algorithm, or None when there is no source to show.

    For our own algorithms the functions of their file, since one may call the other; else the function's lines.
    """
    try:
        if is_builtin(function):
            lines = inspect.getsource(sys.modules[function.__module__]).splitlines()
            first = next(i for i, text in enumerate(lines) if text.startswith("def "))
            return [(i + 1, text) for i, text in enumerate(lines) if i >= first]
        lines, first = inspect.getsourcelines(function)
        return [(first + i, text.rstrip("\n")) for i, text in enumerate(lines)]
    except (OSError, TypeError, StopIteration):
        return None


def file_of(function):
    """The file (or notebook cell) that a function's code says it comes from, or None."""
    code = getattr(inspect.unwrap(function), "__code__", None) if callable(function) else None
    return getattr(code, "co_filename", None)
