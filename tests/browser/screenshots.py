"""Pictures of every lesson after a run and of every state of the player, in light and dark.

    python3 lab.py screenshots [FOLDER] [NAME ...]     NAME: the beginning of a lesson or of a player's name
    python3 lab.py screenshots --readme                makes the README's picture again

A lesson is one tall picture, the whole notebook on it. They go to a folder that git ignores: for looking at, not for
comparing.
"""

import sys
import tempfile
from pathlib import Path

import harness
from playing import PAGE, Shown, killed, traced

import ringlab as rl

TALLEST = 16_000  # pixels; Chromium's pictures end there
README = harness.ROOT / "notebooks" / "pictures" / "ring.png"


def picture(lesson, path):
    """Save one picture that shows the whole notebook."""
    inner = ".jp-WindowedPanel-outer"
    height = lesson.page.evaluate(f"document.querySelector('{inner}').scrollHeight") + 120
    lesson.page.set_viewport_size({"width": 1400, "height": min(height, TALLEST)})
    lesson.page.evaluate(f"document.querySelector('{inner}').scrollTo(0, 0)")
    lesson.page.screenshot(path=path)


# -- states of the player --------------------------------------------------------------------------------------------


def adds_always(chunks, rank, send, recv):
    """A ring that adds where it should copy."""
    p = len(chunks)
    for k in range(2 * p - 2):
        send(chunks[(rank - k) % p], (rank + 1) % p)
        chunks[(rank - k - 1) % p] += recv((rank - 1) % p)
    return chunks


def receives_first(chunks, rank, send, recv):
    """A ring in which everybody waits."""
    chunks[rank - 1] += recv((rank - 1) % len(chunks))
    send(chunks[rank], (rank + 1) % len(chunks))
    return chunks


def open_more(shown):
    shown.press("ArrowRight", "ArrowRight", "?")
    shown.button("More").click()
    shown.open_table()


def point_at(shown):
    shown.press("ArrowRight", "ArrowRight")
    shown['[data-hit="cell 0 2"]'].first.click()
    shown['[data-hit="cell 2 0"]'].first.hover()


def by_keys(*names):
    return lambda shown: shown.press(*names)


def times():
    return rl.show(rl.run(rl.ring_allreduce).trace, times=True)


# name -> (what is shown, what is done with it, width of the page)
STATES = {
    "start": (lambda: rl.show(traced()), by_keys(), 900),
    "round": (lambda: rl.show(traced()), by_keys("ArrowRight", "ArrowRight"), 900),
    "values": (lambda: rl.show(traced()), by_keys("p", "v"), 900),
    "history": (lambda: rl.show(traced()), point_at, 900),
    "end": (lambda: rl.show(traced()), by_keys("End"), 900),
    "more": (lambda: rl.show(traced()), open_more, 900),
    "asked": (lambda: rl.show(traced(), ask=1), by_keys("1", "3"), 900),
    "killed": (lambda: rl.show(killed(traced(), rank=2, round=1)), by_keys("End"), 900),
    "deadlock": (lambda: rl.show(rl.check(receives_first)), by_keys("End"), 900),
    "wrong": (lambda: rl.show(rl.check(adds_always)), by_keys("End"), 900),
    "times": (times, by_keys("t", *["ArrowRight"] * 7), 900),
    "beside": (lambda: rl.show(traced(), beside=traced(rl.star_allreduce)), by_keys("ArrowRight"), 900),
    "narrow": (lambda: rl.show(traced()), by_keys("ArrowRight", "ArrowRight"), 400),
    "narrow-pair": (lambda: rl.show(traced(), beside=traced(rl.star_allreduce)), by_keys("ArrowRight"), 400),
    **{
        f"ranks-{ranks}": (lambda ranks=ranks: rl.show(traced(ranks=ranks)), by_keys("ArrowRight", "ArrowRight"), 900)
        for ranks in (1, 2, 3, 5, 8, 16, 24, 80)
    },
    **{
        f"with-{name}": (lambda f=f: rl.show(traced(f)), by_keys("ArrowRight", "ArrowRight"), 900)
        for name, f in rl.ALGORITHMS.items()
        if name != "ring"
    },
}


def opened(browser, folder, html, theme="light", width=900, **context):
    """A page with a player on it, which moves at once."""
    size = {"width": width, "height": 700}
    page = browser.new_context(viewport=size, reduced_motion="reduce", **context).new_page()
    file = Path(folder) / "page.html"
    dark = f' data-jp-theme-light="{str(theme == "light").lower()}" style="background:{GROUND[theme]}"'
    file.write_text(PAGE % ("", dark, html), encoding="utf-8")
    page.goto(file.as_uri())
    page.evaluate("for (const extra of document.querySelectorAll('h1, #after')) extra.remove()")
    return page


GROUND = {"light": "#fff", "dark": "#131316"}


def player_pictures(browser, folder, home, names):
    for name in names:
        make, act, width = STATES[name]
        html = make()._repr_html_()
        for theme in ("light", "dark"):
            page = opened(browser, home, html, theme, width)
            page.locator("[data-steps]").wait_for()
            act(Shown(page))
            save(page, folder / f"player-{name}-{theme}.png")
        page = opened(browser, home, html)
        page.emulate_media(media="print")
        save(page, folder / f"player-{name}-print.png")


def save(page, path):
    page.screenshot(path=path, full_page=True)
    page.context.close()
    print(path, flush=True)


def readme_picture(browser, home):
    """After round 1, in the size that the README has room for."""
    page = opened(browser, home, rl.show(traced())._repr_html_(), width=750, device_scale_factor=1.6)
    page.locator("[data-steps]").wait_for()
    by_keys("ArrowRight", "ArrowRight")(Shown(page))
    page.evaluate("document.activeElement.blur()")
    page.locator("body").screenshot(path=README)
    page.context.close()
    print(README)


# -- all of it -------------------------------------------------------------------------------------------------------


def lesson_pictures(browser, server, folder, names):
    for name in names:
        for theme in ("light", "dark"):
            with harness.page_of(browser, server) as page:
                picture(harness.Lesson(page, server, name).open(theme).run_all(), folder / f"{name}-{theme}.png")
            server.end_kernels()
            print(folder / f"{name}-{theme}.png", flush=True)


def main(argv):
    words = list(argv)
    with tempfile.TemporaryDirectory() as home, harness.chromium() as browser:
        if words == ["--readme"]:
            return readme_picture(browser, home)
        folder = Path(words.pop(0) if words else harness.ROOT / "screenshots")
        folder.mkdir(parents=True, exist_ok=True)
        lessons = sorted(path.stem for path in (harness.ROOT / "notebooks").glob("*.ipynb"))

        def chosen(names, start=""):
            return [name for name in names if not words or any(f"{start}{name}".startswith(word) for word in words)]

        player_pictures(browser, folder, home, chosen(STATES, "player-"))
        if chosen(lessons):
            with harness.lab(home) as server:
                lesson_pictures(browser, server, folder, chosen(lessons))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
