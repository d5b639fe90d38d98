"""What every wire of real processes promises, tried on each of them."""

import os
import sys

import numpy as np
import pytest
from processes import segments

import ringlab as rl
from ringlab import verdicts

WIRES = ["pipe", "shm"]
SIZES = [0, 1, 500, 1_000_000]  # elements: none, inside a doorbell, and above every pipe's room


@pytest.fixture(scope="module", params=WIRES)
def world(request):
    with rl.World(4, request.param) as world:
        yield world


def test_order_is_kept_per_pair(world):
    def program(comm):
        for k in range(300):
            for dst in range(comm.size):
                comm.send(np.full(k, comm.rank), dst)
        got = [[comm.recv(src) for _ in range(300)] for src in reversed(range(comm.size))]
        return [[(len(x), sorted(set(x.tolist()))) for x in mine] for mine in got]

    expected = [[(k, [src] if k else []) for k in range(300)] for src in (3, 2, 1, 0)]
    assert world.launch(program) == [expected] * 4


@pytest.mark.parametrize("size", SIZES)
def test_big_messages_cross_each_other(world, size):
    def program(comm, size):
        for dst in range(comm.size):
            comm.send(np.full(size, comm.rank, np.float32), dst)
        return [float(comm.recv(src).sum()) for src in range(comm.size)]

    assert world.launch(program, args=(size,)) == [[0.0, 1.0 * size, 2.0 * size, 3.0 * size]] * 4


