"""Who calls the all-reduces of a step, and when: on a thread of its own, in between, or afterwards.

A reducer is made on each rank with the rank's `comm`. Backward tells it `ready(bucket, array)` as soon as a bucket is
full, and waits in `finish()` until every array holds its sum. Each calls `comm.allreduce` on one thread only: messages
of two collectives on one link would meet.
"""

import queue
import threading


class Afterwards:
    """All buckets when backward is over: nothing is hidden."""

    def __init__(self, comm):
        self.comm, self._waiting = comm, []

    def ready(self, bucket, array):
        """Bucket number `bucket` is full."""
        self._waiting.append((bucket, array))

    def finish(self):
        """Return when every array holds its sum."""
        for bucket, array in self._waiting:
            self.comm.allreduce(array, out=array, name=f"bucket {bucket}")


class SameThread(Afterwards):
    """Each bucket at once, on the thread that computes: it looks like overlap and hides nothing."""

    def ready(self, bucket, array):
        """Reduce it, while backward stands still."""
        self.comm.allreduce(array, out=array, name=f"bucket {bucket}")


class AsReady(Afterwards):
    """Each bucket at once, on a communication thread, in the order in which buckets become ready."""

    def __init__(self, comm):
        super().__init__(comm)
        self._queue, self._error = queue.SimpleQueue(), None
        # the name says that the thread is ours, so that the rank is not taken for one that learner code changed
        self._thread = threading.Thread(target=self._work, daemon=True, name="ringlab communication")
        self._thread.start()

    def ready(self, bucket, array):
        """Hand it to the thread and go on."""
        if self._error is not None:
            raise self._error
        self._queue.put((bucket, array))

    def finish(self):
        """Wait for the thread; what went wrong on it is raised here."""
        self._queue.put(None)
        self._thread.join()
        if self._error is not None:
            raise self._error

    def _work(self):
        try:
            while (job := self._queue.get()) is not None:
                bucket, array = job
                self.comm.allreduce(array, out=array, name=f"bucket {bucket}")
        except BaseException as error:
            self._error = error


class InOrder(AsReady):
    """Each bucket on a communication thread, in the order of the plan: a bucket that is early waits for its turn.

    Ranks may make their gradients in different orders, but they must call the same collectives in the same order (the
    DDP notes: "in the bucket index order", else wrong results or a hang).
    """

    def __init__(self, comm):
        self._next, self._early = 0, {}
        super().__init__(comm)

    def ready(self, bucket, array):
        """Hand on all whose turn it is."""
        self._early[bucket] = array
        while self._next in self._early:
            super().ready(self._next, self._early.pop(self._next))
            self._next += 1


REDUCERS = {"thread": InOrder, "as ready": AsReady, "same thread": SameThread, "afterwards": Afterwards}
