"""`ringlab check FILE.py:function`: the judge in a terminal, exit code 0 when it passed and 1 when not."""

import json
import os

from ..algorithms import ALGORITHMS
from ..verdicts import BadInput
from .checking import WHATS, check
from .learnerfile import LearnerFunction


def add_arguments(parser):
    """The options of `ringlab check`."""
    parser.add_argument("function", metavar="FILE.py:function", help="what to judge; or one of our own, as ring")
    parser.add_argument(
        "--ranks",
        default="1,2,3,4,5,8",
        metavar="P,P,...",
        help="numbers of ranks (default: 1,2,3,4,5,8)",
    )
    parser.add_argument("--what", default="allreduce", choices=WHATS, help="what it must do (default: allreduce)")
    parser.add_argument("--at-most", metavar="NAME", choices=sorted(ALGORITHMS), help="pass only for the bytes of this")
    parser.add_argument("--wire", default="pipe", help="for the runs with numbers (default: pipe)")
    parser.add_argument("--hints", type=int, default=0, choices=range(4), metavar="0-3", help="show so many hints")
    parser.add_argument("--json", action="store_true", help="print the verdict as JSON, with its hints")


def command(options):
    """Judge, print, and give the exit code: 0 passed, 1 did not."""
    verdict = check(
        named(options.function),
        ranks=_numbers(options.ranks),
        what=options.what,
        at_most=options.at_most,
        wire=options.wire,
    )
    if options.json:
        print(json.dumps(verdict.to_dict(), indent=2, ensure_ascii=False))
        return 0 if verdict.passed else 1
    # in a terminal the next hint is asked for by another option than in a notebook
    asks = f"hints: add --hints 1, then 2, then 3 to `ringlab check {options.function}`"
    print("\n".join(asks if line.startswith("hints: ") else line for line in verdict.lines))
    hint = ""
    for _ in range(0 if verdict.passed else options.hints):
        hint = verdict.hint
    if hint:
        print(f"\n{hint}")
    return 0 if verdict.passed else 1


def named(text):
    """The function of 'FILE.py:function', or the name of one of our own; BadInput when there is none."""
    if text in ALGORITHMS:
        return ALGORITHMS[text]
    path, colon, name = text.rpartition(":")
    if not colon or not name.isidentifier():
        raise BadInput(f"{text!r} names no function", "write FILE.py:function, as in my_ring.py:my_ring")
    return LearnerFunction.read(os.path.abspath(path), name)


def _numbers(text):
    try:
        return [int(number) for number in text.split(",")]
    except ValueError:
        raise BadInput(f"--ranks {text!r} is no list of numbers", "write it as in --ranks 2,4,8") from None
