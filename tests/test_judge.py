"""`rl.check` and its Verdict: what a learner gets back, and what never reaches the kernel."""

import json
import os

import numpy as np
import pytest
from bank import right, wrong

import ringlab as rl
from ringlab.judge import data, grades
from ringlab.judge.diagnosis import diagnose
from ringlab.judge.lending import hazard
from ringlab.judge.observe import observe
from ringlab.judge.seen import Seen
from ringlab.verdicts import BadInput

FEW = (1, 2, 3, 4)


def seen_at(function, ranks):
    return Seen(observe(function, ranks))


def my_ring(chunks, rank, send, recv):
    return chunks


# ---- the verdict -----------------------------------------------------------------------------------------------------


def test_a_stub_is_not_written_yet():
    verdict = rl.check(my_ring)
    assert repr(verdict) == "not written yet: adding 0 of 12 messages, copying 0 of 12"
    assert not verdict
    assert verdict.credit == 0


def test_a_right_ring_passes_with_its_grade():
    verdict = rl.check(rl.ring_allreduce)
    assert verdict
    assert verdict.passed
    assert verdict.verdict is None
    assert verdict.credit == 1
    assert repr(verdict).splitlines() == [
        "passed with 1, 2, 3, 4, 5 and 8 ranks: every rank holds the sum",
        "with 8 ranks: 14 rounds, each rank sends 14 messages and 1.75 S, the fewest bytes possible",
    ]
    assert repr(verdict.hint) == "It passed: nothing to mend."


def test_a_wrong_one_says_whose_gradient_is_where_since_when():
    verdict = rl.check(wrong.adds_in_copying, ranks=FEW)
    assert (verdict.verdict, verdict.ranks, verdict.rank, verdict.round, verdict.chunk) == ("WRONG_RESULT", 4, 0, 3, 0)
    assert "rank 0's gradient is in c0 twice on rank 0, since round 3" in repr(verdict)
    assert "adding 12 of 12 messages, copying 0 of 12" in repr(verdict)


def test_each_time_it_is_asked_a_hint_says_one_thing_more():
    verdict = rl.check(wrong.adds_in_copying, ranks=FEW)
    asked = [verdict.hint for _ in range(4)]
    where, what, how = asked[2].splitlines()
    assert asked == [where, f"{where}\n{what}", f"{where}\n{what}\n{how}", f"{where}\n{what}\n{how}"]
    assert where.startswith("Look at round 3")
    assert "complete already" in what
    assert "instead of +=" in how
    assert repr(asked[0]) == where  # without quotes at the end of a cell


def test_part_of_a_ring_earns_part_of_the_credit():
    credits = [rl.check(f, ranks=FEW).credit for f in (my_ring, wrong.only_adds, wrong.one_copy_too_few)]
    assert 0 == credits[0] < credits[1] < credits[2] < 1
    half = rl.check(wrong.only_adds, ranks=FEW)
    assert half.milestones.adding == (12, 12)
    assert half.milestones.copying == (0, 12)
    assert half.milestones.all_p == (0, 3)


def test_a_verdict_is_plain_data_on_demand_and_spends_no_hint():
    verdict = rl.check(wrong.adds_in_copying, ranks=FEW)
    told = json.loads(json.dumps(verdict.to_dict()))
    assert told["family"] == "added_in_copying"
    assert len(told["hints"]) == 3
    assert len(verdict.hint.splitlines()) == 1


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (
            wrong.doubling_of_any_number,
            "right with 1, 2, 4 and 8 ranks, wrong with 3 and 5: numbers that are no power of two",
        ),
        (wrong.two_at_a_time, "right with 2, 4 and 8 ranks, wrong with 1, 3 and 5: odd numbers"),
        (wrong.always_sends_its_own, "right with 1 and 2 ranks, wrong with 3, 4, 5 and 8"),
    ],
)
def test_it_says_which_numbers_of_ranks_go_wrong(function, words):
    assert words in repr(rl.check(function))


def test_a_size_that_goes_wrong_is_named():
    verdict = rl.check(wrong.forgets_the_last_element, ranks=4)
    assert "with 4 ranks and 1 element (chunks of 1, 0, 0 and 0)" in repr(verdict)
    assert "lacks the gradient of ranks 1, 2 and 3" in repr(verdict)


