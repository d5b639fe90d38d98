"""Closed forms: equal to the virtual wire's time to the last digit, and to the bytes that real processes count."""

from fractions import Fraction

import numpy as np
import pytest

import ringlab as rl
from ringlab import collectives, cost, forms
from ringlab.comparison import port_bytes
from ringlab.verdicts import BadInput

ALPHA, BETA = Fraction(7, 10**6), Fraction(3, 10**9)
RANKS = [1, 2, 3, 4, 5, 6, 8, 9]


def network_for(name, ranks, ports, gamma=0, **fields):
    """The virtual network that `ports` of the closed form means."""
    if ports == 1:
        return rl.Network(ALPHA, BETA, gamma, **fields)
    if name in ("switch", "nvls"):
        return rl.Network(ALPHA, BETA, gamma, multiport=(ranks - 1,), **fields)
    return rl.Network(ALPHA, BETA, gamma, ports="per-neighbour", **fields)


def own_ports(name):
    return "per-neighbour" if name in forms.OWN_PORTS else 1


def workers(run, name):
    """Bytes that each rank sent; a switch is no rank."""
    return run.sent[:-1] if name in ("switch", "nvls") and run.ranks > 1 else run.sent


@pytest.mark.parametrize("name", rl.ALGORITHMS)
@pytest.mark.parametrize("ranks", [2, 3, 4, 8, pytest.param(16, marks=pytest.mark.slow)])
def test_closed_form_virtual_wire_and_real_processes_agree(name, ranks):
    inputs = [np.arange(4.0 * ranks) for _ in range(ranks)]  # 4 elements per chunk, so that halves of it are equal
    ports = own_ports(name)
    network = network_for(name, ranks, ports)
    real, virtual = rl.run(name, inputs), rl.run(name, inputs, wire="virtual", network=network)
    claim = cost.cost(name, ranks, inputs[0].nbytes, ALPHA, BETA)
    assert (real.messages, real.sent, real.received) == (virtual.messages, virtual.sent, virtual.received)
    assert real.rounds == virtual.rounds
    if claim.least == claim.most == 1:
        assert virtual.seconds == claim.seconds
        assert real.rounds == cost.rounds(name, ranks, ports=1)
    else:
        assert claim.least <= virtual.seconds / claim.seconds <= claim.most
    for run in (real, virtual):
        if name == "double_tree":
            assert max(run.sent) <= claim.sent * Fraction(5, 4)
            assert max(port_bytes(run.trace, network).values()) <= claim.port * Fraction(5, 4)
        elif name != "halving" or ranks & (ranks - 1) == 0:
            assert max(workers(run, name)) == claim.sent
            assert max(port_bytes(run.trace, network).values()) == claim.port


@pytest.mark.parametrize("name", rl.ALGORITHMS)
@pytest.mark.parametrize("ports", [1, "per-neighbour"])
@pytest.mark.parametrize("gamma", [0, Fraction(1, 10**9), Fraction(20, 10**9)])
def test_times_are_exact_or_within_their_bound(name, ports, gamma):
    exact = 0
    for ranks in RANKS:
        inputs = [np.ones(4 * ranks)] * ranks
        run = rl.run(name, inputs, wire="virtual", network=network_for(name, ranks, ports, gamma))
        claim = cost.cost(name, ranks, inputs[0].nbytes, ALPHA, BETA, gamma, ports=ports)
        if claim.least == claim.most == 1:
            assert run.seconds == claim.seconds
            exact += 1
        else:
            assert claim.least * claim.seconds <= run.seconds <= claim.most * claim.seconds
    estimated = name in ("double_tree", "parameter_server") or (gamma and ports == 1 and name in forms.OWN_PORTS)
    assert exact >= (1 if estimated and name != "switch" else 3)  # with one rank all are exact


