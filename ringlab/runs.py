"""`rl.run`: one all-reduce, from inputs to a `Run`."""

import contextlib
import functools
import itertools

from . import aftermath, remarks, reports, source, tracing
from .arguments import check_inputs, check_options, resolve
from .dtypes import name_of
from .judgement import judge_outputs
from .network import of
from .probe import MAX_RANKS, run_probe
from .reduction import accumulate_dtype, buffer_of, check_op, result_dtype, result_of, same_kind
from .ship import ship
from .supervise import Supervisor
from .texts import plural
from .verdicts import BadInput, RinglabError, WrongResult
from .warm import shared_world

MODES = {"pipe": "buffered", "shm": "lending", "pipe-blocking": "blocking"}


class Run:
    """What one all-reduce did.

    outputs: list of P arrays with the shape and dtype of the inputs.  trace: what happened, event by event.
    verdict: None, or WrongResult when the outputs are not what the algorithm promises.  seconds: time of the slowest
    rank inside the collective (virtual on the virtual wire).  sent, received, messages: per rank bytes, bytes, sends.
    rounds: the run's end when every message takes one unit of time.  accumulate, wire_dtype: the dtypes in which sums
    were formed and messages travelled.
    """

    def __init__(
        self, algorithm, outputs, programs, probe, judged, seconds, wire, about, dropped=0, network=None, dtypes=None
    ):
        self.accumulate, self.wire_dtype = dtypes or (outputs[0].dtype,) * 2
        self.algorithm, self.wire, self.ranks = algorithm, wire, len(outputs)
        self.outputs, self.seconds, self.network = outputs, seconds, network
        self.words, self.verdict = judged
        self._programs, self._probe, self._about, self._dropped = programs, probe, about, dropped
        self.sent = tuple(sum(e[3] for e in program if e[0] == 0) for program in programs)
        self.received = tuple(sum(e[3] for e in program if e[0] == 1) for program in programs)
        self.messages = tuple(sum(e[0] == 0 for e in program) for program in programs)

    @functools.cached_property
    def trace(self):
        """The Trace of this run."""
        if self._dropped:
            raise BadInput(
                f"this run made {self._dropped} more events than a trace holds",
                "look at a run with fewer messages",
            )
        return tracing.build(self._probe, self._programs, algorithm=self.algorithm, **self._about)

    @property
    def rounds(self):
        """Rounds of the run: its end when every message takes one unit of time."""
        return self.trace.rounds

    def __repr__(self):
        ranks = plural(self.ranks, "rank")
        text = f"{self.algorithm}, {ranks} over {self.wire}{self._model()}: "
        text += f"{sum(self.messages)} messages, {sum(self.sent)} bytes"
        if self.sent and not self._dropped and any(self.messages) and not self._foretold():
            return f"{text}, {self.words} (terms unknown: it made other calls than its probe)"
        return f"{text}, {self.words}"

    def _model(self):
        """What of the network is no machine of ours."""
        if self.network is None:
            return ""
        what = "model only" if self.wire == "virtual" else "emulated network"
        if self.network.name:
            return f" ({self.network.name}, {what})"
        return "" if self.wire == "virtual" else f" ({what})"

    def _foretold(self):
        return self._probe is None or self.trace.provenance


