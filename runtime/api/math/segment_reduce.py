"""Reductions of segments of different lengths, and positions of nonzero elements in a fixed number."""

import math

from ....ir import dtype as dt
from ....ir.errors import ArgumentError, DTypeError, ShapeError
from ....ir.ops.core import elementwise as ew
from ....ir.ops.core import shape as sh
from ....ir.suggestions import unknown_choice
from ...core.placement import on_device_of
from ...core.tensor import numel_of, shape_of
from ..register.register import FUNCTIONS, api, deliver
from ..views.reshaping import canonical_dim, ravel
from ..views.tensor_factories import counted, filled

STARTS = {"sum": 0.0, "mean": 0.0, "prod": 1.0, "max": -math.inf, "min": math.inf}
MODES = {"sum": "sum", "mean": "sum", "prod": "prod", "max": "amax", "min": "amin"}
NAMES = {"amax": "max", "amin": "min"}


def _lengths_of(data, lengths, offsets, axis, unsafe):
    """Return the lengths of the segments of each row."""
    if (lengths is None) == (offsets is None):
        raise ArgumentError("segment_reduce takes either lengths or offsets")
    if lengths is None:
        return FUNCTIONS["diff"](offsets, dim=-1)
    if lengths.ndim != axis + 1 or lengths.shape[:-1] != data.shape[:axis]:
        raise ShapeError(f"segment_reduce takes lengths of shape {(*data.shape[:axis], 'segments')}, got {lengths.aval}")
    if not unsafe and not bool((lengths >= 0).all() & (lengths.sum(-1) == data.shape[axis]).all()):
        raise ArgumentError(f"segment_reduce: lengths must be at least 0 and add up to {data.shape[axis]}")
    return lengths


@api(method=False, names=("_segment_reduce",))
def segment_reduce(data, reduce, *, lengths=None, indices=None, offsets=None, axis=0, unsafe=False, initial=None):
    """Reduce segments along an axis by sum, mean, prod, max or min, given their lengths or their offsets (and the last end). A
    segment without elements is `initial`, or the reduction's own start; a mean of nothing is nan."""
    reduce = NAMES.get(reduce, reduce)
    if reduce not in STARTS:
        raise unknown_choice("segment_reduce: reduce", reduce, STARTS)
    if indices is not None:
        raise ArgumentError("segment_reduce takes lengths or offsets, not indices")
    if not data.dtype.is_floating_point:
        raise DTypeError(f"segment_reduce takes floating point numbers, got {data.aval}; cast with .to()")
    axis = canonical_dim(axis, data.ndim)
    sizes = _lengths_of(data, lengths, offsets, axis, unsafe)
    ends = FUNCTIONS["cumsum"](sizes, -1)
    n, count = data.shape[axis], sizes.shape[-1]
    positions = on_device_of(counted(n), data).expand(*data.shape[:axis], n).contiguous()
    segment = FUNCTIONS["searchsorted"](ends, positions, right=True)
    inner = (1,) * (data.ndim - axis - 1)
    index = segment.reshape(*segment.shape, *inner).expand(data.shape)
    shape = (*data.shape[:axis], count, *data.shape[axis + 1:])
    rest = int(unsafe)      # what unchecked lengths leave over is a segment of its own, cut off again
    grown = (*shape[:axis], count + rest, *shape[axis + 1:])
    start = filled(data, grown, STARTS[reduce] if initial is None else initial, data.dtype)
    result = start.scatter_reduce(axis, index, data, MODES[reduce]).narrow(axis, 0, count)
    if reduce != "mean":
        return result
    divisor = sizes.reshape(*sizes.shape, *inner).expand(shape).to(data.dtype)
    return result / divisor if initial is None else result / divisor.clamp(min=1)


@api()
def nonzero_static(input, *, size, fill_value=-1, out=None):
    """Return the first `size` positions of nonzero elements, as rows, padded by rows of fill_value."""
    if size < 0:
        raise ArgumentError(f"nonzero_static takes a size of at least 0, got {size}")
    hit = ravel(ew.ne(input, 0)) if input.dtype is not dt.bool_ else ravel(input)
    n = numel_of(hit)
    rank = ew.sub(FUNCTIONS["cumsum"](hit, 0), 1)
    place = ew.where(ew.logical_and(hit, ew.lt(rank, size)), rank, size)
    found = filled(input, (size + 1,), -1, dt.int64).scatter(0, place, on_device_of(counted(n), input))
    found = sh.slice_(found, dim=0, start=0, stop=size, step=1)
    columns, step = [], n
    for length in shape_of(input):
        step //= max(1, length)
        columns.append(ew.where(ew.lt(found, 0), fill_value, (found // max(1, step)) % max(1, length)))
    rows = FUNCTIONS["stack"](columns, 1) if columns else filled(input, (size, 0), 0, dt.int64)
    return deliver(rows, out, "nonzero_static")
