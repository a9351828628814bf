"""Reductions, scans, sorting and sets of the array API standard."""

from collections import namedtuple

import numpy as np

from ...ir import dtype as dt
from ...ir.errors import ShapeError
from ...ir.opdef.aval import canonical_dim, canonical_dims
from ..api.register.register import FUNCTIONS
from ..api.views.tensor_factories import created
from ..core.tensor import wrap
from .data_types import UNSIGNED, checked, named, take_dtype

__all__ = ["all", "any", "argmax", "argmin", "argsort", "cumulative_prod", "cumulative_sum", "diff", "max", "mean",
           "min", "prod", "sort", "std", "sum", "unique_all", "unique_counts", "unique_inverse", "unique_values", "var"]


def _axes(x, axis):
    return canonical_dims(axis, x.ndim)


def _sum_dtype(x, dtype):
    """Return the default dtype of sums and products: integers are widened to 64 bits."""
    if dtype is not None:
        return take_dtype(dtype)
    if x.dtype in UNSIGNED:
        return dt.uint64
    return dt.int64 if x.dtype.is_integer else x.dtype


def sum(x, /, *, axis=None, dtype=None, keepdims=False):
    """Return the sum over axes."""
    d = _sum_dtype(checked("sum", x, "numeric"), dtype)
    axes = _axes(x, axis)
    if not axes and x.ndim:
        return x.to(d, copy=True)
    return FUNCTIONS["sum"](x.to(d), axes if x.ndim else None, keepdims, dtype=d)


def prod(x, /, *, axis=None, dtype=None, keepdims=False):
    """Return the product over axes."""
    d, axes = _sum_dtype(checked("prod", x, "numeric"), dtype), _axes(x, axis)
    result = x.to(d)
    for a in reversed(axes):
        result = FUNCTIONS["prod"](result, a, True, dtype=d)
    if keepdims or not x.ndim:
        return result
    return FUNCTIONS["reshape"](result, tuple(n for i, n in enumerate(x.shape) if i not in axes))


def _extreme(name, doc):
    def fn(x, /, *, axis=None, keepdims=False):
        axes = _axes(checked(name, x, "real"), axis)
        return FUNCTIONS["a" + name](x, axes, keepdims) if axes else x.clone()

    return named(fn, name, doc)


max, min = _extreme("max", "Return the largest elements."), _extreme("min", "Return the smallest elements.")


def mean(x, /, *, axis=None, keepdims=False):
    """Return the mean over axes."""
    axes = _axes(checked("mean", x, "floating"), axis)
    return FUNCTIONS["mean"](x, axes, keepdims) if axes or not x.ndim else x.clone()


def var(x, /, *, axis=None, correction=0.0, keepdims=False):
    """Return the variance over axes, divided by N - correction."""
    axes = _axes(checked("var", x, "real floating"), axis)
    if not axes and x.ndim:
        return FUNCTIONS["mul"](x, 0.0)
    return FUNCTIONS["var"](x, axes if x.ndim else None, correction=correction, keepdim=keepdims)


def std(x, /, *, axis=None, correction=0.0, keepdims=False):
    """Return the standard deviation over axes, of a variance divided by N - correction."""
    return FUNCTIONS["sqrt"](var(checked("std", x, "real floating"), axis=axis, correction=correction, keepdims=keepdims))


def _truth(name, doc):
    def fn(x, /, *, axis=None, keepdims=False):
        axes = _axes(checked(name, x, "all"), axis)
        truth = FUNCTIONS["ne"](x, 0) if x.dtype is not dt.bool_ else x
        return FUNCTIONS[name](truth, axes, keepdims) if axes else truth.clone()

    return named(fn, name, doc)


all = _truth("all", "Return whether all elements are nonzero.")
any = _truth("any", "Return whether any element is nonzero.")


def _position(name, doc):
    def fn(x, /, *, axis=None, keepdims=False):
        return FUNCTIONS[name](checked(name, x, "real"), axis, keepdims)

    return named(fn, name, doc)