def run(
    algorithm,
    inputs=None,
    ranks=4,
    size=8,
    wire="pipe",
    op="sum",
    network=None,
    eager=None,
    timeout=10.0,
    wraps=(),
    wire_dtype=None,
    accumulate=None,
    adopt=True,
    world=None,
):
    """Run one all-reduce between `ranks` processes (or virtual ranks) and return a `Run`.

    algorithm: a name from `rl.ALGORITHMS` or any function `f(chunks, rank, send, recv)`, also from a notebook cell.
    inputs: one array of numbers per rank, all of one shape and dtype; they are never changed. Without them rank r
    holds 10**r in `size` elements.  wire: "pipe", "shm" (shared memory: built-in algorithms lend instead of copying),
    "pipe-blocking" (sends that wait while the pipe is full), "virtual".
    op: "sum", "mean", "max", "min".  network: a Network: simulated on the virtual wire, on real ones its delays are
    emulated.  eager: sends above this many bytes wait for their receiver (0: all with a byte in them; None: none).
    timeout: longest time in seconds that a rank which others wait for may show no event.  wraps: faults and other
    wrappers of `(send, recv)`.  accumulate: dtype in which sums are formed (by default float32 for 16- and 8-bit
    floats, else the inputs' own).  wire_dtype: dtype in which messages travel (by default that of the sums).  adopt:
    when that is narrower, a sender keeps what its receivers see; without it replicas differ.

    Raises a `ringlab.verdicts.RinglabError` when the call cannot finish; its `trace` is what happened until then. A
    wrong sum does not raise: see `run.verdict`.
    """
    function = resolve(algorithm)
    arrays = check_inputs(inputs, ranks, size, virtual=wire == "virtual")
    check_op(op)
    check_options(wire, timeout)
    ranks = len(arrays)
    dtype = accumulate_dtype(arrays[0].dtype, op, accumulate)
    travels = dtype if wire_dtype is None else same_kind(dtype, wire_dtype, "wire_dtype")
    remarks.on_options(dtype, accumulate_dtype(arrays[0].dtype, op))
    buffers = [buffer_of(array, dtype) for array in arrays]
    values = _first_values(buffers, ranks, pieces_of(function))
    clock = "virtual" if wire == "virtual" else "real"
    play = _virtual if wire == "virtual" else _real
    try:
        returned, programs, probe, seconds, dropped = play(
            function,
            buffers,
            op,
            wire,
            timeout,
            wraps=wraps,
            wire_dtype=None if travels == dtype else name_of(travels),
            adopt=adopt,
            world=world,
            network=network,
            eager=eager,
        )
    except RinglabError as error:
        aftermath.keep(error, function, ranks, op=op, values=values, clock=clock)
        raise
    flat = [_flat_result(value, rank, buffers[rank].size) for rank, value in enumerate(returned)]
    ends = result_dtype(arrays[0].dtype, dtype, accumulate is not None, op)
    outputs = [result_of(value, array.shape, ends, op, ranks) for value, array in zip(flat, arrays, strict=True)]
    words, verdict = judge_outputs(function, buffers, flat, op, probe, travels)
    lost = remarks.on_numbers(arrays, outputs, flat, op, dtype, travels)
    judged = (f"{words} ({'; '.join(lost)})" if lost else words), verdict
    dtypes = dtype, travels
    about = {"op": op, "values": values, "source": source.source_of(function), "clock": clock}
    return Run(
        source.name_of(function), outputs, programs, probe, judged, seconds, wire, about, dropped, network, dtypes
    )


@functools.lru_cache(256)
def _builtin_probe(function, ranks):
    return run_probe(function, ranks)


_known: dict = {}  # (id of a function, ranks) -> its probe, while somebody holds it


@contextlib.contextmanager
def knowing(function, probe):
    """Within this, the function's probe at `probe["ranks"]` ranks is as given, and not made again for each run."""
    key = id(function), probe["ranks"]
    _known[key] = probe
    try:
        yield
    finally:
        _known.pop(key, None)


def probe_of(function, ranks, world=None):
    """The probe of `function` at `ranks`, or None when it cannot be made.

    Our own algorithms are probed here, once. Any other code is probed in a rank process, where it can do no harm; when
    that fails, the run itself will tell why.
    """
    if ranks * pieces_of(function) > MAX_RANKS:
        return None
    if source.is_builtin(function):
        return _builtin_probe(function, ranks)
    if (id(function), ranks) in _known:
        return _known[id(function), ranks]
    world = world or shared_world(1)
    try:
        replies, _ = Supervisor(world, 1, timeout=1.0).call(
            [{"do": "probe", "function": ship(function), "ranks": ranks}]
        )
    except RinglabError:
        return None
    return replies[0]["value"]


