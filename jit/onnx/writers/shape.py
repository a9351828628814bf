"""Writers of operators that move data: views and copies."""

import math

import numpy as np

from ....ir import dtype as dt
from ....ir.ops.core import shape as sh
from ....ir.ops.core.shape import constant
from ....ir.ops.index.assign import assign_view, run_chain
from ....ir.ops.nn.linear_maps import border_table
from ....ir.ops.nn.resample import border_pad, border_pad_grad
from ....ir.symbols.symbolic import is_symbol
from .graph_writer import emits, emits_each
from .size_formulas import is_fixed

FAR = (1 << 63) - 1


@emits(sh.reshape)
def _reshape(w, item, x, *, shape):
    if x.shape == tuple(shape):
        return w.name(x)
    symbolic = [i for i, n in enumerate(shape) if is_symbol(n)]
    if len(symbolic) < 2 or 0 in shape:
        return w.reshape(w.name(x), shape)
    same = [i for i in symbolic if i < x.ndim and x.shape[i] == shape[i]]
    rest = [i for i in symbolic if i not in same]
    if len(rest) < 2:
        given = [0 if i in same else -1 if i in rest else n for i, n in enumerate(shape)]
        return w.node("Reshape", w.name(x), w.const(np.array(given, np.int64), "sizes"))
    return w.node("Reshape", w.name(x), w.ints([-1 if i == rest[-1] else n for i, n in enumerate(shape)]))


@emits(sh.expand, lazy=lambda w, item: w.small(item.inputs[0]) or w.name(item.inputs[0]))
def _expand(w, item, x, *, shape):
    lead = len(shape) - x.ndim
    if not lead and x.shape == tuple(shape):
        return w.name(x)
    sizes = [1 if i >= lead and x.shape[i - lead] == n else n for i, n in enumerate(shape)]
    return w.expand(w.name(x), sizes)


@emits(sh.full, lazy=lambda w, item: w.scalar(item.params["value"], item.params["dtype"]))
def _full(w, item, like, *, shape, value, dtype):
    if is_symbol(value):
        return w.expand(w.scalar(value, dtype), shape)
    return w.filled(shape, value, dtype)


@emits(constant)
def _constant(w, item, like, *, values, shape, dtype):
    if is_fixed(values):
        return w.const(np.array(values, dtype.np).reshape(shape))
    parts = w.ints(values)
    return w.reshape(parts if dtype is dt.int64 else w.cast(parts, dtype), shape)


@emits(sh.iota)
def _iota(w, item, like, *, shape, dim, dtype):
    along_dim = [n if i == dim else 1 for i, n in enumerate(shape)]
    numbers = w.range(shape[dim], dtype)
    numbers = numbers if len(shape) == 1 else w.reshape(numbers, along_dim)
    return numbers if along_dim == list(shape) else w.expand(numbers, shape)


@emits(sh.roll)
def _roll(w, item, x, *, shifts, dims):
    name = w.name(x)
    for shift, dim in zip(shifts, dims):
        n = x.shape[dim]
        if not is_symbol(n):
            shift = shift % n if n else 0
        if is_symbol(shift) or shift:
            name = w.node("Concat", w.slice(name, [-shift], [FAR], [dim]), w.slice(name, [0], [-shift], [dim]), axis=dim)
    return name


def padded(w, name, low, high, value, dtype, mode=None):
    """Pad each dimension, or cut it where numbers are negative."""
    if all(not is_symbol(n) and n == 0 for n in (*low, *high)):
        return name
    fill = None if mode else w.scalar(value, dtype)
    return w.node("Pad", name, w.ints([*low, *high]), fill, mode=mode)


@emits(sh.pad)
def _pad(w, item, x, *, low, high, interior, value=0):
    name, shape = w.name(x), list(x.shape)
    boolean = x.dtype is dt.bool_
    if boolean:
        name = w.cast(name, dt.int32)
    kind = dt.int32 if boolean else x.dtype
    for dim, gap in enumerate(interior):
        if gap:
            name = _spread(w, name, shape, dim, gap, value, kind)
            shape[dim] = shape[dim] + (shape[dim] - 1) * gap
    name = padded(w, name, low, high, value, kind)
    return w.cast(name, dt.bool_) if boolean else name


def _spread(w, name, shape, dim, gap, value, dtype):
    n = len(shape)
    name = w.unsqueeze(name, [dim + 1])
    low, high = [0] * (n + 1), [gap if i == dim + 1 else 0 for i in range(n + 1)]
    name = padded(w, name, low, high, value, dtype)
    grown = [m * (gap + 1) if i == dim else m for i, m in enumerate(shape)]
    return w.slice(w.reshape(name, grown), [0], [-gap], [dim])


@emits(border_pad)
def _border_pad(w, item, x, *, low, high, mode):
    kinds = {"reflect": "reflect", "replicate": "edge"}
    plain = all(0 <= p < n if mode == "reflect" else p >= 0 for p, n in zip((*low, *high), x.shape * 2))
    if mode in kinds and plain:
        return padded(w, w.name(x), low, high, 0, x.dtype, kinds[mode])
    name = w.name(x)
    for dim, (lo, hi) in enumerate(zip(low, high)):
        if lo or hi:
            positions = border_table(mode, int(x.shape[dim]), lo, hi)[0][0]
            name = w.node("Gather", name, w.const(positions, "places"), axis=dim)
    return name


# Moves that are written as one flat gather or scatter over fixed sizes.


def _sources(op, shape, /, **params):
    """Return the flat source position of each result of an operator that moves elements."""
    numbers = np.arange(int(math.prod(shape))).reshape([int(n) for n in shape])
    return np.asarray(op.ref(numbers, **params)).astype(np.int64)


