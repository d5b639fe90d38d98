"""What a check of an exercise gives back."""


class Outcome:
    """passed: bool.  text: what is seen in the notebook; the same for everybody with the same answer."""

    def __init__(self, passed, text):
        self.passed, self.text = bool(passed), text

    def __bool__(self):
        return self.passed

    def __repr__(self):
        return self.text


def not_written(what):
    """The Outcome of a stub."""
    return Outcome(False, f"not written yet: {what}")
