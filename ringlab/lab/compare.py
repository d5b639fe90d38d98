"""How nbval compares a lesson's outputs: a pytest plugin, on in this project's own runs and for teachers.

    pytest -p ringlab.lab.compare --nbval --nbval-current-env --nbval-cell-timeout=60 notebooks

Text is compared, character by character. Pictures are not: HTML (the player) and plotly figures are drawn
from a run whose text stands beside them, and editing the player must not break the lessons.
"""

import os

NOT_COMPARED = (
    "text/html",
    "image/svg+xml",
    "application/vnd.plotly.v1+json",
    "application/vnd.jupyter.widget-view+json",
)

os.environ["RINGLAB_PROGRESS"] = "off"  # kernels inherit it: on a slow machine bars would be outputs nobody saved


def pytest_collectstart(collector):
    if hasattr(collector, "skip_compare"):
        collector.skip_compare = (*collector.skip_compare, *NOT_COMPARED)
