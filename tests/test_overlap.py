"""Overlap: real threads in real processes, the sums right whoever reduces, and what nothing hides.

Times are compared only where they must be in this order whatever the machine does meanwhile.
"""

import threading
from itertools import pairwise

import numpy as np
import pytest
from plotly.graph_objects import Figure

import ringlab as rl
from ringlab import devices, model, overlap, reducers
from ringlab.buckets import plan
from ringlab.verdicts import BadInput, Mismatch, RankException

FOUR = plan([1000] * 4, cap=4000, first=4000)
QUICK = overlap.Waits(0.04)
LINKS = rl.Network(alpha=5e-4, beta=1e-7)


@pytest.fixture(scope="module")
def threaded():
    """One step with a communication thread, over emulated links."""
    return overlap.step(FOUR, device=overlap.Waits(0.2), network=LINKS)


# -- what runs -------------------------------------------------------------------------------------------------


def test_buckets_travel_while_backward_works(threaded):
    assert threaded.verdict is None
    assert threaded.right
    for rank in range(4):
        works, sends = threaded.of(rank, "backward"), threaded.of(rank, "all-reduce")
        assert {span.thread for span in works} == {0} and {span.thread for span in sends} == {1}
        assert [span.bucket for span in works] == [span.bucket for span in sends] == [0, 1, 2, 3]
        for made, sent in zip(works, sends, strict=True):
            assert sent.start >= made.end, "no bucket leaves before it is full"
        for before, after in pairwise(sends):
            assert after.start >= before.end, "one at a time"
    assert any(sent.start < threaded.of(sent.rank, "backward")[-1].start for sent in threaded.spans if sent.thread)


def test_the_last_bucket_is_exposed_whatever_the_machine_does(threaded):
    for rank in range(4):
        over, last = threaded.of(rank, "backward")[-1], threaded.of(rank, "all-reduce")[-1]
        assert last.start >= over.end
        assert threaded.exposed(rank) >= last.end - last.start > 0
    # six messages of a quarter of the bucket, one after the other, cannot take less on links that are emulated
    assert threaded.exposed() >= 6 * (LINKS.alpha + 1000 * LINKS.beta)
    assert threaded.model().exposed == pytest.approx(6 * (LINKS.alpha + 1000 * LINKS.beta))
    assert threaded.seconds >= threaded.model().seconds


def test_sums_show_who_is_in_them(threaded):
    assert threaded.sums == (1111, 2222, 3333, 4444)
    assert repr(threaded) == (
        "4 buckets, 4 ranks, emulated links, emulated device: they travel while backward works, all but the last"
    )


def test_the_device_waits_as_long_as_it_says_and_uses_no_core(threaded):
    for rank in range(4):
        assert threaded.backward(rank) >= 0.2
        spans = threaded.of(rank, "backward")
        assert sum(span.end - span.start for span in spans[:2]) >= 0.1  # half of the bytes, half of the time
    assert threaded.cpu > 0


def test_the_table_has_the_model_beside_what_was_measured(threaded):
    lines = threaded.table(rank=2).split("\n")
    assert lines[0] == "rank 2, times in ms"
    assert lines[1].split() == ["bucket", "MiB", "ready", "start", "end", "model:", "start,", "end"]
    assert [line.split()[0] for line in lines[2:6]] == ["0", "1", "2", "3"]
    assert lines[2].split()[-2:] == ["50.0", "53.6"]
    assert lines[5].endswith("<- full only when backward is over")
    assert lines[6].startswith("backward worked 2") and lines[6].endswith("(model 3.6)")


@pytest.mark.parametrize("wire", ["pipe", "shm"])
def test_reducing_on_the_thread_that_computes_is_found_out(wire):
    step = overlap.step(FOUR, by="same thread", device=QUICK, wire=wire)
    assert step.right
    assert step.verdict == "FAKE_OVERLAP"
    assert repr(step).endswith("fake overlap, backward stands still while they travel (on one thread)")
    for rank in range(4):
        reducing = sum(span.end - span.start for span in step.of(rank, "all-reduce"))
        assert step.exposed(rank) >= reducing, "all of it is exposed"


def test_reducing_afterwards_overlaps_nothing():
    step = overlap.step(FOUR, by="afterwards", device=QUICK)
    assert (step.right, step.verdict) == (True, "NO_OVERLAP")
    assert step.model() is None
    assert "model" not in step.table()


@pytest.mark.parametrize("ranks", [1, 2, 3, 8])
def test_any_number_of_ranks(ranks):
    step = overlap.step(FOUR, ranks, device=QUICK)
    assert step.right
    assert step.sums[0] == {1: 1, 2: 11, 3: 111, 8: 36}[ranks]


