"""The export for Perfetto, against the trace-event format, and exact on a virtual run.

What the format asks (Trace Event Format of the Chromium project; the importer of Perfetto for what it binds): every
event has a phase, a name, a process and a thread, a time in microseconds; complete events have a duration and nest on
their thread; the two ends of a flow share category, name and id, each lies in a span of its own thread, and none ends
before it began; metadata give a name or an index.
"""

import json
from fractions import Fraction

import pytest

import ringlab as rl
from ringlab.__main__ import main
from ringlab.events import Event
from ringlab.trace import Trace

MICRO = Fraction(1, 10**6)


def saved(trace, tmp_path):
    path = tmp_path / "trace.json"
    trace.to_perfetto(path)
    whole = json.loads(path.read_text(encoding="utf-8"))
    assert problems(whole) == []
    return whole


def problems(whole):
    """What the format forbids in a JSON object of trace events, one sentence each."""
    found, spans, flows, last = [], {}, {}, 0
    if not isinstance(whole.get("traceEvents"), list) or whole.get("displayTimeUnit") not in ("ms", "ns"):
        return ["it is no JSON object of trace events"]
    for event in whole["traceEvents"]:
        where = f"{event.get('ph')} {event.get('name')} at {event.get('ts')}"
        for key, kind in {"name": str, "ph": str, "cat": str, "pid": int, "tid": int, "ts": (int, float)}.items():
            if not isinstance(event.get(key), kind) or isinstance(event.get(key), bool):
                found.append(f"{where}: no {key}")
        if found:
            return found
        if event["ts"] < 0 or event["pid"] <= 0 or not isinstance(event.get("args", {}), dict):
            found.append(f"{where}: a time before 0, an idle process or no dict of arguments")
        track = event["pid"], event["tid"]
        if event["ph"] == "M":
            key = "name" if event["name"].endswith("_name") else "sort_index"
            if not isinstance(event["args"].get(key), str if key == "name" else int):
                found.append(f"{where}: metadata without {key}")
            continue
        if event["ts"] < last:
            found.append(f"{where}: out of order")
        last = event["ts"]
        if event["ph"] == "X":
            if not isinstance(event.get("dur"), (int, float)) or event["dur"] < 0:
                found.append(f"{where}: no duration")
            mine = spans.setdefault(track, [])
            # the end as the reader computes it, who counts in nanoseconds
            if mine and event["ts"] < mine[-1]["ts"] + mine[-1]["dur"] - 1e-3:
                found.append(f"{where}: overlaps what is on its track")
            mine.append(event)
        elif event["ph"] in "sf":
            open_span = spans.get(track, [None])[-1]
            if open_span is None or not open_span["ts"] <= event["ts"] <= open_span["ts"] + open_span["dur"] + 1e-3:
                found.append(f"{where}: an arrow that is bound to no span")
            key = event["cat"], event["name"], event["id"]
            if (event["ph"] == "s") == (key in flows):
                found.append(f"{where}: an arrow begins once, before it ends")
            if event["ph"] == "f" and event.get("bp") != "e":
                found.append(f"{where}: the arrow would land in the next span")
            flows[key] = event["ph"]
        elif event["ph"] != "i" or event.get("s") not in ("t", "p", "g"):
            found.append(f"{where}: a phase that is not ours")
    return found


def test_a_virtual_ring_of_four_is_exact(tmp_path):
    network = rl.Network(alpha=MICRO, beta=MICRO / 8, gamma=MICRO / 8)  # 1 us a message, 1 us for 8 bytes, also to add
    whole = saved(rl.run("ring", ranks=4, size=8, wire="virtual", network=network).trace, tmp_path)
    spans = [event for event in whole["traceEvents"] if event["ph"] == "X" and event["pid"] == 2]
    assert [(s["name"], s["ts"], s["dur"]) for s in spans if s["cat"] == "send"] == [
        *(("send c1", 0, 3), ("send c0", 5, 3), ("send c3", 10, 3)),
        *(("send c2", 15, 3), ("send c1", 18, 3), ("send c0", 21, 3)),
    ]
    assert [(s["name"], s["ts"], s["dur"]) for s in spans if s["cat"] != "send"] == [
        *(
            ("wait c0", 0, 3),
            ("add c0", 3, 2),
            ("wait c3", 5, 3),
            ("add c3", 8, 2),
            ("wait c2", 10, 3),
            ("add c2", 13, 2),
        ),
        *(("wait c1", 15, 3), ("wait c0", 18, 3), ("wait c3", 21, 3)),
    ]
    assert all(isinstance(s["ts"], int) and isinstance(s["dur"], int) for s in spans)
    assert spans[0]["args"]["to rank"] == 2 and spans[0]["args"]["bytes"] == 16 and spans[0]["args"]["c1"] == "·1··"
    arrows = [event for event in whole["traceEvents"] if event["ph"] in "sf"]
    assert len(arrows) == 2 * 24
    assert {(a["pid"], a["ts"]) for a in arrows if a["id"] == "1-2-2"} == {(2, 5), (3, 8)}
    names = [e["args"]["name"] for e in whole["traceEvents"] if e["name"] == "process_name"]
    assert names == [f"rank {rank}" for rank in range(4)]
    assert whole["otherData"]["clock"] == "virtual time"
    critical = [e for e in whole["traceEvents"] if e.get("args", {}).get("critical path")]
    assert len(critical) == 6


