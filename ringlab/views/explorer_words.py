"""What the explorer says: its answer in a sentence, and the numbers per rank as a table, both as HTML."""

from html import escape

from ..verdicts import Interrupted, RinglabError
from .exploration import SLOWER
from .figures import pick_unit

QUESTION = "Double the ranks. Does it take twice as long? Guess, then try; then double the bytes."


def answer(exploration):
    """The sentences under the knobs, as HTML: what is going on, or what came of the setup that is shown."""
    if exploration.wrong is not None:
        return _verdict(exploration.wrong)
    if exploration.state == "stopping":
        return "Stopping…"
    if exploration.state == "running":
        return "Running. You can stop it, or kill one of its ranks."
    outcome = exploration.outcome
    if isinstance(outcome, RinglabError | Interrupted):
        real = exploration.shown.wire != "virtual" == exploration.setup.wire
        return _verdict(outcome) + ("<br>This run was on real processes: only they can be killed." if real else "")
    told = "" if outcome is None else told_of(exploration.shown, outcome, exploration.before)
    return f"{told} <b>You have changed something: press Run.</b>" if exploration.waits else told


def told_of(setup, run, before):
    """The sentences about a run that ended, compared with the one before it."""
    unit = _unit(setup)
    compared = ""
    if before is not None and _unit(before[0]) == unit and before[0] != setup and before[1].seconds:
        times = float(run.seconds / before[1].seconds)
        compared = f", {times:.3g} times as long as before" if f"{times:.3g}" != "1" else ", as long as before"
    model = setup.seconds(run.wire_dtype.itemsize)
    time = duration(run.seconds, unit) + ("" if unit == "round" else f" of {unit} time")
    said = f"<b>{time}</b>{compared}. {_model(setup, model, unit)}"
    most = max(run.sent, default=0)
    if setup.nbytes:
        said += f" The busiest rank sends {size_of(most)}, {most / setup.nbytes:.3g} times its buffer. "
    return said + escape(run.words[:1].upper() + run.words[1:]) + "."


def _model(setup, seconds, unit):
    if seconds is None:
        why = "choose a network" if setup.network is None else f"there is none for {setup.ranks} ranks"
        return f"No closed form: {why}."
    apart = [f"a link that is {SLOWER} times slower"] if setup.slow is not None else []
    apart += ["a fault"] if setup.fault is not None else []
    but = f", which knows nothing of {' and '.join(apart)}" if apart else ""
    emulated = " (the network is emulated, so Python's own time comes on top)" if unit == "real" else ""
    time = duration(seconds, "virtual" if setup.network else _unit(setup))
    return f"The model says <b>{time}</b>{but}{emulated}."


def _unit(setup):
    """Whose time a run's seconds are, as a word."""
    return "real" if setup.wire != "virtual" else "virtual" if setup.network is not None else "round"


def duration(seconds, unit="real"):
    """'3.7 us'; '14 rounds' in the unit "round"."""
    if unit == "round":
        return f"{float(seconds):g} round{'' if seconds == 1 else 's'}"
    name, size = pick_unit(float(seconds))
    return f"{float(seconds) / size:.4g} {name}"


def size_of(nbytes):
    """'384 bytes', '16 KiB', '1.5 MiB'."""
    for name, size in (("MiB", 2**20), ("KiB", 2**10)):
        if nbytes >= size:
            return f"{nbytes / size:.4g} {name}"
    return f"{nbytes} bytes"


def _verdict(error):
    """A verdict in a few lines, as notebooks show it."""
    first, *rest = error._render_traceback_()
    name, _, text = first.partition(": ")
    lines = [f"<b>{escape(name)}</b>: {escape(text)}", *(escape(line.strip()) for line in rest)]
    return "<br>".join(lines)


def table(run):
    """Bytes and messages per rank, as an HTML table with a caption and headings."""
    head = "".join(f'<th scope="col">{rank}</th>' for rank in range(run.ranks))
    rows = (("bytes sent", run.sent), ("bytes received", run.received), ("messages sent", run.messages))
    body = "".join(
        f'<tr><th scope="row">{name}</th>{"".join(f"<td>{value:,}</td>" for value in values)}</tr>'
        for name, values in rows
    )
    return (
        '<div class="ringlab-scroll" tabindex="0" role="region" aria-label="Bytes and messages per rank">'
        '<table class="ringlab-ranks"><caption>Bytes and messages per rank</caption>'
        f'<thead><tr><th scope="row">rank</th>{head}</tr></thead><tbody>{body}</tbody></table></div>'
    )


def in_words(timeline):
    """A timeline's table, folded away."""
    return (
        "<details><summary>The timeline in words</summary>"
        f'<pre tabindex="0" role="region" aria-label="The timeline in words">{escape(timeline.table())}</pre></details>'
    )
