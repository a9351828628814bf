"""Writers of products, normalisations and attention."""

import math

import numpy as np

from ....ir import dtype as dt
from ....ir.ops.core import shape as shape_ops
from ....ir.ops.linalg import determinant, products
from ....ir.ops.nn import attention as at
from ....ir.ops.nn import norm
from ....ir.ops.nn import resample as rs
from ....ir.ops.nn.norm import batch_norm
from ....ir.symbols.symbolic import is_symbol
from .graph_writer import emits, emits_each
from .recorded_ops import Ref
from .shape import FAR
from .size_formulas import FixedSize, is_fixed

FLOATS = (dt.float32, dt.float64)


@emits(products.matmul)
def _matmul(w, item, x, y):
    if x.dtype.is_inexact or x.dtype in (dt.int32, dt.int64):
        return w.node("MatMul", w.name(x), w.name(y))
    found = w.node("MatMul", *[w.cast(w.name(v), dt.int32) for v in (x, y)])
    return w.cast(w.cast(found, dt.bool_) if x.dtype is dt.bool_ else found, x.dtype)


@emits(products.linear, when=lambda node, opset: node.inputs[0].dtype.is_inexact, lazy=lambda w, item: None)
def _linear(w, item, x, weight, b):
    bias = None if b is None else w.name(b)
    if x.ndim == 2:
        return w.node("Gemm", w.name(x), w.name(weight), bias, transB=1)
    found = w.node("MatMul", w.name(x), w.transpose(w.name(weight), (1, 0)))
    return found if bias is None else w.node("Add", found, bias)


@emits(products.grouped_matmul)
def _grouped_matmul(w, item, x, y, ends):
    """Concatenate the groups' products; rows after the last group are zeros."""
    groups = ends.shape[0]
    if is_symbol(groups):
        raise FixedSize("the number of groups")
    shape = item.outputs[0].shape
    if not groups:
        return w.filled(shape, 0, x.dtype)
    stops = w.cast(w.name(ends), dt.int64)
    edges = w.node("Concat", w.ints([0]), stops, axis=0)

    def part(v, g, axis):
        if v.ndim == 3:
            return w.node("Gather", w.name(v), w.scalar(g, dt.int64), axis=0)
        first, last = [w.slice(edges, [i], [i + 1], [0]) for i in (g, g + 1)]
        return w.node("Slice", w.name(v), first, last, w.ints([axis]))

    both = x.ndim == y.ndim == 2
    made = [w.node("MatMul", part(x, g, 1 if both else 0), part(y, g, 0 if both else 1)) for g in range(groups)]
    if both:
        return w.node("Concat", *[w.unsqueeze(m, [0]) for m in made], axis=0)
    axis = 0 if y.ndim == 3 else 1
    rest = w.node("Sub", w.ints([shape[axis]]), w.slice(stops, [-1], [FAR], [0]))
    behind = [w.ints([0]), w.ints([0]), rest, w.ints([0])] if axis == 0 else [w.ints([0]), w.ints([0]), w.ints([0]), rest]
    return w.node("Pad", w.node("Concat", *made, axis=axis), w.node("Concat", *behind, axis=0))


# Normalisations. Missing weights are ones, missing biases zeros.


def _or_filled(w, v, shape, value, dtype):
    return w.const(np.full(shape, value, dtype.np), "filled") if v is None else w.name(v)


@emits(batch_norm, when=lambda node, opset: len({v.dtype for v in node.inputs if v is not None}) == 1
       and node.inputs[0].dtype in FLOATS)
def _batch_norm(w, item, x, weight, b, mean, var, *, eps):
    shape = [x.shape[1]]
    scale, shift = _or_filled(w, weight, shape, 1, x.dtype), _or_filled(w, b, shape, 0, x.dtype)
    return w.node("BatchNormalization", w.name(x), scale, shift, w.name(mean), w.name(var), epsilon=float(eps))


@emits(norm.layer_norm, when=lambda node, opset: node.inputs[0].dtype in FLOATS and node.inputs[1] is not None)
def _layer_norm(w, item, x, weight, b, *, dims, eps):
    return w.node("LayerNormalization", w.name(x), w.name(weight), None if b is None else w.name(b), axis=-dims,
                  epsilon=float(eps))


