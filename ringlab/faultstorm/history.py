"""What happened in a storm, and the rules that it must obey.

A history is a list of dicts, one per line of the JSONL file:

    {"what": "call", "n": 7, "call": "faulty" | "clean", "injection": {...}}
    {"what": "end", "n": 7, "call": ..., "verdict": None or a name, "right": bool, "rank": who, "round": where,
     "call_number": of the world, "world": which, "seconds": ..., "latency": from the fault to the verdict,
     "descriptors": open in the kernel after a clean call}
    {"what": "left", "processes": [...], "segments": [...], "files": [...], "sockets": n}    when a worker has closed
    {"what": "hang", "n": 7}                                                     when the watchdog had to step in
    {"what": "given up"}                                                         when the storm was interrupted
"""

from ..verdicts import PRECEDENCE

# What each kind of fault may end in; None is a right result.
ALLOWED: dict = {
    "crash": {"KILLED"},
    "segfault": {"KILLED"},
    "two": {"KILLED"},
    "between": {None, "KILLED"},
    "leave": {"EXITED"},
    "exit": {"EXITED"},
    "fail": {"EXCEPTION"},
    "exhaust": {"EXCEPTION"},
    "stop": {"STALL"},
    "hang": {"STALL"},
    "grip": {"STALL"},
    "drop": {"BAD_FRAME"},
    "truncate": {"BAD_FRAME"},
    "duplicate": {None, "BAD_FRAME"},
    "delay": {None},
}
KNOWN = {None, *PRECEDENCE, "BAD_FRAME", "BAD_INPUT", "NO_RESOURCE", "STARTUP_FAILED", "INTERRUPTED", "CLOSED"}


def violations(history):
    """Sentences, one for each rule that the history breaks."""
    found, open_call, last_number = [], None, {}
    for line in history:
        what, n = line["what"], line.get("n")
        if what == "call":
            if open_call is not None:
                found.append(f"injection {open_call['n']}: the {open_call['call']} call never ended")
            open_call = line
        elif what == "hang":
            found.append(f"injection {n}: hang")
            open_call = None
        elif what == "given up":
            open_call = None
        elif what == "end":
            if open_call is None or (open_call["n"], open_call["call"]) != (n, line["call"]):
                found.append(f"injection {n}: a {line['call']} call ended that had not begun")
                continue
            found += _judge_end(line, open_call["injection"], last_number)
            open_call = None
        elif what == "left":
            kinds = ("processes", "segments", "files", "sockets")
            found += [f"left behind: {name} {line[name]}" for name in kinds if line.get(name)]
    if open_call is not None:
        found.append(f"injection {open_call['n']}: the {open_call['call']} call never ended")
    return found


def _judge_end(line, injection, last_number):
    who = f"injection {line['n']} ({injection['kind']}), {line['call']} call"
    found = []
    if line["verdict"] not in KNOWN:
        found.append(f"{who}: {line['verdict']} is not on the list of verdicts")
    if line["verdict"] is None and not line["right"]:
        found.append(f"{who}: a wrong result was returned as good")
    world, number = line["world"], line["call_number"]
    if number <= last_number.get(world, 0):
        found.append(f"{who}: call number {number} is not new in its world")
    last_number[world] = number
    if line["call"] == "clean":
        if line["verdict"] is not None:
            found.append(f"{who}: {line['verdict']} without a fault")
        return found
    allowed = ALLOWED[injection["kind"]]
    if line["verdict"] not in allowed:
        names = " or ".join(sorted(str(name) for name in allowed))
        found.append(f"{who}: {line['verdict']} instead of {names}")
    elif line["verdict"] not in (None, "BAD_FRAME") and injection["kind"] != "between":
        suspects = {injection["rank"], injection["second"]} - {None}
        if line["rank"] not in suspects:
            found.append(f"{who}: rank {line['rank']} was named, the fault was on {sorted(suspects)}")
        elif line["round"] != injection["round"]:
            found.append(f"{who}: round {line['round']} was named, the fault was in round {injection['round']}")
    return found
