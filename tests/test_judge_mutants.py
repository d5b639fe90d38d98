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
QUICK = (3, 4)
MUTANTS = [(name, mutants.compiled(source)) for name, source in mutants.sources()]
VERDICTS = {
    "raised": ("EXCEPTION",),
    "blocked": ("DEADLOCK",),
    "returned": ("WRONG_RESULT", "NOT_WRITTEN"),
    "wrong": ("WRONG_RESULT", "NOT_WRITTEN"),
    "unread": ("UNREAD",),
}


def judged(function, ranks):
    """Compare what the marks tell of a mutant with what it does."""
    kind, wrong = mutants.truth(function, ranks)
    found = diagnose(Seen(observe(function, ranks)))
    if kind == "right":
        assert found is None, (ranks, found)
        return
    assert found is not None, (ranks, kind)
    assert found.verdict in VERDICTS[kind], (ranks, kind, found)
    assert len(hints(found)) == 3
    assert all(hints(found))
    named = {int(number) for number in re.findall(r"\bc(\d+)\b", found.text)}
    if named and kind == "wrong":
        assert named & {chunk for _, chunk in wrong}, (ranks, found, wrong)


@pytest.mark.parametrize(("name", "function"), MUTANTS, ids=[name for name, _ in MUTANTS])
def test_the_marks_tell_what_a_mutant_does(name, function):
    for ranks in QUICK:
        judged(function, ranks)


@pytest.mark.night
@pytest.mark.parametrize(("name", "function"), MUTANTS, ids=[name for name, _ in MUTANTS])
def test_the_marks_tell_it_at_every_number_of_ranks(name, function):
    for ranks in set(RANKS) - set(QUICK):
        judged(function, ranks)


@pytest.mark.slow
def test_most_mutants_are_wrong_and_those_that_are_not_pass():
    assert len(MUTANTS) > 150
    right = [function for _, function in MUTANTS if all(mutants.truth(function, p)[0] == "right" for p in RANKS)]
    assert 0 < len(right) < len(MUTANTS) / 10
    for function in right:
        passed = rl.check(function, ranks=(2, 4))
        assert passed, passed
