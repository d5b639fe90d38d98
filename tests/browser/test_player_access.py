"""The player for everybody: motion, contrast, axe, tables, any width, paper, pages without scripts."""

import re

import pytest
from axe_playwright_python.sync_playwright import Axe
from playing import killed, opening, traced  # noqa: F401

import ringlab as rl

pytestmark = pytest.mark.browser


def test_reduced_motion_jumps_and_outlines_what_changed(show):
    shown = show(rl.show(traced()), reduced_motion="reduce")
    shown.press("ArrowRight")
    assert (shown.parcels(), shown.terms(1, 0)) == (0, "01")
    assert shown[".cells > .changed:not(.ghost)"].count() == 4


def paper(shown):
    return shown.page.evaluate(
        "getComputedStyle(document.querySelector('.ringlab-player').shadowRoot.querySelector('.frame')).backgroundColor"
    )


def test_dark_follows_the_notebook_before_the_system(show):
    light = show(rl.show(traced()))
    assert paper(light) == "rgb(255, 255, 255)"
    assert paper(show(rl.show(traced()), color_scheme="dark")) == "rgb(19, 19, 22)"
    shown = show(rl.show(traced()), color_scheme="dark", theme="light")
    assert paper(shown) == "rgb(255, 255, 255)"
    shown.page.evaluate("document.body.dataset.jpThemeLight = 'false'")
    shown.page.wait_for_function(
        "document.querySelector('.ringlab-player').shadowRoot.querySelector('.frame.dark') !== null"
    )
    assert paper(shown) == "rgb(19, 19, 22)"


