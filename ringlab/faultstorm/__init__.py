"""`ringlab faultstorm`: throw faults at the lab, and check that each ends in one right verdict and nothing is left.

Its files:

    plan.py      which faults, where and when; a seed decides
    worker.py    plays them, in a process of its own, and writes a history
    watch.py     the watchdog outside: what hangs, and what is left behind
    history.py   the rules, and the check of a history against them
    leftovers.py what is left: processes, shared memory, files, listening sockets
    figures.py   how often, how long, how evenly
    command.py   the command line
"""
