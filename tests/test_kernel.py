"""The lab in a real Jupyter kernel: interrupts, restarts and hard ends leave the notebook usable and nothing behind."""

import os
import random
import signal
import sys
import threading
import time

import processes
import pytest

jupyter_client = pytest.importorskip("jupyter_client")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc"),
]

DEFINITIONS = """
import os, ringlab as rl
def spin(chunks, rank, send, recv):
    while True: pass
def wait(chunks, rank, send, recv):
    import threading
    threading.Event().wait()
"""


class Kernel:
    """A kernel whose processes can be found by their mark."""

    def __init__(self, name):
        self.mark = f"RINGLAB_KERNEL_TEST={os.getpid()}-{name}"
        self.manager = jupyter_client.KernelManager(kernel_name="python3")
        key, value = self.mark.split("=")
        self.manager.start_kernel(env={**os.environ, key: value})
        self.pids = [self.manager.provisioner.process.pid]
        self.client = self.manager.client()
        self.client.start_channels()
        self.client.wait_for_ready(timeout=60)

    def run(self, code, after=None, timeout=60):
        """(printed text, name of the error or None) of one cell; `after(reply)` may act while it runs."""
        message = self.client.execute(code)
        if after:
            after()
        printed, error = [], None
        while True:
            got = self.client.get_iopub_msg(timeout=timeout)
            if got["parent_header"].get("msg_id") != message:
                continue
            content = got["content"]
            if got["msg_type"] == "stream":
                printed.append(content["text"])
            elif got["msg_type"] == "error":
                error = content["ename"]
                printed.append("\n".join(content["traceback"]))
            elif got["msg_type"] == "status" and content["execution_state"] == "idle":
                return "".join(printed), error

    def nothing_left(self):
        """Whether all is gone, processes and shared memory."""
        assert processes.left_after(self.mark) == []
        assert processes.segments(*self.pids) == set()

    def close(self):
        self.client.stop_channels()
        if self.manager.is_alive():
            self.manager.shutdown_kernel(now=True)


@pytest.fixture
def kernel(request):
    made = Kernel(request.node.name)
    yield made
    made.close()
    made.nothing_left()


RIGHT = "print(rl.run('ring').outputs[3].tolist() == [1111] * 8)"


@pytest.mark.parametrize("presses", [1, 2])
@pytest.mark.parametrize("busy", ["spin", "wait"])
def test_interrupts_end_the_cell_and_leave_the_notebook_usable(kernel, busy, presses):
    kernel.run(DEFINITIONS + RIGHT)
    draw = random.Random(f"{busy}{presses}")
    for _ in range(3):
        moments = [draw.uniform(0.05, 0.6) for _ in range(presses)]

        def press(moments=moments):
            for moment in moments:
                threading.Event().wait(moment)
                kernel.manager.interrupt_kernel()

        begin = time.monotonic()
        printed, error = kernel.run(f"rl.run({busy}, timeout=60)", after=press, timeout=30)
        assert time.monotonic() - begin < sum(moments) + 10, "ten times what we promise: a second"
        assert error in ("Interrupted", "KeyboardInterrupt")
        assert len(printed.splitlines()) <= 12 or error == "KeyboardInterrupt"
        second, error = kernel.run(RIGHT)
        if error is not None:  # the second press came after the cell had ended, and hit this one
            assert error in ("Interrupted", "KeyboardInterrupt")
            second, error = kernel.run(RIGHT)
        assert (second, error) == ("True\n", None)


def test_an_interrupt_while_nothing_runs_harms_no_rank(kernel):
    kernel.run(DEFINITIONS + RIGHT)
    before, _ = kernel.run("print(rl.launch(lambda comm: os.getpid()))")
    kernel.manager.interrupt_kernel()
    kernel.run("pass")
    after, error = kernel.run("print(rl.launch(lambda comm: os.getpid()))")
    assert error is None
    assert after == before, "ranks ignore Ctrl-C, and idle ones stay"


@pytest.mark.parametrize("busy", [None, "spin", "wait"])
@pytest.mark.parametrize("ending", ["shutdown", "restart", "restart now", "kill the kernel", "kill its group"])
def test_however_a_kernel_ends_nothing_is_left(ending, busy):
    kernel = Kernel(f"{ending}-{busy}".replace(" ", "_"))
    try:
        kernel.run(DEFINITIONS + RIGHT)
        if busy:
            kernel.client.execute(f"rl.run({busy}, timeout=60)")
            threading.Event().wait(0.3)
        pid = kernel.manager.provisioner.process.pid
        ranks = [p for p in processes.alive(kernel.mark) if p != pid]
        assert ranks
        if ending == "shutdown":
            kernel.manager.shutdown_kernel(now=False)
        elif ending.startswith("restart"):
            kernel.manager.restart_kernel(now=ending.endswith("now"))
            kernel.pids.append(kernel.manager.provisioner.process.pid)
        elif ending == "kill the kernel":
            os.kill(pid, signal.SIGKILL)
        else:
            os.killpg(pid, signal.SIGKILL)
        left = set(ranks) & set(processes.left_after(kernel.mark, 0 if ending.startswith("restart") else 10))
        wake = threading.Event()
        for _ in range(500):
            if not left & set(processes.alive(kernel.mark)):
                break
            wake.wait(0.02)
        assert not left & set(processes.alive(kernel.mark))
    finally:
        kernel.close()
    kernel.nothing_left()


@pytest.mark.parametrize("restarts", [3, pytest.param(20, marks=pytest.mark.night)])
def test_restarts_leave_no_older_ranks(kernel, restarts):
    for i in range(restarts):
        kernel.run("import ringlab as rl; rl.run('ring', ranks=2)")
        if i < restarts - 1:
            kernel.manager.restart_kernel(now=i % 2 == 0)
            kernel.pids.append(kernel.manager.provisioner.process.pid)
            kernel.client.wait_for_ready(timeout=60)
    printed, _ = kernel.run("import os; print(len(rl.launch(lambda comm: os.getpid(), ranks=2)))")
    assert printed == "2\n"
    marked = processes.alive(kernel.mark)
    assert len(marked) <= 7, "one kernel, four ranks of one world, one tracker, and no older ones"


def test_no_socket_listens_because_of_us(kernel):
    kernel.run("pass")
    before = {inode for _, inode in processes.listeners()} & processes.sockets_of(processes.alive(kernel.mark))
    kernel.run(DEFINITIONS + RIGHT)
    kernel.run("rl.run('ring', wraps=[rl.faults.crash(1, 1)])")
    kernel.run(RIGHT)
    after = {inode for _, inode in processes.listeners()} & processes.sockets_of(processes.alive(kernel.mark))
    assert after == before


def test_shared_memory_has_no_name_while_ranks_run(kernel):
    kernel.run(DEFINITIONS + RIGHT)
    assert processes.segments(*kernel.pids) == set()


def test_our_errors_show_a_few_lines_and_no_traceback(kernel):
    kernel.run(DEFINITIONS)
    printed, error = kernel.run("rl.run('ring', wraps=[rl.faults.crash(rank=2, round=1)])")
    assert error == "RankKilled"
    assert printed.splitlines()[0] == "KILLED: rank 2 was killed by signal 9 (SIGKILL) in round 1 of 6"
    assert len(printed.splitlines()) == 3
    assert "Traceback" not in printed
