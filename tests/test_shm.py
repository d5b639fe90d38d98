"""The shared-memory wire: what is lent and what is copied, and every verdict while arrays are lent."""

import errno
import mmap
import os
import shutil
import signal
import subprocess
import sys
import textwrap

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ringlab as rl
from ringlab import arena, verdicts
from ringlab.arena import Arena, Heap

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the shm wire is not for Windows")


@pytest.fixture(scope="module")
def world():
    with rl.World(4, "shm") as world:
        yield world


# ---- lending ---------------------------------------------------------------------------------------------------


def test_a_lent_message_is_the_senders_memory_and_may_not_be_written(world):
    def program(comm):
        wire = comm._endpoint._wire
        x = comm.empty(10_000, np.int64)
        x[:] = 1
        if comm.rank == 0:
            wire.lend(True)
            comm.send(x, 1)
            comm.recv(1)
            x[:] = 2  # on purpose: the receiver has not finished
            comm.send("changed", 1)
            wire.settle(lambda dst, number: None)
        elif comm.rank == 1:
            got = comm.recv(0)
            before = int(got.sum())
            comm.send("seen", 0)
            comm.recv(0)
            after = int(got.sum())
            wire.settle(lambda dst, number: None)
            return before, after, got.flags.writeable, got.dtype.str, got.shape

    assert world.launch(program)[1] == (10_000, 20_000, False, "<i8", (10_000,))


@pytest.mark.parametrize("what", ["learner's code", "recursive doubling", "a wrap", "another wire dtype"])
def test_all_others_get_copies(world, what):
    def ring(chunks, rank, send, recv):
        def keeping(src):
            got = recv(src)
            assert got.flags.writeable, "a copy may be changed"
            return got

        return rl.ring_allreduce(chunks, rank, send, keeping)

    inputs = [np.full(50_000, rank + 1, np.float32) for rank in range(4)]
    options = {
        "learner's code": {"algorithm": ring},
        "recursive doubling": {"algorithm": "doubling"},
        "a wrap": {"algorithm": ring, "wraps": [rl.faults.delay(0, 0, 0.0)]},
        "another wire dtype": {"algorithm": ring, "wire_dtype": "float64"},
    }[what]
    run = world.run(inputs=inputs, **options)
    assert run.verdict is None
    assert all((x == 10).all() for x in run.outputs)


def test_a_call_ends_only_when_its_loans_were_read(world):
    def program(comm, rounds):
        x = comm.empty(60_000, np.float64)
        for k in range(rounds):
            x[:] = comm.rank + k
            comm.allreduce(x, out=x)
            if not (x == 6 + 4 * k).all():
                return f"round {k}: {x.min()} to {x.max()}"
            x[:] = -1  # at once, while others may still be in the call
        return "right"

    assert world.launch(program, args=(200,)) == ["right"] * 4


def test_what_nobody_refers_to_any_more_is_used_again(world):
    def program(comm):
        heap = comm._endpoint._wire.heap
        start = heap._end
        for _ in range(50):
            x = comm.empty(100_000, np.float64)
            y = x[::2]
            del x
            y[:] = 1
            assert y.sum() == 50_000, "a view keeps it"
            del y
            comm.allreduce(np.ones(100_000))
        return (heap._end - start) / 800_000

    assert max(world.launch(program)) < 4


@pytest.mark.parametrize(("algorithm", "options"), [("star", {"eager": 0}), ("ring", {"network": rl.Network(1e-4, 0)})])
def test_nothing_is_lent_while_messages_are_delayed_or_acknowledged(world, algorithm, options):
    def program(comm, algorithm):
        x = np.empty(30_000)
        wrong = 0
        for k in range(10):
            x[:] = comm.rank + k
            comm.allreduce(x, out=x, algorithm=algorithm)
            wrong += int((x != 6 + 4 * k).sum())
            x[:] = -1
        return wrong, comm._endpoint.can_lend

    assert world.launch(program, args=(algorithm,), **options) == [(0, False)] * 4


