"""Lesson 04: how many bytes exactly. Its numbers, its figure, and its exercise with a solution and wrong answers."""

import base64
import re

import numpy as np
import pytest

import ringlab as rl
from ringlab.exercises import bytes as exercise
from ringlab.verdicts import BadInput


def size(n, p, chunk):
    return n // p + (chunk % p < n % p)


def solution(n, p, rank):
    return 2 * n - size(n, p, rank + 1) - size(n, p, rank + 2)


def elements(counts):
    return [nbytes // 8 for nbytes in counts]


# ---- what the lesson says --------------------------------------------------------------------------------------------


def test_ten_numbers_among_four_ranks():
    run = rl.run("ring", [np.full(10, 10.0**rank) for rank in range(4)])
    assert elements(run.sent) == [15, 16, 15, 14]
    assert elements(run.received) == [14, 15, 16, 15]
    assert sum(run.sent) == 480


@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 5, 8])
@pytest.mark.parametrize("n", [0, 1, 3, 7, 10, 16, 50])
def test_the_counters_of_a_run_are_the_closed_form(n, ranks):
    run = rl.run("ring", [np.ones(n)] * ranks, wire="virtual")
    assert elements(run.sent) == [solution(n, ranks, rank) for rank in range(ranks)]
    assert elements(run.received) == [2 * n - size(n, ranks, rank) - size(n, ranks, rank + 1) for rank in range(ranks)]
    assert sum(elements(run.sent)) == 2 * (ranks - 1) * n
    assert set(run.messages) == {2 * (ranks - 1)}


def test_the_numbering_from_one_lacks_other_bricks():
    def from_one(chunks, rank, send, recv):
        rl.reduce_scatter(chunks, rank, send, recv, shift=1)
        return rl.all_gather(chunks, rank, send, recv, shift=1)

    run = rl.run(from_one, [np.ones(10)] * 4)
    assert elements(run.sent) == [20 - size(10, 4, rank) - size(10, 4, rank + 1) for rank in range(4)]


def test_nobody_sends_less_in_all_and_the_busiest_is_what_differs():
    share = {}
    for name in ("ring", "star", "tree", "halving", "direct", "doubling"):
        sent = rl.run(name, [np.ones(8)] * 4).sent
        share[name] = sum(sent) / 64, max(sent) / 64
    assert share == {
        "ring": (6, 1.5),
        "star": (6, 3),
        "tree": (6, 2),
        "halving": (6, 1.5),
        "direct": (6, 1.5),
        "doubling": (8, 2),
    }


def test_a_ring_of_ten_is_as_slow_as_one_of_twelve():
    network = rl.Network(alpha=0, beta=1)
    seconds = [rl.run("ring", [np.ones(n)] * 4, wire="virtual", network=network).seconds for n in (8, 10, 12)]
    assert seconds[0] < seconds[1] == seconds[2]


# ---- the figure ------------------------------------------------------------------------------------------------------


def test_two_bricks_are_missing_in_each_wall():
    wall = rl.wall(rl.run("ring", [np.ones(10)] * 4))
    assert wall.sizes == [3, 3, 2, 2]
    for rank in range(4):
        assert wall.missing(rank) == ([(rank + 1) % 4], [(rank + 2) % 4])
        assert wall.elements(rank) == solution(10, 4, rank)
    assert "rank 1 lacks c2 adding, c3 copying, sends 16" in repr(wall)


def test_the_figure_is_the_same_every_time_says_itself_in_words_and_runs_nothing():
    html = [rl.wall(rl.run("ring", [np.ones(10)] * 4))._repr_html_() for _ in range(2)]
    assert html[0] == html[1]
    assert "rank 1 lacks c2 adding, c3 copying, sends 16" in re.search('alt="([^"]*)"', html[0])[1]
    picture = base64.b64decode(re.search('base64,([^"]*)', html[0])[1]).decode()
    assert picture.count('class="o"') == 8 + 1  # the dashed bricks, and one in the legend
    assert "<script" not in html[0] + picture
    assert "http" not in picture.replace("http://www.w3.org/2000/svg", "")


def test_a_wall_takes_single_chunks_of_a_known_run():
    with pytest.raises(BadInput, match="chunks as one message"):
        rl.wall(rl.run("star", [np.ones(8)] * 4))
    with pytest.raises(BadInput, match="needs a run"):
        rl.wall(42)


def test_an_empty_chunk_has_no_brick():
    picture = rl.wall(rl.run("ring", [np.ones(3)] * 4)).svg()
    assert ">c2<" in picture
    assert ">c3<" not in picture


# ---- the exercise ----------------------------------------------------------------------------------------------------


def test_the_solution_passes():
    outcome = rl.exercises.bytes.check(solution)
    assert outcome.passed
    assert repr(outcome) == "passed: the counters agree for every n to 50 and P to 9"


def test_the_stub_is_not_written_yet():
    def sent(n, p, rank):
        return None

    assert repr(exercise.check(sent)) == "not written yet: sent(10, 4, 0) gives None"


WRONG = {
    "average": (lambda n, p, rank: 2 * (p - 1) * n / p, "average"),
    "rounded": (lambda n, p, rank: 2 * (p - 1) * n // p, "average"),
    "longest": (lambda n, p, rank: 2 * (p - 1) * -(-n // p), "longest"),
    "received": (lambda n, p, rank: 2 * n - size(n, p, rank) - size(n, p, rank + 1), "receives"),
    "bytes": (lambda n, p, rank: 8 * solution(n, p, rank), "not bytes"),
    "everything": (lambda n, p, rank: 2 * n, "Two bricks"),
    "adding": (lambda n, p, rank: n - size(n, p, rank + 1), "adding half"),
    "messages": (lambda n, p, rank: 2 * (p - 1), "not messages"),
    "one rank": (lambda n, p, rank: solution(n, p, rank) if p > 1 else n, "nobody to talk to"),
    "long n": (lambda n, p, rank: solution(n, p, rank) if n < 50 else 0, "sent(50,"),
    "a list": (lambda n, p, rank: [n], "number of elements"),
    "raises": (lambda n, p, rank: n // 0, "ZeroDivisionError"),
    "two things": (lambda n, p: n, "does not take that"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_answer_is_told_what_to_look_at(name):
    answer, words = WRONG[name]
    outcome = exercise.check(answer)
    assert not outcome
    assert words in repr(outcome), outcome


def test_an_endless_answer_does_not_hang_the_notebook(monkeypatch):
    def sent(n, p, rank):
        while True:
            pass

    monkeypatch.setattr(exercise, "ask", lambda *asked: ask(*asked, timeout=1.0))
    outcome = exercise.check(sent)
    assert "STALL" in repr(outcome)


ask = exercise.ask
