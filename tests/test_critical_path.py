"""The critical path, exact on virtual runs: as long as the closed form, through the slow link, each step caused."""

from fractions import Fraction

import pytest

import ringlab as rl
from ringlab.criticalpath import critical_path
from ringlab.events import Event
from ringlab.trace import Trace
from ringlab.verdicts import BadInput

ALPHA, BETA = Fraction(1, 10**6), Fraction(1, 10**9)


def path_of(name, ranks, network, size=None):
    run = rl.run(name, ranks=ranks, size=size or 8 * ranks, wire="virtual", network=network)
    return critical_path(run.trace), run


def is_a_chain(path):
    return all(one.end == after.start for one, after in zip(path.steps, path.steps[1:]))


@pytest.mark.parametrize("ranks", [2, 3, 4, 8])
def test_a_ring_waits_for_one_piece_of_news_that_goes_all_the_way_round(ranks):
    path, run = path_of("ring", ranks, rl.Network(ALPHA, BETA))
    nbytes = run.outputs[0].nbytes
    assert path.seconds == 2 * (ranks - 1) * (ALPHA + BETA * nbytes / ranks)
    assert len(path.steps) == len(path.messages) == 2 * (ranks - 1)
    assert is_a_chain(path)
    first = path.messages[0].rank
    assert [step.rank for step in path.messages] == [(first + k) % ranks for k in range(2 * (ranks - 1))]


@pytest.mark.parametrize("name", ["ring", "star", "tree", "doubling", "halving", "direct", "torus", "double_tree"])
@pytest.mark.parametrize("ranks", [4, 8])
def test_without_adds_a_path_begins_at_0_and_is_as_long_as_the_run(name, ranks):
    path, run = path_of(name, ranks, rl.Network(ALPHA, BETA))
    assert (path.steps[0].start, path.seconds) == (0, run.seconds)
    assert is_a_chain(path) and len(path.messages) == len(path.steps)


def test_a_slow_link_is_all_that_counts():
    path, run = path_of("ring", 4, rl.Network(ALPHA, BETA).slow_link(2, 3, 10))
    assert {(step.rank, step.peer) for step in path.messages} == {(2, 3)}
    assert path.seconds == run.seconds == 6 * 10 * (ALPHA + BETA * 64)
    assert repr(path) == "critical path: 6 messages, 2 > 3 > 2 > 3 > 2 > 3 > 2 > 3 > 2 > 3 > 2 > 3"


def test_adding_is_work_between_the_messages_and_copying_is_none():
    path, run = path_of("ring", 4, rl.Network(ALPHA, BETA, gamma=BETA))
    kinds = [(step.kind, step.rank) for step in path.steps]
    first = path.messages[0].rank
    for k in range(3):  # a message, then its receiver adds
        assert kinds[2 * k : 2 * k + 2] == [("message", (first + k) % 4), ("work", (first + k + 1) % 4)]
    assert [kind for kind, _ in kinds[6:]] == ["message"] * 3
    assert path.seconds == run.seconds == 6 * (ALPHA + BETA * 64) + 3 * BETA * 64


def test_a_star_waits_for_the_port_of_its_root():
    path, run = path_of("star", 4, rl.Network(ALPHA, BETA))
    assert all(0 in (step.rank, step.peer) for step in path.messages)
    assert path.seconds == 6 * (ALPHA + BETA * run.outputs[0].nbytes)


def test_sends_that_wait_for_their_receiver_are_followed_to_it():
    path, run = path_of("star", 4, rl.Network(ALPHA, BETA, eager=0, gamma=BETA))
    assert path.seconds == run.seconds
    assert is_a_chain(path)


def test_a_network_that_costs_nothing_has_a_path_of_no_length():
    assert path_of("star", 16, rl.Network(0, 0))[0].seconds == 0


def test_on_real_clocks_the_path_covers_the_run_and_follows_late_messages_to_their_senders():
    def by_hand(rank, *events):
        return [(Event(rank, kind, peer, (), None, 8, 0, 0, start, end), ()) for kind, peer, start, end in events]

    programs = [
        by_hand(0, ("send", 1, 5.0, 6.0)),  # rank 0 was busy until 5
        by_hand(1, ("recv", 0, 1.0, 7.0), ("send", 2, 9.0, 9.5)),  # waited from 1 to 7, then added for 2
        by_hand(2, ("recv", 1, 10.0, 10.5)),  # the message was there already
    ]
    path = critical_path(Trace(programs, 3, 2, "by hand"))
    assert [tuple(step[:5]) for step in path.steps] == [("work", 2, None, 0, 10.5)]
    programs[2] = by_hand(2, ("recv", 1, 0.5, 10.5))
    path = critical_path(Trace(programs, 3, 2, "by hand"))
    assert [tuple(step[:5]) for step in path.steps] == [
        ("work", 0, None, 0, 5.0),
        ("message", 0, 1, 5.0, 7.0),
        ("work", 1, None, 7.0, 9.0),
        ("message", 1, 2, 9.0, 10.5),
    ]


def test_no_messages_no_path():
    with pytest.raises(BadInput, match="no critical path"):
        critical_path(rl.run("ring", ranks=1, wire="virtual").trace)
