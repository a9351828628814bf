"""Embedding: rows of a table by index, their gradient, and sums over bags of rows."""

from math import prod

import numpy as np

from ... import dtype as dt
from ...errors import ArgumentError, DimError, DTypeError, ShapeError
from ...opdef.aval import Aval
from ...opdef.op import NO_GRAD, Composite, Template, op
from ...opdef.param_checks import MOST, check_flag, check_int, check_sizes
from ..core import elementwise as ew
from ..core.batching import folded, repeated
from ..core.pointwise import in_single, wants_real_float
from ..core.reduce import sum_
from ..core.shape import expand, iota, reshape
from ..index.indexing import index as take
from ..index.sort import argsort, searchsorted


def _infer_embedding(weight, index, *, padding_idx, by_frequency):
    if weight.ndim != 2:
        raise ShapeError(f"embedding takes a table [num_embeddings, embedding_dim], got {weight}")
    if not index.dtype.is_integer:
        raise DTypeError(f"embedding takes integer indices (int32 or int64), got {index}; cast them with .long()")
    check_flag(by_frequency, "embedding: by_frequency")
    if padding_idx is not None:
        check_int(padding_idx, "embedding: padding_idx", -MOST)
    check_sizes((*index.shape, weight.shape[1]), "embedding: result")
    return weight.with_shape((*index.shape, weight.shape[1]))


def check_kinds(weight, index):
    """Raise unless there are a table and indices."""
    if weight.ndim != 2 or index.dtype.kind not in "iu":
        _infer_embedding(*[Aval(a.shape, dt.of(a)) for a in (weight, index)], padding_idx=None, by_frequency=False)


_INT64, _UINT64 = np.dtype(np.int64), np.dtype(np.uint64)


def check_range(name, index, rows):
    """Raise unless all indices name a row."""
    if index.dtype is _INT64 and index.size and np.maximum.reduce(index.view(_UINT64), None) < rows:
        return              # read as unsigned, what is negative is large
    if index.size and (index.min() < 0 or index.max() >= rows):
        bad = index[(index < 0) | (index >= rows)].reshape(-1)[0]
        raise DimError(f"{name}: index {int(bad)} is out of range for a table of {rows} rows")


def _embedding(weight, index, *, padding_idx, by_frequency):
    check_kinds(weight, index)
    check_range("embedding", index, weight.shape[0])
    return weight[index]


def _infer_row_sums(values, index, *, rows):
    check_sizes((rows,), "row_sums: rows")
    if not index.dtype.is_integer:
        raise DTypeError(f"row_sums takes integer indices, got {index}; cast them with .long()")
    if values.ndim < 1 or values.shape[:-1] != index.shape:
        raise ShapeError(f"row_sums takes one index for each row of values, got {values} and {index}")
    check_sizes((rows, values.shape[-1]), "row_sums: result")
    return values.with_shape((rows, values.shape[-1]))


def _row_sums(values, index, *, rows):
    """Add the rows of one index in their order, so the result depends on nothing else."""
    check_range("row_sums", index, rows)
    width = values.shape[-1]
    out = np.zeros((rows, width), values.dtype)
    flat = index.reshape(-1)
    if flat.size and width:
        order = np.argsort(flat, kind="stable")
        ordered = flat[order]
        starts = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]])
        out[ordered[starts]] = np.add.reduceat(values.reshape(-1, width)[order], starts, axis=0)
    return out


def _embedding_vjp(g, out, weight, index, *, padding_idx, by_frequency):
    column_shape = (*index.shape, 1)
    if by_frequency:
        g = ew.mul(g, expand(reshape(row_scale(g, index), shape=column_shape), shape=g.shape))
    if padding_idx is not None:
        padding = ew.eq(index, padding_idx)
        g = ew.where(expand(reshape(padding, shape=column_shape), shape=g.shape), 0.0, g)     # whatever arrives there
    return row_sums(g, index, rows=weight.shape[0])


