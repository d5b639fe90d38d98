"""The virtual wire: its port model to the letter, exact times, real arithmetic, the same steps as real processes."""

import json
import random
from collections import deque
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ringlab as rl
from ringlab import bench_virtual, progress, sandbox, verdicts
from ringlab.__main__ import main
from ringlab.network import ROUNDS
from ringlab.rounds import rounds_of
from ringlab.wires.virtual import RankFailed, VirtualWire

ALPHA, BETA, GAMMA = Fraction(7, 3), Fraction(5, 11), Fraction(2, 13)
NETWORK = rl.Network(ALPHA, BETA)


def seconds(name, ranks, size, network=NETWORK, **options):
    """Virtual seconds of an all-reduce of `size` float64, which must be right."""
    inputs = [np.arange(float(size)) + 1000 * rank for rank in range(ranks)]
    run = rl.run(name, inputs, wire="virtual", network=network, **options)
    for output in run.outputs:
        np.testing.assert_array_equal(output, sum(inputs) if options.get("op") != "max" else inputs[-1])
    return run.seconds


# ---- closed forms, in fractions ----------------------------------------------------------------------------


@pytest.mark.parametrize("p", [1, 2, 3, 4, 5, 8, 16])
def test_the_ring_takes_what_its_formula_says(p):
    n = 6 * p
    assert seconds("ring", p, n) == 2 * (p - 1) * (ALPHA + BETA * Fraction(8 * n, p))


