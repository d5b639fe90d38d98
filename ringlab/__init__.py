"""A ring all-reduce you can watch.

    import numpy as np, ringlab as rl
    run = rl.run(rl.ring_allreduce)      # four real processes; rank r holds 10**r
    print(run)                           # ring_allreduce, 4 ranks over pipe: 24 messages, 384 bytes, every rank ...
    print(run.trace.table(round=1))      # who sent what to whom
    rl.show(run)                         # watch it

Importing this costs numpy and no more: everything else loads when it is first used.
"""

import importlib

from . import algorithms, bugs

__version__ = "0.1.0"

# name -> where it lives; the order is that of the lessons
_LAZY = {
    "run": "runs",
    "Run": "runs",
    "show": "views.player",
    "live": "views.live",
    "timeline": "views.timeline",
    "explore": "views.explorer",
    "wall": "views.bricks",
    "predict": "classroom",
    "claims": "classroom",
    "check": "judge.checking",
    "launch": "programs",
    "World": "world",
    "close": "world",
    "load": "trace",
    "Network": "network",
    "hang": "exercises.deadlock",
    "wait_graph": "views.waitgraph",
    "skyline": "views.figures",
    "link_map": "views.figures",
    "measure": "measuring",
    "read_nccl": "nccl",
    "A100": "nccl",
    "forecast": "forecasting",
    "curves": "views.curves",
    "compare": "comparison",
    "winners": "comparison",
    "card": "cards",
    "sum_tree": "views.drift",
    "ulp_map": "views.drift",
    "drift_curves": "views.drift",
}
_MODULES = (
    "faults",
    "verdicts",
    "training",
    "buckets",
    "overlap",
    "scaling",
    "sharding",
    "cost",
    "bench",
    "numerics",
    "exercises",
)

__all__ = [  # noqa: PLE0604  (the names of _LAZY and _MODULES are strings)
    *algorithms.__all__,
    "bugs",
    *_LAZY,
    *_MODULES,
]


def __getattr__(name):
    if name in algorithms.__all__:
        value = getattr(algorithms, name)
    elif name in _LAZY:
        value = getattr(importlib.import_module(f".{_LAZY[name]}", __name__), name)
    elif name in _MODULES:
        value = importlib.import_module(f".{name}", __name__)
    else:
        raise AttributeError(f"module 'ringlab' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__():
    return sorted([*globals(), *__all__])
