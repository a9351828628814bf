"""Reductions over dims. Dims are sorted non-negative tuples; `keepdim` leaves dims of size 1."""

import numpy as np

from ... import dtype as dt
from ...errors import ArgumentError, DimError, DTypeError
from ...opdef.batch_rules import ALONG
from ...opdef.op import NO_GRAD, Composite, Host, Reduce, op
from ...opdef.param_checks import check_dims, check_flag
from ...reference.float8 import KINDS
from . import elementwise as ew
from .elementwise_rules import is_low
from .scan import products_of_others
from .shape import expand, permute, reshape


def reduced_shape(shape, dim, keepdim):
    """Return the shape of a reduction's result."""
    if keepdim:         # lists are made sooner than tuples of generators
        return tuple([1 if i in dim else n for i, n in enumerate(shape)])
    return tuple([n for i, n in enumerate(shape) if i not in dim])


def keepdim_shape(shape, dim):
    """Return the shape with reduced dims of size 1."""
    return reduced_shape(shape, dim, True)


def back(g, shape, dim):
    """Broadcast a reduction's gradient (or result) over the shape of its input."""
    return expand(reshape(g, shape=keepdim_shape(shape, dim)) if len(g.shape) or len(dim) < len(shape) else g, shape=shape)


def count_of(shape, dim) -> int:
    """Return the number of elements behind each result."""
    n = 1
    for d in dim:
        n *= shape[d]
    return n


def _wide(fn):
    """Accumulate float16 and bfloat16 in float32."""

    def ref(x, *, dim, keepdim):
        if x.dtype in KINDS:
            dt.refuse_float8(fn.__name__, dt.from_numpy(x.dtype))
        out = fn(x.astype(np.float32) if is_low(x) else x, axis=dim, keepdims=keepdim)
        return np.asarray(out, x.dtype)

    return ref


def infer_reduce(name, gives=None, empty=True, floats=False):
    """Return the shape rule of a reduction over `dim`."""
    def infer(x, *, dim, keepdim):
        check_dims(dim, x.ndim)
        check_flag(keepdim, "keepdim")
        if not empty and any(x.shape[d] == 0 for d in dim):
            raise DimError(f"{name} of {x}: a dimension that it reduces is empty, so there is no value")
        if not empty and x.dtype.is_complex:
            raise DTypeError(f"{name} takes numbers that have an order, got {x}; take their real(), imag() or abs()")
        if floats and not x.dtype.is_inexact:
            raise DTypeError(f"{name} takes floating point types, got {x}; cast with .to() or pass dtype=")
        return x.with_shape(reduced_shape(x.shape, dim, keepdim)).with_dtype(gives or x.dtype)

    return infer


sum_ = op("sum", infer=infer_reduce("sum"), ref=_wide(np.sum),
          vjp=(lambda g, out, x, *, dim, keepdim: back(g, x.shape, dim),), lower=Reduce("sum"),
          traits=("self_checking", "wide_on_gpu"),
          doc="Sum; float16 and bfloat16 accumulate in float32.")


def _nansum_vjp(g, out, x, *, dim, keepdim):
    return ew.where(ew.isnan(x), 0.0, back(g, x.shape, dim))


nansum = op("nansum", infer=infer_reduce("nansum", floats=True), ref=_wide(np.nansum), vjp=(_nansum_vjp,), batch=ALONG,
            lower=Composite(lambda x, *, dim, keepdim: sum_(ew.where(ew.isnan(x), 0.0, x), dim=dim, keepdim=keepdim)),
            traits=("wide_on_gpu",), doc="Sum, nan counted as 0.")


_sum_of_ints = infer_reduce("int_sum", dt.int64)


def _infer_int_sum(x, *, dim, keepdim):
    if x.dtype.is_inexact:
        raise DTypeError(f"int_sum takes integers and bools, got {x}; sum takes floating point types")
    return _sum_of_ints(x, dim=dim, keepdim=keepdim)


int_sum = op("int_sum", infer=_infer_int_sum,
             ref=lambda x, *, dim, keepdim: np.asarray(np.sum(x, axis=dim, keepdims=keepdim, dtype=np.int64)),
             vjp=NO_GRAD, traits=("exact", "ref_first", "renamed"), doc="Sum of integers or bools in int64.",
             lower=Composite(lambda x, *, dim, keepdim: sum_(ew.cast(x, dtype=dt.int64), dim=dim, keepdim=keepdim)),
             batch=ALONG)


def _rows_last(x, dim):
    order = tuple(d for d in range(len(x.shape)) if d not in dim) + tuple(dim)
    permuted = permute(x, dims=order)
    n = count_of(x.shape, dim)
    return reshape(permuted, shape=(*permuted.shape[:len(order) - len(dim)], n)), permuted.shape, order


