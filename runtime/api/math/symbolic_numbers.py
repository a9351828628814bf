"""Symbolic sizes and numbers of traced functions under PyTorch's names.

Outside of recordings they are Python's ints, floats and bools.
"""

from ....ir.symbols.number_functions import sqrt
from ....ir.symbols.symbolic import SymFloat, SymInt
from ..register.register import FUNCTIONS, api


class SymBool:
    """Type without instances: comparisons of sizes are Python bools, and recordings record their results."""


FUNCTIONS.update(SymInt=SymInt, SymFloat=SymFloat, SymBool=SymBool)


@api(method=False)
def sym_int(a):
    """Return a number as an integer, truncated towards zero."""
    return a if isinstance(a, SymInt) else int(a)


@api(method=False)
def sym_float(a):
    """Return a number as a float."""
    return a if isinstance(a, SymFloat) else 1.0 * a


@api(method=False)
def sym_max(a, b):
    """Return the larger of two sizes, as a float if one of them is."""
    return _meet(a, b, max(a, b))


@api(method=False)
def sym_min(a, b):
    """Return the smaller of two sizes, as a float if one of them is."""
    return _meet(a, b, min(a, b))


def _meet(a, b, chosen):
    """Return one of two numbers in their common type."""
    return float(chosen) if float in (type(a), type(b)) and type(chosen) is int else chosen


@api(method=False)
def sym_not(a):
    """Return the negation of a condition."""
    return not a


@api(method=False)
def sym_ite(b, t, f):
    """Return `t` if a condition is true, else `f`."""
    return t if b else f


@api(method=False)
def sym_sqrt(a):
    """Return the square root of a number."""
    return sqrt(a)


@api(method=False)
def sym_sum(args):
    """Return the sum of sizes."""
    return sum(args)
