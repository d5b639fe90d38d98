"""Lesson 05: deadlock. Its numbers, its picture, and its exercise with a solution and wrong answers."""

import base64
import re
import xml.etree.ElementTree as ET

import numpy as np
import pytest

import ringlab as rl
from ringlab import verdicts, waits
from ringlab.exercises import deadlock as exercise
from ringlab.waits import Wait


def send_first(x, rank, p, send, recv):
    send(x, (rank + 1) % p)
    return recv((rank - 1) % p)


def receive_first(x, rank, p, send, recv):
    came = recv((rank - 1) % p)
    send(x, (rank + 1) % p)
    return came


def one_receives_first(x, rank, p, send, recv):
    return (receive_first if rank == 0 else send_first)(x, rank, p, send, recv)


def in_turns(x, rank, p, send, recv):
    return (receive_first if rank % 2 else send_first)(x, rank, p, send, recv)


def only_the_last_receives_first(x, rank, p, send, recv):
    return (receive_first if rank == p - 1 else send_first)(x, rank, p, send, recv)


def only_for_even_p(x, rank, p, send, recv):
    if p % 2:
        return send_first(x, rank, p, send, recv)
    return in_turns(x, rank, p, send, recv)


ring = exercise.ring_of(send_first)


# ---- what the lesson says ----------------------------------------------------------------------------------


def test_the_same_code_works_small_and_hangs_large():
    assert rl.hang(ring, size=8, wire="pipe-blocking") is None
    stuck = rl.hang(ring, size=2**21, wire="pipe-blocking")
    assert stuck.cycle == ((0, 1), (1, 2), (2, 3), (3, 0))
    line = send_first.__code__.co_firstlineno + 1
    assert stuck.lines[1] == f"each of them at line {line} in send_first, round 0: send(x, (rank + 1) % p)"
    assert str(stuck) == str(rl.hang(ring, size=4, wire="virtual", eager=0))


def test_four_elements_are_the_smallest_buffer_that_hangs_where_sends_wait():
    assert [bool(rl.hang(ring, size=n, wire="virtual", eager=0)) for n in range(1, 6)] == [
        False,
        False,
        False,
        True,
        True,
    ]


