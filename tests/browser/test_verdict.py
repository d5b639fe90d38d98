"""A verdict of the judge, played: the run stops at the wrong step, and the wrong chunk is marked."""

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


def test_the_wait_graph_of_a_verdict_is_a_picture_that_says_itself(show):
    graph = rl.wait_graph(rl.check(wrong.receives_first, ranks=4))
    page = show(html=graph._repr_html_()).page
    assert "a cycle of 4: 0 > 3 > 2 > 1 > 0" in page.locator("img").get_attribute("alt")
