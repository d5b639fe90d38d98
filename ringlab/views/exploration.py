"""What the explorer knows and does, without a widget: a setup, its run, and what happens when something is pressed.

A Setup is a value that can be written as one line of Python. An Exploration holds one, answers a change at once where
that costs no processes, and runs everything else in a thread of its own, so that nobody waits for it and it can be
stopped. Whoever draws it gives `on_change`, and `later`, which calls a function on the thread that draws.
"""

import threading
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from .. import cost, faults
from ..algorithms import ALGORITHMS
from ..arguments import WIRES
from ..network import Network
from ..runs import run
from ..verdicts import BadInput, Interrupted, RinglabError
from ..warm import shared_world

SLOWER = 10  # times, for the slow link
DTYPES = ("float64", "float32", "float16", "int32")
FAULTS = ("crash", "stop", "delay", "drop")
DELAY = 0.05  # seconds
AT_ONCE = 2**21  # bytes of all ranks together up to which nobody notices that a virtual run takes time


@dataclass(frozen=True)
class Setup:
    """One all-reduce to look at. BadInput names the field that cannot be.

    ranks: P.  nbytes: of one rank's buffer.  algorithm: a name of rl.ALGORITHMS.  wire: as for rl.run.  network: the
    name of a preset, or None (then the virtual clock counts rounds).  dtype: of the buffers.  slow: None, or
    (src, dst) of a link that is ten times as slow.  fault: None, or (name in rl.faults, rank, round).
    """

    ranks: int = 4
    nbytes: int = 65536
    algorithm: str = "ring"
    wire: str = "virtual"
    network: str | None = "400G"
    dtype: str = "float64"
    slow: Any = None
    fault: Any = None

    def __post_init__(self):
        for field, choices in (("algorithm", ALGORITHMS), ("wire", WIRES), ("dtype", DTYPES)):
            if getattr(self, field) not in choices:
                raise BadInput(f"{field}={getattr(self, field)!r} is not known", f"use one of {', '.join(choices)}")
        for field, least in (("ranks", 1), ("nbytes", 0)):
            value = getattr(self, field)
            if isinstance(value, bool) or not hasattr(value, "__index__") or value < least:
                raise BadInput(f"{field}={value!r} is out of range", f"use a whole number from {least} up")
        if self.ranks > 64:
            raise BadInput(f"ranks={self.ranks} is out of range", "the explorer draws 1 to 64 ranks")
        if self.network is not None:
            Network.preset(self.network)
        if self.slow is not None:
            self._check_ranks("slow", self.slow, 2)
            if self.network is None:
                raise BadInput("a slow link needs a network", "choose one, for example network='400G'")
        if self.fault is not None:
            self._check_ranks("fault", self.fault[1:2], 1)
            if self.fault[0] not in FAULTS:
                raise BadInput(f"fault={self.fault!r} is not known", f"use one of {', '.join(FAULTS)}")
            if self.wire == "virtual" and self.fault[0] != "delay":
                raise BadInput("virtual ranks are no processes that could die", "choose a wire of real processes: pipe")

    def _check_ranks(self, field, ranks, count):
        if len(ranks) != count or not all(0 <= rank < self.ranks for rank in ranks):
            raise BadInput(f"{field}={getattr(self, field)!r} is not in this run", f"ranks are 0 to {self.ranks - 1}")

    @property
    def size(self):
        """Elements of one rank's buffer."""
        return self.nbytes // np.dtype(self.dtype).itemsize

    @property
    def free(self):
        """Whether a run of it needs no processes, so that nobody has to ask for it."""
        return self.wire == "virtual" and self.fault is None

    @property
    def at_once(self):
        """Whether a run of it needs no processes and no patience."""
        return self.free and self.ranks * self.nbytes <= AT_ONCE

    def model(self):
        """The Network of the run, or None."""
        if self.network is None:
            return None
        network = Network.preset(self.network)
        return network if self.slow is None else network.slow_link(*self.slow, SLOWER)

    def wraps(self):
        """The fault, as rl.run takes it."""
        if self.fault is None:
            return ()
        name, rank, round = self.fault
        return (getattr(faults, name)(rank, round, *([DELAY] if name == "delay" else [])),)

    def seconds(self, itemsize=None):
        """The closed form's seconds, rounds without a network; None where there is none. It knows no slow link.

        itemsize: of an element on the wire, when that is not the buffers' own.
        """
        if self.network is None and self.wire != "virtual":
            return None
        network = Network.preset(self.network) if self.network else Network(1, 0)
        nbytes = self.size * (itemsize or np.dtype(self.dtype).itemsize)
        try:
            return cost.seconds(self.algorithm, self.ranks, nbytes, network.alpha, network.beta, network.gamma, ports=1)
        except BadInput:
            return None

    def run(self, world=None):
        """The Run of it; raises what rl.run raises."""
        inputs = [np.full(self.size, self._value(rank), self.dtype) for rank in range(self.ranks)]
        options = {"wire": self.wire, "network": self.model(), "wraps": self.wraps()}
        return run(self.algorithm, inputs, world=world, **options)

    def _value(self, rank):
        return 10.0**rank if self.dtype == "float64" and self.ranks <= 16 else rank + 1

    def line(self):
        """One line of Python that opens the explorer here.

        >>> Setup(ranks=8, slow=(2, 3)).line()
        "rl.explore(ranks=8, nbytes=65536, algorithm='ring', slow=(2, 3))"
        """
        shown = [field.name for field in fields(self)][:3]
        shown += [field.name for field in fields(self)[3:] if getattr(self, field.name) != field.default]
        return f"rl.explore({', '.join(f'{name}={getattr(self, name)!r}' for name in shown)})"

    def run_line(self):
        """One line of Python that makes its run; needs `import numpy as np, ringlab as rl`.

        >>> Setup(nbytes=32, network=None).run_line()
        "rl.run('ring', [np.full(4, 10.0**r) for r in range(4)], wire='virtual')"
        """
        if self._value(1) == 10.0:
            data = f"np.full({self.size}, 10.0**r)"
        else:
            data = f"np.full({self.size}, r + 1, {self.dtype!r})"
        text = f"rl.run({self.algorithm!r}, [{data} for r in range({self.ranks})], wire={self.wire!r}"
        if self.network is not None:
            text += f", network=rl.Network.preset({self.network!r})"
            text += f".slow_link({self.slow[0]}, {self.slow[1]}, {SLOWER})" if self.slow is not None else ""
        if self.fault is not None:
            text += f", wraps=[rl.faults.{self.wraps()[0]!r}]"
        return text + ")"


