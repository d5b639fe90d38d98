"""A rank that was kept from the processor is not one that was silent."""

import os
import sys
import threading

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
    ],
)
def test_only_the_time_counts_in_which_it_could_act(before, after, seconds):
    assert own_seconds({"7": before}, {"7": after}, 3.0) == seconds


def test_the_thread_that_was_kept_from_the_processor_counts():
    before = {"7": ("S", 1.0, 2.0), "8": ("S", 0.5, 0.25)}
    assert own_seconds(before, {"7": ("S", 1.0, 2.0), "8": ("R", 0.75, 0.25)}, 3.0) == 0.25
    assert own_seconds(before, {"7": ("S", 1.0, 2.0), "8": ("S", 0.5, 1.25)}, 3.0) == 2.0


def test_a_thread_that_began_or_ended_meanwhile():
    sleeping = ("S", 1.0, 2.0)
    assert own_seconds({"7": sleeping}, {"7": sleeping, "8": ("S", 0.5, 1.25)}, 3.0) == 1.75
    assert own_seconds({"7": sleeping, "8": ("R", 0.0, 0.0)}, {"7": sleeping}, 3.0) == 3.0


def test_where_nobody_tells_all_time_counts():
    assert own_seconds({}, {}, 3.0) == 3.0


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_what_the_system_tells_of_this_process():
    state, ran, waited = pulse.times_of(os.getpid())[str(os.getpid())]
    assert (state, ran > 0, waited >= 0) == ("R", True, True)
    assert pulse.times_of(2**22 + 1) == {}


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_each_thread_is_told_of():
    end = threading.Event()
    other = threading.Thread(target=end.wait)
    other.start()
    try:
        assert {str(os.getpid()), str(other.native_id)} <= set(pulse.times_of(os.getpid()))
    finally:
        end.set()
        other.join()
