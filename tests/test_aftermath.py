"""The trace of a run that could not finish: what its ranks did until then, and nothing that they did not do."""

import pytest

import ringlab as rl
from ringlab import verdicts

EVERYTHING = rl.run(rl.ring_allreduce, wire="virtual").trace


def raises_in_round_1(chunks, rank, send, recv):
    p = len(chunks)
    for k in range(p - 1):
        if rank == 2 and k == 1:
            raise ValueError("too warm")
        send(chunks[(rank - k) % p], (rank + 1) % p)
        chunks[(rank - k - 1) % p] += recv((rank - 1) % p)
    return chunks


def receives_first(chunks, rank, send, recv):
    p = len(chunks)
    chunks[(rank - 1) % p] += recv((rank - 1) % p)
    send(chunks[rank], (rank + 1) % p)
    return chunks


def failed(algorithm, **options):
    with pytest.raises(verdicts.RinglabError) as caught:
        rl.run(algorithm, **options)
    return caught.value


def steps(trace, rank):
    """What a rank did: (kind, peer, chunks, terms, round) of its events, and what each changed."""
    return [(event[1:5], event.round, changes) for event, changes in trace.by_rank(rank)]


@pytest.mark.parametrize("wire", ["pipe", "shm"])
def test_a_killed_rank_leaves_what_it_did_and_the_others_what_they_still_could(wire):
    error = failed(rl.ring_allreduce, wire=wire, wraps=[rl.faults.crash(rank=2, round=1)])
    whole = [steps(EVERYTHING, rank) for rank in range(4)]
    # Rank 2 sends and receives once; rank 3 needs it in round 1, rank 0 a round later, rank 1 another.
    for rank, most in enumerate((5, 7, 2, 3)):
        did = steps(error.trace, rank)
        assert did == whole[rank][: len(did)]
        assert len(did) <= most
    assert len(steps(error.trace, 2)) == 2
    assert error.trace.rounds <= 4
    failure = error.trace.failure
    assert (failure["verdict"], failure["rank"], failure["round"]) == ("KILLED", 2, 1)
    assert failure["text"] == "Rank 2 was killed by signal 9 (SIGKILL) in round 1 of 6."
    assert failure["waiting"] == list(error.waiting)


@pytest.mark.parametrize("wire", ["pipe", "virtual"])
def test_code_that_raises_is_known_by_its_marks_up_to_there(wire):
    error = failed(raises_in_round_1, wire=wire)
    assert error.trace.provenance
    assert steps(error.trace, 2) == steps(EVERYTHING, 2)[:2]
    assert error.trace.failure["text"] == "Rank 2 raised ValueError: too warm."
    assert error.trace.values[3] == [1000.0] * 4


@pytest.mark.parametrize("wire", ["pipe", "virtual"])
def test_a_deadlock_shows_what_came_before_it(wire):
    assert failed(receives_first, wire=wire).trace.events == ()
    stuck = failed(rl.ring_allreduce, wire=wire, eager=0).trace
    assert (stuck.events, stuck.rounds) == ((), 0)
    assert [wait[:2] for wait in stuck.failure["waiting"]] == [(0, 1), (1, 2), (2, 3), (3, 0)]


def test_an_error_without_a_run_says_that_there_is_none():
    error = failed(rl.ring_allreduce, ranks=0)
    assert error.trace is None
    with pytest.raises(verdicts.BadInput, match="this BadInput has no run to show"):
        rl.show(error)