def test_replicas_that_differ_in_bits_do_not_pass():
    verdict = rl.check(rl.pass_around_allreduce, ranks=(2, 4))
    assert verdict.family == "bits"
    assert "right with 2 ranks, wrong with 4" in repr(verdict)


def test_an_exception_shows_the_learners_own_lines():
    verdict = rl.check(wrong.helps_itself_badly, ranks=4)
    text = repr(verdict)
    assert "in round 0 rank 2 raised ZeroDivisionError: rank 2 cannot" in text
    assert "in one_round, line" in text
    assert 'raise ZeroDivisionError("rank 2 cannot")' in text
    assert "ringlab/judge" not in verdict.full()


def test_the_earliest_of_several_exceptions_is_told():
    def later_ranks_first(chunks, rank, send, recv):
        p = len(chunks)
        for k in range(p - 1):
            if k == p - 1 - rank:
                raise ValueError(f"rank {rank} in step {k}")
            send(chunks[rank], (rank + 1) % p)
            recv((rank - 1) % p)
        return chunks

    verdict = rl.check(later_ranks_first, ranks=4)
    assert (verdict.rank, verdict.round) == (3, 0)


# ---- what may be asked -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"ranks": ()}, "ranks is empty"),
        ({"ranks": (0,)}, "out of range"),
        ({"ranks": 4.5}, "no whole number"),
        ({"what": "gossip"}, "what='gossip'"),
        ({"wire": "string"}, "wire='string'"),
        ({"at_most": "light"}, "at_most='light'"),
        ({"at_most": {"seconds": 1}}, "at_most="),
    ],
)
def test_nonsense_is_refused_at_the_door(options, words):
    with pytest.raises(BadInput, match=words):
        rl.check(my_ring, **options)


def test_what_is_no_function_or_cannot_travel_is_refused():
    with pytest.raises(BadInput, match="not a function"):
        rl.check(42)
    lock = __import__("threading").Lock()

    def locked(chunks, rank, send, recv):
        with lock:
            return chunks

    with pytest.raises(BadInput, match="lock"):
        rl.check(locked)


def test_one_number_of_ranks_is_enough():
    assert rl.check("ring", ranks=3).milestones.all_p == (1, 1)


def test_an_all_gather_may_start_elsewhere_when_told_so():
    assert rl.check(wrong.other_start, what="all_gather", shift=1, ranks=FEW)
    assert not rl.check(wrong.other_start, what="all_gather", ranks=FEW)


def test_any_one_to_one_ownership_is_a_reduce_scatter():
    for function in right.REDUCE_SCATTERS:
        assert rl.check(function, what="reduce_scatter", ranks=FEW), function


# ---- grades ----------------------------------------------------------------------------------------------------------


def test_grades_count_messages_bytes_rounds_and_ports():
    star = grades.grade(seen_at(rl.star_allreduce, 8))
    assert (star.sent[0], star.received[0], star.peak, star.busiest, star.bound) == (7, 7, 7, 0, 1.75)
    assert star.messages == (7, *[1] * 7)
    assert star.rounds == 14
    ring = grades.grade(seen_at(rl.ring_allreduce, 8))
    assert set(ring.sent) == set(ring.received) == {1.75}
    assert ring.best
    assert not star.best


def test_the_bound_can_be_made_part_of_passing():
    verdict = rl.check("star", at_most="ring")
    assert verdict.verdict == "OVER_BOUND"
    assert "with 8 ranks rank 0 moves 14 S (7 S out, 7 S in); the bound is 1.75 S each way" in repr(verdict)
    assert rl.check("direct", at_most="ring", ranks=FEW)
    assert "right, but with 8 ranks rank 0 moves 14 S" in repr(rl.check("star"))
    too_dear = rl.check(right.too_many_copies, at_most="ring", ranks=FEW)
    assert too_dear.verdict == "OVER_BOUND"


def test_who_is_dear_at_some_numbers_of_ranks_is_told_so():
    fewest, dear = repr(rl.check("halving", ranks=(3, 4))).splitlines()[1:]
    assert fewest == "with 4 ranks: 4 rounds, each rank sends 4 messages and 1.5 S, the fewest bytes possible"
    assert dear.startswith("right, but with 3 ranks")


