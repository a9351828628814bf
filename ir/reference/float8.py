"""Casts to and from the floats of 8 bits in numpy; the generated casts are tested against them.

To the nearest, halves to even. float8_e4m3fn has no infinity and saturates. nan is all ones, with its sign.
"""

import numpy as np

from .. import dtype as dt
from ..process_state import ignore_float_errors

KINDS = frozenset(d.np for d in dt.FLOAT8)


@ignore_float_errors
def converted(a: np.ndarray, kind: np.dtype) -> np.ndarray:
    """Return `a` as elements of `kind`, one of the two being a float8."""
    if a.dtype in KINDS:
        a = a.astype(np.float32)
    return _narrowed(a, kind) if kind in KINDS else a.astype(kind)


def _narrowed(a, kind):
    wide = _odd(a) if a.dtype == np.float64 else a.astype(np.float32)
    if kind == dt.float8_e4m3fn.np:
        return np.clip(wide, -dt.LARGEST_E4M3FN, dt.LARGEST_E4M3FN).astype(kind)
    made = wide.astype(kind)
    made.view(np.uint8)[np.isnan(wide)] |= 0x7F
    return made


def _odd(a):
    """Return float64 as float32 rounded to odd, so that rounding once more is right."""
    near = a.astype(np.float32)
    bits, back = near.view(np.int32), near.astype(np.float64)
    step = np.where(np.abs(back) > np.abs(a), -1, 1)
    return np.where((back != a) & (a == a) & (bits & 1 == 0), bits + step, bits).astype(np.int32).view(np.float32)
