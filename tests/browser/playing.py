"""A player on a plain page without a kernel, and what a learner sees of it.

Test files import `opening`, the fixture `show`, from here; it needs the `browser` of conftest.py.
"""

import pytest

import ringlab as rl
from ringlab.trace import Trace

PAGE = """<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><title>A run</title><meta name="viewport" content="width=device-width">%s</head>
<body%s><main><h1>A run</h1>%s<button id="after">After</button></main></body>
</html>"""


def traced(algorithm=rl.ring_allreduce, ranks=4, **options):
    return rl.run(algorithm, ranks=ranks, wire="virtual", **options).trace


def killed(trace, rank, round):
    """The trace as far as it gets when `rank` dies before its messages of `round`."""
    programs = [list(trace.by_rank(r)) for r in range(trace.ranks)]
    programs[rank] = [row for row in programs[rank] if row[0].round < round]
    done = [0] * trace.ranks
    sent = {}
    moved = True
    while moved:
        moved = False
        for r, program in enumerate(programs):
            while done[r] < len(program):
                event = program[done[r]][0]
                link = (event.peer, r) if event.kind == "recv" else (r, event.peer)
                if event.kind == "recv" and not sent.get(link):
                    break
                sent[link] = sent.get(link, 0) + (1 if event.kind == "send" else -1)
                done[r] += 1
                moved = True
    waiting = [
        (r, programs[r][done[r]][0].peer, programs[r][done[r]][0].chunks[0])
        for r in range(trace.ranks)
        if done[r] < len(programs[r])
    ]
    programs = [program[:n] for program, n in zip(programs, done, strict=True)]
    rounds = 1 + max(event.round for program in programs for event, _ in program)
    text = f"rank {rank} was killed by signal 9 (SIGKILL) in round {round} of {trace.rounds}"
    failure = {"verdict": "KILLED", "rank": rank, "round": round, "text": text, "waiting": waiting}
    return Trace(programs, trace.ranks, rounds, trace.algorithm, trace.op, trace.values, trace.source, failure)


# What is said about the ring of four ranks, stop by stop.
NARRATION = [
    "Round 0 of 6, adding. Every rank sends its own chunk. Rank 1 gets c0: 10 + 1 = 11, ranks 0 and 1.",
    "Round 1. Every rank sends on what it just received. Rank 1 gets c3: 10 + 1001 = 1011, ranks 0, 1 and 3.",
    "Round 2. Rank 1 gets c2: 10 + 1101 = 1111, complete.",
    "Adding is over: one complete chunk per rank. Same sends from here; receivers copy.",
    "Round 3, copying. Rank 1 gets c1: 1111 replaces 10.",
    "Round 4. Rank 1 gets c0: 1111 replaces 11.",
    "Round 5. Rank 1 gets c3: 1111 replaces 1011.",
    "Done: 24 messages, 384 bytes; rank 1 sent 96, 1.5 times its buffer.",
]


class Shown:
    """One player on a page: what a learner sees of it."""

    def __init__(self, page, nth=0):
        self.page = page
        self.host = page.locator(".ringlab-player").nth(nth)

    def __getitem__(self, css):
        return self.host.locator(css)

    def say(self):
        return self[".say"].inner_text()

    def aloud(self):
        return self[".aloud"].inner_text()

    def step(self):
        return int(self.host.get_attribute("data-step"))

    def press(self, *names):
        self.host.focus()
        for name in names:
            self.page.keyboard.press(name)

    def button(self, name):
        return self.host.get_by_role("button", name=name, exact=True)

    def terms(self, rank, chunk):
        """The digits that stand in a cell of the matrix."""
        return "".join(self[f'.cells > [data-hit="cell {rank} {chunk}"]'].first.locator(".digit").all_text_contents())

    def parcels(self):
        return self[".parcels > *"].count()

    def open_table(self):
        """Unfold the table of all rounds. A page hears of it only a moment after the click."""
        self["details"].evaluate("""details => new Promise((heard) => {
            details.addEventListener("toggle", () => heard(), { once: true });
            details.querySelector("summary").click();
        })""")

    def picture(self):
        """Width in pixels of the still picture, decoded."""
        return self["img"].evaluate("image => image.decode().then(() => image.naturalWidth)")


@pytest.fixture(name="show")
def opening(browser, tmp_path):
    """show(player, ...) opens a page of it; afterwards no script may have failed, and nothing been asked outside."""
    pages = []

    def opened(*players, html=None, theme=None, clock=False, size=(900, 760), head="", **context):
        page = browser.new_context(viewport={"width": size[0], "height": size[1]}, **context).new_page()
        pages.append(page)
        page.errors, page.requests = [], []
        page.on("pageerror", lambda error: page.errors.append(str(error)))
        page.on("console", lambda message: message.type == "error" and page.errors.append(message.text))
        page.on("request", lambda request: page.requests.append(request.url))
        if clock:
            page.clock.install()
        body = "".join(one._repr_html_() for one in players) if html is None else html
        file = tmp_path / f"{len(pages)}.html"
        theme = "" if theme is None else f' data-jp-theme-light="{"false" if theme == "dark" else "true"}"'
        file.write_text(PAGE % (head, theme, body), encoding="utf-8")
        page.goto(file.as_uri())
        for nth in range(len(players)):
            page.wait_for_function("n => document.querySelectorAll('[data-steps]').length > n", arg=nth)
        if clock:  # from now on time passes only by clock.run_for
            page.clock.pause_at(page.evaluate("Date.now() + 1000"))
        return Shown(page)

    yield opened
    for page in pages:
        assert page.errors == []
        assert [url for url in page.requests if not url.startswith(("file:", "data:"))] == []
        page.context.close()
