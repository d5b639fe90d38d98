"""The order in which a run adds, and what it does to the bits: read from the trace, and checked by adding again."""

import os

import numpy as np
import pytest

import ringlab as rl
from ringlab import numerics
from ringlab.numerics.orders import leaves, swapped
from ringlab.verdicts import BadInput

F32 = np.float32
WIRES = ("pipe", "virtual") if os.name == "nt" else ("pipe", "shm", "virtual")


def random_inputs(p, n, dtype=F32, seed=11):
    return [x.astype(dtype) for x in numerics.normals(seed, (p, n))]


# ---- the order is right: adding again in that order gives the same bits ---------------------------------------------


@pytest.mark.parametrize("name", rl.ALGORITHMS)
@pytest.mark.parametrize("p", [1, 2, 3, 4, 5, 6, 7, 8, 12])
def test_the_order_of_every_algorithm_gives_the_bits_of_its_run(name, p):
    inputs = random_inputs(p, 3 * p + 1)
    run = rl.run(name, inputs, wire="virtual")
    for rank in range(p):
        texts = numerics.orders(run, rank)
        for element in range(inputs[0].size):
            order = texts[numerics.chunk_of(run, element)]
            assert sorted(leaves(order)) == list(range(p))
            again = numerics.evaluate(order, [x[element] for x in inputs])
            assert again.tobytes() == run.outputs[rank][element].tobytes(), (rank, element, order)


class Term:
    """A number that remembers how it was added up; Python's own + on arrays of these is the oracle for orders."""

    def __init__(self, tree):
        self.tree = tree

    def __add__(self, other):
        return Term((self.tree, other.tree))


@pytest.mark.parametrize("name", ["ring", "pass_around", "star", "tree", "doubling", "halving", "direct"])
@pytest.mark.parametrize("p", [2, 3, 5, 8])
def test_the_order_is_that_of_the_code_itself(name, p):
    from ringlab.wires.virtual import VirtualWire

    def program(rank):
        chunks = [np.array([Term(rank)], object) for _ in range(p)]
        return lambda send, recv: rl.ALGORITHMS[name](chunks, rank, send, recv)

    returned = VirtualWire(p).run([program(rank) for rank in range(p)])
    trace = rl.run(name, ranks=p, wire="virtual").trace
    for rank in range(p):
        for chunk in range(p):
            assert swapped(trace.order(chunk, rank)) == swapped(returned[rank][chunk][0].tree)


@pytest.mark.parametrize("p", range(2, 9))
def test_a_ring_adds_chunk_c_from_rank_c_on(p):
    for c, order in enumerate(numerics.orders(rl.run("ring", ranks=p, wire="virtual"))):
        assert leaves(order) == [(c + k) % p for k in range(p)]
        assert numerics.depth(order) == p - 1


def test_depths_of_the_rivals_at_eight_ranks():
    depths = {
        name: {numerics.depth(order) for order in numerics.orders(rl.run(name, ranks=8, wire="virtual"))}
        for name in ("ring", "star", "direct", "tree", "doubling", "halving")
    }
    assert depths == {"ring": {7}, "star": {7}, "direct": {7}, "tree": {3}, "doubling": {3}, "halving": {3}}


def test_messages_that_are_added_late_are_found():
    def late(chunks, rank, send, recv):
        p = len(chunks)
        if rank:
            send(chunks[:], 0)
            recv(0)
            parcel = recv(0)
            for i in range(p):
                chunks[i] = parcel[i]
            return chunks
        for src in range(1, p):
            parcel = recv(src)
            send(parcel, src)  # sent back before it is added
            for i in range(p):
                chunks[i] += parcel[i]
        for dst in range(1, p):
            send(chunks[:], dst)
        return chunks

    assert numerics.orders(rl.run(late), 3) == numerics.orders(rl.run("star"), 3) == ("3 + (2 + (1 + 0))",) * 4


def test_an_order_that_the_trace_cannot_tell_is_not_guessed():
    def both_at_once(chunks, rank, send, recv):
        p = len(chunks)
        if rank:
            send(chunks[:], 0)
            return chunks
        first, *others = [recv(src) for src in range(1, p)]
        for i in range(p):
            for other in others:
                first[i] += other[i]
            chunks[i] += first[i]
        return chunks

    trace = rl.run(both_at_once).trace
    assert trace.order(0, rank=0) == "not known"
    assert trace.order(0, rank=1) == "1"


def test_elements_of_half_chunks_are_found():
    run = rl.run("two_way_ring", random_inputs(3, 10), wire="virtual")
    assert run.trace.nchunks == 6
    assert [numerics.chunk_of(run, i) for i in range(10)] == [0, 0, 1, 1, 2, 2, 3, 4, 4, 5]
    assert [numerics.chunk_of(rl.run("ring", random_inputs(4, 10)), i) for i in range(10)] == [
        0,
        0,
        0,
        1,
        1,
        1,
        2,
        2,
        3,
        3,
    ]
    with pytest.raises(BadInput, match="element 10 is not in this run"):
        numerics.chunk_of(run, 10)


