"""Reductions: sums, means, truth, extremes, spread, norms."""

from typing import Any

from ....ir import dtype as dt
from ....ir.errors import ArgumentError, DimError, DTypeError
from ....ir.opdef.aval import canonical_dim, canonical_dims
from ....ir.ops.core import elementwise as ew
from ....ir.ops.core import moments as mo
from ....ir.ops.core import reduce as rd
from ....ir.ops.core.complex_numbers import complex_, imag, modulus, real
from ....ir.ops.core.shape import reshape
from ....ir.ops.index.indexing import gather
from ....ir.symbols.substitute import as_float
from ...core.dispatch import of_every_sample, reshaped, untaped
from ...core.node import INEXACT
from ...core.tensor import Tensor, made_whole, shape_of
from ...state.mode import Defaults
from ..register import return_types
from ..register.register import api, deliver
from ..register.type_promotion import need_tensors, to_dtype
from .elementwise import operate

_FEW = 8
_ALL_DIMS = [tuple(range(n)) for n in range(_FEW)]


def dims_of(input, dim):
    """Return the dims of a reduction: all for None or ()."""
    n = input._a.ndim
    if dim is None:
        return _ALL_DIMS[n] if n < _FEW else tuple(range(n))
    if dim.__class__ is int and -n <= dim < n:
        return _ALL_DIMS[n] if n == 1 else (dim if dim >= 0 else dim + n,)
    return canonical_dims(None if dim is None or (isinstance(dim, (tuple, list)) and not dim) else dim, input.ndim)


def one_dim(input, dim):
    """Return the one dim of a reduction; () for a 0-d tensor."""
    n = input._a.ndim
    d = canonical_dim(dim, n)
    return (d,) if n else ()


def summable(input, dtype, out=None):
    """Return the input in the dtype of its sum or product: that of `out`, or int64 for integers and bools."""
    if dtype is None and out is not None and (out.dtype.is_complex or not input.dtype.is_complex):
        dtype = out.dtype
    if dtype is not None:
        return to_dtype(input, dt.as_dtype(dtype))
    return input if input.dtype.is_inexact else to_dtype(input, dt.int64)


def averageable(input, dtype, name):
    """Return the input in `dtype`; raise if that is not floating point."""
    x = input if dtype is None else to_dtype(input, dt.as_dtype(dtype))
    if x._a.dtype.kind not in INEXACT:
        raise DTypeError(f"{name} takes a floating point tensor, got {x.aval}; cast it with .float() or pass dtype=")
    return x


def gather_along(x, index, dim):
    """Return the elements at `index` along `dim`; both have the same dimensions."""
    return gather.call(x, index, dim=dim) if x._a.ndim else x


def as_column(x):
    """Return a tensor with at least one dimension."""
    return x if x.ndim else reshape(x, shape=(1,))


# Sums, products, means.


@api()
def sum(input, dim=None, keepdim=False, *, dtype=None, out=None):
    """Sum over dims (all by default); integers and bools are summed in int64."""
    kind = input._a.dtype.kind
    if dtype is None and (kind in "iub") and input.dtype is not dt.int64:
        return deliver(rd.int_sum.call(input, dim=dims_of(input, dim), keepdim=keepdim), out, "sum")
    x = input if dtype is None and out is None and kind == "f" else summable(input, dtype, out)
    result = rd.sum_.call(x, dim=dims_of(x, dim), keepdim=keepdim)
    return result if out is None else deliver(result, out, "sum")


@api(memoised=True)
def nansum(input, dim=None, keepdim=False, *, dtype=None, out=None):
    """Sum over dims, counting nan as 0."""
    x = summable(input, dtype, out)
    total = rd.nansum if x.dtype.is_inexact else rd.sum_
    return deliver(total.call(x, dim=dims_of(x, dim), keepdim=keepdim), out, "nansum")


@api(memoised=True)
def prod(input, dim=None, keepdim=False, *, dtype=None, out=None):
    """Multiply elements over a dim (all by default); integers and bools are multiplied in int64."""
    x = summable(input, dtype, out)
    return deliver(rd.prod(x, dim=dims_of(x, dim), keepdim=keepdim), out, "prod")


@api()
def mean(input, dim=None, keepdim=False, *, dtype=None, out=None):
    """Return the mean over dims (all by default)."""
    x = averageable(input, dtype if dtype is not None or out is None else _wider(input.dtype, out.dtype), "mean")
    result = mo.mean.call(x, dim=dims_of(x, dim), keepdim=keepdim)
    return result if out is None else deliver(result, out, "mean")


def _wider(own, requested):
    """Return the dtype of `out` if it holds the result's own dtype, else that."""
    return requested if dt.promote_types(own, requested) is requested else own


