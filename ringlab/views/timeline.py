"""`rl.timeline`: when each rank sent, waited and added, on one axis of time, with the critical path.

Every rank is a lane: above its sends, below its program (waiting, adding). All spans of a kind are one closed line,
so that thousands of them cost a browser no more than a few. What a finger or a mouse finds are points of a trace of
its own that is not drawn. Place, outline and pattern tell the kinds apart; colour repeats it.
"""

from html import escape

from ..criticalpath import VIRTUAL, critical_path
from ..spans import ADD, SEND, WAIT, chunk_names, lanes_of, spans_of
from ..texts import plural
from ..verdicts import BadInput
from .figures import FIRST, INK, THIRD, Figure, layout, painted, pick_unit
from .gantt import LEGEND

MOST_RANKS, MOST_EVENTS = 128, 20_000
PATH = "#c2388c"  # 4.7 to 1 on white, 3.9 to 1 on JupyterLab's dark grey; no rank's hue
WRONG = "#d0342c"
LOST = "lost"  # a wait for what never came
LOOKS: dict = {
    SEND: {"fillcolor": FIRST, "line": {"color": "#1b1b1f", "width": 1}},
    WAIT: {"fillcolor": "rgba(125,125,133,0.15)", "line": {"color": INK, "width": 1}},
    ADD: {"fillcolor": THIRD, "fillpattern": painted(THIRD, "x")["pattern"], "line": {"color": "#1b1b1f", "width": 1}},
    LOST: {"fillcolor": "rgba(208,52,44,0.25)", "line": {"color": WRONG, "width": 2, "dash": "dot"}},
}
NAMES = {SEND: "sends (above)", WAIT: "waits (below)", ADD: "adds (below)", LOST: "waits for what never came"}
ABOVE, BELOW, THIN = (-0.42, -0.04), (0.04, 0.42), (0.14, 0.32)  # of a lane one rank high


def timeline(run, path=True):
    """The Timeline of a run, of a trace, or of the error of a run that failed.

    path: whether to mark the critical path. Virtual runs are drawn in virtual time, and say so. BadInput for more
    than 128 ranks or 20,000 events: `run.trace.to_perfetto(file)` takes them all.
    """
    return Timeline(run, path)


