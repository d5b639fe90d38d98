"""What a machine lacks is said before anything starts."""

import subprocess
import sys

import pytest

from ringlab import machine, needs
from ringlab.verdicts import NoResource


@pytest.mark.parametrize(
    ("what", "free", "says"),
    [
        ("pids_left", 9, "4 ranks need 12 processes and threads, 9 are free\nuse ranks=3 or fewer, or end others"),
        ("free_memory", 100 * 10**6, "4 ranks need 160 MB of memory, 100 are free\nuse ranks=2 or fewer"),
        ("free_shm", 0, "4 ranks need 918 kB of shared memory, 0 are free\nclose other programs, or free some"),
    ],
)
def test_what_is_short_is_named_with_two_ways_out(monkeypatch, what, free, says):
    monkeypatch.setattr(machine, what, lambda: free)
    with pytest.raises(NoResource) as caught:
        needs.check(4)
    assert str(caught.value).startswith(says)
    assert "nothing was started" in str(caught.value)


def test_a_machine_without_limits_has_enough(monkeypatch):
    for what in ("descriptors_left", "pids_left", "free_memory", "free_shm"):
        monkeypatch.setattr(machine, what, lambda: None)
    needs.check(64)


@pytest.mark.skipif(sys.platform == "win32", reason="no descriptor limit on Windows")
def test_a_hard_limit_on_open_files_names_the_largest_ring_that_fits():
    code = """
import resource
resource.setrlimit(resource.RLIMIT_NOFILE, (200, 200))
import ringlab as rl
try:
    rl.run("ring", ranks=32)
except rl.verdicts.NoResource as error:
    print(error)
print(rl.run("ring"))
"""
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True).stdout
    lines = out.splitlines()
    assert lines[0].startswith("32 ranks need 1330 open files, ")
    assert lines[1].startswith("use ranks=") and lines[1].endswith("or fewer, or raise `ulimit -n`")
    assert lines[3].endswith("every rank holds the sum")
