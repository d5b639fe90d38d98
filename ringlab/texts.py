"""Counts and lists in words, as they stand in what we say."""

NUMBERS = {1: "once", 2: "twice"}


def times(count):
    """'twice', '3 times'.

    >>> times(2), times(5)
    ('twice', '5 times')
    """
    return NUMBERS.get(count, f"{count} times")


def listed(things, last="and"):
    """'1, 2 and 4'.

    >>> listed([1, 2, 4])
    '1, 2 and 4'
    """
    things = [str(thing) for thing in things]
    return f" {last} ".join([", ".join(things[:-1]), things[-1]] if len(things) > 1 else things)


def ranks_of(ranks):
    """'rank 2', 'ranks 1 and 3'."""
    return f"rank{'' if len(ranks) == 1 else 's'} {listed(ranks)}"


def plural(count, word):
    """'1 message', '2 messages'."""
    return f"{count} {word}{'' if count == 1 else 's'}"