@pytest.mark.parametrize("name", ["star", "tree", "direct", "halving", "two_way_ring", "nvls"])
def test_every_algorithm_gives_a_valid_file_with_an_arrow_for_each_message(name, tmp_path):
    network = rl.Network(1e-6, 1e-9, gamma=1e-10, ports="per-neighbour")
    run = rl.run(name, ranks=8, size=24, wire="virtual", network=network)
    whole = saved(run.trace, tmp_path)
    assert sum(e["ph"] == "f" for e in whole["traceEvents"]) == sum(run.messages)


def test_a_real_run_is_on_one_clock(tmp_path):
    run = rl.run("ring", ranks=4)
    whole = saved(run.trace, tmp_path)
    assert whole["otherData"]["clock"] == "real time"
    assert sum(e["ph"] == "f" for e in whole["traceEvents"]) == 24
    last = max(e["ts"] + e["dur"] for e in whole["traceEvents"] if e["ph"] == "X")
    assert last / 1e6 == pytest.approx(max(event.end for event in run.trace.events), abs=1e-9)


def test_a_run_that_failed_shows_where_and_who_waits_to_the_end(tmp_path):
    sent = Event(0, "send", 1, (0,), ((0,),), 16, 0, 7, 0.0, 1.0)
    got = Event(1, "recv", 0, (0,), ((0,),), 16, 0, 8, 0.0, 2.0)
    failure = {"verdict": "KILLED", "rank": 2, "round": 0, "text": "Rank 2 was killed.", "waiting": [(0, 2, 1)]}
    whole = saved(Trace([[(sent, ())], [(got, ())], []], 3, 1, "ring", failure=failure), tmp_path)
    waits = [e for e in whole["traceEvents"] if e.get("args", {}).get("never came")]
    assert [(e["pid"], e["name"], e["ts"], e["dur"]) for e in waits] == [(1, "wait c1", 1_000_000, 1_000_000)]
    (mark,) = [e for e in whole["traceEvents"] if e["ph"] == "i"]
    assert (mark["pid"], mark["name"], mark["args"]["text"]) == (3, "KILLED", "Rank 2 was killed.")


def test_the_check_finds_what_is_wrong():
    def spoilt(**changes):
        good = {"ph": "X", "name": "send", "cat": "send", "pid": 1, "tid": 1, "ts": 0, "dur": 5}
        return {"traceEvents": [good, {**good, "ts": 6, **changes}], "displayTimeUnit": "ns"}

    assert problems(spoilt()) == []
    for changes, said in (
        ({"ts": 4}, "overlaps"),
        ({"dur": None}, "no duration"),
        ({"pid": "rank 1"}, "no pid"),
        ({"ph": "f", "id": 1, "bp": "e", "ts": 5}, "begins once, before it ends"),
        ({"ph": "s", "id": 1, "ts": 7}, "bound to no span"),
        ({"ph": "Z"}, "a phase that is not ours"),
    ):
        assert said in " ".join(problems(spoilt(**changes)))


def test_the_command_line_writes_it(tmp_path, capsys):
    path = tmp_path / "ring.json"
    assert main(["run", "--wire", "virtual", "--perfetto", str(path)]) == 0
    assert f"trace saved in {path}" in capsys.readouterr().out
    assert problems(json.loads(path.read_text(encoding="utf-8"))) == []
