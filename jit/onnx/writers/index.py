"""Writers of operators that gather and scatter."""

import math

import numpy as np

from ....ir import dtype as dt
from ....ir.ops.index import indexing as ix
from ....ir.ops.nn import embedding as em
from ....ir.ops.nn import loss, pool
from .graph_writer import emits, emits_each

# Index tensors over leading dimensions.


def _indexed_dims(indices):
    return [d for d, i in enumerate(indices) if i is not None]


def _tuples(w, indices, dims):
    shapes = [indices[d].shape for d in dims]
    ndim = max(map(len, shapes))
    common = tuple(next((s[i - ndim + len(s)] for s in shapes if i >= ndim - len(s) and s[i - ndim + len(s)] != 1), 1)
                   for i in range(ndim))
    names = []
    for d in dims:
        name = w.name(indices[d])
        name = name if indices[d].dtype is dt.int64 else w.cast(name, dt.int64)
        names.append(w.unsqueeze(name if indices[d].shape == common else w.expand(name, common), [ndim]))
    return (names[0] if len(names) == 1 else w.node("Concat", *names, axis=ndim)), common


def _in_front(w, x, dims):
    order = [*dims, *[d for d in range(x.ndim) if d not in dims]]
    return w.transpose(w.name(x), order), order


def _place(dims, common, ndim):
    """Return the position of the common index dimensions in a result, as a permutation of (common, rest)."""
    adjacent = dims[-1] - dims[0] + 1 == len(dims)
    at, n, rest = (dims[0] if adjacent else 0), len(common), ndim - len(dims)
    return [*range(n, n + at), *range(n), *range(n + at, n + rest)]


@emits(ix.index)
def _index(w, item, x, *indices):
    dims = _indexed_dims(indices)
    if not dims:
        return w.name(x)
    if len(dims) == 1:
        return w.node("Gather", w.name(x), w.name(indices[dims[0]]), axis=dims[0])
    tuples, common = _tuples(w, indices, dims)
    front, _ = _in_front(w, x, dims)
    return w.transpose(w.node("GatherND", front, tuples), _place(dims, common, x.ndim))


@emits(ix.index_put, when=lambda node, opset: not node.params["accumulate"] or node.inputs[0].dtype is not dt.bool_)
def _index_put(w, item, x, value, *indices, accumulate):
    dims = _indexed_dims(indices)
    tuples, common = _tuples(w, indices, dims)
    front, order = _in_front(w, x, dims)
    place = _place(dims, common, x.ndim)
    updates = w.transpose(w.name(value), np.argsort(place).tolist())
    found = w.node("ScatterND", front, tuples, updates, reduction="add" if accumulate else None)
    return w.transpose(found, np.argsort(order).tolist())


# One index for each element.


_MODES = {"set": None, "add": "add", "mul": "mul", "amax": "max", "amin": "min"}


@emits(ix.scatter, ix.scatter_reduce,
       when=lambda node, opset: node.params["mode"] == "set" or (
           node.inputs[0].dtype is not dt.bool_ and (opset >= 18 or node.params["mode"] in ("add", "mul"))))
def _scatter(w, item, x, index, src, *, dim, mode):
    if not x.ndim:
        x_name, i_name, s_name = [w.unsqueeze(w.name(v), [0]) for v in (x, index, src)]
        return w.squeeze(w.node("ScatterElements", x_name, i_name, s_name, axis=0, reduction=_MODES[mode]), [0])
    source, over = w.name(src), [d for d, (n, m) in enumerate(zip(index.shape, src.shape)) if n != m]
    if over:
        source = w.slice(source, [0] * len(over), [index.shape[d] for d in over], over)
    return w.node("ScatterElements", w.name(x), w.name(index), source, axis=dim, reduction=_MODES[mode])


# Tables.


@emits(em.row_sums)
def _row_sums(w, item, values, index, *, rows):
    width = values.shape[-1]
    zeros = w.filled([rows, width], 0, values.dtype)
    return w.node("ScatterND", zeros, w.unsqueeze(w.name(index), [index.ndim]), w.name(values), reduction="add")


