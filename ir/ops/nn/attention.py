"""Scaled dot-product attention as one operator, with the row statistic that its gradient needs.

Queries are (..., heads, L, E), keys (..., key heads, S, E), values (..., key heads, S, Ev); the number of heads is a multiple
of the key heads, and each key head serves as many neighbouring query heads. A mask is broadcast over (..., L, S): bools select
keys, floats are added to the scores. Rows without any key give zeros.

The statistic of a row, the logsumexp of its scores, and `delta`, the sum of its result times that result's gradient, are
float32 where operands have 16 bits: both are subtracted from numbers near them.
"""

import math
from collections.abc import Callable

import numpy as np

from ... import dtype as dt
from ...errors import ArgumentError, DTypeError, ShapeError
from ...opdef.batch_rules import LEADING
from ...opdef.derived_gradients import derived_vjp
from ...opdef.op import Composite, Template, op
from ...opdef.param_checks import check_flag, check_number, check_operand, check_shape
from ..core import elementwise as ew
from ..core import reduce as rd
from ..core.batching import all_repeated, lifted
from ..core.pointwise import in_single, in_wide
from ..core.random import bernoulli_mask, check_key
from ..core.shape import expand, flip, fold_windows, iota, reshape, select, sum_to, unfold
from ..linalg.products import matmul, transpose_last

_MOST = float(np.finfo(np.float64).max)


def _infer_attention(q, k, v, mask, *, causal, scale):
    subject = f"attention of q {q}, k {k}, v {v}"
    check_flag(causal, "attention: causal")
    check_number(scale, "attention: scale", -_MOST, _MOST)
    if not (q.dtype is k.dtype is v.dtype and q.dtype.is_floating_point):
        raise DTypeError(f"{subject} takes one floating point dtype; cast with .to()")
    if q.ndim < 3 or not q.ndim == k.ndim == v.ndim or q.shape[:-3] != k.shape[:-3] or k.shape[:-1] != v.shape[:-1]:
        raise ShapeError(f"{subject}: they are [..., heads, length, size] with the same batch, and k and v agree but in size")
    if q.shape[-1] != k.shape[-1]:
        raise ShapeError(f"{subject}: q and k must have one size in the last dimension")
    if q.shape[-3] != k.shape[-3] and (not k.shape[-3] or q.shape[-3] % k.shape[-3]):
        raise ShapeError(f"{subject}: the {q.shape[-3]} query heads must be a multiple of the {k.shape[-3]} key heads")
    scores = (*q.shape[:-1], k.shape[-2])
    if mask is not None:
        if mask.dtype is not dt.bool_ and mask.dtype is not q.dtype:
            raise DTypeError(f"{subject}: the mask is bool or {q.dtype.name}, got {mask}")
        if mask.ndim > len(scores) or any(m not in (1, n) for m, n in zip(mask.shape[::-1], scores[::-1])):
            raise ShapeError(f"{subject}: the mask {mask} does not broadcast to the scores {scores}")
    return q.with_shape((*q.shape[:-1], v.shape[-1])), q.with_shape(q.shape[:-1]).with_dtype(dt.accumulator(q.dtype))


# The references work on keys and values of all heads as views.


def _scores(q, k, mask, causal, scale):
    s = np.matmul(q, np.swapaxes(k, -1, -2))
    s *= s.dtype.type(scale)
    if mask is not None and mask.dtype == np.bool_:
        s = np.where(mask, s, s.dtype.type(-np.inf))
    elif mask is not None:
        s = s + mask
    if causal:
        s = np.where(np.tri(s.shape[-2], s.shape[-1], dtype=bool), s, s.dtype.type(-np.inf))
    return s


def _log_sum(s):
    """Return (exp(scores - lse), lse of each row); rows without keys give (zeros, inf)."""
    top = s.max(axis=-1, keepdims=True, initial=-np.inf)
    safe = np.where(np.isneginf(top), 0, top)
    p = np.exp(s - safe)
    total = p.sum(axis=-1, keepdims=True)
    p /= np.where(total == 0, 1, total)
    return p, np.where(total == 0, np.inf, safe + np.log(total))[..., 0].astype(s.dtype)


def _attention(q, k, v, mask, *, causal, scale):
    k, v = (_spread_heads(x, q.shape[-3]) for x in (k, v))
    p, lse = _log_sum(_scores(q, k, mask, causal, scale))
    return np.matmul(p, v), lse


