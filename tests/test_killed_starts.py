"""A kernel that is killed while its ranks start leaves nothing, whatever it was just doing."""

import os
import subprocess
import sys

import processes
import pytest

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc"),
]
MOMENTS = 15

# Forks kernels that start a world and kill themselves at the n-th thing Python reports to its audit hooks (opening a
# file, making a socket, mapping memory, importing a module ...): moments that do not depend on the machine's speed.
KERNELS = """
import os, signal, sys
import ringlab as rl
from ringlab.world import World

def kernel(last, end):
    os.setsid()  # like a kernel, whose trackers are in its group
    count = 0
    def hook(event, arguments):
        nonlocal count
        count += 1
        if count == last:
            end(os.getpid(), signal.SIGKILL)
    sys.addaudithook(hook)
    world = World(3)
    world.ready()
    world.replace()  # fresh ranks, as after a call that failed
    world.ready()
    return count

def forked(last, end=os.kill):
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.write(writing, str(kernel(last, end)).encode())
        os.kill(os.getpid(), signal.SIGKILL)
    os.close(writing)
    os.waitpid(pid, 0)
    with os.fdopen(reading) as file:
        return pid, file.read()

pids = []
pid, count = forked(None)
pids.append(pid)
count = int(count)
for moment in range(MOMENTS):
    pid, told = forked(1 + moment * (count - 1) // MOMENTS, (os.killpg, os.kill)[moment % 4 == 0])
    assert not told, "it was killed before"
    pids.append(pid)
print(count, *pids)
"""


def test_killed_at_any_moment_of_its_start_a_kernel_leaves_nothing():
    mark = f"RINGLAB_KILLED_STARTS={os.getpid()}"
    name, value = mark.split("=")
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", KERNELS.replace("MOMENTS", str(MOMENTS))],
        capture_output=True,
        text=True,
        timeout=300,
        env={**os.environ, name: value},
    )
    assert done.returncode == 0, done.stderr
    count, *pids = map(int, done.stdout.split())
    assert len(pids) == MOMENTS + 1
    assert count > 2 * MOMENTS, "the moments differ"
    assert processes.left_after(mark) == []
    assert processes.segments(*pids) == set()
