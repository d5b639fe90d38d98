"""What every test shares: hypothesis without deadlines (a machine may be busy), and how ranks are started."""

import os

import pytest
from hypothesis import settings

from ringlab import world

settings.register_profile("ringlab", deadline=None, derandomize=bool(os.environ.get("CI")), print_blob=True)
settings.load_profile("ringlab")

# Files about processes start their ranks as users do. In all others a fork server starts them, ten times faster.
SPAWNED = {
    "test_bench",
    "test_doctor",
    "test_hygiene",
    "test_kernel",
    "test_killed_starts",
    "test_needs",
    "test_run",
    "test_start",
    "test_world",
}


@pytest.fixture(scope="module", autouse=True)
def how_ranks_start(request):
    """The start method of the ranks in one test file."""
    start = "spawn" if os.name == "nt" or request.module.__name__.rpartition(".")[2] in SPAWNED else "forkserver"
    if start != world.START:
        world.close()
        world.START = start
