"""What learners break: every failure is one verdict that names who and where, and the next call is right."""

import os
import signal
import subprocess
import sys
import textwrap
import time

import numpy as np
import processes
import pytest

import ringlab as rl
from ringlab import verdicts


@pytest.fixture(autouse=True)
def next_call_is_right():
    yield
    assert rl.run("ring").outputs[3].tolist() == [1111] * 8


def shown(error):
    return error._render_traceback_()


def test_a_crash_names_rank_round_and_who_waited_for_which_chunk():
    inputs = [np.full(8, 10.0**rank) for rank in range(4)]
    with pytest.raises(verdicts.RankKilled) as caught:
        rl.run(rl.ring_allreduce, inputs, wraps=[rl.faults.crash(rank=2, round=1)])
    error = caught.value
    assert shown(error) == [
        "KILLED: rank 2 was killed by signal 9 (SIGKILL) in round 1 of 6",
        "  rank 3 waited for c1 from rank 2, rank 0 for c1 from rank 3, rank 1 for c1 from rank 0",
        "  nothing was returned, your inputs are unchanged; the next call starts on 4 fresh ranks",
    ]
    assert (error.verdict, error.rank, error.round) == ("KILLED", 2, 1)
    assert error.waiting == ((3, 2, 1), (0, 3, 1), (1, 0, 1)) or set(error.waiting) == {(3, 2, 1), (0, 3, 1), (1, 0, 1)}
    assert error.seconds < 5
    assert "out of memory" in error.full()
    assert inputs[1].tolist() == [10] * 8


@pytest.mark.parametrize("round", range(6))
def test_a_crash_in_each_round(round):
    with pytest.raises(verdicts.RankKilled, match=f"rank 1 was killed by signal 9 .* in round {round} of 6"):
        rl.run("ring", wraps=[rl.faults.crash(rank=1, round=round)])


def test_an_exception_shows_the_learners_own_line():
    def bad(chunks, rank, send, recv):
        if rank == 1:
            return chunks[7]
        return rl.ring_allreduce(chunks, rank, send, recv)

    with pytest.raises(verdicts.RankException) as caught:
        rl.run(bad)
    first, second, third, fourth = shown(caught.value)
    assert first == "EXCEPTION: rank 1 raised IndexError: list index out of range"
    assert second.startswith("  in bad, line ") and second.endswith(": return chunks[7]")
    assert third == "  rank 2 waited for rank 1, rank 0 for rank 3, rank 3 for rank 2"
    assert fourth.endswith("the next call starts on 4 fresh ranks")
    assert "IndexError: list index out of range" in caught.value.full()


def test_a_base_exception_is_an_exception_too():
    def bad(chunks, rank, send, recv):
        raise BaseException("deep")

    with pytest.raises(verdicts.RankException, match="rank 0 raised BaseException: deep"):
        rl.run(bad)


@pytest.mark.parametrize(("leave", "code"), [("sys.exit(3)", 3), ("os._exit(5)", 5), ("sys.exit()", 0)])
def test_leaving_names_the_code(leave, code):
    def leaver(chunks, rank, send, recv):
        if rank == 2:
            exec(f"import os, sys; {leave}")
        return rl.ring_allreduce(chunks, rank, send, recv)

    with pytest.raises(verdicts.RankExited, match=f"rank 2 left with exit code {code}"):
        rl.run(leaver)


@pytest.mark.parametrize("name", ["SIGSEGV", "SIGTERM", "SIGABRT"])
def test_signals_are_named(name):
    number = int(getattr(signal, name))

    def hit(chunks, rank, send, recv):
        if rank == 0:
            os.kill(os.getpid(), number)
        return rl.ring_allreduce(chunks, rank, send, recv)

    with pytest.raises(verdicts.RankKilled, match=rf"rank 0 was killed by signal {number} \({name}\)"):
        rl.run(hit)


def test_receive_before_send_is_a_deadlock_with_its_cycle():
    def waits_first(chunks, rank, send, recv):
        recv((rank - 1) % len(chunks))
        return chunks

    started = time.monotonic()
    with pytest.raises(verdicts.Deadlock) as caught:
        rl.run(waits_first, timeout=60)
    assert caught.value.lines[0] == "0 waits for 3, 3 waits for 2, 2 waits for 1, 1 waits for 0"
    assert caught.value.cycle == ((0, 3), (3, 2), (2, 1), (1, 0))
    assert time.monotonic() - started < 50, "found by the state, not by the timeout"


