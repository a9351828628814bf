"""Attention in which each query sees a stretch of keys of its own, and scores may be bent and shifted by distance.

`bounds` (..., heads, L, 2) are for each query the first key that it sees and the first beyond, as int64. `table`
(..., heads, L + S - 1) is added to the scores by distance: of query i and key j its element j - i + L - 1. Their leading
dimensions are those of the queries, or 1. With `squash` (inner, outer) a score becomes outer * tanh(inner * score) first. So
causal masks, sliding windows, prefixes, documents in a row, and biases by relative position take memory that grows with the
length, not with its square. Queries that see nothing give zeros.
"""

import math

from ... import dtype as dt
from ...errors import DTypeError, ShapeError
from ...opdef.batch_rules import LEADING
from ...opdef.derived_gradients import derived_vjp
from ...opdef.op import Composite, op
from ..core import elementwise as ew
from ..core import reduce as rd
from ..core.shape import expand, flip, fold_windows, iota, select, sum_to, unfold
from ..linalg.products import matmul, transpose_last
from .activations import in_single
from .attention import (
    _flops,
    _gather_heads,
    _infer_attention,
    _last_sum,
    _rows,
    _spread_heads,
    by_scaled_queries,
    check_statistics,
    row_delta,
)


def _check(q, k, bounds, table):
    said = f"bounded_attention of q {q}, k {k}"
    for what, x, tail in (("bounds", bounds, (q.shape[-2], 2)), ("table", table, (q.shape[-2] + k.shape[-2] - 1,))):
        if x is None:
            continue
        lead = q.shape[:-2]
        fits = x.ndim == len(lead) + len(tail) and x.shape[len(lead):] == tail
        if not fits or any(n not in (1, m) for n, m in zip(x.shape, lead)):
            raise ShapeError(f"{said}: {what} must be {(*lead, *tail)}, leading dimensions perhaps 1, got {x}")
    if bounds is not None and bounds.dtype is not dt.int64:
        raise DTypeError(f"{said}: bounds are int64, got {bounds}")
    if table is not None and table.dtype is not q.dtype:
        raise DTypeError(f"{said}: the table is {q.dtype}, got {table}")


def _infer(q, k, v, bounds, table, *, scale, squash):
    _check(q, k, bounds, table)
    return _infer_attention(q, k, v, None, causal=False, scale=scale)


def in_wide(body, rounded: int | None = None):
    """A body that computes float16 and bfloat16 in float32 and rounds each result once, or so many of the first ones."""

    def wide(*args, **params):
        kind = dt.of(args[0])
        carried = dt.accumulator(kind)
        if carried is kind:
            return body(*args, **params)
        found = body(*[a if a is None or dt.of(a) is not kind else ew.cast(a, dtype=carried) for a in args], **params)
        narrow = [ew.cast(x, dtype=kind) for x in found[:rounded]]
        return (*narrow, *found[len(narrow):])

    return wide


def _by_distance(table, shape):
    """A table's numbers laid out over scores."""
    last = len(table.shape) - 1
    windows = unfold(table, dim=last, size=shape[-1], step=1)      # of row w: from table[w] on, which is the row L - 1 - w
    return expand(flip(windows, dims=(last,)), shape=shape)


def _seen(bounds, like, shape):
    """Which scores are of keys within a query's bounds."""
    column = iota(like, shape=tuple(shape), dim=len(shape) - 1, dtype=dt.int64)
    low, high = (_rows(select(bounds, dim=len(bounds.shape) - 1, index=i), shape) for i in (0, 1))
    return ew.logical_and(ew.ge(column, low), ew.lt(column, high))


def _scores(q, k, bounds, table, scale, squash):
    """(scores, the slope of the tanh that they went through or None); -inf for what is not seen."""
    s, slope = ew.mul(matmul(q, transpose_last(k)), scale), None
    shape = s.shape
    if squash is not None:
        bent = ew.tanh(ew.mul(s, squash[0]))
        s, slope = ew.mul(bent, squash[1]), ew.mul(ew.sub(1.0, ew.mul(bent, bent)), squash[0] * squash[1])
    if table is not None:
        s = ew.add(s, _by_distance(table, shape))
    if bounds is not None:
        s = ew.where(_seen(bounds, q, shape), s, -math.inf)
    return s, slope


