"""Deadlocks: found by the state, told in the same words for all sizes and on all wires, never where there is none."""

import random
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ringlab as rl
from ringlab import record, verdicts, waits
from ringlab.network import ROUNDS
from ringlab.sight import Sight
from ringlab.waits import Wait
from ringlab.wires.virtual import VirtualWire

slow = pytest.mark.slow  # each verdict on real processes costs a fresh set of them

# ---- the graph ---------------------------------------------------------------------------------------------


def graph(*pairs):
    return {rank: Wait(rank, peer) for rank, peer in pairs}


@pytest.mark.parametrize(
    ("pairs", "done", "found"),
    [
        ([], {}, []),
        ([(0, 1), (1, 2)], {}, []),
        ([(0, 1), (1, 0)], {}, [(0, 1), (1, 0)]),
        ([(0, 2), (1, 2), (2, 1)], {}, [(2, 1), (1, 2)]),
        ([(0, 3), (3, 2), (2, 1), (1, 0)], {}, [(0, 3), (3, 2), (2, 1), (1, 0)]),
        ([(2, 2)], {}, [(2, 2)]),
        ([(0, 1)], {1}, [(0, 1)]),
        ([(0, 1), (1, 2)], {2}, [(1, 2)]),
        ([(0, 1), (2, 3), (3, 2)], {1}, [(0, 1)]),
        ([(1, 2), (2, 3)], {0}, []),
    ],
)
def test_a_cycle_or_a_wait_for_a_finished_rank_can_never_end(pairs, done, found):
    assert [(wait.rank, wait.peer) for wait in waits.hopeless(graph(*pairs), done)] == found
    verdict = waits.deadlock(graph(*pairs), done)
    assert (verdict is None) == (not found)
    if found:
        assert verdict.cycle == tuple(found)
        assert [wait.rank for wait in verdict.waits] == sorted(rank for rank, _ in pairs)
        assert verdict.done == tuple(sorted(done))


def test_a_long_cycle_is_cut_in_the_first_line_and_whole_in_full():
    verdict = waits.deadlock({rank: Wait(rank, (rank + 1) % 64, line=3) for rank in range(64)}, ())
    assert verdict.lines[0].startswith("0 waits for 1, 1 waits for 2, ")
    assert verdict.lines[0].endswith("7 waits for 8, ... (64 ranks in the cycle)")
    assert "63 waits for 0 at line 3" in verdict.full()
    assert max(map(len, str(verdict).split("\n"))) < 200


def test_places_differ_where_the_lines_do():
    where = {0: Wait(0, 1, True, 4, round=0), 1: Wait(1, 0, False, 7, round=2)}
    assert waits.deadlock(where, (), "mine").lines == (
        "0 waits for 1 to receive, 1 waits for 0",
        "in mine: rank 0 at line 4 in round 0, rank 1 at line 7 in round 2",
        "none of them can ever move, so the call was ended; your inputs are unchanged",
    )
    many = waits.places([Wait(rank, 0, line=rank) for rank in range(1, 8)])
    assert many == "rank 1 at line 1, rank 2 at line 2, rank 3 at line 3, rank 4 at line 4, and 3 more"


# ---- verdicts ----------------------------------------------------------------------------------------------


def receives_first(chunks, rank, send, recv):
    p = len(chunks)
    for k in range(p - 1):
        came = recv((rank - 1) % p)
        send(chunks[(rank - k) % p], (rank + 1) % p)
        chunks[(rank - k - 1) % p] += came
    return chunks


def sends_first(chunks, rank, send, recv):
    return rl.ring_allreduce(chunks, rank, send, recv)


def rank_1_returns_early(chunks, rank, send, recv):
    if rank == 1:
        rl.reduce_scatter(chunks, rank, send, recv)
        return chunks
    return rl.ring_allreduce(chunks, rank, send, recv)


