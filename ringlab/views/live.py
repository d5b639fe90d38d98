"""`rl.live`: the player as a widget, where Python sees where it stands and sends it elsewhere.

Imported only when one is shown (anywidget takes a third of a second). It shows what `rl.show` shows, from the same
program; a saved notebook keeps no picture of it, so lessons use `rl.show` unless Python has to react.
"""

import traitlets

from .encoding import encode
from .player import Player, script, trace_of
from .widget import Widget, text_of, with_hearing


class LivePlayer(Widget):
    """A player whose `step` and `focus` go both ways.

    step: where it stands, 0 (before the first round) to `steps`; between adding and copying there is a stop too.
    focus: the rank that the sentence speaks of.
    """

    _esm = with_hearing(script(), text_of("live.js"))
    data = traitlets.Dict().tag(sync=True)
    options = traitlets.Dict().tag(sync=True)
    step = traitlets.Int(0).tag(sync=True)
    focus = traitlets.Int(1).tag(sync=True)

    def __init__(self, run_or_trace, ask=None, times=False, beside=None):
        self._player = Player(run_or_trace, ask=ask, times=times, beside=beside)
        self._times = times
        first = ask if ask is not None else min(1, self._player.trace.ranks - 1)
        super().__init__(data=encode(self._player.trace, times), options=self._player.options(), focus=first)

    def __repr__(self):
        return f"live {self._player!r}"

    def show(self, run_or_trace):
        """Show another run in the same place, from its start; questions and a second run beside end with the first."""
        self._player = Player(run_or_trace, times=self._times)
        with self.hold_sync():
            self.step, self.options = 0, {}
            self.focus = min(self.focus, self._player.trace.ranks - 1)
            self.data = encode(trace_of(run_or_trace), self._times)


def live(run_or_trace, ask=None, times=False, beside=None):
    """The player of `rl.show`, as a widget with `step`, `focus` and `show(run)`."""
    return LivePlayer(run_or_trace, ask=ask, times=times, beside=beside)
