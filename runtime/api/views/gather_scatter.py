"""Reads and writes at positions given by index tensors and masks: gather, scatter, take, put and others."""

import math
from typing import Any

import numpy as np

from ....ir import dtype as dt
from ....ir.errors import ArgumentError, DimError, DTypeError, ShapeError
from ....ir.opdef.aval import broadcast_shapes, canonical_dim, one_integer
from ....ir.ops.core import elementwise as ew
from ....ir.ops.core import scan as sc
from ....ir.ops.core import shape as sh
from ....ir.ops.index import indexing as ix
from ....ir.ops.index.assign import assign_view
from ....ir.suggestions import unknown_choice
from ....ir.symbols.substitute import slice_bounds
from ....ir.symbols.symbolic import hint
from ...core.device_array import DeviceArray, is_sample
from ...core.dispatch import kernel_of, of_every_sample, reshaped, untaped
from ...core.tensor import Tensor, numel_of, shape_of, wrap
from ...state.mode import tls
from ..register.register import api, deliver
from ..register.type_promotion import to_dtype
from .indexing import getitem, positions_of, put, resolve, setitem
from .join_split import stack
from .reshaping import ravel
from .tensor_factories import filled


def _vector(x):
    """Return a 0-d value as a vector of one element; other tensors as they are."""
    return x if x._a.ndim else sh.reshape(x, shape=(1,))


def _on_host(a):
    """Return an array of the host, that of all samples for one of a sample, or None."""
    while is_sample(a):
        a = a.memory.inner
    return None if a.__class__ is DeviceArray else a


def _no_negatives(name, at, size, dim):
    """Return the index tuple for functions that refuse indices counted from the end. On the host a negative index raises here,
    also that of a sample. On a device, and in recordings, it becomes an index beyond the end, for which kernels raise."""
    *before, index = at
    values, recorder = None if tls.m.watched else _on_host(index._a), tls.m.recorder
    if values is not None and values.size and values.min() < 0:
        if recorder is not None:
            recorder.failed(ix.index)
        samples = values.reshape(-1, math.prod(index._a.shape))
        least = next(each.min() for each in samples if each.min() < 0)
        raise DimError(f"{name}: index {least} is out of range for dim {dim} of size {size}")
    if values is not None and recorder is None:
        return at
    wide = ew.cast(index, dtype=dt.int64) if index.dtype is not dt.int64 else index     # which holds the number beyond the end
    return [*before, ew.where(ew.lt(wide, 0), size, wide)]


# One index for each element along a dimension.


def _nothing_of(x):
    """Return a vector without elements that has a tensor's dtype and history."""
    return sh.slice_(ravel(x), dim=0, start=0, step=1, stop=0)


@api(memoised=True)
def gather(input, dim, index, *, sparse_grad=False, out=None):
    """Pick elements by index along a dimension: out[i][j] = input[index[i][j]][j] for dim 0, and so on. `sparse_grad` is
    ignored: the gradient is dense, with the same values."""
    d = canonical_dim(dim, input.ndim)
    if numel_of(index) == 0:
        return deliver(sh.reshape(_nothing_of(input), shape=shape_of(index)), out, "gather")
    x = sh.reshape(input, shape=(1,) * index.ndim) if not input.ndim else input
    i = sh.reshape(index, shape=(1,) * x.ndim) if not index.ndim else index
    result = ix.gather.call(x, i, dim=d)
    return deliver(result if index.ndim else sh.reshape(result, shape=()), out, "gather")


def _along(op, input, dim, index, src, mode, name):
    d = canonical_dim(dim, input.ndim)
    if isinstance(src, Tensor):
        if src.dtype is not input.dtype:
            raise DTypeError(f"{name}: the source is {src.dtype.name} and the tensor {input.dtype.name}; cast one with .to()")
        if numel_of(index) == 0:                # a function of both, so that the source gets a gradient of zeros
            return sh.reshape(sh.cat(ravel(input), _nothing_of(src), dim=0), shape=shape_of(input))
    elif numel_of(index) == 0:
        return ew.copy(input)
    else:
        src = filled(input, shape_of(index), src, input.dtype)
    result = op(_vector(input), _vector(index), _vector(src), dim=d, mode=mode)
    return result if input._a.ndim else sh.reshape(result, shape=())


