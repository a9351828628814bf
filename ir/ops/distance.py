"""Distances between all pairs of rows."""

from ..errors import DTypeError, ShapeError
from ..op import Composite, op
from . import elementwise as ew
from . import reduce as rd
from .moments import in_wide, vector_norm
from .nn import in_single
from .shape import expand, reshape


def _infer(x, y, *, ord):
    if x.dtype is not y.dtype or not x.dtype.is_floating_point:
        raise DTypeError(f"distances takes two floating point tensors of one dtype, got {x} and {y}")
    if x.ndim < 2 or x.shape[:-2] != y.shape[:-2] or x.shape[-1] != y.shape[-2] or not x.shape[-1]:
        raise ShapeError(f"distances takes rows and columns of one length, got {x} and {y}")
    return x.with_shape((*x.shape[:-1], y.shape[-1]))


def _gaps(x, y):
    """The differences of all pairs: (..., rows of x, numbers, columns of y)."""
    *batch, m, k = x.shape
    n = y.shape[-1]
    shape = (*batch, m, k, n)
    one, other = reshape(x, shape=(*batch, m, k, 1)), reshape(y, shape=(*batch, 1, k, n))
    return ew.sub(expand(one, shape=shape), expand(other, shape=shape))


@in_wide
def _body(x, y, *, ord):
    return vector_norm.lower.body(_gaps(x, y), ord=ord, dim=(len(x.shape) - 1,), keepdim=False)


def _ref(x, y, *, ord):
    gaps = x[..., :, :, None] - y[..., None, :, :]
    return vector_norm.ref(gaps, ord=ord, dim=(gaps.ndim - 2,), keepdim=False)


def _vjp(g, out, x, y, *, ord, needs):
    last = len(x.shape)
    rule, = vector_norm.vjp
    back = rule(g, out, _gaps(x, y), ord=ord, dim=(last - 1,), keepdim=False)
    return (rd.sum_(back, dim=(last,), keepdim=False) if needs[0] else None,
            ew.neg(rd.sum_(back, dim=(last - 2,), keepdim=False)) if needs[1] else None)


distances = op("distances", infer=_infer, ref=in_single(_ref), vjp=_vjp, saves=(0, 1, 2), lower=Composite(_body),
               traits=("autocast_wide",), numbers=("ord",),
               doc="The norms of order `ord` of the differences between every row of x and every column of y.")
