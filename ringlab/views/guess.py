"""The buttons of `rl.predict` and the questions of `rl.claims`, as widgets.

Imported only when one is shown (anywidget takes a third of a second). The widgets hold texts and numbers, no
learner's values; `classroom` decides what they mean. Their plain form is given by `frontend.bundle`.
"""

import traitlets

from .widget import HERE, Widget, text_of, with_hearing


class Buttons(Widget):
    """One question, one button per choice. The front end sets `clicked`; the rest is set here."""

    _esm = with_hearing(text_of("guess.js"))
    _css = HERE / "guess.css"
    question = traitlets.Unicode().tag(sync=True)
    labels = traitlets.List(traitlets.Unicode()).tag(sync=True)
    clicked = traitlets.Int(-1).tag(sync=True)  # which button, by the front end
    guess = traitlets.Int(-1).tag(sync=True)  # which choice is locked
    right = traitlets.Int(-1).tag(sync=True)  # which choice is the answer
    answer = traitlets.Unicode("").tag(sync=True)  # its text, empty until revealed

    def __init__(self, prediction):
        super().__init__(question=prediction.question, labels=list(prediction.labels))
        self._prediction = prediction
        self.refresh()
        self.observe(lambda change: prediction.choose(change["new"]), "clicked")

    def __repr__(self):
        return f"Buttons({self.question!r})"

    def refresh(self):
        """Take over what the prediction knows."""
        asked = self._prediction
        with self.hold_sync():
            self.guess, self.right = (-1 if i is None else i for i in (asked.guessed, asked.right))
            self.answer = asked.answer or ""


class Questions(Widget):
    """Several questions with the same answers, each a group of radio buttons. The front end sets `picked`."""

    _esm = with_hearing(text_of("questions.js"))
    _css = HERE / "guess.css"
    title = traitlets.Unicode().tag(sync=True)
    texts = traitlets.List(traitlets.Unicode()).tag(sync=True)
    choices = traitlets.List(traitlets.Unicode()).tag(sync=True)
    picked = traitlets.List(traitlets.Int()).tag(sync=True)  # per question, which choice; -1: none yet
    note = traitlets.Unicode("").tag(sync=True)

    def __init__(self, survey, texts, choices):
        self._survey = survey
        super().__init__(title=repr(survey).split("\n")[0], texts=list(texts), choices=list(choices))
        self.refresh()
        self.observe(self._take, "picked")

    def __repr__(self):
        return f"Questions({self.title!r})"

    def _take(self, change):
        for number, index in enumerate(change["new"], 1):
            if 0 <= index < len(self.choices) and self._survey.given(number) != self.choices[index]:
                self._survey.answer(number, self.choices[index])

    def refresh(self):
        """Take over what the survey knows."""
        given = [self._survey.given(number) for number in range(1, len(self.texts) + 1)]
        with self.hold_sync():
            self.picked = [self.choices.index(answer) if answer else -1 for answer in given]
            self.note = self._survey.note
