"""The process that plays a storm: reads injections from standard input, writes its history to standard output."""

import contextlib
import io
import json
import os
import sys
import time

import numpy as np

from .. import faults
from ..algorithms import ring_allreduce
from ..verdicts import RinglabError
from ..world import World
from .plan import AT_SEND, Injection


def main():
    """Play the injections of standard input, one JSON list per line."""
    start = sys.argv[1] if len(sys.argv) > 1 else "spawn"
    history = os.fdopen(os.dup(1), "w", buffering=1)
    worlds = {}
    for line in sys.stdin:
        play(Injection(*json.loads(line)), worlds, history, start)
    for world in worlds.values():
        world.close()


def play(injection, worlds, history, start="spawn"):
    """One call with the fault, one without, both written to `history`."""
    key = injection.ranks, injection.wire
    if key not in worlds:
        worlds[key] = World(injection.ranks, injection.wire, start=start)
    world = worlds[key]
    inputs = distinct(injection)
    expected = inputs[0] * 0
    for x in inputs:
        expected = expected + x
    if injection.kind == "between":
        world.ready()[injection.rank].process.kill()
    for call in ("faulty", "clean"):
        write(history, what="call", n=injection.number, call=call, injection=injection._asdict())
        wraps = fault_of(injection) if call == "faulty" else []
        write(history, n=injection.number, call=call, **ended(world, inputs, expected, wraps, injection.timeout, call))


def ended(world, inputs, expected, wraps, timeout, call):
    """How one call ended: the fields of a history's "end"."""
    begin, printed, error, right = time.perf_counter_ns(), io.StringIO(), None, False
    try:
        with contextlib.redirect_stdout(printed):
            limit = timeout if call == "faulty" else 60.0
            run = world.run(ring_allreduce, inputs, wraps=wraps, timeout=limit)
        right = all(np.array_equal(out, expected) for out in run.outputs)
    except RinglabError as caught:
        error = caught
    end = time.perf_counter_ns()
    struck = [int(text.split()[-1]) for text in printed.getvalue().splitlines() if " struck " in text]
    return {
        "what": "end",
        "verdict": error and error.verdict,
        "text": str(error) if error else "",
        "right": right,
        "rank": getattr(error, "rank", None),
        "round": getattr(error, "round", None),
        "call_number": world.calls,
        "world": f"{world.wire} {world.size} of {os.getpid()}",
        "descriptors": _descriptors() if call == "clean" else None,
        "seconds": (end - begin) / 1e9,
        "latency": (end - min(struck)) / 1e9 if struck and error else None,
    }


def _descriptors():
    return len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc") else None


def distinct(injection):
    """Whole numbers in which every rank and every element differs, so that no wrong sum looks right."""
    n = injection.elements
    return [np.arange(n) * injection.ranks + rank + injection.number % 997 for rank in range(injection.ranks)]


def fault_of(injection):
    """The wraps for an injection; the rank prints when the fault struck."""
    kind, rank, round = injection.kind, injection.rank, injection.round
    if kind == "between":
        return []
    if kind == "two":
        both = [faults.crash(who, round) for who in (rank, injection.second)]
        return [_telling(fault.at(injection.place)) for fault in both]
    if kind == "exit":
        return [_telling(faults.Fault("exit", rank, round, _exit).at(injection.place))]
    if kind == "delay":
        return [faults.delay(rank, round, seconds=0.01).at(injection.place)]
    fault = getattr(faults, kind)(rank, round)
    return [fault if kind in AT_SEND else _telling(fault.at(injection.place))]


def _exit(clock):
    sys.exit(3)


def _telling(fault):
    strike = fault.strike

    def tell_and_strike(clock, **arguments):
        print("struck", time.perf_counter_ns())
        strike(clock, **arguments)

    fault.strike = tell_and_strike
    return fault


def write(history, **fields):
    """One line of the history."""
    history.write(json.dumps(fields) + "\n")
    history.flush()


if __name__ == "__main__":
    main()
