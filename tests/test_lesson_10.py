"""Lesson 10: buckets and overlap. Its numbers, its figures, and its exercises with solutions and wrong answers."""

import math
from fractions import Fraction

import numpy as np
import pytest
from plotly.graph_objects import Figure

import ringlab as rl
from ringlab.exercises import exposed as exposing
from ringlab.exercises import plan as planning

MIB = 2**20

# ---- what the lesson says --------------------------------------------------------------------------------------------


def test_no_number_of_buckets_hides_everything():
    found = [rl.buckets.exposed(n, 1e9, 0.1, 8, 1e-6, 1 / 50e9) for n in (1, 4, 10, 40, 100)]
    assert [f"{1e3 * x:.2f}" for x in found] == ["35.01", "8.76", "3.51", "0.89", "0.36"]
    exact = [
        rl.buckets.exposed(n, 10**9, Fraction(1, 10), 8, Fraction(1, 10**6), Fraction(1, 5 * 10**10))
        for n in range(1, 3000)
    ]
    assert min(exact) > 0
    assert all(x >= 14 * Fraction(1, 10**6) for x in exact), "what the messages of one bucket cost"


def test_gpt2_small_has_13_buckets_and_not_19():
    plan = rl.buckets.plan("gpt2-small")
    assert (len(plan), -(-plan.nbytes // (25 * MIB))) == (13, 19)
    assert round(plan[-1].nbytes / MIB, 1) == 168.3
    assert plan[-1].names[-1] == "wte.weight"


@pytest.mark.slow
def test_forty_collectives_for_a_gigabyte_depend_on_which_gigabyte():
    assert 1e9 / 25e6 == 40
    assert math.ceil(2**30 / (25 * MIB)) == 41
    assert math.ceil(1e9 / (25 * MIB)) == 39
    assert len(rl.buckets.plan([256] * (10**9 // 1024))) == 40  # arrays so small that no bucket overshoots by much


def test_the_slider_shows_that_every_size_leaves_something():
    figure = rl.buckets.drag("gpt2-small", 0.1, 8, 5e-5, 1 / 12.5e9)
    lines = repr(figure).split("\n")
    assert [line.split(":")[0] for line in lines[1:]] == [
        "every array", "1 MiB", "5 MiB", "25 MiB", "100 MiB", "one buffer",
    ]  # fmt: skip
    assert "25 MiB: 13 buckets, 25.4 ms exposed" in lines
    assert lines[1] == "every array: 148 buckets, 73.3 ms exposed"
    assert lines[-1] == "one buffer: 1 bucket, 70.4 ms exposed"
    drawn = Figure({"data": figure.data, "layout": figure.layout})
    (slider,) = drawn.layout.sliders
    assert [step.label for step in slider.steps] == [line.split(":")[0] for line in lines[1:]]
    assert slider.active == 3
    visible = [trace for trace in drawn.data if trace.visible]
    assert [len(trace.y) for trace in visible] == [13, 12, 1]
    for step, line in zip(slider.steps, lines[1:], strict=True):
        shown = [trace for trace, seen in zip(drawn.data, step.args[0]["visible"], strict=True) if seen]
        exposed = shown[2]
        end = max(base + x for base, x in zip(exposed.base, exposed.x, strict=True))
        assert f"{end - 100:.1f} ms exposed" in line
        assert step.args[1]["title.text"] == f"gpt2-small, {line}"


def test_more_messages_than_one_buffer_fewer_than_one_per_array():
    counts = [
        len(rl.buckets.plan("gpt2-small", cap, first)) for cap, first in ((1, 1), (25 * MIB, MIB), (math.inf,) * 2)
    ]
    assert counts == [148, 13, 1]


def test_a_tied_tensor_divided_under_both_of_its_names():
    def program(comm):
        shared = np.full(2, 10.0**comm.rank)
        for gradient in (shared, shared):  # one tensor that is registered under two names
            gradient /= comm.size
        return comm.allreduce(shared)

    assert rl.launch(program)[0][0] == 1111 / 16


# ---- the exercises ---------------------------------------------------------------------------------------------------


def plan(sizes, cap, first):
    buckets, held, limit = [], 0, first
    for size in reversed(sizes):
        held += size
        if held >= limit:
            buckets.append(held)
            held, limit = 0, cap
    return buckets + [held] * (held > 0)


def forwards(sizes, cap, first):
    return plan(sizes[::-1], cap, first)


def one_limit(sizes, cap, first):
    return plan(sizes, cap, cap)


def forgets_the_rest(sizes, cap, first):
    held, buckets, limit = 0, [], first
    for size in reversed(sizes):
        held += size
        if held >= limit:
            buckets, held, limit = [*buckets, held], 0, cap
    return buckets


def divides(sizes, cap, first):
    whole, rest = divmod(sum(sizes), cap)
    return [cap] * whole + [rest] * bool(rest)


def small_limit(sizes, cap, first):
    return plan(sizes, first, first)


def never_over(sizes, cap, first):
    return planning._never_over(sizes, cap, first)


def endless(sizes, cap, first):
    while True:
        pass


def test_the_plan_takes_its_solution():
    outcome = planning.check(plan)
    assert outcome.passed, outcome
    assert "13 buckets" in repr(outcome)


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        (forwards, "the last layer first"),
        (one_limit, "The first bucket has a limit of its own"),
        (forgets_the_rest, "What is left at the end"),
        (divides, "Arrays are not cut"),
        (small_limit, "for the first bucket only"),
        (never_over, "still goes into the bucket"),
        (lambda sizes, cap, first: 13, "a list of bytes is asked for"),
        (lambda sizes, cap, first: [1 / 0], "ZeroDivisionError"),
        (lambda sizes: sizes, "does not take that"),
        (lambda sizes, cap, first: None, "not written yet"),
    ],
)
def test_the_plan_says_what_is_wrong(wrong, says):
    outcome = planning.check(wrong)
    assert not outcome.passed
    assert says in repr(outcome)


def test_the_plan_of_a_network_says_how_many_buckets():
    cheat = {tuple(sizes): planning.wanted(sizes, cap, first) for sizes, cap, first in planning.SMALL}

    def knows_the_small_ones(sizes, cap, first):
        return cheat.get(tuple(sizes), [sum(sizes)])

    said = repr(planning.check(knows_the_small_ones))
    assert said.startswith("not right yet: the plan of resnet18 gives [46758048], DDP makes [2052000, ")
    cheat |= {tuple(planning.sizes_of("resnet18")): planning.wanted(planning.sizes_of("resnet18"), 25 * MIB, MIB)}
    assert "the plan of gpt2-small has 1 buckets, DDP makes 13" in repr(planning.check(knows_the_small_ones))


@pytest.mark.slow
def test_an_endless_plan_ends():
    assert "STALL" in repr(planning.check(endless))


def exposed(n, nbytes, backward, ranks, alpha, beta):
    one = 2 * (ranks - 1) * (alpha + nbytes / n / ranks * beta)
    return max(backward + one, backward / n + n * one) - backward


def fits(n, nbytes, backward, ranks, alpha, beta):
    return max(0, 2 * (ranks - 1) * (n * alpha + nbytes / ranks * beta) - backward)


def no_alpha(n, nbytes, backward, ranks, alpha, beta):
    return exposed(n, nbytes, backward, ranks, 0, beta)


def whole(n, nbytes, backward, ranks, alpha, beta):
    return backward + exposed(n, nbytes, backward, ranks, alpha, beta)


def only_the_last(n, nbytes, backward, ranks, alpha, beta):
    return 2 * (ranks - 1) * (alpha + nbytes / n / ranks * beta)


def shared_alpha(n, nbytes, backward, ranks, alpha, beta):
    return 2 * (ranks - 1) * (alpha + nbytes / ranks * beta) / n


def test_exposed_takes_its_solution():
    outcome = exposing.check(exposed)
    assert outcome.passed, outcome


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        (fits, "When can it begin?"),
        (no_alpha, "2(P-1) alpha for each bucket"),
        (whole, "Take backward off"),
        (only_the_last, "buckets queue up"),
        (shared_alpha, "alpha is not divided by n"),
        (lambda *args: "long", "where seconds are asked for"),
        (lambda *args: [] + 1, "TypeError"),
        (lambda n: n, "does not take that"),
        (lambda *args: None, "not written yet"),
    ],
)
def test_exposed_says_what_is_wrong(wrong, says):
    outcome = exposing.check(wrong)
    assert not outcome.passed
    assert says in repr(outcome)
