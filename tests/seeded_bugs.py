"""Bugs that the tests must find: each an edit of the package, and the test that has to fail with it.

A test that passes with its bug in place does not test what it says. `test_seeded_bugs.py` tries them all at night.
"""

from typing import NamedTuple


class Bug(NamedTuple):
    """In `file` of the package `old`, which stands there once, becomes `new`; then `test` must fail."""

    what: str
    file: str
    old: str
    new: str
    test: str


BUGS = [
    # the algorithm and its chunks
    Bug(
        "the ring replaces where it must add",
        "algorithms/ring.py",
        "chunks[(rank - k - 1 - shift) % p] += recv(",
        "chunks[(rank - k - 1 - shift) % p] = recv(",
        "test_algorithms.py::test_every_rank_holds_the_sum",
    ),
    Bug(
        "the all-gather sends the chunk before",
        "algorithms/ring.py",
        "send(chunks[(rank - k + 1 - shift) % p]",
        "send(chunks[(rank - k - shift) % p]",
        "test_algorithms.py::test_every_rank_holds_the_sum",
    ),
    Bug(
        "one round too few",
        "algorithms/ring.py",
        "    for k in range(p - 1):\n        send(chunks[(rank - k + 1",
        "    for k in range(p - 2):\n        send(chunks[(rank - k + 1",
        "test_algorithms.py::test_every_rank_holds_the_sum",
    ),
    Bug(
        "chunks off by one",
        "chunks.py",
        "min(i, longer) for i in range(p + 1)",
        "min(i + 1, longer) for i in range(p + 1)",
        "test_chunks.py::test_the_first_chunks_are_longer_by_one",
    ),
    Bug(
        "assigning to a chunk rebinds a slot",
        "chunks.py",
        "part[...] = value",
        "self._parts[index] = value",
        "test_chunks.py::test_assigning_copies_into_the_buffer",
    ),
    # numbers
    Bug(
        "a mask is dropped",
        "reduction.py",
        "if isinstance(x, np.ma.MaskedArray):",
        "if False:",
        "test_run.py::test_bad_input_is_named_before_anything_moves",
    ),
    Bug(
        "objects are added up",
        "reduction.py",
        "if dtype.hasobject or dtype.names or dtype.subdtype:\n        return False",
        "if dtype.hasobject:\n        return True",
        "test_run.py::test_bad_input_is_named_before_anything_moves",
    ),
    Bug(
        "the mean of small integers wraps",
        "reduction.py",
        'if op == "mean" and dtype.kind in "iu" and dtype.itemsize < 8:',
        "if False:",
        "test_run.py::test_the_mean_of_small_integers_does_not_wrap",
    ),
    Bug(
        "half precision is added in half precision",
        "reduction.py",
        "if is_short(dtype):\n        return np.dtype(np.float32)",
        "if False:\n        return np.dtype(np.float32)",
        "test_run.py::test_half_precision_is_summed_and_sent_in_single",
    ),
    Bug(
        "shapes of inputs are not compared",
        "arguments.py",
        "            if mine != first:",
        "            if False:",
        "test_run.py::test_different_shapes_or_dtypes_are_a_mismatch",
    ),
    # wires
    Bug(
        "frames of an earlier call are taken for this one's",
        "wires/pipe.py",
        "            if call != self.call:\n",
        "            if False:\n",
        "test_faults.py::test_a_last_frame_that_comes_twice_harms_nobody",
    ),
    Bug(
        "frames are not counted",
        "wires/pipe.py",
        "if number != self._got[src]:",
        "if number < 0:",
        "test_faults.py::test_frames_that_do_not_arrive_as_they_were_sent",
    ),
    Bug(
        "a pipe does not copy what is left to be written",
        "wires/pipe.py",
        "self._left.extend(bytes(part) for part in buffers)",
        "self._left.extend(buffers)",
        "test_wires.py::test_changing_an_array_after_send_does_not_change_the_message",
    ),
    Bug(
        "collectives carry no fingerprint",
        "wires/endpoint.py",
        "if tag != self.tag:",
        "if False:",
        "test_world.py::test_different_collectives_are_a_mismatch",
    ),
    Bug(
        "a call ends before its loans are read",
        "wires/shm.py",
        "while self._read[dst] < number:",
        "while False:",
        "test_shm.py::test_a_call_ends_only_when_its_loans_were_read",
    ),
    Bug(
        "a borrower may write into its lender's memory",
        "arena.py",
        "self.buffer if writable else self._read_only",
        "self.buffer",
        "test_shm.py::test_a_lent_message_is_the_senders_memory_and_may_not_be_written",
    ),
    Bug(
        "strided arrays travel as their memory lies",
        "plain.py",
        "return np.ascontiguousarray(array).reshape(array.shape)",
        "return np.frombuffer(array.base if array.base is not None else array, array.dtype, array.size)",
        "test_plain.py::test_arrays_keep_shape_dtype_and_bits",
    ),
    # shared memory
    Bug(
        "a segment keeps its name",
        "segment.py",
        "os.open(FOLDER, os.O_TMPFILE | os.O_RDWR | os.O_CLOEXEC, 0o600)",
        'os.open(f"{FOLDER}/ringlab_{os.getpid()}_{secrets.token_hex(4)}", os.O_CREAT | os.O_RDWR, 0o600)',
        "test_killed_starts.py",
    ),
    Bug(
        "others may read a segment",
        "segment.py",
        "os.O_TMPFILE | os.O_RDWR | os.O_CLOEXEC, 0o600",
        "os.O_TMPFILE | os.O_RDWR | os.O_CLOEXEC, 0o644",
        "test_shm.py::test_the_segment_is_ours_alone_and_has_no_name",
    ),
    Bug(
        "space in shared memory is not asked for before it is used",
        "segment.py",
        'if nbytes and hasattr(os, "posix_fallocate") and self.fd >= 0:',
        "if False:",
        "test_shm.py::test_no_room_for_the_buffers_is_said_before_anything_starts",
    ),
    # processes
    Bug(
        "Ctrl-C ends ranks",
        "rank.py",
        "signal.signal(signal.SIGINT, signal.SIG_IGN)",
        "signal.signal(signal.SIGINT, signal.SIG_DFL)",
        "test_world.py::test_ranks_ignore_an_interrupt_however_it_reaches_them",
    ),
    Bug(
        "ranks in C code outlive a killed kernel",
        "rank.py",
        "| os.O_ASYNC)",
        ")",
        "test_failures.py::test_nothing_is_left_when_the_kernel",
    ),
    Bug(
        "what a rank started outlives a killed kernel",
        "rank.py",
        "fcntl.F_SETOWN, -os.getpid())",
        "fcntl.F_SETOWN, os.getpid())",
        "test_failures.py::test_what_a_rank_starts_ends_with_it",
    ),
    Bug(
        "dead ranks are found out by the next call only",
        "world.py",
        "stale = broken or hygiene.edited(self.modules) or not all(rank.alive for rank in self._ranks)",
        "stale = broken or hygiene.edited(self.modules)",
        "test_world.py::test_a_rank_that_dies_between_calls_is_replaced",
    ),
    Bug(
        "ranks keep what they loaded of an edited file",
        "hygiene.py",
        "if os.stat(file).st_mtime_ns != time:",
        "if False:",
        "test_hygiene.py::test_an_edited_module_is_read_again",
    ),
    Bug(
        "ranks that learner code changed are used again",
        "supervise.py",
        'if unread or any(reply["dirty"] for reply in self.replies.values()):',
        "if unread:",
        "test_hygiene.py::test_ranks_that_learner_code_changed_are_replaced",
    ),
    Bug(
        "ranks may be forked",
        "process.py",
        'if start not in ("spawn", "forkserver")',
        'if start not in ("spawn", "forkserver", "fork")',
        "test_world.py::test_fork_is_no_way_to_start_ranks",
    ),
    Bug(
        "a call that failed keeps its ranks",
        "supervise.py",
        "                world.replace()\n                raise\n",
        "                world.calling = False\n                raise\n",
        "test_world.py::test_fresh_ranks_after_a_failure",
    ),
    # verdicts
    Bug(
        "a wait for a finished rank is no deadlock",
        "waits.py",
        "        if rank in done:\n",
        "        if False:\n",
        "test_waits.py::test_a_cycle_or_a_wait_for_a_finished_rank_can_never_end",
    ),
    Bug(
        "everybody waits, so it is a deadlock",
        "sight.py",
        "if phase == RECEIVING and self.blocks[peer].begun[rank] < nth:",
        "if phase == RECEIVING:",
        "test_waits.py::test_everybody_waits_in_a_correct_ring_and_nobody_is_stuck",
    ),
    Bug(
        "a rank that moved counts as stuck",
        "sight.py",
        "if before[rank][:-1] == states[rank][:-1]\n",
        "if True\n",
        "test_waits.py::test_a_rank_that_moved_between_the_looks_is_not_stuck",
    ),
    Bug(
        "the lowest rank is blamed, whatever happened to others",
        "reports.py",
        "ordered = sorted(verdicts, key=lambda v: (ORDER.index(v.verdict), v.rank or 0))",
        "ordered = sorted(verdicts, key=lambda v: v.rank or 0)",
        "test_failures.py::test_the_first_verdict_in_order_of_precedence_wins",
    ),
    Bug(
        "who waits for the lost rank is told last",
        "reports.py",
        "return waits_in_words(direct + others, shown=3)",
        "return waits_in_words(others + direct, shown=3)",
        "test_failures.py::test_a_crash_names_rank_round_and_who_waited_for_which_chunk",
    ),
    Bug(
        "a busy machine is blamed on a rank",
        "pulse.py",
        'if state == "R" else',
        "if False else",
        "test_pulse.py::test_only_the_time_counts_in_which_it_could_act",
    ),
    Bug(
        "only a rank's main thread may be kept from the processor",
        "pulse.py",
        'os.listdir(f"/proc/{pid}/task")',
        "[str(pid)]",
        "test_pulse.py::test_each_thread_is_told_of",
    ),
    Bug(
        "prints have no end",
        "prints.py",
        "for line in lines[:PRINT_LINES]:",
        "for line in lines:",
        "test_failures.py::test_prints_appear_by_rank_and_are_capped",
    ),
    Bug(
        "an error shows all it has",
        "verdicts.py",
        "SHOWN_LINES = 4",
        "SHOWN_LINES = 400",
        "test_failures.py::test_errors_show_four_lines_and_hold_no_times",
    ),
    Bug(
        "text of learners becomes markup",
        "views/still.py",
        '<text class="t" x="{PAD}" y="18">{escape(_title(trace))}</text>',
        '<text class="t" x="{PAD}" y="18">{_title(trace)}</text>',
        "test_player.py::test_texts_of_learners_are_no_markup",
    ),
    # the machine, and the storm itself
    Bug(
        "the largest of several CPU quotas counts",
        "machine.py",
        "return min(granted, default=None)",
        "return max(granted, default=None)",
        "test_machine.py::test_the_cpu_quota",
    ),
    Bug(
        "ranks start without looking for memory",
        "needs.py",
        "if memory is not None and memory < RANK_MEMORY * ranks:",
        "if False:",
        "test_needs.py::test_what_is_short_is_named_with_two_ways_out",
    ),
    Bug(
        "the storm lets wrong results pass",
        "faultstorm/history.py",
        'if line["verdict"] is None and not line["right"]:',
        "if False:",
        "test_faultstorm.py::test_each_broken_rule_is_found",
    ),
]