def _prod_vjp(g, out, x, *, dim, keepdim):
    """The product of all others is the product before times the product after, so zeros need no special case."""
    if len(dim) == 1:
        return ew.mul(back(g, x.shape, dim), products_of_others(x, dim=dim[0]))
    rows, permuted, order = _rows_last(x, dim)
    others = reshape(products_of_others(rows, dim=len(rows.shape) - 1), shape=permuted)
    inverse = tuple(order.index(d) for d in range(len(order)))
    return ew.mul(back(g, x.shape, dim), permute(others, dims=inverse))


prod = op("prod", infer=infer_reduce("prod"), ref=_wide(np.prod), vjp=(_prod_vjp,), lower=Reduce("prod"),
          traits=("autocast_wide", "rule_as_one"),
          doc="Product; float16 and bfloat16 accumulate in float32.")


def shares(g, x, extreme, dim) -> tuple:
    """Return each element's share of the gradient of an extreme along dims, and a mask of the elements that equal it. A nan
    extreme is shared by all nan."""
    hit = ew.logical_or(ew.eq(x, back(extreme, x.shape, dim)), ew.isnan(x))
    count = sum_(ew.cast(hit, dtype=dt.of(x)), dim=dim, keepdim=True)
    return expand(ew.div(reshape(g, shape=keepdim_shape(x.shape, dim)), count), shape=x.shape), hit


def _extreme_vjp(g, out, x, *, dim, keepdim):
    """Ties share the gradient equally."""
    share, hit = shares(g, x, out, dim)
    return ew.where(hit, share, 0.0)


amax = op("amax", infer=infer_reduce("amax", empty=False), ref=_wide(np.maximum.reduce), vjp=(_extreme_vjp,),
          lower=Reduce("max"), traits=("exact", "rule_as_one"), doc="The largest element; nan if one is nan.")
amin = op("amin", infer=infer_reduce("amin", empty=False), ref=_wide(np.minimum.reduce), vjp=(_extreme_vjp,),
          lower=Reduce("min"), traits=("exact", "rule_as_one"), doc="The smallest element; nan if one is nan.")
any_ = op("any", infer=infer_reduce("any", dt.bool_), vjp=NO_GRAD, lower=Reduce("any"), traits=("exact", "float8"),
          ref=lambda x, *, dim, keepdim: np.logical_or.reduce(x, axis=dim, keepdims=keepdim),
          doc="Whether an element is not zero; nan counts as not zero.")
all_ = op("all", infer=infer_reduce("all", dt.bool_), vjp=NO_GRAD, lower=Reduce("all"), traits=("exact", "float8"),
          ref=lambda x, *, dim, keepdim: np.logical_and.reduce(x, axis=dim, keepdims=keepdim),
          doc="Whether no element is zero; nan counts as not zero.")


def _infer_require(holds, *, message):
    if holds.ndim or holds.dtype is not dt.bool_:
        raise DTypeError(f"require takes one bool, got {holds}")
    if type(message) is not str:
        raise ArgumentError(f"require takes a message as text, got {message!r}")
    return holds


def _require(holds, *, message):
    if not holds:
        raise ArgumentError(message)
    return np.array(holds)


require = op("require", infer=_infer_require, ref=_require, vjp=NO_GRAD, lower=Host(), traits=("exact", "refuses"),
             doc="A bool that must be true. Recorded functions that check values keep their checks by it.")


def _arg(fn):
    """The position of an extreme, row-major over the reduced dims: the first of equals, nan before all."""

    def ref(x, *, dim, keepdim):
        wide = x.astype(np.float32) if is_low(x) else x
        if len(dim) == 1:
            return np.asarray(fn(wide, axis=dim[0], keepdims=keepdim), np.int64)
        rest = tuple(d for d in range(x.ndim) if d not in dim)
        rows = wide.transpose(*rest, *sorted(dim)).reshape(*(x.shape[d] for d in rest), count_of(x.shape, dim))
        return np.asarray(fn(rows, axis=-1), np.int64).reshape(reduced_shape(x.shape, dim, keepdim))

    return ref


argmax = op("argmax", infer=infer_reduce("argmax", dt.int64, empty=False), ref=_arg(np.argmax), vjp=NO_GRAD,
            lower=Reduce("argmax"), traits=("exact",), doc="Where the largest element is: the first of equals.")
argmin = op("argmin", infer=infer_reduce("argmin", dt.int64, empty=False), ref=_arg(np.argmin), vjp=NO_GRAD,
            lower=Reduce("argmin"), traits=("exact",), doc="Where the smallest element is: the first of equals.")
