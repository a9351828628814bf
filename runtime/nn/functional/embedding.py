"""Embeddings: lookups of table rows."""

from functools import partial

from ....ir import dtype as dt
from ....ir.errors import ArgumentError, DTypeError, ShapeError
from ....ir.ops.core import elementwise as ew
from ....ir.ops.core.shape import expand, reshape
from ....ir.ops.nn import embedding as ops
from ....ir.suggestions import unknown_choice
from ...api.register.register import FUNCTIONS, checked, renamed
from ...api.register.type_promotion import to_dtype, widened
from ...autograd.grad_mode import no_grad
from ...core.tensor import shape_of
from .sparse_embedding import gives_rows, sparse_lookup


@partial(renamed, keywords={"input": "tensor"})
def one_hot(tensor, num_classes=-1):
    """Return int64 rows with a 1 at each index."""
    return FUNCTIONS["one_hot"](tensor, num_classes)


def _padding(padding_idx, weight):
    rows = shape_of(weight)[0] if weight.ndim else 0
    if not -rows <= padding_idx < rows:
        raise ArgumentError(f"padding_idx {padding_idx} is not a row of a table of {rows}")
    return padding_idx % rows


def renormalise_(weight, input, max_norm, norm_type):
    """Scale the rows to be looked up down to max_norm, in place."""
    with no_grad():
        used = FUNCTIONS["unique"](input)
        rows = weight.detach().index_select(0, used)
        norms = FUNCTIONS["norm"](rows, norm_type, 1, True)
        scale = FUNCTIONS["where"](norms > max_norm, max_norm / (norms + 1e-7), FUNCTIONS["ones_like"](norms))
        weight.index_copy_(0, used, rows * scale)


def embedding(input, weight, padding_idx=None, max_norm=None, norm_type=2.0, scale_grad_by_freq=False, sparse=False):
    """Return the rows of `weight` at the indices. With `sparse`, the gradient of a leaf table is a sparse tensor of the rows
    that were looked up (`sparse_lookup`)."""
    if max_norm is not None:
        renormalise_(weight, input, max_norm, norm_type)
    if padding_idx is not None:
        padding_idx = _padding(padding_idx, weight)
    if sparse and gives_rows(weight):
        if scale_grad_by_freq:
            raise ArgumentError("embedding: scale_grad_by_freq does not go with sparse=True")
        return sparse_lookup(weight, input, padding_idx)
    return ops.embedding(weight, input, padding_idx=padding_idx, by_frequency=bool(scale_grad_by_freq))


@checked
def embedding_bag(input, weight, offsets=None, max_norm=None, norm_type=2, scale_grad_by_freq=False, mode="mean",
                  sparse=False, per_sample_weights=None, include_last_offset=False, padding_idx=None):
    """Return the sum, mean or maximum of the rows of each bag: a row of a 2-d input, or the indices between two offsets."""
    if input.dtype.is_floating_point and not weight.dtype.is_floating_point:
        input, weight = weight, input   # older programs give the table first
    if mode not in ("sum", "mean", "max"):
        raise unknown_choice("mode", mode, ("sum", "mean", "max"))
    if mode == "max" and (sparse or scale_grad_by_freq):
        raise ArgumentError("mode='max' goes neither with sparse=True nor with scale_grad_by_freq=True")
    if per_sample_weights is not None and (mode != "sum" or per_sample_weights.shape != input.shape):
        raise ArgumentError("per_sample_weights needs mode='sum' and the input's shape")
    if per_sample_weights is not None and per_sample_weights.dtype is not weight.dtype:
        raise DTypeError(f"embedding_bag takes per_sample_weights of the table's dtype {weight.dtype.name}, got "
                         f"{per_sample_weights.dtype.name}")
    if input.ndim == 2:
        if offsets is not None:
            raise ArgumentError("a 2-d input has one bag in each row; leave offsets=None")
        bags, size = input.shape
        offsets = FUNCTIONS["arange"](bags, device=input.device) * size
    elif input.ndim != 1 or offsets is None or offsets.ndim != 1:
        raise ShapeError(f"embedding_bag takes an input [B, N], or [N] with offsets [B], got {input.aval} and offsets "
                         f"{None if offsets is None else offsets.aval}")
    elif include_last_offset and not shape_of(offsets)[0]:
        raise ShapeError("embedding_bag with include_last_offset takes one offset at least")
    # Indices behind the last offset, if that ends the last bag, form a bag without a result.
    found = _reduce_bags(input, weight, offsets, max_norm, norm_type, scale_grad_by_freq, mode, sparse, per_sample_weights,
                  padding_idx)
    return found[:-1] if include_last_offset and input.ndim == 1 else found