@emits(norm.group_norm, when=lambda node, opset: node.inputs[0].dtype is dt.float32 and 0 not in node.inputs[0].shape)
def _group_norm(w, item, x, weight, b, *, groups, eps):
    channels = x.shape[1]
    if w.opset >= 21:
        scale, shift = _or_filled(w, weight, [channels], 1, x.dtype), _or_filled(w, b, [channels], 0, x.dtype)
        return w.node("GroupNormalization", w.name(x), scale, shift, num_groups=groups, epsilon=float(eps))
    rows = w.node("Reshape", w.name(x), w.ints([0, groups, math.prod(x.shape[1:]) // groups]))     # (-1 is none of no images)
    scale, shift = w.const(np.ones(groups, x.dtype.np), "ones"), w.const(np.zeros(groups, x.dtype.np), "zeros")
    found = w.node("InstanceNormalization", rows, scale, shift, epsilon=float(eps))
    found = w.node("Reshape", found, w.node("Shape", w.name(x)))
    per_channel = [-1] + [1] * (x.ndim - 2)
    found = found if weight is None else w.node("Mul", found, w.reshape(w.name(weight), per_channel))
    return found if b is None else w.node("Add", found, w.reshape(w.name(b), per_channel))


# Attention.


def _transposed(n):
    return [*range(n - 2), n - 1, n - 2]


def _scores(w, q, k, scale, groups):
    scaled = Ref(-1, q.shape, q.dtype)
    w.names[scaled] = w.node("Mul", w.name(q), w.scalar(scale, q.dtype))
    if groups == 1:
        return w.node("MatMul", w.names[scaled], w.transpose(w.name(k), _transposed(k.ndim)))
    heads = k.shape[-3]
    left = w.reshape(w.name(scaled), [*scaled.shape[:-3], heads, groups, *scaled.shape[-2:]])
    right = w.transpose(w.unsqueeze(w.name(k), [k.ndim - 2]), _transposed(k.ndim + 1))
    return w.reshape(w.node("MatMul", left, right), [*q.shape[:-1], k.shape[-2]])


def _causal_mask(w, rows, columns):
    if is_fixed((rows, columns)):
        return w.const(np.tri(rows, columns, dtype=bool), "causal")
    return w.node("LessOrEqual", w.range(columns), w.unsqueeze(w.range(rows), [1]))


@emits(at.attention, when=lambda node, opset: node.inputs[0].dtype in FLOATS and 0 not in node.inputs[1].shape)
def _attention(w, item, q, k, v, mask, *, causal, scale):
    kind, groups = q.dtype, q.shape[-3] // k.shape[-3]
    low = w.scalar(-math.inf, kind)
    s = _scores(w, q, k, scale, groups)
    if mask is not None:
        s = w.node("Where", w.name(mask), s, low) if mask.dtype is dt.bool_ else w.node("Add", s, w.name(mask))
    if causal:
        s = w.node("Where", _causal_mask(w, q.shape[-2], k.shape[-2]), s, low)
    empty = None
    if mask is not None:
        empty = w.node("Equal", w.reduce("ReduceMax", s, [q.ndim - 1], True), low)
        s = w.node("Where", empty, w.scalar(0, kind), s)
    p = w.node("Softmax", s, axis=-1)
    if empty is not None:
        p = w.node("Where", empty, w.scalar(0, kind), p)
    return _weighted(w, item, p, v, k, groups), _log_sums(w, item, s, empty, kind, q.ndim)


def _weighted(w, item, p, v, k, groups):
    if groups == 1:
        return w.node("MatMul", p, w.name(v))
    out, shape = item.outputs[0], item.inputs[0].shape
    p = w.reshape(p, [*k.shape[:-3], k.shape[-3], groups, shape[-2], k.shape[-2]])
    return w.reshape(w.node("MatMul", p, w.unsqueeze(w.name(v), [v.ndim - 2])), out.shape)


def _log_sums(w, item, s, empty, kind, ndim):
    """Return the logarithm of each row's sum, or None if nobody reads it."""
    if not w.is_used(item.outputs[1]):
        return None
    top = w.reduce("ReduceMax", s, [ndim - 1], True)
    total = w.reduce("ReduceSum", w.node("Exp", w.node("Sub", s, top)), [ndim - 1], True)
    found = w.node("Add", w.node("Log", total), top)
    if empty is not None:
        found = w.node("Where", empty, w.scalar(math.inf, kind), found)
    return w.squeeze(found, [ndim - 1])


# Sampling.


@emits(rs.grid_sample, when=lambda node, opset: node.inputs[0].ndim == 4 and node.inputs[0].dtype is dt.float32)
def _grid_sample(w, item, x, grid, *, mode, padding_mode, align_corners):
    old = {"linear": "bilinear", "cubic": "bicubic"}
    return w.node("GridSample", w.name(x), w.name(grid), mode=mode if w.opset >= 20 else old.get(mode, mode),
                  padding_mode=padding_mode, align_corners=int(align_corners))


emits_each({
    determinant.det: lambda w, item, x: w.node("Det", w.name(x)),
}, when=lambda node, opset: node.inputs[0].dtype in FLOATS and 0 not in node.inputs[0].shape)


emits_each({
    shape_ops.group: lambda w, item, *xs: [w.name(x) for x in xs],
})
