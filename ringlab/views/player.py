"""`rl.show`: the ring and the chunk-by-rank matrix of one recorded run, stepping and playing without a kernel.

A player is a pure function of the trace: no random ids, no clock, no outside request. Its HTML is a still picture
(what an untrusted notebook, a printer and a browser without scripts show) and one script that puts the player in its
place: `run.js` unpacks the trace, `stage.js` draws it with `layout.js` and `glyphs.js`, `words.js` and `source.js`
speak about it, `quiz.js` asks, and `player.js` moves it all, with `frame.js`, `scrubber.js`, `pointing.js`, `keys.js`
and `panel.js` for the hands. Program and data travel as one compressed text, so nothing that a learner wrote stands in
the HTML except the escaped description of the picture.
"""

import base64
import functools
import html
import json
import zlib
from pathlib import Path

from .. import verdicts
from ..texts import plural
from .encoding import encode
from .still import still_svg

HERE = Path(__file__).parent
NAMES = "run layout glyphs stage words source quiz scrubber frame pointing keys panel player"
SCRIPTS = [f"{name}.js" for name in NAMES.split()]

LOADER = """<script>(async (host) => {
const still = host.firstElementChild;
try {
still.hidden = true;
const bytes = Uint8Array.from(atob("%s"), (c) => c.charCodeAt(0));
const text = await new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"))).text();
const [code, data, options] = JSON.parse(text);
new Function(code + "\\nreturn mountRing")()(host, data, options);
} catch (error) { console.error(error); }
still.hidden = false;
})(document.currentScript.previousElementSibling)</script>"""


def show(run_or_trace, ask=None, times=False, beside=None):
    """A player for a run, a trace, or the error of a run that failed.

    ask: a rank; the learner says which chunk it sends in each round, and sees no further than that.
    times: also carry the real start and end of every message ("as it happened").
    beside: a second run, shown on the same clock of rounds.
    Raises BadInput when there is no trace, or no such rank.
    """
    return Player(run_or_trace, ask=ask, times=times, beside=beside)


class Player:
    """What `show` returns: HTML for a notebook, one fixed line as text."""

    def __init__(self, run_or_trace, ask=None, times=False, beside=None):
        self.trace = trace_of(run_or_trace)
        self.beside = None if beside is None else trace_of(beside)
        if ask is not None and ask not in range(self.trace.ranks):
            raise verdicts.BadInput(
                f"ask={ask!r} is no rank of this run", f"give a rank from 0 to {self.trace.ranks - 1}"
            )
        self.ask, self.times = ask, times

    def __repr__(self):
        both = " beside ".join(_summary(trace) for trace in (self.trace, self.beside) if trace is not None)
        return f"player: {both}"

    def options(self):
        """What the script is told besides the trace."""
        options = {} if self.ask is None else {"ask": int(self.ask)}
        if self.beside is not None:
            options["beside"] = encode(self.beside)
        return options

    def _repr_html_(self):
        parcel = json.dumps([script(), encode(self.trace, self.times), self.options()], separators=(",", ":"))
        packed = base64.b64encode(zlib.compress(parcel.encode(), 9)).decode()
        picture = base64.b64encode(still_svg(self.trace).encode(errors="replace")).decode()
        return (
            '<div class="ringlab-player" data-lm-suppress-shortcuts="true">'
            f'<img alt="{html.escape(self._description(), quote=True)}" '
            f'src="data:image/svg+xml;base64,{picture}" style="max-width:100%"></div>' + LOADER % packed
        )

    def _description(self):
        return f"Still picture of the {self!r}. Run the cell, or trust the notebook, to step through it."


def trace_of(thing):
    """The trace of a run, of an error that a run ended in, or the trace itself."""
    trace = getattr(thing, "trace", thing)
    if trace is None:
        raise verdicts.BadInput(
            f"this {type(thing).__name__} has no run to show",
            "its ranks left no record: it ended before they began, or they were one process (wire='virtual')",
        )
    if not hasattr(trace, "events") or not hasattr(trace, "ranks"):
        raise verdicts.BadInput(
            f"rl.show needs a run or a trace, not {type(thing).__name__}", "give it what rl.run returned"
        )
    return trace


@functools.cache
def script():
    """The player's program, one text that defines mountRing(host, data, options), without margins and comment lines."""
    style = " ".join((HERE / "player.css").read_text(encoding="utf-8").split())
    lines = "\n".join((HERE / name).read_text(encoding="utf-8") for name in SCRIPTS).splitlines()
    code = [line.strip() for line in lines if line.strip() and not line.strip().startswith("//")]
    return "\n".join([f"const STYLE = {json.dumps(style)};", *code])


def _summary(trace):
    sent = sum(event.kind == "send" for event in trace.events)
    name = " ".join(str(trace.algorithm).encode(errors="replace").decode().split())
    return f"{name}, {plural(trace.ranks, 'rank')}, {plural(trace.rounds, 'round')}, {plural(sent, 'message')}"
