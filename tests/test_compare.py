"""Side by side: the numbers are those of the runs and of the closed forms; figures are plain, small and have a text."""

import json
from fractions import Fraction

import pytest

import ringlab as rl
from ringlab import cards, cost
from ringlab.comparison import in_bytes, in_seconds
from ringlab.verdicts import BadInput
from ringlab.views import figures, weave

NETWORK = rl.Network(Fraction(1, 10**6), Fraction(1, 5 * 10**10))
EXACT = ("ring", "star", "tree", "doubling", "halving", "direct", "pass_around", "torus", "hierarchical", "leader")


def test_rows_agree_with_the_closed_forms():
    found = rl.compare(EXACT, 10**6, NETWORK, 8)
    assert [row.algorithm for row in found.rows] == list(EXACT)
    for row in found.rows:
        claim = cost.cost(row.algorithm, 8, 10**6, NETWORK.alpha, NETWORK.beta)
        assert row.seconds == claim.seconds
        assert row.rounds == cost.rounds(row.algorithm, 8)
        assert row.critical_bytes == cost.critical_bytes(row.algorithm, 8, 10**6)
        assert row.port_bytes == claim.port
        assert row.latency + row.transfer == row.seconds
        assert row.measured is None


@pytest.mark.slow
def test_a_gigabyte_on_64_ranks_takes_no_memory():
    found = rl.compare(["doubling", "halving", "ring"], 10**9, NETWORK, 64)
    assert found.fastest == "halving"
    assert found["ring"].seconds == cost.seconds("ring", 64, 10**9, NETWORK.alpha, NETWORK.beta)
    assert rl.compare(["doubling", "halving", "ring"], 10**3, NETWORK, 64).fastest == "doubling"


def test_the_table_is_text():
    text = repr(rl.compare(["star", "ring"], 10**6, NETWORK, 8))
    assert text.splitlines()[0] == "8 ranks, S = 1 MB each"
    assert text.splitlines()[2].split() == ["star", "14", "14", "S", "14", "S", "294", "us"]
    assert text.splitlines()[3].split() == ["ring", "14", "1.75", "S", "3.5", "S", "49", "us"]


def test_own_functions_are_compared_too():
    def mine(chunks, rank, send, recv):
        return rl.ring_allreduce(chunks, rank, send, recv)

    found = rl.compare([mine, "ring"], 10**6, NETWORK, 4)
    assert found["mine"].seconds == found["ring"].seconds


def test_a_switch_comes_with_a_port_per_worker():
    found = rl.compare(["ring", "switch", "nvls"], 10**8, NETWORK, 8)
    assert found["switch"].port_bytes == 2 * 10**8
    assert found["nvls"].port_bytes == 2 * Fraction(10, 9) * 10**8
    assert found["ring"].seconds / found["switch"].seconds > 1.5
    two = rl.compare(["ring", "switch"], 10**8, NETWORK, 2)
    assert two["ring"].port_bytes == two["switch"].port_bytes


def test_ports_per_neighbour_halve_the_bytes_of_a_two_way_ring():
    two = {
        ports: rl.compare(["ring", "two_way_ring"], 10**9, NETWORK.but(ports=ports), 8)
        for ports in (1, "per-neighbour")
    }
    assert two[1]["two_way_ring"].transfer == two[1]["ring"].transfer
    assert two[1]["two_way_ring"].rounds == 2 * two[1]["ring"].rounds
    assert two["per-neighbour"]["two_way_ring"].transfer * 2 == two["per-neighbour"]["ring"].transfer
    assert two["per-neighbour"]["two_way_ring"].rounds == two["per-neighbour"]["ring"].rounds


