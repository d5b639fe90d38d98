"""Lesson 06: what it prints follows from the model, its exercises have solutions and name what is wrong."""

import json

import pytest

import ringlab as rl
from ringlab.__main__ import main

check_cost, check_fit = rl.exercises.cost.check, rl.exercises.fit.check

# ---- cost(p, nbytes, alpha, beta) ------------------------------------------------------------------------------------


def cost(p, nbytes, alpha, beta):
    return 2 * (p - 1) * (alpha + beta * nbytes / p)


def test_the_ring_costs_what_the_virtual_wire_takes():
    assert check_cost(cost)
    assert repr(check_cost(cost)) == "passed: the virtual wire takes as long, for P = 1 to 9"


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (lambda p, n, a, b: (p - 1) * (a + b * n / p), "That is adding."),
        (lambda p, n, a, b: 2 * (p - 1) * (a + b * n), "A message is one chunk"),
        (lambda p, n, a, b: 2 * (p - 1) * a + b * n, "Do the bytes grow with P"),
        (lambda p, n, a, b: 2 * p * (p - 1) * (a + b * n / p), "the work of all ranks"),
        (lambda p, n, a, b: 2 * (a + b * n * (p - 1) / p), "How many messages"),
        (lambda p, n, a, b: 1 / (p - 4), "ZeroDivisionError"),
        (lambda p, n, a, b: "fast", "gives fast, where seconds"),
        (lambda p: p, "does not take that"),
    ],
)
def test_wrong_costs_are_told_why(wrong, said):
    outcome = check_cost(wrong)
    assert not outcome
    assert said in repr(outcome)


def test_the_stubs_are_not_written_yet():
    assert repr(check_cost(lambda p, nbytes, alpha, beta: None)).startswith(
        "not written yet: cost(4, 64, 1e-06, 1e-09)"
    )
    assert repr(check_fit(lambda nbytes, seconds: None)) == "not written yet: fit(nbytes, seconds) gives None"


# ---- fit(nbytes, seconds) --------------------------------------------------------------------------------------------


def fit(nbytes, seconds):
    import numpy

    n, t = numpy.array(nbytes), numpy.array(seconds)
    equations = numpy.stack([14 / t, 1.75 * n / t], axis=1)
    alpha, beta = numpy.linalg.lstsq(equations, numpy.ones(len(t)), rcond=None)[0]
    return alpha, beta


def of_seconds(nbytes, seconds):
    import numpy

    equations = numpy.stack([14 * numpy.ones(len(nbytes)), 1.75 * numpy.array(nbytes)], axis=1)
    return tuple(numpy.linalg.lstsq(equations, numpy.array(seconds), rcond=None)[0])


def of_whole_times(nbytes, seconds):
    import numpy

    n, t = numpy.array(nbytes), numpy.array(seconds)
    return tuple(numpy.linalg.lstsq(numpy.stack([1 / t, n / t], axis=1), numpy.ones(len(t)), rcond=None)[0])


def test_the_fit_of_the_a100s_has_a_solution():
    assert repr(check_fit(fit)) == "passed: 4.0 us per message and 210.6 GB/s, and no point is more than 36 % off"


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (of_seconds, "you say 10.6 us, 235.1 GB/s; it is 4.0 us, 210.6 GB/s\nThese are least squares of seconds"),
        (of_whole_times, "That is a line through the whole times."),
        (lambda n, t: (5e-6, 100e9), "beta is seconds per byte"),
        (lambda n, t: 5e-6, "where (alpha, beta) is asked for"),
        (lambda n, t: n[99], "IndexError"),
    ],
)
def test_wrong_fits_are_told_why(wrong, said):
    outcome = check_fit(wrong)
    assert not outcome
    assert said in repr(outcome)


# ---- the numbers of the lesson ---------------------------------------------------------------------------------------


def test_126_messages_as_a_share_of_a_step():
    latency = rl.cost.seconds("ring", 64, 0, 1e-6, 0)
    assert latency == pytest.approx(126e-6)
    assert [round(100 * latency / step, 2) for step in (10e-3, 30e-3, 50e-3)] == [1.26, 0.42, 0.25]
    assert 161 * latency == pytest.approx(20.3e-3, rel=1e-3)  # an all-reduce for each tensor
    assert rl.cost.seconds("ring", 64, 0, 14e-6, 0) / 30e-3 == pytest.approx(0.059, abs=5e-4)


def test_what_16_kib_take():
    times = [16384 / rate for rate in (1.25e9, 12.5e9, 50e9, 450e9)]
    assert [round(1e6 * t, 3) for t in times] == [13.107, 1.311, 0.328, 0.036]


def test_busbw_with_size_follows_s_half():
    alpha, beta = 1e-6, 1 / 50e9
    for ranks in (2, 8, 64):
        half = rl.cost.half_peak(alpha, beta, ranks)
        for size in (half / 9, half, 9 * half):
            took = rl.cost.seconds("ring", ranks, size, alpha, beta)
            assert rl.cost.busbw("allreduce", ranks, size, took) == pytest.approx(50e9 / (1 + half / size))


# ---- the learner's own ring in the bench's table ---------------------------------------------------------------------


@pytest.mark.slow
def test_an_own_ring_stands_in_the_bench_beside_ours():
    def my_ring(chunks, rank, send, recv):
        return rl.ring_allreduce(chunks, rank, send, recv)

    table = rl.bench.compare(["ring", my_ring], ranks=2, sizes=["4KiB"], wires=["shm"], turns=2)
    assert {row.algorithm for row in table} == {"ring_allreduce", "my_ring"}
    assert all(row.right for row in table)
    assert "my_ring" in str(table)


# ---- the command -----------------------------------------------------------------------------------------------------


def test_ringlab_fit_prints_saves_and_draws(tmp_path, capsys):
    saved, drawn = tmp_path / "fit.json", tmp_path / "fit.html"
    assert main(["fit", "--seconds", "0", "--json", str(saved), "--plot", str(drawn)]) == 0
    said = capsys.readouterr().out
    assert said.startswith("measured here: wire pipe, 2 ranks on ")
    assert "fit/measured" in said
    content = json.loads(saved.read_text())
    assert content["alpha"] > 0 and len(content["points"]) == 16 and len(content["residuals"]["message"]) == 8
    page = drawn.read_text()
    assert "fit of messages" in page and "plotly" in page
    assert 'src="http' not in page


def test_ringlab_fit_of_a_log(capsys):
    assert main(["fit", str(rl.A100)]) == 0
    said = capsys.readouterr().out
    assert "as if by a ring: alpha 4.02 us per message, beta 210.6 GB/s" in said
    assert main(["fit", str(rl.A100), "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["residuals"]) == 20


def test_ringlab_fit_names_nonsense(tmp_path, capsys):
    empty = tmp_path / "empty.log"
    empty.write_text("")
    assert main(["fit", str(empty)]) == 1
    assert "BAD_INPUT: empty.log is empty" in capsys.readouterr().err
    assert main(["fit", "--ranks", "0"]) == 1
    assert "ranks=0" in capsys.readouterr().err
