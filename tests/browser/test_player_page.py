"""The player in a browser: stepped, played, scrubbed and looked at closely, by mouse and by keyboard."""

import re

import pytest
from playing import NARRATION, Shown, killed, opening, traced  # noqa: F401

import ringlab as rl
from ringlab.trace import Trace

pytestmark = pytest.mark.browser


def test_it_opens_paused_with_one_sentence_and_four_controls(show):
    shown = show(rl.show(traced()))
    assert (shown.step(), shown.host.get_attribute("data-playing")) == (0, "false")
    assert shown.say() == (
        "Every rank holds only its own gradient, in 4 chunks. Rank r holds 10 to the r: 1111 will mean everybody once."
    )
    assert [name.strip() for name in shown["button:visible"].all_inner_texts()] == ["←", "▶\ufe0e Play", "→", "More"]
    assert shown.host.get_by_role("slider").count() == 1
    assert shown.terms(1, 0) == "1"
    assert not shown["img"].is_visible()


@pytest.mark.parametrize("hand", ["mouse", "keyboard"])
def test_steps_by_hand_tell_the_story(show, hand):
    shown = show(rl.show(traced()))
    told = []
    for _ in NARRATION:
        if hand == "mouse":
            shown.button("Forward").click()
        else:
            shown.press("ArrowRight")
        told.append(shown.say())
    assert told == NARRATION
    assert shown.button("Forward").is_disabled()
    for _ in NARRATION:
        if hand == "mouse":
            shown.button("Back").click()
        else:
            shown.press("ArrowLeft")
    assert (shown.step(), shown.button("Back").is_disabled()) == (0, True)


def test_a_step_by_hand_is_read_out_with_its_sender_and_playing_is_not(show):
    shown = show(rl.show(traced()), clock=True)
    shown.press("ArrowRight")
    assert "Rank 1 gets c0 from rank 0: 10 + 1 = 11" in shown.aloud()
    shown.button("▶\ufe0e Play").click()
    shown.page.clock.run_for(800)
    assert shown.step() == 3
    assert "gets c0" in shown.aloud()


def test_the_chunk_itself_travels_and_joins_what_is_there(show):
    shown = show(rl.show(traced()), clock=True)
    shown.press("ArrowRight")
    shown.page.clock.run_for(280)
    assert shown.parcels() == 8  # four on the ring, four in the matrix
    assert shown.terms(1, 0) == "1"
    middle = shown[".parcels > .cell"].first.bounding_box()["x"]
    columns = [shown[f'.cells > [data-hit="cell {rank} 0"]'].first.bounding_box()["x"] for rank in (0, 1)]
    assert columns[0] < middle < columns[1]
    shown.page.clock.run_for(400)
    assert (shown.parcels(), shown.terms(1, 0)) == (0, "01")


def test_a_key_in_mid_flight_finishes_the_move_at_once(show):
    shown = show(rl.show(traced()), clock=True)
    shown.press("ArrowRight")
    shown.page.clock.run_for(100)
    assert shown.terms(1, 0) == "1"
    shown.press("ArrowRight")
    assert (shown.step(), shown.terms(1, 0)) == (2, "01")
    shown.press("v")
    shown.press("End")
    assert (shown.parcels(), shown.step()) == (0, 8)


def test_it_plays_to_the_end_and_again(show):
    shown = show(rl.show(traced()), clock=True)
    shown.press(" ")
    seen = []
    for _ in range(16):
        seen.append(shown.step())
        shown.page.clock.run_for(700)
    assert sorted(set(seen)) == list(range(1, 9))
    assert shown.host.get_attribute("data-playing") == "false"
    assert shown.button("↻ Again").is_visible()
    shown.button("↻ Again").click()
    assert (shown.step(), shown.host.get_attribute("data-playing")) == (0, "true")
    shown.press(" ")
    assert shown.host.get_attribute("data-playing") == "false"


def test_speed_changes_how_long_a_round_takes(show):
    shown = show(rl.show(traced()), clock=True)
    shown.button("More").click()
    shown.button("½").click()
    shown.press(" ")
    shown.page.clock.run_for(750)
    assert shown.step() == 1
    shown.page.clock.run_for(750)
    assert shown.step() == 2


