"""Indexing operators: index, index_put, gather and scatter with integer tensors.

`index` and `index_put` take one integer tensor (or None for a whole dimension) for each leading dimension of x; `gather` and
`scatter` take one index for each element along a dimension. Repeated positions are summed in the order of their appearance, so
results do not depend on how the work was divided.
"""

import math

import numpy as np

from ... import dtype as dt
from ...errors import ArgumentError, DimError, DTypeError, ShapeError
from ...interrupts import raise_interrupt
from ...opdef.aval import Aval, broadcast_shapes, hinted
from ...opdef.batch_rules import ALONG
from ...opdef.op import NO_GRAD, Host, Template, op
from ...opdef.param_checks import check_choice, check_dim, check_flag, check_number, check_sizes
from ..core import elementwise as ew
from ..core.batching import all_lifted, all_repeated, numbered
from ..core.elementwise_rules import wide
from ..core.shape import expand, full, pad, permute, slice_

# Checks of indices.


def require_index(name, index):
    """Raise unless an index has an integer dtype."""
    if not index.dtype.is_integer:
        raise DTypeError(f"{name} takes an index of int64, got index {index}; cast it with .long(), or use a bool mask as one")


def require_range(name, index, size, dim, low=0):
    """Raise unless all indices lie in low..size-1. On a device only the smallest and largest index are read back."""
    plain = isinstance(index, np.ndarray)
    if not index.size or (
            plain and low == 0 and index.dtype == np.int64 and np.maximum.reduce(index.view(np.uint64), None) < size):
        return              # read as unsigned, what is negative is large
    if not (low <= index.min() and index.max() < size):
        index = index if plain else index.numpy()
        bad = index[(index < low) | (index >= size)].ravel()[0]
        error = DimError(f"{name}: index {bad} is out of range for dim {dim} of size {size}")
        error.is_of_values = True
        raise error


# Reading with index tensors.


def indexed_shape(name, x, indices) -> tuple:
    """Return the shape of x[indices]: the broadcast index shape replaces the indexed dimensions if they are adjacent, else it
    comes first."""
    if len(indices) > x.ndim:
        raise DimError(f"{name}: too many indices for {x}: {len(indices)} for {x.ndim} dimensions")
    indexed = [d for d, i in enumerate(indices) if i is not None]
    for d in indexed:
        require_index(name, indices[d])
    try:
        common = broadcast_shapes(*(indices[d].shape for d in indexed))
    except ShapeError as e:
        raise DimError(f"{name}: index tensors do not broadcast together: {e}") from None
    rest = [n for d, n in enumerate(x.shape) if d not in indexed]
    adjacent = indexed and indexed[-1] - indexed[0] + 1 == len(indexed)
    at = indexed[0] if adjacent else 0
    shape = (*rest[:at], *common, *rest[at:])
    if any(type(x.shape[d]) is int and x.shape[d] == 0 for d in indexed) and 0 not in shape:     # else kernels raise
        raise DimError(f"{name}: {x} has no elements along an indexed dimension")
    return shape


def _infer_index(x, *indices):
    return x.with_shape(indexed_shape("index", x, indices))


def key_of(indices) -> tuple:
    """Return the key with which numpy reads and writes at index arrays."""
    return tuple([slice(None) if i is None else i for i in indices])


def require_ranges(name, x, indices):
    """Raise unless the indices of each dimension lie in it; negative ones count from its end."""
    for d, i in enumerate(indices):
        if i is not None:
            require_range(name, i, x.shape[d], d, -x.shape[d])


def _index(x, *indices):
    try:
        if len(indices) == 1 and indices[0] is not None:
            return x.take(indices[0], 0)
        indexed = [d for d, i in enumerate(indices) if i is not None]
        if len(indexed) == 1:
            return x.take(indices[indexed[0]], indexed[0])
        return x[key_of(indices)] if indexed else x.copy()
    except IndexError:
        require_ranges("index", x, indices)
        raise


def _zeros(g, shape):
    """Return zeros of g's dtype; in memory a single element, as every accumulation copies it first."""
    return expand(full(g, shape=(), value=0, dtype=dt.of(g)), shape=shape)


def _index_vjp(g, out, x, *indices, needs):
    return (index_put(_zeros(g, x.shape), g, *indices, accumulate=True), *(None,) * len(indices))


def _place_of_indexed(indices):
    """Return (position of the index dimensions in the result, whether the indexed dimensions are adjacent)."""
    indexed = [d for d, i in enumerate(indices) if i is not None]
    neighbours = indexed[-1] - indexed[0] + 1 == len(indexed)
    return indexed[0] if neighbours else 0, neighbours


