"""`rl.run`: one all-reduce, from inputs to a `Run`."""

import functools

import numpy as np

from . import reports, source
from . import trace as traces
from .algorithms import ALGORITHMS
from .judgement import judge_outputs
from .probe import MAX_RANKS, run_probe
from .reduction import accumulate_dtype, buffer_of, check_array, check_op, result_of
from .ship import ship
from .supervise import Supervisor
from .verdicts import BadInput, Mismatch, RinglabError, WrongResult
from .world import check_ranks, shared_world

WIRES = ("pipe", "pipe-blocking", "virtual")
MODES = {"pipe": "buffered", "pipe-blocking": "blocking"}


class Run:
    """What one all-reduce did.

    outputs: list of P arrays with the shape and dtype of the inputs.  trace: what happened, event by event.
    verdict: None, or WrongResult when the outputs are not what the algorithm promises.  seconds: time of the slowest
    rank inside the collective (virtual on the virtual wire).  sent, received, messages: per rank bytes, bytes, sends.
    rounds: the run's end when every message takes one unit of time.
    """

    def __init__(self, algorithm, outputs, programs, probe, judged, seconds, wire, about, dropped=0):
        self.algorithm, self.wire, self.ranks = algorithm, wire, len(outputs)
        self.outputs, self.seconds = outputs, seconds
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
        return traces.build(self._probe, self._programs, algorithm=self.algorithm, **self._about)

    @property
    def rounds(self):
        """Rounds of the run: its end when every message takes one unit of time."""
        return self.trace.rounds

    def __repr__(self):
        ranks = f"{self.ranks} rank{'s' if self.ranks != 1 else ''}"
        text = f"{self.algorithm}, {ranks} over {self.wire}: {sum(self.messages)} messages, {sum(self.sent)} bytes"
        if self.sent and not self._dropped and any(self.messages) and not self._foretold():
            return f"{text}, {self.words} (terms unknown: it made other calls than its probe)"
        return f"{text}, {self.words}"

    def _foretold(self):
        return self._probe is None or self.trace.provenance


def example_inputs(ranks, size=8):
    """Rank r holds 10**r in every element (float64): 1111 means that everybody is in once."""
    return [np.full(size, 10.0**rank) for rank in range(ranks)]


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
    world=None,
):
    """Run one all-reduce between `ranks` processes (or virtual ranks) and return a `Run`.

    algorithm: a name from `rl.ALGORITHMS` or any function `f(chunks, rank, send, recv)`, also from a notebook cell.
    inputs: one array of numbers per rank, all of one shape and dtype; they are never changed. Without them rank r
    holds 10**r in `size` elements.  wire: "pipe", "pipe-blocking" (sends that wait while the pipe is full), "virtual".
    op: "sum", "mean", "max", "min".  network: a Network, on the virtual wire.  eager: sends above this many bytes
    wait for their receiver, on the virtual wire.  timeout: longest time in seconds that a rank which others wait for
    may show no event.  wraps: faults and other wrappers of `(send, recv)`.  wire_dtype, accumulate: dtypes in which
    messages travel and sums are formed (float32 by default for 16- and 8-bit floats).

    Raises a `ringlab.verdicts.RinglabError` when the call cannot finish. A wrong sum does not raise: see `run.verdict`.
    """
    function = resolve(algorithm)
    arrays = check_inputs(inputs, ranks, size, virtual=wire == "virtual")
    check_op(op)
    check_options(wire, timeout)
    ranks = len(arrays)
    dtype = accumulate_dtype(arrays[0].dtype, op, accumulate)
    buffers = [buffer_of(array, dtype) for array in arrays]
    play = _virtual if wire == "virtual" else _real
    if wire != "virtual" and (network is not None or eager is not None):
        raise BadInput(f"network= and eager= need wire='virtual', this is wire={wire!r}")
    returned, programs, probe, seconds, dropped = play(
        function,
        buffers,
        op,
        wire,
        timeout,
        wraps=wraps,
        wire_dtype=wire_dtype,
        world=world,
        network=network,
        eager=eager,
    )
    flat = [_flat_result(value, rank, buffers[rank].size) for rank, value in enumerate(returned)]
    outputs = [result_of(value, array.shape, array.dtype, op, ranks) for value, array in zip(flat, arrays, strict=True)]
    judged = judge_outputs(function, buffers, flat, op, probe, outputs)
    about = {"op": op, "values": _first_values(buffers, ranks), "source": source.source_of(function)}
    return Run(source.name_of(function), outputs, programs, probe, judged, seconds, wire, about, dropped)


def resolve(algorithm):
    """The function of a name or a callable, or BadInput."""
    if isinstance(algorithm, str):
        if algorithm not in ALGORITHMS:
            raise BadInput(
                f"algorithm {algorithm!r} is not known", f"use one of {', '.join(ALGORITHMS)}, or a function"
            )
        return ALGORITHMS[algorithm]
    if not callable(algorithm):
        raise BadInput(
            f"algorithm is a {type(algorithm).__name__}, not a function",
            "give f(chunks, rank, send, recv) or a name",
        )
    return algorithm


