"""What a container grants, read from cgroup files laid out as Docker, Kubernetes, systemd and old kernels lay them."""

import os

import pytest

from ringlab import machine


@pytest.fixture
def lay(tmp_path):
    """Write files of a machine whose `/` is the given folder: lay({"sys/fs/cgroup/cpu.max": "max 100000"})."""

    def write(files):
        for name, text in files.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text + "\n")
        return tmp_path

    return write


V2 = {"proc/self/cgroup": "0::/"}
V2_DEEP = {"proc/self/cgroup": "0::/user.slice/lab.scope"}
V1 = {"proc/self/cgroup": "4:memory:/docker/ab12\n3:pids:/docker/ab12\n2:cpu,cpuacct:/docker/ab12\n0::/"}
TOP = "sys/fs/cgroup/"


@pytest.mark.parametrize(
    ("files", "cpus"),
    [
        ({}, None),
        (V2, None),
        (V2 | {TOP + "cpu.max": "max 100000"}, None),
        (V2 | {TOP + "cpu.max": "150000 100000"}, 1.5),
        (V2 | {TOP + "cpu.max": "20000 100000"}, 0.2),
        (V2 | {TOP + "cpu.max": "nonsense"}, None),
        (V2 | {TOP + "cpu.max": "100000 0"}, None),
        # a quota at any level above binds, the smallest one
        (V2_DEEP | {TOP + "user.slice/cpu.max": "200000 100000"}, 2.0),
        (
            V2_DEEP | {TOP + "user.slice/cpu.max": "200000 100000", TOP + "user.slice/lab.scope/cpu.max": "max 100000"},
            2.0,
        ),
        (
            V2_DEEP
            | {TOP + "user.slice/cpu.max": "200000 100000", TOP + "user.slice/lab.scope/cpu.max": "50000 100000"},
            0.5,
        ),
        # version 1: in the folder that is named, or, inside a container, at the top of the mount
        (V1 | {TOP + "cpu,cpuacct/docker/ab12/cpu.cfs_quota_us": "-1"}, None),
        (
            V1
            | {
                TOP + "cpu,cpuacct/docker/ab12/cpu.cfs_quota_us": "100000",
                TOP + "cpu,cpuacct/docker/ab12/cpu.cfs_period_us": "50000",
            },
            2.0,
        ),
        (V1 | {TOP + "cpu/cpu.cfs_quota_us": "50000", TOP + "cpu/cpu.cfs_period_us": "100000"}, 0.5),
        # a limit of somebody else's folder does not bind
        (V2 | {TOP + "user.slice/cpu.max": "50000 100000"}, None),
    ],
)
def test_the_cpu_quota(lay, files, cpus):
    assert machine.quota(lay(files)) == cpus


def test_cpus_are_the_smaller_of_cores_and_quota(lay, monkeypatch):
    monkeypatch.setattr(machine, "cores", lambda: 4)
    assert machine.cpus(lay(V2)) == 4.0
    assert machine.cpus(lay({TOP + "cpu.max": "100000 100000"})) == 1.0
    assert machine.cpus(lay({TOP + "cpu.max": "900000 100000"})) == 4.0


def test_cores_are_those_this_process_may_use():
    assert machine.cores() == (len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count())


def test_cores_without_affinity(monkeypatch):
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    assert machine.cores() == 1


@pytest.mark.parametrize(
    ("files", "left"),
    [
        (V2, None),
        (V2 | {TOP + "pids.max": "max", TOP + "pids.current": "12"}, None),
        (V2 | {TOP + "pids.max": "60", TOP + "pids.current": "12"}, 48),
        (V2 | {TOP + "pids.max": "60", TOP + "pids.current": "75"}, 0),
        (V1 | {TOP + "pids/docker/ab12/pids.max": "100", TOP + "pids/docker/ab12/pids.current": "1"}, 99),
    ],
)
def test_how_many_processes_may_still_start(lay, files, left):
    assert machine.pids_left(lay(files)) == left


MEMINFO = {"proc/meminfo": "MemTotal:  4000000 kB\nMemAvailable:  2000000 kB"}


@pytest.mark.parametrize(
    ("files", "left"),
    [
        ({}, None),
        (MEMINFO, 2_048_000_000),
        (MEMINFO | V2 | {TOP + "memory.max": "max", TOP + "memory.current": "5"}, 2_048_000_000),
        (MEMINFO | V2 | {TOP + "memory.max": "1000000", TOP + "memory.current": "400000"}, 600_000),
        (
            MEMINFO
            | V1
            | {
                TOP + "memory/docker/ab12/memory.limit_in_bytes": "500",
                TOP + "memory/docker/ab12/memory.usage_in_bytes": "100",
            },
            400,
        ),
        (
            MEMINFO
            | V1
            | {TOP + "memory/memory.limit_in_bytes": "9223372036854771712", TOP + "memory/memory.usage_in_bytes": "9"},
            2_048_000_000,
        ),
    ],
)
def test_how_much_memory_is_free(lay, files, left):
    assert machine.free_memory(lay(files)) == left


def test_shared_memory_where_there_is_no_such_folder(tmp_path):
    assert machine.free_shm(tmp_path) is None


def test_shared_memory_is_the_free_space_of_its_folder(tmp_path):
    (tmp_path / "dev" / "shm").mkdir(parents=True)
    space = os.statvfs(tmp_path)
    assert machine.free_shm(tmp_path) == pytest.approx(space.f_bavail * space.f_frsize, rel=0.1)


def test_descriptors_left_counts_those_open():
    resource = pytest.importorskip("resource")  # not on Windows
    before = machine.descriptors_left()
    files = [open(os.devnull) for _ in range(10)]
    after = machine.descriptors_left()
    for file in files:
        file.close()
    assert before is None or before - after == 10
    assert before is None or before < resource.getrlimit(resource.RLIMIT_NOFILE)[0]