@emits(em.bag_of)
def _bag_of(w, item, offsets, *, size):
    """Count the bags that start at or before each entry, minus one."""
    name = w.name(offsets) if offsets.dtype is dt.int64 else w.cast(w.name(offsets), dt.int64)
    begun = w.node("LessOrEqual", name, w.unsqueeze(w.range(size), [1]))
    count = w.reduce("ReduceSum", w.cast(begun, dt.int64), [1], False)
    found = w.node("Sub", count, w.scalar(1, dt.int64))
    return found if offsets.dtype is dt.int64 else w.cast(found, offsets.dtype)


# Flat places in planes.


@emits(pool.plane_take)
def _plane_take(w, item, x, positions):
    flat = w.reshape(w.name(x), [*x.shape[:2], math.prod(x.shape[2:])])
    at = w.reshape(w.name(positions), [*positions.shape[:2], math.prod(positions.shape[2:])])
    return w.reshape(w.node("GatherElements", flat, at, axis=2), positions.shape)


@emits(pool.plane_put)
def _plane_put(w, item, x, positions, *, size, accumulate):
    zeros = w.filled([*x.shape[:2], math.prod(size)], 0, x.dtype)
    flat = [w.reshape(w.name(v), [*x.shape[:2], math.prod(x.shape[2:])]) for v in (positions, x)]
    found = w.node("ScatterElements", zeros, *flat, axis=2, reduction="add" if accumulate else None)
    return w.reshape(found, [*x.shape[:2], *size])


# Classes.


def _valid(w, target, classes):
    """Return (whether a class is in range, the class or 0)."""
    name = w.name(target) if target.dtype is dt.int64 else w.cast(w.name(target), dt.int64)
    zero = w.scalar(0, dt.int64)
    ok = w.node("And", w.node("GreaterOrEqual", name, zero), w.node("Less", name, w.scalar(classes, dt.int64)))
    return ok, w.node("Where", ok, name, zero)


@emits(loss.take_class)
def _take_class(w, item, x, target):
    ok, at = _valid(w, target, x.shape[1])
    found = w.squeeze(w.node("GatherElements", w.name(x), w.unsqueeze(at, [1]), axis=1), [1])
    return w.node("Where", ok, found, w.scalar(0, x.dtype))


@emits(loss.put_class)
def _put_class(w, item, v, target, *, classes):
    ok, at = _valid(w, target, classes)
    value = w.node("Where", ok, w.name(v), w.scalar(0, v.dtype))
    zeros = w.filled([v.shape[0], classes, *v.shape[1:]], 0, v.dtype)
    return w.node("ScatterElements", zeros, w.unsqueeze(at, [1]), w.unsqueeze(value, [1]), axis=1)


@emits(loss.class_weight)
def _class_weight(w, item, target, weight, *, ignore_index, classes, dtype):
    keep = w.node("Not", w.node("Equal", w.name(target), w.scalar(ignore_index, target.dtype)))
    if weight is None:
        return w.cast(keep, dtype)
    at = w.node("Where", keep, w.name(target), w.scalar(0, target.dtype))
    return w.node("Where", keep, w.node("Gather", w.name(weight), at, axis=0), w.scalar(0, dtype))


@emits(loss.class_index)
def _class_index(w, item, target, *, classes, ignore_index):
    name = w.name(target) if target.dtype is dt.int64 else w.cast(w.name(target), dt.int64)
    valid = w.node("Not", w.node("Equal", name, w.scalar(ignore_index, dt.int64)))
    if not target.ndim:
        return name, w.cast(valid, dt.int64)
    return name, w.reduce("ReduceSum", w.cast(valid, dt.int64), range(target.ndim), False)


emits_each({
    ix.gather: lambda w, item, x, index, *, dim: (
        w.node("GatherElements", w.name(x), w.name(index), axis=dim) if x.ndim else w.name(x)),
    em.embedding:
        lambda w, item, weight, index, *, padding_idx, by_frequency: w.node("Gather", w.name(weight), w.name(index), axis=0),
})
