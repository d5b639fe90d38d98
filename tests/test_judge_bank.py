"""The judge against a bank: every wrong all-reduce gets the verdict that it must get, every right one passes."""

import pytest
from bank import right, wrong

import ringlab as rl


def name_of(case):
    return getattr(case, "__name__", type(case).__name__)


WRONG = [pytest.param(*case, id=f"{name_of(case[0])}{'-' + str(case[3]) if case[3] else ''}") for case in wrong.CASES]


@pytest.mark.parametrize(("function", "verdict", "family", "options"), WRONG)
def test_a_wrong_one_gets_its_verdict(function, verdict, family, options):
    judged = rl.check(function, **options)
    print(judged)
    for _ in range(3):
        hint = judged.hint
    print(hint)
    assert not judged
    assert (judged.verdict, judged.family) == (verdict, family)


@pytest.mark.parametrize("function", right.ALLREDUCES, ids=name_of)
def test_a_right_one_passes(function):
    judged = rl.check(function)
    assert judged.passed, judged


@pytest.mark.parametrize(
    ("function", "what"),
    [(function, "mean") for function in right.MEANS]
    + [(function, "reduce_scatter") for function in right.REDUCE_SCATTERS]
    + [(function, "all_gather") for function in right.ALL_GATHERS],
    ids=str,
)
def test_a_right_half_passes(function, what):
    judged = rl.check(function, what=what)
    assert judged.passed, judged
