"""Functions that join, split and repeat tensors."""

import itertools
from typing import Any

import numpy as np

from ....ir import dtype as dt
from ....ir.errors import ArgumentError, DimError, DTypeError, ShapeError, kind_of
from ....ir.opdef.aval import canonical_dim, integers, one_integer
from ....ir.ops.core import reduce as rd
from ....ir.ops.core import shape as sh
from ....ir.ops.index import indexing as ix
from ....ir.suggestions import unknown_choice
from ....ir.symbols.symbolic import is_symbol
from ...core.dispatch import looks
from ...core.placement import on_device_of
from ...core.tensor import Tensor, numel_of, shape_of, wrap
from ...state.mode import Defaults
from ..register.register import FUNCTIONS, api, deliver
from ..register.type_promotion import result_type, to_dtype
from .reshaping import sizes_of
from .tensor_factories import counted, created, filled, tensor

# Join.


def _tensors(tensors, name):
    xs = list(tensors) if not isinstance(tensors, Tensor) else list(unbind(tensors))
    if not xs:
        raise ArgumentError(f"{name} takes at least one tensor, got an empty list")
    for i, x in enumerate(xs):
        if not isinstance(x, Tensor):
            raise DTypeError(f"{name} takes a sequence of tensors, element {i} is a {kind_of(x)}")
    return xs


def _alike(xs):
    """Return the tensors in their common dtype."""
    first = xs[0]._a.dtype
    for x in xs:
        if x._a.dtype is not first:
            d = result_type(*xs)
            return [to_dtype(x, d) for x in xs]
    return xs


def _arrays_of(tensors) -> list | None:
    """Return the arrays of a sequence of tensors of one dtype; None for anything else."""
    if type(tensors) not in (list, tuple) or not tensors or not all([isinstance(t, Tensor) for t in tensors]):  # noqa: C419
        return None
    arrays = [t._a for t in tensors]
    return arrays if _is_one([a.dtype for a in arrays]) else None


def _is_one(values: list) -> bool:
    """Return whether all values are equal. Counting runs in C, which matters for joins of many small tensors."""
    return values.count(values[0]) == len(values)


def _are_plain(tensors) -> bool:
    """Return whether these tensors have one dtype and rank, so that they join without conversion."""
    arrays = _arrays_of(tensors)
    return arrays is not None and arrays[0].ndim > 0 and _is_one([a.ndim for a in arrays])


@api(method=False, names=("concat", "concatenate"), memoised=True)
def cat(tensors, dim=0, *, out=None):
    """Join tensors along an existing dimension; 1-d tensors without elements are skipped."""
    if out is None and _are_plain(tensors) and tensors[0]._a.shape != (0,):
        return sh.cat.call(*tensors, dim=canonical_dim(dim, tensors[0]._a.ndim))
    xs = _alike(_tensors(tensors, "cat"))
    shape: tuple = (0,)
    for x in xs:
        if not x._a.ndim:
            raise ShapeError("cat cannot join 0-d tensors; use stack()")
        if shape == (0,):
            shape = shape_of(x)
    if shape == (0,):
        dim = 0             # empty vectors accept any dim
    d = canonical_dim(dim, len(shape))
    if len(shape) > 1:
        nothing = shape[:d] + (0,) + shape[d + 1:]
        xs = [sh.reshape(x, shape=nothing) if shape_of(x) == (0,) else x for x in xs]
    return deliver(sh.cat.call(*xs, dim=d), out, "cat")


@api(method=False, memoised=True)
def stack(tensors, dim=0, *, out=None):
    """Join tensors along a new dimension."""
    xs = _alike(_tensors(tensors, "stack"))
    return deliver(sh.stack.call(*xs, dim=canonical_dim(dim, xs[0].ndim + 1)), out, "stack")


def _at_least(x, n):
    """Add dimensions to x until it has n, as NumPy's atleast functions do."""
    shape = shape_of(x)
    if len(shape) >= n:
        return x
    grown = {1: (1,), 2: (1, *shape) if shape else (1, 1), 3: ((1, *shape, 1) if len(shape) == 1 else (*shape, 1))
             if shape else (1, 1, 1)}[n]
    return sh.reshape(x, shape=grown)


def _at_least_each(tensors, n):
    if len(tensors) == 1:
        one = tensors[0]
        return _at_least(one, n) if isinstance(one, Tensor) else tuple([_at_least(x, n) for x in one])
    return tuple([_at_least(x, n) for x in tensors])


@api(method=False)
def atleast_1d(*tensors) -> Any:
    """Return each tensor with at least 1 dimension."""
    return _at_least_each(tensors, 1)


@api(method=False)
def atleast_2d(*tensors) -> Any:
    """Return each tensor with at least 2 dimensions."""
    return _at_least_each(tensors, 2)


