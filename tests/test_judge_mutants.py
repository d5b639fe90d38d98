"""Every one-token mutant of the ring gets the verdict that fits what it does, found out without the judge."""

import re

import pytest
from bank import mutants

import ringlab as rl
from ringlab.judge.diagnosis import diagnose
from ringlab.judge.observe import observe
from ringlab.judge.seen import Seen
from ringlab.judge.verdict import hints

RANKS = (1, 2, 3, 4, 5, 8)
MUTANTS = [(name, mutants.compiled(source)) for name, source in mutants.sources()]
VERDICTS = {
    "raised": ("EXCEPTION",),
    "blocked": ("DEADLOCK",),
    "returned": ("WRONG_RESULT", "NOT_WRITTEN"),
    "wrong": ("WRONG_RESULT", "NOT_WRITTEN"),
    "unread": ("UNREAD",),
}


def test_there_are_many_mutants_and_most_are_wrong():
    assert len(MUTANTS) > 150
    right = [name for name, function in MUTANTS if all(mutants.truth(function, p)[0] == "right" for p in RANKS)]
    assert 0 < len(right) < len(MUTANTS) / 4


@pytest.mark.parametrize(("name", "function"), MUTANTS, ids=[name for name, _ in MUTANTS])
def test_the_marks_tell_what_a_mutant_does(name, function):
    for ranks in RANKS:
        kind, wrong = mutants.truth(function, ranks)
        found = diagnose(Seen(observe(function, ranks)))
        if kind == "right":
            assert found is None, (ranks, found)
            continue
        assert found is not None, (ranks, kind)
        assert found.verdict in VERDICTS[kind], (ranks, kind, found)
        assert len(hints(found)) == 3
        assert all(hints(found))
        named = {int(number) for number in re.findall(r"\bc(\d+)\b", found.text)}
        if named and kind == "wrong":
            assert named & {chunk for _, chunk in wrong}, (ranks, found, wrong)


def test_right_mutants_pass_and_some_wrong_ones_do_not():
    right = [function for _, function in MUTANTS if all(mutants.truth(function, p)[0] == "right" for p in RANKS)]
    assert all(rl.check(function) for function in right)
