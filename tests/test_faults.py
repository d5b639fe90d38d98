"""Faults strike where they were placed, and each ends in its own verdict."""

import pytest

import ringlab as rl
from ringlab import faults, verdicts

SIGNALS = {"crash": "signal 9 (SIGKILL)", "segfault": "signal 11 (SIGSEGV)"}


@pytest.mark.parametrize("round", [0, 3, 5])
@pytest.mark.parametrize("name", SIGNALS)
def test_signals(name, round):
    with pytest.raises(verdicts.RankKilled) as caught:
        rl.run("ring", wraps=[getattr(faults, name)(3, round)])
    assert caught.value.lines[0] == f"rank 3 was killed by {SIGNALS[name]} in round {round} of 6"


def test_leaving_and_failing():
    with pytest.raises(verdicts.RankExited, match="rank 1 left with exit code 7 in round 2 of 6"):
        rl.run("ring", wraps=[faults.leave(1, 2, code=7)])
    with pytest.raises(verdicts.RankException, match="rank 1 raised RuntimeError: a fault to order in round 2 of 6"):
        rl.run("ring", wraps=[faults.fail(1, 2)])


@pytest.mark.parametrize("name", ["stop", "hang", "grip"])
def test_silence_is_a_stall_of_the_silent_rank(name):
    with pytest.raises(verdicts.Stall) as caught:
        rl.run("ring", wraps=[getattr(faults, name)(2, 1)], timeout=0.5)
    assert (caught.value.rank, caught.value.round) == (2, 1)
    assert caught.value.waiting[0] == (0, 3, 1)
    assert rl.run("ring").verdict is None


def test_a_short_delay_is_no_fault():
    assert rl.run("ring", wraps=[faults.delay(2, 1, seconds=0.2)], timeout=5).verdict is None


def test_asking_for_too_much_memory_is_an_exception_and_not_the_end_of_the_machine():
    with pytest.raises(verdicts.RankException, match="rank 0 raised MemoryError"):
        rl.run("ring", wraps=[faults.exhaust(0, 0)])


def test_a_large_list_is_a_memory_error_too():
    def greedy(chunks, rank, send, recv):
        if rank == 1:
            [0] * 10**11
        return rl.ring_allreduce(chunks, rank, send, recv)

    with pytest.raises(verdicts.RankException, match="rank 1 raised MemoryError"):
        rl.run(greedy)


def test_two_ranks_that_die_before_they_read_what_the_other_sent():
    big = [[float(rank)] * 1_000_000 for rank in range(2)]
    with pytest.raises(verdicts.RankKilled):
        rl.run("ring", big, wraps=[faults.crash(rank, 1).at("recv") for rank in (0, 1)], timeout=20.0)


def test_two_faults_give_one_verdict_and_name_both():
    with pytest.raises(verdicts.RankKilled) as caught:
        rl.run("ring", wraps=[faults.crash(1, 1), faults.crash(3, 1)])
    assert caught.value.rank == 1
    assert "also: KILLED: rank 3 was killed" in caught.value.full()


def test_a_fault_says_what_it_is_and_refuses_nonsense():
    assert repr(faults.crash(rank=2, round=1)) == "crash(rank=2, round=1, number=9)"
    assert repr(faults.delay(0, 0, 1.5)) == "delay(rank=0, round=0, seconds=1.5)"
    with pytest.raises(verdicts.BadInput, match=r"crash\(rank=-1\): no such rank"):
        faults.crash(-1, 0)
    with pytest.raises(verdicts.BadInput, match=r"stop\(round=1.5\): no such round"):
        faults.stop(0, 1.5)
    with pytest.raises(verdicts.BadInput, match="no time"):
        faults.delay(0, 0, -1)


@pytest.mark.parametrize("round", [0, 2])
@pytest.mark.parametrize("name", ["drop", "truncate", "duplicate"])
def test_frames_that_do_not_arrive_as_they_were_sent(name, round):
    says = {"drop": "was lost", "truncate": "was cut short", "duplicate": "came twice"}[name]
    with pytest.raises(verdicts.BadFrame, match=f"a message from rank 1 to rank 2 {says}"):
        rl.run("ring", wraps=[getattr(faults, name)(1, round)])


def test_a_message_whose_description_is_cut_short_is_a_bad_frame():
    with pytest.raises(verdicts.BadFrame, match="a message from rank 1 to rank 2 was cut short"):
        rl.run("ring", [[float(rank)] for rank in range(4)], wraps=[faults.truncate(1, 0)])  # its chunk is empty


@pytest.mark.parametrize("name", ["drop", "truncate"])
def test_a_last_frame_that_is_lost_does_not_hang(name):
    with pytest.raises(verdicts.BadFrame, match="a message from rank 1 to rank 2 never came, or not all of it"):
        rl.run("ring", wraps=[getattr(faults, name)(1, 5)], timeout=0.5)


def test_a_last_frame_that_comes_twice_harms_nobody():
    assert rl.run("ring", wraps=[faults.duplicate(1, 5)]).outputs[2].tolist() == [1111] * 8
    assert rl.run("ring").outputs[2].tolist() == [1111] * 8


@pytest.mark.parametrize("place", ["send", "sent", "recv"])
def test_a_death_at_each_place_of_a_round_even_inside_a_large_message(place):
    big = [[float(rank)] * 300_000 for rank in range(2)]
    with pytest.raises(verdicts.RankKilled, match="rank 1 was killed by signal 9"):
        rl.run("ring", big, wraps=[faults.crash(1, 1).at(place)])
    assert rl.run("ring", big).verdict is None


def test_there_are_three_places():
    with pytest.raises(verdicts.BadInput, match="place 'lunch' is not known"):
        faults.crash(0, 0).at("lunch")
