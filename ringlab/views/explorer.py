"""`rl.explore`: a panel of knobs, the run that they choose, and what it cost.

It begins with a question and three knobs; the rest waits behind More. What happens when something is turned or
pressed stands in `exploration.py`, what is said in `explorer_words.py`; this file is the widgets. Imported only when a
panel is made (ipywidgets and anywidget take half a second).
"""

import asyncio
import html

import ipywidgets
import traitlets

from ..algorithms import ALGORITHMS
from ..arguments import WIRES
from ..frontend import display_bundle
from ..presets import PRESETS
from . import explorer_words as words
from .exploration import DTYPES, FAULTS, Exploration, Setup
from .live import LivePlayer
from .player import show
from .timeline import timeline
from .widget import Widget, text_of, with_hearing

SIZES = tuple(2**k for k in range(6, 23, 2))  # 64 bytes to 4 MiB
MOST_RANKS = 16
NONE = "none"  # the choice of nothing: a dropdown shows None as an empty place
FAULT_NAMES = {"crash": "is killed", "stop": "freezes", "delay": "is late", "drop": "loses a message"}


def explore(
    ranks=4, nbytes=65536, algorithm="ring", wire="virtual", network="400G", dtype="float64", slow=None, fault=None
):
    """A panel to play with: turn a knob and see the ring, the timeline, bytes and messages, and what the model says.

    ranks, nbytes (of one rank's buffer), algorithm: the three knobs.  wire, network (name of a preset, or None to
    count rounds), dtype, slow=(src, dst) for a link ten times slower, fault=("crash", rank, round): behind More.
    The panel's last line is the call that opens it where it stands. BadInput names what cannot be.
    """
    return Explorer(Setup(ranks, nbytes, algorithm, wire, network, dtype, slow, fault))


class CopyLine(Widget):
    """A line of Python with a button that copies it."""

    _esm = with_hearing(text_of("copyline.js"))
    _css = text_of("copyline.css") + text_of("explorer.css")
    line = traitlets.Unicode().tag(sync=True)

    def __repr__(self):
        return f"CopyLine({self.line!r})"


