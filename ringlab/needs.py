"""What a world of ranks needs, checked before anything starts: descriptors, processes, memory, shared memory."""

from . import machine
from .record import block_size
from .verdicts import NoResource

RANK_MEMORY = 40 * 10**6  # bytes a rank takes on its own, numpy loaded
RANK_TASKS = 3  # its main thread, its watcher, a writer of large messages


def descriptors(ranks):
    """Descriptors that the kernel has open while it starts `ranks` ranks: two per pair, ten per rank."""
    return ranks * (ranks - 1) + 10 * ranks + 18


def check(ranks):
    """NoResource with what is needed, what is free and two ways out, when this machine cannot start `ranks` ranks."""
    left = machine.descriptors_left()
    if left is not None and left < descriptors(ranks) and not _raise_limit(descriptors(ranks) - left):
        _refuse(ranks, "open files", descriptors(ranks), left, lambda p: descriptors(p) <= left, "raise `ulimit -n`")
    tasks = machine.pids_left()
    if tasks is not None and tasks < RANK_TASKS * ranks:
        _refuse(
            ranks, "processes and threads", RANK_TASKS * ranks, tasks, lambda p: RANK_TASKS * p <= tasks, "end others"
        )
    memory = machine.free_memory()
    if memory is not None and memory < RANK_MEMORY * ranks:
        _refuse(
            ranks,
            "MB of memory",
            RANK_MEMORY * ranks // 10**6,
            memory // 10**6,
            lambda p: RANK_MEMORY * p <= memory,
            "shut down other kernels",
        )
    shared = machine.free_shm()
    if shared is not None and shared < ranks * block_size(ranks):
        _refuse(
            ranks,
            "kB of shared memory",
            ranks * block_size(ranks) // 1000,
            shared // 1000,
            lambda p: p * block_size(p) <= shared,
            "free some of /dev/shm",
        )


def _refuse(ranks, what, needed, free, fits, other):
    largest = max((p for p in range(1, ranks) if fits(p)), default=0)
    way = f"use ranks={largest} or fewer" if largest else "close other programs"
    raise NoResource(
        f"{ranks} ranks need {needed} {what}, {free} are free", f"{way}, or {other}", "nothing was started"
    )


def _raise_limit(more):
    """Let this process open `more` more files, as far as the system's hard limit goes."""
    try:
        import resource

        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        wanted = soft + more
        if hard != resource.RLIM_INFINITY and wanted > hard:
            return False
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
        return True
    except (ImportError, ValueError, OSError):
        return False
