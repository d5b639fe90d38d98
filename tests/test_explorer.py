"""The explorer without a browser: its setups as lines, what it does when something is pressed, what it says."""

import threading
from fractions import Fraction

import numpy as np
import pytest

import ringlab as rl
from ringlab.record import EVENTS
from ringlab.verdicts import BadInput
from ringlab.views import explorer_words as words
from ringlab.views.exploration import Exploration, Setup

SECONDS = 60  # for a run in a thread; a wait that is over goes on at once


class Watched(Exploration):
    """An Exploration whose end of a run can be waited for."""

    def __init__(self, setup=None):
        self.changed = threading.Condition()
        super().__init__(setup, on_change=self._told)

    def _told(self):
        with self.changed:
            self.changed.notify_all()

    def until(self, true):
        with self.changed:
            assert self.changed.wait_for(true, SECONDS)

    def until_idle(self):
        self.until(lambda: self.state == "idle")


# ---- a setup is a line of Python -------------------------------------------------------------------------------------

SETUPS = [
    Setup(),
    Setup(ranks=8, nbytes=64, algorithm="star", network=None),
    Setup(ranks=3, nbytes=100, algorithm="tree", dtype="float32", network="10 GbE", slow=(2, 0)),
    Setup(ranks=2, nbytes=0, algorithm="doubling", dtype="int32"),
]


@pytest.mark.parametrize("setup", SETUPS, ids=lambda setup: setup.algorithm)
def test_its_line_opens_the_same_explorer_and_its_run_line_makes_the_same_run(setup):
    opened = eval(setup.line(), {"rl": rl})
    assert opened.state.setup == setup
    again, here = eval(setup.run_line(), {"rl": rl, "np": np}), setup.run()
    assert (again.seconds, again.sent, repr(again)) == (here.seconds, here.sent, repr(here))
    assert [x.tolist() for x in again.outputs] == [x.tolist() for x in here.outputs]


def test_a_fault_is_in_both_lines():
    setup = Setup(wire="pipe", network=None, fault=("delay", 2, 1))
    assert setup.line() == (
        "rl.explore(ranks=4, nbytes=65536, algorithm='ring', wire='pipe', network=None, fault=('delay', 2, 1))"
    )
    assert "wraps=[rl.faults.delay(rank=2, round=1, seconds=0.05)]" in setup.run_line()


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"ranks": 0}, "ranks=0 is out of range"),
        ({"ranks": 65}, "the explorer draws 1 to 64 ranks"),
        ({"nbytes": -1}, "nbytes=-1 is out of range"),
        ({"algorithm": "rings"}, "algorithm='rings' is not known"),
        ({"network": "500G"}, "500G"),
        ({"slow": (3, 4)}, "slow=(3, 4) is not in this run"),
        ({"slow": (0, 1), "network": None}, "a slow link needs a network"),
        ({"fault": ("crash", 1, 1)}, "virtual ranks are no processes that could die"),
        ({"fault": ("explode", 1, 1), "wire": "pipe"}, "fault=('explode', 1, 1) is not known"),
    ],
)
def test_what_cannot_be_is_refused_by_name(wrong, said):
    with pytest.raises(BadInput) as caught:
        rl.explore(**wrong)
    assert said in str(caught.value)


@pytest.mark.parametrize("algorithm", ["ring", "star", "tree", "halving", "two_way_ring"])
def test_the_model_is_exact_where_nothing_is_bent(algorithm):
    setup = Setup(ranks=8, nbytes=4096, algorithm=algorithm)
    assert setup.seconds() == pytest.approx(float(setup.run().seconds), rel=1e-9)


def test_the_model_counts_rounds_without_a_network_and_there_is_none_on_real_wires():
    assert Setup(ranks=8, network=None).seconds() == Fraction(14)
    assert Setup(wire="pipe", network=None).seconds() is None


# ---- pressed and turned ----------------------------------------------------------------------------------------------


def test_a_change_on_the_virtual_wire_is_answered_when_it_returns():
    exploration = Watched()
    exploration.run()
    exploration.change(ranks=8)
    assert (exploration.state, exploration.outcome.ranks, exploration.waits) == ("idle", 8, False)
    assert exploration.before[0].ranks == 4
    assert "2.05 times as long as before. The model says <b>16.29 us</b>." in words.answer(exploration)


def test_a_large_virtual_run_needs_no_run_button_but_a_thread():
    exploration = Watched()
    exploration.change(ranks=2, nbytes=2**21)
    assert exploration.state == "running"
    exploration.until_idle()
    assert exploration.outcome.sent == (2**21, 2**21)


