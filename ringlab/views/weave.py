"""The messages of a run as a weave: ranks across, time down, a thread per message. No script, no ids.

A thread is the thicker the more of the buffer its message carries, and its end has a knot. A weave shows who talks to
whom, when and how much, and nothing else.
"""

from html import escape

COLUMN, LEFT, TOP, RIGHT = 34, 24, 26, 12
TALLEST = 330  # pixels of the threads


def messages(programs):
    """(src, dst, start, end, bytes) of every message, by start; times in messages."""
    return sorted(
        (float(start), rank, peer, float(end), nbytes)
        for rank, program in enumerate(programs)
        for kind, peer, _, nbytes, start, end in program
        if kind == 0 and peer != rank
    )


def weave_svg(programs, whole, description):
    """SVG text of messages of a buffer of `whole` bytes: its bytes depend on the run only, its ink is the page's."""
    sent, ranks = messages(programs), len(programs)
    end = max((message[3] for message in sent), default=1)
    step = min(26, TALLEST / end)
    width, height = LEFT + COLUMN * (ranks - 1) + RIGHT + 12, TOP + step * end + 12
    x, y = [LEFT + COLUMN * rank for rank in range(ranks)], lambda time: TOP + step * time
    head = (
        f'<svg width="{width}" height="{height:.0f}" viewBox="0 0 {width} {height:.0f}" role="img" '
        f'aria-label="{escape(description, quote=True)}" fill="none" stroke="currentColor" '
        'style="color:var(--jp-ui-font-color1, #5a5a62);font:12px system-ui,sans-serif">'
    )
    parts = [head]
    for rank in range(ranks):
        parts.append(f'<text x="{x[rank]}" y="14" fill="currentColor" stroke="none" text-anchor="middle">{rank}</text>')
        parts.append(f'<path d="M{x[rank]} {TOP - 6}V{height - 6:.0f}" stroke-opacity=".25"/>')
    for start, src, dst, stop, nbytes in sent:
        top, bottom = y(start) + 1, y(stop) - 1
        thick = 0.7 + 2.8 * nbytes / whole
        parts.append(f'<path d="M{x[src]} {top:.1f}L{x[dst]} {bottom:.1f}" stroke-width="{thick:.1f}"/>')
        parts.append(
            f'<circle cx="{x[dst]}" cy="{bottom:.1f}" r="{1.2 + thick / 2:.1f}" fill="currentColor" stroke="none"/>'
        )
    return "".join(parts) + "</svg>"


def weave_text(programs):
    """A line per round: who sends to whom."""
    rounds = {}
    for start, src, dst, _, _ in messages(programs):
        rounds.setdefault(int(start), []).append(f"{src}>{dst}")
    return "\n".join(f"round {start:<3} {'  '.join(pairs)}" for start, pairs in sorted(rounds.items()))