class Timeline(Figure):
    """A Figure whose text is one line; `table()` says in words all that is drawn, with the times.

    path: the CriticalPath, or None.  unit: of the times in the picture, ("us", 1e-6) for example.
    """

    def __init__(self, run, path=True):
        trace = getattr(run, "trace", run)
        self.trace = self._drawable(trace, run)
        self.clock = _clock_name(trace, run)
        self.path = critical_path(trace) if path and trace.events else None
        self.spans = [span for rank in range(trace.ranks) for span in spans_of(trace, rank)]
        last = float(max((span.end for span in self.spans), default=0))
        rounds = trace.clock == VIRTUAL and hasattr(run, "network") and run.network is None
        self.unit = ("rounds", 1) if rounds else pick_unit(last)
        text = self._said(last)
        super().__init__(text, self._traces(last), self._looks(text, last))

    @staticmethod
    def _drawable(trace, given):
        if not hasattr(trace, "events") or not hasattr(trace, "by_rank"):
            raise BadInput(f"a timeline needs a run, not {type(given).__name__}", "give it what rl.run returned")
        if trace.ranks > MOST_RANKS or len(trace.events) > MOST_EVENTS:
            raise BadInput(
                f"{trace.ranks} ranks and {len(trace.events)} events are too many for one picture",
                f"draw up to {MOST_RANKS} and {MOST_EVENTS}; run.trace.to_perfetto(file) takes them all",
            )
        return trace

    def _said(self, last):
        trace = self.trace
        sends = sum(event.kind == "send" for event in trace.events)
        text = f"timeline of {trace.algorithm}, {plural(trace.ranks, 'rank')}, {self.clock}"
        text += f": {plural(sends, 'message')}"
        if trace.failure:
            text += f", ended by {trace.failure.get('verdict')}"
        if trace.clock == VIRTUAL:  # the same whenever it is run
            text += f", {last / self.unit[1]:.4g} {self.unit[0]}"
        return text

    def table(self):
        """Text: every span in the order of time, one line each; `*` marks the messages of the critical path."""
        unit, size = self.unit
        rows = [("from", "to", self.clock + f" ({unit})", "")]
        critical = self._critical()
        for span in sorted(self.spans, key=lambda span: (span.start, span.rank)):
            mark = "*" if span.kind == SEND and (span.rank, span.event.peer, span.start) in critical else ""
            times = [f"{float(time) / size:.3f}" for time in (span.start, span.end)]
            rows.append((*times, _words(self.trace, span), mark))
        widths = [max(len(row[i]) for row in rows) for i in range(2)]
        lines = [f"{a.rjust(widths[0])}  {b.rjust(widths[1])}  {text} {mark}".rstrip() for a, b, text, mark in rows]
        path = [] if self.path is None else [f"{self.path!r}, {float(self.path.seconds) / size:.4g} {unit}"]
        return "\n".join([self.text, *lines, *path])

    def _critical(self):
        return {(step.rank, step.peer, step.start) for step in self.path.messages} if self.path else set()

    def _scaled(self, time):
        return round(float(time) / self.unit[1], 5)

    # ---- the picture ---------------------------------------------------------------------------------------

    def _traces(self, last):
        boxes = {kind: ([], []) for kind in LOOKS}
        points = ([], [], [])
        for span, (low, high) in self._placed():
            start, end = self._scaled(span.start), self._scaled(span.end)
            x, y = boxes[span.kind if span.done else LOST]
            x += [start, end, end, start, start, None]
            y += [low, low, high, high, low, None]
            self._touch(points, span, start, end, (low + high) / 2, self._scaled(last))
        drawn = [self._shape(kind, x, y) for kind, (x, y) in boxes.items() if x]
        x, y, texts = points
        drawn.append({**PLAIN, "mode": "none", "x": x, "y": y, "text": texts, "hoverinfo": "text", "showlegend": False})
        return drawn + self._path() + self._failure()

    def _placed(self):
        """(span, (low, high)) of every span; sends that overlap lie one below the other in their half of the lane."""
        for rank in range(self.trace.ranks):
            mine = [span for span in self.spans if span.rank == rank]
            sends = [span for span in mine if span.kind == SEND]
            lanes = lanes_of(sends)
            height = (ABOVE[1] - ABOVE[0]) / (1 + max(lanes, default=0))
            for span, lane in zip(sends, lanes, strict=True):
                low = rank + ABOVE[0] + lane * height
                yield span, (round(low, 3), round(low + height, 3))
            for span in mine:
                if span.kind != SEND:
                    low, high = BELOW if span.kind == ADD else THIN
                    yield span, (round(rank + low, 3), round(rank + high, 3))

    def _touch(self, points, span, start, end, height, last):
        """Points where a pointer finds a span: one in a short one, several along one that is long."""
        count = 1 + int(30 * (end - start) / last) if last else 1
        text = f"{_words(self.trace, span)}<br>{start:g} to {end:g} {self.unit[0]}"
        for k in range(count):
            points[0].append(round(start + (end - start) * (2 * k + 1) / (2 * count), 5))
            points[1].append(round(height, 3))
            points[2].append(text)

    def _shape(self, kind, x, y):
        return {**PLAIN, "mode": "lines", "name": NAMES[kind], "x": x, "y": y, "fill": "toself", **LOOKS[kind]}

    def _path(self):
        if self.path is None:
            return []
        x, y = [], []
        for step in self.path.steps:
            at = step.rank + (ABOVE[0] / 2 if step.kind == "message" else BELOW[1] / 2)
            to = (step.peer if step.kind == "message" else step.rank) + BELOW[1] / 2
            x += [self._scaled(step.start), self._scaled(step.end)]
            y += [round(at, 3), round(to, 3)]
        line = {"color": PATH, "width": 3}
        return [{**PLAIN, "mode": "lines", "name": "critical path", "x": x, "y": y, "line": line}]

    def _failure(self):
        failure = self.trace.failure
        if not failure or failure.get("rank") is None:
            return []
        mine = [event.end for event, _ in self.trace.by_rank(failure["rank"])]
        mark = {"symbol": "x", "size": 14, "color": WRONG, "line": {"color": "#ffffff", "width": 1}}
        where = {"x": [self._scaled(max(mine, default=0))], "y": [failure["rank"]]}
        return [{**PLAIN, "mode": "markers", "name": escape(str(failure.get("verdict"))), "marker": mark, **where}]

    def _looks(self, text, last):
        ranks = self.trace.ranks
        names = [f"rank {rank}" for rank in range(ranks)]
        each = 46 if ranks <= 8 else 30 if ranks <= 16 else 14
        lanes = {"range": [ranks - 0.4, -0.6], "zeroline": False, "showgrid": False, "ticks": ""}
        lanes |= {"tickvals": list(range(ranks)), "ticktext": names}
        time = {"title": {"text": f"{self.clock} ({self.unit[0]})"}, "fixedrange": False, "zeroline": False}
        time["range"] = [0, 1.01 * self._scaled(last) or 1]
        look = layout(text, time, lanes, legend=LEGEND, dragmode="pan", hovermode="closest", hoverdistance=-1)
        look["title"] |= {"y": 1, "yref": "container", "yanchor": "top", "pad": {"t": 8}}
        top = 110 if self.trace.failure else 80  # room for a legend of two lines
        return {**look, "height": 60 + top + each * ranks, "margin": {**look["margin"], "t": top}}


PLAIN = {"type": "scatter", "hoverinfo": "skip"}


def _clock_name(trace, run):
    if trace.clock == VIRTUAL:
        return "virtual time"
    if trace.clock != "real":
        return "time"
    return "real time" if getattr(run, "network", None) is None else "real time over an emulated network"


def _words(trace, span):
    event = span.event
    what = chunk_names(trace, event) or "a message"
    size = f", {event.nbytes} bytes, round {event.round}"
    if span.kind == SEND:
        return f"rank {span.rank} sends {what} to rank {event.peer}{size}"
    if span.kind == ADD:
        return f"rank {span.rank} adds {what}"
    if not span.done:
        return f"rank {span.rank} waits for {what} from rank {event.peer}, which never came"
    return f"rank {span.rank} waits for {what} from rank {event.peer}{size}"
