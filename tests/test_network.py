"""Networks: fields that cannot be are named, every override costs what it says, presets say where they are from."""

import time
from fractions import Fraction

import numpy as np
import pytest

import ringlab as rl
from ringlab import verdicts
from ringlab.network import ROUNDS, draw, of
from ringlab.presets import PRESETS
from ringlab.wires.virtual import VirtualWire


def bad(field, **fields):
    with pytest.raises(verdicts.BadInput) as caught:
        rl.Network(**fields)
    assert f"network.{field}" in caught.value.lines[0]
    assert caught.value.lines[1], "what to do"


@pytest.mark.parametrize(
    ("field", "value"),
    [
        *[(field, value) for field in ("alpha", "beta", "gamma", "jitter") for value in (-1, "fast", None, True)],
        *[(field, value) for field in ("alpha", "beta") for value in (float("nan"), float("inf"), 1j)],
        *[("eager", value) for value in (-1, 1.5, "all", False)],
        *[("ports", value) for value in (0, 2, "many", None)],
        *[("multiport", value) for value in ((-1,), (0.5,), 3, "0")],
        *[("links", value) for value in ({(0, 0): (1, 1)}, {(0, 1): 5}, {0: (1, 1)}, {(0, 1): (-1, 0)}, 7)],
        *[("groups", value) for value in (4, (4, 1), (0, 1, 1), (2, -1, 0))],
        *[("slow", value) for value in ({0: 0}, {0: -2}, {-1: 2}, {"a": 2})],
        *[("blocked", value) for value in ((0, 1), ((0, 0),), ((0, 1, 2),))],
        *[("nat", value) for value in ((-1,), ("home",))],
        *[("off", value) for value in ((0, 1, 2), ((0, 2, 1),), ((0, 1),), ((0, None, 1),), (((0, 0), 1, 2),))],
        *[("seed", value) for value in (-1, 0.5, "x")],
    ],
)
def test_a_field_that_cannot_be_is_named(field, value):
    bad(field, **{field: value})


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("multiport", (4,)),
        ("nat", (9,)),
        ("slow", {4: 2}),
        ("links", {(0, 4): (1, 1)}),
        ("blocked", ((5, 0),)),
        ("off", ((4, 0, 1),)),
        ("off", (((0, 4), 0, 1),)),
    ],
)
@pytest.mark.parametrize("wire", ["virtual", "pipe"])
def test_an_unknown_rank_or_edge_is_named_before_anything_runs(field, value, wire):
    with pytest.raises(verdicts.BadInput, match=rf"network\.{field} names .*, and this run has ranks 0 to 3"):
        rl.run("ring", wire=wire, network=rl.Network(**{field: value}))


@pytest.mark.parametrize(
    ("field", "fields"),
    [
        ("blocked", {"blocked": [(0, 2), (1, 2), (3, 2)]}),
        ("off", {"off": [(2, 0, None)]}),
        ("off", {"off": [((0, 2), 0, None), ((1, 2), 0, None), ((3, 2), 0, None)]}),
        ("nat", {"nat": (0, 1, 2, 3)}),
        ("nat", {"nat": (2,), "blocked": [(2, 0), (2, 1), (2, 3)]}),
    ],
)
def test_a_rank_that_nobody_can_reach_is_named(field, fields):
    with pytest.raises(verdicts.BadInput, match=rf"network\.{field} leaves rank [02] where nobody can reach it"):
        rl.Network(**fields).check(4)


def test_a_lone_rank_needs_nobody():
    assert rl.run("ring", ranks=1, wire="virtual", network=rl.Network(nat=(0,))).seconds == 0


def test_what_is_no_network_is_refused():
    with pytest.raises(verdicts.BadInput, match="is no Network"):
        rl.run("ring", wire="virtual", network="400G")
    with pytest.raises(verdicts.BadInput, match=r"network\.speed is no field"):
        ROUNDS.but(speed=1)
    with pytest.raises(verdicts.BadInput, match=r"network\.eager is -1"):
        rl.run("ring", wire="virtual", eager=-1)


def test_a_network_is_a_value():
    network = rl.Network(1, 2, links={(0, 1): [3, 4]}, multiport=[2])
    assert network == rl.Network(1, 2, links=[((0, 1), (3, 4))], multiport=(2,))
    assert hash(network) == hash(network.but())
    assert network.but(alpha=9) == rl.Network(9, 2, links={(0, 1): (3, 4)}, multiport=(2,))
    assert repr(network) == "Network(alpha=1, beta=2, multiport=(2,), links={(0, 1): (3, 4)})"
    assert of(None) is ROUNDS
    assert of(network, 64).eager == 64


