"""The sentences of the judge: what is wrong with it, and how to mend it, for every family of mistakes.

A learner meets them one at a time: the headline says what came out wrong; the first hint says where to look, the second
what is wrong there, the third how to mend it. No number of a right index stands in the first two.
"""

from ..texts import times

# family -> (what is wrong with it, how to mend it); {name}s are filled in by who found it
FAMILIES = {
    # -- not there yet
    "not_written_allreduce": (
        "A ring has two halves: P-1 rounds that add, then P-1 rounds that copy. Neither has begun.",
        (
            "Begin with one round: send one chunk to rank + 1, add (+=) what comes from rank - 1, both % p with "
            "p = len(chunks). Then put it in a loop."
        ),
    ),
    "not_written_reduce_scatter": (
        "This half of a ring has P-1 rounds that add. Afterwards each rank owns one complete chunk.",
        (
            "Begin with one round: send one chunk to rank + 1, add (+=) what comes from rank - 1, both % p with "
            "p = len(chunks). Then put it in a loop."
        ),
    ),
    "not_written_all_gather": (
        "This half of a ring has P-1 rounds that copy. Rank r comes with the complete chunk r + 1.",
        (
            "Begin with one round: send the complete chunk to rank + 1, put (=) what comes from rank - 1 in its place, "
            "both % p with p = len(chunks). Then put it in a loop."
        ),
    ),
    "blank": (
        "A blank is still there to be filled in.",
        "Put a number of a chunk in its place. Which one? Send on what you just received.",
    ),
    "copying_missing": (
        "The adding half is right: each rank has one complete chunk. The copying half is missing.",
        "Send the complete chunk on round the ring, P-1 rounds, and replace (=) what is there by what comes.",
    ),
    "adding_missing": (
        "What goes round was never added up: every rank hands on parts of single gradients.",
        "First P-1 rounds that add (+=) what comes, then P-1 rounds that copy (=).",
    ),
    # -- the ring
    "added_in_copying": (
        "What comes in the second half is complete already. Added (+=) to what is there, those ranks count twice.",
        "In the copying half replace: chunks[...] = recv(...) instead of +=.",
    ),
    "overwrote_in_adding": (
        (
            "What comes in the first half is a partial sum. Put in the place (=) of what was there, it wipes out the "
            "rank's own part."
        ),
        "In the adding half add: chunks[...] += recv(...) instead of =.",
    ),
    "adds_too_long": (
        (
            "The adding half goes on for too long: after P-1 rounds each rank has a complete chunk, and what is added "
            "then is in it already."
        ),
        "P ranks add in P-1 rounds: range(p - 1).",
    ),
    "adds_too_short": (
        "The adding half stops too early: copying begins while no chunk is complete.",
        "P ranks add in P-1 rounds: range(p - 1).",
    ),
    "copies_too_short": (
        "The copying half stops too early: the last chunks have not come round to everybody.",
        "One complete chunk is there, P-1 others must come: range(p - 1) rounds of copying.",
    ),
    "copies_incomplete": (
        "The copying half opens with a chunk that is not complete on that rank: a part goes round instead of the sum.",
        (
            "Open the copying half with the chunk that the last addition completed. Send on what you just received: "
            "in numbers (rank - k + 1) % p, when both halves count k from 0."
        ),
    ),
    "stale_send": (
        "A rank sends a chunk other than the one that it has just received and added to.",
        (
            "Send on what you just received: what comes in step k leaves in step k + 1. In numbers, k from 0: send "
            "(rank - k) % p, add into (rank - k - 1) % p."
        ),
    ),
    "misplaced": (
        "What comes is put into a chunk of another number: sender and receiver do not mean the same chunk.",
        "The rank before you sends its (rank - k), and its rank is yours minus 1: it arrives at (rank - k - 1) % p.",
    ),
    "against": (
        "The messages go one way round and the numbers of the chunks the other way.",
        "Send to (rank + 1) % p and receive from (rank - 1) % p, or turn every - k into + k.",
    ),
    "wrong_neighbour": (
        "These ranks do not talk to the rank next to them, so some gradients find no way to some ranks.",
        "In a ring everybody sends to (rank + 1) % p and receives from (rank - 1) % p.",
    ),
    # -- any algorithm
    "twice": (
        "What was added there already held a part of what it was added to.",
        "Add each gradient once. Once a sum is complete, hand it on by replacing (=), not by adding (+=).",
    ),
    "dropped": (
        "There an assignment replaced a sum by one that lacks a gradient.",
        "While a sum is not complete, add (+=) to it; replace (=) only what is worth less than what comes.",
    ),
    "foreign": (
        "Numbers of one chunk were put into another.",
        "Take the same number for a chunk on both sides of a message.",
    ),
    "shifted": (
        "Every chunk is complete, but each stands in another's place.",
        "Write what comes to the number that it had where it was sent from.",
    ),
    "never": (
        "No message that holds this gradient and is added up, or copied, gets there.",
        "Follow this gradient from rank to rank: somebody must send it on, and somebody must add it.",
    ),
    "ignored": (
        "What came there was neither added to the rank's own nor put in its place.",
        "Keep what every message brings: add (+=) it while the sum is not complete, else copy (=) it.",
    ),
    "too_early": (
        "What is handed on there left its sender before that gradient had arrived.",
        "First collect what is to be handed on, then hand it on; and stay for as many rounds as the last one needs.",
    ),
    "no_way": (
        "No message leads from the one rank to the other, not even by way of third ones.",
        "Every rank's gradient needs a way to every other rank: check whom each rank sends to.",
    ),
    "forgot_own": (
        "Each such sum lacks the gradient of the rank that formed it: the sum starts from what came, not from its own.",
        "Start from what the rank holds itself, and add to that: chunks[i] += ..., not chunks[i] = ... .",
    ),
    "counted": (
        "A complete sum was added up again, as if it were one rank's gradient.",
        "All-reduce once. Summing what is summed already multiplies it by the number of ranks.",
    ),
    "sum_not_mean": (
        "Every rank holds the sum; asked for is the mean.",
        "Divide by the number of ranks, once, at the end: chunks[i] /= p on every rank.",
    ),
    "mean_not_sum": (
        "Every rank holds the mean; asked for is the sum.",
        "Leave the division out.",
    ),
    "divided": (
        "All gradients count alike, but not as much as they should.",
        "For a mean divide once by the number of ranks; for a sum not at all.",
    ),
    "weighed": (
        "The gradients do not count alike. So it goes when means of means are formed on the way.",
        "Add first, divide once at the end.",
    ),
    "subtracted": (
        "A gradient is subtracted where it should be added.",
        "Add with += .",
    ),
    "floor": (
        "Something is divided with //, which rounds down; or it is replaced by zeros.",
        "Divide with /, and only once, at the end.",
    ),
    "zeros": (
        "Something is replaced by zeros, or divided with //, which rounds down.",
        "Keep what the rank holds itself, and add to it.",
    ),
    "not_one_each": (
        "After a reduce-scatter every rank must own one complete chunk, and no two the same one.",
        "P-1 rounds of adding round the ring leave rank r with the complete chunk r + 1.",
    ),
    "mixed": (
        "In an all-gather one rank brings the complete chunk. Nothing may be added to it.",
        "Replace what is there: chunks[...] = recv(...).",
    ),
    "wrong_start": (
        "Every rank hands out a chunk that is not the complete one it came with.",
        "Rank r comes with the complete chunk r + 1. Send that one first, then send on what you just received.",
    ),
    # -- code that did not get to its end
    "signature": (
        "An all-reduce is called with four things: the chunks, its rank, and the pair send and recv.",
        "def {name}(chunks, rank, send, recv):",
    ),
    "raised": (
        "It stops with {error}.",
        "{mend}",
    ),
    "waits_for_itself": (
        "Nobody sends to itself, so this message never comes.",
        "Leave the rank itself out of those that it receives from.",
    ),
    "nobody_sends": (
        "Each of these ranks waits for another of them, and none has sent what the next one waits for.",
        "Send before you receive: a send does not wait for its receiver.",
    ),
    "waits_for_another": (
        "A rank waits for one rank, while another's message to it lies unread.",
        "Receive from the rank that sends to you: where all send to rank + 1, receive from (rank - 1) % p.",
    ),
    "sent_elsewhere": (
        "The rank that is waited for has sent to another one, which does not ask for it.",
        "Send to the rank that receives from you: where all receive from rank - 1, send to (rank + 1) % p.",
    ),
    "one_receive_too_many": (
        "More messages are waited for than were sent.",
        "Let every receive have its send: the same number of rounds on both sides.",
    ),
    "peer_finished": (
        "One rank has returned, and another still waits for a message from it.",
        "Every rank must stay for the same number of rounds: no early return, the same range(...) for everybody.",
    ),
    "unread": (
        "Something was sent that nobody received. The next collective would take it for its own.",
        "Let every send have its receive: the same number of rounds on both sides.",
    ),
    "left_early": (
        "One rank returns while messages for it are still on their way.",
        "Every rank must stay for the same number of rounds: no early return, the same range(...) for everybody.",
    ),
    "returned": (
        "The caller takes what the function returns, and that is {returned}.",
        "End with: return chunks",
    ),
    "generator": (
        "With a yield in it (or async before it) a function does not run when it is called.",
        "Write a plain function that calls send and recv.",
    ),
    "exited": (
        "Leaving the process ends the whole rank; all the others would wait for it.",
        "Return from the function instead.",
    ),
    "killed": (
        "The process was ended by the system or by itself.",
        "If it was signal 9: look for arrays that grow. Signal 11: C code that was given wrong memory.",
    ),
    "stalled": (
        "For seconds this rank neither sent nor received, and it has not returned.",
        "Look for a loop that does not end, or for something that waits for a thing that is not a message.",
    ),
    "endless": (
        "This rank makes more calls of send and recv than any all-reduce needs.",
        "Look at the loop: when does it end?",
    ),
    # -- only seen with numbers
    "bits": (
        (
            "The ranks add the same gradients in different orders, and floating point rounds differently. Replicas "
            "that differ in a bit drift apart."
        ),
        "Let one rank finish each chunk, and let the others copy its result.",
    ),
    "only_here": (
        "With equal, middling chunks it goes well. {why}",
        "Let no step depend on how long a chunk is, or on the numbers in it.",
    ),
    "rounded": (
        "The numbers lost digits on their way.",
        "Keep the dtype: no astype, no // and no round.",
    ),
    # -- right, but
    "over": (
        "The sum is right. What it costs is more than was allowed.",
        "{mend}",
    ),
}


def since(round):
    """', since round 3', or nothing when it was so from the start."""
    return "" if round is None else f", since round {round}"


def symptom(fault):
    """What is wrong, in one sentence: whose gradient, in which chunk, on which rank, since when."""
    place = f"c{fault.slot} on rank {fault.rank}"
    if fault.kind == "twice":
        count = times(fault.times)
        return f"rank {fault.whose}'s gradient is in c{fault.slot} {count} on rank {fault.rank}{since(fault.round)}"
    if fault.kind == "dropped":
        when = "before the first message" if fault.round is None else f"in round {fault.round}"
        return f"rank {fault.whose}'s gradient drops out of {place} {when}"
    if fault.kind == "foreign":
        return f"{place} holds numbers of c{fault.whose}{since(fault.round)}"
    if fault.kind == "never":
        return f"rank {fault.whose}'s gradient never gets into {place}"
    if fault.kind == "mixed":
        return f"rank {fault.whose}'s part is in {place} beside the complete one{since(fault.round)}"
    if fault.after == ():
        return f"{place} is all zeros{since(fault.round)}"
    return f"{place} holds no sum of gradients any more{since(fault.round)}"
