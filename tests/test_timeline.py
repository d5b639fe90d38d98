"""`rl.timeline`: spans where they belong, few traces, words and a table, every kind of run."""

from fractions import Fraction

import pytest
from playing import killed, traced
from plotly.graph_objects import Figure

import ringlab as rl
from ringlab.spans import lanes_of, spans_of
from ringlab.trace import Trace
from ringlab.verdicts import BadInput

MICRO = Fraction(1, 10**6)
NETWORK = rl.Network(alpha=MICRO, beta=MICRO / 8, gamma=MICRO / 8)


def virtual(name="ring", ranks=4, size=8, network=NETWORK):
    return rl.run(name, ranks=ranks, size=size, wire="virtual", network=network)


def boxes(figure, name):
    """(rank, low, high, start, end) of every span of a kind, as drawn."""
    (trace,) = [trace for trace in figure.data if trace.get("name", "").startswith(name)]
    x, y = trace["x"], trace["y"]
    assert x[5::6] == y[5::6] == [None] * (len(x) // 6)
    return {(round(y[i]), y[i], y[i + 2], x[i], x[i + 1]) for i in range(0, len(x), 6)}


def test_a_lane_has_its_sends_above_and_its_waits_and_adds_below():
    figure = rl.timeline(virtual())
    sends, waits, adds = (boxes(figure, name) for name in ("sends", "waits", "adds"))
    assert {(a, b) for rank, _, _, a, b in sends if rank == 1} == {
        (0, 3),
        (5, 8),
        (10, 13),
        (15, 18),
        (18, 21),
        (21, 24),
    }
    assert {(a, b) for rank, _, _, a, b in adds if rank == 1} == {(3, 5), (8, 10), (13, 15)}
    assert all(low < high <= rank for rank, low, high, *_ in sends)
    assert all(rank <= low < high for rank, low, high, *_ in waits | adds)


def test_the_critical_path_is_drawn_from_sender_to_receiver():
    (line,) = [trace for trace in rl.timeline(virtual()).data if trace.get("name") == "critical path"]
    assert (line["x"][0], line["x"][-1]) == (0, 24)
    assert [round(y + 0.2) for y in line["y"][:4]] == [2, 3, 3, 3]  # a message from 2 to 3, then 3 adds
    assert not [trace for trace in rl.timeline(virtual(), path=False).data if trace.get("name") == "critical path"]


def test_it_says_in_words_what_it_draws_and_whose_time_it_is():
    figure = rl.timeline(virtual())
    assert repr(figure) == "timeline of ring_allreduce, 4 ranks, virtual time: 24 messages, 24 us"
    assert figure.layout["xaxis"]["title"]["text"] == "virtual time (us)"
    lines = figure.table().split("\n")
    assert lines[1].split() == ["from", "to", "virtual", "time", "(us)"]
    assert " 0.000   3.000  rank 2 sends c2 to rank 3, 16 bytes, round 0 *" in lines
    assert " 3.000   5.000  rank 3 adds c2" in lines
    assert lines[-1] == "critical path: 6 messages, 2 > 3 > 0 > 1 > 2 > 3 > 0, 24 us"
    assert sum(line.endswith("*") for line in lines) == 6
    (points,) = [trace for trace in figure.data if trace["mode"] == "none"]
    assert "rank 1 waits for c0 from rank 0, 16 bytes, round 0<br>0 to 3 us" in points["text"]


def test_without_a_network_virtual_time_counts_rounds():
    assert repr(rl.timeline(virtual(network=None))).endswith("virtual time: 24 messages, 6 rounds")


def test_a_real_run_is_drawn_in_real_time_and_its_text_has_none():
    figure = rl.timeline(rl.run("ring"))
    assert repr(figure) == "timeline of ring_allreduce, 4 ranks, real time: 24 messages"
    assert "real time (" in figure.table()


def test_the_error_of_a_run_that_failed_shows_who_waits_for_what_never_came():
    with pytest.raises(rl.verdicts.RankKilled) as caught:
        rl.run("ring", wraps=[rl.faults.crash(rank=2, round=1)])
    figure = rl.timeline(caught.value)
    assert "ended by KILLED" in repr(figure)
    assert {rank for rank, *_ in boxes(figure, "waits for what never came")} >= {3}
    assert "rank 3 waits for c1 from rank 2, which never came" in figure.table()


def test_a_trace_that_was_cut_short_is_drawn_to_its_last_event():
    figure = rl.timeline(killed(traced(), rank=2, round=1))
    lost = {rank: (start, end) for rank, _, _, start, end in boxes(figure, "waits for what never came")}
    assert lost[3] == (2, 4) and lost[0] == (3, 4)
    assert [trace["name"] for trace in figure.data if trace["mode"] == "markers"] == ["KILLED"]


def test_sends_at_the_same_time_do_not_hide_each_other():
    run = virtual("direct", network=rl.Network(MICRO, 0, ports="per-neighbour"))
    sends = [span for span in spans_of(run.trace, 0) if span.kind == "send"]
    assert lanes_of(sends) == [0, 1, 2, 0, 1, 2]
    drawn = {box for box in boxes(rl.timeline(run), "sends") if box[3] == 0}
    assert len({box[1] for box in drawn}) == 12  # 4 ranks, 3 heights


@pytest.mark.parametrize("name", ["ring", "nvls", "two_way_ring"])
def test_it_is_few_traces_whatever_the_size_and_plotly_takes_it(name):
    figure = rl.timeline(virtual(name, ranks=16, size=64))
    assert len(figure.data) <= 6
    Figure({"data": figure.data, "layout": figure.layout})


def test_it_refuses_what_it_cannot_draw_and_says_what_can():
    with pytest.raises(BadInput, match=r"to_perfetto"):
        rl.timeline(Trace([[]] * 129, 129, 0, "wide"))
    with pytest.raises(BadInput, match="a timeline needs a run, not int"):
        rl.timeline(3)
    assert repr(rl.timeline(rl.run("ring", ranks=1, wire="virtual"))).endswith("0 messages, 0 rounds")


def test_half_chunks_have_the_names_that_they_have_everywhere():
    assert "rank 0 sends c0a to rank 1, 8 bytes, round 0" in rl.timeline(virtual("two_way_ring", size=8)).table()