def test_the_scrubber_goes_anywhere_and_says_where(show):
    shown = show(rl.show(traced()))
    slider = shown.host.get_by_role("slider")
    box = slider.bounding_box()
    shown.page.mouse.click(box["x"] + box["width"] / 2, box["y"] + 24)
    assert slider.get_attribute("aria-valuetext") == "between the phases"
    shown.page.mouse.move(box["x"] + box["width"] / 2, box["y"] + 24)
    shown.page.mouse.down()
    shown.page.mouse.move(box["x"] + box["width"] - 2, box["y"] + 24)
    shown.page.mouse.up()
    assert (shown.step(), slider.get_attribute("aria-valuenow")) == (8, "8")
    assert (slider.get_attribute("aria-valuemin"), slider.get_attribute("aria-valuemax")) == ("0", "8")


def test_all_keys_do_what_the_help_says(show):
    shown = show(rl.show(traced()))
    shown.press("End")
    assert shown.step() == 8
    shown.press("Home")
    assert shown.step() == 0
    shown.press("p")
    assert shown.say() == NARRATION[3]
    shown.press("p", "p")
    assert shown.step() == 0
    shown.press("ArrowDown")
    assert shown.host.get_attribute("data-focus") == "2"
    shown.press("ArrowUp", "ArrowUp", "ArrowUp")
    assert shown.host.get_attribute("data-focus") == "0"
    shown.press("ArrowRight")
    assert "Rank 0 gets c3: 1 + 1000 = 1001, ranks 0 and 3." in shown.say()
    shown.press("t")
    assert shown.say() == "No times here: rl.show(run, times=True) has them."
    shown.press("?")
    assert shown[".keys"].is_visible()
    shown.press("Escape")
    assert not shown[".keys"].is_visible()
    shown.press("Escape")
    assert shown.page.evaluate("document.activeElement === document.body")


def test_no_key_reaches_the_notebook_but_tab_leaves(show):
    shown = show(rl.show(traced()))
    shown.page.evaluate("""() => {
        window.heard = [];
        for (const kind of ["keydown", "keypress", "keyup"])
            document.addEventListener(kind, (event) => heard.push(event.key));
    }""")
    assert shown.host.get_attribute("data-lm-suppress-shortcuts") is not None
    shown.press("d", "d", "x", "a", "m", "ArrowDown", " ", "Enter", "Escape")
    assert shown.page.evaluate("heard") == []
    shown.press("Shift+Enter", "Control+s")
    assert "Enter" in shown.page.evaluate("heard")
    assert "s" in shown.page.evaluate("heard")
    shown.host.focus()
    for _ in range(10):
        shown.page.keyboard.press("Tab")
        if shown.page.evaluate("document.activeElement.id") == "after":
            break
    assert shown.page.evaluate("document.activeElement.id") == "after"


# -- looking closer -------------------------------------------------------------------------------------------------


def test_pointing_at_a_chunk_names_who_is_in(show):
    shown = show(rl.show(traced()))
    shown.press("ArrowRight", "ArrowRight", "ArrowRight")
    shown.press("ArrowLeft")
    shown['[data-hit="cell 0 2"]'].first.hover()
    assert shown[".tip"].inner_text() == "c2 on rank 0: ranks 0, 2, 3; 1 missing"
    shown['[data-hit="rank 3"]'].first.hover()
    assert shown[".tip"].inner_text().split() == (
        "Rank 3 so far: out 2 messages, 32 bytes; in 2 messages, 32 bytes.".split()
    )
    shown["[data-hit^=move]"].first.hover()
    assert re.match(r"Round 1: c\d from rank \d to rank \d, 16 bytes\.", shown[".tip"].inner_text())


