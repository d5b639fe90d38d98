"""Is this machine ready for the lab? `ringlab doctor` says so, or says exactly why not.

Each finding is "ok", a "note" (the lab works, and behaves so or so) or "bad" (it will not work; what to do is
said). The self-test runs in a process of its own with a deadline, so the doctor ends whatever happens.
"""

import contextlib
import importlib.metadata
import os
import re
import subprocess
import sys
from typing import NamedTuple

from ringlab import machine

SECONDS = 15  # for the self-test, start-up of four Pythons included
MEMORY = 300 * 10**6  # bytes: a kernel and four ranks
SHM = 8 * 10**6  # bytes: the ranks' records, and the buffers of the lessons
DESCRIPTORS = 256
PROCESSES = 40  # four ranks, each with a few threads

SELF_TEST = """
import time
import numpy as np, ringlab
if __name__ == "__main__":
    started = time.monotonic()
    run = ringlab.run(ringlab.ring_allreduce, [np.full(8, 10.0**rank) for rank in range(4)], ranks=4)
    wrong = [out.tolist() for out in run.outputs if not np.array_equal(out, np.full(8, 1111.0))]
    print(f"wrong {wrong[0]}" if wrong or run.verdict else f"right {time.monotonic() - started:.1f}")
    ringlab.close()
"""


class Finding(NamedTuple):
    level: str  # "ok", "note" or "bad"
    name: str
    says: str
    todo: str = ""


def examine(self_test=True):
    """All findings, the cheap ones first; without the self-test it takes a few milliseconds."""
    findings = [
        python(),
        packages(),
        cores(),
        shared_memory(),
        memory(),
        descriptors(),
        processes(),
        start_method(),
    ]
    if self_test:
        ill = any(finding.level == "bad" for finding in findings)
        findings.append(Finding("note", "self-test", "left out until the above is mended") if ill else self_tested())
    return findings


def python(version=None):
    version = tuple(version or sys.version_info)[:3]
    text = f"{'.'.join(map(str, version))} ({sys.executable})"
    if version < (3, 11):
        return Finding("bad", "Python", text, "the lab needs 3.11 or newer: start lab.py with a newer Python")
    return Finding("ok", "Python", text)


def packages(wanted=None):
    """Whether what pyproject.toml asks for is installed, in the ranges it gives."""
    todo = "run `python3 lab.py` again, or: pip install -c constraints.txt -e ."
    try:
        from packaging.requirements import Requirement  # JupyterLab brings it
    except ImportError:
        return Finding("bad", "packages", "not even `packaging` is installed here", todo)
    try:
        wanted = importlib.metadata.requires("ringlab") if wanted is None else wanted
    except importlib.metadata.PackageNotFoundError:
        return Finding("bad", "packages", "ringlab itself is not installed here", todo)
    needed = [need for need in map(Requirement, wanted or ()) if not need.marker or need.marker.evaluate({"extra": ""})]
    wrong = []
    for need in needed:
        try:
            version = importlib.metadata.version(need.name)
        except importlib.metadata.PackageNotFoundError:
            wrong.append(f"{need.name} is missing")
            continue
        if not need.specifier.contains(version, prereleases=True):
            wrong.append(f"{need.name} is {version}, not {need.specifier}")
    if wrong:
        return Finding("bad", "packages", "; ".join(wrong), todo)
    return Finding("ok", "packages", f"all {len(needed)}, in their ranges")


def cores(root=machine.ROOT):
    """Fewer cores than ranks is no fault: the ranks take turns, and the doctor says so."""
    have, granted = machine.cores(), machine.quota(root)
    said = f"{have}, " + ("no quota" if granted is None else f"of which a quota grants {granted:g}")
    if machine.cpus(root) < 4:
        return Finding("note", "cores", f"{said}: four ranks take turns, so measured times are longer than on four")
    return Finding("ok", "cores", said)


def shared_memory(root=machine.ROOT):
    free = machine.free_shm(root)
    if free is None:
        return Finding("ok", "shared memory", "this system sets no limit of its own")
    said = f"{megabytes(free)} free in /dev/shm"
    if free < SHM:
        todo = f"give it {megabytes(SHM)} or more (Docker: --shm-size=256m), or remove what was left in /dev/shm"
        return Finding("bad", "shared memory", said, todo)
    if free < 64 * 10**6:
        return Finding("note", "shared memory", f"{said}: enough for the lessons, not for buffers of many MB")
    return Finding("ok", "shared memory", said)