def test_a_reducer_of_ones_own_is_timed_and_judged_like_ours():
    class Mine:
        """Looks busy with threads, and waits for each."""

        def __init__(self, comm):
            self.comm = comm

        def ready(self, bucket, array):
            work = threading.Thread(
                target=self.comm.allreduce, args=(array,), kwargs={"out": array}, name="ringlab mine"
            )
            work.start()
            work.join()

        def finish(self):
            pass

    step = overlap.step(FOUR, by=Mine, device=QUICK)
    assert (step.by, step.right) == ("Mine", True)
    assert {span.thread for span in step.of(0, "all-reduce")} == {1}, "on threads of its own"
    assert step.verdict == "FAKE_OVERLAP"
    assert repr(step).endswith("fake overlap, backward stands still while they travel")
    assert step.exposed() >= sum(span.end - span.start for span in step.of(step.slowest, "all-reduce"))


def test_a_reducer_that_forgets_a_bucket_gives_wrong_sums():
    class Forgets(reducers.Afterwards):
        def ready(self, bucket, array):
            if bucket:
                super().ready(bucket, array)

    step = overlap.step(FOUR, by=Forgets, device=QUICK)
    assert (step.verdict, step.sums[:2]) == ("WRONG_RESULT", (1, 2222))
    assert "WRONG" in repr(step)


def test_what_goes_wrong_on_the_thread_is_told():
    class Breaks(reducers.AsReady):
        def _work(self):
            try:
                raise ZeroDivisionError("on the thread")
            except ZeroDivisionError as error:
                self._error = error

    with pytest.raises(RankException, match="ZeroDivisionError: on the thread"):
        overlap.step(FOUR, 2, by=Breaks, device=QUICK)


# -- the order of calls ----------------------------------------------------------------------------------------

SWAPPED = {1: [1, 0, 2, 3]}


def test_another_order_on_one_rank_is_a_mismatch_that_names_the_bucket():
    with pytest.raises(Mismatch, match=r"rank 1 is in collective 3 \(bucket 1, sum of float32 \(1000,\)\)"):
        overlap.step(FOUR, by="as ready", device=QUICK, order=SWAPPED)


def test_without_names_equal_shapes_are_mixed_up_in_silence():
    step = overlap.step(FOUR, by="as ready", device=QUICK, order=SWAPPED, names=False)
    assert step.verdict == "WRONG_RESULT"
    assert step.sums == (1121, 2212, 3333, 4444)


def test_without_names_other_shapes_are_still_found():
    uneven = plan([1000, 1000, 500, 1000], cap=2000, first=2000)
    with pytest.raises(Mismatch):
        overlap.step(uneven, by="as ready", device=QUICK, order=SWAPPED, names=False)


def test_calling_in_the_order_of_the_plan_makes_any_order_right():
    step = overlap.step(FOUR, device=QUICK, order={1: [1, 0, 2, 3], 3: [3, 2, 1, 0]})
    assert step.right
    sent = [span.start for span in step.of(3, "all-reduce")]
    assert min(sent) >= max(span.end for span in step.of(3, "backward")), "the first of the plan came last"


# -- a backward that computes ----------------------------------------------------------------------------------

SMALL = overlap.Computes((64, 48, 48, 10), images=32)


@pytest.mark.parametrize("by", ["thread", "afterwards"])
def test_a_numpy_backward_gives_the_sum_of_all_ranks_gradients(by):
    buckets = plan(SMALL.shapes, cap=8000, first=2000)
    step = overlap.step(buckets, by=by, device=SMALL)
    assert step.right
    assert len(buckets) > 2
    assert "numpy backward" in repr(step)


def test_a_numpy_backward_makes_the_gradients_of_the_model_from_the_last_layer_on():
    params = [p.astype(np.float32) for p in devices.starting(SMALL.layers)]
    images, labels = rl.training.digits()
    mine = np.arange(1, 1 + 32 * 3, 3)
    found = list(SMALL.prepare(1, 3, [], []))
    wanted = model.gradients(params, images[mine].astype(np.float32), labels[mine])
    assert [part.shape for part in found] == [shape for _, shape in reversed(SMALL.shapes)]
    for part, gradient in zip(found, reversed(wanted), strict=True):
        np.testing.assert_array_equal(part, gradient)
        assert part.dtype == np.float32