@emits(sh.diagonal, sh.as_strided)
def _gathered(w, item, x, **params):
    return w.node("Gather", w.reshape(w.name(x), [-1]), w.const(_sources(item.op, x.shape, **params), "places"), axis=0)


def _scattered(w, x, shape, op, /, **params):
    """Add elements of x to zeros where an operator that moves elements takes them from."""
    zeros = w.filled([int(math.prod(shape))], 0, x.dtype)
    positions = w.const(_sources(op, shape, **params).reshape(-1), "places")
    flat = w.node("ScatterElements", zeros, positions, w.reshape(w.name(x), [-1]), axis=0, reduction="add")
    return w.reshape(flat, shape)


@emits(sh.unfold)
def _unfold(w, item, x, *, dim, size, step):
    count = (x.shape[dim] - size) // step + 1
    within = w.const(np.arange(size).reshape(1, -1), "within")
    start = w.node("Mul", w.reshape(w.range(count), [-1, 1]), w.const(np.array(step, np.int64), "number"))
    found = w.node("Gather", w.name(x), w.node("Add", start, within), axis=dim)
    return w.transpose(found, [d for d in range(x.ndim + 1) if d != dim + 1] + [dim + 1])


emits_each({
    sh.fold_windows: lambda w, item, x, *, shape, dim, step: _scattered(
        w, x, shape, sh.unfold, dim=dim, size=int(x.shape[-1]), step=step),
    sh.diagonal_scatter: lambda w, item, x, *, shape, **params: _scattered(w, x, shape, sh.diagonal, **params),
    sh.strided_scatter: lambda w, item, x, *, size, **params: _scattered(w, x, size, sh.as_strided, shape=x.shape, **params),
    border_pad_grad: lambda w, item, x, **params: _scattered(w, x, item.outputs[0].shape, border_pad, **params),
})


# Writes into a part.


def _assigned(w, base, shape, dtype, chain, value):
    """Replace the part of a base that a chain of views selects."""
    if not chain:
        return value
    (name, params), rest = chain[0], chain[1:]
    params = dict(params)
    if name == sh.slice_.name and params["step"] == 1:
        return _between(w, base, shape, dtype, params["dim"], params["start"], params["stop"], rest, value)
    if name == sh.select.name:
        dim, index = params["dim"], params["index"]
        part = w.node("Gather", base, w.scalar(index, dt.int64), axis=dim)
        inner = _assigned(w, part, [n for i, n in enumerate(shape) if i != dim], dtype, rest, value)
        return _joined(w, base, shape, dim, index, index + 1, w.unsqueeze(inner, [dim]))
    if name == sh.permute.name:
        dims = params["dims"]
        inner = _assigned(w, w.transpose(base, dims), [shape[d] for d in dims], dtype, rest, value)
        return w.transpose(inner, np.argsort(dims).tolist())
    if name == sh.reshape.name:
        return w.reshape(_assigned(w, w.reshape(base, params["shape"]), params["shape"], dtype, rest, value), shape)
    numbers = np.arange(int(math.prod(shape))).reshape([int(n) for n in shape])
    positions = run_chain(numbers, [(n, dict(p)) for n, p in chain])
    at = w.const(positions.reshape(-1), "places")
    flat = w.node("ScatterElements", w.reshape(base, [-1]), at, w.reshape(value, [-1]), axis=0)
    return w.reshape(flat, shape)


def _between(w, base, shape, dtype, dim, start, stop, rest, value):
    size = stop if is_symbol(stop) or is_symbol(shape[dim]) else min(stop, shape[dim])
    inner_shape = [size - start if i == dim else n for i, n in enumerate(shape)]
    inner = _assigned(w, w.slice(base, [start], [stop], [dim]), inner_shape, dtype, rest, value) if rest else value
    return _joined(w, base, shape, dim, start, stop, inner)


def _joined(w, base, shape, dim, start, stop, inner):
    """Replace everything from start to stop along a dimension of a base."""
    parts = [inner]
    if is_symbol(start) or start > 0:
        parts.insert(0, w.slice(base, [0], [start], [dim]))
    if _ends_before(stop, shape[dim]):
        parts.append(w.slice(base, [stop], [FAR], [dim]))
    return parts[0] if len(parts) == 1 else w.node("Concat", *parts, axis=dim)


def _ends_before(stop, size) -> bool:
    if is_symbol(stop) or is_symbol(size):
        return stop != size
    return stop < size


emits_each({
    sh.select: lambda w, item, x, *, dim, index: (
        w.ends[x] if x in w.ends else w.node("Gather", w.name(x), w.scalar(index, dt.int64), axis=dim)),
    sh.flip: lambda w, item, x, *, dims: (
        w.slice(w.name(x), [-1] * len(dims), [-FAR] * len(dims), dims, [-1] * len(dims)) if dims else w.name(x)),
    sh.permute: lambda w, item, x, *, dims: w.transpose(w.name(x), dims),
    sh.slice_: lambda w, item, x, *, dim, start, stop, step: w.slice(w.name(x), [start], [stop], [dim], [step]),
    sh.cat: lambda w, item, *xs, dim: w.name(xs[0]) if len(xs) == 1 else w.node("Concat", *[w.name(x) for x in xs], axis=dim),
    assign_view:
        lambda w, item, base, value, *, chain: _assigned(w, w.name(base), base.shape, base.dtype, chain, w.name(value)),
})


emits(sh.bitcast, when=lambda node, opset: node.inputs[0].dtype is node.params["dtype"])(lambda w, item, x, *, dtype: w.name(x))