def test_a_click_tells_the_history_and_draws_the_path(show):
    shown = show(rl.show(traced()))
    shown.press("ArrowRight", "ArrowRight", "ArrowRight", "ArrowLeft")
    shown['[data-hit="cell 0 2"]'].first.click()
    first, second = shown.say().split("\n")
    assert first == "c2 on rank 0: ranks 0, 2, 3; 1 missing"
    assert second == "((2 + 3) + 0), by rank 2 → 3 → 0. Next: sent to rank 1 in round 2."
    assert shown[".way"].count() == 2
    shown.press("ArrowRight")
    assert (shown.say(), shown[".way"].count()) == (NARRATION[2], 0)


def test_history_by_keyboard(show):
    shown = show(rl.show(traced()))
    shown.press("ArrowRight", "ArrowRight", "Enter")
    assert shown.say().startswith("c3 on rank 1: ranks 0, 1, 3; 2 missing\n((3 + 0) + 1), by rank 3 → 0 → 1.")
    shown.press("ArrowLeft", "ArrowUp")
    assert "c2 on rank 0" in shown.aloud()
    shown.press("Escape")
    assert shown.say() == NARRATION[1]


def test_the_line_of_source_stands_there_with_numbers_in(show):
    def my_ring(chunks, me, send, recv):
        size = len(chunks)
        for step in range(size - 1):
            send(chunks[(me - step) % size], (me + 1) % size)
            chunks[(me - step - 1) % size] += recv((me - 1) % size)
        for step in range(1, size):
            send(chunks[(me - step + 2) % size], (me + 1) % size)
            chunks[(me - step + 1) % size] = recv((me - 1) % size)
        return chunks

    shown = show(rl.show(traced(my_ring)))
    shown.press("ArrowRight", "ArrowRight")
    assert shown[".code strong"].all_inner_texts() == [
        "send(chunks[(1 - 1) % 4], (1 + 1) % 4)",
        "chunks[(1 - 1 - 1) % 4] += recv((1 - 1) % 4)",
    ]
    shown.press("End", "ArrowLeft")
    assert shown[".code strong"].all_inner_texts()[0] == "send(chunks[(1 - 3 + 2) % 4], (1 + 1) % 4)"


def test_numbers_that_do_not_lead_to_the_recorded_chunk_are_left_out(show):
    def odd(chunks, rank, send, recv):
        p = len(chunks)
        for k in range(p - 1):
            k = 7 - k
            send(chunks[(rank - k) % p], (rank + 1) % p)
            chunks[(rank - k - 1) % p] += recv((rank - 1) % p)
        return chunks

    shown = show(rl.show(traced(odd)))
    shown.press("ArrowRight")
    assert shown[".code strong"].first.inner_text() == "send(chunks[(1 - k) % 4], (1 + 1) % 4)"


def test_values_read_as_numbers_with_each_rank_at_its_place(show):
    shown = show(rl.show(traced()))
    shown.press("p", "v")
    cell = shown['.cells > [data-hit="cell 0 2"]'].first
    assert cell.locator(".digit").all_text_contents() == ["111"]
    fills = [slot.get_attribute("fill") for slot in cell.locator(".slot").all()]
    assert fills == ["var(--r3)", "var(--r2)", "var(--r0)"]
    assert shown.terms(1, 2) == "1111"


def test_a_double_count_is_marked_without_relying_on_colour(show):
    def twice(chunks, rank, send, recv):
        return rl.ring_allreduce(rl.ring_allreduce(chunks, rank, send, recv), rank, send, recv)

    shown = show(rl.show(traced(twice)))
    shown.press("End")
    cell = shown['.cells > [data-hit="cell 2 1"]'].first
    assert (cell.locator(".times").text_content(), cell.locator(".hatch").count()) == ("×4", 1)
    assert cell.locator(".tick").count() == 0
    assert shown.say().endswith("Every gradient was counted 4 times.")
    cell.hover()
    assert "ranks 0 4 times, 1 4 times" in shown[".tip"].inner_text()


def test_the_mixed_numbering_bug_ends_equal_and_incomplete(show):
    shown = show(rl.show(traced(rl.bugs.mixed_numbering)))
    shown.press("End")
    assert shown.say().endswith("0 of 16 chunks are complete.")
    assert {shown.terms(rank, 2) for rank in range(4)} == {"2"}


