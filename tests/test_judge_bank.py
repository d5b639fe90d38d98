"""The judge against a bank: every wrong all-reduce gets the verdict that it must get, every right one passes.

The quick tests look at what the marks tell, in this process. The slow ones judge as a learner would, on real processes.
"""

import re

import pytest
from bank import right, wrong

import ringlab as rl
from ringlab.judge import data
from ringlab.judge.diagnosis import diagnose
from ringlab.judge.observe import observe
from ringlab.judge.seen import Seen
from ringlab.judge.words import FAMILIES

NOT_HERE = {"leaves_hard", "kills_itself", "never_ends", "eats_memory", "three_things"}  # no harm to the test process
NUMBERS = {"only_here", "rounded", "bits", "floor", "over"}  # families that marks cannot tell


def name_of(case):
    return getattr(case, "__name__", type(case).__name__)


def cases(chosen):
    return [
        pytest.param(*case, id="-".join([name_of(case[0]), *map(str, case[3].values())]))
        for case in wrong.CASES
        if chosen(case[0].__name__, case[2])
    ]


MARKS = cases(lambda name, family: name not in NOT_HERE and family not in NUMBERS and name != "dies_of_large_buffers")


def seen_at(function, ranks):
    return Seen(observe(function, ranks))


# ---- what the marks tell ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("function", "verdict", "family", "options"), MARKS)
def test_marks_tell_a_wrong_one(function, verdict, family, options):
    what = options.get("what", "allreduce")
    found = diagnose(seen_at(function, 4), what) or diagnose(seen_at(function, 3), what)
    assert found is not None
    assert (found.verdict, found.family) == (verdict, family), found


@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("function", right.ALLREDUCES, ids=name_of)
def test_marks_pass_a_right_one(function, ranks):
    assert diagnose(seen_at(function, ranks)) is None


HALVES = [
    *((function, "mean") for function in right.MEANS),
    *((function, "reduce_scatter") for function in right.REDUCE_SCATTERS),
    *((function, "all_gather") for function in right.ALL_GATHERS),
]


@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 5])
@pytest.mark.parametrize(("function", "what"), HALVES, ids=lambda value: getattr(value, "__name__", value))
def test_marks_pass_a_right_half(function, what, ranks):
    assert diagnose(seen_at(function, ranks), what) is None


def test_the_bank_is_large():
    assert len({case[2] for case in wrong.CASES}) >= 40
    assert len({case[0].__name__ for case in wrong.CASES}) >= 60
    assert len(right.ALLREDUCES) >= 25


def test_every_family_of_mistakes_has_a_case_in_the_bank():
    assert set(FAMILIES) == {case[2] for case in wrong.CASES}


# ---- judged as a learner would ---------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(("function", "verdict", "family", "options"), cases(lambda name, family: True))
def test_a_wrong_one_gets_its_verdict(function, verdict, family, options):
    judged = rl.check(function, **options)
    assert not judged
    assert (judged.verdict, judged.family) == (verdict, family), judged
    assert len(judged.lines) <= 7
    assert max(map(len, judged.lines)) <= 200
    where = judged.hint
    assert where
    if verdict == "WRONG_RESULT" and family not in ("returned", "generator"):
        headline = judged.lines[0] + where.partition(" Line ")[0]
        assert not re.search(r"% p|rank [-+] ", headline), "the first words must not end the puzzle"
    assert len(judged.hint.splitlines()) == 2
    assert len(judged.hint.splitlines()) == 3
    assert len(judged.hint.splitlines()) == 3


@pytest.mark.slow
@pytest.mark.parametrize("function", right.ALLREDUCES, ids=name_of)
def test_a_right_one_passes(function):
    judged = rl.check(function)
    assert judged.passed, judged
    assert judged.credit == 1


@pytest.mark.slow
@pytest.mark.parametrize(("function", "what"), HALVES, ids=lambda value: getattr(value, "__name__", value))
def test_a_right_half_passes(function, what):
    judged = rl.check(function, what=what)
    assert judged.passed, judged


WIRES = ("pipe", "shm", "virtual")


@pytest.mark.slow
@pytest.mark.parametrize("wire", WIRES)
def test_right_ones_pass_on_every_wire(wire):
    for function in right.ALLREDUCES:
        judged = rl.check(function, ranks=4, wire=wire)
        assert judged.passed, (function, judged)


@pytest.mark.night
@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("verdict", ["WRONG_RESULT", "EXCEPTION", "DEADLOCK"])
def test_numbers_alone_tell_wrong_ones_on_every_wire(wire, verdict):
    for function, expected, family, options in wrong.CASES:
        marked = family not in NUMBERS and function.__name__ not in NOT_HERE
        if expected != verdict or not marked or (verdict != "WRONG_RESULT" and function.__name__ not in SOME):
            continue
        what = options.get("what", "allreduce")
        if what == "reduce_scatter":
            continue  # who should own what is known from the marks only
        found = data.judge(function, seen_at(function, 4), what, wire=wire)
        assert found is not None, function
        # numbers of the wrong chunk may not even fit: chunks are of unequal length
        unfit = found.verdict == "EXCEPTION" and "broadcast" in found.text
        assert found.verdict == verdict or (unfit and verdict == "WRONG_RESULT"), (function, found)


SOME = {"receives_first", "star_that_forgets_one", "chunk_of_the_last", "helps_itself_badly"}  # each ends its ranks
