"""Lesson 07: golf has a solution, and what is over par is told so; the rivals' numbers."""

import pytest

import ringlab as rl

PAR = {"rounds": 6, "bytes": 1.75}


def golf(function):
    return rl.check(function, ranks=8, at_most=PAR)


def halves(chunks, rank, send, recv):
    """A learner's solution, from the hints."""
    low, high, steps = 0, 8, []
    for distance in (4, 2, 1):
        middle = low + distance
        keep, give = ((low, middle), (middle, high)) if rank & distance == 0 else ((middle, high), (low, middle))
        send(chunks[give[0] : give[1]], rank ^ distance)
        came = recv(rank ^ distance)
        for i in range(distance):
            chunks[keep[0] + i] += came[i]
        steps.append((rank ^ distance, keep, give))
        low, high = keep
    for partner, keep, give in steps[::-1]:
        send(chunks[keep[0] : keep[1]], partner)
        came = recv(partner)
        for i in range(len(came)):
            chunks[give[0] + i] = came[i]
    return chunks


def stub(chunks, rank, send, recv):
    return chunks


def keeps_the_wrong_half(chunks, rank, send, recv):
    """Off by one: adds what came for its own half into the half it has given away."""
    low, high = (0, 4) if rank < 4 else (4, 8)
    other = (4, 8) if rank < 4 else (0, 4)
    send(chunks[other[0] : other[1]], rank ^ 4)
    came = recv(rank ^ 4)
    for i in range(4):
        chunks[other[0] + i] += came[i]
    return rl.halving_allreduce(chunks, rank, send, recv) if low == high else chunks


def test_the_solution_is_at_par():
    verdict = golf(halves)
    assert verdict.passed
    assert "6 rounds" in repr(verdict)
    assert "1.75 S" in repr(verdict)


def test_the_stub_is_not_written_yet():
    assert repr(golf(stub)).startswith("not written yet")


@pytest.mark.parametrize(
    ("name", "word"), [("ring", "14 rounds"), ("doubling", "3 S"), ("tree", "S"), ("direct", "14 rounds")]
)
def test_what_is_right_but_over_par_is_told_so(name, word):
    verdict = golf(getattr(rl, f"{name}_allreduce"))
    assert verdict.verdict == "OVER_BOUND"
    assert word in repr(verdict)


def test_a_wrong_sum_is_no_par():
    verdict = golf(keeps_the_wrong_half)
    assert not verdict.passed
    assert verdict.verdict == "WRONG_RESULT"


def test_64_ranks_want_doubling_for_a_kilobyte_and_halving_for_a_gigabyte():
    network = rl.Network(1e-6, 1 / 12.5e9)
    few, many = (rl.compare(["ring", "doubling", "halving"], size, network, 64) for size in (10**3, 10**9))
    assert (few.fastest, many.fastest) == ("doubling", "halving")
    assert 19 < few["ring"].seconds / few["doubling"].seconds < 20
    assert 1.0007 < many["ring"].seconds / many["halving"].seconds < 1.0008


def test_the_map_in_words_has_the_switch_points():
    lines = repr(rl.winners(rl.Network(1e-6, 1 / 12.5e9))).splitlines()
    assert lines[-1].split() == "P = 64 doubling, halving from 18.6 kB".split()
    assert "P = 8    doubling, halving from 30 kB" in lines
    assert any(line.startswith("P = 48") and line.endswith("ring from 513 kB") for line in lines)


def test_a_switch_takes_one_buffer_in_and_gives_one_out():
    import numpy as np

    run = rl.run("switch", [np.full(3, 10.0**rank) for rank in range(3)] + [np.zeros(3)])
    assert [output.tolist() for output in run.outputs] == [[111.0] * 3] * 4
    assert run.sent[:3] == run.received[:3] == (24, 24, 24)
