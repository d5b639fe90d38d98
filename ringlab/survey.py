"""Five sentences, asked before the course and again after it: true, false, or does it depend?

Each is what a text on ring all-reduce says, in our words; one is true, two are false and two depend, and a
lesson settles each by a run. The answers are kept in one small JSON file in the current folder, so that the
last lesson can show what changed. What is printed is the same for everybody, whatever was answered.
"""

import contextlib
import html
import json
import os
from pathlib import Path
from typing import NamedTuple

from .frontend import bundle, in_jupyter
from .verdicts import BadInput

FILE = ".ringlab-claims.json"
ANSWERS = ("true", "false", "depends")
WHEN = ("before", "after")


class Claim(NamedTuple):
    """What a text says, what the course finds, why, and the lesson that shows it."""

    key: str
    text: str
    verdict: str
    why: str
    lesson: int


CLAIMS = (
    Claim(
        "traffic",
        "A text says: in a ring, the bytes each device sends do not depend on how many devices there are.",
        "false",
        "A device sends 2(P-1)/P buffers: one at P = 2, almost two at P = 64. Bounded, not constant.",
        4,
    ),
    Claim(
        "blocking",
        "A text says: a ring deadlocks when every rank sends before it receives and a send blocks.",
        "depends",
        "It hangs when the link cannot hold the message. The same code passes with small ones.",
        5,
    ),
    Claim(
        "bits",
        "A text says: from the same seed, training on another number of devices ends with other last bits.",
        "true",
        "Each number of ranks adds in another order, and floating-point sums depend on the order.",
        8,
    ),
    Claim(
        "sharding",
        "A text says: sharding the optimiser's state over the devices lowers the bytes they exchange.",
        "false",
        "It lowers memory. A reduce-scatter and an all-gather move just what the all-reduce moved.",
        11,
    ),
    Claim(
        "feedback",
        "A text says: without error feedback, training on strongly sparsified gradients diverges.",
        "depends",
        "One worker may well arrive; three workers whose gradients disagree fly off.",
        12,
    ),
)


def claims(when):
    """The five sentences to answer ("before" or "after" the course), or the "compare" table of both.

    Make it the last line of a cell: Jupyter then shows buttons, and each answer is saved at once in
    `.ringlab-claims.json` in the current folder. Without buttons: `rl.claims("before").answer(1, "false")`.
    A folder that cannot be written to is no error; the answers then last as long as the kernel.

    >>> claims("afterwards")
    Traceback (most recent call last):
    ringlab.verdicts.BadInput: claims are asked "before" or "after", or shown by "compare", not 'afterwards'
    """
    if when == "compare":
        return Comparison(_file())
    if when in WHEN:
        return Survey(when, _file())
    raise BadInput(f'claims are asked "before" or "after", or shown by "compare", not {when!r}')


class Survey:
    """One round of the five questions. `answers` maps a claim's key to "true", "false" or "depends"."""

    def __init__(self, when, path):
        self.when, self.path = when, path
        self.answers = load(path)[when]
        self.note = ""
        self._widget = None

    def __repr__(self):
        asked = f"{self.when.capitalize()} the course: {', '.join(ANSWERS[:-1])}, or {ANSWERS[-1]}?"
        return "\n".join([f"{asked} One minute, nothing is marked.", *_numbered(c.text for c in CLAIMS)])

    def given(self, number):
        """The answer to claim `number` (1 to 5), or None."""
        return self.answers.get(CLAIMS[number - 1].key)

    def answer(self, number, value):
        """Answer claim `number` (1 to 5) with "true", "false" or "depends", and save; it may be changed."""
        if isinstance(number, bool) or number not in range(1, len(CLAIMS) + 1):
            raise BadInput(f"claims have numbers 1 to {len(CLAIMS)}, not {number!r}")
        number, value = int(number), str(value).lower()  # so that True and False will do
        if value not in ANSWERS:
            raise BadInput(f"an answer is one of {', '.join(ANSWERS)}, not {value}")
        self.answers[CLAIMS[number - 1].key] = value
        saved = save(self.path, self.when, self.answers)
        self.note = "Saved." if saved else "Not saved: this folder cannot be written to."
        if self._widget is not None:
            self._widget.refresh()

    def _repr_mimebundle_(self, include=None, exclude=None):
        if in_jupyter() and self._widget is None:
            try:
                from .views import guess
            except ImportError:
                return bundle(f'{self!r}\nNo buttons without anywidget: type  _.answer(1, "depends")')
            self._widget = guess.Questions(self, [claim.text for claim in CLAIMS], ANSWERS)
        return bundle(repr(self), self._widget)


class Comparison:
    """What was answered before and after, beside what the course found.

    The plain form leaves the answers out, so it is the same for everybody; `table()` and the HTML have them.
    """

    def __init__(self, path):
        answers = load(path)
        self.before, self.after = (answers[when] for when in WHEN)

    def __repr__(self):
        found = (f"{c.text}\n   {c.verdict} (lesson {c.lesson:02d}): {c.why}" for c in CLAIMS)
        return "\n".join(_numbered(found))

    @property
    def rows(self):
        """Per claim: (text, before, after, verdict, why, lesson); an answer not given is a dash."""
        return [
            (c.text, self.before.get(c.key, "-"), self.after.get(c.key, "-"), c.verdict, c.why, c.lesson)
            for c in CLAIMS
        ]

    def table(self):
        """Text: one line per claim with both answers and the verdict."""
        lines = [f"{'':12}{'before':10}{'after':10}the course found"]
        for claim, (_, before, after, verdict, _, lesson) in zip(CLAIMS, self.rows):
            lines.append(f"{claim.key:12}{before:10}{after:10}{verdict} (lesson {lesson:02d})")
        return "\n".join(lines)

    def _repr_html_(self):
        head = "".join(f'<th scope="col">{name}</th>' for name in ("", "before", "after", "the course found"))
        left = 'style="text-align:left;font-weight:normal"'
        body = "".join(
            f'<tr><th scope="row" {left}>{html.escape(text)}</th><td>{before}</td><td>{after}</td>'
            f"<td {left}><b>{verdict}</b> (lesson {lesson:02d}): {html.escape(why)}</td></tr>"
            for text, before, after, verdict, why, lesson in self.rows
        )
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _file():
    try:
        return Path(FILE).absolute()  # answers stay where the notebook started, even after a chdir
    except OSError:  # the folder is gone; then nothing is loaded or saved
        return Path(FILE)


def load(path):
    """{"before": {key: answer}, "after": {...}} from `path`; what cannot be read counts as unanswered."""
    try:
        kept = json.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        kept = {}
    keys = {claim.key for claim in CLAIMS}
    answers = {}
    for when in WHEN:
        round_ = kept.get(when) if isinstance(kept, dict) else None
        given = round_.items() if isinstance(round_, dict) else ()
        answers[when] = {key: value for key, value in given if key in keys and value in ANSWERS}
    return answers


def save(path, when, answers):
    """Put `answers` into the file, keeping the other round's; False when the folder cannot be written to."""
    path = Path(path)
    kept = load(path) | {when: dict(answers)}
    draft = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    try:
        draft.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
        draft.replace(path)  # whole or not at all, even when the kernel dies here
    except OSError:
        with contextlib.suppress(OSError):
            draft.unlink()
        return False
    return True


def _numbered(texts):
    return (f"{number}. {text}" for number, text in enumerate(texts, 1))
