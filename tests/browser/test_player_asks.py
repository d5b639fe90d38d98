"""The player asks: a rank's sends are questions, and the future is locked."""

import pytest
from playing import NARRATION, opening, traced  # noqa: F401

import ringlab as rl

pytestmark = pytest.mark.browser


def test_asking_leads_rank_1_through_all_six_sends(show):
    shown = show(rl.show(traced(), ask=1), clock=True)
    assert shown.say() == "You are rank 1.\nRound 0 of 6: which chunk do you send? Click it in your column."
    assert not shown[".play"].is_visible()
    assert shown.button("Forward").is_disabled()
    for chunk in (1, 0, 3, 2, 1, 0):
        shown[f'.choice[data-hit="cell 1 {chunk}"]'].click()
        assert shown.say().startswith(f"Right: c{chunk} goes to rank 2.")
        shown.page.clock.run_for(3000)
    assert shown.say() == NARRATION[-1] + "\nYou found 6 of 6 at the first try."
    assert shown[".play"].is_visible()


def test_a_miss_says_where_that_chunk_came_from_then_how_then_which(show):
    shown = show(rl.show(traced(), ask=1), clock=True)
    shown.press("1")
    shown.page.clock.run_for(1500)
    assert shown.say().endswith("Round 1: which chunk do you send now?")
    shown.press("3")
    assert shown.say().startswith("Not c3: nothing has come in for it, it is still your own part only. Try again.")
    shown.press("1")
    assert shown.say().startswith(
        "Not c1: you sent it to rank 2 in round 0 already. Hint: send on what you just received."
    )
    shown.press("2")
    assert "It is c0: it came from rank 0 in round 0." in shown.say()
    assert shown[".frameof"].count() == 1
    shown.press("0")
    assert shown.say().startswith("Right: c0")
    shown.page.clock.run_for(1500)
    shown.press("0")
    assert shown.say().startswith("Not c0: you sent it to rank 2 in round 1 already.")


def test_the_future_is_locked_while_a_question_is_open(show):
    shown = show(rl.show(traced(), ask=1))
    shown.press("End", "p", "ArrowRight")
    assert shown.step() == 0
    assert shown.say().startswith("First choose a chunk.")
    box = shown.host.get_by_role("slider").bounding_box()
    shown.page.mouse.click(box["x"] + box["width"] - 20, box["y"] + 24)
    assert shown.step() == 0
    shown.open_table()
    assert shown["tbody tr"].count() == 0
    assert shown[".card .digit"].count() == 0  # what goes first is the answer
    shown['[data-hit="cell 2 2"]'].first.click()
    assert "choose in your own column" in shown.say()
    shown.press("1")
    shown.page.wait_for_function("document.querySelector('.ringlab-player').dataset.step == 1")
    assert shown["tbody tr"].count() == 1


def test_questions_by_arrows_and_by_tab(show):
    shown = show(rl.show(traced(), ask=1), clock=True)
    shown.press("ArrowDown", "ArrowDown", "Enter")
    assert shown.say().startswith("Right: c1")
    shown.page.clock.run_for(1500)
    shown.host.focus()
    shown.page.keyboard.press("Tab")  # to the first chunk of the column, c0
    assert shown.page.evaluate("document.activeElement.shadowRoot.activeElement.getAttribute('aria-label')") == (
        "c0 on rank 1: ranks 0, 1; 2, 3 missing"
    )
    shown.page.keyboard.press("Enter")
    assert shown.say().startswith("Right: c0")


def test_a_rank_that_seldom_sends_is_asked_only_then(show):
    shown = show(rl.show(traced(rl.star_allreduce), ask=2), reduced_motion="reduce")
    assert shown.say().endswith("You are rank 2: you send in round 1.")
    shown.press("ArrowRight")
    assert shown.say().endswith("Round 1 of 6: which chunk do you send? Click it in your column.")
    shown.press("3")
    shown.page.wait_for_function("document.querySelector('.ringlab-player').dataset.step == 8")
    assert shown.say().endswith("You found 1 of 1 at the first try.")
