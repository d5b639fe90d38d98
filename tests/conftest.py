"""What every test shares: hypothesis without deadlines (a machine may be busy), repeatable in CI."""

import os

from hypothesis import settings

settings.register_profile("ringlab", deadline=None, derandomize=bool(os.environ.get("CI")), print_blob=True)
settings.load_profile("ringlab")
