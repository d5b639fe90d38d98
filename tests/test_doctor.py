"""The doctor: ready, or the exact reason and what to do; quiet when all is well; never longer than its deadline."""

import argparse
import sys
import time

import pytest

from ringlab import doctor, machine
from ringlab.__main__ import main


def test_this_machine_is_ready_and_the_self_test_is_quick(capsys):
    started = time.monotonic()
    assert main(["doctor"]) == 0
    assert time.monotonic() - started < doctor.SECONDS
    said = capsys.readouterr().out
    assert said.endswith("This machine is ready.\n")
    assert "4 ranks summed by the ring" in said
    for name in ("Python", "packages", "cores", "shared memory", "start method", "self-test"):
        assert f"\n{'  '}{name}" in f"\n{said}" or f"\n- {name}" in said


def test_quiet_says_nothing_on_a_machine_that_is_ready(capsys, monkeypatch):
    monkeypatch.setattr(doctor, "self_tested", lambda: doctor.Finding("ok", "self-test", "fine"))
    assert doctor.command(argparse.Namespace(quiet=True)) == 0
    assert capsys.readouterr().out == ""


def test_quiet_speaks_when_something_is_wrong(capsys, monkeypatch):
    monkeypatch.setattr(doctor, "self_tested", lambda: doctor.Finding("bad", "self-test", "rank 2 died", "look"))
    assert doctor.command(argparse.Namespace(quiet=True)) == 1
    assert capsys.readouterr().out.splitlines() == [
        "This machine is not ready for the lab:",
        "! self-test       rank 2 died",
        "                  What to do: look",
    ]


def test_no_self_test_on_a_machine_that_cannot_run_it(monkeypatch):
    monkeypatch.setattr(machine, "free_shm", lambda root=None: 1000)
    monkeypatch.setattr(doctor, "self_tested", lambda: pytest.fail("started ranks"))
    findings = {finding.name: finding for finding in doctor.examine()}
    assert findings["shared memory"].level == "bad"
    assert "left out" in findings["self-test"].says


def test_too_old_a_python():
    assert doctor.python((3, 10, 4)).level == "bad"
    assert doctor.python((3, 11, 0)).level == "ok"


def test_packages_that_are_missing_or_out_of_range_are_named():
    finding = doctor.packages(["numpy>=1", "numpy<1", "no-such-package>=2", "never; extra == 'test'"])
    assert finding.level == "bad"
    assert finding.says.startswith("numpy is ")
    assert finding.says.endswith("not <1; no-such-package is missing")
    assert "lab.py" in finding.todo


def test_fewer_cores_than_ranks_is_a_note_and_names_the_quota(monkeypatch):
    monkeypatch.setattr(machine, "cores", lambda: 8)
    monkeypatch.setattr(machine, "quota", lambda root=None: 1.5)
    finding = doctor.cores()
    assert finding.level == "note"
    assert finding.says.startswith("8, of which a quota grants 1.5: four ranks take turns")
    monkeypatch.setattr(machine, "quota", lambda root=None: None)
    assert doctor.cores() == doctor.Finding("ok", "cores", "8, no quota")


@pytest.mark.parametrize(
    ("check", "function", "left", "level"),
    [
        (doctor.shared_memory, "free_shm", None, "ok"),
        (doctor.shared_memory, "free_shm", 1_000_000, "bad"),
        (doctor.shared_memory, "free_shm", 50_000_000, "note"),
        (doctor.shared_memory, "free_shm", 500_000_000, "ok"),
        (doctor.memory, "free_memory", None, "ok"),
        (doctor.memory, "free_memory", 100_000_000, "bad"),
        (doctor.memory, "free_memory", 1_000_000_000, "ok"),
        (doctor.processes, "pids_left", None, "ok"),
        (doctor.processes, "pids_left", 12, "bad"),
        (doctor.processes, "pids_left", 500, "ok"),
        (doctor.descriptors, "descriptors_left", None, "ok"),
        (doctor.descriptors, "descriptors_left", 20, "bad"),
        (doctor.descriptors, "descriptors_left", 1000, "ok"),
    ],
)
def test_each_resource_is_judged_and_a_bad_one_says_what_to_do(monkeypatch, check, function, left, level):
    monkeypatch.setattr(machine, function, lambda root=None: left)
    finding = check()
    assert finding.level == level
    assert bool(finding.todo) == (level == "bad")


# ---- the self-test must be able to fail ------------------------------------------------------------------------------


def test_a_wrong_sum_is_seen():
    code = doctor.SELF_TEST.replace("ringlab.ring_allreduce", "ringlab.bugs.mixed_numbering")
    assert code != doctor.SELF_TEST
    finding = doctor.self_tested(code)
    assert finding.level == "bad"
    assert "wrong sum" in finding.says


def test_ranks_that_cannot_start_give_their_own_reason():
    finding = doctor.self_tested("raise OSError('no processes left')")
    assert finding == doctor.Finding(
        "bad", "self-test", "four ranks could not run: OSError: no processes left", finding.todo
    )


def test_a_self_test_that_dies_without_a_word():
    assert "ended with code 3 and said nothing" in doctor.self_tested("import os; os._exit(3)").says


def test_a_self_test_that_hangs_is_ended():
    started = time.monotonic()
    finding = doctor.self_tested("while True: pass", seconds=0.5)
    assert time.monotonic() - started < 5
    assert "did not finish within 0.5 s" in finding.says


def test_no_process_can_be_started(monkeypatch):
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    assert doctor.self_tested().says == "no process could be started: No such file or directory"
