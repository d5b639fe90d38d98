"""A finding: one thing that is wrong, as data. What is said about it is made of it."""

from typing import NamedTuple


class Finding(NamedTuple):
    """What is wrong with a learner's code at one number of ranks.

    verdict: as in `ringlab.verdicts`, or NOT_WRITTEN, UNREAD, OVER_BOUND.  family: key of `words.FAMILIES`.
    text: the headline, without a full stop.  rank, round, chunk: where, as far as that makes sense.  line: of the
    learner's source, 0 when unknown.  where: the first hint, before its line of source is added.  fill: what stands in
    the {} of the family's sentences.  waiting: (rank, peer, chunk) of blocked ranks.  frames: (file, line, function) of
    the learner's own frames, when it raised.  details: what `Verdict.full` shows more.  error: the lab's error that
    says the same, if any.  size: the buffer in words, when it went wrong with numbers; run: that run, if it ended.
    """

    verdict: str
    family: str
    text: str
    rank: int | None = None
    round: int | None = None
    chunk: int | None = None
    line: int = 0
    where: str = ""
    fill: dict = {}  # noqa: RUF012  (a tuple's default, never changed)
    waiting: tuple = ()
    frames: tuple = ()
    details: tuple = ()
    error: object = None
    size: str = ""
    run: object = None