@pytest.mark.parametrize(("p", "n"), [(4, 10), (3, 1), (5, 3), (8, 9), (7, 50)])
def test_the_largest_chunk_decides_when_p_does_not_divide(p, n):
    assert seconds("ring", p, n) == 2 * (p - 1) * (ALPHA + BETA * 8 * -(-n // p))


@pytest.mark.parametrize("p", [1, 2, 3, 4, 8])
def test_the_star_with_a_serial_root(p):
    assert seconds("star", p, 24) == 2 * (p - 1) * (ALPHA + BETA * 8 * 24)


def test_direct_takes_14_units_at_8_ranks():
    assert seconds("direct", 8, 64, ROUNDS) == 14
    assert seconds("direct", 8, 64) == 14 * (ALPHA + BETA * 64)


@pytest.mark.parametrize(
    ("name", "rounds"),
    [("star", 14), ("tree", 6), ("doubling", 3), ("halving", 6), ("ring", 14), ("direct", 14), ("pass_around", 7)],
)
def test_rounds_at_8_ranks(name, rounds):
    assert rl.run(name, ranks=8, wire="virtual").rounds == rounds


@pytest.mark.parametrize("p", [2, 3, 4, 8])
def test_gamma_is_charged_where_an_addition_is(p):
    network = rl.Network(0, 0, GAMMA)
    n = 12 * p
    assert seconds("ring", p, n, network) == (p - 1) * 12 * 8 * GAMMA
    assert seconds("ring", p, n, network, op="max") == (p - 1) * 12 * 8 * GAMMA
    assert seconds("star", p, n, network) == (p - 1) * n * 8 * GAMMA
    assert rl.run(rl.all_gather, ranks=p, size=n, wire="virtual", network=network).seconds == 0


def test_gamma_sees_every_addition_however_it_is_written():
    def both_then_add(chunks, rank, send, recv):
        if rank:
            send([chunks[0], chunks[1], chunks[2]], 0)
            return chunks
        first, second = recv(1), recv(2)  # two receives, then all additions, in three spellings
        chunks[0] += first[0]
        chunks[1] = first[1] + chunks[1]
        np.add(chunks[2], first[2], out=chunks[2])
        for i in range(3):
            chunks[i] += second[i]
        return chunks

    run = rl.run(both_then_add, ranks=3, size=9, wire="virtual", network=rl.Network(0, 0, 1))
    assert run.seconds == 2 * 9 * 8
    assert run.outputs[0].tolist() == [111] * 9


def test_gamma_is_charged_above_64_ranks_too():
    assert rl.run("ring", ranks=80, size=80, wire="virtual", network=rl.Network(0, 0, 1)).seconds == 79 * 8


@pytest.mark.parametrize("name", ["ring", "star", "tree", "halving", "direct"])
def test_floats_agree_with_fractions_to_12_digits(name):
    exact = rl.Network(Fraction(1, 10**6), Fraction(1, 12_500_000_000), Fraction(1, 10**10))
    rough = rl.Network(1e-6, 1 / 12.5e9, 1e-10)
    for p in (2, 5, 8):
        wanted = rl.run(name, ranks=p, size=1000, wire="virtual", network=exact).seconds
        got = rl.run(name, ranks=p, size=1000, wire="virtual", network=rough).seconds
        assert isinstance(wanted, Fraction)
        assert got == pytest.approx(float(wanted), rel=1e-12, abs=0)


def test_floats_agree_after_two_thousand_steps():
    got = rl.run("ring", ranks=256, size=256, wire="virtual", network=rl.Network(1e-6, 3e-11)).seconds
    assert got == pytest.approx(510 * (1e-6 + 8 * 3e-11), rel=1e-12, abs=0)


# ---- ports -------------------------------------------------------------------------------------------------


def play(programs, network=ROUNDS):
    """The wire after a run of these programs, each a list of ("send", dst, nbytes) and ("recv", src)."""
    return played(VirtualWire(len(programs), network, lines=False), programs)


def played(wire, programs):
    def program(steps):
        def run(send, recv):
            for what, peer, *size in steps:
                if what == "send":
                    send(np.zeros(size[0], np.uint8), peer)
                else:
                    recv(peer)

        return run

    wire.run([program(steps) for steps in programs])
    return wire


def starts(wire, rank):
    return [event[4] for event in wire.events[rank]]


def test_messages_leave_one_after_the_other():
    wire = play([[("send", 1, 0), ("send", 2, 0)], [("recv", 0)], [("recv", 0)]])
    assert starts(wire, 0) == [0, 1]
    assert wire.now == [0, 1, 2], "the sender does not wait"


def test_messages_arrive_one_after_the_other_lowest_rank_first():
    wire = play([[("recv", 2), ("recv", 1)], [("send", 0, 0)], [("send", 0, 0)]])
    assert starts(wire, 1) == [0]
    assert starts(wire, 2) == [1]


def test_who_has_waited_longer_goes_first():
    network = rl.Network(1, 1)
    long_wait = [("send", 0, 9), ("send", 0, 0)]  # ready for its second message at 10, when the port is taken
    late = [("recv", 3), ("send", 0, 0)]  # ready at 5
    programs = [[("recv", 2), ("recv", 2), ("recv", 1)], late, long_wait, [("send", 1, 4)]]
    wire = play(programs, network)
    assert starts(wire, 1)[1] == 10, "it was ready at 5, rank 2's second message only at 10"
    assert starts(wire, 2) == [0, 11]


def test_only_the_head_of_an_out_queue_competes():
    programs = [
        [("send", 1, 0), ("send", 2, 0)],  # the first waits for rank 1's port until 10, and the second behind it
        [("recv", 3), ("recv", 0)],
        [("recv", 0)],
        [("send", 1, 9)],
    ]
    wire = play(programs, rl.Network(1, 1))
    assert starts(wire, 3) == [1]
    assert starts(wire, 0) == [0, 1], "rank 0 is lower, so it goes first"
    wire = play([programs[3], [("recv", 0), ("recv", 3)], [("recv", 3)], programs[0]], rl.Network(1, 1))
    assert starts(wire, 0) == [0]
    assert starts(wire, 3) == [10, 11], "rank 2's port was free all the time"


def test_both_directions_at_once():
    assert play([[("send", 1, 0), ("recv", 1)], [("send", 0, 0), ("recv", 0)]]).now == [1, 1]


def test_a_port_per_neighbour_and_a_multiport_rank():
    assert seconds("direct", 8, 64, ROUNDS.but(ports="per-neighbour")) == 2
    assert seconds("star", 8, 64, ROUNDS.but(multiport=(0,))) == 2
    assert seconds("star", 8, 64, ROUNDS.but(multiport=(1,))) == 14


def test_a_message_to_oneself_takes_no_time():
    assert play([[("send", 0, 7), ("recv", 0)]]).now == [0]


class Reference:
    """The port model again, in the plainest way: look at everything, start one transfer, look again."""

    def __init__(self, programs, network):
        self.programs, self.network = programs, network
        ranks = range(len(programs))
        self.clock, self.step = [0 for _ in ranks], [0 for _ in ranks]
        self.queues = {}
        self.arrived, self.taken = {}, {}
        self.out, self.into = {}, {}
        self.starts = [[] for _ in ranks]
        self.held = [None for _ in ranks]

    def run(self):
        while self.run_ranks() or self.start_one():
            pass
        return self

    def run_ranks(self):
        moved = False
        for rank, steps in enumerate(self.programs):
            while self.step[rank] < len(steps) and self.held[rank] is None:
                what, peer, *size = steps[self.step[rank]]
                if what == "send":
                    waits = self.network.eager is not None and size[0] > self.network.eager
                    message = {"src": rank, "dst": peer, "nbytes": size[0], "posted": self.clock[rank], "waits": waits}
                    message["place"] = len(self.starts[rank])
                    self.starts[rank].append(None)
                    self.queues.setdefault(self.network.port(rank, peer), deque()).append(message)
                    self.held[rank] = message if waits else None
                else:
                    nth = self.taken.get((peer, rank), 0)
                    if nth >= len(self.arrived.get((peer, rank), [])):
                        break
                    self.taken[peer, rank] = nth + 1
                    self.clock[rank] = max(self.clock[rank], self.arrived[peer, rank][nth])
                self.step[rank] += 1
                moved = True
        return moved

    def asks(self, rank, src):
        return (
            self.held[rank] is None
            and self.step[rank] < len(self.programs[rank])
            and (self.programs[rank][self.step[rank]][:2] == ("recv", src))
        )

    def start_one(self):
        wanted = []
        for port, queue in self.queues.items():
            if not queue or (queue[0]["waits"] and not self.asks(queue[0]["dst"], queue[0]["src"])):
                continue
            message = queue[0]
            ready = max(message["posted"], self.out.get(port, 0))
            if message["waits"]:
                ready = max(ready, self.clock[message["dst"]])
            gate = self.network.port(message["dst"], message["src"])
            wanted.append((max(ready, self.into.get(gate, 0)), ready, message["src"], message["dst"], port, gate))
        if not wanted:
            return False
        start, _, src, dst, port, gate = min(wanted, key=lambda entry: entry[:4])
        message = self.queues[port].popleft()
        end = self.out[port] = self.into[gate] = start + self.network.seconds(src, dst, message["nbytes"])
        self.starts[src][message["place"]] = start
        self.arrived.setdefault((src, dst), []).append(end)
        if message["waits"]:
            self.clock[src], self.held[src] = end, None
        return True


@st.composite
def any_programs(draw):
    """Programs that can all end: a global order of messages, each posted by its sender and received in that order."""
    ranks = draw(st.integers(2, 5))
    programs = [[] for _ in range(ranks)]
    for _ in range(draw(st.integers(1, 14))):
        src = draw(st.integers(0, ranks - 1))
        dst = (src + draw(st.integers(1, ranks - 1))) % ranks
        programs[src].append(("send", dst, draw(st.integers(0, 5))))
        programs[dst].append(("recv", src))
    return programs


networks = st.builds(
    rl.Network,
    alpha=st.integers(1, 3),
    beta=st.integers(0, 2),
    eager=st.sampled_from([None, None, 3, 0]),
    ports=st.sampled_from([1, "per-neighbour"]),
    multiport=st.sampled_from([(), (0,)]),
)


@settings(max_examples=150)
@given(any_programs(), networks)
def test_the_engine_does_what_the_plainest_simulation_does(programs, network):
    wire, plain = play(programs, network), Reference(programs, network).run()
    assert wire.now == plain.clock
    for rank, steps in enumerate(programs):
        sends = [event[4] for event in wire.events[rank] if event[0] == 0]
        assert sends == plain.starts[rank], (rank, steps)


@settings(max_examples=60)
@given(any_programs(), networks)
def test_a_network_with_more_to_say_runs_through_the_same_model(programs, network):
    bent = network.but(off=((0, 10**9, 10**9 + 1),))  # nothing happens then, but it takes the other way through
    assert not bent.plain
    assert play(programs, bent).events == play(programs, network).events


class Shuffled(deque):
    """A queue that gives any of its elements."""

    def __init__(self, seed):
        super().__init__()
        self._random = random.Random(seed)

    def popleft(self):
        self.rotate(self._random.randrange(len(self)))
        return super().popleft()


@settings(max_examples=60)
@given(any_programs(), networks, st.integers(0, 10**6))
def test_times_do_not_depend_on_who_runs_first(programs, network, seed):
    wire = VirtualWire(len(programs), network, lines=False)
    wire._runnable = Shuffled(seed)
    played(wire, programs)
    other = play(programs, network)
    assert wire.events == other.events
    assert wire.now == other.now


# ---- the same as real processes ----------------------------------------------------------------------------


def timeless(trace):
    return [event[:-2] for event in trace.events]


@pytest.mark.parametrize("name", sorted(rl.ALGORITHMS))
@pytest.mark.parametrize("ranks", [1, 2, 4, pytest.param(5, marks=pytest.mark.slow)])
def test_traces_are_equal_event_by_event_times_aside(name, ranks):
    inputs = [np.arange(11.0) * (rank + 1) for rank in range(ranks)]
    virtual, real = (rl.run(name, inputs, wire=wire) for wire in ("virtual", "pipe"))
    assert timeless(virtual.trace) == timeless(real.trace)
    assert virtual.trace.changes == real.trace.changes
    assert [a.tobytes() for a in virtual.outputs] == [a.tobytes() for a in real.outputs], "bit for bit"
    assert (virtual.sent, virtual.received, virtual.messages) == (real.sent, real.received, real.messages)
    assert virtual.rounds == real.rounds


def test_a_learners_function_leaves_the_same_trace_on_both():
    def mine(chunks, rank, send, recv):
        p = len(chunks)
        for k in range(p - 1):
            send(chunks[(rank - k) % p], (rank + 1) % p)
            chunks[(rank - k - 1) % p] += recv((rank - 1) % p)
        return rl.all_gather(chunks, rank, send, recv)

    virtual, real = (rl.run(mine, wire=wire) for wire in ("virtual", "pipe"))
    assert timeless(virtual.trace) == timeless(real.trace)
    assert {event.line for event in virtual.trace.events} == {mine.__code__.co_firstlineno + k for k in (3, 4, 5)}


def test_rounds_do_not_depend_on_what_was_recorded_last():
    starts, rounds = rounds_of([[0, 1], [1, 0]], [[1, 1], [0, 0]])
    assert starts == [[0, 1], [0, 1]]
    assert rounds == 2


# ---- real arithmetic ---------------------------------------------------------------------------------------


@pytest.mark.slow
def test_real_numbers_at_256_ranks():
    inputs = [np.full(300, 1.0, np.float32) * (rank % 7) for rank in range(256)]
    run = rl.run("ring", inputs, wire="virtual")
    for output in run.outputs:
        np.testing.assert_array_equal(output, sum(inputs))
    assert run.outputs[0].dtype == np.float32
    assert run.seconds == run.rounds == 510


def test_a_thousand_ranks_are_the_most():
    assert rl.run("tree", ranks=1024, size=1, wire="virtual").outputs[1023][0] == 1024
    with pytest.raises(verdicts.BadInput, match="1 to 1024"):
        rl.run("tree", ranks=1025, wire="virtual")


def test_the_callers_errstate_reaches_every_rank():
    large = [np.full(4, 1e308)] * 4
    wire = VirtualWire(2, lines=False)

    def adds(send, recv):
        return large[0] + large[1]

    with np.errstate(over="raise"), pytest.raises(RankFailed) as caught:
        wire.run([adds, adds])
    assert isinstance(caught.value.__cause__, FloatingPointError)
    with np.errstate(over="ignore"):
        assert np.isinf(VirtualWire(2, lines=False).run([adds, adds])[1]).all()


def test_changing_an_array_after_send_does_not_change_the_message():
    def sender(send, recv):
        x, pair = np.zeros(3), [np.zeros(2), np.zeros(1)]
        send(x, 1)
        send(pair, 1)
        x += 1
        pair[0] += 1

    def receiver(send, recv):
        return recv(0).tolist(), [part.tolist() for part in recv(0)]

    assert VirtualWire(2).run([sender, receiver])[1] == ([0, 0, 0], [[0, 0], [0]])


# ---- learners' code ----------------------------------------------------------------------------------------


def prints(chunks, rank, send, recv):
    print("rank", rank, "starts")
    rl.ring_allreduce(chunks, rank, send, recv)
    print("rank", rank, "ends\nwith two lines")
    return chunks


def test_prints_are_those_of_the_rank_that_printed(capsys):
    rl.run(prints, ranks=3, wire="virtual")
    assert capsys.readouterr().out.splitlines() == [
        line
        for rank in range(3)
        for line in (
            f"[rank {rank}] rank {rank} starts",
            f"[rank {rank}] rank {rank} ends",
            f"[rank {rank}] with two lines",
        )
    ]


def test_too_many_prints_are_counted(capsys):
    def chatters(chunks, rank, send, recv):
        for i in range(300 if rank == 1 else 1):
            print(i)
        return rl.ring_allreduce(chunks, rank, send, recv)

    rl.run(chatters, ranks=2, wire="virtual")
    lines = capsys.readouterr().out.splitlines()
    assert lines[:3] == ["[rank 0] 0", "[rank 1] 0", "[rank 1] 1"]
    assert len(lines) == 1 + 200 + 1
    assert lines[-1] == "[all ranks] ... and 100 more lines"


def test_an_exception_names_the_virtual_rank_its_round_and_who_waited():
    def fails(chunks, rank, send, recv):
        rl.reduce_scatter(chunks, rank, send, recv)
        if rank == 2:
            raise KeyError("gone")
        return rl.all_gather(chunks, rank, send, recv)

    with pytest.raises(verdicts.RankException) as caught:
        rl.run(fails, wire="virtual")
    first, second, third, *_ = caught.value.lines
    assert first == "rank 2 raised KeyError: 'gone'"
    assert second.endswith(': raise KeyError("gone")')
    assert third.startswith("rank 3 waited for rank 2")
    assert caught.value.rank == 2
    with pytest.raises(verdicts.RankException) as real:
        rl.run(fails, wire="pipe")
    assert real.value.lines[:3] == caught.value.lines[:3], "the same words on real processes"


@pytest.mark.parametrize(("leave", "code"), [("raise SystemExit(3)", 3), ("import os; os._exit(4)", 4)])
def test_leaving_is_told_of_the_virtual_rank(leave, code):
    def leaves(chunks, rank, send, recv):
        rl.reduce_scatter(chunks, rank, send, recv)
        if rank == 1:
            exec(leave)
        return rl.all_gather(chunks, rank, send, recv)

    with pytest.raises(verdicts.RankExited, match=f"rank 1 left with exit code {code}"):
        rl.run(leaves, wire="virtual")


def test_an_endless_loop_does_not_touch_the_kernel():
    def loops(chunks, rank, send, recv):
        while rank == 2:
            pass
        return rl.ring_allreduce(chunks, rank, send, recv)

    with pytest.raises(verdicts.Stall, match=r"rank 2 has shown no event for 0\.5 s"):
        rl.run(loops, wire="virtual", timeout=0.5)


def test_a_bad_peer_is_the_learners_exception():
    def sends_far(chunks, rank, send, recv):
        send(chunks[0], 9)
        return chunks

    with pytest.raises(verdicts.RankException, match="rank 0 sends to rank 9: ranks are 0 to 3"):
        rl.run(sends_far, wire="virtual")


def test_code_that_catches_everything_is_let_go():
    def clings(chunks, rank, send, recv):
        for _ in range(3):
            try:
                recv((rank - 1) % 4)
            except BaseException:
                pass
        return chunks

    with pytest.raises(verdicts.Deadlock, match="0 waits for 3, 3 waits for 2"):
        rl.run(clings, wire="virtual")
    assert rl.run(prints, ranks=2, wire="virtual").verdict is None


def test_a_failure_does_not_cost_the_process_that_played_the_ranks():
    world = rl.World(ranks=1)
    try:
        before = [rank.process.pid for rank in world.ready()]
        with pytest.raises(verdicts.Deadlock):
            rl.run(lambda chunks, rank, send, recv: recv(rank), wire="virtual", world=world)
        assert [rank.process.pid for rank in world.ready()] == before
    finally:
        world.close()


def test_events_survive_the_way_from_the_process_that_played_them():
    for times in ([0, 1], [0.5, 1.25], [Fraction(1, 3), 2]):
        program = [(0, 1, 12, 8, *times), (1, 1, 13, 0, *times)]
        assert sandbox.unpack(sandbox.pack(program)) == program
    assert sandbox.unpack(sandbox.pack([])) == []


def test_ctrl_c_ends_a_run_in_the_kernel(monkeypatch):
    def stop(self, count):
        raise KeyboardInterrupt

    monkeypatch.setattr(progress.Progress, "reach", stop)
    with pytest.raises(verdicts.Interrupted):
        rl.run("ring", wire="virtual")
    monkeypatch.undo()
    assert rl.run("ring", wire="virtual").verdict is None


def test_a_straggler_is_late_on_its_own_clock():
    straggler = rl.faults.delay(rank=1, round=2, seconds=5)
    run = rl.run("ring", wire="virtual", network=rl.Network(Fraction(1)), wraps=[straggler])
    assert run.seconds == 6 + 5, "virtual seconds: nobody slept"
    assert run.verdict is None


def test_a_crash_strikes_a_virtual_rank_in_its_round():
    with pytest.raises(verdicts.RankKilled, match=r"rank 2 was killed by signal 9 .* in round 3 of 6"):
        rl.run("ring", wire="virtual", wraps=[rl.faults.crash(rank=2, round=3)])


def test_frames_are_lost_on_real_wires_only():
    with pytest.raises(verdicts.RankException, match="on real wires only"):
        rl.run("ring", wire="virtual", wraps=[rl.faults.drop(rank=2, round=3)])


# ---- programs ----------------------------------------------------------------------------------------------


def test_any_program_runs_on_the_virtual_wire():
    def program(comm, start):
        comm.barrier()
        total = comm.allreduce(np.full(4, float(comm.rank + start)))
        got = comm.sendrecv({"from": comm.rank}, (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size)
        return total[0], got["from"]

    returned = rl.launch(program, ranks=100, wire="virtual", args=(1,))
    assert returned == [(5050.0, (rank - 1) % 100) for rank in range(100)]
    assert returned.seconds == 7 + 2 * 99 + 1, "barrier, ring, one message"
    assert returned.trace.rounds == returned.seconds
    assert rl.launch(program, ranks=3, wire="pipe", args=(1,)) == rl.launch(program, ranks=3, wire="virtual", args=(1,))


def test_ranks_in_different_collectives_are_found():
    def program(comm):
        if comm.rank == 1:
            return comm.allreduce(np.zeros(3))
        return comm.allreduce(np.zeros(4))

    with pytest.raises(verdicts.Mismatch):
        rl.launch(program, ranks=2, wire="virtual")


@pytest.mark.parametrize("wire", ["virtual", "pipe"])
def test_sendrecv_needs_no_order_even_when_sends_wait(wire):
    def program(comm):
        return comm.sendrecv(comm.rank, (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size)

    for ranks in (1, 2, 5):
        returned = rl.launch(program, ranks=ranks, wire=wire, eager=0)
        assert returned == [(rank - 1) % ranks for rank in range(ranks)]


# ---- long runs ---------------------------------------------------------------------------------------------


class Clock:
    def __init__(self):
        self.now = 0.0

    def monotonic(self):
        return self.now


def test_a_bar_comes_after_two_seconds_and_goes(monkeypatch):
    import tqdm.auto

    bars, clock = [], Clock()

    class Bar:
        def __init__(self, **options):
            self.n, self.options, self.closed = options["initial"], options, False
            bars.append(self)

        def update(self, n):
            self.n += n

        def close(self):
            self.closed = True

    monkeypatch.setattr(progress, "time", clock)
    monkeypatch.setattr(tqdm.auto, "tqdm", Bar)
    with progress.Progress("a ring", total=100) as shown:
        shown.reach(10)
        clock.now = 1.9
        shown.reach(20)
        assert not bars
        assert not shown.shown
        clock.now = 2.1
        shown.reach(30)
        assert shown.shown
        clock.now = 3.0
        shown.reach(70)
    (bar,) = bars
    assert (bar.n, bar.closed, bar.options["total"], bar.options["desc"]) == (70, True, 100, "a ring")


def test_a_long_run_in_the_kernel_shows_how_far_it_is(monkeypatch):
    seen = []
    monkeypatch.setattr(progress.Progress, "reach", lambda self, count: seen.append((self._total, count)))
    rl.run("ring", ranks=8, wire="virtual")
    assert seen[-1][0] == 112
    assert seen[-1][1] >= 112 - 8
    assert [count for _, count in seen] == sorted(count for _, count in seen)


def test_the_bench_counts_and_checks(capsys, tmp_path):
    rows = bench_virtual.measure(ranks=(1, 4, 8), turns=2)
    assert [(row.ranks, row.messages, row.right) for row in rows] == [(1, 0, True), (4, 24, True), (8, 112, True)]
    assert all(row.seconds > 0 for row in rows)
    file = tmp_path / "rows.json"
    assert main(["bench", "virtual", "--ranks", "4", "--algorithm", "tree", "--turns", "1", "--json", str(file)]) == 0
    assert "tree_allreduce on the virtual wire" in capsys.readouterr().out
    assert json.loads(file.read_text())[0]["messages"] == 6


@pytest.mark.parametrize("ranks", [256, pytest.param(1024, marks=pytest.mark.night)])
def test_a_ring_of_hundreds_of_ranks_ends_right(ranks):
    (row,) = bench_virtual.measure(ranks=(ranks,), turns=1)
    assert row.right
    assert row.messages == 2 * ranks * (ranks - 1)
