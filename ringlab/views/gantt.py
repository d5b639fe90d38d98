"""Backward and all-reduces on one axis of time: a step that ran, or the model's, with what nothing hides hatched."""

from ..texts import plural
from .figures import FIRST, INK, Figure, layout, title
from .slider import one_at_a_time, slider
from .still import COLOURS

MIB = 2**20
GREY = "#8d8d97"  # all-reduces carry everybody's gradients, so they have no rank's hue
BACKWARD, HIDDEN, EXPOSED = KINDS = ("backward", "all-reduce under backward", "all-reduce that nothing hides")
LOOKS: dict = {
    BACKWARD: {"line": {"color": "#ffffff", "width": 1}},
    HIDDEN: {"color": GREY, "line": {"color": "#ffffff", "width": 1}},
    EXPOSED: {
        "color": "#ffffff",
        "pattern": {"shape": "/", "fgcolor": "#b4b4be", "bgcolor": "#ffffff", "size": 8, "solidity": 0.3},
        "line": {"color": INK, "width": 2},
    },
}
LEGEND = {"orientation": "h", "y": 1.0, "yanchor": "bottom", "x": 0, "traceorder": "normal"}


def of_step(step):
    """The Figure of an `overlap.Step`: two lanes for each rank, its device and its communication."""
    bars, lanes, fake = [], [], step.verdict == "FAKE_OVERLAP"
    for rank in range(step.ranks):
        works, sends = f"rank {rank} computes", f"rank {rank} sends"
        lanes += [works, sends]
        spans = step.of(rank, "backward")
        bars += [_bar(BACKWARD, works, s.bucket, s.start, s.end, COLOURS[rank % len(COLOURS)]) for s in spans]
        for sent in step.of(rank, "all-reduce"):
            over = sent.start if fake else spans[-1].end
            bars += _split(sends, sent.bucket, sent.start, sent.end, over, step.plan[sent.bucket].nbytes)
    head = f"{step.by}: {step.device.label}, " + ("emulated links" if step.network is not None else step.wire)
    drawn = _layout(head, lanes, "ms since the ranks began", 140 + 32 * len(lanes))
    return Figure(f"Gantt of {step!r}", _traces(bars), drawn)


def of_timelines(timelines, label, names, active=0, head="the model"):
    """The Figure of several `buckets.Timeline`s, one at a time, chosen by a slider `label` with `names`."""
    groups, words = [], []
    for name, one in zip(names, timelines, strict=True):
        made, bars = 0.0, []
        for bucket, sent in enumerate(one.buckets):
            bars.append(_bar(BACKWARD, "computes", bucket, made, float(sent.ready), FIRST))
            bars += _split("sends", bucket, float(sent.start), float(sent.end), float(one.backward), sent.nbytes)
            made = float(sent.ready)
        groups.append(_traces(bars, numbered=len(one.buckets) <= 40))
        count = plural(len(one.buckets), "bucket")
        words.append(f"{name}: {count}, {1e3 * float(one.exposed):.1f} ms exposed")
    traces, shown = one_at_a_time(groups, active)
    steps = [(change, {"title.text": f"{head}, {said}"}) for change, said in zip(shown, words)]
    drawn = _layout(f"{head}, {words[active]}", ["computes", "sends"], "ms after backward began", 370)
    drawn["xaxis"]["range"] = [0, 1.02e3 * max(float(one.seconds) for one in timelines)]
    drawn["sliders"] = [slider(label, names, steps, active)]
    return Figure("\n".join([head, *words]), traces, drawn)


def _layout(head, lanes, time, height):
    look = layout(head, title(time), {"type": "category", "categoryorder": "array", "categoryarray": lanes[::-1]})
    return {
        **look,
        "height": height,
        "barmode": "overlay",
        "bargap": 0.15,
        "legend": LEGEND,
        "margin": {**look["margin"], "l": 120, "t": 70},
    }


def _bar(kind, lane, bucket, start, end, colour=None, nbytes=None):
    size = "" if nbytes is None else f", {nbytes / MIB:.1f} MiB"
    hover = f"bucket {bucket}{size}<br>{kind}: {1e3 * start:.2f} to {1e3 * end:.2f} ms"
    return kind, lane, str(bucket), 1e3 * start, 1e3 * (end - start), colour, hover


def _split(lane, bucket, start, end, over, nbytes):
    """An all-reduce as up to two bars: before and after `over`, when backward is over."""
    cut = min(max(start, over), end)
    parts = [(HIDDEN, start, cut), (EXPOSED, cut, end)]
    return [_bar(kind, lane, bucket, a, b, None, nbytes) for kind, a, b in parts if b > a]


def _traces(bars, numbered=True):
    """One trace for each kind of bar, also for those that do not occur: the legend stays."""
    traces = []
    for kind in KINDS:
        mine = [bar for bar in bars if bar[0] == kind]
        _, lanes, buckets, starts, lengths, colours, hovers = zip(*mine) if mine else [()] * 7
        marker = LOOKS[kind] if kind != BACKWARD else {"color": list(colours), **LOOKS[kind]}
        traces.append(
            {
                "type": "bar",
                "orientation": "h",
                "name": kind,
                "y": list(lanes) or [bars[0][1]],
                "base": [round(start, 4) for start in starts] or [0],
                "x": [round(length, 4) for length in lengths] or [None],
                "text": list(buckets) if numbered else None,
                "textposition": "inside",
                "insidetextanchor": "middle",
                "textangle": 0,
                "textfont": {"color": "#141416"},
                "hovertext": list(hovers),
                "hoverinfo": "text",
                "marker": marker,
            }
        )
    return traces
