"""An exception on a rank as plain data, for the kernel to tell: the learner's own lines, none of ours."""

import traceback

from . import source


def describe_exception(error):
    """What the kernel needs to know about an exception on a rank: plain text, the learner's own lines first."""
    if type(error).__name__ == "RankFailed":  # of a virtual run
        waits = [list(wait) for wait in error.waits.values()]
        return {**describe_exception(error.__cause__), "rank": error.rank, "events": error.events, "waits": waits}
    entries = traceback.extract_tb(error.__traceback__)
    own = [entry for entry in entries if not entry.filename.startswith(source.PACKAGE)]
    last = (own or entries or [None])[-1]
    return {
        "say": "raised",
        "type": type(error).__name__,
        "text": str(error),
        "line": last.lineno if last else 0,
        "where": last.name if last else "",
        "rank": None,
        "verdict": getattr(error, "verdict", None),
        "cycle": list(getattr(error, "cycle", ())),
        "waits": [list(wait) for wait in getattr(error, "waits", ())],
        "done": list(getattr(error, "done", ())),
        "shut": getattr(error, "shut", None),
        "peer": getattr(error, "peer", None),
        "detail": getattr(error, "detail", ""),
        "file": last.filename if last else "",
        "traceback": [line.rstrip() for entry in own for line in traceback.format_list([entry])],
    }