@pytest.mark.parametrize("ranks", [2, 3, 4, 5, 8])
@pytest.mark.parametrize("servers", [1, 2, 3, 8])
def test_a_parameter_server_is_a_star_or_direct_or_between(ranks, servers):
    def serve(chunks, rank, send, recv):
        return rl.parameter_server_allreduce(chunks, rank, send, recv, servers)

    run = rl.run(serve, ranks=ranks, size=4 * ranks, wire="virtual", network=rl.Network(ALPHA, BETA))
    claim = cost.cost("parameter_server", ranks, 32 * ranks, ALPHA, BETA, servers=servers)
    assert run.verdict is None
    assert max(run.sent) == claim.sent
    assert claim.least * claim.seconds <= run.seconds <= claim.most * claim.seconds
    if servers == 1:
        assert run.seconds == cost.seconds("star", ranks, 32 * ranks, ALPHA, BETA)
    if servers >= ranks:
        ring = rl.run("ring", ranks=ranks, size=4 * ranks, wire="virtual", network=rl.Network(ALPHA, BETA))
        assert (run.sent, run.received, run.seconds) == (ring.sent, ring.received, ring.seconds)


@pytest.mark.parametrize(("group", "nodes"), [(4, 2), (2, 4), (8, 1), (1, 8), (4, 4), (3, 2)])
@pytest.mark.parametrize("name", ["hierarchical", "leader"])
def test_two_tiers_cost_what_the_form_says(name, group, nodes):
    ranks, across = group * nodes, (100 * ALPHA, 10 * BETA)

    def play(chunks, rank, send, recv):
        return getattr(rl, f"{name}_allreduce")(chunks, rank, send, recv, group)

    network = rl.Network(ALPHA, BETA, groups=(group, *across))
    run = rl.run(play, ranks=ranks, size=4 * ranks, wire="virtual", network=network)
    assert run.verdict is None
    assert run.seconds == cost.seconds(name, ranks, 32 * ranks, ALPHA, BETA, group=group, across=across)


@pytest.mark.parametrize(("side", "torus", "ring"), [(4, 12, 30), (8, 28, 126), (32, 124, 2046)])
def test_a_torus_has_fewer_rounds_and_the_same_bytes(side, torus, ring):
    assert cost.rounds("torus", side**2) == torus
    assert cost.rounds("ring", side**2) == ring
    assert cost.critical_bytes("torus", side**2, 1) == cost.critical_bytes("ring", side**2, 1)


def test_64_by_34_ranks_take_192_steps():
    assert cost.rounds("hierarchical", 64 * 34, group=64) == 192
    assert cost.rounds("ring", 64 * 34) == 4350


@pytest.mark.parametrize("ranks", [4, 8, 16])
def test_the_table_of_rounds_and_bytes(ranks):
    levels, part = ranks.bit_length() - 1, Fraction(2 * (ranks - 1), ranks)
    for name, rounds, factor in [
        ("star", 2 * (ranks - 1), 2 * (ranks - 1)),
        ("tree", 2 * levels, 2 * levels),
        ("doubling", levels, levels),
        ("halving", 2 * levels, part),
        ("ring", 2 * (ranks - 1), part),
        ("direct", 2 * (ranks - 1), part),
        ("pass_around", ranks - 1, ranks - 1),
    ]:
        assert cost.rounds(name, ranks) == rounds
        assert cost.critical_bytes(name, ranks, 1) == factor


def test_the_star_is_p_times_as_slow_as_the_ring_in_bytes():
    for ranks in (2, 4, 8, 64):
        assert cost.critical_bytes("star", ranks, 1) == ranks * cost.critical_bytes("ring", ranks, 1)


def test_the_root_of_a_star_moves_2_6_14_buffers():
    assert [cost.busiest_port("star", ranks, 1) for ranks in (2, 4, 8)] == [2, 6, 14]
    for ranks in (2, 4, 8):
        run = rl.run("star", ranks=ranks, size=1, wire="virtual")
        assert run.sent[0] + run.received[0] == cost.busiest_port("star", ranks, 8)
        assert {run.sent[rank] + run.received[rank] for rank in range(1, ranks)} == {16}


def test_double_tree_rounds_at_own_ports():
    for ranks in (8, 16, 32):
        network = rl.Network(1, 0, ports="per-neighbour")
        run = rl.run("double_tree", ranks=ranks, size=ranks, wire="virtual", network=network)
        assert run.seconds <= ranks + 4 * (ranks.bit_length() - 1)


# --- collectives that are no all-reduce ---------------------------------------------------------------------------