CONTRAST = """() => {
  const frame = document.querySelector(".ringlab-player").shadowRoot.querySelector(".frame");
  const probe = document.createElement("span");
  frame.append(probe);
  const channel = (c) => (c /= 255) <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
  const light = (colour) => {
    probe.style.color = colour;
    const [r, g, b] = getComputedStyle(probe).color.match(/[\\d.]+/g).map(Number).map(channel);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const contrast = (a, b) => {
    const [x, y] = [light(a), light(b)].sort((p, q) => q - p);
    return (x + 0.05) / (y + 0.05);
  };
  const texts = {}, steps = [];
  for (const name of ["ink", "soft", "bad"])
    for (const ground of ["paper", "band"])
      texts[`${name} on ${ground}`] = contrast(`var(--${name})`, `var(--${ground})`);
  for (let r = 0; r < 8; r++) texts[`digit on rank ${r}`] = contrast("#141416", `var(--r${r})`);
  for (let r = 1; r < 8; r++) steps.push(contrast(`var(--r${r - 1})`, `var(--r${r})`));
  probe.remove();
  return [texts, Math.min(...steps)];
}"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_has_contrast_and_neighbouring_ranks_differ_in_lightness(show, scheme):
    shown = show(rl.show(traced()), color_scheme=scheme)
    texts, least_step = shown.page.evaluate(CONTRAST)
    assert {pair: ratio for pair, ratio in texts.items() if ratio < 4.5} == {}
    assert least_step > 1.3


def findings(shown):
    report = Axe().run(shown.page)
    return [
        (found["id"], [node["html"][:200] for node in found["nodes"]])
        for found in report.response["violations"]
        if found["impact"] in ("serious", "critical")
    ]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious(show, scheme):
    shown = show(rl.show(traced()), color_scheme=scheme)
    assert findings(shown) == []
    shown.press("ArrowRight", "ArrowRight", "Enter", "?")
    shown.button("More").click()
    shown.open_table()
    assert findings(shown) == []


def test_axe_finds_nothing_serious_in_questions_failures_and_pairs(show):
    asked = show(rl.show(traced(), ask=1))
    asked.press("3")
    assert findings(asked) == []
    failed = show(rl.show(killed(traced(), rank=2, round=1)))
    failed.press("End")
    assert findings(failed) == []
    assert findings(show(rl.show(traced(), beside=traced(rl.tree_allreduce)), size=(420, 900))) == []


def test_the_table_says_all_that_the_picture_shows(show):
    shown = show(rl.show(traced()))
    shown.open_table()
    rows = [row.inner_text().split("\t") for row in shown["tbody tr"].all()]
    assert [row[0] for row in rows] == [*(f"{t}, adding" for t in range(3)), *(f"{t}, copying" for t in range(3, 6))]
    assert rows[1][2] == "sends c0 01·· to 2\ngets c3 0··3\nholds c3 01·3"


FITTED = """() => {
  const root = document.querySelector(".ringlab-player").shadowRoot;
  const room = Math.min(856, Math.floor(root.querySelector(".scenery").clientWidth));
  return root.querySelector(".stage").viewBox.baseVal.width === room;
}"""

OUTSIDE = """() => {
  const root = document.querySelector(".ringlab-player").shadowRoot;
  const problems = [];
  for (const svg of root.querySelectorAll("svg")) {
    const box = svg.getBoundingClientRect();
    const scale = svg.viewBox.baseVal.width ? box.width / svg.viewBox.baseVal.width : 1;
    for (const text of svg.querySelectorAll("text")) {
      const at = text.getBoundingClientRect();
      const size = parseFloat(getComputedStyle(text).fontSize) * scale;
      const across = at.left < box.left - 1 || at.right > box.right + 1;
      if (across || at.top < box.top - 1 || at.bottom > box.bottom + 2)
        problems.push(`outside: ${text.textContent}`);
      if (size < 10.95) problems.push(`small: ${text.textContent} ${size}`);
    }
  }
  if (document.documentElement.scrollWidth > innerWidth) problems.push("the page scrolls sideways");
  const names = [...root.querySelectorAll(".names text, .card .title, .card .chunk")];
  names.forEach((a, i) => names.slice(i + 1).forEach((b) => {
    const [p, q] = [a.getBoundingClientRect(), b.getBoundingClientRect()];
    if (p.right > q.left + 1 && q.right > p.left + 1 && p.bottom > q.top + 3 && q.bottom > p.top + 3)
      problems.push(`${a.textContent} meets ${b.textContent}`);
  }));
  const cards = [...root.querySelectorAll(".card > .box")].map((x) => x.getBoundingClientRect());
  cards.forEach((p, i) => cards.slice(i + 1).forEach((q) => {
    if (p.right > q.left && q.right > p.left && p.bottom > q.top && q.bottom > p.top) problems.push("cards meet");
  }));
  return problems;
}"""


@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 24])
def test_nothing_is_cut_off_or_too_small_at_any_width(show, ranks):
    shown = show(rl.show(traced(ranks=ranks)))
    shown.press("ArrowRight", "ArrowRight", "ArrowLeft")
    for width in (360, 420, 559, 600, 700, 760, 900, 1300):
        shown.page.set_viewport_size({"width": width, "height": 900})
        # The player follows its size after a frame or two.
        shown.page.wait_for_function(FITTED)
        assert (width, shown.page.evaluate(OUTSIDE)) == (width, [])


def test_a_narrow_page_has_the_matrix_first_and_buttons_for_fingers(show):
    shown = show(rl.show(traced()), size=(400, 800))
    matrix = shown['.cells > [data-hit="cell 0 0"]'].first.bounding_box()
    assert shown[".card"].first.bounding_box()["y"] > matrix["y"]
    for button in shown["button:visible"].all():
        box = button.bounding_box()
        assert min(box["width"], box["height"]) >= 44


def test_paper_gets_the_still_picture(show):
    shown = show(rl.show(traced()))
    shown.page.emulate_media(media="print")
    assert shown["img"].is_visible()
    assert not shown[".frame"].is_visible()
    assert shown.picture() > 300


def test_without_its_script_the_picture_stays(show):
    html = re.sub(r"<script>.*?</script>", "", rl.show(traced())._repr_html_(), flags=re.DOTALL)
    shown = show(html=html)
    assert shown["img"].is_visible()
    assert shown.picture() > 300


def test_a_page_that_forbids_evaluated_scripts_keeps_the_picture(show):
    policy = """<meta http-equiv="Content-Security-Policy" content="script-src 'unsafe-inline'">"""
    shown = show(html=rl.show(traced())._repr_html_(), head=policy)
    shown.page.wait_for_function("() => !document.querySelector('img').hidden")
    assert shown["img"].is_visible()
    assert shown.page.errors != []
    shown.page.errors.clear()