# ---- what the overrides cost -------------------------------------------------------------------------------


def message(network, nbytes=10, src=0, dst=1, ranks=4):
    """Virtual (start, end) of one message."""
    wire = VirtualWire(ranks, network, lines=False)
    programs = [lambda send, recv: None for _ in range(ranks)]
    programs[src] = lambda send, recv: send(np.zeros(nbytes, np.uint8), dst)
    programs[dst] = lambda send, recv: recv(src)
    wire.run(programs)
    return wire.events[src][0][4:]


def test_an_edge_with_numbers_of_its_own_and_a_slow_link():
    network = rl.Network(Fraction(1), Fraction(1, 10), links={(0, 1): (5, Fraction(1, 2))})
    assert message(network) == (0, 10)
    assert message(network, src=1, dst=0) == (0, 2)
    slow = rl.Network(Fraction(1), Fraction(1, 10)).slow_link(0, 1, 3)
    assert message(slow) == (0, 6)
    assert message(slow, src=1, dst=0) == (0, 2)
    assert message(slow.slow_link(0, 1, 2)) == (0, 12)


def test_a_slow_link_slows_the_whole_ring():
    fast, times = rl.Network(Fraction(1), Fraction(1, 8)), 10
    slow = rl.run("ring", wire="virtual", network=fast.slow_link(2, 3, times)).seconds
    assert rl.run("ring", wire="virtual", network=fast).seconds == 6 * 3
    assert slow == 6 * 3 * times, "each of the six chunks that cross it waits for it"


def test_a_slow_rank_slows_what_it_sends_and_what_it_gets():
    network = rl.Network(1, 0).slow_rank(1, 4)
    assert message(network, dst=1) == message(network, src=1, dst=2) == (0, 4)
    assert message(network, src=2, dst=3) == (0, 1)
    assert message(network.slow_rank(0, 2)) == (0, 8)


def test_groups_are_hosts():
    network = rl.Network(1, 0, groups=(2, 100, 1))
    assert message(network, src=0, dst=1) == (0, 1)
    assert message(network, src=1, dst=2) == (0, 110)
    assert message(network, src=2, dst=3) == (0, 1)
    assert message(network.but(links={(1, 2): (7, 0)}), src=1, dst=2) == (0, 7), "an edge of its own comes first"


def test_nothing_arrives_on_a_blocked_edge_and_the_verdict_says_so():
    network = rl.Network(1, 0, blocked=[(3, 0)])
    assert message(network, src=0, dst=3) == (0, 1), "one way only"
    with pytest.raises(verdicts.Deadlock) as caught:
        rl.run("ring", wire="virtual", network=network)
    assert caught.value.lines[0] == (
        "rank 0 waits for 3, but nothing that rank 3 sends reaches rank 0 (network.blocked)"
    )
    assert caught.value.cycle == ((0, 3),)
    assert rl.run("star", wire="virtual", network=rl.Network(1, 0, blocked=[(1, 2)])).seconds == 6


def test_behind_nat_a_rank_is_reached_by_those_it_has_called():
    network = rl.Network(1, 0).behind_nat(2)
    assert rl.run("star", wire="virtual", network=network).seconds == 6, "leaves call the root first"
    with pytest.raises(
        verdicts.Deadlock, match="rank 2 waits for 1, but rank 2 is behind NAT and has not called rank 1"
    ):
        rl.run("ring", wire="virtual", network=network)


def test_an_early_message_waits_until_the_rank_behind_nat_has_called():
    wire = VirtualWire(2, rl.Network(2, 0, nat=(1,)), lines=False)

    def public(send, recv):
        send(None, 1)
        recv(1)

    def home(send, recv):
        wire.spend(1, 10)
        send(None, 0)
        recv(0)

    wire.run([public, home])
    assert wire.events[1][0][4:] == (10, 12)
    assert wire.events[0][0][4:] == (12, 14), "sent at 0, let in when the call had come"