def scatter(chunks, rank, send, recv):
    """Chunk r of rank 0 on rank r, down a binomial tree."""
    p, step = len(chunks), 1
    while step < p and not rank & step:
        step *= 2
    if rank:
        part = recv(rank - step)
        for i in range(len(part)):
            chunks[rank + i] = part[i]
    while step > 1:
        step //= 2
        if rank + step < p:
            send(chunks[rank + step : min(rank + 2 * step, p)], rank + step)
    return chunks


def gather(chunks, rank, send, recv):
    p, step = len(chunks), 1
    while step < p:
        if rank & step:
            send(chunks[rank : min(rank + step, p)], rank - step)
            break
        if rank + step < p:
            part = recv(rank + step)
            for i in range(len(part)):
                chunks[rank + step + i] = part[i]
        step *= 2
    return chunks


def bruck(chunks, rank, send, recv):
    """All-gather in ceil(log2 p) rounds: what I have goes ever farther down."""
    p, step = len(chunks), 1
    while step < p:
        count = min(step, p - step)
        send([chunks[(rank + i) % p] for i in range(count)], (rank - step) % p)
        part = recv((rank + step) % p)
        for i in range(count):
            chunks[(rank + step + i) % p] = part[i]
        step *= 2
    return chunks


def all_to_all(chunks, rank, send, recv):
    p = len(chunks)
    for k in range(1, p):
        send(chunks[(rank + k) % p], (rank + k) % p)
    for k in range(1, p):
        chunks[(rank - k) % p] = recv((rank - k) % p)
    return chunks


def halving_reduce_scatter(chunks, rank, send, recv):
    p, low, high = len(chunks), 0, len(chunks)
    while high - low > 1:
        middle = (low + high) // 2
        partner = rank ^ (middle - low)
        theirs, low, high = ((middle, high), low, middle) if rank < middle else ((low, middle), middle, high)
        send(chunks[theirs[0] : theirs[1]], partner)
        part = recv(partner)
        for i in range(len(part)):
            chunks[low + i] += part[i]
    assert low == rank < p
    return chunks


def doubling_all_gather(chunks, rank, send, recv):
    p, step = len(chunks), 1
    while step < p:
        mine, theirs = rank // step * step, (rank ^ step) // step * step
        send(chunks[mine : mine + step], rank ^ step)
        part = recv(rank ^ step)
        for i in range(step):
            chunks[theirs + i] = part[i]
        step *= 2
    return chunks


def scatter_broadcast(chunks, rank, send, recv):
    return rl.all_gather(scatter(chunks, rank, send, recv), rank, send, recv, shift=1)


def barrier(chunks, rank, send, recv):
    p, distance = len(chunks), 1
    while distance < p:
        send(chunks[0][:0], (rank + distance) % p)
        recv((rank - distance) % p)
        distance *= 2
    return chunks


COLLECTIVES = {
    "scatter": scatter,
    "gather": gather,
    "bruck_all_gather": bruck,
    "all_to_all": all_to_all,
    "halving_reduce_scatter": halving_reduce_scatter,
    "doubling_all_gather": doubling_all_gather,
    "scatter_broadcast": scatter_broadcast,
    "barrier": barrier,
    "reduce_scatter": rl.reduce_scatter,
    "all_gather": rl.all_gather,
    "direct_reduce_scatter": rl.direct_reduce_scatter,
    "direct_all_gather": rl.direct_all_gather,
    "reduce": rl.reduce,
    "broadcast": rl.broadcast,
}


def test_every_form_is_tested():
    assert set(COLLECTIVES) == set(collectives.OTHERS)
    assert set(rl.ALGORITHMS) == set(forms.ALLREDUCES)


@pytest.mark.parametrize("name", COLLECTIVES)
@pytest.mark.parametrize("gamma", [0, Fraction(1, 10**9)])
def test_other_collectives_take_the_time_of_their_form(name, gamma):
    ranks_tried = [2, 4, 8, 16] if name in collectives.POWERS_ONLY else [2, 3, 4, 5, 6, 7, 8, 13]
    for ranks in ranks_tried:
        network = rl.Network(ALPHA, BETA, gamma)
        run = rl.run(COLLECTIVES[name], ranks=ranks, size=2 * ranks, wire="virtual", network=network)
        claim = cost.cost(name, ranks, 16 * ranks, ALPHA, BETA, gamma)
        assert claim.least * claim.seconds <= run.seconds <= claim.most * claim.seconds
        assert max(run.sent) == claim.sent