@pytest.mark.parametrize("p", range(2, 10))
def test_the_sub_rounds_of_each_cure(p):
    assert exercise.subrounds(one_receives_first, p) == p
    assert exercise.fewest(p) == exercise.subrounds(in_turns, p) == (3 if p % 2 else 2)
    assert exercise.subrounds(send_first, p, eager=None) == 1

    def both_at_once(comm):
        comm.sendrecv(np.ones(1), (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size)

    assert rl.launch(both_at_once, ranks=p, wire="virtual", eager=0).seconds == 1


@pytest.mark.parametrize("p", [3, 5, 7, 9])
def test_rounds_of_an_odd_ring_overlap(p):
    run = rl.run(exercise.ring_of(in_turns), ranks=p, size=p, wire="virtual", network=exercise.RENDEZVOUS)
    assert run.seconds == 4 * p, "2P / (P - 1) on average over 2 (P - 1) rounds: a round is no barrier"


def test_the_cures_work_between_real_processes():
    inputs = [np.arange(50_000.0) * (rank + 1) for rank in range(3)]
    for exchange in (one_receives_first, in_turns):
        run = rl.run(exercise.ring_of(exchange), inputs, eager=0)
        np.testing.assert_array_equal(run.outputs[2], sum(inputs))


def test_a_ring_of_exchanges_is_the_ring():
    ours, its = (rl.run(f, size=10, wire="virtual") for f in (rl.ring_allreduce, ring))
    assert [event[:-3] for event in ours.trace.events] == [event[:-3] for event in its.trace.events]
    assert ours.trace.changes == its.trace.changes


def test_hang_gives_other_failures_as_they_are():
    def fails(chunks, rank, send, recv):
        raise ValueError("mine")

    with pytest.raises(verdicts.RankException, match="mine"):
        rl.hang(fails, wire="virtual")


# ---- the exercise ------------------------------------------------------------------------------------------


def test_a_solution_passes():
    outcome = exercise.check(exercise.ring_of(in_turns))
    assert outcome
    assert repr(outcome) == "passed: no cycle for P = 2 to 9, and no more than 2 sub-rounds a round (3 for odd P)"


def test_a_solution_written_out_passes():
    def cured_ring(chunks, rank, send, recv):
        p = len(chunks)
        for k in range(2 * (p - 1)):
            out, at = (rank - k) % p, (rank - k - 1) % p
            came = in_turns(chunks[out], rank, p, send, recv)
            chunks[at] = chunks[at] + came if k < p - 1 else came
        return chunks

    assert exercise.check(cured_ring)


def test_the_stub_is_not_written_yet():
    for stub in (exercise.ring_of(lambda x, rank, p, send, recv: x), lambda chunks, rank, send, recv: chunks):
        assert repr(exercise.check(stub)) == "not written yet: 0 of 4 messages with 2 ranks"


@pytest.mark.parametrize(
    ("exchange", "first", "second"),
    [
        (send_first, r"P = 2: 0 waits for 1 to receive, 1 waits for 0 to receive", "Who could begin by receiving"),
        (only_for_even_p, r"P = 3: 0 waits for 1 to receive, .*", "which two neighbours are alike when P is odd"),
        (one_receives_first, r"P = 4: right and free of cycles, but 4 sub-rounds a round where 2 are enough", "pair"),
        (only_the_last_receives_first, r"P = 4: right and free of cycles, but 4 sub-rounds .*", "other pairs"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_an_order_that_hangs_or_queues_gets_its_hint(exchange, first, second):
    outcome = exercise.check(exercise.ring_of(exchange))
    assert not outcome
    lines = repr(outcome).split("\n")
    assert re.fullmatch(first, lines[0])
    assert second in lines[1]


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (exercise.ring_of(receive_first), "P = 2: 0 waits for 1, 1 waits for 0\nSomebody waits"),
        (lambda *call: rl.reduce_scatter(*call), "P = 2: no ring yet, even where no send waits: ranks differ"),
        (rl.tree_allreduce, "P = 2: right, but another algorithm: a ring sends 2 messages from each rank, this one 1"),
        (lambda chunks, rank, send, recv: send(chunks[0], 7), "P = 2: EXCEPTION: rank 0 raised ValueError"),
        (exercise.ring_of(lambda x, rank, p, send, recv: send(x, (rank + 1) % p) or recv(rank - 1)), "P = 2"),
    ],
)
def test_wrong_answers_are_told_what_they_are(answer, words):
    outcome = exercise.check(answer)
    assert not outcome
    assert re.match(words, repr(outcome))


# ---- the picture -------------------------------------------------------------------------------------------


def picture(graph):
    return ET.fromstring(base64.b64decode(re.search(r"base64,([^\"]+)", graph._repr_html_()).group(1)))


def classes(svg):
    return [element.get("class") for element in svg.iter() if element.get("class") in ("c", "w", "r", "f")]


def test_the_cycle_is_drawn_apart_from_what_hangs_on_to_it():
    stuck = waits.deadlock({0: Wait(0, 1), 1: Wait(1, 0), 2: Wait(2, 1, True), 3: Wait(3, 2)}, ())
    graph = rl.wait_graph(stuck)
    drawn = classes(picture(graph))
    assert (drawn.count("c"), drawn.count("w"), drawn.count("r"), drawn.count("f")) == (2, 2, 4, 0)
    assert repr(graph).split("\n") == [
        "a cycle of 2: 0 > 1 > 0",
        "! rank 0 --> rank 1   for a message",
        "! rank 1 --> rank 0   for a message",
        "  rank 2 --> rank 1   until it receives",
        "  rank 3 --> rank 2   for a message",
    ]


def test_who_has_finished_is_drawn_as_finished():
    graph = rl.wait_graph(waits.deadlock({0: Wait(0, 3), 3: Wait(3, 2), 2: Wait(2, 1)}, {1}))
    drawn = classes(picture(graph))
    assert (drawn.count("c"), drawn.count("w"), drawn.count("r"), drawn.count("f")) == (1, 2, 3, 1)
    assert graph.summary() == "rank 2 waits for 1, which has finished"
    assert "rank 1 has finished" in repr(graph)


@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 9, 16, 17, 64])
def test_the_picture_is_well_formed_the_same_each_time_and_nothing_leaves_it(ranks):
    stuck = waits.deadlock({rank: Wait(rank, (rank + 1) % ranks) for rank in range(ranks)}, ())
    graph = rl.wait_graph(stuck)
    assert graph._repr_html_() == rl.wait_graph(stuck)._repr_html_()
    svg = picture(graph)
    width, height = float(svg.get("width")), float(svg.get("height"))
    for circle in (element for element in svg.iter() if element.get("r")):
        x, y, r = (float(circle.get(key)) for key in ("cx", "cy", "r"))
        assert r < x < width - r
        assert r < y < height - r
    assert len([element for element in svg.iter() if element.get("class") == "c"]) == ranks


def test_the_picture_has_its_words():
    graph = rl.wait_graph(rl.hang(ring, size=4, wire="virtual", eager=0))
    html = graph._repr_html_()
    assert 'alt="Wait-for graph. a cycle of 4: 0 &gt; 1 &gt; 2 &gt; 3 &gt; 0; ! rank 0 --&gt; rank 1' in html
    assert "<script" not in html


def test_only_a_deadlock_has_a_wait_for_graph():
    with pytest.raises(verdicts.BadInput, match="needs a deadlock, not Run"):
        rl.wait_graph(rl.run("ring", wire="virtual"))
    with pytest.raises(verdicts.BadInput, match="100 ranks are too many"):
        rl.wait_graph(waits.deadlock({rank: Wait(rank, (rank + 1) % 100) for rank in range(100)}, ()))