def verdict_of(function, **options):
    with pytest.raises(verdicts.Deadlock) as caught:
        rl.run(function, timeout=60, **options)
    assert caught.value.seconds is None or caught.value.seconds < 30, "found by the state, not by the timeout"
    return caught.value


@pytest.mark.parametrize("wire", ["virtual", "pipe", *(pytest.param(w, marks=slow) for w in ("shm", "pipe-blocking"))])
@pytest.mark.parametrize("size", [1, 1_000_000])
def test_receive_first_has_the_same_words_at_any_size_on_every_wire(wire, size):
    line = receives_first.__code__.co_firstlineno + 3
    assert verdict_of(receives_first, wire=wire, size=size).lines == (
        "0 waits for 3, 3 waits for 2, 2 waits for 1, 1 waits for 0",
        f"each of them at line {line} in receives_first, round 0: came = recv((rank - 1) % p)",
        "none of them can ever move, so the call was ended; your inputs are unchanged",
    )


@pytest.mark.parametrize("wire", ["virtual", "pipe", pytest.param("shm", marks=slow)])
@pytest.mark.parametrize("size", [4, 1_000_000])
def test_send_first_has_the_same_words_where_sends_wait(wire, size):
    line = sends_first.__code__.co_firstlineno + 1
    assert verdict_of(sends_first, size=size, eager=0, wire=wire).lines == (
        "0 waits for 1 to receive, 1 waits for 2 to receive, 2 waits for 3 to receive, 3 waits for 0 to receive",
        f"each of them at line {line} in sends_first, round 0: return rl.ring_allreduce(chunks, rank, send, recv)",
        "none of them can ever move, so the call was ended; your inputs are unchanged",
    )


@pytest.mark.slow
def test_a_full_pipe_has_these_words_too():
    raw = verdict_of(sends_first, size=1_000_000, wire="pipe-blocking")
    assert raw.lines == verdict_of(sends_first, size=4, wire="virtual", eager=0).lines
    assert rl.run(sends_first, size=4, wire="pipe-blocking").verdict is None, "small messages fit in the pipe"


def test_an_algorithm_of_ours_is_told_by_its_file():
    told = verdict_of("ring", wire="virtual", eager=0)
    assert told.lines[1].startswith("each of them at line ")
    assert told.lines[1].endswith(" in ring.py, round 0: send(chunks[(rank - k - shift) % p], (rank + 1) % p)")
    assert told.lines == verdict_of("ring", wire="pipe", eager=0).lines
    bug = verdict_of(rl.bugs.mixed_numbering, wire="virtual", eager=0)
    assert bug.lines[1].endswith(" in bugs.py, round 0: send(chunks[(rank - k) % p], (rank + 1) % p)")


@pytest.mark.parametrize("wire", ["virtual", "pipe", pytest.param("shm", marks=slow)])
def test_a_rank_that_finished_is_named_with_the_one_that_waits(wire):
    told = verdict_of(rank_1_returns_early, wire=wire)
    line = rank_1_returns_early.__code__.co_firstlineno + 4
    assert told.lines == (
        "rank 1 finished while rank 2 still waits for it",
        f"rank 2 at line {line} in rank_1_returns_early, round 3: return rl.ring_allreduce(chunks, rank, send, recv)",
        "rank 2 can never move, so the call was ended; your inputs are unchanged",
    )
    assert (told.rank, told.peer, told.round) == (2, 1, 3)
    assert 1 in told.done
    assert {(wait.rank, wait.peer) for wait in told.waits} == {(0, 3), (2, 1), (3, 2)}


@pytest.mark.parametrize("wire", ["virtual", "pipe"])
def test_one_call_fewer_than_the_others(wire):
    def program(comm):
        for _ in range(2 if comm.rank == 1 else 3):
            comm.allreduce(np.ones(4))

    with pytest.raises(verdicts.Deadlock, match="rank 1 finished while rank 0 still waits for it"):
        rl.launch(program, ranks=2, wire=wire)