# --- bounds, switch points, rates ---------------------------------------------------------------------------------


@pytest.mark.parametrize("name", sorted(set(rl.ALGORITHMS) - {"two_way_ring", "switch", "nvls"}))
def test_nothing_beats_the_lower_bounds(name):
    for ranks in RANKS:
        for nbytes in (0, 8, 10**6):
            claim = cost.cost(name, ranks, nbytes, ALPHA, BETA)
            for bound in cost.lower_bounds(ranks, nbytes, ALPHA, BETA):
                assert claim.seconds * claim.least >= bound * min(claim.least, 1)


def test_lower_bounds():
    assert cost.lower_bounds(8, 8, 1, 1, 1) == (3, 14, 7)
    assert cost.lower_bounds(5, 5, 1, 0).latency == 3


def test_crossover_is_2000_for_100_megabytes_at_400_gigabits():
    assert cost.crossover(100_000_000, Fraction(1, 10**6), Fraction(1, 50 * 10**9)) == 2000
    for rate, star in ((1.25e9, 80_000), (12.5e9, 8_000), (50e9, 2_000), (450e9, 222)):
        assert round(cost.crossover(100e6, 1e-6, 1 / rate)) == star
    assert round(cost.crossover(25e6, 14e-6, 1 / 50e9), 1) == 35.7


def test_half_peak_sizes():
    assert cost.half_peak(Fraction(1, 10**6), Fraction(1, 16_384_000_000)) == 16 * 1024
    for ranks in (2, 8, 64):
        size = cost.half_peak(ALPHA, BETA, ranks)
        assert cost.seconds("ring", ranks, size, ALPHA, 0) == cost.seconds("ring", ranks, size, 0, BETA)


@pytest.mark.parametrize(
    ("ranks", "halving", "ring"), [(8, 30_000, 110_000), (64, 18_600, 372_000), (512, 16_100, 1_810_000)]
)
def test_switch_points_from_doubling(ranks, halving, ring):
    for name, known in (("halving", halving), ("ring", ring)):
        found = cost.switch_point("doubling", name, ranks, 1e-6, 1 / 12.5e9)
        assert found == pytest.approx(known, rel=0.005)
        faster = [
            cost.fastest(ranks, size, 1e-6, 1 / 12.5e9, names=("doubling", name))
            for size in (found * 0.99, found * 1.01)
        ]
        assert faster == ["doubling", name]


def test_a_switch_point_that_never_comes():
    assert cost.switch_point("halving", "ring", 64, 1e-6, 1e-10) is None
    assert cost.switch_point("doubling", "halving", 2, 1e-6, 1e-10) is None  # same bytes, half the messages


def test_the_ring_never_beats_halving_in_this_model():
    for ranks in (2, 4, 8, 64, 512):
        for nbytes in (1, 10**3, 10**6, 10**9):
            assert cost.seconds("halving", ranks, nbytes, ALPHA, BETA) <= cost.seconds(
                "ring", ranks, nbytes, ALPHA, BETA
            )


def test_numbers_of_numpy_are_exact_too():
    big = cost.seconds("star", np.int64(1000), np.int64(10**15), np.int64(1), np.int64(1000))
    assert big == 2 * 999 * (1 + 10**18)


def test_no_number_of_ranks_makes_a_ring_faster():
    times = [cost.seconds("ring", ranks, 10**6, ALPHA, BETA) for ranks in range(1, 200)]
    assert times == sorted(times)
    assert len(set(times)) == len(times)


def test_algbw_and_busbw_of_a_measured_row():
    assert cost.algbw(2**30, 8203.9e-6) / 1e9 == pytest.approx(130.88, abs=0.005)
    assert cost.busbw("allreduce", 8, 2**30, 8203.9e-6) / 1e9 == pytest.approx(229.04, abs=0.005)
    assert cost.busbw("all_gather", 4, 8, Fraction(1, 2)) == 12
    assert cost.busbw("broadcast", 4, 8, 2) == 4


def test_the_busbw_of_a_ring_is_the_wire():
    for ranks in (2, 8, 100):
        took = cost.seconds("ring", ranks, 10**6, 0, BETA)
        assert cost.busbw("allreduce", ranks, 10**6, took) == 1 / BETA


