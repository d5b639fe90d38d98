"""The player's Python side: what travels to the browser, how much of it, and that no learner's text is markup."""

import base64
import json
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
import zlib

import pytest

import ringlab as rl
from ringlab.trace import Trace
from ringlab.views import player
from ringlab.views.encoding import encode

ALGORITHMS = sorted(rl.ALGORITHMS.items())


def traced(algorithm, ranks, **options):
    return rl.run(algorithm, ranks=ranks, wire="virtual", **options).trace


def with_text(trace, text):
    """The same trace, wherever a learner's text can stand."""
    data = trace.to_dict()
    data["algorithm"] = text
    data["source"] = [[number, line + text] for number, line in data["source"]]
    data["failure"] = {"verdict": text, "rank": 2, "round": 1, "text": text, "waiting": [(3, 2, 1)]}
    return Trace.from_dict(data)


def unpacked(html):
    """(program, data, options) of a player's HTML."""
    packed = re.search(r'atob\("([A-Za-z0-9+/=]+)"\)', html)[1]
    return json.loads(zlib.decompress(base64.b64decode(packed)))


def picture(html):
    return base64.b64decode(re.search(r"data:image/svg\+xml;base64,([A-Za-z0-9+/=]+)", html)[1]).decode()


def replayed(data):
    """Who holds whose gradients at the end, from the data alone, as texts: rank by chunk."""
    held = [data["terms"][number] for number in data["init"]]
    landings = [(move[1], move[7]) for move in data["moves"] if move[7]]
    for rank, (_, _, _, changes) in sorted(landings, key=lambda landing: (landing[1][0], landing[1][1])):
        for chunk, number in changes:
            held[rank * data["C"] + chunk] = data["terms"][number]
    return held


@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 5, 8, 9])
@pytest.mark.parametrize(("name", "algorithm"), ALGORITHMS)
def test_the_data_lead_to_everybody_complete(name, algorithm, ranks):
    data = encode(traced(algorithm, ranks))
    everybody = f"0-{ranks - 1}" if ranks > 1 else "0"
    assert set(replayed(data)) == {everybody}


def test_a_wrong_ring_is_drawn_wrong():
    data = encode(traced(rl.bugs.mixed_numbering, 4))
    assert replayed(data) == ["0", "1", "2", "3"] * 4


def test_terms_counted_twice_say_so():
    def twice(chunks, rank, send, recv):
        return rl.ring_allreduce(rl.ring_allreduce(chunks, rank, send, recv), rank, send, recv)

    assert set(replayed(encode(traced(twice, 2)))) == {"0x2,1x2"}


def test_a_landing_is_never_earlier_than_the_one_before_it():
    for _, algorithm in ALGORITHMS:
        data = encode(traced(algorithm, 5))
        for rank in range(5):
            landings = sorted(move[7][1::-1] for move in data["moves"] if move[1] == rank)
            rounds = [landed for _, landed in landings]
            assert rounds == sorted(rounds)


def test_half_chunks_are_called_alike_in_tables_and_pictures():
    trace = traced(rl.two_way_ring_allreduce, 2)
    assert [line.split()[0] for line in trace.state(-1).splitlines()[1:]] == ["c0a", "c0b", "c1a", "c1b"]
    assert "c0a 0·" in trace.table(round=0)
    assert ">c1b</text>" in picture(rl.show(trace)._repr_html_())


def test_repr_is_one_fixed_line():
    run = rl.run(rl.ring_allreduce, wire="virtual")
    assert repr(rl.show(run)) == "player: ring_allreduce, 4 ranks, 6 rounds, 24 messages"
    star = rl.run(rl.star_allreduce, wire="virtual")
    both = "player: ring_allreduce, 4 ranks, 6 rounds, 24 messages beside star_allreduce, 4 ranks, 6 rounds, 6 messages"
    assert repr(rl.show(run, beside=star)) == both
    assert "\n" not in repr(rl.show(with_text(run.trace, "a\nb")))


def test_the_same_run_gives_the_same_bytes(tmp_path):
    first, second = (traced(rl.ring_allreduce, 4) for _ in range(2))
    first.save(tmp_path / "run.json")
    loaded = rl.load(tmp_path / "run.json")
    assert rl.show(first)._repr_html_() == rl.show(second)._repr_html_() == rl.show(loaded)._repr_html_()


def test_real_times_travel_only_when_asked_for():
    slow, fast = (traced(rl.ring_allreduce, 3, network=rl.Network(alpha, 1e-9)) for alpha in (1e-3, 1e-6))
    assert rl.show(slow)._repr_html_() == rl.show(fast)._repr_html_()
    assert rl.show(slow, times=True)._repr_html_() != rl.show(fast, times=True)._repr_html_()


@pytest.mark.parametrize(("name", "algorithm"), ALGORITHMS)
def test_a_player_of_eight_ranks_stays_below_50_kB(name, algorithm):
    assert len(rl.show(traced(algorithm, 8), ask=1)._repr_html_()) <= 50_000