def _move_dims(x, source, count, to):
    chosen = range(source, source + count)
    order = [d for d in range(len(x.shape)) if d not in chosen]
    return permute(x, dims=(*order[:to], *chosen, *order[to:]))


def _batch_index(size, op, args, held, params):
    x, *indices = args
    (at, neighbours), indexed = _place_of_indexed(indices), [i for i in indices if i is not None]
    if held[0] and not any(held[1:]):
        ndim = max(len(i.shape) for i in indexed)
        found = op(x, None, *indices)
        return found if neighbours else _move_dims(found, 0, ndim, 1)
    indices = all_lifted(indices, held[1:])
    ndim = max(len(i.shape) - has for i, has in zip(indices, held[1:]) if i is not None)
    if not held[0]:         # the batch stands where the first dimension of the index tensors does
        return _move_dims(op(x, *indices), at, 1, 0)
    return _move_dims(op(x, numbered(size, ndim, indexed[0]), *indices), 1, ndim, at + 1)


def _bounds(x, indices, first):
    return [(first + d, -x.shape[d], x.shape[d]) for d, i in enumerate(indices) if i is not None]


ANY_FROM_2 = range(2, 66)   # every argument after the first, as positions of what a gradient rule saves
ANY_FROM_3 = range(3, 66)

index = op("index", infer=_infer_index, ref=_index, vjp=_index_vjp, saves=ANY_FROM_2, lower=Template("gather"),
           batch=_batch_index, bounds=lambda x, *indices: _bounds(x, indices, 1),
           traits=("exact", "float8", "refuses"), doc="x[i, j, ...] with integer tensors; None takes a whole dimension.")

# Writing with index tensors.


def _infer_index_put(x, value, *indices, accumulate):
    check_flag(accumulate, "accumulate")
    shape = indexed_shape("index_put", x, indices)
    if value.shape != shape:
        raise ShapeError(f"index_put: the value {value} must have the shape {list(shape)} of the indexed part")
    if value.dtype is not x.dtype:
        raise DTypeError(f"index_put: the value {value} must have the dtype of {x}; cast it with .to()")
    if accumulate:
        dt.refuse_float8("index_put with accumulate", x.dtype)
    return x


def _index_put(x, value, *indices, accumulate):
    try:
        if accumulate:
            return accumulated(x, value, indices)
        out = x.copy()
        out[key_of(indices)] = value
        return out
    except IndexError:
        require_ranges("index_put", x, indices)
        raise


def _rows(x, indices):
    """Return x as a matrix with the indexed dimensions as rows, and the row number of every position."""
    indexed = [d for d, i in enumerate(indices) if i is not None]
    order = (*indexed, *(d for d in range(x.ndim) if d not in indexed))
    sizes = tuple(x.shape[d] for d in indexed)
    try:
        return order, sizes, np.ravel_multi_index([indices[d] for d in indexed], sizes)
    except (TypeError, ValueError) as error:        # some count from the end, or lie outside
        raise_interrupt(error, np.ravel_multi_index, [indices[d] for d in indexed], sizes)
        require_ranges("index_put", x, indices)
    positions = np.broadcast_arrays(*(indices[d] for d in indexed))
    return order, sizes, np.ravel_multi_index([np.where(p < 0, p + n, p) for p, n in zip(positions, sizes)], sizes)


def _wide_copy(x):
    """Return a copy in the accumulator dtype; a broadcast single element is converted once."""
    if x.size > 1 and not any(x.strides):
        first = wide(x[(0,) * x.ndim])
        out = np.empty(x.shape, first.dtype)
        out.fill(first)
        return out
    return np.array(wide(x), order="C")


def accumulated(x, value, indices, add=None):
    """Return x with the values added at index arrays; `add(table, rows, values)` adds rows, as `add_rows` does."""
    if all(i is not None for i in indices):
        out = _wide_copy(x)
        add_to(out, wide(value), indices, add)
        return out.astype(x.dtype, copy=False)
    indexed = [d for d, i in enumerate(indices) if i is not None]
    order, sizes, rows = _rows(x, indices)
    adjacent = indexed[-1] - indexed[0] + 1 == len(indexed)
    if adjacent and indexed[0]:
        lead = indexed[0]
        value = np.moveaxis(value, range(lead), range(rows.ndim, rows.ndim + lead))
    columns = math.prod([x.shape[d] for d in order[len(sizes):]])
    table = _wide_copy(x.transpose(order)).reshape(math.prod(sizes), columns)
    (add or add_rows)(table, rows.ravel(), wide(value).reshape(rows.size, columns))
    back = np.argsort(order)
    return np.ascontiguousarray(table.reshape([x.shape[d] for d in order]).transpose(back)).astype(x.dtype, copy=False)


