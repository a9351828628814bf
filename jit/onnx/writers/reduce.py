"""Writers of reductions, sorts and scans."""

import math

import numpy as np

from ....ir import dtype as dt
from ....ir.ops.core import moments
from ....ir.ops.core import reduce as rd
from ....ir.ops.core import scan as sc
from ....ir.ops.index import sort as st
from .graph_writer import emits, emits_from
from .math import log1p, truth


def _plain(kind):
    def write(w, item, x, *, dim, keepdim):
        if not dim:
            return w.name(x)
        if x.dtype is dt.bool_:
            found = w.reduce(kind, w.cast(w.name(x), dt.int32), dim, keepdim)
            return w.cast(found, dt.bool_)
        return w.reduce(kind, w.name(x), dim, keepdim)

    return write


emits_from(_plain, {rd.sum_: "ReduceSum", rd.prod: "ReduceProd", rd.amax: "ReduceMax", rd.amin: "ReduceMin"})
emits(moments.mean, when=lambda node, opset: node.inputs[0].dtype in (dt.float32, dt.float64))(_plain("ReduceMean"))


@emits(rd.require)
def _require(w, item, holds, *, message):
    """Leave the check out, as ONNX has no operator that raises."""
    return w.name(holds)


def _logical(kind):
    def write(w, item, x, *, dim, keepdim):
        holds = truth(w, w.name(x), x.dtype)
        if not dim:
            return holds
        found = w.reduce(kind, w.cast(holds, dt.int32), dim, keepdim)
        return w.cast(found, dt.bool_)

    return write


def _some(node, opset):
    """Return whether there is something along every reduced dimension."""
    return all(node.inputs[0].shape[d] for d in node.params["dim"])


emits_from(_logical, {rd.any_: "ReduceMax", rd.all_: "ReduceMin"}, when=_some)


def _position(kind):
    def write(w, item, x, *, dim, keepdim):
        name = w.name(x) if x.dtype is not dt.bool_ else w.cast(w.name(x), dt.int32)
        if x.dtype in (dt.int16, dt.int64, dt.uint16, dt.uint32):
            name = w.cast(name, dt.float64)
        if len(dim) == 1:
            return w.node(kind, name, axis=dim[0], keepdims=int(keepdim))
        rest = [d for d in range(x.ndim) if d not in dim]
        reduced_last = w.transpose(name, [*rest, *sorted(dim)])
        rows = w.reshape(reduced_last, [*[x.shape[d] for d in rest], math.prod([x.shape[d] for d in dim])])
        found = w.node(kind, rows, axis=len(rest), keepdims=0)
        return w.reshape(found, tuple(1 if i in dim else n for i, n in enumerate(x.shape) if keepdim or i not in dim))

    return write


emits_from(_position, {rd.argmax: "ArgMax", rd.argmin: "ArgMin"})


# Sorting. Runtimes sort these types; others go through the next wider one. ONNX does not say where nan belongs.


def _sortable(w, x):
    name, kind = w.name(x), x.dtype
    if kind not in (dt.float32, dt.float64, dt.int32, dt.int64):
        kind = dt.float32 if kind in (dt.float16, dt.bfloat16) else dt.int64
        name = w.cast(name, kind)
    if not kind.is_inexact:
        return name
    return w.node("Where", w.node("IsNaN", name), w.scalar(math.inf, kind), name)


@emits(st.argsort)
def _argsort(w, item, x, *, dim, descending):
    return w.node("TopK", _sortable(w, x), w.ints([x.shape[dim]]), outputs=2, axis=dim, largest=int(descending))[1]


@emits(st.arg_topk)
def _arg_topk(w, item, x, *, k, dim, largest):
    return w.node("TopK", _sortable(w, x), w.ints([k]), outputs=2, axis=dim, largest=int(largest))[1]


@emits(st.searchsorted)
def _searchsorted(w, item, rows, values, *, right):
    """Count the elements before each value; nan comes after every number."""
    table = w.unsqueeze(w.name(rows), [rows.ndim - 1]) if rows.ndim > 1 else w.name(rows)
    value = w.unsqueeze(w.name(values), [values.ndim])
    hit = w.node("LessOrEqual" if right else "Less", table, value)
    if rows.dtype.is_inexact:
        beyond = w.node("IsNaN", value)
        if not right:
            beyond = w.node("And", beyond, w.node("Not", w.node("IsNaN", table)))
        hit = w.node("Or", hit, beyond)
    return w.reduce("ReduceSum", w.cast(hit, dt.int64), [values.ndim], False)