@pytest.mark.parametrize(("ranks", "gain", "nvls"), [(2, 1, "2/3"), (4, "3/2", "6/5"), (8, "7/4", "14/9")])
def test_what_adding_in_the_network_gains(ranks, gain, nvls):
    assert cost.in_network_gain(ranks) == Fraction(gain)
    assert cost.in_network_gain(ranks, nvls=True) == Fraction(nvls)
    # The same in bytes that were counted: as many elements as workers, so that the switch's own chunk is empty.
    elements, ring = ranks * 2, rl.run("ring", ranks=ranks, size=ranks * 2, wire="virtual")
    assert ring.sent[0] / rl.run("switch", ranks=ranks + 1, size=elements, wire="virtual").sent[0] == Fraction(gain)
    elements = ranks
    one = rl.run("nvls", ranks=ranks + 1, size=elements, wire="virtual")
    assert Fraction(2 * (ranks - 1), ranks) * 8 * elements / one.sent[0] == Fraction(nvls)


def test_many_small_pieces_bring_the_gain_in_time():
    workers, elements = 8, 8 * 9 * 16
    network = rl.Network(0, Fraction(1), multiport=(workers,))

    def cut(chunks, rank, send, recv):
        return rl.switch_allreduce(chunks, rank, send, recv, pieces=16)

    run = rl.run(cut, ranks=workers + 1, size=elements, wire="virtual", network=network)
    assert run.verdict is None
    assert run.seconds == cost.seconds("switch", workers + 1, 8 * elements, 0, 1, pieces=16)
    ring = cost.seconds("ring", workers, 8 * elements, 0, 1)
    assert Fraction(174, 100) > ring / run.seconds > Fraction(173, 100)  # 7/4, but for the first piece


@pytest.mark.parametrize(
    ("call", "word"),
    [
        (lambda: cost.seconds("ring", 0, 8, 1, 1), "p=0"),
        (lambda: cost.seconds("ring", 2.5, 8, 1, 1), "p=2.5"),
        (lambda: cost.seconds("ring", True, 8, 1, 1), "p=True"),
        (lambda: cost.seconds("ring", 8, -1, 1, 1), "nbytes=-1"),
        (lambda: cost.seconds("ring", 8, float("nan"), 1, 1), "nbytes=nan"),
        (lambda: cost.seconds("ring", 8, "1 MB", 1, 1), "nbytes='1 MB'"),
        (lambda: cost.seconds("ring", 8, 8, -1e-6, 1), "alpha=-1e-06"),
        (lambda: cost.seconds("ring", 8, 8, 3600, 1), "alpha=3600"),
        (lambda: cost.seconds("ring", 8, 8, 1, float("inf")), "beta=inf"),
        (lambda: cost.seconds("ring", 8, 8, 1, 1, gamma=-1), "gamma=-1"),
        (lambda: cost.seconds("rnig", 8, 8, 1, 1), "'rnig'"),
        (lambda: cost.seconds(["ring"], 8, 8, 1, 1), "no closed form"),
        (lambda: cost.seconds("ring", 8, 8, 1, 1, ports=2), "ports=2"),
        (lambda: cost.seconds("ring", 8, 8, 1, 1, group=2), "group"),
        (lambda: cost.seconds("hierarchical", 8, 8, 1, 1, group=3), "group=3"),
        (lambda: cost.seconds("hierarchical", 8, 8, 1, 1, across=(-1, 0)), "across=-1"),
        (lambda: cost.seconds("hierarchical", 8, 8, 1, 1, across=1), "across=1"),
        (lambda: cost.seconds("halving_reduce_scatter", 6, 8, 1, 1), "p=6"),
        (lambda: cost.crossover(8, 0, 1), "alpha=0"),
        (lambda: cost.half_peak(1, 0), "beta=0"),
        (lambda: cost.algbw(8, 0), "seconds=0"),
        (lambda: cost.busbw("gossip", 8, 8, 1), "'gossip'"),
        (lambda: cost.lower_bounds(0, 8, 1, 1), "p=0"),
        (lambda: cost.in_network_gain(0), "p=0"),
    ],
)
def test_nonsense_is_refused_by_name(call, word):
    with pytest.raises(BadInput) as caught:
        call()
    assert word in str(caught.value)
