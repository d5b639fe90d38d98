"""`rl.launch`: any program on every rank."""

from . import trace as traces
from .reports import Story
from .runs import MODES, check_options, to_program
from .ship import ship
from .source import file_of, name_of
from .supervise import Supervisor
from .verdicts import BadInput
from .world import check_ranks, shared_world


class Returned(list):
    """The list of what each rank returned, with `.trace` and `.seconds` of the run."""

    def __init__(self, values, trace, seconds):
        super().__init__(values)
        self.trace, self.seconds = trace, seconds


def launch(program, ranks=4, wire="pipe", args=(), timeout=60.0, world=None):
    """Run `program(comm, *args)` on every rank; the list of what each returned, in rank order.

    comm: `ringlab.comm.Comm`, with rank, size, send, recv, allreduce, barrier. A program may return None, numbers,
    text, bytes, arrays, and lists, tuples, dicts of these. timeout: longest time in seconds that a rank which others
    wait for may show no event. Raises a `ringlab.verdicts.RinglabError` when a rank fails.
    """
    if not callable(program):
        raise BadInput(f"program is a {type(program).__name__}, not a function", "give f(comm)")
    ranks = check_ranks(ranks)
    check_options(wire, timeout)
    if wire == "virtual":
        raise BadInput("launch needs real processes", "use wire='pipe'")
    world = world or shared_world(ranks)
    command = {"do": "launch", "function": ship((program, tuple(args))), "ranks": ranks, "mode": MODES[wire]}
    supervisor = Supervisor(world, ranks, timeout, Story(None, file_of(program)))
    replies, _ = supervisor.call([command] * ranks)
    begin = min(reply["start"] for reply in replies)
    programs = [to_program(events, begin) for events, _ in supervisor.events]
    trace = traces.build(None, programs, algorithm=name_of(program))
    seconds = max(reply["end"] - reply["start"] for reply in replies) / 1e9
    return Returned([reply["value"] for reply in replies], trace, seconds)