def add_to(out, value, indices, add=None):
    """Add values in place to a contiguous array at index arrays of its first dimensions."""
    _, sizes, rows = _rows(out, indices)
    columns = math.prod(out.shape[len(sizes):])
    (add or add_rows)(out.reshape(math.prod(sizes), columns), rows.ravel(), value.reshape(rows.size, columns))


def add_rows(table, rows, values):
    """Compute table[rows[i]] += values[i], in the order of i for each row."""
    if table.dtype == np.bool_:
        np.logical_or.at(table, rows, values)
    elif table.shape[1] == 1:
        np.add.at(table[:, 0], rows, values[:, 0])
    elif rows.size and table.shape[1]:
        _add_wide_rows(table, rows, values)


def _add_wide_rows(table, rows, values):
    """Add all first occurrences of rows at once, all second ones and so on; with many repeats, sum each row's segment."""
    order = np.argsort(rows, kind="stable")
    rows = rows[order]
    starts = np.flatnonzero(np.r_[True, rows[1:] != rows[:-1]])
    lengths = np.diff(np.r_[starts, rows.size])
    if lengths.max() > 32:
        table[rows[starts]] += np.add.reduceat(values[order], starts, axis=0, dtype=table.dtype)
        return
    for turn in range(lengths.max()):
        at = starts[lengths > turn] + turn
        table[rows[at]] += values[order[at]]


def _index_put_vjp(g, out, x, value, *indices, accumulate, needs):
    none = (None,) * len(indices)
    gx = gvalue = None
    if needs[0]:
        gx = g if accumulate else index_put(g, full(g, shape=value.shape, value=0, dtype=dt.of(g)), *indices, accumulate=False)
    if needs[1]:
        gvalue = index(g, *indices)
    return (gx, gvalue, *none)


def _batch_index_put(size, op, args, held, params):
    (x, value), indices = all_repeated(size, args[:2], held), args[2:]
    (at, neighbours), indexed = _place_of_indexed(indices), [i for i in indices if i is not None]
    ndim = max(len(i.shape) - has for i, has in zip(indices, held[2:]) if i is not None)
    if neighbours and not any(held[2:]):
        return op(x, value, None, *indices, **params)
    return op(x, _move_dims(value, at + 1, ndim, 1), numbered(size, ndim, indexed[0]), *all_lifted(indices, held[2:]), **params)


def _put_bounds(x, value, *indices, accumulate):
    return _bounds(x, indices, 2)


index_put = op("index_put", infer=_infer_index_put, ref=_index_put, vjp=_index_put_vjp, saves=ANY_FROM_3,
               lower=Template("scatter"), batch=_batch_index_put, bounds=_put_bounds,
               traits=("float8", "refuses", "updates"),
               doc="x with `value` written (or added, if `accumulate`) at index tensors; None takes a whole dimension.")

# Hoisted checks of update indices (`hoist_index_checks` in `passes/schedule/inplace_updates.py`).


def _infer_in_range(index, *, low, high):
    require_index("in_range", index)
    check_number(low, "low")
    check_number(high, "high")
    return index


def _in_range(index, *, low, high):
    require_range("index_put", index, high, 0, low)
    return index.copy()


in_range = op("in_range", infer=_infer_in_range, ref=_in_range, vjp=NO_GRAD, lower=Host(), numbers=("low", "high"),
              traits=("exact", "refuses"), doc="Indices, each of which is at least `low` and below `high`.")

# One index for each element along a dimension.


def _infer_along(name, x, index, dim):
    require_index(name, index)
    check_dim(dim, max(x.ndim, 1))
    if index.ndim != x.ndim:
        raise ShapeError(f"{name}: index {index} must have as many dimensions as {x}")
    for d, (n, m) in enumerate(zip(index.shape, x.shape)):
        if d != dim and n > m:
            raise ShapeError(f"{name} along dim {dim}: index {index} is larger than {x} in dim {d}, {hinted(n)} > {hinted(m)}")


def _infer_gather(x, index, *, dim):
    _infer_along("gather", x, index, dim)
    return x.with_shape(index.shape)


