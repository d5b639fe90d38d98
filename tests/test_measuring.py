"""Measuring: real ranks play, and the result is a Network like any other, with its points and intervals."""

import json

import numpy as np
import pytest

import ringlab as rl
from ringlab import measuring
from ringlab.verdicts import BadInput

ALPHA, BETA, GAMMA = 20e-6, 1 / 2e9, 1 / 8e9


def synthetic(ranks=4, turns=3):
    """As from ranks whose times are exactly those of the model; later turns are disturbed."""
    parts = np.array([measuring._part(buffer, ranks) for buffer in measuring.BUFFERS], dtype=float)
    one = np.stack([ALPHA + BETA * parts, 1e-6 + GAMMA * parts], axis=-1)
    return measuring.from_times(
        measuring.BUFFERS, np.stack([one * (1 + turn) for turn in range(turns)]), "pipe", ranks, cores=2.0
    )


def test_the_model_comes_back_and_disturbed_turns_do_not_count():
    mine = synthetic()
    assert (mine.alpha, mine.beta, mine.gamma) == pytest.approx((ALPHA, BETA, GAMMA), rel=1e-9)
    assert mine.intervals["alpha"] == pytest.approx((ALPHA, ALPHA), rel=1e-6)
    assert mine.of("message")[0].middle == 2 * mine.of("message")[0].seconds
    assert repr(mine).splitlines() == [
        "measured here: wire pipe, 4 ranks on 2 cores",
        "alpha  20 us per message (20 to 20)",
        "beta   2 GB/s each way (2 to 2)",
        "gamma  8 GB/s added (8 to 8)",
    ]
    assert len(mine.table().splitlines()) == 1 + 2 * len(measuring.BUFFERS)


def test_it_is_a_network_that_everything_takes():
    mine = synthetic()
    run = rl.run("ring", [np.ones(1000)] * 4, wire="virtual", network=mine)
    assert float(run.seconds) == pytest.approx(mine.predict("ring", 8000), rel=1e-9)
    assert rl.compare(["ring", "doubling"], 8000, mine, ranks=4)["ring"].seconds > 0
    assert hash(mine) == hash(synthetic())
    changed = mine.but(alpha=1e-6)
    assert type(changed) is rl.Network
    assert changed.beta == mine.beta


@pytest.mark.parametrize(("wire", "ranks"), [("pipe", 2), ("shm", 3), pytest.param("pipe", 4, marks=pytest.mark.slow)])
def test_real_ranks_are_measured(wire, ranks):
    mine = rl.measure(wire, ranks, seconds=0, largest=64_000, progress=False)
    assert isinstance(mine, rl.Network)
    assert (mine.wire, mine.ranks) == (wire, ranks)
    assert 0 < mine.alpha < 1 and 0 <= mine.beta < 1 and 0 <= mine.gamma < 1
    for point in mine.points:
        assert len(point.times) == measuring.FEWEST_TURNS
        assert point.seconds > 0
    low, high = mine.intervals["alpha"]
    assert low <= mine.alpha <= high
    json.dumps(mine.to_dict())


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: rl.measure("virtual"), "wire='virtual' cannot be measured"),
        (lambda: rl.measure(ranks=0), "ranks=0"),
        (lambda: rl.measure(ranks=1), "ranks=1: a message needs a sender"),
        (lambda: rl.measure(ranks=2.5), "ranks=2.5"),
        (lambda: rl.measure(seconds=-1), "seconds=-1"),
        (lambda: rl.measure(largest=-1), "largest=-1"),
        (lambda: synthetic().of("ring"), "what='ring'"),
    ],
)
def test_nonsense_is_named(call, said):
    with pytest.raises(BadInput) as caught:
        call()
    assert said in str(caught.value)