argmax = _position("argmax", "Return the index of the largest element, the first of several.")
argmin = _position("argmin", "Return the index of the smallest element, the first of several.")


# Scans.


def _cumulative(name, behind, start, doc):
    def fn(x, /, *, axis=None, dtype=None, include_initial=False):
        checked(name, x, "numeric")
        if axis is None:
            if x.ndim > 1:
                raise ShapeError(f"{name}: axis is needed for an array of {x.ndim} dimensions")
            axis = 0
        axis = canonical_dim(axis, x.ndim, what="axis")
        d = _sum_dtype(x, dtype)
        result = FUNCTIONS[behind](x.to(d), axis, dtype=d)
        if include_initial:
            first = tuple(1 if i == axis else n for i, n in enumerate(x.shape))
            result = FUNCTIONS["cat"]([FUNCTIONS["full"](first, start, dtype=d), result], axis)
        return result

    return named(fn, name, doc)


cumulative_sum = _cumulative("cumulative_sum", "cumsum", 0,
                             "Return sums of all elements up to each, beginning with 0 if `include_initial`.")
cumulative_prod = _cumulative("cumulative_prod", "cumprod", 1,
                              "Return products of all elements up to each, beginning with 1 if `include_initial`.")


def diff(x, /, *, axis=-1, n=1, prepend=None, append=None):
    """Return the n-th differences between neighbours along an axis."""
    return FUNCTIONS["diff"](checked("diff", x, "numeric"), n, axis, prepend=prepend, append=append)


# Sorting and sets.


def argsort(x, /, *, axis=-1, descending=False, stable=True):
    """Return the indices that sort along an axis."""
    return FUNCTIONS["argsort"](checked("argsort", x, "real"), dim=axis, descending=descending, stable=stable)


def sort(x, /, *, axis=-1, descending=False, stable=True):
    """Return the elements in order along an axis."""
    return FUNCTIONS["sort"](checked("sort", x, "real"), dim=axis, descending=descending, stable=stable)[0]


UniqueAll = namedtuple("UniqueAll", "values indices inverse_indices counts")
UniqueCounts = namedtuple("UniqueCounts", "values counts")
UniqueInverse = namedtuple("UniqueInverse", "values inverse_indices")


def _order(flat):
    if flat.dtype.is_complex:
        return created(wrap(np.argsort(flat.detach().numpy(), kind="stable")))
    return FUNCTIONS["argsort"](flat, dim=0, stable=True)


def _sets(x):
    """Return (values, first index of each, inverse, counts); nan never equals nan, so each one is a value of its own."""
    flat = checked("unique", x, "all").reshape(-1)
    n = flat.shape[0]
    order = _order(flat)
    ordered = FUNCTIONS["index_select"](flat, 0, order)
    begins = FUNCTIONS["ones"](n, dtype=dt.bool_)
    if n > 1:
        begins[1:] = FUNCTIONS["ne"](ordered[1:], ordered[:-1])
    starts = FUNCTIONS["nonzero"](begins).reshape(-1)
    group = FUNCTIONS["sub"](FUNCTIONS["cumsum"](begins, 0), 1)
    inverse = FUNCTIONS["zeros"](n, dtype=dt.int64)
    inverse[order] = group
    ends = FUNCTIONS["cat"]([starts, FUNCTIONS["full"]((1,), n, dtype=dt.int64)], 0)
    counts = FUNCTIONS["sub"](ends[1:], ends[:-1])
    return ordered[starts], order[starts], inverse.reshape(x.shape), counts


def unique_all(x, /):
    """Return each value once, its first index, the inverse map and its count."""
    return UniqueAll(*_sets(x))


def unique_counts(x, /):
    """Return each value once, and its count."""
    return UniqueCounts(*_sets(x)[::3])


def unique_inverse(x, /):
    """Return each value once, and the inverse map."""
    return UniqueInverse(*_sets(x)[::2])


def unique_values(x, /):
    """Return each value once."""
    return _sets(x)[0]
