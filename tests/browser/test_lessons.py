"""Every lesson, in the real JupyterLab, with no network: it runs from top to bottom and shows no error but its own."""

import harness
import pytest

MASTERS = sorted(path.stem for path in (harness.ROOT / "notebooks").glob("[0-9]*.ipynb"))
FIRST = "00_start_here"

pytestmark = pytest.mark.browser


@pytest.mark.parametrize("name", MASTERS)
def test_a_lesson_runs_in_the_browser(lesson, name):
    opened = lesson(name)
    assert opened.page.locator("body").get_attribute("data-jp-theme-light") == "true"
    assert opened.page.locator(".jp-OutputArea-output").count() == 0, "the copy gives the answers away"
    opened.run_all()
    assert opened.cells_in_red() == opened.red(), [opened.text_of(number) for number in opened.cells_in_red()]
    assert opened.cells_run() == opened.code()
    # By now all that comes by itself has come: no news, no question, neither in a dialog nor in a corner.
    assert opened.page.locator(".jp-Dialog").count() == 0
    assert opened.page.locator(".Toastify__toast, .jp-toastContainer li").count() == 0
    assert f"/{name}.ipynb" in opened.page.url


# ---- the recording of outside requests must be able to fail ----------------------------------------------------------


def test_a_request_of_a_page_is_noted_and_refused(page, server):
    page.goto(server.address)
    refused = page.evaluate("fetch('https://example.org/from-a-page').then(() => false, () => true)")
    assert refused
    assert server.asked_outside() == ["https://example.org/from-a-page"]


def test_a_socket_of_a_page_is_noted(page, server):
    page.goto(server.address)
    page.evaluate("new Promise(done => { new WebSocket('wss://example.org/socket').onerror = done })")
    assert server.asked_outside() == ["CONNECT example.org:443"]


def test_a_request_of_a_kernel_is_noted(lesson, server):
    opened = lesson(FIRST)
    opened.page.locator(".jp-Notebook .jp-CodeCell .cm-content").first.click()
    opened.page.keyboard.press("Control+a")
    opened.page.keyboard.insert_text(
        "import socket, urllib.request\n"
        "try:\n    urllib.request.urlopen('http://example.org/from-a-kernel')\n"
        "except OSError:\n    pass\n"
        "try:\n    socket.getaddrinfo('example.net', 80)\nexcept OSError:\n    pass\n"
        "print('tried', 'both')"
    )
    opened.page.keyboard.press("Shift+Enter")
    opened.page.get_by_text("tried both", exact=True).wait_for()
    asked = server.asked_outside()
    assert "GET http://example.org/from-a-kernel" in asked
    assert any(line.startswith("socket.getaddrinfo example.net") for line in asked)
