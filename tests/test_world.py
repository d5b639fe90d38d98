"""Worlds and launched programs."""

import os
import signal
import sys
import threading

import numpy as np
import pytest

import ringlab as rl
from ringlab import verdicts
from ringlab.supervise import Supervisor


def test_a_world_serves_runs_and_programs_and_closes():
    with rl.World(ranks=3) as world:
        assert repr(world) == "World(ranks=3, wire='pipe')"
        assert world.run("ring").outputs[0].tolist() == [111] * 8
        assert world.launch(lambda comm: comm.rank * 10) == [0, 10, 20]
        pids = world.launch(lambda comm: os.getpid())
        assert len(set(pids)) == 3
        assert world.launch(lambda comm: os.getpid()) == pids, "the ranks stay the same between calls"
    with pytest.raises(verdicts.Closed, match="this world is closed"):
        world.run("ring")
    world.close()


def pids_of(world):
    return {rank.process.pid for rank in world.ready()}


@pytest.mark.parametrize("fault", ["crash", "fail"])
def test_fresh_ranks_after_a_failure(fault):
    with rl.World(ranks=2) as world:
        before = pids_of(world)
        with pytest.raises((verdicts.RankKilled, verdicts.RankException)):
            world.run("ring", wraps=[getattr(rl.faults, fault)(0, 0)])
        assert not before & pids_of(world), "the one that waited for it is not used again either"
        assert world.run("ring").verdict is None


@pytest.mark.skipif(sys.platform == "win32", reason="no SIGINT to a process on Windows")
def test_ranks_ignore_an_interrupt_however_it_reaches_them():
    with rl.World(ranks=2) as world:
        before = pids_of(world)
        for pid in before:
            os.kill(pid, signal.SIGINT)
        assert set(world.launch(lambda comm: os.getpid())) == before


def test_a_rank_that_dies_between_calls_is_replaced():
    with rl.World(ranks=2) as world:
        pid = world.launch(lambda comm: os.getpid())[1]
        os.kill(pid, 9)
        world._ranks[1].process.join(10)
        assert world.run("ring").outputs[0].tolist() == [11] * 8


def test_ranks_may_come_from_a_forkserver():
    with rl.World(ranks=3, start="forkserver") as world:
        assert world.run("ring").outputs[2].tolist() == [111] * 8
        with pytest.raises(verdicts.RankKilled, match="rank 1 was killed by signal 9"):
            world.run("ring", wraps=[rl.faults.crash(1, 1)])
        with pytest.raises(verdicts.RankExited, match="rank 2 left with exit code 4"):
            world.run("ring", wraps=[rl.faults.leave(2, 1, code=4)])
        assert world.run("ring").verdict is None


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
def test_a_rank_computes_on_one_thread_and_takes_little_memory():
    def program(comm):
        import os

        x = np.ones((400, 400))
        x = x @ x
        with open("/proc/self/status") as file:
            memory = next(int(line.split()[1]) for line in file if line.startswith("VmRSS"))
        return len(os.listdir("/proc/self/task")), memory / 1024, os.environ["OMP_NUM_THREADS"]

    with rl.World(ranks=2) as world:
        for threads, megabytes, told in world.launch(program):
            assert (threads, told) == (2, "1"), "itself, and the watch over its kernel"
            assert megabytes < 120


def test_a_second_interrupt_while_the_first_is_dealt_with_harms_no_later_call(monkeypatch):
    def loops(chunks, rank, send, recv):
        while True:
            pass

    def interrupt(*_):
        raise KeyboardInterrupt

    with rl.World(ranks=2) as world:
        world.run("ring")
        for name in ("replace", "_end_ranks", "start_in_background"):  # the second press comes just there
            with monkeypatch.context() as patch:
                patch.setattr(Supervisor, "_check_stall", interrupt)
                patch.setattr(world, name, interrupt)
                with pytest.raises(KeyboardInterrupt):
                    world.run(loops)
            assert world.run("ring").outputs[0].tolist() == [11] * 8


def test_an_interrupt_while_ranks_start_is_told_in_our_words(monkeypatch):
    def interrupt(*_):
        raise KeyboardInterrupt

    with rl.World(ranks=2) as world:
        with monkeypatch.context() as patch:
            patch.setattr(world, "ready", interrupt)
            with pytest.raises(verdicts.Interrupted, match="your inputs are unchanged\nthe ranks were still starting"):
                world.run("ring")
        assert world.run("ring").outputs[0].tolist() == [11] * 8


def interrupt_in(name):
    """Interrupt the main thread as soon as it is in a function of that name."""

    def watch():
        main = threading.main_thread().ident
        pause = threading.Event()
        while True:
            frame = sys._current_frames()[main]
            while frame is not None and frame.f_code.co_name != name:
                frame = frame.f_back
            if frame is not None:
                signal.pthread_kill(main, signal.SIGINT)
                return
            pause.wait(0.01)

    threading.Thread(target=watch, daemon=True).start()


