"""The figures of a storm, from its history."""

from collections import Counter

from .plan import AT_SEND, Injection


def figures(history):
    """A dict of plain numbers: what happened, how long it took, how evenly the faults were spread.

    Times in seconds. detection: from a death to its verdict.  stall: from the time limit to the verdict.  again: the
    call after a fault.  fewest_visits: of any (number of ranks, round, place) by faults that can be placed so.
    """
    ends = [line for line in history if line["what"] == "end"]
    faulty = [line for line in ends if line["call"] == "faulty"]
    injections = {
        line["n"]: Injection(**line["injection"])
        for line in history
        if line["what"] == "call" and line["call"] == "faulty"
    }
    left = [line for line in history if line["what"] == "left"]
    visits = Counter((i.ranks, i.round, i.place) for i in injections.values() if i.kind not in ("between", *AT_SEND))
    told = [line for line in faulty if line["latency"] is not None]
    held = [line["descriptors"] for line in ends if line.get("descriptors")]
    return {
        "faults": len(faulty),
        "calls": len(ends),
        "hangs": sum(line["what"] == "hang" for line in history),
        "wrong_results": sum(line["verdict"] is None and not line["right"] for line in ends),
        "processes_left": sum(len(line["processes"]) for line in left),
        "segments_left": sum(len(line["segments"]) for line in left),
        "files_left": sum(len(line.get("files", ())) for line in left),
        "listening_sockets": max((line["sockets"] for line in left), default=0),
        "verdicts": dict(Counter(str(line["verdict"]) for line in faulty).most_common()),
        "detection": spread(line["latency"] for line in told if line["verdict"] in ("KILLED", "EXITED")),
        "stall": spread(line["latency"] - injections[line["n"]].timeout for line in told if line["verdict"] == "STALL"),
        "again": spread(line["seconds"] for line in ends if line["call"] == "clean"),
        "places": len(visits),
        "fewest_visits": min(visits.values(), default=0),
        "descriptors": {"middle": held[len(held) // 2], "end": held[-1]} if held else None,
    }


def spread(seconds):
    """Median, 99th percentile and maximum of some times, to the millisecond; None for none."""
    times = sorted(seconds)
    if not times:
        return None
    picked = {"median": times[len(times) // 2], "p99": times[int(0.99 * (len(times) - 1))], "max": times[-1]}
    return {name: round(value, 3) for name, value in picked.items()}


def sentences(found):
    """The figures in a few lines."""
    lines = [
        "{faults} faults with seed {seed}: {hangs} hangs, {wrong_results} wrong results in {calls} calls",
        "left behind: {processes_left} processes, {segments_left} segments, {files_left} files",
        "{listening_sockets} listening sockets",
        "verdicts: " + ", ".join(f"{name} {count}" for name, count in found["verdicts"].items()),
        "{places} places of a ring (ranks, round, where), each struck at least {fewest_visits} times",
    ]
    for name, what in (
        ("detection", "from death to verdict"),
        ("stall", "from the time limit to the verdict"),
        ("again", "next call after a fault"),
    ):
        if found[name]:
            times = "median {median:.3f} s, 99 % within {p99:.3f} s, longest {max:.3f} s".format(**found[name])
            lines.append(f"{what}: {times}")
    return [line.format(**found) for line in lines]
