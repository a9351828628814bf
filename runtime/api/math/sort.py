"""Sorting: orders, ranks, distinct values, search. Sorts are stable; nan comes last."""

from typing import Any

import numpy as np

from ....ir import dtype as dt
from ....ir.dtype import FLOAT_CHARS
from ....ir.errors import ArgumentError, DimError, ShapeError
from ....ir.opdef.aval import canonical_dim
from ....ir.ops.core import elementwise as ew
from ....ir.ops.core import reduce as rd
from ....ir.ops.core.scan import cumsum
from ....ir.ops.core.shape import cat, full, iota, permute, reshape
from ....ir.ops.index import sort as so
from ....ir.ops.index.indexing import index as take_index
from ....ir.ops.index.indexing import nonzero, scatter
from ....ir.ops.index.order_statistics import run_starts
from ....ir.symbols.substitute import as_int
from ...autograd.missing_rules import without_rule
from ...core.dispatch import kernel_of, untaped
from ...core.tensor import Tensor, made_whole, shape_of, wrap
from ...state.mode import tls
from ..register import return_types
from ..register.register import api, deliver
from ..register.type_promotion import result_type, to_dtype
from ..views.conversions import contiguous
from ..views.indexing import count_of
from ..views.tensor_factories import filled
from .cumulative import cut
from .reductions import as_column, gather_along


def order_of(x, dim, descending=False):
    """Return the stable order along a dim (a 0-d tensor has the order 0)."""
    return so.argsort(x, dim=dim, descending=bool(descending))


@api(memoised=True)
def argsort(input, dim=-1, descending=False, stable=True, *, out=None):
    """Return the indices that sort along a dim. `stable` is ignored: equal elements always keep their order."""
    order = order_of(as_column(input), canonical_dim(dim, input.ndim), descending)
    return deliver(reshape(order, shape=tuple(input.shape)), out, "argsort")


@api(memoised=True)
def sort(input, dim=-1, descending=False, stable=True, *, out=None) -> return_types.sort:
    """Sort along a dim; return (values, indices). `stable` is ignored: equal elements always keep their order."""
    d = canonical_dim(dim, input.ndim)
    x = as_column(input)
    order = order_of(x, d, descending)
    pair = gather_along(x, order, d), order
    if not input.ndim:
        pair = tuple(reshape(p, shape=()) for p in pair)
    return return_types.deliver_all(return_types.sort, pair, out)


@api(memoised=True)
def msort(input, *, out=None):
    """Sort along the first dim."""
    return deliver(sort(input, 0).values, out, "msort")


@api(memoised=True)
def topk(input, k, dim=-1, largest=True, sorted=True, *, out=None) -> return_types.topk:
    """Return the k largest (or smallest) elements along a dim, in order, as (values, indices); the first among equals.
    `sorted` is ignored: False allows any order, this one too."""
    d = canonical_dim(dim, input.ndim)
    x = as_column(input)
    found = so.arg_topk(x, k=as_int(k), dim=d, largest=bool(largest))
    pair = gather_along(x, found, d), found
    if not input.ndim and k == 1:
        pair = tuple(reshape(p, shape=()) for p in pair)
    return return_types.deliver_all(return_types.topk, pair, out)


@api(memoised=True)
def kthvalue(input, k, dim=-1, keepdim=False, *, out=None) -> return_types.kthvalue:
    """Return the k-th smallest element along a dim (counted from 1) and its index, as (values, indices)."""
    d = canonical_dim(dim, input.ndim)
    x = as_column(input)
    if not 1 <= k <= x.shape[d]:
        raise DimError(f"kthvalue of {input.aval} along dim {dim}: k={k} must be within 1..{x.shape[d]}")
    found = contiguous(cut(so.arg_topk(x, k=as_int(k), dim=d, largest=False), d, k - 1, k))
    return one_along(return_types.kthvalue, input, found, d, keepdim, out)


