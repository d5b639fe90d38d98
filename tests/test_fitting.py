"""Fits: the truth comes back from synthetic points, intervals hold it as often as they say, nonsense is named."""

import numpy as np
import pytest

from ringlab import cost, fitting
from ringlab.verdicts import BadInput

ALPHA, BETA = 20e-6, 1 / 2e9
SIZES = [16, 248, 2000, 16_000, 128_000, 500_000, 2_000_000, 4_000_000]


def noisy(seed, noise=0.05):
    times = ALPHA + BETA * np.array(SIZES)
    return times * (1 + noise * np.random.default_rng(seed).normal(size=len(SIZES)))


@pytest.mark.parametrize("relative", [True, False])
def test_the_truth_comes_back(relative):
    fit = fitting.fit_line(SIZES, noisy(0, noise=0), relative)
    assert fit.values == pytest.approx((ALPHA, BETA), rel=1e-9)
    assert fit.worst < 1e-9


def test_intervals_hold_the_truth_as_often_as_they_say():
    held = np.zeros(2)
    for seed in range(400):
        fit = fitting.fit_line(SIZES, noisy(seed))
        held += [low <= truth <= high for truth, (low, high) in zip((ALPHA, BETA), fit.intervals)]
    assert (held / 400 > 0.92).all() and (held / 400 < 0.98).all()


def test_plain_seconds_lose_sight_of_alpha():
    relative, plain = [], []
    for seed in range(50):
        for found, weigh in ((relative, True), (plain, False)):
            found.append(abs(fitting.fit_line(SIZES, noisy(seed), weigh).values[0] / ALPHA - 1))
    assert np.median(relative) < 0.05 < 0.1 < np.median(plain)


def test_no_value_is_negative():
    fit = fitting.fit_line([1000, 2000, 4000], [1e-6, 3e-6, 7e-6])  # the line would begin below 0
    assert fit.values[0] == 0
    assert fit.values[1] == pytest.approx(1.5e-9, rel=0.2)


def test_two_points_leave_the_interval_open():
    assert fitting.fit_line([0, 1000], [1e-6, 2e-6]).intervals[0] == (0.0, float("inf"))


@pytest.mark.parametrize("algorithm", ["ring", "doubling", "halving"])
def test_whole_all_reduces_give_alpha_and_beta_back(algorithm):
    ranks = [2, 2, 4, 4, 8, 8]
    sizes = [1000, 10**6] * 3
    times = [cost.seconds(algorithm, p, n, ALPHA, BETA) for p, n in zip(ranks, sizes)]
    assert fitting.fit_allreduce(algorithm, ranks, sizes, times).values == pytest.approx((ALPHA, BETA), rel=1e-9)


@pytest.mark.parametrize(
    ("nbytes", "seconds", "said"),
    [
        ([], [], "seconds is empty"),
        ([1, 2], [1.0], "seconds has 1 points"),
        ([1, 2], [1.0, -1.0], "seconds[1]=-1.0 is no measured time"),
        ([1, 2], [1.0, float("nan")], "seconds[1]=nan is no number"),
        ([1, -2], [1.0, 2.0], "nbytes[1]=-2 is negative"),
        ([1, "2 kB"], [1.0, 2.0], "nbytes[1]='2 kB' is no number"),
        ([5, 5, 5], [1.0, 1.0, 2.0], "3 points do not tell 2 values apart"),
        ([5], [1.0], "1 points do not tell"),
    ],
)
def test_nonsense_is_named(nbytes, seconds, said):
    with pytest.raises(BadInput) as caught:
        fitting.fit_line(nbytes, seconds)
    assert said in str(caught.value)


def test_ranks_and_sizes_must_be_as_many():
    with pytest.raises(BadInput, match="ranks has 1 numbers for 2 points"):
        fitting.fit_allreduce("ring", [2], [1, 2], [1.0, 2.0])