def test_a_puzzle_with_par():
    par = {"rounds": 6, "bytes": 1.75}
    assert rl.check("halving", ranks=8, at_most=par)
    assert "it takes 14 rounds; allowed are 6 rounds" in repr(rl.check("ring", ranks=8, at_most=par))
    assert "(3 S out, 3 S in); the bound is 1.75 S each way" in repr(rl.check("doubling", ranks=8, at_most=par))
    assert rl.check("ring", ranks=4, at_most={"messages": 6})
    assert not rl.check("ring", ranks=4, at_most={"messages": 5})


def test_the_halves_have_half_the_bound():
    assert rl.check(rl.reduce_scatter, what="reduce_scatter", ranks=FEW).grades[4].bound == 0.75
    assert not rl.check(rl.ring_allreduce, what="reduce_scatter", ranks=FEW).grades[4].best
    assert rl.check(rl.reduce_scatter, what="reduce_scatter", at_most="ring", ranks=FEW)
    assert not rl.check(rl.ring_allreduce, what="reduce_scatter", at_most="ring", ranks=FEW)


def test_a_lambda_has_no_name_to_be_called_by():
    assert "v = rl.check(...)" in repr(rl.check(lambda chunks, rank, send, recv: chunks[0], ranks=4))


# ---- lending ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", rl.ALGORITHMS)
def test_what_says_that_it_may_be_lent_changes_nothing_too_early(name):
    algorithm = rl.ALGORITHMS[name]
    found = [ranks for ranks in range(1, 10) if hazard(seen_at(algorithm, ranks)) is not None]
    if algorithm.lends:
        assert found == []
    elif name in ("doubling", "pass_around"):
        assert found == list(range(2, 10))


def test_a_chunk_that_is_changed_too_early_is_a_note_and_no_mistake():
    verdict = rl.check(rl.doubling_allreduce, ranks=4)
    assert verdict.passed
    (note,) = verdict.notes
    assert note.startswith("with 4 ranks, rank 0 changes c0 while rank 1, to which it was sent, may still be reading")
    assert rl.check(rl.ring_allreduce, ranks=4).notes == ()


def test_a_list_that_is_returned_is_noted():
    (note,) = rl.check(right.list_of_views, ranks=4).notes
    assert "did not change" in note


# ---- the failing run -------------------------------------------------------------------------------------------------


def test_the_trace_stops_at_the_wrong_step_and_is_marked():
    verdict = rl.check(wrong.adds_in_copying, ranks=FEW)
    trace = verdict.trace
    assert trace.rounds == verdict.round + 1 == 4
    assert max(event.round for event in trace.events) == 3
    assert trace.failure["rank"] == 0
    assert trace.failure["chunk"] == 0
    assert trace.holds(3)[0][0] == (0, 0, 1, 2, 3)
    assert {event.nbytes for event in trace.events} == {16}  # two numbers a chunk, as in the lessons
    player = rl.show(verdict)
    assert repr(player) == "player: adds_in_copying, 4 ranks, 4 rounds, 16 messages"
    assert "up to where it goes wrong" in __import__("ringlab.views.still", fromlist=["x"]).still_svg(trace)


def test_a_deadlock_can_be_drawn():
    verdict = rl.check(wrong.receives_first, ranks=4)
    assert verdict.trace.failure["waiting"] == [(0, 3, None), (1, 0, None), (2, 1, None), (3, 2, None)]
    assert rl.wait_graph(verdict).cycle == ((0, 3), (3, 2), (2, 1), (1, 0))
    assert rl.show(verdict)._repr_html_()


def test_a_run_that_went_wrong_with_numbers_comes_along():
    verdict = rl.check(wrong.loses_digits, ranks=4)
    assert verdict.run.outputs[0].shape == (1,)
    assert verdict.trace.failure["chunk"] == 0
    assert rl.show(verdict)._repr_html_()


# ---- numbers ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 5, 8])
def test_every_rank_and_element_has_a_number_of_its_own(ranks):
    made = data.cases(ranks)
    sizes = [case.elements for case in made]
    assert 1 in sizes
    assert 100_000 in sizes
    assert any(size % ranks for size in sizes) or ranks == 1
    assert ranks < 3 or any(1 < size < ranks for size in sizes)
    for case in made:
        numbers = np.concatenate(case.buffers)
        assert len(np.unique(numbers)) > 0.98 * len(numbers)  # float32 has not enough for all