# Scans.


@emits(sc.cumsum)
def _cumsum(w, item, x, *, dim):
    if x.dtype in (dt.float32, dt.float64, dt.int32, dt.int64):
        return w.node("CumSum", w.name(x), w.scalar(dim, dt.int64))
    wide = dt.float32 if x.dtype.is_inexact else dt.int64
    found = w.node("CumSum", w.cast(w.name(x), wide), w.scalar(dim, dt.int64))
    return w.cast(w.cast(found, dt.bool_) if x.dtype is dt.bool_ else found, x.dtype)


def _state(w, x, dim, value, dtype):
    shape = [n for i, n in enumerate(x.shape) if i != dim]
    return w.filled(shape, value, dtype), (dtype, [None] * len(shape))


def _along(w, x, dim, starts, body, gives):
    """Return a scan whose steps take the state, if there is one, and the element; `gives` is the dtype of each result."""
    states = [_state(w, x, dim, v, d) for v, d in starts]
    step = (x.dtype, [None] * (x.ndim - 1))
    types = ([t for _, t in states], [step], [(d, step[1]) for d in gives])
    found = w.scan([s for s, _ in states], [w.name(x)], types, body, axis=dim)
    return found[len(states):]


@emits(sc.cumprod)
def _cumprod(w, item, x, *, dim):
    def body(v, states, slices):
        after = v.node("Mul", states[0], slices[0])
        return [after], [after]

    return _along(w, x, dim, [(1, x.dtype)], body, [x.dtype])[0]


@emits(sc.products_of_others)
def _products_of_others(w, item, x, *, dim):
    def body(v, states, slices):
        return [v.node("Mul", states[0], slices[0])], [states[0]]

    state, kind = _state(w, x, dim, 1, x.dtype)
    return w.node("Mul", *[w.scan([state], [w.name(x)], ([kind], [kind], [kind]), body, axis=dim, reverse=back)[1]
                           for back in (False, True)])


@emits(sc.logcumsumexp)
def _logcumsumexp(w, item, x, *, dim):
    def body(v, states, slices):
        top, low = v.node("Max", states[0], slices[0]), v.node("Min", states[0], slices[0])
        rest = log1p(v, v.node("Exp", v.node("Sub", low, top)), x.dtype)
        after = v.node("Where", v.node("IsInf", top), top, v.node("Add", top, rest))
        return [after], [after]

    return _along(w, x, dim, [(-math.inf, x.dtype)], body, [x.dtype])[0]


def _extreme(lowest):
    def write(w, item, x, *, dim):
        start = (-math.inf if lowest else math.inf) if x.dtype.is_inexact else _limit(x.dtype, lowest)
        one = w.scalar(1, dt.int64)

        def body(v, states, slices):
            best, place, turn = states
            hit = v.node("GreaterOrEqual" if lowest else "LessOrEqual", slices[0], best)
            if x.dtype.is_inexact:
                hit = v.node("And", v.node("Or", hit, v.node("IsNaN", slices[0])),
                             v.node("Not", v.node("And", v.node("IsNaN", best), v.node("Not", v.node("IsNaN", slices[0])))))
            after = [v.node("Where", hit, slices[0], best), v.node("Where", hit, turn, place)]
            return [*after, v.node("Add", turn, one)], after

        starts = [(start, x.dtype), (0, dt.int64), (0, dt.int64)]
        return _along(w, x, dim, starts, body, [x.dtype, dt.int64])

    return write


def _limit(dtype, lowest):
    info = np.iinfo(dtype.np)
    return int(info.min if lowest else info.max)


emits_from(_extreme, {sc.cummax: True, sc.cummin: False}, when=lambda node, opset: node.inputs[0].dtype is not dt.bool_)


@emits(sc.linear_scan)
def _linear_scan(w, item, a, b, *, dim):
    state, kind = _state(w, b, dim, 0, b.dtype)

    def body(v, states, slices):
        after = v.node("Add", v.node("Mul", slices[0], states[0]), slices[1])
        return [after], [after]

    return w.scan([state], [w.name(a), w.name(b)], ([kind], [kind, kind], [kind]), body, axis=dim)[1]