@pytest.mark.parametrize("where", [0, 1, (0, 1)])
def test_no_message_starts_while_its_edge_or_rank_is_off(where):
    assert message(rl.Network(1, 0, off=[(where, 0, 5)])) == (5, 6)
    assert message(rl.Network(1, 0, off=[(where, 0, 5), (where, 5, 7)])) == (7, 8)
    assert message(rl.Network(1, 0, off=[(where, 2, 5)])) == (0, 1)
    assert message(rl.Network(9, 0, off=[(where, 2, 5)])) == (0, 9), "what has begun goes on"
    assert message(rl.Network(1, 0, off=[(where, 0, 5)]), src=1, dst=2)[0] == (5 if where == 1 else 0)


def test_off_for_good_is_a_verdict():
    network = rl.Network(1, 0, off=[(3, 2, None)])
    with pytest.raises(verdicts.Deadlock, match=r"is off for good \(network\.off\)"):
        rl.run("ring", wire="virtual", network=network)


def test_a_window_that_closes_while_a_message_waits_for_its_port():
    wire = VirtualWire(3, rl.Network(4, 0, off=[((1, 2), 3, 20)]), lines=False)

    def receiver(send, recv):
        recv(0)
        recv(1)

    wire.run([lambda send, recv: send(None, 2), lambda send, recv: send(None, 2), receiver])
    assert wire.events[1][0][4:] == (20, 24), "the port was free at 4, the way was not"


def test_jitter_is_the_same_on_every_machine_and_never_makes_a_message_faster():
    assert draw(7, 0, 1, 0) == 2016216068, "whole numbers: no machine may differ"
    network = rl.Network(Fraction(1), jitter=Fraction(1, 2), seed=7)
    assert message(network)[1] == 1 + Fraction(1, 2) * Fraction(2016216068, 2**32)
    shares = [network.seconds(0, 1, 0, nth) - 1 for nth in range(2000)]
    assert 0 <= min(shares) < 0.01
    assert 0.49 < max(shares) < 0.5
    assert abs(sum(shares) / len(shares) - 0.25) < 0.01
    runs = [rl.run("ring", wire="virtual", network=network.but(seed=seed)).seconds for seed in (7, 7, 8)]
    assert runs[0] == runs[1] != runs[2]
    assert 6 < runs[0] < 9


# ---- presets -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_is_a_model_with_a_source(name):
    network = rl.Network.preset(name)
    assert network.name == name
    assert any(char.isdigit() for char in network.source)
    assert "alpha" in network.source, "where the weakest number comes from"
    assert "model only" in repr(network)
    run = rl.run("ring", wire="virtual", network=network)
    assert f"over virtual ({name}, model only):" in repr(run)
    assert run.seconds == pytest.approx(6 * (network.alpha + 16 * network.beta), rel=1e-12)


def test_the_presets_of_the_lessons():
    assert set(PRESETS) == {"10 GbE", "100G", "400G", "NVLink", "home upload", "hospital site"}
    for name, bytes_per_second in [("10GbE", 1.25e9), ("100g", 12.5e9), ("400G", 50e9), ("nvlink", 450e9)]:
        network = rl.Network.preset(name)
        assert network.alpha == 1e-6
        assert 1 / network.beta == pytest.approx(bytes_per_second)
    assert repr(rl.Network.preset("400G")) == "400G: 1 us per message, 50 GB/s each way (model only, nothing measured)"


def test_an_unknown_preset_lists_the_known():
    with pytest.raises(verdicts.BadInput, match="presets: 10 GbE, 100G, 400G"):
        rl.Network.preset("5G")


# ---- real wires --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("wire", ["pipe", "pipe-blocking", "shm"])
def test_a_real_wire_emulates_the_delays_and_says_so(wire):
    network = rl.Network(0.01, 1e-4)  # 16 bytes a message: 0.0116 s
    inputs = [np.arange(8.0) * 10**rank for rank in range(4)]
    run = rl.run("ring", inputs, wire=wire, network=network)
    assert run.seconds >= 6 * 0.0116, "never faster than the model"
    np.testing.assert_array_equal(run.outputs[2], sum(inputs))
    assert repr(run).startswith(f"ring_allreduce, 4 ranks over {wire} (emulated network): 24 messages, 384 bytes")
    named = rl.run("ring", inputs, wire=wire, network=rl.Network.preset("400G"))
    assert f"over {wire} (400G, emulated network):" in repr(named)
    plain = rl.run("ring", inputs, wire=wire)
    assert "emulated" not in repr(plain)
    assert [event[:-2] for event in run.trace.events] == [event[:-2] for event in plain.trace.events]


