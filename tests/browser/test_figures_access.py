"""The figures of every lesson, as its master holds them, on a page of their own: nothing serious for axe."""

import importlib.resources
import json

import harness
import pytest
from axe_playwright_python.sync_playwright import Axe
from playing import opening  # noqa: F401

from ringlab.views.figures import MIME

pytestmark = pytest.mark.browser
MASTERS = sorted((harness.ROOT / "notebooks").glob("*.ipynb"))


def _text(shown):
    return "".join(shown) if isinstance(shown, list) else shown


def outputs(kind):
    """(lesson and cell, what it shows) of all outputs of a kind; of a lesson's players the first one."""
    found = []
    for master in MASTERS:
        cells = json.loads(master.read_text(encoding="utf-8"))["cells"]
        mine = [
            (f"{master.stem} {cell['id']}", _text(output["data"][kind]))
            for cell in cells
            for output in cell.get("outputs", ())
            if kind in output.get("data", {})
        ]
        players = [one for one in mine if "mountRing" in one[1]]
        found += [one for one in mine if one not in players[1:]]
    return found


def findings(page):
    report = Axe().run(page, options={"resultTypes": ["violations"]})
    return [
        (found["id"], [node["html"][:200] for node in found["nodes"]])
        for found in report.response["violations"]
        if found["impact"] in ("serious", "critical")
    ]


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_nothing_serious_in_what_lessons_show(show, theme):
    shown = outputs("text/html")
    players = sum("mountRing" in text for _, text in shown)
    assert players >= 3
    sections = [f"<section aria-label='{where}'>{text}</section>" for where, text in shown]
    ground = f"<style>body {{ background: {'#131316; color: #f0f0f3' if theme == 'dark' else '#fff'} }}</style>"
    page = show(html="".join(sections), theme=theme, head=ground).page
    page.wait_for_function("n => document.querySelectorAll('[data-steps]').length === n", arg=players)
    assert findings(page) == []


def test_axe_finds_nothing_serious_in_the_curves_of_lessons(show):
    page = show(html="").page
    page.add_script_tag(path=str(importlib.resources.files("plotly") / "package_data" / "plotly.min.js"))
    curves = {where.split()[0]: figure for where, figure in outputs(MIME)}  # the last one of each lesson
    assert len(curves) >= 5
    for figure in curves.values():
        page.evaluate(
            """({ data, layout }) => Plotly.newPlot(
                document.querySelector("main").appendChild(document.createElement("div")), data, layout)""",
            figure,
        )
    assert findings(page) == []