def one_along(kind, input, index, dim, keepdim, out):
    """Return (values, indices) of one element along `dim`; `index` has that dim, of size 1."""
    values = gather_along(as_column(input), index, dim)
    shape = tuple(input.shape[:dim]) + ((1,) if keepdim and input.ndim else ()) + tuple(input.shape[dim + 1:])
    pair = made_whole(reshape(values, shape=shape)), made_whole(reshape(index, shape=shape))
    return return_types.deliver_all(kind, pair, out)


# Search.


@api(method=True, memoised=True)
def searchsorted(sorted_sequence, input, *, out_int32=False, right=False, side=None, sorter=None, out=None):
    """Return where each value would be inserted into sorted rows: before its equals, or after them when `right`."""
    if side not in (None, "left", "right") or (side == "left" and right):
        raise ArgumentError(f"searchsorted: side={side!r} and right={right} must name one side, 'left' or 'right'")
    rows = sorted_sequence
    if sorter is not None:
        if shape_of(sorter) != shape_of(rows):
            raise ShapeError(f"searchsorted: a sorter orders all of the sequence {rows.aval}, got {sorter.aval}")
        rows = gather_along(rows, sorter, rows.ndim - 1)
    given = as_operand(input, rows)
    d = dt.promote_types(rows.dtype, given.dtype)
    found = so.searchsorted(to_dtype(rows, d), to_dtype(given, d), right=bool(right or side == "right"))
    return deliver(to_dtype(found, dt.int32) if out_int32 else found, out, "searchsorted")


def as_operand(x, like):
    """Return a tensor from a tensor or a number."""
    return x if isinstance(x, Tensor) else filled(like, (), x, result_type(like, x))


@api(memoised=True)
def bucketize(input, boundaries, *, out_int32=False, right=False, out=None):
    """Return the index of each value's bucket between sorted boundaries."""
    if boundaries.ndim != 1:
        raise ShapeError(f"bucketize takes one row of boundaries, got {boundaries.aval}")
    return searchsorted(boundaries, input, out_int32=out_int32, right=right, out=out)


@api(method=False, memoised=True, keywords={"element": "elements", "test_element": "test_elements"})
def isin(elements, test_elements, *, assume_unique=False, invert=False, out=None):
    """Return whether each element occurs among the test elements. `assume_unique` is ignored: the search does not depend on
    it."""
    if not isinstance(elements, Tensor):
        elements = as_operand(elements, test_elements)
    tests = as_operand(test_elements, elements)
    d = result_type(elements, tests)
    wanted, row = to_dtype(elements, d), reshape(to_dtype(tests, d), shape=(rd.count_of(tests.shape, range(tests.ndim)),))
    n = row.shape[0]
    if n == 0:
        return deliver(full(wanted, shape=tuple(wanted.shape), value=bool(invert), dtype=dt.bool_), out, "isin")
    row = take_index(row, order_of(row, 0))
    at = so.searchsorted(row, wanted, right=False)
    at = ew.where(ew.ge(at, n), n - 1, at)
    return deliver((ew.ne if invert else ew.eq)(take_index(row, at), wanted), out, "isin")


# Distinct values.


def flattened(x):
    """Return all elements in one dim."""
    return reshape(x, shape=(rd.count_of(x.shape, range(x.ndim)),))


def _order_of_elements(row):
    return so.argsort(row, dim=0, descending=False)


def _row_order(rows):
    """Return the order that sorts rows lexicographically: stable sorts from the last column to the first."""
    order = iota(rows, shape=(rows.shape[0],), dim=0, dtype=dt.int64)
    for c in range(rows.shape[1] - 1, -1, -1):
        column = take_index(reshape(cut(rows, 1, c, c + 1), shape=(rows.shape[0],)), order)
        order = take_index(order, _order_of_elements(column))
    return order


def _distinct(rows, order_by, inverse, counts):
    """Return the first of every run of equal rows (in the order by `order_by`, if given), with run indices and lengths if
    requested."""
    ordered, starts, order = untaped(_ordered, rows, order_by)
    return untaped(_runs, ordered, starts, order, count_of(starts), inverse, counts)


def _ordered(rows, order_by):
    order = None if order_by is None else order_by(rows)
    ordered = rows if order is None else take_index(rows, order)
    return ordered, run_starts(ordered), order


