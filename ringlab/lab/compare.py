"""How nbval compares a lesson's outputs: a pytest plugin, on in this project's own runs and for teachers.

    pytest -p ringlab.lab.compare --nbval --nbval-current-env --nbval-cell-timeout=60 notebooks

Text is compared, character by character. Pictures are not: HTML (the player) and plotly figures are drawn
from a run whose text stands beside them, and editing the player must not break the lessons. A process that is still
there when all kernels have ended fails the run (where there is a /proc to see it in).
"""

import os

import pytest

from ..faultstorm import leftovers

NOT_COMPARED = (
    "text/html",
    "image/svg+xml",
    "application/vnd.plotly.v1+json",
    "application/vnd.jupyter.widget-view+json",
)

MARK = "RINGLAB_LESSONS"  # kernels inherit it, and so does all that they start
PATIENCE = 5.0  # seconds that processes may take to end

os.environ["RINGLAB_PROGRESS"] = "off"  # kernels inherit it: on a slow machine bars would be outputs nobody saved


def pytest_collectstart(collector):
    if hasattr(collector, "skip_compare"):
        collector.skip_compare = (*collector.skip_compare, *NOT_COMPARED)


def pytest_configure(config):
    if not _is_worker(config):
        os.environ[MARK] = str(os.getpid())


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session):
    if _is_worker(session.config):
        return
    left = leftovers.commands(leftovers.wait_for_none(MARK, os.environ[MARK], PATIENCE))
    if left:
        print(f"\n\nthe notebooks have ended and left {len(left)} behind:", *left, sep="\n    ")
        session.exitstatus = session.exitstatus or 1


def _is_worker(config):
    """Whether this is one of the processes that pytest-xdist lets check; the first one looks at the end."""
    return hasattr(config, "workerinput")
