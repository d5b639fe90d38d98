"""Asking a learner's function many questions, on a rank: in the kernel it could hang or end the notebook."""

import inspect
from typing import NamedTuple

import numpy as np

from ..programs import launch
from ..verdicts import RankException, RinglabError
from .outcome import Outcome


class Raised(NamedTuple):
    """The answer of a function that raised: what, and at which line of its source."""

    text: str
    line: int


def ask(function, questions, timeout=10.0):
    """The answers of `function(*question)` to all questions, in order, or an Outcome that says why there are none.

    An answer is a plain number, text, bool, None, or a tuple or list of these; Raised where it raised (then the last
    answer); the name of its type, in brackets, for anything else.
    """
    try:
        inspect.signature(function).bind(*questions[0])
    except TypeError:
        name = getattr(function, "__name__", "your function")
        asked = ", ".join(map(str, questions[0]))
        return Outcome(False, f"not right yet: it is called as {name}({asked}) and does not take that")
    try:
        (told,) = launch(_tell, ranks=1, args=(function, questions), timeout=timeout)
    except RankException as error:
        return Outcome(False, f"not right yet: {error.lines[0]}")
    except RinglabError as error:
        return Outcome(False, f"not right yet: {error.verdict}: {error.lines[0]}")
    return [Raised(*answer["raised"]) if isinstance(answer, dict) else answer for answer in told]


def _tell(comm, function, questions):
    """On the rank: the answers as plain data."""
    answers = []
    for question in questions:
        try:
            answers.append(_plain(function(*question)))
        except Exception as error:
            last = error.__traceback__
            while last.tb_next is not None:
                last = last.tb_next
            answers.append({"raised": (f"{type(error).__name__}: {error}", last.tb_lineno)})
            break
    return answers


def _plain(answer):
    if isinstance(answer, np.generic) or (isinstance(answer, np.ndarray) and answer.ndim == 0):
        answer = answer.item()
    if answer is NotImplemented or answer is None:
        return None
    if isinstance(answer, (bool, int, float, str)):
        return answer
    if isinstance(answer, (list, tuple)):
        return [_plain(part) for part in answer]
    return f"<{type(answer).__name__}>"
