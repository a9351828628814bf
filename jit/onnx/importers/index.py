"""Importers of ONNX operators that gather, scatter, sort, search and scan."""

from typing import Any

import numpy as np

from ....ir import dtype as dt
from ....ir.errors import DimError, FileError
from ....ir.ops.index.indexing import gather as gather_op
from ....ir.ops.index.indexing import index as index_op
from ....ir.ops.index.indexing import scatter as scatter_op
from ....ir.ops.index.indexing import scatter_reduce
from .registry import ing, ints, onnx_op, onnx_ops, to_tensor, whole_axis


@onnx_op("Gather", either=(1,))
def _gather(call, x, indices):
    axis = whole_axis(call.get("axis", 0), x.ndim)
    if indices.ndim == 0 and isinstance(indices, np.ndarray):
        at = ints(indices)[0]
        return x.select(axis, at if at >= 0 else at + x.shape[axis])
    return index_op(x, *[None] * axis, to_tensor(indices))


def _counted_from_front(indices, n):
    return ing.where(indices < 0, indices + n, indices)


@onnx_op("GatherElements")
def _gather_elements(call, x, indices):
    axis = whole_axis(call.get("axis", 0), x.ndim)
    return gather_op(x, _counted_from_front(indices, x.shape[axis]), dim=axis)


@onnx_op("GatherND")
def _gather_nd(call, x, indices):
    lead = call.get("batch_dims", 0)
    if not 0 <= lead < min(x.ndim, indices.ndim):
        raise DimError(f"batch_dims of a GatherND is {lead}, and its inputs have {x.ndim} and {indices.ndim} dims")
    own = [indices.select(indices.ndim - 1, i) for i in range(indices.shape[-1])]
    return index_op(x, *_batch_indices(x, lead, indices.ndim - 1), *own)


def _batch_indices(x, lead, ndim):
    return [to_tensor(np.arange(x.shape[d]).reshape([-1 if i == d else 1 for i in range(ndim)])) for d in range(lead)]


_MODES = {"none": "set", "add": "add", "mul": "mul", "max": "amax", "min": "amin"}


def _scattered(x, indices, updates, axis, reduction):
    if reduction not in _MODES:
        raise FileError(f"a scatter has the unknown reduction {reduction!r}")
    mode = _MODES[reduction]
    run = scatter_op if mode in ("set", "add") else scatter_reduce
    if x.dtype is dt.bool_ and mode != "set":
        return _scattered(x.to(dt.uint8), indices, updates.to(dt.uint8), axis, reduction).to(dt.bool_)
    return run(x, indices, updates, dim=axis, mode=mode)


@onnx_op("ScatterElements", "Scatter")
def _scatter_elements(call, x, indices, updates):
    axis = whole_axis(call.get("axis", 0), x.ndim)
    return _scattered(x, _counted_from_front(indices, x.shape[axis]), updates, axis, call.get("reduction", "none"))


@onnx_op("ScatterND")
def _scatter_nd(call, x, indices, updates):
    depth = indices.shape[-1]
    sizes, rest = x.shape[:depth], x.shape[depth:]
    flat: Any = None
    for d, n in enumerate(sizes):
        place = _counted_from_front(indices.select(indices.ndim - 1, d), n)
        flat = place if flat is None else flat * n + place
    rows, columns = int(np.prod(sizes, dtype=np.int64)), int(np.prod(rest, dtype=np.int64))
    flat = flat.reshape(-1, 1).expand(flat.numel(), columns)
    table = _scattered(x.reshape(rows, columns), flat, updates.reshape(flat.shape[0], columns), 0,
                       call.get("reduction", "none"))
    return table.reshape(x.shape)


