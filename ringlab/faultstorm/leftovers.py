"""What processes with a mark in their environment hold or have left: they themselves, shared memory, files, listeners.

Empty answers where there is no /proc.
"""

import contextlib
import os
import threading
import time


def after(name, value, pid, folder, patience):
    """What is there `patience` seconds after the end of process `pid`, as lists of names.

    processes: those marked `name`=`value`.  segments: names in shared memory.  files: in the temporary folder.
    """
    alive = wait_for_none(name, value, patience)
    return {"processes": alive, "segments": segments(pid, alive), "files": sorted(os.listdir(folder))}


def wait_for_none(name, value, patience):
    """Pids of the marked processes that are there still after `patience` seconds; at once when there are none."""
    end, wake = time.monotonic() + patience, threading.Event()
    while (alive := processes(name, value)) and time.monotonic() < end:
        wake.wait(0.05)
    return alive


def processes(name, value):
    """Pids of the processes whose environment says `name`=`value`."""
    found, wanted = [], f"{name}={value}".encode()
    for pid in filter(str.isdigit, os.listdir("/proc") if os.path.isdir("/proc") else ()):
        with contextlib.suppress(OSError), open(f"/proc/{pid}/environ", "rb") as file:
            if wanted in file.read().split(b"\0"):
                found.append(int(pid))
    return found


def commands(pids):
    """What each of these processes runs, as lines to show."""
    found = []
    for pid in pids:
        with contextlib.suppress(OSError), open(f"/proc/{pid}/cmdline", "rb") as file:
            words = file.read().decode(errors="replace").replace("\0", " ").split()
            found.append(f"process {pid}: {' '.join(words)[:100]}")
    return found


def segments(pid, holders=()):
    """Names in shared memory that `pid` made, and what `holders` hold of it: segments, and named semaphores."""
    folder = "/dev/shm"  # nosec B108
    names = os.listdir(folder) if os.path.isdir(folder) else ()
    held = set()
    for holder in holders:
        with contextlib.suppress(OSError), open(f"/proc/{holder}/maps") as file:
            held |= {line.split(folder, 1)[1].strip(" /\n") for line in file if folder in line}
    return sorted({name for name in names if name.startswith(f"ringlab_{pid}_")} | held)


def semaphores(name, value):
    """Names of the semaphores that marked processes have open; the lab uses none."""
    return {held for held in segments(0, processes(name, value)) if held.startswith("sem.")}


def listening(name, value):
    """How many listening sockets marked processes have: TCP, UDP with an address, Unix."""
    held = set()
    for pid in processes(name, value):
        with contextlib.suppress(OSError):
            for fd in os.listdir(f"/proc/{pid}/fd"):
                with contextlib.suppress(OSError):
                    held.add(os.readlink(f"/proc/{pid}/fd/{fd}"))
    return sum(f"socket:[{inode}]" in held for inode in _listeners())


def _listeners():
    for table in ("tcp", "tcp6", "udp", "udp6"):
        with contextlib.suppress(OSError), open(f"/proc/net/{table}") as file:
            rows = [line.split() for line in list(file)[1:]]
            yield from (row[9] for row in rows if row[3] == "0A" or table.startswith("udp"))
    with contextlib.suppress(OSError), open("/proc/net/unix") as file:
        rows = [line.split() for line in list(file)[1:]]
        yield from (row[6] for row in rows if int(row[3], 16) & 0x10000)
