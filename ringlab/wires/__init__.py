"""Wires: what an algorithm's `send` and `recv` are made of.

A wire gives each rank the pair `(send, recv)` and promises:

* `send(x, dst)` does not wait for the receiver and has taken a copy of `x` when it returns;
* `recv(src)` waits for the next message from that rank, in the order in which it was sent;
* any size from 0 bytes up, any number of ranks from 1 up;
* nothing is left behind when it is closed.

Shared memory may bend the first promise for algorithms that declare that they `lend`: they leave what they have sent
alone until it must have been read, so their arrays need no copy (`shm.py`).

`x` is an array, or a list of arrays that travels and counts as one message. Because `recv` names its source, what a
program computes does not depend on scheduling, and neither does its trace, times aside.
"""

from collections.abc import Callable
from typing import Any

Send = Callable[[Any, int], None]
Recv = Callable[[int], Any]
