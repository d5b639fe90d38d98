"""How large the error of a sum can be, as a multiple of sum|x|; `u` is half the step above 1 of the format.

N. Higham, "Accuracy and Stability of Numerical Algorithms", 2nd ed., chapter 4. First order in u: without the factor
1 / (1 - n u), so they mean nothing once n u nears 1.
"""

import math

from ..dtypes import format_of


def worst_bound(terms, dtype):
    """(n - 1) u: for every order of adding, and every number. One rounding per addition, all in one direction.

    >>> worst_bound(257, "bfloat16")
    1.0
    """
    return (terms - 1) * format_of(dtype).u


def typical_bound(terms, dtype):
    """sqrt(n) u: what a sum in order stays below in practice, because roundings go both ways (Higham and Mary 2019)."""
    return math.sqrt(terms) * format_of(dtype).u


def tree_bound(terms, dtype):
    """ceil(log2 n) u: for a sum by halves, as a tree, doubling and halving form it; no term meets more roundings."""
    return max(0, terms - 1).bit_length() * format_of(dtype).u


def kahan_bound(terms, dtype):
    """2 u + n u**2: with compensation the error hardly depends on the number of terms."""
    u = format_of(dtype).u
    return 2 * u + terms * u * u
