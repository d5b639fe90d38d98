"""For tests about processes: which are alive, found by a mark in their environment."""

import os
import threading
import time


def alive(mark):
    """Pids of the processes (trackers included) whose environment holds `mark`, "NAME=value"."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/environ", "rb") as file:
                if mark.encode() in file.read().split(b"\0"):
                    found.append(int(pid))
        except OSError:
            continue
    return found


def left_after(mark, seconds=10.0):
    """The pids that are still alive `seconds` after now; returns at once when there are none."""
    end, wake = time.monotonic() + seconds, threading.Event()
    while (found := alive(mark)) and time.monotonic() < end:
        wake.wait(0.02)
    return found


def wait_for_more_than(count, mark, seconds=60.0):
    """Return when more than `count` processes hold `mark`."""
    end, wake = time.monotonic() + seconds, threading.Event()
    while len(alive(mark)) <= count:
        assert time.monotonic() < end, f"no more than {count} processes with {mark} in {seconds:g} s"
        wake.wait(0.02)


def segments(*pids):
    """The names in /dev/shm of the shared memory that these kernels made."""
    return {name for name in os.listdir("/dev/shm") if name.startswith(tuple(f"ringlab_{pid}_" for pid in pids))}


def semaphores():
    """The names of semaphores in /dev/shm; the lab uses none."""
    return {name for name in os.listdir("/dev/shm") if name.startswith("sem.")}


def listeners():
    """The inodes of listening TCP, UDP and Unix sockets on this machine."""
    found = set()
    for table in ("tcp", "tcp6", "udp", "udp6"):
        with open(f"/proc/net/{table}") as file:
            for line in list(file)[1:]:
                fields = line.split()
                if fields[3] == "0A" or table.startswith("udp"):
                    found.add((table, fields[9]))
    with open("/proc/net/unix") as file:
        for line in list(file)[1:]:
            fields = line.split()
            if int(fields[3], 16) & 0x10000:  # listening
                found.add(("unix", fields[6]))
    return found


def sockets_of(pids):
    """The inodes of the sockets that these processes hold."""
    found = set()
    for pid in pids:
        try:
            for fd in os.listdir(f"/proc/{pid}/fd"):
                target = os.readlink(f"/proc/{pid}/fd/{fd}")
                if target.startswith("socket:["):
                    found.add(target[8:-1])
        except OSError:
            continue
    return found