def test_a_comparison_says_what_the_thread_hid():
    compared = overlap.compare(FOUR, 2, overlap.Waits(0.05), repeats=1)
    assert [one.by for one in compared] == ["afterwards", "same thread", "thread"]
    lines = compared.table().split("\n")
    assert [line.split("  ")[0] for line in lines[1:4]] == ["afterwards", "same thread", "thread"]
    ways = {one.by: one for one in compared}
    gained = ways["afterwards"].seconds - ways["thread"].seconds
    assert compared.gain == pytest.approx(gained / ways["afterwards"].exposed())
    assert lines[4].startswith("the thread hid ")


def test_a_thread_saves_no_processor_time_where_numpy_computes():
    buckets = plan(SMALL.shapes, cap=8000, first=2000)
    threaded, afterwards = (overlap.step(buckets, by=by, device=SMALL) for by in ("thread", "afterwards"))
    assert threaded.cpu > 0.5 * afterwards.cpu
    for step in (threaded, afterwards):
        assert 0 < step.least <= 1.1 * step.seconds, "cores cannot do more than they can"


def test_a_comparison_of_other_ways_says_no_more_than_it_knows():
    compared = overlap.compare(FOUR, 2, overlap.Waits(0.01), ways=("same thread", "thread"), repeats=1)
    assert len(compared.table().split("\n")) == 3
    with pytest.raises(BadInput, match="repeats=0"):
        overlap.compare(FOUR, repeats=0)


# -- large plans, views, nonsense ------------------------------------------------------------------------------


def test_a_plan_of_gigabytes_runs_with_a_thousandth_of_its_numbers():
    buckets = plan("gpt2-small")
    step = overlap.step(buckets, 2, device=overlap.Waits(0.1), network=rl.Network(1e-5, 1e-10), shrink=1000)
    assert step.right
    assert step.network.beta == 1e-10, "as it was given"
    last = step.of(0, "all-reduce")[-1]
    assert last.end - last.start >= buckets[-1].nbytes * 1e-10 * 0.999  # 2 (P-1)/P = 1 times the bytes
    assert step.table().split("\n")[-2].split()[:2] == ["12", "168.3"]


def test_the_gantt_draws_the_spans_that_were_noted(threaded):
    figure = threaded.gantt()
    assert repr(figure) == f"Gantt of {threaded!r}"
    drawn = Figure({"data": figure.data, "layout": figure.layout})  # plotly takes it
    backward, hidden, exposed = drawn.data
    assert (backward.name, exposed.name) == ("backward", "all-reduce that nothing hides")
    assert list(backward.y) == [f"rank {rank} computes" for rank in range(4) for _ in range(4)]
    first = threaded.of(0, "backward")[0]
    assert backward.base[0] == pytest.approx(1e3 * first.start, abs=1e-3)
    assert backward.x[0] == pytest.approx(1e3 * (first.end - first.start), abs=1e-3)
    for rank in range(4):
        mine = [i for i, lane in enumerate(exposed.y) if lane == f"rank {rank} sends"]
        assert exposed.text[mine[-1]] == "3", "the tail bucket is marked"
        over = 1e3 * threaded.of(rank, "backward")[-1].end
        assert all(exposed.base[i] >= over - 1e-3 for i in mine)
        ends = [hidden.base[i] + hidden.x[i] for i, lane in enumerate(hidden.y) if lane == f"rank {rank} sends"]
        assert all(end <= over + 1e-3 for end in ends)
    assert figure._repr_mimebundle_()["text/plain"] == repr(figure)


def test_the_gantt_of_a_fake_overlap_hides_nothing():
    figure = overlap.step(FOUR, 2, by="same thread", device=QUICK).gantt()
    hidden = next(trace for trace in figure.data if trace["name"] == "all-reduce under backward")
    assert hidden["x"] == [None]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"by": "magic"}, "by='magic' is not known"),
        ({"shrink": 0}, "shrink=0"),
        ({"shrink": 1.5}, r"shrink=1\.5"),
        ({"plan": [100, 200]}, "a plan in 4-byte numbers"),
        ({"plan": plan([100], itemsize=2)}, "a plan in 4-byte numbers"),
        ({"plan": []}, "a plan in 4-byte numbers"),
        ({"order": {0: [0, 1]}}, "every bucket once"),
        ({"order": {9: [0, 1, 2, 3]}}, "name ranks below 4"),
        ({"device": SMALL}, "the plan of its own shapes"),
        ({"ranks": 0}, "ranks=0"),
    ],
)
def test_steps_that_cannot_be_are_refused(arguments, says):
    with pytest.raises(BadInput, match=says):
        overlap.step(**{"plan": FOUR, **arguments})