def test_a_wait_for_a_finished_rank_is_a_deadlock():
    def early(chunks, rank, send, recv):
        return chunks if rank == 1 else rl.ring_allreduce(chunks, rank, send, recv)

    with pytest.raises(verdicts.Deadlock, match="rank 1 finished while rank 2 still waits for it"):
        rl.run(early, timeout=60)


def test_waiting_for_oneself_is_a_deadlock():
    def selfish(chunks, rank, send, recv):
        return recv(rank)

    with pytest.raises(verdicts.Deadlock, match="0 waits for 0"):
        rl.run(selfish, timeout=60)


def test_raw_pipes_deadlock_above_their_capacity_only():
    assert rl.run("ring", wire="pipe-blocking").outputs[0].tolist() == [1111] * 8
    big = [np.full(2**22, float(rank)) for rank in range(4)]
    with pytest.raises(verdicts.Deadlock, match="0 waits for 1 to receive, 1 waits for 2 to receive"):
        rl.run("ring", big, wire="pipe-blocking", timeout=60)


def test_a_loop_is_a_stall_with_its_line():
    def loops(chunks, rank, send, recv):
        while rank == 2:
            pass
        return rl.ring_allreduce(chunks, rank, send, recv)

    with pytest.raises(verdicts.Stall) as caught:
        rl.run(loops, timeout=0.5)
    assert caught.value.lines[0] == "rank 2 has shown no event for 0.5 s, its time limit"
    assert caught.value.lines[1].startswith("it is at line ") and "in loops" in caught.value.lines[1]
    assert caught.value.lines[2] == "rank 3 waited for rank 2, rank 0 for rank 3, rank 1 for rank 0"


def test_a_stopped_rank_is_a_stall_without_an_answer():
    def stops(chunks, rank, send, recv):
        if rank == 3:
            os.kill(os.getpid(), signal.SIGSTOP)
        return rl.ring_allreduce(chunks, rank, send, recv)

    with pytest.raises(verdicts.Stall, match="rank 3 has shown no event"):
        rl.run(stops, timeout=0.5)


def test_sending_to_a_rank_that_is_not_there():
    def lost(chunks, rank, send, recv):
        send(chunks[0], len(chunks))

    with pytest.raises(verdicts.RankException, match="rank 0 sends to rank 4: ranks are 0 to 3"):
        rl.run(lost)


def test_prints_appear_by_rank_and_are_capped(capsys):
    def talks(chunks, rank, send, recv):
        print("hello", rank)
        if rank == 1:
            for i in range(1000):
                print(i)
        return rl.ring_allreduce(chunks, rank, send, recv)

    rl.run(talks, ranks=2)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "[rank 0] hello 0"
    assert lines[1:4] == ["[rank 1] hello 1", "[rank 1] 0", "[rank 1] 1"]
    assert lines[-1] == "[rank 1] ... and 801 more lines"
    assert len(lines) == 1 + 200 + 1


def test_the_first_verdict_in_order_of_precedence_wins():
    def both(chunks, rank, send, recv):
        if rank == 1:
            raise RuntimeError("one")
        if rank == 3:
            os.kill(os.getpid(), signal.SIGKILL)
        return rl.ring_allreduce(chunks, rank, send, recv)

    with pytest.raises(verdicts.RankKilled) as caught:
        rl.run(both)
    assert caught.value.rank == 3
    assert "also: EXCEPTION: rank 1 raised RuntimeError: one" in caught.value.full()


def test_errors_show_four_lines_and_hold_no_times():
    for kind in (verdicts.RankKilled, verdicts.Deadlock, verdicts.BadInput):
        error = kind("one", "two", "three", "four", "five", details=["six"], seconds=1.5)
        assert len(shown(error)) == 4
        assert "1.5" not in str(error) and "five" in error.full() and "six" in error.full()


def script(code, **options):
    return subprocess.Popen([sys.executable, "-c", textwrap.dedent(code)], text=True, stdout=subprocess.PIPE, **options)