def check_statistics(name, g, q, v, lse, delta):
    """Raise unless a gradient is like the result, and the row statistics have the dtype that gradients need."""
    wide = dt.accumulator(q.dtype)
    check_operand(g, (*q.shape[:-1], v.shape[-1]), q.dtype, f"{name} of {q} and {v}: the gradient")
    for what, x in (("lse", lse), ("delta", delta)):
        check_shape(x.shape, q.shape[:-1], f"{name} of {q}: {what}")
    if lse.dtype is not wide or delta.dtype is not wide:
        raise DTypeError(f"{name} of {q} takes lse and delta in {wide.name}, got {lse} and {delta}")


def _check_mask_grad(name, q, mask, mask_grad):
    """Raise if the gradient is wanted of a mask that is none, or bool."""
    if check_flag(mask_grad, f"{name}: mask_grad") and (mask is None or mask.dtype is not q.dtype):
        raise DTypeError(f"{name} gives the gradient of a mask of {q.dtype.name}, got {mask}")


def _infer_grad(g, q, k, v, mask, lse, delta, *, causal, scale, mask_grad):
    _infer_attention(q, k, v, mask, causal=causal, scale=scale)
    check_statistics("attention_grad", g, q, v, lse, delta)
    _check_mask_grad("attention_grad", q, mask, mask_grad)
    scores = (*q.shape[:-1], k.shape[-2])
    return (q, k, v, q.with_shape(mask.shape if mask_grad else (0,) * len(scores)))


def _attention_grad(g, q, k, v, mask, lse, delta, *, causal, scale, mask_grad):
    key_heads = k.shape[-3]
    k, v = (_spread_heads(x, q.shape[-3]) for x in (k, v))
    p = np.exp(_scores(q, k, mask, causal, scale) - lse[..., None])
    gv = np.matmul(np.swapaxes(p, -1, -2), g)
    ds = p * (np.matmul(g, np.swapaxes(v, -1, -2)) - delta[..., None])
    gm = sum_to(ds, shape=mask.shape) if mask_grad else np.zeros((0,) * ds.ndim, ds.dtype)
    gq = np.matmul(ds, k) * ds.dtype.type(scale)
    gk = np.matmul(np.swapaxes(ds, -1, -2), q) * ds.dtype.type(scale)
    return gq, _gather_heads(gk, key_heads), _gather_heads(gv, key_heads), gm


# The gradient of the gradient, in operators.


