"""Questions that are answered before the run.

`predict` asks, `reveal` answers. What is printed is the same for everybody, whoever guessed what, so a lesson
keeps its outputs; the guess lives in the notebook's kernel and is marked in the buttons only.

This module knows no widgets. In Jupyter it asks `ringlab.views.guess` for the buttons; elsewhere the question
is one line of text and the guess an assignment, `g.guess = 384`.
"""

import math

import numpy as np

from .frontend import display_bundle, in_jupyter
from .survey import claims
from .verdicts import BadInput

__all__ = ["Prediction", "claims", "predict"]

# A question that was answered stays answered when its cell runs again: (question, choices) -> Prediction
_answered: dict = {}


def predict(question, choices):
    """A `Prediction`, shown at once: a question, one button per choice, and the first click is the guess.

    question: text.  choices: at least two different values (numbers, text, truth values, tuples of these).
    Raises BadInput when the question is empty, or fewer than two choices or equal ones are given.

    >>> g = predict("How many bytes?", [192, 384, 768])
    How many bytes?  [192 | 384 | 768]
    >>> g.reveal(np.int64(384))
    Answer: 384
    """
    asked = Prediction(question, choices)
    asked = _answered.get(repr(asked), asked)
    asked.show()
    return asked


class Prediction:
    """A question, its choices, and the guess: None until one is made, then locked.

    `g.guess` is the chosen value. Where no buttons are shown, `g.guess = 384` makes the guess; a second,
    different one raises BadInput. `reveal(value)` prints the answer and closes the question.
    """

    def __init__(self, question, choices):
        self.question = _one_line(question)
        self.choices = _checked(choices)
        self.answer = None  # its text, once revealed
        self.right = None  # which choice that is
        self.guessed = None  # which choice was taken
        self._widget = None

    def __repr__(self):
        return f"{self.question}  [{' | '.join(self.labels)}]"

    @property
    def labels(self):
        """The choices as they are shown, a tuple of texts."""
        return tuple(str(choice) for choice in self.choices)

    @property
    def locked(self):
        """True once a guess was made or the answer was given."""
        return self.guessed is not None or self.answer is not None

    @property
    def guess(self):
        """The chosen value, or None."""
        return None if self.guessed is None else self.choices[self.guessed]

    @guess.setter
    def guess(self, value):
        index = self.index(value)
        if index is None:
            raise BadInput(f"{_plain(value)} is none of the choices: {', '.join(self.labels)}")
        self.choose(index)
        if self.guessed is None:
            raise BadInput("the answer is out, so this guess comes too late")
        if self.guessed != index:
            raise BadInput(f"the guess is locked: {self.labels[self.guessed]}")

    def choose(self, index):
        """Take the choice at `index` as the guess unless the question is locked; True when it was taken."""
        if self.locked or index not in range(len(self.choices)):
            return False
        self.guessed = index
        _answered[repr(self)] = self
        self._refresh()
        return True

    def index(self, value):
        """Which choice equals `value` (numbers: to nine digits), or None."""
        value = _plain(value)
        return next((i for i, choice in enumerate(self.choices) if _same(choice, value)), None)

    def reveal(self, value):
        """Print the answer, the same line whatever was guessed; the buttons show whether the guess was right.

        value: what the run gave. A value that is none of the choices is printed, and said to be none of them.
        """
        self.right = self.index(value)
        if self.right is None:
            self.answer = f"{_plain(value)} (none of the choices)"
        else:
            self.answer = self.labels[self.right]
        print(f"Answer: {self.answer}")
        self._refresh()

    def show(self):
        """Show the question: buttons in Jupyter, else its line of text."""
        if not in_jupyter():
            print(self)
            return
        try:
            from .views import guess
        except ImportError:
            display_bundle(f"{self!r}\nNo buttons without anywidget: type  g.guess = {self.choices[0]!r}")
            return
        self._widget = self._widget or guess.Buttons(self)
        display_bundle(repr(self), self._widget)

    def _refresh(self):
        if self._widget is not None:
            self._widget.refresh()


def _one_line(question):
    if not isinstance(question, str) or not question.strip():
        raise BadInput(f"a question is a text that is not empty, not {question!r}")
    return " ".join(question.split())


def _checked(choices):
    """The choices as a tuple of plain values."""
    if isinstance(choices, (str, bytes, dict, set, frozenset)) or not hasattr(choices, "__iter__"):
        raise BadInput(f"choices are a list of values, not {type(choices).__name__} {choices!r}")
    plain = tuple(_plain(choice) for choice in choices)
    if len(plain) < 2:
        raise BadInput(f"a prediction needs at least 2 choices, got {len(plain)}: {list(plain)}")
    for i, choice in enumerate(plain):
        if any(_same(choice, earlier) or str(choice) == str(earlier) for earlier in plain[:i]):
            raise BadInput(f"two choices are the same: {choice}")
    return plain


def _plain(value):
    """`value` with numpy's numbers and arrays made Python's, so that 384 prints as 384."""
    if isinstance(value, (np.generic, np.ndarray)):
        return _plain(value.tolist())
    if isinstance(value, (list, tuple)):
        return type(value)(_plain(part) for part in value) if type(value) in (list, tuple) else value
    return " ".join(value.split()) if isinstance(value, str) else value


def _same(a, b):
    """Equal; numbers to nine digits (0.1 + 0.2 is the choice 0.3). True is not 1, but [1, 2] is (1, 2)."""
    if isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)):
        return len(a) == len(b) and all(_same(x, y) for x, y in zip(a, b))
    if isinstance(a, bool) or isinstance(b, bool):
        return a is b
    if isinstance(a, (int, float)) and isinstance(b, (int, float)):
        return a == b or math.isclose(a, b, rel_tol=1e-9)
    return a == b
