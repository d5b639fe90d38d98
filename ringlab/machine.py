"""What this machine lets a process have: cores, CPU quota, shared memory, memory, descriptors, processes.

Containers hide their limits from `os.cpu_count()`; they stand in cgroup files, of version 1 or 2. `root` is
the place of `/`, so that a test can lay out a machine of its own. None means: no limit, or none that this
system tells. Standard library only; nothing is started or changed here.
"""

import os
from pathlib import Path

ROOT = Path("/")


def cores():
    """Cores that this process may run on, at least 1 (affinity counts: taskset, Docker's cpuset)."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def quota(root=ROOT):
    """CPUs' worth of time that the container grants, as a float such as 1.5; None without a quota.

    cgroup v2: cpu.max holds "quota period" or "max period". v1: cpu.cfs_quota_us holds -1 for no quota.
    """
    granted = []
    for folder in cgroup_folders("cpu", root):
        words = read(folder / "cpu.max").split() or [
            read(folder / "cpu.cfs_quota_us").strip(),
            read(folder / "cpu.cfs_period_us").strip(),
        ]
        if len(words) == 2 and all(word.isdigit() for word in words) and int(words[1]) > 0:
            granted.append(int(words[0]) / int(words[1]))
    return min(granted, default=None)


def cpus(root=ROOT):
    """Cores that ranks can really keep busy at once: the smaller of `cores` and `quota`, as a float."""
    granted = quota(root)
    return float(cores()) if granted is None else min(float(cores()), granted)


def free_shm(root=ROOT):
    """Bytes free in /dev/shm, where shared memory lives on Linux; None on systems without that folder."""
    try:
        space = os.statvfs(Path(root) / "dev/shm")
    except (OSError, AttributeError):
        return None
    return space.f_bavail * space.f_frsize


def total_shm(root=ROOT):
    """Bytes of /dev/shm in all, free or not; None without that folder, or when it has no limit of its own."""
    try:
        space = os.statvfs(Path(root) / "dev/shm")
    except (OSError, AttributeError):
        return None
    return space.f_blocks * space.f_frsize or None


def free_memory(root=ROOT):
    """Bytes of memory that can still be had: by the system's account, or less where a cgroup limits it."""
    left = [
        int(line.split()[1]) * 1024
        for line in read(Path(root) / "proc/meminfo").splitlines()
        if line.startswith("MemAvailable:")
    ]
    for folder in cgroup_folders("memory", root):
        for limit, used in (
            ("memory.max", "memory.current"),
            ("memory.limit_in_bytes", "memory.usage_in_bytes"),
        ):
            left += remaining(folder, limit, used)
    return min(left, default=None)


def pids_left(root=ROOT):
    """Processes and threads that the container may still start; None without a limit."""
    left = [
        number for folder in cgroup_folders("pids", root) for number in remaining(folder, "pids.max", "pids.current")
    ]
    return min(left, default=None)


def descriptors_left():
    """File descriptors that this process may still open (its soft limit less those open); None on Windows."""
    try:
        import resource

        limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
        return max(0, limit - len(os.listdir("/dev/fd"))) if limit != resource.RLIM_INFINITY else None
    except (ImportError, OSError):
        return None


# ---- cgroups -----------------------------------------------------------------------------------------------


def cgroup_folders(controller, root=ROOT):
    """Every cgroup folder whose limits bind this process for `controller` ("cpu", "memory", "pids").

    A limit may stand at any level above the process, so all levels count. /proc/self/cgroup names the lowest;
    in a container that name may be the host's, not visible there: then the top folder, the container's own.
    """
    top, folders = Path(root) / "sys/fs/cgroup", []
    for line in read(Path(root) / "proc/self/cgroup").splitlines():
        number, controllers, path = ([*line.split(":", 2), "", ""])[:3]
        if number == "0" and not controllers:
            mounts = [top, top / "unified"]
        elif controller in controllers.split(","):
            mounts = [top / controller, top / controllers]
        else:
            continue
        for mount in mounts:
            lowest = mount / path.strip("/")
            folders += [level for level in (lowest, *lowest.parents) if level.is_relative_to(mount) and level.is_dir()]
    return list(dict.fromkeys(folders))


def remaining(folder, limit, used):
    """[limit less what is used], never below 0, of one cgroup folder; [] where no limit stands."""
    most, now = read(folder / limit).strip(), read(folder / used).strip()
    return [max(0, int(most) - int(now))] if most.isdigit() and now.isdigit() else []


def read(path):
    """The text of a small file, "" when it cannot be read."""
    try:
        return Path(path).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
