"""What a learner is asked to write besides an all-reduce: one file per exercise, each with `check(answer)`.

    rl.exercises.star.check(star_bytes)

A check gives an Outcome: true when it passed, and a text that says what to look at when not. An exercise that is still
a stub is "not written yet", so that a lesson runs from top to bottom. (All-reduces are judged by `rl.check`.)
"""

import importlib

from .outcome import Outcome

__all__ = ["Outcome"]


def __getattr__(name):
    try:
        return importlib.import_module(f".{name}", __name__)
    except ModuleNotFoundError:
        raise AttributeError(f"there is no exercise {name!r}") from None
