"""A bar for what takes longer than two seconds, and nothing for what does not.

Only on the main thread: in a notebook, what a thread shows would land under whatever cell ran last.
"""

import os
import threading
import time

PATIENCE = 2.0  # seconds before a bar is shown
EVERY = 0.1  # seconds between two looks at it


class Progress:
    """A context: `reach(count)` says how far things are; the bar comes after two seconds and goes at the end.

    total: the count at the end, or None when it is not known.
    """

    def __init__(self, what, total=None, unit="messages"):
        self._what, self._total, self._unit = what, total, unit
        self._next = time.monotonic() + PATIENCE
        self._bar = None
        if threading.current_thread() is not threading.main_thread():
            self._next = float("inf")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self._bar is not None:
            self._bar.close()

    @property
    def shown(self):
        """Whether the bar has come."""
        return self._bar is not None

    def reach(self, count):
        """`count` of the total is done."""
        now = time.monotonic()
        if now < self._next or os.environ.get("RINGLAB_PROGRESS") == "off":  # where outputs are compared or saved
            return
        self._next = now + EVERY
        if self._bar is None:
            from tqdm.auto import tqdm  # a widget in Jupyter, text in a terminal

            self._bar = tqdm(
                desc=self._what, total=self._total, initial=count, unit=f" {self._unit}", leave=False, mininterval=EVERY
            )
        self._bar.update(count - self._bar.n)