def memory(root=machine.ROOT):
    free = machine.free_memory(root)
    if free is None:
        return Finding("ok", "memory", "not told by this system")
    if free < MEMORY:
        todo = f"close something, or give the container more: a kernel and four ranks take {megabytes(MEMORY)}"
        return Finding("bad", "memory", f"{megabytes(free)} free", todo)
    return Finding("ok", "memory", f"{megabytes(free)} free")


def descriptors(left=None):
    left = machine.descriptors_left() if left is None else left
    if left is not None and left < DESCRIPTORS:
        todo = f"raise the limit of open files in this shell: ulimit -n {4 * DESCRIPTORS}"
        return Finding("bad", "open files", f"{left} more may be opened", todo)
    return Finding("ok", "open files", "no limit" if left is None else f"{left:,} more may be opened")


def processes(root=machine.ROOT):
    left = machine.pids_left(root)
    if left is not None and left < PROCESSES:
        todo = f"end other kernels, or give the container more (Docker: --pids-limit): the lab needs {PROCESSES}"
        return Finding("bad", "processes", f"{left} more may be started", todo)
    return Finding("ok", "processes", "no quota" if left is None else f"{left:,} more may be started")


def start_method():
    """Ranks are started afresh ("spawn") on every system: a forked kernel would share its threads' locks."""
    try:
        import multiprocess
    except ImportError:
        return Finding("note", "start method", "not looked at: multiprocess is missing")
    if "spawn" not in multiprocess.get_all_start_methods():
        return Finding("bad", "start method", "this Python cannot spawn processes", "use the Python of python.org")
    return Finding("ok", "start method", "spawn")


def self_tested(code=SELF_TEST, seconds=SECONDS):
    """Four real ranks sum by the ring, in a process that is ended after `seconds`."""
    todo = "please report this with the text above"
    command = [sys.executable, "-c", code]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=seconds, stdin=subprocess.DEVNULL)
    except subprocess.TimeoutExpired:
        busy = "if the machine is busy, try again; if not, a security program may be holding new processes up"
        return Finding("bad", "self-test", f"four ranks did not finish within {seconds} s", busy)
    except OSError as error:
        return Finding("bad", "self-test", f"no process could be started: {error.strerror or error}", todo)
    if right := re.search(r"^right (\S+)$", done.stdout, re.MULTILINE):
        return Finding("ok", "self-test", f"4 ranks summed by the ring, {right[1]} s from a cold start")
    if wrong := re.search(r"^wrong .*$", done.stdout, re.MULTILINE):
        return Finding("bad", "self-test", f"four ranks gave a wrong sum: {wrong[0][6:]}", todo)
    lines = [line.strip() for line in done.stderr.splitlines() if line.strip()]
    reason = lines[-1] if lines else f"it ended with code {done.returncode} and said nothing"
    return Finding("bad", "self-test", f"four ranks could not run: {reason}", todo)


def megabytes(nbytes):
    return f"{nbytes / 10**6:,.0f} MB"


def report(findings, quiet=False):
    """The findings as text; when quiet, only what is bad ("" when nothing is)."""
    bad = [finding for finding in findings if finding.level == "bad"]
    if quiet and not bad:
        return ""
    lines = ["This machine is not ready for the lab:"] if quiet else []
    for level, name, says, todo in bad if quiet else findings:
        mark = {"ok": "  ", "note": "- ", "bad": "! "}[level]
        lines.append(f"{mark}{name:<15} {says}")
        lines += [f"{'':17} What to do: {todo}"] if todo else []
    if not quiet:
        lines.append(f"Not ready: {', '.join(finding.name for finding in bad)}." if bad else "This machine is ready.")
    return "\n".join(lines)


def add_arguments(parser):
    parser.add_argument("--quiet", action="store_true", help="speak only when something is wrong")


def command(options):
    """Examine this machine and print what was found. Gives 0 when it is ready, 1 when not."""
    if options.quiet:  # it runs while the first page loads: let that go first
        with contextlib.suppress(OSError, AttributeError):
            os.nice(5)
    findings = examine()
    if text := report(findings, options.quiet):
        print(text, flush=True)
    return int(any(finding.level == "bad" for finding in findings))