def _batch_embedding(size, op, args, held, params):
    weight = args[0]
    if not held[0]:
        return op(*args, **params)
    rows, width = weight.shape[1:]
    if params["padding_idx"] is not None or params["by_frequency"]:
        return NotImplemented
    return op(reshape(weight, shape=(size * rows, width)), folded(size, op, args, held, params), **params)


def _batch_row_sums(size, op, args, held, params):
    index = folded(size, op, args, held, params)
    values = args[0] if held[0] else repeated(args[0], size)
    rows, inner = params["rows"], index.shape[1:]
    count, width = size * prod(inner), values.shape[1 + len(inner):]
    found = op(reshape(values, shape=(count, *width)), reshape(index, shape=(count,)), rows=size * rows)
    return reshape(found, shape=(size, rows, *width))


embedding = op("embedding", infer=_infer_embedding, ref=_embedding, vjp=(_embedding_vjp, None), lower=Template("gather"),
               batch=_batch_embedding, bounds=lambda weight, index, **params: [(1, 0, weight.shape[0])],
               traits=("exact", "float8", "self_checking", "refuses"),
               doc="The table's rows at the indices. Rows of padding_idx get no gradient; by_frequency divides the gradient "
                   "by how often a row occurs.")
row_sums = op("row_sums", infer=_infer_row_sums, ref=in_single(_row_sums),
              vjp=(lambda g, out, values, index, *, rows: embedding(g, index, padding_idx=None, by_frequency=False), None),
              lower=Template("scatter"), batch=_batch_row_sums, bounds=lambda values, index, *, rows: [(1, 0, rows)],
              doc="Adds up the values of each index: the gradient of embedding.")


def _row_scale(like, index):
    _, inverse, counts = np.unique(index.reshape(-1), return_inverse=True, return_counts=True)
    return (1 / counts[inverse].reshape(index.shape)).astype(np.float32 if like.dtype.itemsize == 2 else like.dtype).astype(
        like.dtype)


def _infer_row_scale(like, index):
    wants_real_float("row_scale", like)
    if not index.dtype.is_integer:
        raise DTypeError(f"row_scale takes integer indices, got {index}; cast them with .long()")
    return like.with_shape(index.shape)


row_scale = op("row_scale", infer=_infer_row_scale, ref=_row_scale, vjp=NO_GRAD,
               lower=Template("gather"), batch=lambda size, op, args, held, params: NotImplemented,
               doc="What the gradient of each looked-up row is multiplied by: 1 / how often it occurs.")


def check_bags(offsets, count):
    """Raise unless bags of this many indices lie one after the other, from the first index on."""
    if (count if not offsets.size else offsets[0] != 0 or offsets[-1] > count or (offsets[1:] < offsets[:-1]).any()):
        raise ArgumentError(f"the offsets of bags of {count} indices begin with 0 and never go down, got {offsets.tolist()}")


def _bag_of(offsets, *, size):
    check_bags(offsets, size)
    counts = np.empty(offsets.size, np.int64)
    np.subtract(offsets[1:], offsets[:-1], counts[:-1])
    counts[-1:] = size - offsets[-1:]
    return np.arange(offsets.size).repeat(counts)


def _infer_bag_of(offsets, *, size):
    check_sizes((size,), "embedding_bag: size")
    if offsets.ndim != 1 or not offsets.dtype.is_integer:
        raise ShapeError(f"embedding_bag takes a row of integer offsets, got {offsets}")
    return offsets.with_shape((size,))


bag_of = op("bag_of", title="embedding_bag", infer=_infer_bag_of,
            bounds=lambda offsets, *, size: [(0, 0, size + 1)],
            ref=lambda offsets, *, size: _bag_of(offsets, size=size).astype(offsets.dtype), vjp=NO_GRAD,
            lower=Template("gather"), traits=("exact", "refuses"),
            doc="The bag of each of `size` entries, from where bags start.")


