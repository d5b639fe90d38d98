"""The storm's plan and its checker: a checker that could not fail would be worth nothing."""

import copy
import json
import os
import signal
import subprocess
import sys
from collections import Counter

import pytest
from processes import wait_for_more_than

from ringlab.faultstorm import plan as plans
from ringlab.faultstorm import watch
from ringlab.faultstorm.figures import figures, sentences
from ringlab.faultstorm.history import ALLOWED, violations
from ringlab.faultstorm.plan import ELEMENTS, PLACES, RANKS, WEIGHTS, Injection, plan


def test_a_seed_decides_the_plan():
    assert plan(50, 7) == plan(50, 7)
    assert plan(50, 7) != plan(50, 8)
    assert [injection.number for injection in plan(5, 1)] == [0, 1, 2, 3, 4]


def test_every_place_of_every_round_is_visited_equally_often():
    rounds = sum(2 * (p - 1) for p in RANKS)
    whole = rounds * len(PLACES) * len(ELEMENTS) * 2
    visits = Counter(i[2:3] + i[4:8] for i in plan(3 * whole, 5, ("pipe", "shm")))
    assert len(visits) == whole
    assert set(visits.values()) == {3}


def test_ten_thousand_faults_visit_each_step_place_and_size_of_ring_at_least_twenty_times():
    visits = Counter((i.ranks, i.round, i.place) for i in plan(10_000, 1, ("pipe", "shm")))
    assert len(visits) == sum(2 * (p - 1) for p in RANKS) * len(PLACES)
    assert min(visits.values()) >= 20


def test_kinds_come_by_their_weights():
    kinds = Counter(injection.kind for injection in plan(10_000, 3))
    assert set(kinds) == set(WEIGHTS) == set(ALLOWED)
    for kind, weight in WEIGHTS.items():
        assert abs(kinds[kind] / 10_000 - weight / 100) < 0.02


def test_a_second_death_is_on_another_rank():
    assert all(i.second not in (None, i.rank) for i in plan(500, 2) if i.kind == "two")


INJECTION = Injection(0, "crash", 4, 2, 1, "send", 10, "pipe")


def good(kind="crash", verdict="KILLED"):
    """A history without violations: one fault, one clean call, nothing left."""
    injection = INJECTION._replace(kind=kind)._asdict()
    end = {"what": "end", "n": 0, "right": verdict is None, "rank": 2, "round": 1, "world": "pipe 4"}
    end |= {"seconds": 1.0, "latency": 0.01}
    return [
        {"what": "call", "n": 0, "call": "faulty", "injection": injection},
        {**end, "call": "faulty", "verdict": verdict, "call_number": 1},
        {"what": "call", "n": 0, "call": "clean", "injection": injection},
        {**end, "call": "clean", "verdict": None, "right": True, "rank": None, "call_number": 2, "latency": None},
        {"what": "left", "processes": [], "segments": [], "files": [], "sockets": 0},
    ]


@pytest.mark.parametrize(
    ("kind", "verdict"), [(kind, verdict) for kind in ALLOWED for verdict in sorted(ALLOWED[kind], key=str)]
)
def test_histories_that_keep_the_rules_pass(kind, verdict):
    assert violations(good(kind, verdict)) == []


def change(line, **fields):
    def broken(history):
        history[line].update(fields)

    return broken


def drop(line):
    def broken(history):
        del history[line]

    return broken


BROKEN = {
    "a wrong result was returned as good": change(3, right=False),
    "KILLED without a fault": change(3, verdict="KILLED"),
    "STALL instead of KILLED": change(1, verdict="STALL"),
    "None instead of KILLED": change(1, verdict=None, right=True),
    "OOPS is not on the list of verdicts": change(1, verdict="OOPS"),
    "rank 3 was named, the fault was on [2]": change(1, rank=3),
    "round 2 was named, the fault was in round 1": change(1, round=2),
    "call number 1 is not new in its world": change(3, call_number=1),
    "the faulty call never ended": drop(1),
    "a clean call ended that had not begun": drop(2),
    "the clean call never ended": drop(3),
    "left behind: processes [17]": change(4, processes=[17]),
    "left behind: segments ['psm_x']": change(4, segments=["psm_x"]),
    "left behind: files ['pymp-x']": change(4, files=["pymp-x"]),
    "left behind: sockets 1": change(4, sockets=1),
    "injection 0: hang": lambda history: history.insert(1, {"what": "hang", "n": 0}),
}


@pytest.mark.parametrize("says", BROKEN)
def test_each_broken_rule_is_found(says):
    history = copy.deepcopy(good())
    BROKEN[says](history)
    assert any(says in sentence for sentence in violations(history)), violations(history)


def test_a_call_that_was_given_up_breaks_no_rule():
    history = good()
    history[1] = {"what": "given up"}
    assert violations([history[0], history[1], history[4]]) == []


def test_a_clean_call_may_not_be_replaced_by_anything():
    history = good("between", None)
    history[1]["right"] = False
    assert violations(history) == ["injection 0 (between), faulty call: a wrong result was returned as good"]