def _runs(ordered, starts, order, count, inverse, counts):
    at, = nonzero(starts, count=count)
    n, run, lengths = ordered.shape[0], None, None
    if inverse:
        run = ew.sub(cumsum(ew.cast(starts, dtype=dt.int64), dim=0), 1)
        if order is not None:
            run = scatter(full(run, shape=(n,), value=0, dtype=dt.int64), order, run, dim=0, mode="set")
    if counts:
        last = full(at, shape=(min(1, n),), value=n, dtype=dt.int64)
        lengths = ew.sub(cat(cut(at, 0, min(1, count), count), last, dim=0), at)
    return take_index(ordered, at), run, lengths


_FEW = 1 << 14          # elements up to which NumPy is faster than calls of operators


def _distinct_of_few(a, in_order, inverse, counts):
    """Compute `_distinct` of an array by comparing all elements in NumPy."""
    order, ordered, n = None, a.reshape(-1), a.size
    if in_order:
        order = kernel_of(so.argsort)(ordered, dim=0, descending=False)
        ordered = ordered.take(order)
    starts = np.empty(n, np.bool_)
    starts[0] = True
    np.not_equal(ordered[1:], ordered[:-1], starts[1:])
    run = lengths = None
    if inverse:
        run = starts.cumsum(dtype=np.int64)
        run -= 1
        if order is not None:
            run, numbers = np.empty_like(run), run
            run[order] = numbers
        run = run.reshape(a.shape)
    if counts:
        ends = np.append(starts.nonzero()[0], n)
        lengths = ends[1:] - ends[:-1]
    return ordered[starts], run, lengths


def _unique(input, dim, in_order, name, inverse, counts):
    """Return distinct values of the flattened tensor or of slices along `dim`, with inverse and counts if requested."""
    m, a = tls.m, input._a
    if dim is None and not m.special and a.__class__ is np.ndarray and 0 < a.size < _FEW and a.dtype.char in _COMPARED:
        return _requested(*[None if x is None else wrap(x) for x in m.quietly(_distinct_of_few, a, in_order, inverse, counts)])
    input = input.detach()
    if dim is None:
        rows = flattened(input)
        found, run, lengths = _distinct(rows, _order_of_elements if in_order else None, inverse, counts)
        return _requested(found, None if run is None else made_whole(reshape(run, shape=tuple(input.shape))), lengths)
    d = canonical_dim(dim, input.ndim)
    order = (d, *(i for i in range(input.ndim) if i != d))
    front = permute(input, dims=order)
    width = rd.count_of(front.shape, range(1, front.ndim))
    if width == 0 and front.shape[0]:
        raise ShapeError(f"{name} along dim {dim} of {input.aval}: the slices are empty")
    rows = reshape(front, shape=(front.shape[0], width))
    found, run, lengths = _distinct(rows, _row_order if in_order else None, inverse, counts)
    values = reshape(found, shape=(found.shape[0], *front.shape[1:]))
    return _requested(made_whole(permute(values, dims=tuple(order.index(i) for i in range(input.ndim)))), run, lengths)


_COMPARED = FLOAT_CHARS + "?" + np.typecodes["AllInteger"]


def _requested(*results):
    chosen = [x for x in results if x is not None]
    return chosen[0] if len(chosen) == 1 else tuple(chosen)


@api()
def unique(input, sorted=True, return_inverse=False, return_counts=False, dim=None) -> Any:
    """Return the sorted distinct values (of slices along `dim`), with indices into them and counts if requested. `sorted` is
    ignored: False allows any order, this one too."""
    return without_rule("unique", _unique(input, dim, True, "unique", return_inverse, return_counts), input)


@api()
def unique_consecutive(input, return_inverse=False, return_counts=False, dim=None) -> Any:
    """Drop repeats of a neighbour; also return indices into the result and run lengths if requested."""
    found = _unique(input, dim, False, "unique_consecutive", return_inverse, return_counts)
    return without_rule("unique_consecutive", found, input)