class Explorer:
    """What `explore` returns. state: the Exploration behind it.  line: the call that opens it where it stands."""

    def __init__(self, setup):
        self.state = Exploration(setup, on_change=self._draw, later=_on_this_loop())
        self._drawn = self._turning = None
        self._player = None
        self._make()
        self.state.run() if setup.free else self._draw()

    def __repr__(self):
        chosen = self.state.setup
        return f"explorer: {chosen.algorithm}, {chosen.ranks} ranks, {chosen.nbytes} bytes"

    @property
    def line(self):
        return self.state.setup.line()

    def _ipython_display_(self):
        """The panel; before it a still picture, which is hidden while the panel lives and stays in a saved notebook."""
        from IPython.display import display

        display({"text/plain": repr(self), "text/html": self.still()}, raw=True)
        display_bundle("the explorer needs a running kernel: run the cell", self.panel)

    def still(self):
        """The setup as it is, as HTML without a script: what a saved notebook shows."""
        said = words.answer(self.state)
        run = self.state.outcome
        picture = show(run)._repr_html_().partition("<script>")[0] if hasattr(run, "outputs") else ""
        return (
            f'<div class="ringlab-still"><p><b>{words.QUESTION}</b></p><p>{said}</p>{picture}'
            f"<p><code>{html.escape(self.line)}</code></p></div>"
        )

    # ---- the widgets ---------------------------------------------------------------------------------------

    def _make(self):
        setup = self.state.setup
        self._knobs = {
            "ranks": ipywidgets.BoundedIntText(setup.ranks, 1, max(MOST_RANKS, setup.ranks), description="ranks"),
            "nbytes": _choice("bytes", [(words.size_of(n), n) for n in sorted({*SIZES, setup.nbytes})], setup.nbytes),
            "algorithm": _choice("algorithm", list(ALGORITHMS), setup.algorithm),
            "wire": _choice("wire", list(WIRES), setup.wire),
            "network": _choice("network", [*PRESETS, NONE], setup.network or NONE),
            "dtype": _choice("dtype", list(DTYPES), setup.dtype),
            "slow": _choice("slow link", [NONE], NONE),
            "fault": _choice("fault", [NONE], NONE),
        }
        self._knobs["ranks"].layout.width, self._knobs["ranks"].style.description_width = "105px", "initial"
        self._refill()
        for name, knob in self._knobs.items():
            knob.observe(self._turned(name), "value")
        self._run = _button("Run", "Run it again", self.state.run)
        self._step = _button("Step", "One step of the ring", self._go_on)
        self._stop = _button("Stop", "Give the run up", self.state.stop)
        self._victim = _choice("rank", [0], 0, width="120px")
        self._kill = _button("Kill rank", "Kill the process of this rank", lambda: self.state.kill(self._victim.value))
        self._more = ipywidgets.ToggleButton(description="More knobs", tooltip="Wire, network, dtype, slow link, fault")
        self._rest = _row([self._knobs[name] for name in ("wire", "network", "dtype", "slow", "fault")])
        hidden = setup == Setup(setup.ranks, setup.nbytes, setup.algorithm)
        self._more.layout.width = "auto"
        self._more.value, self._rest.layout.display = not hidden, "none" if hidden else "flex"
        self._more.observe(self._unfold, "value")
        self._answer = ipywidgets.HTML()
        self._stage = ipywidgets.VBox()
        self._times = ipywidgets.Output(layout={"min_height": "330px"})
        self._numbers, self._spoken = ipywidgets.HTML(), ipywidgets.HTML()
        self._copy = CopyLine()
        self.panel = ipywidgets.VBox(
            [
                ipywidgets.HTML(f'<div class="ringlab-question">{words.QUESTION}</div>'),
                _row([self._knobs[name] for name in ("ranks", "nbytes", "algorithm")]),
                _row([self._run, self._step, self._stop, self._kill, self._victim, self._more]),
                self._rest,
                self._answer,
                self._stage,
                self._numbers,
                self._times,
                self._spoken,
                self._copy,
            ]
        )
        self.panel.add_class("ringlab-explorer")

    def _turned(self, name):
        def turned(change):
            if not self._turning:
                self.state.change(**{name: None if change["new"] == NONE else change["new"]})

        return turned

    def _unfold(self, change):
        self._rest.layout.display = "flex" if change["new"] else "none"

    def _go_on(self):
        if self._player is not None:
            self._player.step += 1

    def _refill(self):
        """The choices that depend on the number of ranks, and every knob where the setup has it."""
        setup, self._turning = self.state.setup, True
        try:
            ranks = range(setup.ranks)
            links = sorted({(r, (r + 1) % setup.ranks) for r in ranks if setup.ranks > 1} | {setup.slow} - {None})
            slow = [(NONE, NONE), *((f"{a} to {b}", (a, b)) for a, b in links)]
            struck = [(name, rank, 1) for name in FAULTS for rank in ranks]
            struck += [setup.fault] if setup.fault is not None and setup.fault not in struck else []
            fault = [(NONE, NONE), *((f"rank {r} {FAULT_NAMES[f]}, round {k}", (f, r, k)) for f, r, k in struck)]
            for name, options in (("slow", slow), ("fault", fault)):
                if tuple(options) != tuple(self._knobs[name].options):
                    self._knobs[name].options = options
            for name, knob in self._knobs.items():
                chosen = getattr(setup, name)
                if knob.value != (NONE if chosen is None else chosen):
                    knob.value = NONE if chosen is None else chosen
        finally:
            self._turning = False

    def _draw(self):
        """Everything as the state has it; pictures only when there is another run."""
        state = self.state
        self._refill()
        if list(self._victim.options) != list(range(state.setup.ranks)):
            self._victim.options = list(range(state.setup.ranks))
        busy = state.state != "idle"
        self._run.disabled, self._stop.disabled = busy, not busy
        self._answer.value = f'<div class="ringlab-answer" role="status">{words.answer(state)}</div>'
        self._copy.line = self.line
        outcome = state.outcome
        self._run.button_style = "primary" if state.waits and not busy else ""
        if outcome is None or outcome is self._drawn:
            return
        self._drawn = outcome
        self._show(outcome)

    def _show(self, outcome):
        """Ring, timeline and numbers of a run, or of what a run that failed left."""
        trace = getattr(outcome, "trace", None)
        self._step.disabled = trace is None
        self._numbers.value = words.table(outcome) if hasattr(outcome, "outputs") else ""
        if trace is None or not trace.events:
            self._stage.children, self._player, self._times.outputs, self._spoken.value = (), None, (), ""
            return
        if self._player is None:
            self._player = LivePlayer(outcome)
            self._stage.children = (self._player,)
        else:
            self._player.show(outcome)
        figure = timeline(outcome)
        self._spoken.value = words.in_words(figure)
        data = figure._repr_mimebundle_()
        self._times.outputs = ({"output_type": "display_data", "data": data, "metadata": {}},)


def _choice(name, options, value, width="auto"):
    style = {"description_width": "initial"}
    return ipywidgets.Dropdown(options=options, value=value, description=name, style=style, layout={"width": width})


def _button(name, tooltip, press):
    button = ipywidgets.Button(description=name, tooltip=tooltip, layout={"width": "auto"})
    button.on_click(lambda _: press())
    return button


def _row(children):
    return ipywidgets.HBox(children, layout={"flex_flow": "row wrap", "align_items": "center", "grid_gap": "4px 12px"})


def _on_this_loop():
    """later(call): on the event loop that runs here, so that one thread alone touches widgets; at once without one."""
    try:
        loop = asyncio.get_running_loop()
    except RuntimeError:
        return lambda call: call()
    return loop.call_soon_threadsafe
