"""Lesson 02: its exercise tells right from wrong, and its numbers are those of runs."""

import numpy as np
import pytest

import ringlab as rl


def check(answer):
    return rl.exercises.star.check(answer)


def test_the_solution_passes():
    outcome = check(lambda p, nbytes: 2 * (p - 1) * nbytes)
    assert outcome
    assert repr(outcome) == "passed: the counters agree for P = 1 to 9"


def test_the_stub_is_not_written_yet():
    outcome = check(lambda p, nbytes: None)
    assert not outcome
    assert repr(outcome) == "not written yet: star_bytes(1, 64) gives None"


@pytest.mark.parametrize(
    ("wrong", "line", "hint"),
    [
        (lambda p, nbytes: (p - 1) * nbytes, "P = 2, 64 bytes each: you say 64, ", "has to come back"),
        (lambda p, nbytes: 2 * p * nbytes, "P = 1, 64 bytes each: you say 128, ", "nobody to talk to"),
        (lambda p, nbytes: 2 * p * nbytes if p > 1 else 0, "P = 2, 64 bytes each: you say 256, ", "nothing to itself"),
        (lambda p, nbytes: 2 * nbytes if p > 1 else 0, "P = 3, 64 bytes each: you say 128, ", "How many leaves"),
        (lambda p, nbytes: 2 * (p - 1), "P = 2, 64 bytes each: you say 2, ", "bytes, not messages"),
        (lambda p, nbytes: 128 * (p - 1), "P = 2, 8000 bytes each: you say 128, ", None),
    ],
)
def test_a_wrong_answer_is_told_what_the_counters_say(wrong, line, hint):
    outcome = check(wrong)
    assert not outcome
    assert repr(outcome).startswith(line)
    assert "root's counters say" in repr(outcome)
    if hint:
        assert hint in repr(outcome)


def test_an_exercise_that_is_none_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no exercise 'gossip'"):
        rl.exercises.gossip  # noqa: B018


@pytest.mark.parametrize(("servers", "busiest"), [(1, 14), (2, 8), (4, 5), (8, 3.5)])
def test_more_servers_take_the_tower_down(servers, busiest):
    def served(chunks, rank, send, recv):
        return rl.parameter_server_allreduce(chunks, rank, send, recv, servers=servers)

    run = rl.run(served, ranks=8, wire="virtual")
    assert max(np.add(run.sent, run.received)) / 64 == busiest


def test_a_link_of_the_star_carries_less_than_one_of_the_ring():
    def busiest_link(run):
        links = {}
        for event in run.trace.events:
            if event.kind == "send":
                links[event.rank, event.peer] = links.get((event.rank, event.peer), 0) + event.nbytes / 64
        return max(links.values())

    assert busiest_link(rl.run("star", wire="virtual")) == 1
    assert busiest_link(rl.run("ring", wire="virtual")) == 1.5


def test_a_pipelined_root_halves_the_star_and_a_root_with_many_ports_ends_it():
    network = rl.Network(0, 1)
    star, pipelined, ring = rl.compare(["star", "pipelined_star", "ring"], 10**8, network, ranks=64).rows
    assert 1.9 < star.seconds / pipelined.seconds < 2
    assert 31 < pipelined.seconds / ring.seconds < 33
    star, pipelined, ring = rl.compare(["star", "pipelined_star", "ring"], 10**8, network.but(multiport=(0,)), 64).rows
    assert pipelined.seconds < ring.seconds