def test_results_are_private(world):
    with rl.World(2, "shm") as other:
        run = other.run("ring", [np.arange(100_000.0)] * 2)
        kept = other.launch(lambda comm: comm.allreduce(comm.empty(1000, int) * 0 + 3))
    assert (run.outputs[1] == 2 * np.arange(100_000)).all()
    assert kept[1].tolist() == [6] * 1000


def test_other_numbers_of_ranks_share_the_same_memory(world):
    for ranks in (4, 2, 3, 1, 4):
        run = world.run("ring", [np.full(300_000, rank + 1) for rank in range(ranks)])
        assert (run.outputs[-1] == sum(range(1, ranks + 1))).all()
    assert world.arena.held() < 2 * 4 * 300_000 * 8


def test_many_threads_take_turns_in_one_memory(world):
    import threading

    wrong = []

    def call(k):
        for _ in range(5):
            run = world.run("ring", [np.full(20_000 + k, k + rank) for rank in range(4)])
            if not (run.outputs[3] == 4 * k + 6).all():
                wrong.append(k)

    threads = [threading.Thread(target=call, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert wrong == []


# ---- verdicts --------------------------------------------------------------------------------------------------


def in_the_middle(what):
    """A program in which rank 2 does something terrible in a collective, when it has lent a chunk and borrowed one."""

    def program(comm):
        x = comm.empty(100_000, np.float64)
        x[:] = comm.rank
        sends, send = 0, comm.send

        def counting_send(value, dst):
            nonlocal sends
            sends += 1
            if sends == 3 and comm.rank == 2:
                exec(what, {"os": os, "comm": comm})
            send(value, dst)

        comm.send = counting_send
        comm.allreduce(x, out=x)

    return program


def next_call_is_right(world):
    run = world.run("ring", [np.full(100_000, 10.0**rank) for rank in range(4)])
    assert (run.outputs[3] == 1111).all()


def test_killed_while_lending(world):
    with pytest.raises(verdicts.RankKilled, match=r"rank 2 was killed by signal 9 \(SIGKILL\)") as caught:
        world.launch(in_the_middle("os.kill(os.getpid(), 9)"))
    assert (3, 2, None) in caught.value.waiting
    next_call_is_right(world)


@pytest.mark.parametrize(
    ("what", "verdict", "says"),
    [
        ("os._exit(3)", verdicts.RankExited, "rank 2 left with exit code 3"),
        ("1 / 0", verdicts.RankException, "rank 2 raised ZeroDivisionError"),
        ("comm.recv(1); comm.recv(1); comm.recv(1); comm.recv(1)", verdicts.Deadlock, "waits for"),
        ("comm.barrier()", verdicts.Mismatch, r"rank 2 is in .*collective 2.*barrier"),
    ],
)
def test_every_end_while_lending(world, what, verdict, says):
    with pytest.raises(verdict, match=says):
        world.launch(in_the_middle(what))
    next_call_is_right(world)


def test_stopped_while_lending(world):
    with pytest.raises(verdicts.Stall, match="rank 2 has shown no event") as caught:
        world.launch(in_the_middle(f"os.kill(os.getpid(), {int(signal.SIGSTOP)})"), timeout=0.5)
    assert "it does not answer: it is stopped" in str(caught.value)
    next_call_is_right(world)


def test_a_reader_that_stops_is_blamed_and_not_its_lender(world):
    def program(comm, stop):
        wire = comm._endpoint._wire
        if comm.rank == 3:
            comm._endpoint.lend(True)
            comm.send(comm.empty(50_000, float), 0)
            comm._endpoint.settle()
        elif comm.rank == 0:
            comm.recv(3)
            os.kill(os.getpid(), stop)
            wire.settle(lambda dst, number: None)

    with pytest.raises(verdicts.Stall, match="rank 0 has shown no event") as caught:
        world.launch(program, args=(int(signal.SIGSTOP),), timeout=0.5)
    assert caught.value.rank == 0
    next_call_is_right(world)


def test_a_loan_that_nobody_will_read_is_a_deadlock(world):
    def program(comm):
        if comm.rank == 3:
            comm._endpoint.lend(True)
            comm.send(comm.empty(50_000, float), 0)
            comm._endpoint.settle()

    with pytest.raises(verdicts.Deadlock, match="rank 0 finished while rank 3 still waits for it"):
        world.launch(program)
    next_call_is_right(world)


@pytest.mark.parametrize("round", [0, 2, 5])
@pytest.mark.parametrize("size", [8, 60_000])
def test_a_crash_in_a_run(world, round, size):
    inputs = [np.full(size, 10.0**rank) for rank in range(4)]
    with pytest.raises(verdicts.RankKilled, match=f"rank 1 was killed by signal 9 .* in round {round} of 6"):
        world.run("ring", inputs, wraps=[rl.faults.crash(rank=1, round=round)])
    next_call_is_right(world)


@pytest.mark.parametrize("name", ["drop", "truncate", "duplicate"])
def test_doorbells_that_do_not_arrive_as_they_were_rung(world, name):
    says = {"drop": "was lost", "truncate": "was cut short", "duplicate": "came twice"}[name]
    for round in (0, 2):
        with pytest.raises(verdicts.BadFrame, match=f"a message from rank 1 to rank 2 {says}"):
            world.run("ring", wraps=[getattr(rl.faults, name)(1, round)])
    next_call_is_right(world)


@pytest.mark.parametrize("name", ["drop", "truncate"])
def test_a_last_doorbell_that_is_lost_does_not_hang(world, name):
    with pytest.raises(verdicts.BadFrame, match="a message from rank 1 to rank 2 never came, or not all of it"):
        world.run("ring", wraps=[getattr(rl.faults, name)(1, 5)], timeout=0.5)
    next_call_is_right(world)


# ---- room ------------------------------------------------------------------------------------------------------


def test_no_room_for_the_buffers_is_said_before_anything_starts(world, monkeypatch):
    def full(fd, offset, nbytes):
        raise OSError(errno.ENOSPC, "No space left on device")

    before = world.launch(lambda comm: os.getpid())
    monkeypatch.setattr(os, "posix_fallocate", full)
    monkeypatch.setattr(arena.machine, "free_shm", lambda: 3 * 2**20)
    with pytest.raises(verdicts.NoResource) as caught:
        world.run("ring", [np.zeros(2**20)] * 4)
    assert str(caught.value).splitlines() == [
        "32.0 MiB of shared memory are needed, 3.0 MiB are free",
        "use wire='pipe', or a smaller array",
        "(containers: --shm-size gives more)",
    ]
    monkeypatch.undo()
    next_call_is_right(world)
    assert world.launch(lambda comm: os.getpid()) == before, "nothing had started, so the ranks are the same"


def test_no_room_on_a_rank_is_a_verdict_too(world):
    def program(comm):
        if comm.rank == 1:
            comm.empty(2**62, np.uint8)

    with pytest.raises(verdicts.NoResource, match=r"rank 1: 4398046511104.0 MiB of shared memory are needed"):
        world.launch(program)
    next_call_is_right(world)


SMALL = """
    import os, numpy as np, ringlab as rl
    from ringlab import verdicts
    with rl.World(4, "shm") as world:
        print(world.run("ring", [np.ones(2**17)] * 4))
        for size in (2**21, 2**17):
            try:
                print(world.run("ring", [np.ones(size)] * 4))
            except verdicts.NoResource as error:
                print(error)
        def greedy(comm):
            return [comm.empty(2**20, float).size for _ in range(2)]
        print(world.launch(greedy))
        def hoarder(comm):
            return [x.size for x in [comm.empty(2**20, float) for _ in range(20)]]
        try:
            world.launch(hoarder)
        except verdicts.NoResource as error:
            print(str(error).splitlines()[1:])
        print(world.run("ring", [np.ones(2**18)] * 2))
        print(world.run("doubling", [np.ones(2**17)] * 4))
    print(sorted(os.listdir("/dev/shm")))
"""


def in_a_small_container(code, megabytes):
    """What `code` prints where /dev/shm has so little room; skips where we may not mount one."""
    if shutil.which("unshare") is None:
        pytest.skip("no unshare here")
    mount = f"mount -t tmpfs -o size={megabytes}m tmpfs /dev/shm && exec {sys.executable} -c '{textwrap.dedent(code)}'"
    done = subprocess.run(["unshare", "--mount", "sh", "-c", mount], capture_output=True, text=True, timeout=120)
    if "unshare failed" in done.stderr or "permission denied" in done.stderr:
        pytest.skip("this user may not mount a small /dev/shm")
    assert done.stderr == ""
    return done.stdout.splitlines()


def test_a_container_with_64_megabytes_of_shared_memory():
    out = in_a_small_container(SMALL.replace("'", '"'), 64)
    good = "ring_allreduce, 4 ranks over shm: 24 messages, 25165824 bytes, every rank holds the sum"
    assert out[0] == good.replace("25165824", str(6 * 2**20))
    assert out[1].startswith("64.0 MiB of shared memory are needed, 6")
    assert out[1].endswith("MiB are free")
    assert out[2:4] == ["use wire='pipe', or a smaller array", "(containers: --shm-size gives more)"]
    assert out[4] == out[0]
    assert out[5] == "[[1048576, 1048576], [1048576, 1048576], [1048576, 1048576], [1048576, 1048576]]"
    assert "use wire='pipe', or a smaller array" in out[6]
    assert out[7].startswith("ring_allreduce, 2 ranks over shm")
    assert out[8].startswith("doubling_allreduce, 4 ranks over shm")
    assert out[9] == "[]"


def test_where_there_is_next_to_no_shared_memory_pipes_still_work():
    out = in_a_small_container(
        """
        import ringlab as rl
        print(rl.run("ring"))
        try:
            rl.run("ring", [[1.0] * 10**6] * 4, wire="shm")
        except rl.verdicts.NoResource as error:
            print(error)
        """.replace("'", '"'),
        1,
    )
    assert out[0] == "ring_allreduce, 4 ranks over pipe: 24 messages, 384 bytes, every rank holds the sum"
    assert "of shared memory are needed" in out[1]


# ---- the memory itself -----------------------------------------------------------------------------------------


@pytest.fixture
def memory():
    made = Arena(3)
    yield made
    made.close()


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
def test_the_segment_is_ours_alone_and_has_no_name(memory):
    assert os.fstat(memory.segment.fd).st_mode & 0o777 == 0o600
    assert os.fstat(memory.segment.fd).st_nlink == 0
    assert os.readlink(f"/proc/self/fd/{memory.segment.fd}").endswith("(deleted)")


def test_places_are_those_of_one_rank(memory):
    memory.reserve(memory.start(1), 8000)
    x = memory.array(memory.start(1) + 80, (10, 10), np.float64)
    assert memory.place(x, 1) == memory.start(1) + 80
    assert memory.place(x[3:], 1) == memory.start(1) + 80 + 240
    assert memory.place(x[:, 1:], 1) is None, "not in one piece"
    assert memory.place(x, 0) is None
    assert memory.place(x, 2) is None
    assert memory.place(np.zeros(3), 1) is None


def test_pages_are_given_back_when_the_ranks_change(memory):
    memory.make_room(3, 2**20)
    assert memory.held() >= 3 * 2**20
    memory.array(memory.start(2), (2**20,), np.uint8)[:] = 7
    memory.make_room(2, 2**16)
    assert memory.held() < 2**20
    assert memory.region > 2**20


@settings(max_examples=100)
@given(st.lists(st.tuples(st.booleans(), st.integers(1, 3 * mmap.PAGESIZE)), max_size=60))
def test_a_heap_never_gives_the_same_place_twice(steps):
    made = Arena(1)
    try:
        heap, taken = Heap(made, 0, used=100), []
        for take, number in steps:
            if take or not taken:
                offset, size = heap.take(number)
                assert size >= number
                assert offset >= made.start(0) + 100
                assert all(offset + size <= other or other + more <= offset for other, more in taken)
                taken.append((offset, size))
            else:
                heap.give(*taken.pop(number % len(taken)))
        while taken:
            heap.give(*taken.pop())
        assert heap._end == made.start(0) + mmap.PAGESIZE
        assert heap._holes == {}
    finally:
        made.close()