ENDINGS = {
    "returns": "pass",
    "exits at once": "os._exit(0)",
    "is killed while ranks idle": "os.kill(os.getpid(), 9)",
    "is killed while ranks spin": "killed_when_all_are_busy(); rl.run(spin, timeout=60)",
    "is killed while C code keeps the GIL": "killed_when_all_are_busy(); rl.run(grip, timeout=60)",
    "exits in a thread's call": "threading.Thread(target=rl.run, args=(spin,), daemon=True).start(); all_are_busy()",
}


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
@pytest.mark.parametrize("ending", ENDINGS)
def test_nothing_is_left_when_the_kernel(ending, tmp_path):
    marker = f"RINGLAB_TEST={os.getpid()}-{abs(hash(ending))}"
    code = f"""
        import itertools, os, threading, time, ringlab as rl
        folder = {str(tmp_path)!r}
        def touch(rank):
            open(os.path.join(folder, f"{{rank}}-{{os.getpid()}}"), "w").close()
            return 0
        def spin(chunks, rank, send, recv):
            for again in itertools.count():
                again or touch(rank)
        def grip(chunks, rank, send, recv):
            sum(itertools.chain(map(touch, [rank]), range(10**13)))  # a day of C code that never gives up the GIL
        def all_are_busy():
            while len(os.listdir(folder)) < 5: time.sleep(0.02)  # rank 0 of the probe, then all four
        def kill():
            all_are_busy()
            os.kill(os.getpid(), 9)
        def killed_when_all_are_busy():
            threading.Thread(target=kill, daemon=True).start()
        rl.run("ring")
        {ENDINGS[ending]}
    """
    name, value = marker.split("=")
    kernel = script(code, env={**os.environ, name: value}, start_new_session=True)
    kernel.communicate(timeout=60)
    assert processes.left_after(marker) == []
    assert processes.segments(kernel.pid) == set()


@pytest.mark.skipif(sys.platform == "win32", reason="no SIGINT to a process on Windows")
def test_an_interrupt_ends_the_call_and_the_next_one_works():
    code = """
        import os, signal, threading, time
        signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored in a shell's background
        import ringlab as rl
        def spin(chunks, rank, send, recv):
            while True: pass
        rl.run("ring")
        threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
        begin = time.monotonic()
        try:
            rl.run(spin, timeout=60)
        except rl.verdicts.Interrupted as error:
            print(isinstance(error, Exception), time.monotonic() - begin < 20)
            print(error)
        print(rl.run("ring"))
    """
    out, _ = script(code).communicate(timeout=60)
    assert out.splitlines() == [
        "False True",
        "the call was given up; your inputs are unchanged",
        "the next call starts on fresh ranks",
        "ring_allreduce, 4 ranks over pipe: 24 messages, 384 bytes, every rank holds the sum",
    ]


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
@pytest.mark.parametrize("ending", ["rl.close()", "os.kill(os.getpid(), 9)"])
@pytest.mark.parametrize("how", ["os.fork() or threading.Event().wait()", "subprocess.Popen(['sleep', '600'])"])
def test_what_a_rank_starts_ends_with_it(how, ending):
    marker = f"RINGLAB_TEST={os.getpid()}-fork-{len(how)}-{len(ending)}"
    code = f"""
        import os, subprocess, threading, ringlab as rl
        def forks(chunks, rank, send, recv):
            {how}
            return rl.ring_allreduce(chunks, rank, send, recv)
        print(rl.run(forks, ranks=2))
        {ending}
    """
    name, value = marker.split("=")
    kernel = script(code, env={**os.environ, name: value})
    out, _ = kernel.communicate(timeout=60)
    assert out.endswith("every rank holds the sum\n")
    assert processes.left_after(marker) == []


def test_a_script_without_a_main_guard_works(tmp_path):
    path = tmp_path / "plain_script.py"
    path.write_text("import ringlab as rl\nprint('once')\nprint(rl.run(lambda *a: rl.ring_allreduce(*a)))\n")
    out = subprocess.run([sys.executable, str(path)], capture_output=True, text=True, timeout=60, check=True)
    assert out.stdout.splitlines()[0] == "once"
    assert out.stdout.count("once") == 1
    assert out.stderr == ""