def judged_numbers(change, what="allreduce"):
    """The Finding for three ranks whose results are right but for `change(outputs)`."""
    case = data.cases(3)[-2]
    total, _ = data.reference(case, what)
    outputs = [total.copy() for _ in range(3)]
    change(outputs, case.buffers)
    return data.judge_case(case, outputs, what)


def test_right_numbers_are_right():
    assert judged_numbers(lambda outputs, inputs: None) is None


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda out, into: out[1].__setitem__(0, out[1][0] - into[2][0]), "c0 on rank 1, lacks the gradient of rank 2"),
        (lambda out, into: out[0].__setitem__(6, out[0][6] + into[1][6]), "c2 on rank 0, has that of rank 1 twice"),
        (lambda out, into: out[0].__setitem__(2, out[0][3]), "is what belongs into element 3"),
        (lambda out, into: out[0].__setitem__(2, 0), "is 0"),
        (lambda out, into: out[2].__setitem__(1, np.inf), "too large"),
        (lambda out, into: out[2].__setitem__(1, out[2][1] / 3), "it is the mean"),
        (lambda out, into: out[2].__setitem__(1, out[2][1] + 1), "digits are lost"),
        (lambda out, into: out.__setitem__(1, out[1][:-1]), "returns 6 elements"),
    ],
)
def test_a_wrong_number_says_whose_it_is(change, words):
    assert words in judged_numbers(change).text


# ---- the kernel is out of reach --------------------------------------------------------------------------------------


def test_learner_code_runs_in_other_processes_only(tmp_path):
    def tells(chunks, rank, send, recv):
        (tmp_path / str(os.getpid())).touch()
        return rl.ring_allreduce(chunks, rank, send, recv)

    assert rl.check(tells, ranks=(2, 3))
    pids = {int(path.name) for path in tmp_path.iterdir()}
    assert pids
    assert os.getpid() not in pids


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_fork_harms_nobody():
    def forks(chunks, rank, send, recv):
        os.fork()
        return rl.ring_allreduce(chunks, rank, send, recv)

    assert rl.check(forks, ranks=4)
    assert rl.run("ring").verdict is None


@pytest.mark.slow
@pytest.mark.parametrize(
    ("function", "verdict"),
    [(wrong.leaves_hard, "EXITED"), (wrong.kills_itself, "KILLED"), (wrong.eats_memory, "EXCEPTION")],
)
def test_whatever_it_does_the_next_call_works(function, verdict):
    assert rl.check(function, ranks=4).verdict == verdict
    assert rl.run("ring").verdict is None


def test_an_endless_loop_is_told_with_its_line():
    verdict = rl.check(wrong.never_ends, ranks=4, timeout=1.0)
    assert (verdict.verdict, verdict.rank) == ("STALL", 1)
    assert "while rank == 1:" in repr(verdict)


def test_prints_are_not_shown_while_judging(capsys):
    assert rl.check(right.prints_a_lot, ranks=2)
    assert capsys.readouterr().out == ""


# ---- marks -----------------------------------------------------------------------------------------------------------


def test_an_observation_of_broken_code_keeps_what_happened_before():
    def breaks(chunks, rank, send, recv):
        p = len(chunks)
        send(chunks[rank], (rank + 1) % p)
        chunks[(rank - 1) % p] += recv((rank - 1) % p)
        raise RuntimeError

    seen = seen_at(breaks, 4)
    assert [len(mine) for mine in seen.programs] == [2] * 4
    assert seen.useful() == (4, 0)
    assert diagnose(seen).text == "in round 1 rank 0 raised RuntimeError"


def test_useful_messages_of_a_ring_are_those_of_the_lesson():
    assert seen_at(rl.ring_allreduce, 4).useful() == (12, 12)
    assert seen_at(rl.star_allreduce, 4).useful() == (12, 12)
    assert seen_at(rl.reduce_scatter, 4).useful() == (12, 0)
    assert seen_at(rl.all_gather, 4).useful("all_gather") == (0, 12)