def _real(function, buffers, op, wire, timeout, wraps, wire_dtype, adopt, world, network, eager):
    ranks = len(buffers)
    world = world or shared_world(ranks)
    probe = probe_of(function, ranks, world)
    command = {
        "do": "run",
        "function": ship(function),
        "wraps": ship(tuple(wraps)) if wraps else None,
        "ranks": ranks,
        "op": op,
        "wire_dtype": wire_dtype,
        "adopt": adopt,
        "mode": MODES[wire],
    }
    emulated = emulation(network, eager, ranks)
    command |= emulated
    if wire == "shm":
        command["lends"] = not wraps and wire_dtype is None and not any(emulated.values()) and source.lends(function)

    def commands(world):
        lying = world.arena.lay_out(buffers) if wire == "shm" else [{"buffer": buffer} for buffer in buffers]
        return [
            {**command, **where, "starts": probe["starts"][rank] if probe else None} for rank, where in enumerate(lying)
        ]

    def collect(world, replies):
        for rank, reply in enumerate(replies):
            if isinstance(reply["value"], str):  # the buffer of its region
                reply["value"] = world.arena.pick_up(rank, buffers[rank])

    supervisor = Supervisor(world, ranks, timeout, reports.Story(probe, function=function))
    try:
        replies, _ = supervisor.call(commands, collect)
    except RinglabError as error:
        if supervisor.events:
            begin = min((int(events["start"][0]) for events, _ in supervisor.events if len(events)), default=0)
            error.left = probe, [to_program(events, begin) for events, _ in supervisor.events]
        raise
    recorded = supervisor.events
    begin = min(reply["start"] for reply in replies)
    programs = [to_program(events, begin) for events, _ in recorded]
    seconds = max(reply["end"] - reply["start"] for reply in replies) / 1e9
    return [r["value"] for r in replies], programs, probe, seconds, sum(more for _, more in recorded)


def emulation(network, eager, ranks):
    """What a rank must know to emulate a network's delays and its limit for sends that do not wait."""
    if network is None and eager is None:
        return {"network": None, "eager": None}
    whole = of(network, eager).check(ranks)
    for field in ("blocked", "nat", "off"):
        if getattr(whole, field):
            raise BadInput(f"network.{field} works on the virtual wire only", "use wire='virtual', or leave it out")
    return {"network": ship(whole) if network is not None else None, "eager": whole.eager}


def to_program(events, begin):
    """Recorded events as (kind, peer, line, nbytes, start, end), times in seconds since `begin` (nanoseconds)."""
    return [
        (
            int(e["kind"]),
            int(e["peer"]),
            int(e["line"]),
            int(e["nbytes"]),
            (e["start"] - begin) / 1e9,
            (e["end"] - begin) / 1e9,
        )
        for e in events
    ]


def _virtual(function, buffers, op, wire, timeout, wraps, wire_dtype, adopt, world, network, eager):
    from .sandbox import run_virtual

    network = of(network, eager).check(len(buffers))
    probe = probe_of(function, len(buffers), world)
    options = {"op": op, "wire_dtype": wire_dtype, "adopt": adopt}
    ran = run_virtual(function, buffers, network, probe, timeout, wraps, world, **options)
    returned, programs, seconds = ran
    return returned, programs, probe, seconds, 0


def _flat_result(value, rank, size):
    if isinstance(value, dict):
        raise WrongResult(
            f"rank {rank} returned {value['returned']}, not its chunks",
            "an all-reduce returns `chunks`: end the function with `return chunks`",
            rank=rank,
        )
    return value


def pieces_of(function):
    """Into how many pieces an algorithm cuts its chunks; its trace follows the pieces."""
    return getattr(function, "pieces", 1)


def _first_values(buffers, ranks, pieces):
    """values[r][c]: the first element of chunk c on rank r, for drawing; None when there are no plain numbers."""
    if buffers[0].size < ranks * pieces or buffers[0].dtype.kind not in "iuf" or ranks > MAX_RANKS:
        return None
    from .chunks import bounds

    edges = bounds(buffers[0].size, ranks)
    offsets = [low - -(high - low) * k // pieces for low, high in itertools.pairwise(edges) for k in range(pieces)]
    return [[float(buffer[offset]) for offset in offsets] for buffer in buffers]
