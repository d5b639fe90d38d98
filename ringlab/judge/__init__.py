"""The judge: `rl.check` says whether your all-reduce is right, and if not, where it goes wrong first.

    observe.py    runs the learner's code on marks, in a rank process: who sent whose gradient to whom, until when
    seen.py       that observation as steps: what each message carried, what each chunk held before and after
    faults.py     what is wrong at the end, and the first step that made it so
    ringlike.py   the same in the words of the ring, when the code sends round a ring
    endings.py    code that did not get to its end: blocked, raised, left early, returned something else
    data.py       the learner's code on real processes, with numbers that tell whose they are
    grades.py     messages, bytes, rounds, ports: counted, never timed
    words.py      the sentences: what is wrong with it, how to mend it
    verdict.py    what a learner gets back
    checking.py   `check`: first the marks, then real processes

Learner code runs on the ranks only, never in the kernel.
"""
