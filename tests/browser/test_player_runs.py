"""The player and every run: all algorithms, all sizes."""

import pytest
from playing import Shown, opening, traced  # noqa: F401

import ringlab as rl
from ringlab.trace import Trace
from ringlab.views import player
from ringlab.views.encoding import encode

pytestmark = pytest.mark.browser
ALGORITHMS = sorted(rl.ALGORITHMS.items())


PROBE = """([code, data]) => {
  const { readRun, narrate, historyOf } = new Function(code + "\\nreturn { readRun, narrate, historyOf }")();
  const run = readRun(data);
  const sentences = [];
  for (let focus = 0; focus < run.P; focus++)
    for (let s = 0; s < run.stops.length; s++) sentences.push(narrate(run, s, focus, true));
  const histories = [];
  for (let r = 0; r < run.P; r++)
    for (let c = 0; c < run.C; c++) histories.push(historyOf(run, r, c, run.R - 1).sum);
  return [run.holds.map((held) => held.map((terms) => terms.counts)), sentences, histories];
}"""


def counts(terms, ranks):
    return [terms.count(rank) for rank in range(ranks)]


@pytest.mark.parametrize("ranks", [2, 3, 4, 5, 8])
def test_the_browser_replays_what_the_trace_holds(show, ranks):
    page = show(html="").page
    for name, algorithm in ALGORITHMS:
        trace = traced(algorithm, ranks)
        holds, sentences, histories = page.evaluate(PROBE, [player.script(), encode(trace)])
        expected = [[counts(terms, ranks) for row in trace.holds(k) for terms in row] for k in range(-1, trace.rounds)]
        assert (name, holds[0]) == (name, expected[0])
        assert (name, holds[-1]) == (name, [[1] * ranks] * (ranks * trace.nchunks))
        assert [bool(sentence) for sentence in sentences] == [True] * len(sentences)
        orders = [trace.order(chunk, rank) for rank in range(ranks) for chunk in range(trace.nchunks)]
        assert [order if " " not in order else f"({order})" for order in orders] == histories
        if name == "ring":
            assert holds == expected


def test_every_algorithm_plays_to_its_end(show):
    """One player for each on one page, stepped through all of its rounds."""
    first = show(*[rl.show(traced(algorithm)) for _, algorithm in ALGORITHMS], reduced_motion="reduce")
    for nth, (name, _) in enumerate(ALGORITHMS):
        shown = Shown(first.page, nth)
        shown.press(*["ArrowRight"] * int(shown.host.get_attribute("data-steps")))
        assert (name, shown.say()[:6]) == (name, "Done: ")
        held = {shown.terms(rank, chunk) for rank in range(4) for chunk in (0, 3)}
        assert (name, held) == (name, {"0123"})


def test_sixteen_ranks_show_counts_and_more_show_bars(show):
    sixteen = show(rl.show(traced(ranks=16)), reduced_motion="reduce")
    sixteen.press("ArrowRight", "ArrowRight")
    assert sixteen['.cells > [data-hit="cell 2 0"] .number'].text_content() == "3"
    many = show(rl.show(traced(ranks=24)))
    many.press("ArrowRight")
    assert many[".bars"].count() == 4
    assert many[".card"].count() == 0
    assert many.say().startswith("Round 0 of 46, adding. Every rank sends its own chunk. Rank 1 gets c0")


def test_half_chunks_are_called_by_their_chunk(show):
    shown = show(rl.show(traced(rl.two_way_ring_allreduce)), reduced_motion="reduce")
    assert shown.say().startswith("Every rank holds only its own gradient, in 8 half chunks.")
    assert shown[".names .row"].all_text_contents()[:3] == ["c0a", "c0b", "c1a"]
    shown.press("ArrowRight")
    assert "Rank 1 gets c0a from rank 0" in shown.say()
    shown['[data-hit="cell 1 0"]'].first.hover()
    assert shown[".tip"].inner_text() == "c0a on rank 1: ranks 0, 1; 2, 3 missing"


def test_what_is_not_known_is_said(show):
    trace = traced(ranks=3)
    programs = [[(event._replace(terms=None, chunks=()), ()) for event, _ in trace.by_rank(rank)] for rank in range(3)]
    shown = show(rl.show(Trace(programs, 3, trace.rounds, "ring_allreduce")))
    assert shown.say() == "Whose gradients the messages carry is not known for this run."
    shown.press("ArrowRight")
    assert "Rank 1 gets a message" in shown.say()
    many = show(rl.show(traced(rl.star_allreduce, 80)))
    assert many.say().startswith("80 ranks are too many to draw: ")
    many.press("End")
    assert many.say() == "80 ranks are too many to draw: 158 rounds, 158 messages, 10,112 bytes were counted."
