"""The real JupyterLab, started as lab.py starts it, and headless Chromium, with everything outside blocked and noted.

    with lab(folder) as server, chromium() as browser:
        with page_of(browser, server) as page:
            lesson = Lesson(page, server, "00_start_here")
            lesson.open(theme="dark")
            lesson.run_all()

Nothing of the user's is touched: the server has a HOME, copies of the lessons and settings of its own in `folder`.
"""

import contextlib
import json
import os
import shutil
import socket
import socketserver
import subprocess
import sys
import threading
import urllib.request
from pathlib import Path

from playwright.sync_api import sync_playwright

from ringlab.lab import copies

ROOT = Path(__file__).resolve().parents[2]
CHROMIUM = ("chromium", "chromium-browser", "google-chrome")
FLAGS = [
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-component-update"),
    *("--disable-background-networking", "--disable-sync", "--disable-domain-reliability", "--no-pings"),
    "--disable-features=OptimizationHints,MediaRouter,Translate,AutofillServerCommunication,InterestFeedContentSuggestions",
]
SECONDS = 300  # for a lesson to run; a busy machine is slow, and a wait that is over goes on at once


class Refusing(socketserver.ThreadingTCPServer):
    """A proxy that refuses everything and remembers what was asked: whatever goes outside comes here."""

    daemon_threads = True

    def __init__(self):
        self.asked = []
        super().__init__(("127.0.0.1", 0), RefusingHandler)
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def address(self):
        return f"http://127.0.0.1:{self.server_address[1]}"


class RefusingHandler(socketserver.StreamRequestHandler):
    def handle(self):
        words = self.rfile.readline(4096).decode("latin-1").split()
        self.server.asked.append(" ".join(words[:2]))
        self.wfile.write(b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")


class Server:
    """A running lab: its address, and all that was asked of the outside since the last look."""

    def __init__(self, process, address, folder, proxy, audit):
        self.process, self.address, self.folder = process, address, folder
        self.base, _, self.token = address.partition("lab/tree")[0], *address.partition("token=")[1:]
        self.proxy, self.audit, self.requests = proxy, audit, []

    def api(self, method, path, body=None):
        """One call of JupyterLab's own interface; gives what it answers."""
        request = urllib.request.Request(self.base + path, method=method)
        request.add_header("Authorization", f"token {self.token}")
        request.add_header("Content-Type", "application/json")
        with OPENER.open(request, json.dumps(body).encode() if body is not None else None, timeout=30) as answer:
            text = answer.read()
        return json.loads(text) if text else None

    def asked_outside(self):
        """What the pages, Chromium, the server, the kernels and the ranks asked of other machines; and forget it."""
        asked = [*self.requests, *self.proxy.asked, *self.audit.read_text().splitlines()]
        self.requests.clear()
        self.proxy.asked.clear()
        self.audit.write_text("")
        return asked

    def set_theme(self, theme):
        """ "light" or "dark", for pages opened from now on."""
        raw = json.dumps({"theme": f"JupyterLab {theme.title()}"})
        self.api("PUT", "lab/api/settings/@jupyterlab/apputils-extension:themes", {"raw": raw})

    def end_kernels(self):
        for session in self.api("GET", "api/sessions"):
            self.api("DELETE", f"api/sessions/{session['id']}")


OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))  # to this machine, whatever proxy is set


@contextlib.contextmanager
def lab(folder):
    """`ringlab lab` with `folder` for its HOME and its copies, until the block ends."""
    folder, proxy = Path(folder), Refusing()
    (folder / "home").mkdir(parents=True, exist_ok=True)
    audit = folder / "audit"
    audit.write_text("")
    env = os.environ | {
        "HOME": str(folder / "home"),
        "RINGLAB_LESSONS": str(folder / "my-lessons"),
        "RINGLAB_AUDIT": str(audit),
        "PYTHONPATH": os.pathsep.join([str(ROOT / "tests" / "browser" / "audit"), str(ROOT)]),
        "NO_PROXY": "127.0.0.1,localhost",
        **dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"), proxy.address),
    }
    env = {key: value for key, value in env.items() if not key.startswith(("XDG_", "JUPYTER", "http_", "https_"))}
    with socket.socket() as probe:  # a port from the system's own pool, which hands out no number twice in a row
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "ringlab", "lab", "--no-browser", f"--port={port}"]
    log = folder / "lab.log"
    with log.open("w") as errors:
        process = subprocess.Popen(command, cwd=ROOT, env=env, stdout=subprocess.PIPE, stderr=errors, text=True)
    try:
        address = next((line.strip() for line in process.stdout if "token=" in line), None)
        if address is None:
            raise RuntimeError(f"the lab did not start:\n{log.read_text()}")
        threading.Thread(target=process.stdout.read, daemon=True).start()  # so that it never waits for a reader
        yield Server(process, address, folder, proxy, audit)
    finally:
        process.terminate()
        process.wait(timeout=120)
        process.stdout.close()
        proxy.shutdown()
        proxy.server_close()


