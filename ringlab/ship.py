"""Functions on their way to the ranks: by value when they come from a notebook cell or script, with their globals."""

import cloudpickle

from .verdicts import BadInput

HEAVIEST = 16 * 2**20


def ship(thing):
    """`thing` as bytes for a rank; BadInput names what cannot travel, or what weighs over 16 MiB."""
    try:
        data = cloudpickle.dumps(thing)
    except Exception as error:
        raise BadInput(*_why_not(thing, error)) from None
    if len(data) > HEAVIEST:
        name, size = _heaviest(thing)
        raise BadInput(
            f"this function carries {len(data) / 2**20:.0f} MiB to every rank, {name} alone {size / 2**20:.0f} MiB",
            "give large arrays as inputs, or make them inside the function",
        )
    return data


def _carried(thing):
    """The globals and closed-over variables that a function uses: (name, value) pairs."""
    code = getattr(thing, "__code__", None)
    if code is None:
        return []
    names = set(code.co_names)
    for const in code.co_consts:
        names |= set(getattr(const, "co_names", ()))
    carried = [(name, thing.__globals__[name]) for name in sorted(names) if name in thing.__globals__]
    for name, cell in zip(code.co_freevars, thing.__closure__ or (), strict=True):
        try:
            carried.append((name, cell.cell_contents))
        except ValueError:  # not set yet
            continue
    return carried


def _why_not(thing, error):
    for name, value in _carried(thing):
        try:
            cloudpickle.dumps(value)
        except Exception as inner:
            return (
                f"the function uses {name!r}, a {type(value).__name__}, which cannot travel to another process",
                str(inner).splitlines()[0][:120] if str(inner) else type(inner).__name__,
                f"make {name!r} inside the function, or leave it out",
            )
    return (
        f"a {type(thing).__name__} cannot travel to another process",
        str(error).splitlines()[0][:120] if str(error) else type(error).__name__,
    )


def _heaviest(thing):
    sizes = [(len(cloudpickle.dumps(value)), repr(name)) for name, value in _carried(thing)]
    size, name = max(sizes, default=(0, "it"))
    return name, size
