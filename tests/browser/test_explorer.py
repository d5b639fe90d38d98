"""The explorer in the real JupyterLab: turned, run, stopped, a rank killed, its line copied; and its timeline."""

import pytest
from axe_playwright_python.sync_playwright import Axe

pytestmark = pytest.mark.browser


class Panel:
    """The panel of notebooks/explorer.ipynb in a page."""

    def __init__(self, opened):
        self.page = opened.page
        self.host = self.page.locator(".ringlab-explorer")
        self.answer = self.host.locator(".ringlab-answer")

    def __getitem__(self, selector):
        return self.host.locator(selector)

    def knob(self, name):
        return self.host.get_by_label(name, exact=True)

    def press(self, name):
        self.host.get_by_role("button", name=name, exact=True).click()

    def says(self, text):
        """Wait until the answer has this text."""
        self.answer.filter(has_text=text).wait_for()

    def findings(self):
        """What axe finds serious or critical inside the panel."""
        report = Axe().run(self.page, context=".ringlab-explorer")
        return [
            (found["id"], [node["html"][:160] for node in found["nodes"]])
            for found in report.response["violations"]
            if found["impact"] in ("serious", "critical")
        ]


@pytest.fixture
def panel(lesson):
    panel = Panel(lesson("explorer").run_all())
    panel.says("7.966 us of virtual time")
    panel["svg.main-svg"].first.wait_for()
    return panel


def test_a_knob_is_answered_a_run_is_stopped_a_rank_is_killed_and_the_line_is_copied(panel):
    page = panel.page
    assert page.locator(".ringlab-still").is_hidden()
    # A knob, by keyboard: the answer, the ring, the timeline and the numbers are those of another run.
    panel.knob("ranks").fill("8")
    panel.knob("ranks").press("Enter")
    panel.says("16.29 us of virtual time, 2.05 times as long as before. The model says 16.29 us.")
    panel["svg.main-svg"].filter(has_text="8 ranks, virtual time: 112 messages, 16.29 us").first.wait_for()
    panel["table.ringlab-ranks"].filter(has_text="114,688").wait_for()
    assert panel["table.ringlab-ranks tbody tr"].first.inner_text().split() == ["bytes", "sent", *["114,688"] * 8]
    page.wait_for_function("document.querySelector('.ringlab-explorer .ringlab-player').dataset.steps")
    panel.press("Step")
    page.wait_for_function("document.querySelector('.ringlab-explorer .ringlab-player').dataset.step == 1")
    panel["summary"].filter(has_text="The timeline in words").click()
    assert "critical path: 14 messages" in panel["pre[aria-label]"].inner_text()
    assert panel.findings() == []
    # Behind More: real processes, over a network so slow that there is time to stop them.
    panel.press("More knobs")
    panel.knob("wire").select_option("pipe")
    panel.knob("network").select_option("home upload")
    panel.knob("bytes").select_option("4 MiB")
    panel.says("You have changed something: press Run.")
    panel.press("Run")
    panel.says("Running.")
    panel.knob("rank").select_option("3")  # the page is not frozen
    panel.press("Stop")
    panel.says("INTERRUPTED: you stopped this run")
    # Killed while idle: a run is made for it, and says who died and who waited.
    panel.press("Kill rank")
    panel.says("KILLED: rank 3")
    panel["svg.main-svg"].filter(has_text="ended by KILLED").first.wait_for()
    assert panel.findings() == []
    # The line that opens the explorer here.
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    panel.press("Copy")
    panel["[role=status]"].filter(has_text="copied").wait_for()
    line = "rl.explore(ranks=8, nbytes=4194304, algorithm='ring', wire='pipe', network='home upload')"
    assert page.evaluate("navigator.clipboard.readText()") == line