@api(memoised=True)
def nanmean(input, dim=None, keepdim=False, *, dtype=None, out=None):
    """Return the mean over dims of the elements that are not nan."""
    x = averageable(input, dtype, "nanmean")
    dims = dims_of(x, dim)
    there, wide = ew.logical_not(ew.isnan(x)), ew.widened(x)
    count = rd.sum_.call(ew.cast(there, dtype=wide.dtype), dim=dims, keepdim=keepdim)
    total = rd.sum_.call(ew.where(there, wide, 0.0), dim=dims, keepdim=keepdim)
    return deliver(ew.narrowed(ew.div(total, count), x), out, "nanmean")


@api(memoised=True)
def count_nonzero(input, dim=None, *more, keepdim=False):
    """Return the number of nonzero elements, of all or along dims."""
    dim = (dim, *more) if more else dim
    there = input if input.dtype is dt.bool_ else ew.ne(input, 0)
    return rd.int_sum.call(there, dim=dims_of(input, dim), keepdim=keepdim)


@api(memoised=True)
def logsumexp(input, dim, keepdim=False, *, out=None):
    """Return the log of the sum of exp(input) over dims, without overflow."""
    from_float = input if input.dtype.is_inexact else to_dtype(input, promote_to_float(input))
    return deliver(mo.logsumexp(from_float, dim=dims_of(input, dim), keepdim=keepdim), out, "logsumexp")


def promote_to_float(input):
    """Return the dtype that an integer input has in a floating point function."""
    return dt.promote_types(input.dtype, Defaults.dtype)


# Truth.


def _truth(op, name, input, dim, keepdim, out):
    none = isinstance(dim, (tuple, list)) and not dim    # an empty tuple reduces nothing here
    result = op(input, dim=() if none else dims_of(input, dim), keepdim=keepdim)
    if out is not None and out.dtype not in (dt.bool_, dt.uint8):
        raise DTypeError(f"{name}: out must be of bool or uint8, got {out.dtype.name}")
    if input.dtype is dt.uint8 and (out is None or out.dtype is dt.uint8):
        result = ew.cast(result, dtype=dt.uint8)
    return deliver(result, out, name)


@api(memoised=True)
def all(input, dim=None, keepdim=False, *, out=None):
    """Return whether all elements are nonzero (uint8 gives uint8)."""
    return _truth(rd.all_, "all", input, dim, keepdim, out)


@api(memoised=True)
def any(input, dim=None, keepdim=False, *, out=None):
    """Return whether any element is nonzero (uint8 gives uint8)."""
    return _truth(rd.any_, "any", input, dim, keepdim, out)


def holds_anywhere(condition) -> bool:
    """Return whether a condition is true for any element; in vmap of any sample; False for meta tensors."""
    return of_every_sample(_holds, condition)


def _holds(condition):
    return not condition.is_meta and bool(any(condition))


def refuse_unless(condition, x, message):
    """Raise ArgumentError unless `condition(x)`, a function of operators, is true. Replays of a recorded call raise as well."""
    untaped(lambda a: rd.require.call(condition(a), message=message), x)


# Extremes.


@api(memoised=True)
def amax(input, dim=(), keepdim=False, *, out=None):
    """Return the largest values over dims; ties share the gradient equally."""
    return deliver(rd.amax.call(input, dim=dims_of(input, dim), keepdim=keepdim), out, "amax")


@api(memoised=True)
def amin(input, dim=(), keepdim=False, *, out=None):
    """Return the smallest values over dims; ties share the gradient equally."""
    return deliver(rd.amin.call(input, dim=dims_of(input, dim), keepdim=keepdim), out, "amin")


@api(memoised=True)
def aminmax(input, *, dim=None, keepdim=False, out=None) -> return_types.aminmax:
    """Return the smallest and largest values as (min, max)."""
    dims = dims_of(input, dim)
    pair = rd.amin.call(input, dim=dims, keepdim=keepdim), rd.amax.call(input, dim=dims, keepdim=keepdim)
    return return_types.deliver_all(return_types.aminmax, pair, out)


def _arg(op, input, dim, keepdim, out, name):
    dims = dims_of(input, None) if dim is None else one_dim(input, dim)
    if rd.count_of(shape_of(input), dims) == 0:
        what = "tensor" if dim is None else f"dim {dim}"
        raise DimError(f"{name} of an empty {what} has no value (shape {list(input.shape)})")
    result = op.call(input, dim=dims, keepdim=keepdim)
    return result if out is None else deliver(result, out, name)


@api(memoised=True)
def argmax(input, dim=None, keepdim=False, *, out=None):
    """Return the index of the largest element, the first among equals; without dim an index into the flattened tensor."""
    return _arg(rd.argmax, input, dim, keepdim, out, "argmax")


@api(memoised=True)
def argmin(input, dim=None, keepdim=False, *, out=None):
    """Return the index of the smallest element, the first among equals; without dim an index into the flattened tensor."""
    return _arg(rd.argmin, input, dim, keepdim, out, "argmin")


def values_at(kind, input, index, dim, keepdim, out):
    """Return the values that `index` (with its dim kept) selects along `dim`, as (values, indices)."""
    values = gather_along(input, index, dim[0]) if dim else ew.copy(input)
    if not keepdim:
        shape = rd.reduced_shape(shape_of(input), dim, False)
        values, index = made_whole(reshaped(values, shape)), made_whole(reshaped(index, shape))
    return return_types.deliver_all(kind, (values, index), out)


