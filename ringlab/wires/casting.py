"""Messages in a narrower dtype than the sum: cast on the way out, widened on the way in, on any wire."""

import numpy as np

from ..dtypes import dtype_of


class Casting:
    """Arrays of `dtype` travel in `wire_dtype`; whatever else is in a message is left as it is.

    adopt: the sender keeps what its receivers will see. Otherwise the owner of a complete chunk stays with its exact
    copy while all the others hold the rounded one, and replicas differ.
    """

    def __init__(self, dtype, wire_dtype, adopt=True):
        self.dtype, self.wire_dtype, self.adopt = dtype, dtype_of(wire_dtype, "wire_dtype"), adopt

    @classmethod
    def between(cls, dtype, wire_dtype, adopt=True):
        """The Casting, or None where nothing is to be cast."""
        if wire_dtype is None or dtype_of(wire_dtype, "wire_dtype") == dtype:
            return None
        return cls(dtype, wire_dtype, adopt)

    def out(self, x):
        """A message (an array, or a list of arrays) as it travels; with `adopt` the arrays themselves change."""
        if not isinstance(x, np.ndarray):
            return [self.out(part) for part in x] if type(x) in (list, tuple) else x
        if x.dtype != self.dtype:
            return x
        with np.errstate(over="ignore", invalid="ignore"):  # an overflow is found in the result, and told there
            narrow = x.view(np.ndarray).astype(self.wire_dtype)
        if self.adopt and x.flags.writeable:
            x[...] = narrow
        return narrow

    def back(self, x):
        """What came, in the dtype of the sum."""
        if not isinstance(x, np.ndarray):
            return [self.back(part) for part in x] if type(x) is list else x
        return x.astype(self.dtype) if x.dtype == self.wire_dtype else x