def check_inputs(inputs, ranks, size, virtual=False):
    """The inputs as arrays of one shape and dtype; BadInput or Mismatch else."""
    if inputs is None:
        if not hasattr(size, "__index__") or size < 0:
            raise BadInput(f"size={size!r} is no number of elements", "use a whole number from 0 up")
        inputs = example_inputs(_check_count(ranks, virtual), size)
    if isinstance(inputs, (str, bytes, dict)) or not hasattr(inputs, "__len__"):
        raise BadInput(f"inputs is a {type(inputs).__name__}", "give a list with one array per rank")
    arrays = [check_array(x, rank) for rank, x in enumerate(inputs)]
    _check_count(len(arrays), virtual)
    for rank, array in enumerate(arrays):
        for what, mine, first in (
            ("shape", array.shape, arrays[0].shape),
            ("dtype", array.dtype, arrays[0].dtype),
        ):
            if mine != first:
                raise Mismatch(
                    f"rank 0 came with {what} {first}, rank {rank} with {mine}",
                    "an all-reduce adds element by element: give every rank the same shape and dtype",
                    "no data was moved",
                    rank=rank,
                    peer=0,
                )
    return arrays


def _check_count(ranks, virtual):
    if not virtual:
        return check_ranks(ranks)
    if isinstance(ranks, bool) or not hasattr(ranks, "__index__") or not 1 <= ranks <= 1024:
        raise BadInput(f"ranks={ranks!r} is out of range", "the virtual wire takes 1 to 1024")
    return int(ranks)


def check_options(wire, timeout):
    """BadInput for an unknown wire or a timeout that is no positive number."""
    if wire not in WIRES:
        raise BadInput(f"wire={wire!r} is not known", f"use one of {', '.join(WIRES)}")
    if isinstance(timeout, bool) or not isinstance(timeout, (int, float)) or not timeout > 0:
        raise BadInput(f"timeout={timeout!r} is no time", "use seconds, a positive number")


@functools.lru_cache(256)
def _builtin_probe(function, ranks):
    return run_probe(function, ranks)


def probe_of(function, ranks, world=None):
    """The probe of `function` at `ranks`, or None when it cannot be made.

    Our own algorithms are probed here, once. Any other code is probed in a rank process, where it can do no harm; when
    that fails, the run itself will tell why.
    """
    if ranks > MAX_RANKS:
        return None
    if source.is_builtin(function):
        return _builtin_probe(function, ranks)
    world = world or shared_world(ranks)
    try:
        replies, _ = Supervisor(world, 1, timeout=1.0).call(
            [{"do": "probe", "function": ship(function), "ranks": ranks}]
        )
    except RinglabError:
        return None
    return replies[0]["value"]


def _real(function, buffers, op, wire, timeout, wraps, wire_dtype, world, network, eager):
    ranks = len(buffers)
    world = world or shared_world(ranks)
    probe = probe_of(function, ranks, world)
    command = {
        "do": "run",
        "function": ship(function),
        "wraps": ship(tuple(wraps)) if wraps else None,
        "ranks": ranks,
        "op": op,
        "wire_dtype": None if wire_dtype is None else str(np.dtype(wire_dtype)),
        "mode": MODES[wire],
    }
    commands = [
        {**command, "buffer": buffer, "starts": probe["starts"][rank] if probe else None}
        for rank, buffer in enumerate(buffers)
    ]
    supervisor = Supervisor(world, ranks, timeout, reports.Story(probe, source.file_of(function)))
    replies, _ = supervisor.call(commands)
    recorded = supervisor.events
    begin = min(reply["start"] for reply in replies)
    programs = [to_program(events, begin) for events, _ in recorded]
    seconds = max(reply["end"] - reply["start"] for reply in replies) / 1e9
    return [r["value"] for r in replies], programs, probe, seconds, sum(more for _, more in recorded)


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


def _virtual(function, buffers, op, wire, timeout, wraps, wire_dtype, world, network, eager):
    """Our own algorithms run here; any other function in a rank process, where it can do no harm."""
    from .network import ROUNDS
    from .simulate import additions, simulate

    network = network or ROUNDS
    network = network if eager is None else network._replace(eager=eager)
    ranks = len(buffers)
    probe = probe_of(function, ranks, world)
    options = {"op": op, "wire_dtype": wire_dtype and str(np.dtype(wire_dtype)), "adds": additions(probe)}
    if source.is_builtin(function) and not wraps:
        copies = [buffer.copy() for buffer in buffers]
        returned, programs, seconds = simulate(function, copies, network=network, **options)
    else:
        world = world or shared_world(1)
        things = ship((function, network, tuple(wraps)))
        command = {"do": "virtual", "function": things, "buffers": buffers, **options}
        replies, _ = Supervisor(world, 1, timeout, reports.Story(probe, source.file_of(function))).call([command])
        returned, programs, seconds = replies[0]["value"]
    return returned, programs, probe, seconds, 0


def _flat_result(value, rank, size):
    if isinstance(value, dict):
        raise WrongResult(
            f"rank {rank} returned {value['returned']}, not its chunks",
            "an all-reduce returns `chunks`: end the function with `return chunks`",
            rank=rank,
        )
    return value


def _first_values(buffers, ranks):
    """values[r][c]: the first element of chunk c on rank r, for drawing; None when there are no plain numbers."""
    if buffers[0].size < ranks or buffers[0].dtype.kind not in "iuf" or ranks > MAX_RANKS:
        return None
    from .chunks import bounds

    offsets = bounds(buffers[0].size, ranks)[:-1]
    return [[float(buffer[offset]) for offset in offsets] for buffer in buffers]
