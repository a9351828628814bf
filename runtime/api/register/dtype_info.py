"""Limits, casts and names of dtypes."""


import numpy as np

from ....ir import dtype as dt
from ....ir.errors import DTypeError
from ...core.tensor import Tensor
from ...state.mode import Defaults

__all__ = ["can_cast", "finfo", "iinfo", "promote_types", "typename"]


class finfo:
    """Limits of a floating point dtype (for a complex dtype, of its parts): bits eps max min tiny resolution."""

    __slots__ = ("bits", "dtype", "eps", "max", "min", "resolution", "smallest_normal", "tiny")

    def __init__(self, type=None):
        d = Defaults.dtype if type is None else dt.as_dtype(type)
        if not d.is_inexact:
            raise DTypeError(f"finfo takes a floating point dtype, got {d.name}; use iinfo")
        about = dt.finfo(d)
        self.bits = about.bits
        self.dtype = about.dtype.name
        self.eps = float(about.eps)
        self.max = float(about.max)
        self.min = float(about.min)
        self.tiny = self.smallest_normal = float(about.tiny)
        self.resolution = 1.0 if d in dt.FLOAT8 else 10.0 ** -about.precision        # decimal digits that hold

    def __repr__(self):
        return (f"finfo(resolution={self.resolution:g}, min={self.min:g}, max={self.max:g}, eps={self.eps:g}, "
                f"smallest_normal={self.smallest_normal:g}, tiny={self.tiny:g}, dtype={self.dtype})")

    def __eq__(self, other):
        return isinstance(other, finfo) and self.dtype == other.dtype

    def __hash__(self):
        return hash(self.dtype)


class iinfo:
    """Limits of an integer dtype: bits max min."""

    __slots__ = ("bits", "dtype", "max", "min")

    def __init__(self, type):
        d = dt.as_dtype(type)
        if not d.is_integer:
            raise DTypeError(f"iinfo takes an integer dtype, got {d.name}" + ("; use finfo" if d.is_inexact else ""))
        about = np.iinfo(d.np)
        self.bits, self.max, self.min, self.dtype = about.bits, int(about.max), int(about.min), d.name

    def __repr__(self):
        return f"iinfo(min={self.min}, max={self.max}, dtype={self.dtype})"

    def __eq__(self, other):
        return isinstance(other, iinfo) and self.dtype == other.dtype

    def __hash__(self):
        return hash(self.dtype)


def promote_types(type1, type2) -> dt.DType:
    """Return the smallest dtype to which both dtypes convert."""
    return dt.promote_types(type1, type2)


def can_cast(from_, to) -> bool:
    """Return whether a value of dtype `from_` may be written into a tensor of dtype `to`."""
    return dt.can_cast(from_, to)


def typename(obj) -> str:
    """Return the type name of an object, as in `ingot.FloatTensor`; for a class or function its own name, with the module."""
    if isinstance(obj, Tensor):
        return str(obj.type())
    named = obj if hasattr(obj, "__qualname__") else type(obj)
    module = getattr(named, "__module__", None)
    return named.__qualname__ if module in ("builtins", "", None) else f"{module}.{named.__qualname__}"
