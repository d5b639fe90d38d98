"""The world behind `rl.run` and `rl.launch`: one for the whole notebook, kept warm between calls."""

import threading
import time

from .world import World

IDLE_SECONDS = 120


class _Shared:
    """The world behind `rl.run`: kept warm, replaced by a larger one when needed, closed after two idle minutes."""

    def __init__(self):
        self._lock = threading.Lock()
        self._world = None
        self._janitor = None

    def get(self, ranks):
        with self._lock:
            world = self._world
            if world is None or world.closed or world.failed or world.size < ranks:
                if world is not None:
                    world.close()
                world = self._world = World(max(ranks, 4))
            world.used = time.monotonic()
            if self._janitor is None or not self._janitor.is_alive():
                self._janitor = threading.Thread(target=self._close_when_idle, daemon=True)
                self._janitor.start()
            return world

    def _close_when_idle(self):
        wake = threading.Event()
        while True:
            with self._lock:
                world = self._world
                if world is None:
                    return
                idle = time.monotonic() - world.used
                if idle >= IDLE_SECONDS and world.lock.acquire(blocking=False):
                    world.lock.release()
                    world.close()
                    self._world = None
                    return
            wake.wait(max(1.0, IDLE_SECONDS - idle))


_shared = _Shared()


def shared_world(ranks):
    """The warm world that `rl.run` uses, with at least `ranks` ranks."""
    return _shared.get(ranks)