@onnx_op("OneHot", host=(1,))
def _one_hot(call, indices, depth, values):
    count = int(np.asarray(depth).reshape(-1)[0])
    axis = whole_axis(call.get("axis", -1), indices.ndim + 1)
    classes = indices.to(dt.int64).unsqueeze(axis)
    numbers = ing.arange(count).reshape([-1 if i == axis else 1 for i in range(indices.ndim + 1)])
    hit = ing.eq(_counted_from_front(classes, count), numbers)
    return ing.where(hit, values[1], values[0])


@onnx_op("Compress", host=(1,))
def _compress(call, x, condition):
    at = to_tensor(np.flatnonzero(condition))
    axis = call.get("axis")
    return index_op(x.reshape(-1), at) if axis is None else index_op(x, *[None] * whole_axis(axis, x.ndim), at)


@onnx_op("Unique", host=(0,))
def unique(call, x):
    """Return distinct elements (or slices), their first positions, the number of each element, and counts."""
    axis = call.get("axis")
    rows = x.reshape(-1) if axis is None else x
    values, first, inverse, counts = np.unique(rows, True, True, True, axis=0 if axis is None else axis)
    inverse = inverse.reshape(-1)
    if not call.get("sorted", 1):
        order = np.argsort(first)
        values, first, counts = np.take(values, order, 0 if axis is None else axis), first[order], counts[order]
        inverse = np.argsort(order)[inverse]
    return values, first.astype(np.int64), inverse.astype(np.int64), counts.astype(np.int64)


@onnx_op("CumSum", "CumProd", host=(1,))
def _running(call, x, axis):
    dim = whole_axis(int(axis.reshape(-1)[0]), x.ndim)
    scan, start = (ing.cumsum, 0) if call.kind == "CumSum" else (ing.cumprod, 1)
    if call.get("reverse", 0):
        x = x.flip(dim)
    if call.get("exclusive", 0):
        first = ing.full_like(x.narrow(dim, 0, min(1, x.shape[dim])), start)
        x = ing.cat([first, x.narrow(dim, 0, max(0, x.shape[dim] - 1))], dim)
    out = scan(x, dim, dtype=x.dtype)
    return out.flip(dim) if call.get("reverse", 0) else out


@onnx_op("ReverseSequence")
def _reverse_sequence(call, x, lengths):
    batch, time = [whole_axis(call.get(*row), x.ndim) for row in (("batch_axis", 1), ("time_axis", 0))]
    steps = ing.arange(x.shape[time]).reshape(-1, 1)
    lengths = lengths.reshape(1, -1)
    positions = ing.where(steps < lengths, lengths - 1 - steps, steps)
    if batch < time:
        positions = positions.T
    shape = [n if i in (batch, time) else 1 for i, n in enumerate(x.shape)]
    return gather_op(x, positions.reshape(shape).expand(x.shape), dim=time)


@onnx_op("TensorScatter")
def _tensor_scatter(call, cache, update, start=None):
    """Write new keys or values into a cache, from each batch's start on."""
    axis = whole_axis(call.get("axis", -2), cache.ndim)
    count, size = update.shape[axis], cache.shape[axis]
    start = ing.zeros(cache.shape[0], dtype=dt.int64) if start is None else start
    positions = start.reshape(-1, 1) + ing.arange(count).reshape(1, -1)
    if call.get("mode", "linear") == "circular":
        positions = ing.remainder(positions, size)
    shape = [cache.shape[0] if i == 0 else count if i == axis else 1 for i in range(cache.ndim)]
    return scatter_op(cache, positions.reshape(shape).expand(update.shape), update, dim=axis, mode="set")


onnx_ops({
    "NonZero": lambda call, x: ing.nonzero(x).T.contiguous(),
    "TopK": lambda call, x: tuple(ing.topk(x, call.need("k"), call.get("axis", -1))),
})
onnx_op("TopK", since=10, host=(1,))(lambda call, x, k: tuple(ing.topk(
    x, ints(k)[0], call.get("axis", -1), bool(call.get("largest", 1)), bool(call.get("sorted", 1)))))