def test_a_failing_run_plays_up_to_the_failure_and_marks_it(show):
    shown = show(rl.show(killed(traced(), rank=2, round=1)))
    shown.press("End")
    assert shown.say() == "Rank 3 waits for c1 from rank 2, which died in round 1."
    assert shown[".card.dead .note"].text_content() == "died"
    assert shown[".missing"].count() == 3
    assert shown[".where"].inner_text() == "stopped"


def test_a_wrong_ring_is_shown_up_to_the_step_that_goes_wrong(show):
    def replaces(chunks, rank, send, recv):
        p = len(chunks)
        for k in range(2 * p - 2):
            send(chunks[(rank - k) % p], (rank + 1) % p)
            chunks[(rank - k - 1) % p] = recv((rank - 1) % p)
        return chunks

    verdict = rl.check(replaces)
    shown = show(rl.show(verdict))
    shown.press("End")
    assert shown.say()[1:].rstrip(".") in str(verdict)
    assert shown[".cells > .wrong:not(.ghost)"].count() == 1
    assert shown[".card.off .note"].text_content() == "goes wrong"


def test_as_it_happened_shows_who_is_behind_and_what_queues(show):
    trace = rl.run(rl.ring_allreduce, ranks=4).trace
    shown = show(rl.show(trace, times=True))
    shown.press("t")
    assert shown.say().startswith("As it happened, after 0 µs")
    for _ in range(7):
        shown.press("ArrowRight")
    assert re.search(r"\d+ messages? under way\. (Rank \d is \d rounds? behind rank \d|All ranks)", shown.say())
    assert shown[".card .note"].all_text_contents() != []
    shown.press("End")
    assert shown.say().startswith("As it happened: over after")
    assert shown.terms(3, 0) == "0123"
    shown.press("t", "Home")
    assert shown.step() == 0


def test_early_parcels_queue_before_their_receiver_and_hide_nothing(show):
    trace = rl.run(rl.ring_allreduce, wire="virtual", network=rl.Network(1, 0)).trace
    data = trace.to_dict()
    for program in data["programs"]:
        for event, _ in program:
            if event[0] == 2 and event[1] == "recv":
                event[8], event[9] = 99.0, 100.0  # rank 2 asks for everything late
    shown = show(rl.show(Trace.from_dict(data), times=True))
    shown.press("t", *["ArrowRight"] * 6)  # all that the others receive, a second a round
    assert shown[".parcels > *"].count() == 6
    assert sorted(shown[".parcels text"].all_text_contents()) == ["c0", "c0", "c1", "c1", "c2", "c3"]
    assert shown.say().endswith("Rank 2 is 6 rounds behind rank 0.")


def test_a_full_screen_is_filled(show):
    shown = show(rl.show(traced()), size=(1280, 720))
    shown.button("More").click()
    shown.button("Full screen").click()
    shown.page.wait_for_function("document.fullscreenElement?.matches('.ringlab-player')")
    shown.page.wait_for_function(
        "document.querySelector('.ringlab-player').shadowRoot.querySelector('.frame').style.zoom > 1.2"
    )
    box = shown[".frame"].bounding_box()
    assert box["height"] <= 721
    assert box["width"] > 1000


def test_two_runs_share_one_clock(show):
    shown = show(rl.show(traced(), beside=traced(rl.pass_around_allreduce)))
    assert shown["figcaption"].all_inner_texts() == ["ring_allreduce", "pass_around_allreduce"]
    shown.press("ArrowRight", "ArrowRight", "ArrowRight", "ArrowRight")
    first, second = shown.say().split("\n")
    assert first.startswith("ring_allreduce: Round 3, copying.")
    assert second.startswith("pass_around_allreduce: Done: 12 messages, 768 bytes")


def test_two_players_on_a_page_keep_apart(show):
    one = show(rl.show(traced()), rl.show(traced(rl.star_allreduce)))
    two = Shown(one.page, 1)
    two.press("ArrowRight")
    assert (one.step(), two.step()) == (0, 1)
    assert two.say().startswith("Round 0 of 6, adding. Rank 1 sends all chunks to rank 0.")