def test_two_can_be_stuck_while_others_are_busy():
    def program(comm):
        if comm.rank < 2:
            comm.recv(1 - comm.rank)
        while True:  # ranks 2 and 3 never rest
            comm.sendrecv(0, 5 - comm.rank, 5 - comm.rank)

    with pytest.raises(verdicts.Deadlock, match="0 waits for 1, 1 waits for 0"):
        rl.launch(program, timeout=60)


@pytest.mark.parametrize("wire", ["virtual", "pipe"])
def test_an_exception_comes_before_the_deadlock_that_it_causes(wire):
    def fails(chunks, rank, send, recv):
        if rank == 3:
            raise ValueError("first")
        return receives_first(chunks, rank, send, recv)

    with pytest.raises(verdicts.RankException, match="rank 3 raised ValueError: first"):
        rl.run(fails, wire=wire)


@st.composite
def small_programs(draw):
    """Up to four ranks with a few sends and receives each, in any order: many of them cannot end."""
    ranks = draw(st.integers(2, 4))
    step = st.tuples(st.sampled_from(["send", "recv"]), st.integers(1, ranks - 1))
    return [[(what, (rank + by) % ranks) for what, by in draw(st.lists(step, max_size=4))] for rank in range(ranks)]


@settings(max_examples=200)
@given(small_programs(), st.sampled_from([None, 0]))
def test_a_program_ends_or_has_a_verdict_that_is_true(programs, eager):
    taken = [0 for _ in programs]

    def program(rank):
        def play(send, recv):
            for what, peer in programs[rank]:
                if what == "send":
                    send(np.ones(1), peer)
                else:
                    recv(peer)
                taken[rank] += 1

        return play

    wire, told = VirtualWire(len(programs), ROUNDS.but(eager=eager), lines=False), None
    try:
        wire.run([program(rank) for rank in range(len(programs))])
    except verdicts.Deadlock as error:
        told = error
    done = {rank for rank, steps in enumerate(programs) if taken[rank] == len(steps)}
    stuck = set(range(len(programs))) - done
    assert bool(told) == bool(stuck)
    if told:
        assert set(told.done) == done
        assert {wait.rank for wait in told.waits} == stuck
        for wait in told.waits:
            what, peer = programs[wait.rank][taken[wait.rank]]
            assert (wait.peer, wait.sending, wait.events) == (peer, what == "send", taken[wait.rank])
        starts, peers = zip(*told.cycle, strict=True)
        assert peers[0] in told.done or peers == (*starts[1:], starts[0])


def plays(comm, programs):
    for what, peer in programs[comm.rank]:
        if what == "send":
            comm.send(1.0, peer)
        else:
            comm.recv(peer)


def any_program(seed):
    """A random program for 3 or 4 ranks, which may not be able to end."""
    draw = random.Random(seed)
    ranks = draw.choice([3, 4])
    return [
        [
            (draw.choice(["send", "recv"]), (rank + draw.randrange(1, ranks)) % ranks)
            for _ in range(draw.randrange(1, 5))
        ]
        for rank in range(ranks)
    ]


def how_it_ends(programs, wire, eager):
    try:
        rl.launch(plays, len(programs), wire, args=(programs,), eager=eager)
    except verdicts.Deadlock as error:
        return error.lines, error.cycle, error.waits, error.done
    return "well"


def random_programs_end_alike(seeds):
    ends = []
    for seed in seeds:
        programs, eager = any_program(seed), [None, 0][seed % 2]
        virtual = how_it_ends(programs, "virtual", eager)
        assert how_it_ends(programs, "pipe", eager) == virtual, (seed, programs)
        ends.append(virtual != "well")
    return sum(ends)


@pytest.mark.slow
def test_random_programs_end_alike_on_simulated_and_on_real_ranks():
    assert random_programs_end_alike(range(4)) >= 2, "most of them hang"


@pytest.mark.night
def test_fifty_programs_that_hang_are_told_alike():
    assert random_programs_end_alike(range(100, 180)) >= 50