@pytest.mark.slow
def test_hierarchy_wins_on_two_tiers_and_leaders_do_not():
    tiers = rl.Network(Fraction(1, 10**6), Fraction(1, 10**11), groups=(8, Fraction(1, 10**5), Fraction(1, 10**10)))

    def in_eights(chunks, rank, send, recv):
        return rl.hierarchical_allreduce(chunks, rank, send, recv, group=8)

    def leaders(chunks, rank, send, recv):
        return rl.leader_allreduce(chunks, rank, send, recv, group=8)

    found = rl.compare(["ring", in_eights, leaders], 10**6, tiers, 64)
    assert found.fastest == "in_eights"
    assert found["in_eights"].port_bytes == found["ring"].port_bytes
    assert found["in_eights"].rounds == 28
    assert found["ring"].rounds == 126
    # across: one leader moves what its 8 ranks move together
    runs = [rl.run(f, ranks=16, size=16, wire="virtual") for f in (in_eights, leaders)]
    across = [
        max(
            sum(event.nbytes for event, _ in run.trace.by_rank(rank) if event.peer // 8 != rank // 8)
            for rank in range(16)
        )
        for run in runs
    ]
    assert across[1] == 8 * across[0]


def test_real_times_are_measured_when_asked_for():
    found = rl.compare(["ring"], 8000, NETWORK, 2, wire="pipe")
    assert found["ring"].measured > 0
    assert "measured" in repr(found)


@pytest.mark.parametrize(
    "call",
    [
        lambda: rl.compare(["rnig"], 8),
        lambda: rl.compare(["ring"], -8),
        lambda: rl.compare(["ring"], 8, ranks=0),
        lambda: rl.compare(["ring"], 8, network="400G"),
        lambda: rl.winners(names=[]),
        lambda: rl.winners(smallest=0),
        lambda: rl.card("gossip"),
    ],
)
def test_nonsense_is_refused(call):
    with pytest.raises(BadInput):
        call()


# --- figures ------------------------------------------------------------------------------------------------------


def every_figure():
    runs = [rl.run("star", ranks=ranks, wire="virtual") for ranks in (2, 4, 8)]
    return {
        "bars": rl.compare(["star", "halving", "ring"], 10**6, NETWORK, 8).figure(),
        "skyline": rl.skyline(*runs),
        "link_map": rl.link_map(runs[1]),
        "winners": rl.winners(),
    }


def test_a_figure_is_small_plain_data_with_a_text_and_always_the_same():
    first, second = every_figure(), every_figure()
    for name, figure in first.items():
        bundle = figure._repr_mimebundle_()
        assert set(bundle) == {"text/plain", figures.MIME}
        assert json.dumps(bundle) == json.dumps(second[name]._repr_mimebundle_())
        assert len(json.dumps(bundle)) < 30_000
        assert len(repr(figure).splitlines()) >= 3
        assert "rgba(0,0,0,0)" in json.dumps(bundle)


def test_plotly_takes_our_figures():
    graphs = pytest.importorskip("plotly.graph_objects")
    for figure in every_figure().values():
        graphs.Figure(figure._repr_mimebundle_()[figures.MIME])


def test_making_figures_loads_no_plotly():
    import subprocess
    import sys

    code = "import sys, ringlab as rl; rl.winners(); rl.compare(['ring']).figure(); sys.exit('plotly' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


def test_the_skyline_says_what_its_towers_show():
    runs = [rl.run("star", ranks=ranks, wire="virtual") for ranks in (2, 4, 8)]
    assert [line.split(": in and out ")[1].split()[0] for line in repr(rl.skyline(*runs)).splitlines()] == [
        "2S",
        "6S",
        "14S",
    ]


def test_the_link_map_counts_each_link():
    lines = repr(rl.link_map(rl.run("star", wire="virtual"))).splitlines()
    assert lines[2].split() == ["from", "0", "·", "1", "1", "1"]
    assert lines[3].split() == ["from", "1", "1", "·", "·", "·"]


def test_the_map_of_winners_has_stripes_at_powers_of_two():
    figure = rl.winners(names=("doubling", "halving", "ring"))
    (heat,) = figure.data
    largest = dict(zip(heat["x"], heat["z"][-1], strict=True))
    assert {heat["x"][i] for i, winner in enumerate(heat["z"][-1]) if winner == 1} == {4, 8, 16, 32, 64}
    assert largest[48] == 2
    assert heat["z"][0] == [0] * len(heat["x"])


# --- cards --------------------------------------------------------------------------------------------------------


def test_every_algorithm_has_a_card():
    assert set(cards.CARDS) == set(rl.ALGORITHMS)


@pytest.mark.parametrize("name", cards.CARDS)
def test_a_card_has_a_picture_words_and_a_line_that_runs(name, capsys):
    import numpy as np

    card = rl.card(name)
    assert card._repr_html_() == rl.card(name)._repr_html_()
    assert card._repr_html_().count("<path") > card.ranks
    assert "http" not in card._repr_html_()
    assert "round 0" in repr(card)
    line = card.words.line
    (exec if line.startswith("for") else eval)(line, {"rl": rl, "np": np})


def test_the_line_of_the_pass_around_shows_three_different_replicas(capsys):
    import numpy as np

    exec(rl.card("pass_around").words.line, {"rl": rl, "np": np})
    assert capsys.readouterr().out.split() == ["0.0", "1.0", "0.0"]


def test_a_weave_has_a_thread_per_message():
    programs = rl.card("halving").programs()
    assert len(weave.messages(programs)) == 48
    assert weave.weave_svg(programs, 256, "x").count("<circle") == 48
    assert weave.weave_text(programs).count(">") == 48


def test_numbers_are_short():
    assert in_bytes(18605) == "18.6 kB"
    assert in_seconds(1.5e-9) == "1.5 ns"