class Exploration:
    """A setup, and what came of it last.

    setup: what is chosen.  shown: the Setup whose outcome is shown (they differ while something waits to be run).
    outcome: its Run, its RinglabError, or None.  before: (Setup, Run) of the last run before, to compare with.
    state: "idle", "running" or "stopping".  wrong: why the last change was refused, or None.
    """

    def __init__(self, setup=None, on_change=lambda: None, later=lambda call: call()):
        self.setup = setup or Setup()
        self.shown, self.outcome, self.before, self.wrong = self.setup, None, None, None
        self.state, self.on_change, self._later = "idle", on_change, later
        self._world, self._ticket, self._pending = None, 0, False

    @property
    def waits(self):
        """Whether the chosen setup has not been run."""
        return self.shown != self.setup or self.outcome is None

    def change(self, **chosen):
        """Choose something else; answered at once where that needs no processes. A slow link, a fault that are not
        in the new setup any more are dropped."""
        try:
            self.setup, self.wrong = replace(self._fitting(chosen), **chosen), None
        except BadInput as error:
            self.wrong = error
            return self.on_change()
        if self.state != "idle":
            self._pending = True
            return self.on_change()
        return self.run() if self.setup.free else self.on_change()

    def _fitting(self, chosen):
        """The setup without what the number of ranks that was chosen leaves no place for."""
        ranks, setup = chosen.get("ranks", self.setup.ranks), self.setup
        if setup.slow is not None and (max(setup.slow) >= ranks or chosen.get("network", "") is None):
            setup = replace(setup, slow=None)
        if setup.fault is not None and (setup.fault[1] >= ranks or chosen.get("wire") == "virtual"):
            setup = replace(setup, fault=None)
        return setup

    def run(self, **once):
        """Run the chosen setup, with other values `once`; returns when a thread has it, unless it needs none."""
        if self.state != "idle":
            return
        try:
            setup = replace(self.setup, **once)
        except BadInput as error:
            self.wrong = error
            return self.on_change()
        self.wrong, self._pending = None, False
        if setup.at_once:
            return self._finish(self._ticket, setup, _outcome(setup, None))
        self.state, self._ticket = "running", self._ticket + 1
        threading.Thread(target=self._work, args=(self._ticket, setup), daemon=True).start()
        self.on_change()

    def stop(self):
        """Give the run up: its ranks are ended, whatever they do. Pressing again does it again."""
        if self.state == "idle":
            return
        self.state = "stopping"
        if self._world is not None:
            for rank in range(self._world.size):
                self._world.kill(rank)
        else:  # it has no process to end, or none yet: nobody waits for it any more
            self._ticket += 1
            self._finish(self._ticket, self.setup, None)
        self.on_change()

    def kill(self, rank):
        """Kill a rank: of the run that is under way, else of a run made for it, on real processes, in round 1."""
        if self.state == "running" and self._world is not None:
            self._world.kill(rank)
        elif self.state == "idle":
            wire = "pipe" if self.setup.wire == "virtual" else self.setup.wire
            self.run(wire=wire, fault=("crash", rank, 1))

    def _work(self, ticket, setup):
        try:
            world = None if setup.free else shared_world(setup.ranks)
            if ticket != self._ticket:
                return  # stopped before it began
            self._world = world
            outcome = _outcome(setup, world)
        except RinglabError as error:
            outcome = error
        self._later(lambda: self._finish(ticket, setup, outcome))

    def _finish(self, ticket, setup, outcome):
        if ticket != self._ticket:
            return
        if self.state == "stopping":
            outcome = Interrupted("you stopped this run; the next one starts on fresh ranks")
        if hasattr(self.outcome, "outputs"):
            self.before = self.shown, self.outcome
        self.state, self.shown, self.outcome, self._world = "idle", setup, outcome, None
        self.on_change()
        if self._pending and self.setup.free:
            self.run()


def _outcome(setup, world):
    try:
        return setup.run(world)
    except RinglabError as error:
        return error
