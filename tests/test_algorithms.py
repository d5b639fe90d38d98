"""The rivals: right for any number of ranks and any size, on every wire, and doing what their heads promise."""

import ast
import inspect

import numpy as np
import pytest

import ringlab as rl
from ringlab import algorithms


def inputs_of(ranks, size):
    """Whole numbers that differ by rank and by place, so that a misplaced chunk shows."""
    return [np.arange(float(size)) * (rank + 1) + 1000 * rank for rank in range(ranks)]


@pytest.mark.parametrize("name", rl.ALGORITHMS)
@pytest.mark.parametrize("ranks", range(1, 17))
def test_every_rank_holds_the_sum(name, ranks):
    for size in sorted({0, 1, ranks - 1, ranks, ranks + 1, 50}):
        inputs = inputs_of(ranks, size)
        run = rl.run(name, inputs, wire="virtual")
        assert run.verdict is None
        for output in run.outputs:
            np.testing.assert_array_equal(output, sum(inputs))


@pytest.mark.parametrize("name", rl.ALGORITHMS)
@pytest.mark.parametrize("ranks", [3, 4])
def test_real_processes_do_the_same(name, ranks):
    inputs = inputs_of(ranks, 10)
    real, virtual = rl.run(name, inputs), rl.run(name, inputs, wire="virtual")
    for output in real.outputs:
        np.testing.assert_array_equal(output, sum(inputs))
    assert real.trace.provenance
    assert (real.messages, real.sent, real.received) == (virtual.messages, virtual.sent, virtual.received)
    assert [event[:8] for event in real.trace.events] == [event[:8] for event in virtual.trace.events]


@pytest.mark.parametrize("name", rl.ALGORITHMS)
def test_maximum_and_minimum(name):
    inputs = [np.roll(np.arange(7.0), rank) for rank in range(6)]
    for op, reduce in (("max", np.max), ("min", np.min)):
        run = rl.run(name, inputs, wire="virtual", op=op)
        for output in run.outputs:
            np.testing.assert_array_equal(output, reduce(inputs, axis=0))


@pytest.mark.parametrize("module", [m for m in vars(algorithms).values() if inspect.ismodule(m)], ids=str)
def test_an_algorithm_imports_nothing_and_says_what_it_does(module):
    tree = ast.parse(inspect.getsource(module))
    assert not [node for node in ast.walk(tree) if isinstance(node, (ast.Import, ast.ImportFrom))]
    assert "imports nothing" in ast.get_docstring(tree)
    functions = [getattr(module, node.name) for node in tree.body if isinstance(node, ast.FunctionDef)]
    assert functions
    for function in functions:
        if function is algorithms.double_tree.trees:
            continue
        assert list(inspect.signature(function).parameters)[:4] == ["chunks", "rank", "send", "recv"]
        assert isinstance(function.lends, bool)
        assert function.__doc__


@pytest.mark.parametrize(
    ("name", "rounds", "factor"),
    [
        ("star", 14, 7),
        ("tree", 6, 3),
        ("doubling", 3, 3),
        ("halving", 6, 1.75),
        ("ring", 14, 1.75),
        ("direct", 14, 1.75),
    ],
)
def test_rounds_and_bytes_at_8_ranks_are_those_of_the_table(name, rounds, factor):
    run = rl.run(name, ranks=8, size=8, wire="virtual")
    assert run.rounds == rounds
    assert max(run.sent) == factor * 64


@pytest.mark.parametrize("ranks", [1, 2, 3, 5, 8, 13])
def test_reduce_and_broadcast_are_operations_of_their_own(ranks):
    inputs = inputs_of(ranks, 2 * ranks + 1)
    for root in {0, ranks - 1}:

        def reduce_to(chunks, rank, send, recv, root=root):
            return rl.reduce(chunks, rank, send, recv, root)

        def broadcast_from(chunks, rank, send, recv, root=root):
            return rl.broadcast(chunks, rank, send, recv, root)

        np.testing.assert_array_equal(rl.run(reduce_to, inputs, wire="virtual").outputs[root], sum(inputs))
        for output in rl.run(broadcast_from, inputs, wire="virtual").outputs:
            np.testing.assert_array_equal(output, inputs[root])


@pytest.mark.parametrize(
    ("operation", "words"),
    [
        ("reduce", "one rank holds the sum"),
        ("broadcast", "every rank holds the same"),
        ("direct_reduce_scatter", "every chunk is complete on one rank"),
        ("direct_all_gather", "every rank holds every chunk"),
    ],
)
def test_an_operation_is_judged_by_what_it_promises(operation, words):
    run = rl.run(getattr(rl, operation), ranks=5, wire="virtual")
    assert run.verdict is None
    assert words in repr(run)


def test_a_broken_promise_is_a_verdict():
    def half_a_tree(chunks, rank, send, recv):
        if rank < 2:
            rl.reduce(chunks, rank, send, recv) if len(chunks) == 2 else None
        return chunks

    half_a_tree.postcondition = "reduce"
    assert rl.run(half_a_tree, ranks=4, wire="virtual").verdict.verdict == "WRONG_RESULT"