def chromium_path():
    """Where Chromium is; raises FileNotFoundError, since a browser test that is skipped tells nobody anything."""
    path = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, CHROMIUM)), None)
    if path is None:
        raise FileNotFoundError("Chromium is not here: apt-get install chromium, or set CHROMIUM to where it is")
    return path


@contextlib.contextmanager
def chromium():
    """A headless Chromium with a profile of its own."""
    path = chromium_path()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, headless=True, args=FLAGS)
        try:
            yield browser
        finally:
            browser.close()


@contextlib.contextmanager
def page_of(browser, server, **options):
    """A fresh page: requests to anything but `server` are noted and refused, errors of scripts are in page.errors."""
    settings = {"viewport": {"width": 1400, "height": 1000}, "service_workers": "block"} | options
    context = browser.new_context(proxy={"server": server.proxy.address, "bypass": "127.0.0.1"}, **settings)

    def judge(route):
        url = route.request.url
        if url.startswith((server.base, "data:", "blob:")):
            route.continue_()
        else:
            server.requests.append(url)
            route.abort()

    context.route("**/*", judge)
    page = context.new_page()
    page.set_default_timeout(60_000)
    page.set_default_navigation_timeout(120_000)
    page.errors = []
    page.on("pageerror", lambda error: page.errors.append(str(error)))
    try:
        yield page
    finally:
        context.close()


class Lesson:
    """One lesson in a page: opened from a fresh copy, run, looked at."""

    def __init__(self, page, server, name):
        self.page, self.server, self.name = page, server, name
        self.master = ROOT / "notebooks" / f"{name}.ipynb"

    def cells(self):
        """The master's cells, as dicts."""
        return json.loads(self.master.read_text(encoding="utf-8"))["cells"]

    def open(self, theme="light"):
        """Open a fresh copy, and wait until its kernel is idle."""
        copy = self.server.folder / "my-lessons" / self.master.name
        copy.unlink(missing_ok=True)
        copies.write_new(self.master, copy)
        self.server.set_theme(theme)
        self.page.goto(f"{self.server.base}lab/tree/{copy.name}?reset&token={self.server.token}")
        self.page.wait_for_selector(".jp-Notebook .jp-Cell", timeout=120_000)
        self.page.get_by_text("Python 3 (ipykernel) | Idle").wait_for(timeout=120_000)
        return self

    def run_all(self):
        """Run > Run All Cells, by the menu, and wait until all have run, or one shows an error that it should not.

        (After an error that is the lesson, JupyterLab shows the cells that wait as if they did not, so that an
        empty prompt says nothing.) Gives the lesson.
        """
        self.page.get_by_role("menuitem", name="Run", exact=True).click()
        self.page.get_by_role("menuitem", name="Run All Cells", exact=True).click()
        self.page.wait_for_function(
            r"""([code, red]) => {
                const cells = [...document.querySelectorAll('.jp-Notebook .jp-Cell')];
                const ran = number => /\[\d+\]/.test(cells[number].querySelector('.jp-InputPrompt').textContent);
                const stderr = '[data-mime-type="application/vnd.jupyter.stderr"]';
                return code.every(ran) || cells.some((cell, at) => !red.includes(at) && cell.querySelector(stderr));
            }""",
            arg=[self.code(), self.red()],
            timeout=1000 * SECONDS,
        )
        return self

    def code(self):
        """Numbers of the cells that have something to run."""
        cells = enumerate(self.cells())
        return [at for at, cell in cells if cell["cell_type"] == "code" and "".join(cell["source"]).strip()]

    def red(self):
        """Numbers of the cells that show an error, or anything on the error stream, in the master."""
        return [
            at
            for at, cell in enumerate(self.cells())
            if any(out["output_type"] == "error" or out.get("name") == "stderr" for out in cell.get("outputs", ()))
        ]

    def cell(self, number):
        """The cell of that number, counted from 0 over all cells, as a locator."""
        return self.page.locator(".jp-Notebook .jp-Cell").nth(number)

    def numbers(self, script):
        """Numbers of the cells for which a script expression in `cell` is true."""
        return self.page.evaluate(
            f"""() => [...document.querySelectorAll('.jp-Notebook .jp-Cell')]
                .map((cell, number) => {script} ? number : -1).filter(number => number >= 0)"""
        )

    def cells_run(self):
        return self.numbers(r"/\[\d+\]/.test(cell.querySelector('.jp-InputPrompt')?.textContent ?? '')")

    def cells_in_red(self):
        """Those that show an error, or anything on the error stream."""
        return self.numbers("""cell.querySelector('[data-mime-type="application/vnd.jupyter.stderr"]')""")

    def text_of(self, number):
        """All the text that a cell's outputs show."""
        return self.cell(number).locator(".jp-OutputArea-output").all_inner_texts()