def test_html_has_one_script_no_ids_and_no_address():
    html = rl.show(traced(rl.ring_allreduce, 4))._repr_html_()
    program, data, options = unpacked(html)
    assert html.count("<script>") == 1
    assert not re.search(r"\bid=|https?:|//", re.sub(r'"[A-Za-z0-9+/=]{99,}"|base64,[^"]+', "", html))
    assert set(re.findall(r"https?://[^\s\"'`]+", program)) == {"http://www.w3.org/2000/svg"}
    assert (data["name"], options) == ("ring_allreduce", {})


PAYLOADS = [
    "</script><script>alert(1)</script>",
    "<!--<script>",
    '"><img src=x onerror=alert(1)>',
    "]]><svg onload=alert(1)>",
    "\ud800 lone",
    "\x00\x07",
]


@pytest.mark.parametrize("payload", PAYLOADS)
def test_texts_of_learners_are_no_markup(payload):
    html = rl.show(with_text(traced(rl.ring_allreduce, 4), payload))._repr_html_()
    html.encode()
    assert html.count("<script>") == html.count("</script>") == html.count("<img") == 1
    assert "<!--" not in html
    assert "<svg" not in html
    svg = ET.fromstring(picture(html))
    assert {element.tag.split("}")[1] for element in svg.iter()} <= {
        "svg",
        "style",
        "pattern",
        "g",
        "path",
        "rect",
        "text",
        "use",
    }
    assert unpacked(html)[1]["name"] == payload


def test_a_failed_run_carries_who_waits_for_what():
    data = encode(with_text(traced(rl.ring_allreduce, 4), "oh"))
    assert data["failure"] == {"verdict": "oh", "rank": 2, "round": 1, "text": "oh", "waiting": [[3, 2, 1]]}


def test_a_message_of_a_dead_rank_is_known_from_its_receiver():
    trace = traced(rl.ring_allreduce, 4)
    programs = [list(trace.by_rank(rank)) for rank in range(4)]
    programs[2] = []
    data = encode(Trace(programs, 4, trace.rounds, "ring_allreduce"))
    assert len(data["moves"]) == 24
    assert [move[7] for move in data["moves"] if move[1] == 2] == [None] * 6


def test_numbers_that_json_lacks_and_inputs_without_numbers_are_no_error():
    trace = traced(rl.ring_allreduce, 2)
    trace.values = [[float("nan"), float("inf")], [0.5, None]]
    assert encode(trace)["values"] == [["NaN", "Infinity"], [0.5, None]]
    trace.values = [[1j, 2.0], [1.0, 1.0]]
    assert encode(trace)["values"] is None


def test_the_buffer_is_known_from_the_messages():
    assert [encode(traced(algorithm, 4))["buffer"] for _, algorithm in ALGORITHMS] == [64] * len(ALGORITHMS)


def test_more_than_64_ranks_send_counters_only():
    trace = traced(rl.star_allreduce, 80)
    data = encode(trace)
    assert (data["moves"], data["counters"][:2]) == ([], [trace.rounds, 158])
    assert len(rl.show(trace)._repr_html_()) < 50_000


def test_a_run_without_provenance_keeps_its_messages():
    trace = traced(rl.ring_allreduce, 3)
    programs = [[(event._replace(terms=None, chunks=()), ()) for event, _ in trace.by_rank(rank)] for rank in range(3)]
    data = encode(Trace(programs, 3, trace.rounds, "ring_allreduce"))
    assert data["init"] is None
    assert len(data["moves"]) == 12
    assert "not known" in picture(rl.show(Trace(programs, 3, trace.rounds, "x"))._repr_html_())


@pytest.mark.parametrize("wrong", [4, -1, "1", 1.5])
def test_ask_wants_a_rank(wrong):
    with pytest.raises(rl.verdicts.BadInput, match="no rank of this run"):
        rl.show(traced(rl.ring_allreduce, 4), ask=wrong)


def test_show_wants_a_run():
    with pytest.raises(rl.verdicts.BadInput, match="needs a run or a trace, not list"):
        rl.show([1, 2])


def test_showing_loads_neither_widgets_nor_plotly():
    code = (
        "import sys, ringlab as rl; rl.show(rl.run(rl.ring_allreduce, wire='virtual'))._repr_html_();"
        "print(sorted({'plotly', 'ipywidgets', 'anywidget', 'IPython'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_a_live_player_shares_its_step_and_has_a_fixed_line():
    from ringlab.views.live import live

    run = rl.run(rl.ring_allreduce, wire="virtual")
    widget = live(run, ask=2)
    try:
        assert repr(widget) == "live player: ring_allreduce, 4 ranks, 6 rounds, 24 messages"
        assert (widget.data, widget.options, widget.step, widget.focus) == (encode(run.trace), {"ask": 2}, 0, 2)
        assert "export default" in widget._esm
        widget.step = 5
        widget.show(traced(rl.star_allreduce, 2))
        assert (widget.data["name"], widget.options, widget.step, widget.focus) == ("star_allreduce", {}, 0, 1)
        assert repr(widget) == "live player: star_allreduce, 2 ranks, 2 rounds, 2 messages"
    finally:
        widget.close()


def test_the_program_is_the_files_in_their_order():
    program = player.script()
    assert program.index("function readRun") < program.index("function makeStage") < program.index("function mountRing")
