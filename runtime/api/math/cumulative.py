"""Scans: running sums, products and extremes, differences, integrals."""

from ....ir import dtype as dt
from ....ir.errors import ArgumentError, DimError, DTypeError, ShapeError
from ....ir.opdef.aval import broadcast_shapes, canonical_dim
from ....ir.ops.core import elementwise as ew
from ....ir.ops.core import reduce as rd
from ....ir.ops.core import scan as sc
from ....ir.ops.core.shape import cat, expand, reshape, select, slice_
from ...core.tensor import Tensor
from ..register import return_types
from ..register.register import api, deliver
from ..register.type_promotion import as_operand, promote, result_type, rounds_once, to_dtype
from .reductions import as_column, summable


def _along(op, x, dim):
    """Run a scan; a 0-d tensor counts as a row of one."""
    d = canonical_dim(dim, x.ndim)
    return reshape(op(as_column(x), dim=d), shape=()) if not x.ndim else op(x, dim=d)


@api(inplace=True, memoised=True)
def cumsum(input, dim, *, dtype=None, out=None):
    """Return running sums along a dim; integers and bools are summed in int64."""
    return deliver(_along(sc.cumsum, summable(input, dtype, out), dim), out, "cumsum")


@api(inplace=True, memoised=True)
def cumprod(input, dim, *, dtype=None, out=None):
    """Return running products along a dim; integers and bools are multiplied in int64."""
    return deliver(_along(sc.cumprod, summable(input, dtype, out), dim), out, "cumprod")


@api(memoised=True)
def logcumsumexp(input, dim, *, out=None):
    """Return the log of the running sum of exp(input) along a dim."""
    return deliver(_along(sc.logcumsumexp, input, dim), out, "logcumsumexp")


def _publish_running(op, kind, what):
    def fn(input, dim, *, out=None):
        values, indices = op(as_column(input), dim=canonical_dim(dim, input.ndim))
        if not input.ndim:
            values, indices = reshape(values, shape=()), reshape(indices, shape=())
        return return_types.deliver_all(kind, (values, indices), out)

    fn.__annotations__["return"] = kind
    fn.__doc__ = f"Return the running {what} along a dim and its last position, as (values, indices)."
    api(memoised=True, name=op.name)(fn)


_publish_running(sc.cummax, return_types.cummax, "maximum")
_publish_running(sc.cummin, return_types.cummin, "minimum")


# Differences and integrals.


def cut(x, dim, start, stop):
    """Return elements start to stop - 1 along a dim."""
    return slice_(x, dim=dim, start=start, step=1, stop=stop)


@api(memoised=True)
def diff(input, n=1, dim=-1, prepend=None, append=None, *, out=None):
    """Return differences of neighbours along a dim, n times over."""
    if not input.ndim:
        raise ShapeError("diff needs a tensor of at least one dimension")
    if n < 0:
        raise ArgumentError(f"diff takes n >= 0, got {n}")
    d = canonical_dim(dim, input.ndim)
    if not n:
        return deliver(ew.copy(input), out, "diff")
    parts = [_as_slab(p, input, d) for p in (prepend, input, append) if p is not None]
    kind = result_type(*parts)
    x = cat(*(to_dtype(p, kind) for p in parts), dim=d) if len(parts) > 1 else input
    for _ in range(min(n, x.shape[d])):
        after, before = cut(x, d, 1, x.shape[d]), cut(x, d, 0, max(x.shape[d] - 1, 0))
        x = ew.logical_xor(after, before) if x.dtype is dt.bool_ else ew.sub(after, before)
    return deliver(ew.copy(x) if x is input else x, out, "diff")


def _as_slab(p, like, dim):
    """Return what is prepended or appended; a 0-d tensor fills one slab."""
    if p.ndim:
        if p.ndim != like.ndim:
            raise ShapeError(f"diff joins tensors of as many dims as the input {like.aval} has, got {p.aval}")
        return p
    return expand(p, shape=tuple(1 if i == dim else n for i, n in enumerate(like.shape)))


def _trapezoid_parts(y, x, dx, dim):
    """Return the areas between neighbours along `dim`."""
    if not y.ndim:
        raise DimError("trapezoid runs along a dimension, y is a 0-d tensor")
    d = canonical_dim(dim, y.ndim)
    n = y.shape[d]
    if not y.dtype.is_inexact and not (isinstance(x, Tensor) and x.dtype.is_inexact):
        y = to_dtype(y, result_type(y, 1.0))
    if x is None:
        if isinstance(dx, Tensor):
            if dx.ndim:
                raise DTypeError("trapezoid takes a number as dx; for a step that varies pass the places as x")
            y, dx = promote(ew.mul, y, dx)
        return ew.mul(_neighbours(ew.add, y, d), ew.mul(dx, 0.5) if isinstance(dx, Tensor) else 0.5 * dx), d
    if x.ndim == 1:
        x = reshape(x, shape=(n,) + (1,) * (y.ndim - 1 - d)) if x.shape[0] == n else x
    shape = broadcast_shapes(x.shape, y.shape)
    kind, d = result_type(x, y), d + len(shape) - y.ndim
    x, y = expand(to_dtype(x, kind), shape=shape), expand(to_dtype(y, kind), shape=shape)
    return ew.mul(ew.mul(_neighbours(ew.sub, x, d), _neighbours(ew.add, y, d)), 0.5), d


def _neighbours(op, x, dim):
    n = x.shape[dim]
    return op(cut(x, dim, 1, max(n, 1)), cut(x, dim, 0, max(n - 1, 0)))


@api(method=False, names=("trapz",), memoised=True)
def trapezoid(y, x=None, *, dx=1, dim=-1):
    """Return the integral of y over the positions x (or steps of dx) by the trapezoidal rule."""
    dx = as_operand(dx, "trapezoid")
    if x is None and y.ndim and y.dtype.is_inexact and not isinstance(dx, Tensor) and y.shape[canonical_dim(dim, y.ndim)] > 1:
        return _trapezoid_of_steps(y, dx, canonical_dim(dim, y.ndim))
    parts, d = _trapezoid_parts(y, x, dx, dim)
    return rd.sum_(parts, dim=(d,), keepdim=False)


@rounds_once
def _trapezoid_of_steps(y, dx, d):
    """Return the integral over even steps: both ends count half."""
    ends = [select(y, dim=d, index=i) for i in (0, y.shape[d] - 1)]
    return ew.mul(ew.sub(rd.sum_(y, dim=(d,), keepdim=False), ew.mul(ew.add(*ends), 0.5)), dx)


@api(method=False, memoised=True)
def cumulative_trapezoid(y, x=None, *, dx=1, dim=-1):
    """Return the running integral of y by the trapezoidal rule."""
    parts, d = _trapezoid_parts(y, x, as_operand(dx, "cumulative_trapezoid"), dim)
    return sc.cumsum(parts, dim=d)