def _flat_positions(x, index, dim):
    """Return the flat position in contiguous x of the element that each index names."""
    steps = [s // x.itemsize for s in x.strides]
    flat = index.astype(np.int64, copy=False) * steps[dim]
    for d, n in enumerate(index.shape):
        if d != dim and n > 1:
            starts = np.arange(0, n * steps[d], steps[d]) if steps[d] else np.zeros(n, np.int64)
            flat += starts.reshape((n,) + (1,) * (index.ndim - 1 - d))
    return flat


def _gather(x, index, *, dim):
    require_range("gather", index, x.shape[dim] if x.ndim else 1, dim)
    if not x.ndim or not index.size:
        return np.empty(index.shape, x.dtype) if x.ndim else x.copy()
    x = np.ascontiguousarray(x)
    return x.reshape(-1).take(_flat_positions(x, index, dim), mode="wrap")


def _gather_vjp(g, out, x, index, *, dim):
    return scatter(_zeros(g, x.shape), index, g, dim=dim, mode="add")


gather = op("gather", infer=_infer_gather, ref=_gather, vjp=(_gather_vjp, None), lower=Template("gather"), batch=ALONG,
            bounds=lambda x, index, *, dim: [(1, 0, x.shape[dim] if x.shape else 1)],
            traits=("exact", "float8", "refuses"), doc="out[i][j] = x[index[i][j]][j] for dim 0, and so on.")


def _infer_scatter(name, modes):
    def infer(x, index, src, *, dim, mode):
        check_choice(mode, modes, f"{name}: mode")
        _infer_along(name, x, index, dim)
        if mode != "set":
            dt.refuse_float8(name, x.dtype)
        if src.dtype is not x.dtype:
            raise DTypeError(f"{name}: the source {src} must have the dtype of {x}; cast it with .to()")
        if src.ndim != index.ndim or any(n > m for n, m in zip(index.shape, src.shape)):
            raise ShapeError(f"{name}: index {index} reaches outside of the source {src}")
        return x

    return infer


_UFUNC = {"add": np.add, "mul": np.multiply, "amax": np.maximum, "amin": np.minimum}


def _scatter(x, index, src, *, dim, mode):
    require_range("scatter", index, x.shape[dim] if x.ndim else 1, dim)
    out = np.array(wide(x), order="C", ndmin=1)
    if index.size:
        put_along(out, np.atleast_1d(index), wide(np.atleast_1d(src)), dim, mode)
    return out.astype(x.dtype, copy=False).reshape(x.shape)


def put_along(out, index, src, dim, mode):
    """Write or combine elements of src in place into a contiguous array at the indices along a dim."""
    flat, src = _flat_positions(out, index, dim).ravel(), src[tuple(map(slice, index.shape))].ravel()
    if mode == "set":
        out.reshape(-1)[flat] = src
    else:
        ufunc = np.logical_or if mode == "add" and out.dtype == np.bool_ else _UFUNC[mode]
        ufunc.at(out.reshape(-1), flat, src)


def _padded(g, src):
    """Pad a gradient of the read part of `src` with zeros for the rest."""
    from_shape, to_shape = g.shape, src.shape
    if tuple(from_shape) == tuple(to_shape):
        return g
    return pad(g, low=(0,) * len(to_shape), high=tuple(m - n for n, m in zip(from_shape, to_shape)),
               interior=(0,) * len(to_shape), value=0)


def _reached(src, index):
    """Return the part of `src` that the index reads."""
    for d, n in enumerate(index.shape):
        if n != src.shape[d]:
            src = slice_(src, dim=d, start=0, stop=n, step=1)
    return src


def _scatter_vjp(g, out, x, index, src, *, dim, mode, needs):
    gx = gsrc = None
    if needs[0]:
        zeros = full(g, shape=index.shape, value=0, dtype=dt.of(g))
        gx = g if mode == "add" else scatter(g, index, zeros, dim=dim, mode="set")
    if needs[2]:
        gsrc = _padded(gather(g, index, dim=dim), src)
    return gx, None, gsrc


def _scatter_bounds(x, index, src, *, dim, mode):
    return [(1, 0, x.shape[dim] if x.shape else 1)]


scatter = op("scatter", infer=_infer_scatter("scatter", ("set", "add")), ref=_scatter, vjp=_scatter_vjp, saves=(2,),
             lower=Template("scatter"), batch=ALONG, bounds=_scatter_bounds,
             traits=("float8", "refuses", "updates"),
             doc="x with out[index[i][j]][j] = src[i][j] for dim 0 (or += in mode add), and so on.")


def _scatter_mul_vjp(g, out, x, index, src, dim, needs):
    """A factor's gradient is the product of the others: by division, or from the remaining factors for an only zero."""
    gx = gsrc = None
    if needs[0]:
        ones = full(g, shape=x.shape, value=1, dtype=dt.of(g))
        gx = ew.mul(g, scatter_reduce(ones, index, src, dim=dim, mode="mul"))
    if needs[2]:
        src = _reached(src, index)
        zero = ew.eq(src, 0)
        none = full(g, shape=x.shape, value=0, dtype=dt.of(g))
        counts = scatter(none, index, ew.cast(zero, dtype=dt.of(g)), dim=dim, mode="add")
        single = ew.logical_and(zero, ew.eq(gather(counts, index, dim=dim), 1))
        others = scatter_reduce(x, index, ew.where(single, 1, src), dim=dim, mode="mul")
        divided = ew.div(gather(ew.mul(g, out), index, dim=dim), ew.where(zero, 1, src))
        gsrc = ew.where(single, gather(ew.mul(g, others), index, dim=dim), ew.where(zero, 0, divided))
    return gx, gsrc


def _scatter_extreme_vjp(g, out, x, index, src, dim, needs):
    """Ties share the gradient equally; where the extreme is nan, so are the gradients."""
    kind = dt.of(g)
    from_src, from_x = ew.eq(_reached(src, index), gather(out, index, dim=dim)), ew.eq(x, out)
    count = scatter(ew.cast(from_x, dtype=kind), index, ew.cast(from_src, dtype=kind), dim=dim, mode="add")
    share = ew.where(ew.eq(count, 0.0), math.nan, ew.div(g, count))
    from_src = ew.logical_or(from_src, ew.eq(gather(count, index, dim=dim), 0.0))
    return (ew.where(ew.logical_or(from_x, ew.eq(count, 0.0)), share, 0.0),
            ew.where(from_src, gather(share, index, dim=dim), 0.0))


def _scatter_reduce_vjp(g, out, x, index, src, *, dim, mode, needs):
    rule = _scatter_mul_vjp if mode == "mul" else _scatter_extreme_vjp
    gx, gsrc = rule(g, out, x, index, src, dim, needs)
    return gx, None, None if gsrc is None else _padded(gsrc, src)


scatter_reduce = op("scatter_reduce", infer=_infer_scatter("scatter_reduce", ("mul", "amax", "amin")), ref=_scatter,
                    vjp=_scatter_reduce_vjp, saves=(0, 1, 2, 3), lower=Template("scatter"), batch=ALONG,
                    bounds=_scatter_bounds, traits=("refuses", "updates"),
                    doc="As scatter, combining with what is there by product, maximum or minimum.")

# Positions found in data. Their number is a parameter that the caller has read before, so shapes stay static.


def _infer_nonzero(x, *, count):
    check_sizes((count,), "count")
    return (Aval((count,), dt.int64),) * x.ndim


def _nonzero(x, *, count):
    """Search flat positions: numpy finds them in a vector of bools far sooner than in a matrix, or in numbers."""
    flat, = (x if x.dtype == np.bool_ else x.astype(np.bool_)).reshape(-1).nonzero()
    if len(flat) != count:
        raise ShapeError(f"nonzero: {len(flat)} elements are not zero, expected {count}")
    found = []
    for size in reversed(x.shape[1:]):
        before = flat // size
        found.append(flat - before * size)
        flat = before
    return (flat, *reversed(found))


nonzero = op("nonzero", infer=_infer_nonzero, ref=_nonzero, vjp=NO_GRAD, lower=Host(), traits=("exact",),
             doc="Positions of the `count` elements that are not zero: one index vector for each dimension.")


def _repeat_index(repeats, *, total):
    if repeats.size and repeats.min() < 0:
        raise ArgumentError(f"repeat_interleave: counts must not be negative, got {repeats.min()}")
    found = np.repeat(np.arange(repeats.size), repeats)
    if found.size != total:
        raise ShapeError(f"repeat_interleave: the counts add up to {found.size}, expected {total}")
    return found


def _infer_repeat_index(repeats, *, total):
    require_index("repeat_interleave", repeats)
    check_sizes((total,), "total")
    return Aval((total,), dt.int64)


repeat_index = op("repeat_index", infer=_infer_repeat_index, ref=_repeat_index, vjp=NO_GRAD, lower=Host(),
                  traits=("exact", "refuses"), bounds=lambda repeats, *, total: [(0, 0, total + 1)],
                  doc="Each position as often as its count says; the counts add up to `total`.")