@api(inplace=(ix.scatter, ix.scatter_reduce), memoised=True)
def scatter(input, dim, index, src=None, *, value=None, reduce=None, out=None):
    """Write src at indices along a dimension: out[index[i][j]][j] = src[i][j] for dim 0, and so on. `reduce` "add" or
    "multiply" combines src with the input instead."""
    src = value if src is None else src
    modes = {None: (ix.scatter, "set"), "add": (ix.scatter, "add"), "multiply": (ix.scatter_reduce, "mul")}
    if reduce not in modes:
        raise unknown_choice("scatter: reduce", reduce, ("add", "multiply"))
    op, mode = modes[reduce]
    return deliver(_along(op, input, dim, index, src, mode, "scatter"), out, "scatter")


@api(inplace=ix.scatter, memoised=True)
def scatter_add(input, dim, index, src, *, out=None):
    """Add src at indices along a dimension: out[index[i][j]][j] += src[i][j] for dim 0, and so on."""
    return deliver(_along(ix.scatter, input, dim, index, src, "add", "scatter_add"), out, "scatter_add")


_REDUCE = {"sum": (ix.scatter, "add"), "mean": (ix.scatter, "add"), "prod": (ix.scatter_reduce, "mul"),
           "amax": (ix.scatter_reduce, "amax"), "amin": (ix.scatter_reduce, "amin")}
_SECOND_NAMES = {"max": "amax", "min": "amin"}      # other names of reductions in PyTorch


def _identity(reduce, d):
    """Return the neutral element of a reduction."""
    if reduce in ("amax", "amin"):
        if d.is_floating_point:
            return -np.inf if reduce == "amax" else np.inf
        if d is dt.bool_:
            return reduce == "amin"
        info = np.iinfo(d.np)
        return int(info.min if reduce == "amax" else info.max)
    return 1 if reduce == "prod" else 0


@api(inplace=(ix.scatter, ix.scatter_reduce), memoised=True)
def scatter_reduce(input, dim, index, src, reduce, *, include_self=True, out=None):
    """Scatter src and combine it by sum, prod, mean, amax or amin; without `include_self` the input takes no part."""
    reduce = _SECOND_NAMES.get(reduce, reduce)
    if reduce not in _REDUCE:
        raise unknown_choice("scatter_reduce: reduce", reduce, _REDUCE)
    if reduce in ("amax", "amin") and input.dtype.is_complex:
        raise DTypeError(f"scatter_reduce by {reduce} compares numbers, and complex ones have no order; got {input.aval}")
    op, mode = _REDUCE[reduce]
    start = input
    if not include_self:
        start = _along(ix.scatter, input, dim, index, _identity(reduce, input.dtype), "set", "scatter_reduce")
    result = _along(op, start, dim, index, src, mode, "scatter_reduce")
    if reduce == "mean":
        result = _averaged(result, input, dim, index, include_self)
    return deliver(result, out, "scatter_reduce")


def _averaged(total, input, dim, index, include_self):
    """Divide sums by the number of summands at each position."""
    kind = input.dtype.to_real() if input.dtype.is_inexact else dt.int64
    first = filled(input, shape_of(input), 1 if include_self else 0, kind)
    counts = ew.maximum(_along(ix.scatter, first, dim, index, 1, "add", "scatter_reduce"), 1)
    if kind.is_inexact:
        return ew.div(total, to_dtype(counts, total.dtype))
    return ew.cast(ew.floor_divide(ew.cast(total, dtype=kind), counts), dtype=input.dtype)


@api()
def take_along_dim(input, indices, dim=None, *, out=None):
    """Pick elements along a dimension by indices that broadcast with the other dimensions."""
    if dim is None:
        return gather(ravel(input), 0, ravel(indices), out=out)
    d = canonical_dim(dim, input.ndim)
    if indices.ndim != input.ndim:
        raise ShapeError(f"take_along_dim: indices {indices.aval} must have as many dimensions as {input.aval}")
    if not input.ndim:
        return gather(input, 0, indices, out=out)
    if input.shape == indices.shape:
        return gather(input, d, _counted_up(indices, shape_of(input)[d]), out=out)
    shapes = [shape_of(x)[:d] + (1,) + shape_of(x)[d + 1:] for x in (input, indices)]
    common = broadcast_shapes(*shapes)
    x, i = (sh.expand(y, shape=common[:d] + (shape_of(y)[d],) + common[d + 1:]) for y in (input, indices))
    return gather(x, d, _counted_up(i, shape_of(input)[d]), out=out)


def _counted_up(index, size):
    """Return indices with those counted from the end counted from the front."""
    a = index._a
    if not tls.m.special and a.__class__ is np.ndarray and not (a < 0).any():
        return index
    return ew.where(ew.lt(index, 0), ew.add(index, size), index)


# One index for a whole slice.