def _spread_heads(k, heads):
    """Repeat keys or values for all query heads."""
    key_heads = k.shape[-3]
    if heads == key_heads:
        return k
    lead, tail = k.shape[:-2], k.shape[-2:]
    wide = expand(reshape(k, shape=(*lead, 1, *tail)), shape=(*lead, heads // key_heads, *tail))
    return reshape(wide, shape=(*k.shape[:-3], heads, *tail))


def _gather_heads(k, key_heads):
    """Transpose `_spread_heads`: sum over the query heads of each key head."""
    heads = k.shape[-3]
    if heads == key_heads:
        return k
    split = reshape(k, shape=(*k.shape[:-3], key_heads, heads // key_heads, *k.shape[-2:]))
    return rd.sum_(split, dim=(len(split.shape) - 3,), keepdim=False)


def _rows(v, shape):
    return expand(reshape(v, shape=(*v.shape, 1)), shape=shape)


def masked_scores(q, k, mask, causal, scale):
    """Return scores, with keys repeated for all heads; masked ones are -inf."""
    s = ew.mul(matmul(q, transpose_last(k)), scale)
    shape = s.shape
    if mask is not None and dt.of(mask) is dt.bool_:
        s = ew.where(expand(mask, shape=shape), s, -math.inf)
    elif mask is not None:
        s = ew.add(s, expand(mask, shape=shape))
    if causal:
        row = iota(q, shape=tuple(shape), dim=len(shape) - 2, dtype=dt.int64)
        s = ew.where(ew.ge(row, iota(q, shape=tuple(shape), dim=len(shape) - 1, dtype=dt.int64)), s, -math.inf)
    return s


def _probabilities(q, k, mask, lse, causal, scale):
    s = masked_scores(q, k, mask, causal, scale)
    return ew.exp(ew.sub(s, _rows(lse, s.shape)))


def _last_sum(x):
    return rd.sum_(x, dim=(len(x.shape) - 1,), keepdim=False)


def _infer_row_delta(g, out, g_lse):
    wide = dt.accumulator(g.dtype)
    if g.shape != out.shape or g.dtype is not out.dtype or g_lse.shape != g.shape[:-1] or g_lse.dtype is not wide:
        raise ShapeError(f"row_delta takes two tensors of one shape and dtype and, in {wide.name}, a number for each of their "
                         f"rows, got {g}, {out}, {g_lse}")
    return g_lse


def _row_delta_body(g, out, g_lse):
    return ew.sub(_last_sum(ew.mul(ew.widened(g), ew.widened(out))), g_lse)


def _row_delta(g, out, g_lse):
    return np.sum(g.astype(g_lse.dtype) * out.astype(g_lse.dtype), axis=-1) - g_lse


row_delta = op("row_delta", infer=_infer_row_delta, ref=_row_delta, lower=Composite(_row_delta_body),
               vjp=derived_vjp(_row_delta_body), saves=(1, 2, 3), batch=LEADING,
               doc="The sum of each row of g * out less g_lse: what the gradients of a row of scores are measured from.")


def _grad_vjp(g, out, *args, needs, **params):
    found = _gradients_of_gradients([ew.widened(x) for x in g], *[_widened(x) for x in args], needs_mask=needs[4], **params)
    return tuple([None if x is None else ew.narrowed(x, a) for x, a in zip(found, args)])


def _widened(x):
    return x if x is None or dt.of(x) is dt.bool_ else ew.widened(x)


def _gradients_of_gradients(g, upstream, q, k, v, mask, lse, delta, *, causal, scale, mask_grad, needs_mask):
    """With P = exp(S - lse), dP = G V', dS = P (dP - delta): the outputs are dS K, dS' Q, P' G and dS."""
    a, b, c, m = g
    heads, key_heads = q.shape[-3], k.shape[-3]
    k, v, b, c = (_spread_heads(t, heads) for t in (k, v, b, c))
    p = _probabilities(q, k, mask, lse, causal, scale)
    slope = ew.sub(matmul(upstream, transpose_last(v)), _rows(delta, p.shape))
    ds = ew.mul(p, slope)
    z = ew.mul(ew.add(matmul(a, transpose_last(k)), matmul(q, transpose_last(b))), scale)
    if mask_grad:
        z = ew.add(z, expand(m, shape=z.shape))
    zp = ew.mul(z, p)
    s_bar = ew.mul(p, ew.add(ew.mul(z, slope), matmul(upstream, transpose_last(c))))
    q_bar = ew.mul(ew.add(matmul(s_bar, k), matmul(ds, b)), scale)
    k_bar = ew.mul(ew.add(matmul(transpose_last(s_bar), q), matmul(transpose_last(ds), a)), scale)
    return (ew.add(matmul(zp, v), matmul(p, c)), q_bar, _gather_heads(k_bar, key_heads),
            _gather_heads(matmul(transpose_last(zp), upstream), key_heads),
            sum_to(s_bar, shape=mask.shape) if needs_mask else None,
            ew.neg(_last_sum(s_bar)), ew.neg(_last_sum(zp)))


def _flops(q, k, v, with_q=1, with_v=1):
    """Count products of scores with arrays of q's size and of v's, including those that a causal mask skips."""
    return 2 * math.prod(q.shape[:-1]) * k.shape[-2] * (with_q * q.shape[-1] + with_v * v.shape[-1])


def _with_batch(size, args, held, at):
    """Move the batch to the front of all operands; the one at position `at` (a mask) broadcasts."""
    full = all_repeated(size, args, held)
    if args[at] is not None:
        full[at] = lifted(args[at], len(full[0].shape) - 1) if held[at] else args[at]
    return full


def _batch_grad(size, op, args, held, params):
    if args[4] is not None and params["mask_grad"]:
        return NotImplemented
    *grads, of_mask = op(*_with_batch(size, args, held, 4), **params)
    return (*grads, reshape(of_mask, shape=(size, *of_mask.shape[1:])))     # which has no elements


def by_scaled_queries(record: Callable, at: int) -> Callable:
    """Return attention with the scale as an operand: argument `at`, the queries, and their gradient are scaled.

    16-bit floats are computed in float32, as in kernels.
    """

    def by_operand(*args, scale, **params):
        kind, wants_queries = dt.of(args[at]), at > 0
        rounded = None if wants_queries else 1
        wide = [x if x is None or dt.of(x) is not kind else ew.widened(x) for x in args]
        wide[at] = ew.mul(wide[at], scale)
        found = record()(*wide, scale=1.0, **params)
        if wants_queries:
            found = ew.mul(found[0], scale), *found[1:]
        narrow = [ew.cast(x, dtype=kind) if dt.of(x) is not kind else x for x in found[:rounded]]
        return (*narrow, *found[len(narrow):])

    return by_operand


attention_grad = op("attention_grad", infer=_infer_grad, ref=in_single(_attention_grad), vjp=_grad_vjp,
                    saves=(1, 2, 3, 4, 5, 6, 7), lower=Template("attention"), batch=_batch_grad,
                    numbers=("scale",), by_operand=by_scaled_queries(lambda: attention_grad, 1),
                    flops=lambda args, outs, params: _flops(args[1], args[2], args[3], with_q=3, with_v=2),
                    doc="The gradients of attention for q, k, v and (with mask_grad) the mask; delta is each row's g . out.")


def _attention_vjp(g, out, q, k, v, mask, *, causal, scale, needs):
    g_out, g_lse = g
    delta = row_delta(g_out, out[0], g_lse)
    gq, gk, gv, gm = attention_grad(g_out, q, k, v, mask, out[1], delta, causal=causal, scale=scale, mask_grad=needs[3])
    return gq, gk, gv, gm if needs[3] else None


def _batch_attention(size, op, args, held, params):
    return op(*_with_batch(size, args, held, 3), **params)


attention = op("attention", infer=_infer_attention, ref=in_single(_attention, 1), vjp=_attention_vjp, saves=(0, 1, 2, 3, 4),
               lower=Template("attention"), numbers=("scale",), by_operand=by_scaled_queries(lambda: attention, 0),
               batch=_batch_attention, traits=("autocast_low",), flops=lambda args, outs, params: _flops(*args[:3]),
               doc="softmax(q k' * scale + mask) v, and the logsumexp of each row of scores.")


def _check_bounds(q, k, bounds, table):
    subject = f"bounded_attention of q {q}, k {k}"
    for what, x, tail in (("bounds", bounds, (q.shape[-2], 2)), ("table", table, (q.shape[-2] + k.shape[-2] - 1,))):
        if x is None:
            continue
        lead = q.shape[:-2]
        fits = x.ndim == len(lead) + len(tail) and x.shape[len(lead):] == tail
        if not fits or any(n not in (1, m) for n, m in zip(x.shape, lead)):
            raise ShapeError(f"{subject}: {what} must be {(*lead, *tail)}, leading dimensions perhaps 1, got {x}")
    if bounds is not None and bounds.dtype is not dt.int64:
        raise DTypeError(f"{subject}: bounds are int64, got {bounds}")
    if table is not None and table.dtype is not q.dtype:
        raise DTypeError(f"{subject}: the table is {q.dtype.name}, got {table}")


def _infer_bounded(q, k, v, bounds, table, *, scale, squash):
    out = _infer_attention(q, k, v, None, causal=False, scale=scale)
    _check_bounds(q, k, bounds, table)
    if squash is not None:
        if not isinstance(squash, tuple) or len(squash) != 2:
            raise ArgumentError(f"bounded_attention takes squash as two numbers or None, got {squash!r}")
        for number in squash:
            check_number(number, "bounded_attention: squash")
    return out


def _by_distance(table, shape):
    """Lay a table's numbers out over scores by the distance of key and query."""
    last = len(table.shape) - 1
    windows = unfold(table, dim=last, size=shape[-1], step=1)      # of row w: from table[w] on, which is the row L - 1 - w
    return expand(flip(windows, dims=(last,)), shape=shape)


def _within_bounds(bounds, like, shape):
    """Return the mask of keys within a query's bounds."""
    column = iota(like, shape=tuple(shape), dim=len(shape) - 1, dtype=dt.int64)
    low, high = (_rows(select(bounds, dim=len(bounds.shape) - 1, index=i), shape) for i in (0, 1))
    return ew.logical_and(ew.ge(column, low), ew.lt(column, high))


def _bounded_scores(q, k, bounds, table, scale, squash):
    """Return (scores, slope of their tanh soft cap or None); scores out of bounds are -inf."""
    s, slope = ew.mul(matmul(q, transpose_last(k)), scale), None
    shape = s.shape
    if squash is not None:
        bent = ew.tanh(ew.mul(s, squash[0]))
        s, slope = ew.mul(bent, squash[1]), ew.mul(ew.sub(1.0, ew.mul(bent, bent)), squash[0] * squash[1])
    if table is not None:
        s = ew.add(s, _by_distance(table, shape))
    if bounds is not None:
        s = ew.where(_within_bounds(bounds, q, shape), s, -math.inf)
    return s, slope


def _softmax_product(s, v, weigh=lambda p: p):
    """Return softmax(s) @ v, with the probabilities passed through `kept`, and the logsumexp of each row."""
    top = rd.amax(s, dim=(len(s.shape) - 1,), keepdim=False)
    safe = ew.where(ew.isneginf(top), 0.0, top)
    p = ew.exp(ew.sub(s, _rows(safe, s.shape)))
    total = _last_sum(p)
    nothing = ew.eq(total, 0.0)
    out = matmul(weigh(p), v)
    out = ew.div(out, _rows(ew.where(nothing, 1.0, total), out.shape))
    return out, ew.where(nothing, math.inf, ew.add(safe, ew.log(total)))


def _bounded_body(q, k, v, bounds, table, *, scale, squash):
    k, v = (_spread_heads(x, q.shape[-3]) for x in (k, v))
    return _softmax_product(_bounded_scores(q, k, bounds, table, scale, squash)[0], v)


def _infer_bounded_grad(g, q, k, v, bounds, table, lse, delta, *, scale, squash, table_grad):
    _infer_bounded(q, k, v, bounds, table, scale=scale, squash=squash)
    check_statistics("bounded_attention_grad", g, q, v, lse, delta)
    if check_flag(table_grad, "bounded_attention_grad: table_grad") and table is None:
        raise ArgumentError("bounded_attention_grad has no table whose gradient is wanted")
    return (q, k, v, table) if table_grad else (q, k, v)


def _bounded_grad_body(g, q, k, v, bounds, table, lse, delta, *, scale, squash, table_grad):
    key_heads = k.shape[-3]
    k, v = (_spread_heads(x, q.shape[-3]) for x in (k, v))
    s, slope = _bounded_scores(q, k, bounds, table, scale, squash)
    p = ew.exp(ew.sub(s, _rows(lse, s.shape)))
    ds = ew.mul(p, ew.sub(matmul(g, transpose_last(v)), _rows(delta, s.shape)))
    inner = ew.mul(ds if slope is None else ew.mul(ds, slope), scale)
    found = (matmul(inner, k), _gather_heads(matmul(transpose_last(inner), q), key_heads),
             _gather_heads(matmul(transpose_last(p), g), key_heads))
    return (*found, distances_summed(ds, table.shape)) if table_grad else found


def distances_summed(ds, shape):
    """Return the gradient of a distance table from that of the scores."""
    last = len(ds.shape) - 2
    size = ds.shape[last] + ds.shape[last + 1] - 1
    return sum_to(fold_windows(flip(ds, dims=(last,)), shape=(*ds.shape[:last], size), dim=last, step=1), shape=shape)


bounded_attention_grad = op(
    "bounded_attention_grad", infer=_infer_bounded_grad, ref=in_single(_bounded_grad_body),
    vjp=derived_vjp(in_wide(_bounded_grad_body)), saves=(1, 2, 3, 4, 5, 6, 7, 8),
    lower=Composite(in_wide(_bounded_grad_body)), batch=LEADING, numbers=("scale",),
    bounds=lambda g, q, k, v, bounds, *rest, **params: [] if bounds is None else [(4, 0, k.shape[-2] + 1)],
    by_operand=by_scaled_queries(lambda: bounded_attention_grad, 1),
    flops=lambda args, outs, params: _flops(args[1], args[2], args[3], with_q=3, with_v=2),
    doc="The gradients of bounded_attention for q, k, v and (with table_grad) the table; delta is each row's g . out.")


def _bounded_vjp(g, out, q, k, v, bounds, table, *, scale, squash, needs):
    g_out, g_lse = g
    delta = row_delta(g_out, out[0], g_lse)
    gq, gk, gv, *rest = bounded_attention_grad(g_out, q, k, v, bounds, table, out[1], delta, scale=scale, squash=squash,
                                               table_grad=needs[4])
    return gq, gk, gv, None, rest[0] if rest else None


bounded_attention = op(
    "bounded_attention", infer=_infer_bounded, ref=in_single(_bounded_body, 1), vjp=_bounded_vjp, saves=(0, 1, 2, 3, 4, 5),
    lower=Composite(in_wide(_bounded_body, 1)), traits=("autocast_low",), batch=LEADING,
    bounds=lambda q, k, v, bounds, table, **params: [] if bounds is None else [(3, 0, k.shape[-2] + 1)],
    numbers=("scale",), by_operand=by_scaled_queries(lambda: bounded_attention, 0),
    flops=lambda args, outs, params: _flops(*args[:3]),
    doc="softmax(outer * tanh(inner * q k' * scale) + table) v over each query's keys, and the logsumexp of its scores.")


def _infer_dropped(q, k, v, mask, key, *, causal, scale, p):
    check_key("dropped_attention", key)
    if not 0 <= check_number(p, "dropped_attention: p") < 1:
        raise ArgumentError(f"dropped_attention takes a probability from 0 to below 1, got {p}")
    return _infer_attention(q, k, v, mask, causal=causal, scale=scale)


def _dropped(x, key, p):
    seen = bernoulli_mask(key, shape=tuple(x.shape), p=1.0 - p)
    return ew.where(seen, ew.mul(x, 1.0 / (1.0 - p)), 0.0)


def _dropped_body(q, k, v, mask, key, *, causal, scale, p):
    k, v = (_spread_heads(x, q.shape[-3]) for x in (k, v))
    return _softmax_product(masked_scores(q, k, mask, causal, scale), v, lambda shares: _dropped(shares, key, p))


def _infer_dropped_grad(g, q, k, v, mask, lse, delta, key, *, causal, scale, p, mask_grad):
    _infer_dropped(q, k, v, mask, key, causal=causal, scale=scale, p=p)
    check_statistics("dropped_attention_grad", g, q, v, lse, delta)
    _check_mask_grad("dropped_attention_grad", q, mask, mask_grad)
    return (q, k, v, q.with_shape(mask.shape)) if mask_grad else (q, k, v)


def _dropped_grad_body(g, q, k, v, mask, lse, delta, key, *, causal, scale, p, mask_grad):
    key_heads = k.shape[-3]
    k, v = (_spread_heads(x, q.shape[-3]) for x in (k, v))
    s = masked_scores(q, k, mask, causal, scale)
    shares = ew.exp(ew.sub(s, _rows(lse, s.shape)))
    ds = ew.mul(shares, ew.sub(_dropped(matmul(g, transpose_last(v)), key, p), _rows(delta, s.shape)))
    found = (ew.mul(matmul(ds, k), scale), _gather_heads(ew.mul(matmul(transpose_last(ds), q), scale), key_heads),
             _gather_heads(matmul(transpose_last(_dropped(shares, key, p)), g), key_heads))
    return (*found, sum_to(ds, shape=mask.shape)) if mask_grad else found


dropped_body, dropped_grad_body = in_wide(_dropped_body, 1), in_wide(_dropped_grad_body)

dropped_attention_grad = op(
    "dropped_attention_grad", infer=_infer_dropped_grad, ref=in_single(_dropped_grad_body), vjp=derived_vjp(dropped_grad_body),
    saves=(1, 2, 3, 4, 5, 6, 7, 8), lower=Composite(dropped_grad_body), numbers=("scale", "p"), by_operand=dropped_grad_body,
    traits=("random",),
    flops=lambda args, outs, params: _flops(args[1], args[2], args[3], with_q=3, with_v=2),
    doc="The gradients of dropped_attention for q, k, v and (with mask_grad) the mask; delta is each row's g . out.")


def _dropped_vjp(g, out, q, k, v, mask, key, *, causal, scale, p, needs):
    g_out, g_lse = g
    delta = row_delta(g_out, out[0], g_lse)
    wanted = bool(needs[3]) and dt.of(mask) is not dt.bool_
    gq, gk, gv, *rest = dropped_attention_grad(g_out, q, k, v, mask, out[1], delta, key, causal=causal, scale=scale, p=p,
                                               mask_grad=wanted)
    return gq, gk, gv, rest[0] if rest else None, None


dropped_attention = op(
    "dropped_attention", infer=_infer_dropped, ref=in_single(_dropped_body, 1), vjp=_dropped_vjp, saves=(0, 1, 2, 3, 4, 5),
    lower=Composite(dropped_body), traits=("random", "autocast_low"), numbers=("scale", "p"), by_operand=dropped_body,
    flops=lambda args, outs, params: _flops(*args[:3]),
    doc="dropout(softmax(q k' * scale + mask), p) v with what a key draws, and the logsumexp of each row of scores.")
