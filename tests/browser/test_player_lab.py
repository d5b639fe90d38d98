"""The player in the real JupyterLab: its keys are its own, its looks follow the theme, a saved notebook keeps it."""

import json

import harness
import pytest
from playing import NARRATION, Shown

import ringlab as rl

pytestmark = pytest.mark.browser
FIRST = "00_start_here"


def cells(page):
    return page.locator(".jp-Notebook .jp-Cell").count()


def test_the_ring_is_stepped_and_played_in_the_notebook(lesson):
    """In the dark: all other lessons run in the light."""
    opened = lesson(FIRST, "dark").run_all()
    assert opened.page.locator("body").get_attribute("data-jp-theme-light") == "false"
    assert opened.cells_in_red() == opened.red()
    page, shown = opened.page, Shown(opened.page)
    page.locator(".ringlab-player[data-steps]").first.wait_for()
    shown.host.scroll_into_view_if_needed()
    before = cells(page)
    # By keyboard, with what JupyterLab's command mode would take for "delete", "cut", "insert above" and "run".
    shown["svg.stage"].click(position={"x": 5, "y": 5})
    for name in ("ArrowRight", "d", "d", "x", "a", "b", "m", "ArrowRight", "z"):
        page.keyboard.press(name)
    assert cells(page) == before
    shown.press("Home", "ArrowRight", "ArrowRight")
    assert shown.say() == NARRATION[1]
    # By mouse.
    shown.button("Back").click()
    assert shown.say() == NARRATION[0]
    shown[".play"].click()
    page.wait_for_function("document.querySelector('.ringlab-player').dataset.step == 8")
    assert shown.say() == NARRATION[-1]
    # The looks are the theme's.
    light = shown[".frame"].evaluate("frame => getComputedStyle(frame).backgroundColor")
    assert light == page.locator(".jp-Notebook").first.evaluate("node => getComputedStyle(node).backgroundColor")
    assert shown[".frame.dark"].count() == 1
    # Shift+Enter goes on to the next cell, it does not run this one again; Ctrl+S saves.
    page.keyboard.press("Control+s")
    page.wait_for_function("!document.querySelector('.jp-mod-current.jp-mod-dirty')")
    page.keyboard.press("Shift+Enter")
    page.locator(".jp-Notebook .jp-Cell").nth(before).wait_for()  # after the last cell comes a new one
    assert shown.step() == 8
    # Escape gives the notebook its keys back.
    shown.press("Escape")
    assert page.evaluate("document.activeElement.closest('.ringlab-player')") is None


def open_notebook(page, server, name, *cells):
    """Open a new notebook of these code cells."""
    notebook = {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    (server.folder / "my-lessons" / name).write_text(json.dumps(notebook), encoding="utf-8")
    page.goto(f"{server.base}lab/tree/{name}?reset&token={server.token}", timeout=1000 * harness.SECONDS)


def code(number, source, *outputs):
    about = {"cell_type": "code", "id": f"cell-{number}", "metadata": {}, "execution_count": None}
    return {**about, "source": source, "outputs": list(outputs)}


# anywidget's two seconds are over before any script can have been loaded.
NO_TIME = """AbortSignal.timeout = () => {
  const over = new AbortController();
  queueMicrotask(() => over.abort());
  return over.signal;
};"""


@pytest.mark.parametrize("slow", [False, True])
def test_a_live_player_goes_both_ways(page, server, slow):
    if slow:
        page.add_init_script(NO_TIME)
    first = "import ringlab as rl\n\nplayer = rl.live(rl.run(rl.ring_allreduce, wire='virtual'))\nplayer"
    open_notebook(
        page,
        server,
        "live.ipynb",
        code(1, first),
        code(2, "player.step = 4\nplayer"),
        code(3, "print('at', player.step)"),
    )
    page.get_by_text("Python 3 (ipykernel) | Idle").wait_for(timeout=1000 * harness.SECONDS)
    page.locator(".jp-Notebook .cm-content").first.click()
    page.keyboard.press("Shift+Enter")
    shown = Shown(page)
    page.locator(".ringlab-player[data-steps]").first.wait_for(timeout=1000 * harness.SECONDS)
    page.keyboard.press("Shift+Enter")
    page.wait_for_function("document.querySelectorAll('.ringlab-player[data-step=\"4\"]').length == 2")
    assert shown.say() == NARRATION[3]
    shown.press("ArrowRight", "ArrowRight")
    page.wait_for_function("document.querySelectorAll('.ringlab-player[data-step=\"6\"]').length == 2")
    page.locator(".jp-Notebook .cm-content").last.click()
    page.keyboard.press("Shift+Enter")
    page.get_by_text("at 6", exact=True).wait_for()
    assert any("Failed to initialize model" in error for error in page.errors) == slow


def test_a_guess_is_answered_on_a_slow_page(page, server):
    page.add_init_script(NO_TIME)
    ask = "import ringlab as rl\n\nasked = rl.predict('How many?', ['one', 'two'])"
    open_notebook(page, server, "guess.ipynb", code(1, ask), code(2, "asked.reveal('two')"))
    page.get_by_text("Python 3 (ipykernel) | Idle").wait_for(timeout=1000 * harness.SECONDS)
    page.locator(".jp-Notebook .cm-content").first.click()
    page.keyboard.press("Shift+Enter")
    page.get_by_role("button", name="one").click(timeout=1000 * harness.SECONDS)
    page.locator(".jp-Notebook .cm-content").last.click()
    page.keyboard.press("Shift+Enter")
    page.locator(".ringlab-right").get_by_text("two").wait_for()


def test_a_saved_notebook_shows_the_picture_before_it_is_trusted(page, server):
    shown = rl.show(rl.run(rl.ring_allreduce, wire="virtual").trace)
    output = {
        "output_type": "execute_result",
        "execution_count": 1,
        "metadata": {},
        "data": {"text/html": shown._repr_html_(), "text/plain": repr(shown)},
    }
    open_notebook(page, server, "saved.ipynb", code(1, "", output))
    picture = page.locator(".jp-OutputArea-output img")
    picture.wait_for(timeout=1000 * harness.SECONDS)
    assert picture.evaluate("image => image.decode().then(() => image.naturalWidth)") > 300
    assert picture.get_attribute("alt").startswith("Still picture of the player: ring_allreduce, 4 ranks")
    assert page.locator("[data-steps]").count() == 0
    # A server that is told to stop while a kernel starts waits for it, up to a minute.
    page.get_by_text("Python 3 (ipykernel) | Idle").wait_for(timeout=1000 * harness.SECONDS)