def _slices(input, dim, index, name):
    """Return the input with at least one dimension, and the index parts that pick slices along dim."""
    d = canonical_dim(dim, input._a.ndim)
    if index._a.ndim > 1:
        raise ShapeError(f"{name}: index must be a vector, got shape {list(index.shape)}")
    return _vector(input), (None,) * d + (_vector(index),), d


def _unvector(result, input):
    return result if input._a.ndim else sh.reshape(result, shape=())


@api(memoised=True)
def index_select(input, dim, index, *, out=None):
    """Return the slices at the indices of a vector along a dimension."""
    x, at, d = _slices(input, dim, index, "index_select")
    at = _no_negatives("index_select", at, shape_of(x)[d], d)
    return deliver(_unvector(ix.index.call(x, *at), input), out, "index_select")


def _with_slices(input, dim, index, source, accumulate, name):
    x, at, d = _slices(input, dim, index, name)
    shape = shape_of(x)
    at = _no_negatives(name, at, shape[d], d)
    if source._a.dtype is not input._a.dtype and source.dtype is not input.dtype:
        raise DTypeError(f"{name}: the source is {source.dtype.name} and the tensor {input.dtype.name}; cast one with .to()")
    wanted, given = shape[:d] + shape_of(at[-1]) + shape[d + 1:], shape_of(source)
    if given != wanted:
        if given or math.prod(wanted) != 1:
            raise ShapeError(f"{name}: the source {source.aval} must have the shape {list(wanted)} of the indexed slices")
        source = sh.reshape(source, shape=wanted)
    return _unvector(ix.index_put.call(x, source, *at, accumulate=accumulate), input)


@api(inplace=ix.index_put, memoised=True)
def index_add(input, dim, index, source, *, alpha=1, out=None):
    """Add alpha * source to the slices at the indices of a vector."""
    scaled = source if alpha == 1 else ew.cast(ew.mul(source, alpha), dtype=source.dtype)
    return deliver(_with_slices(input, dim, index, scaled, True, "index_add"), out, "index_add")


@api(inplace=ix.index_put, memoised=True)
def index_copy(input, dim, index, source, *, out=None):
    """Replace the slices at the indices of a vector by those of source."""
    return deliver(_with_slices(input, dim, index, source, False, "index_copy"), out, "index_copy")


@api(inplace=ix.index_put, memoised=True)
def index_fill(input, dim, index, value):
    """Write one value to the slices at the indices of a vector."""
    x, at, d = _slices(input, dim, index, "index_fill")
    if isinstance(value, Tensor):
        if value.ndim:
            raise ArgumentError(f"index_fill takes a number or a 0-d tensor as value, got shape {list(value.shape)}")
    else:
        shape = shape_of(x)
        spread = sh.expand(filled(x, (), value, x.dtype), shape=shape[:d] + shape_of(at[-1]) + shape[d + 1:])
        return _unvector(ix.index_put(x, spread, *at, accumulate=False), input)
    none, some = filled(x, (shape_of(x)[d],), 0, dt.bool_), filled(x, shape_of(at[-1]), 1, dt.bool_)
    hit = ix.index_put(none, some, at[-1], accumulate=False)
    hit = sh.reshape(hit, shape=shape_of(hit) + (1,) * (x.ndim - d - 1))
    return _unvector(ew.where(hit, to_dtype(value, x.dtype), x), input)


@api(inplace=(ix.scatter, ix.scatter_reduce))
def index_reduce(input, dim, index, source, reduce, *, include_self=True, out=None):
    """Combine slices of source into those at the indices of a vector, by prod, mean, amax or amin."""
    x, at, d = _slices(input, dim, index, "index_reduce")
    src = _vector(source)
    spread = sh.expand(sh.reshape(at[-1], shape=(1,) * d + shape_of(at[-1]) + (1,) * (x.ndim - d - 1)), shape=shape_of(src))
    return deliver(_unvector(scatter_reduce(x, d, spread, src, reduce, include_self=include_self), input), out, "index_reduce")


_WHOLE = slice(None)


@api(inplace=ix.index_put, checked=True)
def index_put(input, indices, values, accumulate=False):
    """Return a copy with input[indices] = values (or += if accumulate). Indices are tensors, or None for all of a
    dimension."""
    _check_written("index_put", input, values)
    x, at = resolve(input, tuple([_WHOLE if i is None else _positions(i) for i in indices]))
    changed = put(x, at, values, accumulate, "index_put")
    return changed if x is input else sh.reshape(changed, shape=shape_of(input))