def _reduce_bags(input, weight, offsets, max_norm, norm_type, scale_grad_by_freq, mode, sparse, per_sample_weights,
                 padding_idx):
    """Return the result of each bag; the last one extends to the end."""
    flat = input.reshape(-1)
    if padding_idx is not None:
        padding_idx = _padding(padding_idx, weight)
    special = (padding_idx, max_norm, per_sample_weights, scale_grad_by_freq or None, sparse or None)
    if mode != "max" and special == (None,) * 5 and weight.dtype in (dt.float32, dt.float64):
        total = ops.bag_sums(weight, flat, offsets)
        return total if mode == "sum" else total / _bag_sizes(input, offsets, weight.dtype)
    scaled = per_sample_weights is not None and special == (None, None, per_sample_weights, None, None)
    if scaled and weight.dtype in (dt.float32, dt.float64):
        return ops.scaled_bag_sums(weight, flat, offsets, per_sample_weights.reshape(-1))
    rows = embedding(flat, weight, padding_idx, max_norm, norm_type, scale_grad_by_freq, sparse)
    keep = None if padding_idx is None else ew.ne(flat, padding_idx)
    if mode == "max":
        if keep is None and input.ndim == 2 and input.shape[1]:     # bags of one size form a dim
            return FUNCTIONS["max"](reshape(rows, shape=(*input.shape, rows.shape[1])), 1)[0]
        return _first_largest(rows, offsets, keep)
    rows = widened(rows)
    if per_sample_weights is not None:
        rows = rows * widened(per_sample_weights).reshape(-1, 1)
    return to_dtype(_sum_of_bags(rows, offsets, keep, mode), weight.dtype)


def _bag_sizes(input, offsets, dtype):
    """Return the number of rows of each bag, at least 1: a number, or a column."""
    if input.ndim == 2:
        return max(input.shape[1], 1)
    ones = FUNCTIONS["ones"]((input.shape[0], 1), dtype=dtype, device=input.device)
    return ops.row_sums(ones, ops.bag_of(offsets, size=input.shape[0]), rows=offsets.shape[0]).clamp(min=1)


def _sum_of_bags(rows, offsets, keep, mode):
    bags, size = offsets.shape[0], rows.shape[0]
    bag = ops.bag_of(offsets, size=size)
    ones = FUNCTIONS["ones"]((size, 1), dtype=rows.dtype, device=rows.device)
    if keep is not None:
        inside = expand(reshape(keep, shape=(size, 1)), shape=rows.shape)
        rows = ew.where(inside, rows, 0.0)
        ones = ew.cast(reshape(keep, shape=(size, 1)), dtype=rows.dtype)
    total = ops.row_sums(rows, bag, rows=bags)
    if mode == "sum":
        return total
    return total / ops.row_sums(ones, bag, rows=bags).clamp(min=1)


def _first_largest(rows, offsets, keep):
    """Return the index of the first largest row of each bag; an empty bag gives zeros."""
    bags, (size, width) = offsets.shape[0], rows.shape
    if not size:
        return rows.sum(0, keepdim=True).expand(bags, width)
    bag = expand(reshape(ops.bag_of(offsets, size=size), shape=(size, 1)), shape=(size, width))
    seen = rows.detach() if keep is None else FUNCTIONS["where"](keep.unsqueeze(1), rows.detach(), -float("inf"))
    lowest = FUNCTIONS["full"]((bags, width), -float("inf"), dtype=rows.dtype, device=rows.device)
    best = lowest.scatter_reduce(0, bag, seen, "amax")
    is_best = ew.eq(seen, best.gather(0, bag)) | FUNCTIONS["isnan"](seen)
    if keep is not None:
        is_best = is_best & keep.unsqueeze(1)
    place = FUNCTIONS["where"](is_best, FUNCTIONS["arange"](size, device=rows.device).unsqueeze(1), size)
    first = FUNCTIONS["full"]((bags, width), size, device=rows.device).scatter_reduce(0, bag, place, "amin")
    empty = ew.eq(first, size)
    return FUNCTIONS["where"](empty, 0.0, rows.gather(0, FUNCTIONS["where"](empty, 0, first)))