def _extreme(arg, full, pairwise, kind, input, dim, keepdim, other, out):
    """Compute the three forms of max and min: over everything, along a dim with indices, of two tensors."""
    name = kind.__name__
    if isinstance(dim, Tensor) or other is not None:
        return deliver(operate(pairwise, input, dim if other is None else other), out, name)
    if not isinstance(input, Tensor):
        need_tensors(name, input)
    if dim is None:
        result = full.call(input, dim=dims_of(input, None), keepdim=False)
        return result if out is None else deliver(result, out, name)
    dims = one_dim(input, dim)
    if rd.count_of(shape_of(input), dims) == 0:
        raise DimError(f"{name} along dim {dim} of size 0 has no value (shape {list(input.shape)})")
    return values_at(kind, input, arg.call(input, dim=dims, keepdim=True), dims, keepdim, out)


@api(memoised=True)
def max(input, dim=None, keepdim=False, *, other=None, out=None) -> Any:
    """Return the largest element; along `dim` as (values, indices); with a second tensor the elementwise maximum."""
    return _extreme(rd.argmax, rd.amax, ew.maximum, return_types.max, input, dim, keepdim, other, out)


@api(memoised=True)
def min(input, dim=None, keepdim=False, *, other=None, out=None) -> Any:
    """Return the smallest element; along `dim` as (values, indices); with a second tensor the elementwise minimum."""
    return _extreme(rd.argmin, rd.amin, ew.minimum, return_types.min, input, dim, keepdim, other, out)


# Spread.


def _spread_arguments(input, dim, unbiased, correction, name):
    """Return the dims and the correction of the forms var(dim, unbiased), var(unbiased) and var(dim, correction=)."""
    if isinstance(dim, bool):
        dim, unbiased = None, dim
    if correction is None:
        correction = 1 if unbiased is None else int(unbiased)
    elif unbiased is not None:
        raise ArgumentError(f"{name} takes unbiased or correction, not both")
    if not input.dtype.is_inexact:
        raise DTypeError(f"{name} takes a floating point tensor, got {input.aval}; cast it with .float()")
    return {"dim": dims_of(input, dim), "correction": correction}


def _var(x, keepdim, **spread):
    if not x.dtype.is_complex:
        return mo.var(x, **spread, keepdim=keepdim)
    return ew.add(*[mo.var(part(x), **spread, keepdim=keepdim) for part in (real, imag)])


def _std(x, keepdim, **spread):
    if not x.dtype.is_complex:
        return mo.std(x, **spread, keepdim=keepdim)
    return modulus(complex_(*[mo.std(part(x), **spread, keepdim=keepdim) for part in (real, imag)]))


@api(memoised=True)
def var(input, dim=None, unbiased=None, keepdim=False, *, correction=None, out=None):
    """Return the variance over dims, divided by the count less `correction` (1 by default)."""
    return deliver(_var(input, keepdim, **_spread_arguments(input, dim, unbiased, correction, "var")), out, "var")


@api(memoised=True)
def std(input, dim=None, unbiased=None, keepdim=False, *, correction=None, out=None):
    """Return the standard deviation over dims, divided by the count less `correction` (1 by default)."""
    return deliver(_std(input, keepdim, **_spread_arguments(input, dim, unbiased, correction, "std")), out, "std")


@api(method=False, memoised=True)
def var_mean(input, dim=None, unbiased=None, keepdim=False, *, correction=None) -> tuple[Tensor, Tensor]:
    """Return the variance and mean over dims."""
    spread = _spread_arguments(input, dim, unbiased, correction, "var_mean")
    return _var(input, keepdim, **spread), mo.mean.call(input, dim=spread["dim"], keepdim=keepdim)


@api(method=False, memoised=True)
def std_mean(input, dim=None, unbiased=None, keepdim=False, *, correction=None) -> tuple[Tensor, Tensor]:
    """Return the standard deviation and mean over dims."""
    spread = _spread_arguments(input, dim, unbiased, correction, "std_mean")
    return _std(input, keepdim, **spread), mo.mean.call(input, dim=spread["dim"], keepdim=keepdim)


# Norms.


def vector_norm(x, ord=2, dim=None, keepdim=False, *, dtype=None, out=None):
    """Return the vector norm of order `ord` (a number, or inf) over dims, by default of all elements."""
    if isinstance(ord, str):
        raise ArgumentError(f"vector_norm takes a number as its order, got {ord!r}")
    x = averageable(x, dtype, "vector_norm")
    x = modulus(x) if x.dtype.is_complex else x
    dims = dims_of(x, dim)
    return deliver(mo.vector_norm(x, ord=as_float(ord), dim=dims, keepdim=keepdim), out, "vector_norm")


@api(memoised=True)
def dist(input, other, p=2):
    """Return the norm of order p of input - other."""
    return vector_norm(operate(ew.sub, input, other), p)
