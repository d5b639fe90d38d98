"""`rl.launch`: any program on every rank."""

import functools

from . import tracing
from .arguments import check_count, check_options
from .network import of
from .reports import Story
from .runs import MODES, emulation, to_program
from .sandbox import launch_virtual
from .ship import ship
from .source import name_of
from .supervise import Supervisor
from .verdicts import BadInput
from .warm import shared_world


class Returned(list):
    """The list of what each rank returned, with `.trace` and `.seconds` of the run."""

    def __init__(self, values, seconds, name, programs, dropped=0, clock="real"):
        super().__init__(values)
        self.seconds, self._clock = seconds, clock
        self._name, self._programs, self._dropped = name, programs, dropped

    @functools.cached_property
    def trace(self):
        """The Trace of this run; BadInput when it made more events than one holds."""
        if self._dropped:
            raise BadInput(
                f"this program made {self._dropped} more events than a trace holds", "look at one with fewer messages"
            )
        return tracing.build(None, self._programs(), algorithm=self._name, clock=self._clock)


def launch(program, ranks=4, wire="pipe", args=(), timeout=60.0, world=None, network=None, eager=None, progress=True):
    """Run `program(comm, *args)` on every rank; the list of what each returned, in rank order.

    comm: `ringlab.comm.Comm`, with rank, size, send, recv, allreduce, barrier, empty. A program may return None,
    numbers, text, bytes, arrays, and lists, tuples, dicts of these. timeout: longest time in seconds that a rank
    which others wait for may show no event. network, eager: a network, emulated on real wires, and above how many
    bytes a send waits for its receiver, as for `rl.run`. progress: show a bar when it takes long. Raises a
    `ringlab.verdicts.RinglabError` when a rank fails.
    """
    if not callable(program):
        raise BadInput(f"program is a {type(program).__name__}, not a function", "give f(comm)")
    ranks = check_count(ranks, virtual=wire == "virtual")
    check_options(wire, timeout)
    if wire == "virtual":
        network = of(network, eager).check(ranks)
        returned, programs, seconds = launch_virtual(program, args, ranks, network, timeout, world)
        return Returned(returned, seconds, name_of(program), lambda: programs, clock="virtual")
    world = world or shared_world(ranks)
    command = {"do": "launch", "function": ship((program, tuple(args))), "ranks": ranks, "mode": MODES[wire]}
    command |= emulation(network, eager, ranks)
    supervisor = Supervisor(world, ranks, timeout, Story(None, function=program), bar=progress)

    def commands(world):
        if wire == "shm":
            world.arena.make_room(ranks, 0)
        return [command] * ranks

    replies, _ = supervisor.call(commands)
    begin = min(reply["start"] for reply in replies)
    seconds = max(reply["end"] - reply["start"] for reply in replies) / 1e9
    events, dropped = zip(*supervisor.events, strict=True)
    return Returned(
        [reply["value"] for reply in replies],
        seconds,
        name_of(program),
        lambda: [to_program(mine, begin) for mine in events],
        sum(dropped),
    )
