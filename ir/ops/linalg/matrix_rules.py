"""Shared rules of operators on matrices: argument checks, adjoints, triangles."""

from ... import dtype as dt
from ...errors import DTypeError, ShapeError
from ..core import elementwise as ew
from ..core.complex_numbers import conj
from ..core.shape import iota
from .products import transpose_last

KINDS = (dt.float32, dt.float64, dt.complex64, dt.complex128)


def check_matrix(name, x, square=True):
    """Raise unless x is a matrix or a batch of them, of 32 or 64 bits, real or complex."""
    if x.dtype not in KINDS:
        raise DTypeError(f"{name} takes float32 or float64 (or complex numbers of these), got {x}; cast with .to()")
    if x.ndim < 2 or (square and x.shape[-1] != x.shape[-2]):
        raise ShapeError(f"{name} takes {'square matrices' if square else 'matrices'} or batches of them, got {x}")


def adjoint(x):
    """Return the conjugate transpose of matrices."""
    return transpose_last(conj(x) if dt.of(x).is_complex else x)


def lower(x, offset):
    """Return x on and below diagonal `offset`, zeros elsewhere."""
    shape, n = tuple(x.shape), len(x.shape)
    rows = iota(x, shape=shape, dim=n - 2, dtype=dt.int64)
    cols = iota(x, shape=shape, dim=n - 1, dtype=dt.int64)
    return ew.where(ew.le(ew.sub(cols, rows), offset), x, 0.0)