@pytest.mark.skipif(sys.platform == "win32", reason="no SIGINT to a thread on Windows")
def test_an_interrupt_while_ranks_start_lets_them_start(monkeypatch):
    started, hold, until_up = [], threading.Event(), rl.World._wait_until_up

    def slowly(world):
        started.append(world)
        hold.wait(60)
        until_up(world)

    monkeypatch.setattr(rl.World, "_wait_until_up", slowly)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored in a shell's background
    try:
        with rl.World(ranks=2) as world:
            interrupt_in("await_end")
            with pytest.raises(verdicts.Interrupted, match="the ranks were still starting"):
                world.run("ring")
            threading.Timer(0.2, hold.set).start()
            assert world.run("ring").outputs[0].tolist() == [11] * 8
            assert len(started) == 1
    finally:
        signal.signal(signal.SIGINT, before)


def test_ranks_outlive_the_thread_that_started_them():
    made = []
    thread = threading.Thread(target=lambda: made.append(rl.World(ranks=2)))
    thread.start()
    thread.join()
    with made[0] as world:
        before = world.launch(lambda comm: os.getpid())
        assert world.run("ring").verdict is None
        assert world.launch(lambda comm: os.getpid()) == before


def test_fork_is_no_way_to_start_ranks():
    with pytest.raises(verdicts.BadInput, match="start='fork' is no way to start ranks"):
        rl.World(ranks=2, start="fork")


def test_threads_take_turns():
    results = [None] * 4

    def call(i):
        results[i] = rl.run("ring", [np.full(5, float(i))] * 4).outputs[0].tolist()

    threads = [threading.Thread(target=call, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert results == [[4.0 * i] * 5 for i in range(4)]


def test_a_program_gets_its_arguments_and_may_return_plain_data():
    def program(comm, a, b):
        return {"rank": comm.rank, "sum": comm.allreduce(np.arange(3) * comm.rank), "args": (a, b), "none": None}

    values = rl.launch(program, ranks=3, args=(7, "x"))
    assert [value["rank"] for value in values] == [0, 1, 2]
    assert values[1]["sum"].tolist() == [0, 3, 6]
    assert values[2]["args"] == (7, "x")
    assert values.seconds > 0
    assert values.trace.rounds > 0


def test_messages_of_any_plain_data_between_ranks():
    def program(comm):
        comm.send({"from": comm.rank, "x": np.arange(comm.rank + 1)}, (comm.rank + 1) % comm.size)
        got = comm.recv((comm.rank - 1) % comm.size)
        return got["from"], got["x"].tolist()

    assert rl.launch(program, ranks=3) == [(2, [0, 1, 2]), (0, [0]), (1, [0, 1])]


@pytest.mark.parametrize("op", ["sum", "mean", "max", "min"])
def test_allreduce_in_a_program(op):
    def program(comm):
        mine = np.array([[comm.rank, -comm.rank], [5, 2 * comm.rank]], float)
        keep = mine.copy()
        out = comm.allreduce(mine, op=op, algorithm="pass_around")
        assert (mine == keep).all()
        return out

    stacked = np.stack([np.array([[r, -r], [5, 2 * r]], float) for r in range(3)])
    expected = {"sum": stacked.sum(0), "mean": stacked.mean(0), "max": stacked.max(0), "min": stacked.min(0)}[op]
    for out in rl.launch(program, ranks=3):
        np.testing.assert_allclose(out, expected, rtol=1e-15)


def test_a_barrier_lets_nobody_through_early():
    def program(comm):
        comm.barrier()
        return comm.rank

    assert rl.launch(program, ranks=5) == [0, 1, 2, 3, 4]


def test_different_collectives_are_a_mismatch():
    def program(comm):
        comm.allreduce(np.ones(4 if comm.rank else 5))

    with pytest.raises(verdicts.Mismatch) as caught:
        rl.launch(program, ranks=3)
    assert "rank" in caught.value.lines[0]


def test_what_a_program_may_not_return_is_named():
    with pytest.raises(verdicts.RankException, match="set is no plain data"):
        rl.launch(lambda comm: {1, 2}, ranks=2)


def test_one_rank_fewer_calls_is_a_deadlock():
    def program(comm):
        for _ in range(3 if comm.rank == 0 else 2):
            comm.allreduce(np.ones(2))

    with pytest.raises(verdicts.Deadlock, match="rank 1 finished while rank 0 still waits for it"):
        rl.launch(program, ranks=2)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"program": 3}, "program is a int, not a function"),
        ({"program": print, "ranks": 0}, "ranks=0 is out of range"),
        ({"program": print, "timeout": -1}, "timeout=-1 is no time"),
    ],
)
def test_bad_launches(arguments, says):
    with pytest.raises(verdicts.BadInput, match=says):
        rl.launch(**arguments)
