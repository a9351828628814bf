"""What random operators draw: real numbers, or complex ones, whose parts are drawn beside each other."""

from math import sqrt

from ...ir import dtype as dt
from ...ir.errors import DTypeError
from ...ir.ops import elementwise as ew
from ...ir.ops import random as rn
from ...ir.ops.complexes import of_pairs
from ..state import Defaults


def float_dtype(dtype, takes_complex=False) -> dt.DType:
    """The dtype asked for, or the default; it must be floating point, or perhaps complex."""
    d = Defaults.dtype if dtype is None else dt.as_dtype(dtype)
    if not (d.is_floating_point or (takes_complex and d.is_complex)):
        raise DTypeError(f"random floats are made in floating point dtypes, not in {d}; use randint")
    return d


def drawn(draw, key, shape, dtype):
    """Numbers that an operator draws. The parts of complex ones are independent; of normal ones they share the variance."""
    if not dtype.is_complex:
        return draw.call(key, shape=shape, dtype=dtype)
    parts = draw.call(key, shape=(*shape, 2), dtype=dt.float32 if dtype is dt.complex64 else dt.float64)
    if draw is rn.normal:
        parts = ew.mul(parts, sqrt(0.5))
    return of_pairs(parts)