def test_the_figures_count():
    found = {"seed": 9, **figures(good())}
    assert (found["faults"], found["calls"], found["wrong_results"], found["hangs"]) == (1, 2, 0, 0)
    assert (found["places"], found["fewest_visits"]) == (1, 1)
    assert found["detection"] == {"median": 0.01, "p99": 0.01, "max": 0.01}
    lines = sentences(found)
    assert lines[0] == "1 faults with seed 9: 0 hangs, 0 wrong results in 2 calls"
    assert lines[3] == "verdicts: KILLED 1"
    assert "median 0.010 s" in lines[5]
    broken = good()
    broken[3].update(right=False)
    broken[4].update(processes=[1], segments=["a", "b"], sockets=3)
    broken.insert(1, {"what": "hang", "n": 0})
    found = figures(broken)
    counted = ("wrong_results", "hangs", "processes_left", "segments_left", "files_left", "listening_sockets")
    assert [found[name] for name in counted] == [1, 1, 1, 2, 0, 3]


# ---- the watchdog must see what is wrong -----------------------------------------------------------------------

HANGS = "import sys; sys.stdin.read()"
DIES = "pass"
MESSY = """
import json, os, socket, subprocess, sys, tempfile
listening = socket.create_server(("127.0.0.1", 0))
open(os.path.join(tempfile.gettempdir(), "left"), "w").close()
name = f"/dev/shm/ringlab_{os.getpid()}_left"
open(name, "w").close()
subprocess.Popen([sys.executable, "-c", "import threading; threading.Event().wait(60)"], start_new_session=True,
                 stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
for text in sys.stdin:
    print(json.dumps({"what": "end", "call": "clean", "n": 0}), flush=True)
os.kill(os.getpid(), 9)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
@pytest.mark.parametrize("worker", [HANGS, DIES])
def test_a_worker_that_says_nothing_or_dies_hangs(monkeypatch, worker):
    monkeypatch.setattr(watch, "WORKER", ("-c", worker))
    monkeypatch.setattr(watch, "GRACE", 0.5)
    monkeypatch.setattr(plans, "SILENT_SECONDS", 0.1)
    monkeypatch.setattr(plans, "PATIENT_SECONDS", 0.1)
    history = watch.storm(plan(2, 1), progress=False, jobs=2)
    assert [line["n"] for line in history if line["what"] == "hang"] == [0, 1]
    assert violations(history) == ["injection 0: hang", "injection 1: hang"]


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
def test_what_a_worker_leaves_is_seen(monkeypatch):
    monkeypatch.setattr(watch, "WORKER", ("-c", MESSY))
    monkeypatch.setattr(watch, "PATIENCE", 0.5)
    history = watch.storm(plan(1, 1), progress=False)
    left = history[-1]
    try:
        assert (len(left["processes"]), left["files"], left["sockets"]) == (1, ["left"], 1)
        assert len(left["segments"]) == 1
    finally:
        for pid in left["processes"]:
            os.kill(pid, signal.SIGKILL)
        for name in left["segments"]:
            os.unlink(f"/dev/shm/{name}")


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
def test_an_interrupt_keeps_what_was_seen_and_leaves_nothing(tmp_path):
    saved = tmp_path / "history.jsonl"
    words = ["faultstorm", "--count", "5000", "--jobs", "2", "--json", str(saved)]
    heeding = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); "  # in the background, too
    command = [sys.executable, "-c", f"{heeding} import sys, ringlab.__main__ as it; sys.exit(it.main({words}))"]
    running = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    for job in (0, 1):
        wait_for_more_than(2, f"{watch.MARKER}={running.pid}-{job}-0")  # each worker has ranks
    running.send_signal(signal.SIGINT)
    out, err = running.communicate(timeout=60)
    assert running.returncode == 130, out + err
    assert "interrupted after" in out and "0 violations" in out and "Traceback" not in err
    history = [json.loads(line) for line in saved.read_text().splitlines()]
    assert sum(line["what"] == "given up" for line in history) == 2, history[-8:]
    assert [line["processes"] for line in history if line["what"] == "left"] == [[], []]


def storm(count, seed, *more):
    command = [sys.executable, "-m", "ringlab", "faultstorm", "--count", str(count), "--seed", str(seed), *more]
    return subprocess.run(command, capture_output=True, text=True, timeout=1800)


LEAST = {"hangs": 0, "wrong_results": 0, "processes_left": 0, "segments_left": 0, "files_left": 0}
LEAST |= {"listening_sockets": 0, "violations": 0}


def stormed(tmp_path, count, seed, *more):
    """The figures of a storm that must obey all rules; times within ten times what we promise."""
    done = storm(count, seed, "--json", str(tmp_path / "history.jsonl"), *more)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.endswith("0 violations\n")
    found = json.loads((tmp_path / "history.jsonl").read_text().splitlines()[-1])
    assert {name: found[name] for name in LEAST} == LEAST
    assert (found["faults"], found["calls"]) == (count, 2 * count)
    assert found["detection"]["p99"] <= 1 and found["detection"]["max"] <= 10
    assert found["stall"]["max"] <= 2.5
    assert found["again"]["max"] <= 30
    return found


@pytest.mark.slow
def test_two_hundred_faults(tmp_path):
    stormed(tmp_path, 200, 11, "--start", "forkserver", "--jobs", "2")


@pytest.mark.night
def test_ranks_that_are_spawned_add_no_listening_socket_in_a_storm(tmp_path):
    stormed(tmp_path, 100, 13)


@pytest.mark.night
def test_a_long_storm(tmp_path):
    found = stormed(tmp_path, 2000, 12, "--start", "forkserver", "--jobs", "2")
    assert found["places"] == sum(2 * (p - 1) for p in RANKS) * len(PLACES)
    assert found["fewest_visits"] >= 4
