"""Traces: who sent what, whose terms it carried, in which order they were added; from real runs."""

import json

import numpy as np
import pytest

import ringlab as rl
from ringlab.events import slots
from ringlab.trace import Trace
from ringlab.verdicts import BadInput


@pytest.fixture(scope="module")
def ring():
    return rl.run(rl.ring_allreduce).trace


def test_round_one_of_four_ranks(ring):
    assert ring.table(round=1) == (
        "round 1, adding   rank 0    rank 1    rank 2    rank 3\n"
        "sends             c3 0··3   c0 01··   c1 ·12·   c2 ··23\n"
        "gets              c2 ··23   c3 0··3   c0 01··   c1 ·12·\n"
        "then holds        c2 0·23   c3 01·3   c0 012·   c1 ·123"
    )


def test_the_staircase_after_adding(ring):
    assert ring.state(2) == (
        "after round 2   rank 0   rank 1   rank 2   rank 3\n"
        "c0              0···     01··     012·     0123*\n"
        "c1              0123*    ·1··     ·12·     ·123\n"
        "c2              0·23     0123*    ··2·     ··23\n"
        "c3              0··3     01·3     0123*    ···3"
    )


def test_the_golden_ring_of_four(ring):
    lines = [
        f"{e.round} {e.rank}>{e.peer} c{e.chunks[0]} {slots(e.terms[0], 4)}" for e in ring.events if e.kind == "send"
    ]
    expected = []
    for t in range(6):
        for rank in range(4):
            chunk = (rank - t) % 4
            who = [(chunk + i) % 4 for i in range(min(t, 3) + 1)]  # the chunk's own rank first, then those it passed
            expected.append(f"{t} {rank}>{(rank + 1) % 4} c{chunk} {slots(tuple(sorted(who)), 4)}")
    assert lines == expected


@pytest.mark.parametrize("ranks", [2, 3, 4, 8])
def test_rank_r_completes_chunk_r_plus_1(ranks):
    trace = rl.run("ring", ranks=ranks).trace
    assert [trace.owner(chunk) for chunk in range(ranks)] == [(chunk - 1) % ranks for chunk in range(ranks)]


@pytest.mark.parametrize("ranks", [2, 3, 4, 8])
def test_chunk_c_is_added_in_cyclic_order_from_rank_c(ranks):
    trace = rl.run("ring", ranks=ranks).trace
    for chunk in range(ranks):
        order = [(chunk + i) % ranks for i in range(ranks)]
        text = "(" * max(0, ranks - 2) + f"{order[0]} + {order[1]}"
        for rank in order[2:]:
            text += f") + {rank}"
        assert trace.order(chunk) == text
        assert trace.order(chunk, rank=0) == text, "every rank holds the same sum, in the same order"


def test_pass_around_adds_in_another_order_on_every_rank():
    trace = rl.run("pass_around", ranks=3).trace
    assert [trace.order(0, rank) for rank in range(3)] == ["1 + (2 + 0)", "2 + (0 + 1)", "0 + (1 + 2)"]


def test_shifted_reduce_scatter_owns_chunk_r():
    def shifted(chunks, rank, send, recv):
        return rl.reduce_scatter(chunks, rank, send, recv, shift=1)

    trace = rl.run(shifted).trace
    assert [trace.owner(chunk) for chunk in range(4)] == [0, 1, 2, 3]


def test_reduce_scatter_and_all_gather_keep_their_own_promises():
    assert repr(rl.run(rl.reduce_scatter)).endswith("12 messages, 192 bytes, every chunk is complete on one rank")
    gathered = rl.run(rl.all_gather)
    assert repr(gathered).endswith("12 messages, 192 bytes, every rank holds every chunk")
    assert gathered.outputs[2].tolist() == [1000, 1000, 1, 1, 10, 10, 100, 100]


def test_phases_and_mixed_numbering(ring):
    assert [ring.phase(t) for t in range(6)] == ["adding"] * 3 + ["copying"] * 3
    bug = rl.run(rl.bugs.mixed_numbering).trace
    assert bug.owner(1) == 0
    assert bug.order(0, rank=2) == "0"


def test_times_lie_inside_the_call_and_lines_point_at_the_ring(ring):
    import inspect

    from ringlab.algorithms import ring as module

    source = dict(ring.source)
    assert inspect.getsource(module).count("send(chunks[") == 2
    for event in ring.events:
        assert 0 <= event.start <= event.end < 10
        assert ("send(" if event.kind == "send" else "recv(") in source[event.line]


def test_learner_code_is_named_by_its_own_lines():
    def mine(chunks, rank, send, recv):
        return rl.ring_allreduce(chunks, rank, send, recv)

    run = rl.run(mine)
    assert {dict(run.trace.source)[e.line].strip() for e in run.trace.events} == {
        "return rl.ring_allreduce(chunks, rank, send, recv)"
    }


def test_a_trace_survives_saving(ring, tmp_path):
    path = tmp_path / "ring.json"
    ring.save(path)
    back = rl.load(path)
    assert back.events == ring.events
    assert back.changes == ring.changes
    assert back.by_rank(2) == ring.by_rank(2)
    assert back.state(5) == ring.state(5)
    assert (back.values, back.source, back.rounds) == (ring.values, ring.source, 6)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("{", "is no saved trace"),
        ("[1]", "it holds a list"),
        ("{}", "this is no saved trace"),
        ('{"version": 99}', "has version 99"),
        (json.dumps({"version": 1, "programs": [[["x"]]]}), "this is no saved trace"),
    ],
)
def test_a_file_that_is_no_trace_is_refused(tmp_path, text, says):
    path = tmp_path / "bad.json"
    path.write_text(text)
    with pytest.raises(BadInput, match=says):
        rl.load(path)
    with pytest.raises(BadInput, match="cannot be read"):
        rl.load(tmp_path / "missing.json")


def test_questions_about_what_is_not_there(ring):
    with pytest.raises(BadInput, match="round 6 is not in this run"):
        ring.table(round=6)
    with pytest.raises(BadInput, match="chunk 4 is not in this run"):
        ring.owner(4)


def test_counting_only_above_64_ranks():
    run = rl.run("ring", ranks=65, size=65, wire="virtual")
    assert run.rounds == 128
    assert not run.trace.provenance
    with pytest.raises(BadInput, match="does not know whose terms"):
        run.trace.state(0)


def test_values_are_the_first_elements(ring):
    assert ring.values == [[10.0**rank] * 4 for rank in range(4)]


def test_slots_name_double_counts():
    assert slots((0, 0, 1, 1, 2, 2), 3) == "012 x2"
    assert slots((0, 1, 1), 3) == "01· r1x2"
    assert slots(tuple(range(9)), 9) == "9 of 9*"


def test_traces_of_runs_that_left_the_event_area_say_so():
    def chatter(chunks, rank, send, recv):
        for _ in range(2100):
            send(np.empty(0), (rank + 1) % len(chunks))
            recv((rank - 1) % len(chunks))
        return rl.ring_allreduce(chunks, rank, send, recv)

    run = rl.run(chatter, ranks=2)
    assert run.outputs[0].tolist() == [11] * 8
    with pytest.raises(BadInput, match="made 216 more events than a trace holds"):
        run.trace  # noqa: B018


def test_an_empty_trace_has_a_table():
    assert "nothing moved" in str(rl.run("ring", ranks=1).trace)
    assert isinstance(rl.run("ring", ranks=1).trace, Trace)
