"""A rank that was kept from the processor is not one that was silent."""

import os
import sys

import pytest

from ringlab import pulse


def own_seconds(before, after, passed):
    clock, times = iter([100.0, 100.0 + passed]), iter([before, after])
    return pulse.Pulse(1, clock=lambda: next(clock), times=lambda pid: next(times)).own_seconds()


@pytest.mark.parametrize(
    ("before", "after", "seconds"),
    [
        (("S", 1.0, 2.0), ("S", 1.0, 2.0), 3.0),  # slept
        (("R", 1.0, 2.0), ("T", 1.0, 2.0), 3.0),  # stopped
        (("R", 1.0, 2.0), ("R", 4.0, 2.0), 3.0),  # looped on a core of its own
        (("R", 1.0, 2.0), ("R", 1.5, 3.5), 0.5),  # looped on a sixth of a core
        (("S", 1.0, 2.0), ("R", 1.0, 2.0), 0.0),  # was woken, and has not run yet
        (("R", 1.0, 2.0), ("S", 1.1, 4.9), pytest.approx(0.1)),  # ran a little at last, and sleeps
        (None, ("R", 1.0, 2.0), 3.0),  # nobody tells
        (("R", 1.0, 2.0), None, 3.0),
    ],
)
def test_only_the_time_counts_in_which_it_could_act(before, after, seconds):
    assert own_seconds(before, after, 3.0) == seconds


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_what_the_system_tells_of_this_process():
    state, ran, waited = pulse.times_of(os.getpid())
    assert (state, ran > 0, waited >= 0) == ("R", True, True)
    assert pulse.times_of(2**22 + 1) is None