def test_real_processes_wait_for_run_and_what_changes_meanwhile_is_answered_after_it():
    exploration = Watched(Setup(nbytes=64))
    exploration.run()
    exploration.change(wire="pipe")
    assert exploration.waits and exploration.outcome.wire == "virtual"
    assert "press Run" in words.answer(exploration)
    exploration.run()
    assert words.answer(exploration).startswith("Running.")
    exploration.run()  # pressed twice: once is enough
    exploration.change(wire="virtual", ranks=3)
    exploration.until(lambda: exploration.state == "idle" and exploration.shown.ranks == 3)
    assert exploration.before[1].wire == "pipe" and exploration.outcome.wire == "virtual"


def at_work(exploration):
    """Whether the ranks of a run on processes have moved something."""
    record = getattr(exploration._world, "record", None)
    return record is not None and any(block.state[EVENTS] for block in record.blocks)


def test_a_run_is_stopped_and_the_next_one_works():
    exploration = Watched(Setup(nbytes=2**20, wire="pipe", network="home upload"))
    exploration.run()
    while not at_work(exploration):
        assert exploration.state == "running"
    exploration.stop()
    exploration.until_idle()
    assert "INTERRUPTED</b>: you stopped this run" in words.answer(exploration)
    exploration.change(nbytes=64, network="400G")
    exploration.run()
    exploration.until_idle()
    assert exploration.outcome.verdict is None
    exploration.stop()  # nothing runs: nothing happens
    assert exploration.state == "idle"


def test_a_killed_rank_is_the_verdict_with_its_trace_and_the_setup_stays():
    exploration = Watched(Setup(nbytes=64))
    exploration.kill(2)
    exploration.until_idle()
    assert (exploration.outcome.verdict, exploration.outcome.rank) == ("KILLED", 2)
    assert exploration.outcome.trace.events
    assert "<b>KILLED</b>: rank 2" in words.answer(exploration)
    assert words.answer(exploration).endswith("This run was on real processes: only they can be killed.")
    assert exploration.setup == Setup(nbytes=64) and exploration.shown.fault == ("crash", 2, 1)
    exploration.run()
    assert exploration.outcome.verdict is None


def test_a_refused_change_says_why_and_leaves_the_setup():
    exploration = Watched()
    exploration.change(fault=("crash", 1, 1))
    assert "<b>BAD_INPUT</b>: virtual ranks are no processes" in words.answer(exploration)
    assert exploration.setup == Setup()
    exploration.change(ranks=5)
    assert exploration.wrong is None and exploration.outcome.ranks == 5


def test_fewer_ranks_drop_the_link_and_the_fault_that_are_gone():
    exploration = Watched(Setup(ranks=8, wire="pipe", slow=(6, 7), fault=("delay", 6, 1)))
    exploration.change(ranks=4)
    assert (exploration.setup.slow, exploration.setup.fault) == (None, None)


# ---- what is said, and the widgets -----------------------------------------------------------------------------------


def test_the_table_has_headings_and_a_caption():
    html = words.table(Setup(ranks=3, nbytes=96, algorithm="star").run())
    assert "<caption>Bytes and messages per rank</caption>" in html
    assert '<th scope="row">bytes sent</th><td>192</td><td>96</td><td>96</td>' in html


def test_sizes_and_times_in_words():
    assert [words.size_of(n) for n in (64, 1536, 2**20)] == ["64 bytes", "1.5 KiB", "1 MiB"]
    assert [words.duration(s) for s in (3e-6, 0.25, 2)] == ["3 us", "250 ms", "2 s"]
    assert words.duration(14, "round") == "14 rounds"


def test_the_panel_turns_with_its_knobs_and_leaves_a_still():
    explorer = rl.explore()
    assert repr(explorer) == "explorer: ring, 4 ranks, 65536 bytes"
    explorer._knobs["ranks"].value = 8
    assert "16.29 us of virtual time" in explorer._answer.value
    assert explorer._player.data["P"] == 8 and explorer._player.step == 0
    assert len(explorer._victim.options) == 8
    (shown,) = explorer._times.outputs
    assert shown["data"]["text/plain"].startswith("timeline of ring_allreduce, 8 ranks, virtual time")
    explorer._step.click()
    assert explorer._player.step == 1
    assert explorer._copy.line == explorer.line == "rl.explore(ranks=8, nbytes=65536, algorithm='ring')"
    explorer._knobs["fault"].value = ("crash", 1, 1)
    assert "BAD_INPUT" in explorer._answer.value and explorer._knobs["fault"].value == "none"
    explorer._knobs["slow"].value = (2, 3)
    assert explorer.state.setup.slow == (2, 3) and explorer.state.outcome.network.links
    explorer._knobs["network"].value = "none"
    assert explorer.state.setup.network is None and explorer._knobs["slow"].value == "none"
    assert "14 rounds of round time" not in explorer._answer.value and "14 rounds" in explorer._answer.value
    still = explorer.still()
    assert "<script" not in still and "<img" in still and "rl.explore(ranks=8" in still