def test_orders_as_data_and_as_text():
    assert numerics.parse("((2 + 3) + 0) + 1") == (((2, 3), 0), 1)
    assert numerics.parse("0 + 1 + 2") == ((0, 1), 2)
    assert numerics.parse("(7)") == 7
    assert numerics.depth("3") == 0
    assert swapped("(1 + 0) + 2") == swapped("2 + (0 + 1)") != swapped("0 + (1 + 2)")
    assert numerics.sketch("(0 + 1) + 2", [1e8, -1e8, 1], "float32") == (
        "+ = 1\n├─ + = 0\n│  ├─ rank 0: 100000000\n│  └─ rank 1: -100000000\n└─ rank 2: 1"
    )
    assert numerics.sketch("0 + (1 + 2)") == "+\n├─ rank 0\n└─ +\n   ├─ rank 1\n   └─ rank 2"


@pytest.mark.parametrize("text", ["", "+", "1 +", "(1 + 2", "1 + 2)", "1 2", "not known", "()", "1 * 2"])
def test_what_is_no_order_is_refused(text):
    with pytest.raises(BadInput, match="is no order of a sum"):
        numerics.parse(text)


# ---- constant in, not constant out ----------------------------------------------------------------------------------

HUGE = [np.full(3, x, F32) for x in (1e8, -1e8, 1)]


def test_constants_give_no_constant():
    def from_one(chunks, rank, send, recv):
        rl.reduce_scatter(chunks, rank, send, recv, shift=1)
        return rl.all_gather(chunks, rank, send, recv, shift=1)

    assert rl.run("ring", HUGE).outputs[0].tolist() == [1, 0, 0]
    assert rl.run(from_one, HUGE).outputs[0].tolist() == [0, 0, 1]
    assert float(numerics.exact_sum([x[0] for x in HUGE])) == 1


def test_four_constants_whose_sum_is_two():
    inputs = [np.full(4, x, F32) for x in (2.0**24, 1, 1, -(2.0**24))]
    assert rl.run("ring", inputs).outputs[0].tolist() == [0, 2, 2, 2]
    assert rl.run("doubling", inputs).outputs[0].tolist() == [1, 1, 1, 1]
    assert float(numerics.exact_sum([x[0] for x in inputs])) == 2


def test_pass_around_replicas_hold_0_1_0():
    run = rl.run("pass_around", HUGE)
    assert [output.tolist() for output in run.outputs] == [[0] * 3, [1] * 3, [0] * 3]
    assert numerics.count_replicas(run.outputs) == 2


# ---- determinism -----------------------------------------------------------------------------------------------------


def test_the_same_ring_gives_the_same_bits_a_hundred_times():
    inputs = random_inputs(4, 1000)
    seen = {numerics.fingerprint(output) for _ in range(100) for output in rl.run("ring", inputs).outputs}
    for wire in WIRES:
        seen |= {numerics.fingerprint(output) for output in rl.run("ring", inputs, wire=wire).outputs}
    assert seen == {"90ae3058"}


@pytest.mark.parametrize("name", rl.ALGORITHMS)
def test_every_wire_gives_the_same_bits(name):
    inputs = random_inputs(4, 101)
    first, *others = [rl.run(name, inputs, wire=wire).outputs for wire in WIRES]
    for outputs in others:
        assert [x.tobytes() for x in outputs] == [x.tobytes() for x in first]


def test_what_changes_the_bits_and_how_many():
    changes = numerics.changed_bits()
    for p, shares in changes.shares.items():
        assert shares["nothing"] == 0
        if p == 2:
            assert set(shares.values()) == {0}, "a + b is b + a"
    measured = {  # numbers N(0, 1) in float32, from another generator and other code
        3: {"numbering": 0.318, "two buckets": 0.213},
        4: {"numbering": 0.421, "two buckets": 0.321, "algorithm": 0.353},
        8: {"numbering": 0.567, "two buckets": 0.516, "algorithm": 0.556},
    }
    for p, shares in measured.items():
        for change, share in shares.items():
            assert changes.shares[p][change] == pytest.approx(share, abs=0.015), (p, change)
    assert str(changes).split("\n")[0] == "what changed       P=2     P=3     P=4     P=8"
    # the numbers themselves are exact: integers in, elementwise IEEE additions, bits out
    counts = {p: {name: round(share * changes.n) for name, share in row.items()} for p, row in changes.shares.items()}
    assert counts[4] == {
        "nothing": 0,
        "numbering": 10090,
        "two buckets": 7542,
        "padding": 1479,
        "ring order": 8926,
        "algorithm": 8440,
    }


@pytest.mark.parametrize(("p", "most"), [(4, 0.44), (8, 0.61)])
def test_pass_around_replicas_differ_in_many_elements(p, most):
    outputs = rl.run("pass_around", random_inputs(p, 20_000), wire="virtual").outputs
    shares = [numerics.differing(outputs[0], output) for output in outputs[1:]]
    assert max(shares) == pytest.approx(most, abs=0.02)
    assert numerics.count_replicas(outputs) == p
