"""Where a virtual run happens: our own algorithms in this process, any other code in a rank process.

An endless loop or `os._exit` in a learner's code must not touch the kernel; in a rank process it gets the same
verdicts as on real wires.
"""

import numpy as np

from . import reports, source
from .exceptions import describe_exception
from .progress import Progress
from .ship import ship
from .simulate import simulate
from .supervise import Supervisor
from .verdicts import Deadlock, Interrupted
from .warm import shared_world
from .wires.virtual import RankFailed


def run_virtual(function, buffers, network, probe, timeout, wraps=(), world=None, **options):
    """(what each rank returned, events per rank, virtual seconds of the slowest rank) of one virtual all-reduce."""
    story = reports.Story(probe, function=function)
    if source.is_builtin(function) and not wraps:
        return _run_here(function, [buffer.copy() for buffer in buffers], network, story, options)
    command = {
        "do": "virtual",
        "function": ship((function, network, tuple(wraps))),
        "buffers": buffers,
        "starts": probe and probe["starts"],
        **options,
    }
    supervisor = Supervisor(world or shared_world(1), 1, timeout, story, virtual=len(buffers))
    return _there(supervisor, command)


def launch_virtual(program, args, ranks, network, timeout, world=None):
    """The same for `program(comm, *args)` on every rank."""
    command = {"do": "virtual-launch", "function": ship((program, network, tuple(args))), "ranks": ranks}
    story = reports.Story(None, function=program)
    return _there(Supervisor(world or shared_world(1), 1, timeout, story, virtual=ranks), command)


def _there(supervisor, command):
    (reply,), _ = supervisor.call([command])
    if isinstance(reply["value"], dict):
        verdict = reports.failed(reply["value"]["failed"], supervisor.story, supervisor.seconds)
        verdict.left = supervisor.story.probe, [unpack(program) for program in reply["value"]["programs"]]
        raise verdict
    returned, packed, seconds = reply["value"]
    return returned, [unpack(program) for program in packed], seconds


def _run_here(function, buffers, network, story, options):
    with Progress(f"{story.name} on {len(buffers)} virtual ranks", story.messages) as progress:
        try:
            returned, wire = simulate(
                function, buffers, network=network, lines="ours", on_progress=progress.reach, **options
            )
        except (Deadlock, RankFailed) as error:
            verdict = reports.failed(describe_exception(error), story)
            verdict.left = story.probe, error.programs
            raise verdict from error.__cause__
        except KeyboardInterrupt:
            raise Interrupted("the call was given up; your inputs are unchanged") from None
    return returned, wire.events, max(wire.now)


def pack(program):
    """A rank's events as arrays, for the way to the kernel; as they are where the times are exact fractions."""
    times = [time for event in program for time in event[4:]]
    if any(type(time) not in (int, float) for time in times):
        return [list(event) for event in program]
    whole = all(type(time) is int for time in times)
    return [
        np.array([event[:4] for event in program], np.int64).reshape(-1, 4),
        np.array(times, np.int64 if whole else np.float64).reshape(-1, 2),
    ]


def unpack(packed):
    """The events of `pack`, as tuples."""
    if len(packed) == 2 and isinstance(packed[0], np.ndarray):
        return [(*what, *when) for what, when in zip(packed[0].tolist(), packed[1].tolist(), strict=True)]
    return [tuple(event) for event in packed]