def _infer_bag_sums(weight, index, offsets):
    if index.ndim != 1 or offsets.ndim != 1 or not offsets.dtype.is_integer:
        raise ShapeError(f"bag_sums takes a row of indices and a row of offsets, got {index} and {offsets}")
    _infer_embedding(weight, index, padding_idx=None, by_frequency=False)
    return weight.with_shape((offsets.shape[0], weight.shape[1]))


def _bag_bounds(weight, index, offsets, *scales):
    return [(1, 0, weight.shape[0]), (2, 0, index.shape[0] + 1)]


def _bag_sums_body(weight, index, offsets):
    rows = embedding(weight, index, padding_idx=None, by_frequency=False)
    return row_sums(rows, bag_of(offsets, size=index.shape[0]), rows=offsets.shape[0])


def _bag_sums(weight, index, offsets):
    check_bags(offsets, index.size)
    return _bag_sums_body(weight, index, offsets)


def _bag_sums_weight(g, out, weight, index, offsets):
    rows = embedding(g, bag_of(offsets, size=index.shape[0]), padding_idx=None, by_frequency=False)
    return row_sums(rows, index, rows=weight.shape[0])


bag_sums = op("bag_sums", infer=_infer_bag_sums, ref=in_single(_bag_sums), vjp=(_bag_sums_weight, None, None),
              lower=Composite(_bag_sums_body), bounds=_bag_bounds,
              traits=("refuses",),
              doc="The sums of a table's rows at the indices of each bag, which goes from its offset to the next.")


def _infer_scaled_bag_sums(weight, index, offsets, scales):
    if scales.shape != index.shape or scales.dtype is not weight.dtype:
        raise ShapeError(f"scaled_bag_sums takes a scale of the table's dtype for each index, got {scales} for {index} and "
                         f"{weight}")
    return _infer_bag_sums(weight, index, offsets)


def _scaled_rows(weight, index, scales):
    rows = embedding(weight, index, padding_idx=None, by_frequency=False)
    return ew.mul(rows, expand(reshape(scales, shape=(index.shape[0], 1)), shape=rows.shape))


def _scaled_bag_sums_body(weight, index, offsets, scales):
    return row_sums(_scaled_rows(weight, index, scales), bag_of(offsets, size=index.shape[0]), rows=offsets.shape[0])


def _scaled_bag_sums(weight, index, offsets, scales):
    check_bags(offsets, index.size)
    return _scaled_bag_sums_body(weight, index, offsets, scales)


def _scaled_bag_sums_weight(g, out, weight, index, offsets, scales):
    """Return the product with the transposed matrix of bags, in the order of entries."""
    order = argsort(index, dim=0, descending=False)
    rows = ew.cast(take(index, order), dtype=dt.int64)
    starts = searchsorted(rows, iota(index, shape=(weight.shape[0],), dim=0, dtype=dt.int64), right=False)
    return scaled_bag_sums(g, take(bag_of(offsets, size=index.shape[0]), order), starts, take(scales, order))


def _scaled_bag_sums_scales(g, out, weight, index, offsets, scales):
    of_bags = embedding(g, bag_of(offsets, size=index.shape[0]), padding_idx=None, by_frequency=False)
    return sum_(ew.mul(of_bags, embedding(weight, index, padding_idx=None, by_frequency=False)), dim=(1,), keepdim=False)


scaled_bag_sums = op("scaled_bag_sums", infer=_infer_scaled_bag_sums, ref=in_single(_scaled_bag_sums),
                     vjp=(_scaled_bag_sums_weight, None, None, _scaled_bag_sums_scales), lower=Composite(_scaled_bag_sums_body),
                     traits=("refuses",), bounds=_bag_bounds,
                     doc="The sums of a table's rows at the indices of each bag, each row times its scale: a CSR matrix times "
                         "a dense one.")
