"""`sharded_step(comm, params, grad, state)`: a step of gradient descent with momentum, its state cut up between ranks.

It returns (the new params, the new state). Judged on real ranks over several steps: the weights are those of plain data
parallelism, each rank keeps a P-th of the velocity, and all ranks together send no more than one all-reduce does.
"""

import numpy as np

from .outcome import Outcome, not_written
from .playing import play, takes

RATE, MOMENTUM, STEPS, LENGTHS = 0.1, 0.9, 3, {4: 24, 3: 10, 2: 7}


def gradient(rank, step, length):
    """Whole numbers that differ by rank, step and place."""
    return np.array([(5 * i + 7 * rank + 3 * step) % 11 - 4 for i in range(length)], float)


def expected(ranks, length):
    """The weights after every step of plain data parallelism."""
    params, velocity, found = np.arange(length) / 8, np.zeros(length), []
    for step in range(STEPS):
        velocity = MOMENTUM * velocity + sum(gradient(rank, step, length) for rank in range(ranks)) / ranks
        params = params - RATE * velocity
        found.append(params)
    return found


def _case(comm, sharded_step, length):
    params, state, found = np.arange(length) / 8, 0.0, []
    for step in range(STEPS):
        answer = sharded_step(comm, params, gradient(comm.rank, step, length), state)
        if answer is None or answer is NotImplemented:
            return None
        if not isinstance(answer, (tuple, list)) or len(answer) != 2 or not isinstance(answer[0], np.ndarray):
            return f"{type(answer).__name__}"
        params, state = answer
        found.append([params.astype(float), int(np.size(state))])
    return found


def check(sharded_step):
    """An Outcome: the right weights on every rank, a P-th of the state, the bytes of one all-reduce."""
    wrong = takes(sharded_step, "comm", "params", "grad", "state")
    if wrong is not None:
        return wrong
    for ranks, length in LENGTHS.items():
        played = play(sharded_step, ranks, [(length,)], _case)
        if isinstance(played, Outcome):
            return played
        returned, sent = played
        answers = [cases[0] for cases in returned]
        if answers[0] is None:
            return not_written("sharded_step(comm, params, grad, state) gives None")
        outcome = _judge(answers, sent, ranks, length)
        if outcome is not None:
            return outcome
    return Outcome(
        True, "passed: the weights of plain data parallelism, a P-th of the state, the bytes of one all-reduce"
    )


def _judge(answers, sent, ranks, length):
    wanted = expected(ranks, length)
    where = f"{ranks} ranks, {length} weights"
    for rank, answer in enumerate(answers):
        if not isinstance(answer, list):
            return Outcome(False, f"not right yet: it returns {answer or 'None'}; return two things: params, state")
        for step, (params, _) in enumerate(answer):
            if params.shape != (length,):
                return Outcome(False, f"not right yet: {where}: rank {rank} returns params of shape {params.shape}")
            if not np.allclose(params, wanted[step], rtol=1e-12, atol=1e-12):
                return Outcome(False, _wrong_weights(params, rank, step, ranks, length))
    longest = max(size for answer in answers for _, size in answer)
    if longest > -(-length // ranks):
        text = f"the weights are right, but with {where} a rank keeps a state of {longest} numbers"
        return Outcome(False, f"{text}\nA part of {-(-length // ranks)} is enough: update your own part only.")
    allowed = 2 * (ranks - 1) * length * 8 * STEPS
    if sent > allowed:
        text = f"right, but {where} send {sent} bytes in {STEPS} steps, where plain data parallelism sends {allowed}"
        return Outcome(False, f"{text}\nreduce_scatter and all_gather are the two halves of one all-reduce.")
    return None


def _wrong_weights(params, rank, step, ranks, length):
    right, before = expected(ranks, length)[step], np.arange(length) / 8
    place = int(np.argmax(~np.isclose(params, right)))
    text = f"not right yet: {ranks} ranks, step {step}, rank {rank}: "
    text += f"weight {place} is {params[place]:.4f}, not {right[place]:.4f}"
    if step == 0:
        move = right - before
        guesses = [
            (before + ranks * move, "The mean of the gradients, not their sum: divide by comm.size."),
            (before - move, "The gradient points uphill."),
            (before + move / RATE, "The rate is 0.1."),
            (before, "Nothing moved."),
            (before - RATE * gradient(rank, 0, length), "Every rank went its own way: nothing was reduced."),
        ]
        hint = next((words for guess, words in guesses if np.allclose(params, guess)), None)
        if hint is None and np.isclose(params, right).any():
            hint = "Some parts are right. Does every rank get those of the others?"
    else:
        hint = "The first step was right: what became of the velocity, 0.9 times the old one plus the gradient?"
    return f"{text}\n{hint}" if hint else text