def test_an_emulated_rank_has_one_port_each_way():
    def all_to_root(comm):
        if comm.rank:
            return comm.send(comm.rank, 0)
        begin = time.perf_counter()
        return [comm.recv(3), comm.recv(2), comm.recv(1)], time.perf_counter() - begin

    network = rl.Network(0.05)
    got, seconds = rl.launch(all_to_root, network=network)[0]
    assert got == [3, 2, 1]
    assert seconds >= 0.1, "they come one after the other, whoever sent them"


def test_messages_of_every_kind_are_delayed_and_arrive_as_they_are():
    def program(comm):
        things = [np.arange(3), [np.zeros(2), np.ones(0)], {"a": (1, None)}, [], "text", np.empty(0)]
        peer = 1 - comm.rank
        for thing in things:
            comm.send(thing, peer)
        return [comm.recv(peer) for _ in things]

    (first, _), (slow, _) = (rl.launch(program, ranks=2, network=network) for network in (None, rl.Network(0.001)))
    assert repr(first) == repr(slow)


def test_a_long_emulated_delay_is_no_stall():
    run = rl.run("ring", ranks=2, network=rl.Network(0.6), timeout=0.4)
    assert run.seconds >= 1.2


@pytest.mark.parametrize("field", ["blocked", "nat", "off"])
def test_what_only_a_virtual_wire_can_do_is_refused_on_real_ones(field):
    network = rl.Network(**{field: {"blocked": [(0, 1)], "nat": (1,), "off": [(0, 1, 2)]}[field]})
    with pytest.raises(verdicts.BadInput, match=rf"network\.{field} works on the virtual wire only"):
        rl.run("ring", network=network)


@pytest.mark.parametrize("wire", ["virtual", "pipe", "shm", "pipe-blocking"])
def test_an_eager_limit_of_64_bytes_works_small_and_hangs_big(wire):
    assert rl.run("ring", size=32, wire=wire, eager=64).verdict is None
    with pytest.raises(verdicts.Deadlock, match="0 waits for 1 to receive, 1 waits for 2 to receive"):
        rl.run("ring", size=36, wire=wire, eager=64)


@pytest.mark.parametrize("wire", ["pipe", "shm"])
def test_sends_that_wait_for_a_receipt_still_give_the_sum(wire):
    def even_ranks_send_first(chunks, rank, send, recv):
        p = len(chunks)
        for k in range(2 * (p - 1)):
            out, at = (rank - k) % p, (rank - k - 1) % p
            if rank % 2 == 0:
                send(chunks[out], (rank + 1) % p)
            came = recv((rank - 1) % p)
            if rank % 2 == 1:
                send(chunks[out], (rank + 1) % p)
            chunks[at] = chunks[at] + came if k < p - 1 else came
        return chunks

    for ranks in (2, 3, 4):
        inputs = [np.arange(100_000.0) + rank for rank in range(ranks)]
        run = rl.run(even_ranks_send_first, inputs, wire=wire, eager=0)
        np.testing.assert_array_equal(run.outputs[ranks - 1], sum(inputs))
        virtual = rl.run(even_ranks_send_first, inputs, wire="virtual", eager=0)
        assert [event[:-2] for event in run.trace.events] == [event[:-2] for event in virtual.trace.events]


def test_a_crossing_message_that_comes_before_the_receipt_is_kept_for_later():
    def program(comm):
        if comm.rank == 0:
            comm.send("small", 1)
            comm.send(np.ones(100), 1)  # waits; rank 1's small message comes before the receipt
            return comm.recv(1), comm.recv(1)
        comm.send("hello", 0)
        first, big = comm.recv(0), comm.recv(0)
        comm.send(big, 0)
        return first

    returned = rl.launch(program, ranks=2, eager=8)
    assert returned[1] == "small"
    assert returned[0][0] == "hello"
    np.testing.assert_array_equal(returned[0][1], np.ones(100))


def test_a_waiting_send_to_oneself_never_ends():
    def program(comm):
        comm.send(np.ones(3), comm.rank)
        return comm.recv(comm.rank)

    for wire in ("virtual", "pipe"):
        with pytest.raises(verdicts.Deadlock) as caught:
            rl.launch(program, ranks=1, wire=wire, eager=8)
        assert caught.value.lines[0] == "0 waits for 0 to receive"
        np.testing.assert_array_equal(rl.launch(program, ranks=1, wire=wire, eager=24)[0], np.ones(3))