@api(method=False)
def atleast_3d(*tensors) -> Any:
    """Return each tensor with at least 3 dimensions."""
    return _at_least_each(tensors, 3)


@api(method=False, memoised=True)
def hstack(tensors, *, out=None):
    """Join tensors side by side: along dim 1, or 0 for vectors."""
    xs = [_at_least(x, 1) for x in _tensors(tensors, "hstack")]
    return cat(xs, 0 if xs[0].ndim == 1 else 1, out=out)


@api(method=False, names=("row_stack",), memoised=True)
def vstack(tensors, *, out=None):
    """Join tensors one below the other; vectors are rows."""
    return cat([_at_least(x, 2) for x in _tensors(tensors, "vstack")], 0, out=out)


@api(method=False, memoised=True)
def dstack(tensors, *, out=None):
    """Join tensors along the third dimension."""
    return cat([_at_least(x, 3) for x in _tensors(tensors, "dstack")], 2, out=out)


@api(method=False, memoised=True)
def column_stack(tensors, *, out=None):
    """Join tensors side by side; vectors are columns."""
    xs = _tensors(tensors, "column_stack")
    return cat([x if x.ndim > 1 else sh.reshape(x, shape=(numel_of(x), 1)) for x in xs], 1, out=out)


@api(method=False, memoised=True)
def block_diag(*tensors):
    """Return a matrix with the given matrices along its diagonal."""
    if not tensors:
        return filled(None, (1, 0), 0, Defaults.dtype)
    for x in tensors:
        if x.ndim > 2:
            raise ShapeError(f"block_diag takes at most 2 dimensions, got shape {list(x.shape)}")
    blocks = [_at_least(x, 2) for x in _alike(tensors)]
    total, left, rows = sum(shape_of(b)[1] for b in blocks), 0, []
    for b in blocks:
        width = shape_of(b)[1]
        rows.append(sh.pad(b, low=(0, left), high=(0, total - left - width), interior=(0, 0), value=0))
        left += width
    return sh.cat.call(*rows, dim=0)


# Split.


@api(memoised=True)
def unbind(input, dim=0) -> tuple[Tensor, ...]:
    """Return a view for every index along a dimension."""
    if not input.ndim:
        raise DimError("unbind cannot be applied to a 0-d tensor")
    d = canonical_dim(dim, input.ndim)
    return tuple(looks(sh.select, input, [{"dim": d, "index": i} for i in range(shape_of(input)[d])]))


def cut(input, dim, sizes):
    """Return consecutive pieces of the given sizes along a dimension, as views."""
    pieces, start = [], 0
    for n in sizes:
        pieces.append({"dim": dim, "start": start, "step": 1, "stop": start + n})
        start += n
    return tuple(looks(sh.slice_, input, pieces))


