"""One lab and one Chromium for all browser tests; a fresh page for each, which must leave no request to the outside."""

import harness
import pytest


@pytest.fixture(scope="session")
def browser():
    with harness.chromium() as browser:
        yield browser


@pytest.fixture(scope="session")
def server(tmp_path_factory):
    with harness.lab(tmp_path_factory.mktemp("lab")) as server:
        yield server


# What anywidget says where a page was slow to start; our widgets go on (see hearing.js), so it is no failure of theirs.
SLOW = "[anywidget] Failed to initialize model."


@pytest.fixture
def page(browser, server):
    """A fresh page. Whatever the test does, nothing may be asked of another machine, and no script may fail."""
    with harness.page_of(browser, server) as page:
        yield page
        errors = [error for error in page.errors if error != SLOW]
    server.end_kernels()
    assert server.asked_outside() == []
    assert errors == []


@pytest.fixture
def lesson(page, server):
    """lesson(name, theme): that lesson, opened."""
    return lambda name, theme="light": harness.Lesson(page, server, name).open(theme)