def _check_written(name, input, values):
    """Raise if values would need a conversion, which only `x[key] = values` does."""
    if values.dtype is not input.dtype:
        raise DTypeError(f"{name}: the values are {values.dtype.name} and the tensor {input.dtype.name}; cast one with .to()")


def _positions(index):
    """Return a single position as a vector, since a key of one would make a view; other indices as they are."""
    if isinstance(index, slice) or index is Ellipsis:
        raise DimError("index_put takes tensors of positions, masks and None as indices, got a slice: write x[key] = values")
    if isinstance(index, Tensor):
        return sh.reshape(index, shape=(1,)) if not index.ndim and index.dtype is not dt.bool_ else index
    return [index] if isinstance(index, int) and not isinstance(index, bool) else index


# Flat positions.


@api(checked=True)
def take(input, index, *, out=None):
    """Return the elements at positions of the flattened tensor, in the shape of index."""
    return deliver(ix.index.call(ravel(input), index), out, "take")


@api(inplace=ix.index_put, name="put", checked=True)
def put_flat(input, index, source, accumulate=False):
    """Write (or add) source at positions of the flattened tensor."""
    _check_written("put", input, source)
    flat = put(ravel(input), (ravel(index),), ravel(source), accumulate, "put")
    return sh.reshape(flat, shape=shape_of(input))


# Masks and nonzero elements.


@api(checked=True)
def nonzero(input, *, out=None, as_tuple=False) -> Any:
    """Return the positions of nonzero elements: rows of a matrix, or one vector for each dimension."""
    if as_tuple:
        if out is not None:
            raise ArgumentError("nonzero(as_tuple=True) makes several tensors, so it takes no out")
        return positions_of(_vector(input))
    if out is not None and out.dtype is not dt.int64:
        raise DTypeError(f"nonzero: out must be of int64, got {out.dtype.name}")
    found = positions_of(input) if input.ndim else positions_of(_vector(input))
    if len(found) == input.ndim == 1:
        return deliver(reshaped(found[0], (*shape_of(found[0]), 1)), out, "nonzero")
    rows = _as_columns(found) if input.ndim else filled(input, (numel_of(found[0]), 0), 0, dt.int64)
    return deliver(rows, out, "nonzero")


def _as_columns(columns):
    """Stack index tensors of one length as the columns of a matrix."""
    if tls.m.special or columns[0]._a.__class__ is DeviceArray:
        return stack(columns, 1)
    made = np.empty((len(columns[0]._a), len(columns)), np.int64)
    for n, column in enumerate(columns):
        made[:, n] = column._a
    return wrap(made)


@api(checked=True)
def argwhere(input):
    """Return the positions of nonzero elements as rows of a matrix."""
    return nonzero(input)


@api(checked=True)
def masked_select(input, mask, *, out=None):
    """Return the elements where the (broadcast) mask is true, as a vector."""
    if mask.dtype is not dt.bool_:
        raise DTypeError(f"masked_select takes a bool mask, got {mask.dtype.name}")
    shape = broadcast_shapes(shape_of(input), shape_of(mask))
    picked = getitem(_vector(sh.expand(input, shape=shape)), _vector(sh.expand(mask, shape=shape)))
    return deliver(picked, out, "masked_select")


@api(inplace=ix.index_put, checked=True)
def masked_scatter(input, mask, source):
    """Replace the elements where the mask is true by those of source, in order."""
    if mask.dtype is not dt.bool_ or source.dtype is not input.dtype:
        raise DTypeError(f"masked_scatter takes a bool mask and a source of the tensor's dtype, got {mask.dtype.name}, "
                         f"{source.dtype.name} and {input.dtype.name}")
    shape = broadcast_shapes(shape_of(input), shape_of(mask))
    x, flat = sh.expand(input, shape=shape), ravel(sh.expand(mask, shape=shape))
    if is_sample(mask._a):       # each sample has a number of places of its own
        before = sc.cumsum(ew.cast(flat, dtype=dt.int64), dim=0)
        values = ix.index(ravel(source), ew.where(flat, ew.sub(before, 1), 0))
        return sh.reshape(ew.where(flat, values, ravel(x)), shape=shape)
    at = positions_of(flat)
    n = numel_of(at[0])
    if n > numel_of(source):
        raise ShapeError(f"masked_scatter: the mask holds at {n} places, but the source has {source._a.size} elements")
    values = sh.slice_(ravel(source), dim=0, start=0, step=1, stop=n)
    return sh.reshape(ix.index_put(ravel(x), values, *at, accumulate=False), shape=shape)