@api(keywords={"split_size": "split_size_or_sections"}, memoised=True)
def split(tensor, split_size_or_sections, dim=0) -> tuple[Tensor, ...]:
    """Split a tensor into pieces of one size (the last may be smaller) or of the sizes listed; return views."""
    if not tensor.ndim:
        raise DimError("split cannot be applied to a 0-d tensor")
    d = canonical_dim(dim, tensor.ndim)
    n = shape_of(tensor)[d]
    sizes = integers(split_size_or_sections, "split_size_or_sections")
    if isinstance(split_size_or_sections, (tuple, list)):
        return _split_sizes(tensor, sizes, d)
    size, = sizes
    if size < 0 or (size == 0 and n):
        raise ArgumentError(f"split: the size of a piece must be positive, got {size}")
    count = max(1, -(-n // size)) if size else 1
    return cut(tensor, d, [min(size, n - i * size) for i in range(count)])


def _split_sizes(x, sizes, d):
    n = shape_of(x)[d]
    if sum(sizes) != n or any(size < 0 for size in sizes):
        raise ShapeError(f"split: sizes {sizes} must not be negative and must add up to {n}, the size of dim {d}")
    return cut(x, d, sizes)


@api(memoised=True)
def split_with_sizes(input, split_sizes, dim=0) -> tuple[Tensor, ...]:
    """Split a tensor into pieces of the sizes listed; return views."""
    return _split_sizes(input, tuple(split_sizes), canonical_dim(dim, input.ndim))


@api(memoised=True)
def chunk(input, chunks, dim=0) -> tuple[Tensor, ...]:
    """Split a tensor into at most `chunks` pieces of one size (the last may be smaller); return views."""
    chunks = one_integer(chunks, "chunks")
    if chunks < 1:
        raise ArgumentError(f"chunk: the number of chunks must be positive, got {chunks}")
    d = canonical_dim(dim, input.ndim)
    n = shape_of(input)[d] if input.ndim else 0
    size = -(-n // chunks)
    return cut(input, d, [0] * chunks) if size == 0 and input.ndim else split(input, size, d)


@api(memoised=True)
def unsafe_chunk(input, chunks, dim=0) -> tuple[Tensor, ...]:
    """Same as chunk()."""
    return chunk(input, chunks, dim)


@api(memoised=True)
def unsafe_split(tensor, split_size, dim=0) -> tuple[Tensor, ...]:
    """Same as split()."""
    return split(tensor, split_size, dim)


_CUTS = dict.fromkeys(("indices", "sections", "tensor_indices_or_sections"), "indices_or_sections")


@api(keywords=_CUTS, memoised=True)
def tensor_split(input, indices_or_sections, dim=0) -> tuple[Tensor, ...]:
    """Split a tensor into `n` pieces whose sizes differ by at most one, or at the indices listed; return views."""
    if not input.ndim:
        raise DimError("tensor_split cannot be applied to a 0-d tensor")
    d = canonical_dim(dim, input.ndim)
    n, at = shape_of(input)[d], indices_or_sections
    if isinstance(at, (Tensor, np.generic, np.ndarray)):
        at = at.tolist()
    if isinstance(at, int):
        if at < 1:
            raise ArgumentError(f"tensor_split: the number of sections must be positive, got {at}")
        return cut(input, d, [n // at + (i < n % at) for i in range(at)])
    stops = [slice(None, i).indices(n)[1] for i in at]
    starts = [0, *stops]
    return tuple(looks(sh.slice_, input, [{"dim": d, "start": min(a, n), "step": 1, "stop": max(a, b)}
                                          for a, b in zip(starts, [*stops, n])]))


def _splits(name, dim_of, least):
    def fn(input, indices_or_sections) -> tuple[Tensor, ...]:
        if input.ndim < least:
            raise ShapeError(f"{name} takes at least {least} dimensions, got shape {list(input.shape)}")
        d = dim_of(input)
        at = indices_or_sections
        if isinstance(at, np.integer):
            at = at.item()
        if isinstance(at, int) and at <= 0:
            raise ArgumentError(f"{name}: the number of sections must be positive, got {at}")
        if isinstance(at, int) and shape_of(input)[d] % at:
            raise ShapeError(f"{name}: {at} sections do not divide size {input._a.shape[d]} of dim {d}")
        return tensor_split(input, at, d)

    fn.__name__ = fn.__qualname__ = name
    fn.__doc__ = "Equal pieces, or pieces cut at the indices listed, as views."
    return api(keywords=_CUTS)(fn)


hsplit = _splits("hsplit", lambda x: 0 if x.ndim == 1 else 1, 1)
vsplit = _splits("vsplit", lambda x: 0, 2)
dsplit = _splits("dsplit", lambda x: 2, 3)

# Repeat.


@api(function=False, memoised=True)
def repeat(self, *sizes, repeats=None):
    """Repeat the tensor, `sizes` times along each dimension."""
    times, shape = sizes_of(sizes if repeats is None else (repeats,)), shape_of(self)
    lead = len(times) - len(shape)
    if lead < 0:
        raise ShapeError(f"repeat: {len(times)} counts are fewer than the {len(shape)} dimensions of shape {list(shape)}")
    if any(n < 0 for n in times):
        raise ShapeError(f"repeat: counts must not be negative, got {times}")
    shape = (1,) * lead + shape
    apart = tuple(itertools.chain.from_iterable((1, n) for n in shape))
    spread = tuple(itertools.chain.from_iterable(zip(times, shape)))
    x = sh.expand(sh.reshape(self, shape=apart), shape=spread)
    return sh.reshape(sh.contiguous(x), shape=tuple([t * n for t, n in zip(times, shape)]))


@api(memoised=True)
def tile(input, *sizes, dims=None):
    """Repeat the tensor; missing leading counts are 1."""
    times = sizes_of(sizes if dims is None else (dims,))
    return repeat(input, (1,) * (input.ndim - len(times)) + times)


def total_of(counts) -> int:
    """Return the sum of a tensor of counts, as a number that Python has read."""
    return rd.sum_(to_dtype(counts, dt.int64), dim=(0,), keepdim=False).item()


@api(memoised=True)
def repeat_interleave(input, repeats=None, dim=None, *, output_size=None):
    """Repeat each element (or each index along a dimension) several times in a row. Counts alone give each index that many
    times."""
    if repeats is None:
        input, repeats = on_device_of(counted(numel_of(input)), input), input
    x = sh.reshape(input, shape=(numel_of(input),)) if dim is None or not input.ndim else input
    d = canonical_dim(dim or 0, x.ndim)
    if not isinstance(repeats, int):
        repeats = repeats if isinstance(repeats, Tensor) else tensor(repeats)
        if repeats.ndim == 0 or numel_of(repeats) == 1:
            repeats = sh.expand(sh.reshape(repeats, shape=(1,)), shape=(shape_of(x)[d],))
        if shape_of(repeats) != (shape_of(x)[d],):
            raise ShapeError(f"repeat_interleave: {list(repeats.shape)} counts for size {x._a.shape[d]} of dim {d}")
        total = total_of(repeats)
        if output_size is not None and output_size != total:
            raise ShapeError(f"repeat_interleave: output_size={output_size}, but the counts add up to {total}")
        return ix.index(x, *(None,) * d, ix.repeat_index(repeats, total=total))
    if repeats < 0:
        raise ArgumentError(f"repeat_interleave: counts must not be negative, got {repeats}")
    shape = shape_of(x)
    apart = sh.reshape(x, shape=shape[:d + 1] + (1,) + shape[d + 1:])
    spread = sh.expand(apart, shape=shape[:d + 1] + (repeats,) + shape[d + 1:])
    return sh.reshape(sh.contiguous(spread), shape=shape[:d] + (shape[d] * repeats,) + shape[d + 1:])


# Grids.


@api(method=False, memoised=True)
def meshgrid(*tensors, indexing="ij") -> tuple[Tensor, ...]:
    """Return coordinate grids of vectors, as views."""
    xs = tensors[0] if len(tensors) == 1 and not isinstance(tensors[0], Tensor) else tensors
    xs = [_at_least(x, 1) for x in xs]
    if indexing not in ("ij", "xy"):
        raise unknown_choice("meshgrid: indexing", indexing, ("ij", "xy"))
    for x in xs:
        if x.ndim != 1:
            raise ShapeError(f"meshgrid takes vectors, got shape {list(x.shape)}")
    shape = tuple([numel_of(x) for x in xs])
    grids = [sh.expand(sh.reshape(x, shape=(1,) * i + (numel_of(x),) + (1,) * (len(xs) - 1 - i)), shape=shape)
             for i, x in enumerate(xs)]
    if indexing == "xy" and len(xs) > 1:
        swap = (1, 0, *range(2, len(xs)))
        grids = [sh.permute(g, dims=swap) for g in grids]
    return tuple(grids)


@api(method=False, memoised=True)
def vander(x, N=None, increasing=False):
    """Return the powers of a vector's elements as columns, falling unless `increasing`."""
    if x.ndim != 1:
        raise ShapeError(f"vander takes a vector, got {x.aval}")
    n = numel_of(x) if N is None else N
    if n < 0:
        raise ArgumentError(f"vander: the number of columns must not be negative, got {n}")
    x = x if x.dtype.is_inexact else to_dtype(x, dt.int64)
    exponents = counted(n, x.dtype, x)
    return FUNCTIONS["pow"](sh.reshape(x, shape=(*shape_of(x), 1)), exponents if increasing else n - 1 - exponents)


@api(method=False, memoised=True)
def cartesian_prod(*tensors):
    """Return all combinations of one element from each vector, as rows."""
    for x in tensors:
        if x.ndim != 1:
            raise ShapeError(f"cartesian_prod takes vectors, got shape {list(x.shape)}")
    if len(tensors) == 1:
        return tensors[0]
    return stack([sh.reshape(g, shape=(numel_of(g),)) for g in meshgrid(*tensors)], 1)


@api(checked=True)
def combinations(input, r=2, with_replacement=False):
    """Return all combinations of r elements of a vector, as rows."""
    if input.ndim != 1:
        raise ShapeError(f"combinations takes a vector, got shape {list(input.shape)}")
    if r < 0:
        raise ArgumentError(f"combinations takes r of at least 0, got {r}")
    if not r:
        return filled(input, (0,), 0, input.dtype)
    n = numel_of(input)
    if r == 2 and is_symbol(n):
        return ix.index(input, on_device_of(FUNCTIONS["triu_indices"](n, n, int(not with_replacement)).transpose(0, 1), input))
    return ix.index(input, on_device_of(created(wrap(_choices(int(n), r, int(not with_replacement)))), input))


def _choices(n, r, step):
    """Return the rising rows of r numbers below n that differ by at least `step`, built one column at a time."""
    rows = np.zeros((1, 0), np.int64)
    least = np.zeros(1, np.int64)           # the smallest number that may follow each row
    for left in range(r - 1, -1, -1):
        counts = np.maximum(n - step * left - least, 0)
        starts = np.cumsum(counts) - counts
        rows, first = np.repeat(rows, counts, axis=0), np.repeat(least - starts, counts)
        column = first + np.arange(len(first))
        rows, least = np.concatenate([rows, column[:, None]], 1), column + step
    return rows