# ---- nothing where there is nothing ------------------------------------------------------------------------


class Board(SimpleNamespace):
    """The record of one rank, by hand."""


def sight(ranks, begun=(), taken=()):
    """What is seen of so many ranks: the messages from `src` to `dst` that were begun, and taken."""
    boards = [Board(begun=[0] * ranks, taken=[0] * ranks, state=[0] * record.WORDS) for _ in range(ranks)]
    for src, dst in begun:
        boards[src].begun[dst] += 1
    for src, dst in taken:
        boards[dst].taken[src] += 1
    return Sight(boards)


def test_everybody_waits_in_a_correct_ring_and_nobody_is_stuck():
    states = [(record.RECEIVING, (rank - 1) % 4, 1, 7, 0, 0) for rank in range(4)]
    ring = sight(4, begun=[(rank, (rank + 1) % 4) for rank in range(4)])
    assert ring.unmoved(states, states) == {}
    late = sight(4, begun=[(0, 1), (1, 2), (2, 3)])
    assert list(late.unmoved(states, states)) == [0], "only the message from 3 to 0 was not begun"


def test_a_rank_that_moved_between_the_looks_is_not_stuck():
    states = [(record.RECEIVING, 1, 1, 7, 0, 0), (record.RECEIVING, 0, 1, 7, 0, 0)]
    moved = [states[0], (*states[1][:3], 8, 0, 0)]
    assert set(sight(2).unmoved(states, states)) == {0, 1}
    assert set(sight(2).unmoved(states, moved)) == {0}


def test_a_full_pipe_counts_only_when_it_was_found_full_again():
    states = [(record.BLOCKED, 1, 1, 7, 0, 40), (record.BLOCKED, 0, 1, 7, 0, 90)]
    slow_to_notice = [states[0], (*states[1][:5], 92)]
    both = [(*states[0][:5], 42), (*states[1][:5], 92)]
    assert set(sight(2).unmoved(states, states)) == set()
    assert set(sight(2).unmoved(states, slow_to_notice)) == {1}
    assert set(sight(2).unmoved(states, both)) == {0, 1}
    assert set(sight(2, taken=[(0, 1)]).unmoved(states, both)) == {1}, "rank 1 is reading it"


def even_and_odd(chunks, rank, send, recv):
    p = len(chunks)
    for k in range(2 * (p - 1)):
        out, at = (rank - k) % p, (rank - k - 1) % p
        if rank % 2 == 0:
            send(chunks[out], (rank + 1) % p)
        came = recv((rank - 1) % p)
        if rank % 2 == 1:
            send(chunks[out], (rank + 1) % p)
        chunks[at] = chunks[at] + came if k < p - 1 else came
    return chunks


CASES = [
    {"algorithm": "ring", "wire": "pipe"},
    {"algorithm": "ring", "wire": "pipe", "size": 20_000},
    {"algorithm": "tree", "wire": "pipe"},
    {"algorithm": even_and_odd, "wire": "pipe", "eager": 0},
    {"algorithm": even_and_odd, "wire": "pipe-blocking", "size": 400_000},
    {"algorithm": "ring", "wire": "shm", "size": 2_000},
    {"algorithm": "ring", "wire": "pipe", "network": rl.Network(1e-4, 1e-9)},
]


def calls_on_a_loaded_machine(count):
    """Run correct algorithms `count` times beside two processes that take all the time they can get."""
    hogs = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(2)]
    try:
        for i in range(count):
            run = rl.run(**CASES[i % len(CASES)], ranks=2 + i % 3, timeout=60)
            assert run.verdict is None
    finally:
        for hog in hogs:
            hog.kill()
            hog.wait()


def test_no_false_deadlock_on_a_loaded_machine():
    calls_on_a_loaded_machine(42)


@pytest.mark.night
def test_no_false_deadlock_in_ten_thousand_calls():
    calls_on_a_loaded_machine(10_000)
