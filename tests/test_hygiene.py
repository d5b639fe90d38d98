"""What a learner's code changed in its ranks is gone at the next call, and edited modules are read again."""

import os

import numpy as np
import pytest

import ringlab as rl
from ringlab import hygiene
from ringlab.remarks import Overflow

CHANGES = {
    "working directory": "import os; os.chdir('/')",
    "environment": "import os; os.environ['RINGLAB_TEST_DIRT'] = '1'",
    "numpy's error state": "import numpy; numpy.seterr(all='raise')",
    "signal handlers": "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN)",
    "threads": "import threading; threading.Thread(target=threading.Event().wait, daemon=True).start()",
    "module search path": "import sys; sys.path.append('/nowhere')",
    "numpy": "import numpy; numpy.add = max",
    "built-ins": "import builtins; builtins.ascii = repr",
}


@pytest.mark.parametrize("what", CHANGES)
def test_ranks_that_learner_code_changed_are_replaced(what):
    code = CHANGES[what]

    def dirty(comm):
        exec(code)
        return os.getpid()

    def clean(comm):
        return os.getpid()

    with rl.World(ranks=1) as world:
        first = world.launch(clean)
        assert world.launch(clean) == first, "a clean call keeps its ranks"
        assert world.launch(dirty) == first
        assert world.launch(clean) != first


def test_each_change_is_named():
    before = {"a": 1, "b": 2}
    assert hygiene.changed(before, {"a": 1, "b": 3}) == ["b"]
    assert set(CHANGES) == set(hygiene.state())


def test_an_edited_module_is_read_again(tmp_path, monkeypatch):
    path = tmp_path / "my_lesson_module.py"
    path.write_text("FACTOR = 2\n")
    monkeypatch.syspath_prepend(str(tmp_path))

    def scaled(comm):
        import my_lesson_module

        return my_lesson_module.FACTOR

    with rl.World(ranks=2) as world:
        assert world.launch(scaled) == [2, 2]
        path.write_text("FACTOR = 30\n")
        os.utime(path, ns=(1, 1))  # the edit shows even when clocks are coarse
        assert world.launch(scaled) == [30, 30]


def test_numpy_error_state_of_one_call_does_not_reach_the_next():
    def strict(chunks, rank, send, recv):
        np.seterr(over="raise")
        return rl.ring_allreduce(chunks, rank, send, recv)

    rl.run(strict)
    big = [np.full(4, 3e38, np.float32)] * 2
    with pytest.warns(Overflow):
        assert np.isinf(rl.run("ring", big).outputs[0]).all()
