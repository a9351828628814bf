"""Attention and its gradients as operators on a matrix of scores, for what no tiles hold: float64, and very long vectors.

They mean what `ir/ops/nn/attention.py` says; lower precision is computed in float32 and rounded once.
"""

import math

from .....ir import dtype as dt
from .....ir.ops.core import elementwise as ew
from .....ir.ops.core import reduce as rd
from .....ir.ops.core.shape import expand, iota, reshape, sum_to
from .....ir.ops.linalg.products import matmul, transpose_last


def attention(q, k, v, mask, *, causal, scale) -> tuple:
    """(out, logsumexp)"""
    kind, heads = q.dtype, q.shape[-3]
    q, k, v, mask = (_wide(t) for t in (q, k, v, mask))
    s = _scores(q, _spread(k, heads), mask, causal, scale)
    rows = (*s.shape[:-1], 1)
    top = rd.amax(s, dim=(s.ndim - 1,), keepdim=True)
    safe = ew.where(ew.eq(top, -math.inf), 0.0, top)
    p = ew.exp(ew.sub(s, expand(safe, shape=s.shape)))
    total = rd.sum_(p, dim=(s.ndim - 1,), keepdim=True)
    none = ew.eq(total, 0.0)
    p = ew.div(p, expand(ew.where(none, 1.0, total), shape=s.shape))
    lse = ew.where(none, math.inf, ew.add(safe, ew.log(total)))
    return _rounded(matmul(p, _spread(v, heads)), kind), reshape(lse, shape=rows[:-1])


def attention_grad(g, q, k, v, mask, lse, delta, *, causal, scale, mask_grad) -> tuple:
    """The gradients of queries, keys, values and (or None) the mask."""
    kind, heads, key_heads = q.dtype, q.shape[-3], k.shape[-3]
    g, q, k, v, wide, lse, delta = (_wide(t) for t in (g, q, k, v, mask, lse, delta))
    k, v = _spread(k, heads), _spread(v, heads)
    s = _scores(q, k, wide, causal, scale)
    p = ew.exp(ew.sub(s, _along_rows(lse, s.shape)))
    ds = ew.mul(p, ew.sub(matmul(g, transpose_last(v)), _along_rows(delta, s.shape)))
    gq = ew.mul(matmul(ds, k), scale)
    gk = ew.mul(matmul(transpose_last(ds), q), scale)
    found = gq, _gathered(gk, key_heads), _gathered(matmul(transpose_last(p), g), key_heads)
    gm = _rounded(sum_to(ds, shape=mask.shape), kind) if mask_grad else None
    return *[_rounded(t, kind) for t in found], gm


def _wide(t):
    return ew.cast(t, dtype=dt.float32) if t is not None and t.dtype in (dt.float16, dt.bfloat16) else t


def _rounded(t, kind):
    return t if t.dtype is kind else ew.cast(t, dtype=kind)


def _along_rows(v, shape):
    """A number for each row, laid out over its elements."""
    return expand(reshape(v, shape=(*v.shape, 1)), shape=shape)


def _spread(k, heads):
    """Keys or values for all query heads."""
    *lead, own, length, size = k.shape
    if own == heads:
        return k
    wide = expand(reshape(k, shape=(*lead, own, 1, length, size)), shape=(*lead, own, heads // own, length, size))
    return reshape(wide, shape=(*lead, heads, length, size))


def _gathered(k, own):
    """The transpose of `_spread`."""
    *lead, heads, length, size = k.shape
    if own == heads:
        return k
    return rd.sum_(reshape(k, shape=(*lead, own, heads // own, length, size)), dim=(len(lead) + 1,), keepdim=False)


def _scores(q, k, mask, causal, scale):
    s = ew.mul(matmul(q, transpose_last(k)), scale)
    if mask is not None:
        spread = expand(mask, shape=s.shape)
        s = ew.where(spread, s, -math.inf) if mask.dtype is dt.bool_ else ew.add(s, spread)
    if causal:
        row, column = (iota(q, shape=s.shape, dim=s.ndim - which, dtype=dt.int64) for which in (2, 1))
        s = ew.where(ew.ge(row, column), s, -math.inf)
    return s