@api(method=False, keywords={"input": "tensor"})
def one_hot(tensor, num_classes=-1):
    """Return rows of zeros with a one at each index."""
    if tensor.dtype is not dt.int64:
        raise DTypeError(f"one_hot takes int64 indices, got {tensor.dtype.name}")
    num_classes = one_integer(num_classes, "num_classes")
    if numel_of(tensor) == 0 and num_classes <= 0:
        raise ArgumentError("one_hot: num_classes must be given for an empty tensor")
    if num_classes == -1:
        num_classes = tensor.max().item() + 1
    if numel_of(tensor) and not tensor.is_meta:
        of_every_sample(lambda x, n: ix.require_range("one_hot", x._a, n, -1), tensor, hint(num_classes))
    m, a = tls.m, tensor._a
    if not m.special and a.__class__ is np.ndarray:
        return wrap(m.quietly(_ones_in, a, num_classes))
    return untaped(_are_equal if tensor.is_cuda else _ones_at, tensor, shape_of(tensor), num_classes)


def _ones_in(a, n):
    """Write ones into new zeros, which operators would copy."""
    made = kernel_of(sh.full)(None, shape=(*a.shape, n), value=0, dtype=dt.int64)
    if made.size:
        made.reshape(-1)[np.arange(0, made.size, n) + a.reshape(-1)] = 1
    return made


def _are_equal(x, shape, n):
    """Compare each element with every class: on a GPU this takes fewer launches than writing ones among zeros."""
    every = sh.iota.call(x, shape=(n,), dim=0, dtype=dt.int64)
    return ew.cast(ew.eq(sh.reshape(x, shape=(*shape, 1)), every), dtype=dt.int64)


def _ones_at(x, shape, n):
    at = sh.reshape(x, shape=(*shape, 1))
    zeros = sh.full.call(x, shape=(*shape, n), value=0, dtype=dt.int64)
    ones = sh.full.call(x, shape=(*shape, 1), value=1, dtype=dt.int64)
    return ix.scatter.call(zeros, at, ones, dim=len(shape), mode="set")


# Copies with a part replaced.


def _replaced(input, view_op, src, **params):
    chain = ((view_op.name, tuple(sorted(params.items()))),)
    part = view_op.infer(input.aval, **params)
    if shape_of(src) != part.shape:
        raise ShapeError(f"the source {src.aval} must have the shape {list(part.shape)} of the part of {input.aval} that it "
                         "replaces")
    return assign_view(input, to_dtype(src, input.dtype), chain=chain)


@api(memoised=True)
def select_scatter(input, src, dim, index):
    """Return a copy with src at one index along a dimension."""
    d = canonical_dim(dim, input.ndim)
    n = shape_of(input)[d]
    if not -n <= index < n:
        raise DimError(f"select_scatter: index {index} is out of range for dim {dim} of size {n}")
    return _replaced(input, sh.select, src, dim=d, index=index % n)


@api(memoised=True)
def slice_scatter(input, src, dim=0, start=None, end=None, step=1, *, out=None):
    """Return a copy with src in a slice along a dimension."""
    d = canonical_dim(dim, input.ndim)
    if not input.ndim:
        raise ShapeError("slice_scatter needs a dimension to slice, the tensor has none")
    first, last, step = slice_bounds(slice(start, end, step), shape_of(input)[d])
    result = _replaced(input, sh.slice_, src, dim=d, start=first, stop=max(first, last), step=step)
    return deliver(result, out, "slice_scatter")


@api(memoised=True)
def diagonal_scatter(input, src, offset=0, dim1=0, dim2=1):
    """Return a copy with src on a diagonal."""
    return _replaced(input, sh.diagonal, src, offset=offset, dim1=canonical_dim(dim1, input.ndim),
                     dim2=canonical_dim(dim2, input.ndim))


@api(function=False)
def fill_diagonal_(self, fill_value, wrap=False):
    """Write one value on the main diagonal; `wrap` starts it again below the last row of a tall matrix."""
    if self.ndim < 2 or (self.ndim > 2 and len(set(shape_of(self))) > 1):
        raise ShapeError(f"fill_diagonal_ takes a matrix, or equal sizes in all dimensions, got shape {list(self.shape)}")
    rows, cols = shape_of(self)[:2]
    at = np.arange(min(shape_of(self)))
    indices = [at] * self.ndim
    if wrap and self.ndim == 2:
        flat = np.arange(0, rows * cols, cols + 1)
        indices = [flat // cols, flat % cols]
    setitem(self, tuple(indices), fill_value)
    return self