@pytest.mark.parametrize("size", SIZES)
def test_changing_an_array_after_send_does_not_change_the_message(world, size):
    def program(comm, size):
        x, resident = np.full(size, comm.rank), comm.empty(size, int)
        resident[:] = comm.rank
        for dst in range(comm.size):
            comm.send(x, dst)
            comm.send([resident, x], dst)
        x[:] = resident[:] = -1
        parts = [part for src in range(comm.size) for part in (comm.recv(src), *comm.recv(src))]
        return [part.size == size and bool((part == i // 3).all()) for i, part in enumerate(parts)]

    assert world.launch(program, args=(size,)) == [[True] * 12] * 4


@pytest.mark.parametrize("size", SIZES)
def test_what_was_received_may_be_changed(world, size):
    def program(comm, size):
        x = comm.empty(size, float)
        x[:] = comm.rank
        comm.send(x, (comm.rank + 1) % comm.size)
        got = comm.recv((comm.rank - 1) % comm.size)
        got += 10
        comm.barrier()
        return float(x.sum())

    assert world.launch(program, args=(size,)) == [0.0, size, 2.0 * size, 3.0 * size]


def test_a_list_of_arrays_is_one_message(world):
    def program(comm):
        parts = [np.arange(3), np.empty((0, 2)), np.full((2, 2), 1.5, np.float32), np.arange(300_000)]
        comm.send(parts, (comm.rank + 1) % comm.size)
        got = comm.recv((comm.rank - 1) % comm.size)
        return [(part.dtype.str, part.shape, float(part.sum())) for part in got]

    values = world.launch(program)
    assert (
        values
        == [[("<i8", (3,), 3.0), ("<f8", (0, 2), 0.0), ("<f4", (2, 2), 6.0), ("<i8", (300_000,), 44999850000.0)]] * 4
    )
    assert sum(event.kind == "send" for event in values.trace.events) == 4
    assert {event.nbytes for event in values.trace.events} == {24 + 0 + 16 + 2_400_000}


def test_plain_data_of_all_kinds(world):
    def program(comm):
        things = [None, True, 7, 2.5, "ring", b"\0\1", [1, [2]], (1, "a"), {"x": np.arange(2), 3: None}, "x" * 10**5]
        for thing in things:
            comm.send(thing, comm.size - 1 - comm.rank)
        got = [comm.recv(comm.size - 1 - comm.rank) for _ in things]
        got[-2]["x"] = got[-2]["x"].tolist()
        return got

    expected = [None, True, 7, 2.5, "ring", b"\0\1", [1, [2]], (1, "a"), {"x": [0, 1], 3: None}, "x" * 10**5]
    assert world.launch(program) == [expected] * 4


@pytest.mark.parametrize("nbytes", [8, 5000])
def test_a_sender_can_be_far_ahead(world, nbytes):
    def program(comm, nbytes, count):
        if comm.rank == 0:
            for k in range(count):
                comm.send(np.full(nbytes // 8, k), 1)
            comm.send("now", 2)
        elif comm.rank == 2:
            comm.recv(0)
            comm.send("all is sent", 1)
        elif comm.rank == 1:
            comm.recv(2)
            return all(comm.recv(0)[0] == k for k in range(count))
        return True

    values = world.launch(program, args=(nbytes, 5000))
    assert values == [True] * 4
    with pytest.raises(verdicts.BadInput, match="more events than a trace holds"):
        values.trace  # noqa: B018


def test_one_rank_alone(world):
    for algorithm in ("ring", "doubling", "star"):
        run = world.run(algorithm, [np.arange(5.0)])
        assert run.outputs[0].tolist() == [0, 1, 2, 3, 4]
        assert run.messages == (0,)
    assert world.launch(lambda comm: (comm.barrier(), comm.allreduce(np.arange(3)).tolist())[1], ranks=1) == [[0, 1, 2]]


@pytest.mark.parametrize("op", ["sum", "mean", "max", "min"])
@pytest.mark.parametrize("algorithm", ["ring", "halving", "doubling", "pass_around"])
def test_collectives_in_a_program(world, op, algorithm):
    def program(comm, op, algorithm):
        found = []
        for x in (
            np.arange(6).reshape(2, 3),
            np.full(200_000, 1.5),
            np.empty((0, 3)),
            np.float32(2),
            np.ones(50, "f2"),
        ):
            y = comm.allreduce(x * (comm.rank + 1), op=op, algorithm=algorithm)
            comm.barrier()
            found.append((y.dtype.str, y.shape, float(y.sum()), float(y.max()) if y.size else None))
        return found

    values = world.launch(program, args=(op, algorithm))
    factor = {"sum": 10, "mean": 2.5, "max": 4, "min": 1}[op]
    assert values == [values[0]] * 4
    assert [row[2] for row in values[0]] == [15 * factor, 300_000 * factor, 0, 2 * factor, 50 * factor]
    integers = "<f8" if op == "mean" else "<i8"
    assert [row[0] for row in values[0]] == [integers, "<f8", "<f8", "<f4", "<f2"]


def test_the_result_can_go_where_it_is_wanted(world):
    def program(comm):
        found = []
        for x in (np.full(100_000, comm.rank + 1.0), np.arange(4).reshape(2, 2) * comm.rank, np.ones(9, "f2")):
            for resident in (False, True):
                mine = comm.empty(x.shape, x.dtype) if resident else np.empty_like(x)
                mine[...] = x
                y = comm.allreduce(mine)
                other = np.empty_like(x)
                assert comm.allreduce(mine, out=other) is other
                assert (mine == x).all(), "the input is untouched"
                assert comm.allreduce(mine, out=mine) is mine
                found.append(bool((y == other).all() and (y == mine).all()))
        return found, float(y.sum())

    assert world.launch(program) == [([True] * 6, 36.0)] * 4


def test_a_result_of_the_wrong_shape_is_refused(world):
    for out in (np.empty(3), np.empty(4, int), np.empty((2, 2))):
        with pytest.raises(verdicts.RankException, match=r"BadInput: out= of rank \d cannot take the result"):
            world.launch(lambda comm, out: comm.allreduce(np.ones(4), out=out), args=(out,))


def test_waiting_for_what_was_never_sent_is_a_deadlock(world):
    def program(comm):
        comm.recv((comm.rank + 1) % comm.size)

    with pytest.raises(verdicts.Deadlock) as caught:
        world.launch(program)
    assert len(caught.value.cycle) == 4


def test_different_collectives_are_a_mismatch_and_move_no_data(world):
    def program(comm):
        x = comm.empty(100_000, float)
        comm.allreduce(x, op="max" if comm.rank == 2 else "sum", out=x)

    with pytest.raises(verdicts.Mismatch):
        world.launch(program)


@pytest.mark.slow
def test_chunks_of_64_megabytes(world):
    inputs = [np.full(2 * 16 * 2**20, rank + 1, np.float32) for rank in range(2)]
    run = world.run("ring", inputs, timeout=60)
    assert run.verdict is None
    assert run.sent == (2 * 64 * 2**20,) * 2
    assert (run.outputs[1] == 3).all()


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("ending", ["a result", "a failure"])
def test_nothing_is_left_behind(wire, ending):
    def program(comm):
        x = comm.allreduce(comm.empty(100_000, float))
        if comm.rank == 1 and fails:
            raise ValueError("on purpose")
        return x.size

    fails = ending == "a failure"
    rl.run("ring")  # what starts the ranks in tests stays until the end
    rl.close()
    before = open_files()
    with rl.World(3, wire) as world:
        if fails:
            with pytest.raises(verdicts.RankException):
                world.launch(program)
        assert world.run("ring").verdict is None
        processes = [rank.process for rank in world._ranks]
        pids = [process.pid for process in processes]
        assert segments(os.getpid()) == set(), "shared memory never has a name"
    assert open_files() == before
    assert not [pid for pid in pids if os.path.exists(f"/proc/{pid}")]


def open_files():
    """What this process has open: kinds of descriptors and mapped shared memory, with their numbers."""
    kinds = []
    for fd in os.listdir("/proc/self/fd"):
        try:
            kinds.append(os.readlink(f"/proc/self/fd/{fd}").split(":")[0])
        except FileNotFoundError:  # the one of listdir itself
            continue
    with open("/proc/self/maps") as maps:
        kinds += [line.split()[-2] for line in maps if "/dev/shm/" in line]
    return sorted(kinds)


EDGES = [1, 2, 3, 4, 5, 8]


@pytest.mark.parametrize("algorithm", sorted(rl.ALGORITHMS))
def test_bits_traces_and_counts_are_those_of_every_other_wire(algorithm):
    for ranks, size in ((2, 7), (4, 8), (4, 30_000), (5, 3)):
        inputs = [np.random.default_rng(rank).normal(size=size).astype(np.float32) for rank in range(ranks)]
        runs = [rl.run(algorithm, inputs, wire=wire) for wire in (*WIRES, "virtual")]
        for run in runs:
            assert run.verdict is None
            assert [x.tobytes() for x in run.outputs] == [x.tobytes() for x in runs[0].outputs]
            assert (run.sent, run.received, run.messages) == (runs[0].sent, runs[0].received, runs[0].messages)
            assert timeless(run.trace) == timeless(runs[0].trace)


def timeless(trace):
    return [event[:7] for event in trace.events], trace.changes, trace.rounds


@pytest.mark.parametrize("ranks", EDGES)
def test_any_length_over_shared_memory(ranks):
    for size in (0, 1, ranks - 1, ranks, ranks + 1, 1000, 2048 * ranks - 1, 2048 * ranks + 1):
        inputs = [np.arange(size) * (rank + 1) for rank in range(ranks)]
        run = rl.run("ring", inputs, wire="shm")
        assert all((x == sum(inputs)).all() and x.shape == (size,) for x in run.outputs)
        assert run.verdict is None