def _body(q, k, v, bounds, table, *, scale, squash):
    k, v = (_spread_heads(x, q.shape[-3]) for x in (k, v))
    s, _ = _scores(q, k, bounds, table, scale, squash)
    top = rd.amax(s, dim=(len(s.shape) - 1,), keepdim=False)
    safe = ew.where(ew.isneginf(top), 0.0, top)
    p = ew.exp(ew.sub(s, _rows(safe, s.shape)))
    total = _last_sum(p)
    nothing = ew.eq(total, 0.0)
    out = matmul(p, v)
    out = ew.div(out, _rows(ew.where(nothing, 1.0, total), out.shape))
    return out, ew.where(nothing, math.inf, ew.add(safe, ew.log(total)))


def _infer_grad(g, q, k, v, bounds, table, lse, delta, *, scale, squash, table_grad):
    check_statistics("bounded_attention_grad", q, lse, delta)
    return (q, k, v, table) if table_grad else (q, k, v)


def _grad_body(g, q, k, v, bounds, table, lse, delta, *, scale, squash, table_grad):
    key_heads = k.shape[-3]
    k, v = (_spread_heads(x, q.shape[-3]) for x in (k, v))
    s, slope = _scores(q, k, bounds, table, scale, squash)
    p = ew.exp(ew.sub(s, _rows(lse, s.shape)))
    ds = ew.mul(p, ew.sub(matmul(g, transpose_last(v)), _rows(delta, s.shape)))
    inner = ew.mul(ds if slope is None else ew.mul(ds, slope), scale)
    found = (matmul(inner, k), _gather_heads(matmul(transpose_last(inner), q), key_heads),
             _gather_heads(matmul(transpose_last(p), g), key_heads))
    return (*found, distances_summed(ds, table.shape)) if table_grad else found


def distances_summed(ds, shape):
    """The gradient of a table from that of the scores that it was laid out over."""
    last = len(ds.shape) - 2
    size = ds.shape[last] + ds.shape[last + 1] - 1
    return sum_to(fold_windows(flip(ds, dims=(last,)), shape=(*ds.shape[:last], size), dim=last, step=1), shape=shape)


bounded_attention_grad = op(
    "bounded_attention_grad", infer=_infer_grad, ref=in_single(_grad_body), vjp=derived_vjp(in_wide(_grad_body)),
    saves=(1, 2, 3, 4, 5, 6, 7, 8), lower=Composite(in_wide(_grad_body)), batch=LEADING, numbers=("scale",),
    given=by_scaled_queries(lambda: bounded_attention_grad, 1),
    flops=lambda args, outs, params: _flops(args[1], args[2], args[3], with_q=3, with_v=2),
    doc="The gradients of bounded_attention for q, k, v and (with table_grad) the table; delta is each row's g . out.")


def _vjp(g, out, q, k, v, bounds, table, *, scale, squash, needs):
    g_out, g_lse = g
    delta = row_delta(g_out, out[0], g_lse)
    gq, gk, gv, *rest = bounded_attention_grad(g_out, q, k, v, bounds, table, out[1], delta, scale=scale, squash=squash,
                                               table_grad=needs[4])
    return gq, gk, gv, None, rest[0] if rest else None


bounded_attention = op(
    "bounded_attention", infer=_infer, ref=in_single(_body, 1), vjp=_vjp, saves=(0, 1, 2, 3, 4, 5),
    lower=Composite(in_wide(_body, 1)), traits=("autocast_low",), batch=LEADING,
    numbers=("scale",), given=by_scaled_queries(lambda: bounded_attention, 0),
    flops=lambda args, outs, params: _flops(*args[:3]),
    doc="softmax(outer * tanh(inner * q k' * scale) + table) v over each query's keys, and the logsumexp of its scores.")
