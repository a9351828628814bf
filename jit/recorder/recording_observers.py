"""Observers of the operators that run while a function is recorded (`debugging.py`)."""

from ...ir.symbols.substitute import at_hint
from ...runtime.core.tensor import Tensor

WATCHES: list = []     # each with `saw(op, operands, params, results, line)`


def tell(op, args, params, out, line):
    """Tells them of one operator; they get arrays and plain data."""
    operands = [a._a if isinstance(a, Tensor) else at_hint(a) for a in args]
    results = [t._a for t in (out if type(out) is tuple else (out,))]
    for w in list(WATCHES):
        w.saw(op, operands, {k: at_hint(v) for k, v in params.items()}, results, line)
