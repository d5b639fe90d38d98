"""A verdict of the judge, or the error of a run, played: it stops at the wrong step, and what is wrong is marked."""

import pytest
from bank import wrong
from playing import opening  # noqa: F401

import ringlab as rl

pytestmark = pytest.mark.browser


def test_it_stops_at_the_wrong_step_and_marks_the_chunk(show):
    shown = show(rl.show(rl.check(wrong.adds_in_copying, ranks=4)))
    shown.press("End")
    assert shown.say() == "Rank 0's gradient is in c0 twice on rank 0, since round 3."
    assert "wrong" in shown['.cells > [data-hit="cell 0 0"]'].first.get_attribute("class").split()
    assert "wrong" not in shown['.cells > [data-hit="cell 0 1"]'].first.get_attribute("class").split()
    assert shown[".card .note"].first.text_content() == "goes wrong"
    assert shown[".cross"].count() == 0  # nobody died


def test_a_deadlock_shows_who_waits_for_whom(show):
    shown = show(rl.show(rl.check(wrong.receives_first, ranks=4)))
    shown.press("End")
    assert shown.say().startswith("Nobody can move: rank 0 waits for rank 3")
    assert shown[".missing"].count() == 4
    assert {shown[".card .note"].nth(i).text_content() for i in range(4)} == {"waits"}


def test_the_error_of_a_run_shows_how_far_it_came(show):
    with pytest.raises(rl.verdicts.RankKilled) as caught:
        rl.run(rl.ring_allreduce, wraps=[rl.faults.crash(rank=2, round=1)])
    shown = show(rl.show(caught.value))
    shown.press("ArrowRight")
    assert shown.say().endswith("Rank 1 gets c0: 10 + 1 = 11, ranks 0 and 1.")
    shown.press("End")
    assert shown.say() == "Rank 3 waits for c1 from rank 2, which died in round 1."
    assert (shown[".card.dead .note"].text_content(), shown[".cross"].count()) == ("died", 1)
    assert shown[".card.dead .title"].text_content() == "rank 2"


def test_code_that_raises_is_shown_with_what_it_said(show):
    def too_warm(chunks, rank, send, recv):
        send(chunks[rank], (rank + 1) % len(chunks))
        if rank == 2:
            raise ValueError("too <b>warm")
        chunks[rank - 1] += recv((rank - 1) % len(chunks))
        chunks[rank - 2] += recv((rank - 1) % len(chunks))

    with pytest.raises(rl.verdicts.RankException) as caught:
        rl.run(too_warm, wire="virtual")
    shown = show(rl.show(caught.value))
    shown.press("End")
    assert shown.say().startswith("Rank 2 raised ValueError: too <b>warm. Rank 3 waits for ")
    assert shown.terms(1, 0) == "01"
    assert shown[".card.dead .note"].text_content() == "error"


def test_the_wait_graph_of_a_verdict_is_a_picture_that_says_itself(show):
    graph = rl.wait_graph(rl.check(wrong.receives_first, ranks=4))
    page = show(html=graph._repr_html_()).page
    assert "a cycle of 4: 0 > 3 > 2 > 1 > 0" in page.locator("img").get_attribute("alt")
