"""Attention of which probabilities are dropped at random, drawn from a key: forward and backward draw the same bits, and
nothing of the size of the scores is kept.

A probability is kept where the word of its score, numbered as `bernoulli_mask` numbers the elements of (..., heads, L, S), is
below round((1 - p) 2^32), and is then multiplied by 1 / (1 - p). What is dropped stays in the sum that rows are divided by.
"""

import math

from ... import dtype as dt
from ...errors import ArgumentError
from ...opdef.derived_gradients import derived_vjp
from ...opdef.op import Composite, op
from ..core import elementwise as ew
from ..core import reduce as rd
from ..core.random import bernoulli_mask, check_key
from ..core.shape import sum_to
from ..linalg.products import matmul, transpose_last
from .activations import in_single
from .attention import (
    _flops,
    _gather_heads,
    _infer_attention,
    _last_sum,
    _rows,
    _spread_heads,
    check_statistics,
    masked_scores,
    row_delta,
)
from .attention_bounds import in_wide


def _infer(q, k, v, mask, key, *, causal, scale, p):
    check_key("dropped_attention", key)
    if not 0 <= p < 1:
        raise ArgumentError(f"dropped_attention takes a probability from 0 to below 1, got {p}")
    return _infer_attention(q, k, v, mask, causal=causal, scale=scale)


def _kept(x, key, p):
    """Probabilities, or what comes back to them, after dropout."""
    seen = bernoulli_mask(key, shape=tuple(x.shape), p=1.0 - p)
    return ew.where(seen, ew.mul(x, 1.0 / (1.0 - p)), 0.0)


def _body(q, k, v, mask, key, *, causal, scale, p):
    k, v = (_spread_heads(x, q.shape[-3]) for x in (k, v))
    s = masked_scores(q, k, mask, causal, scale)
    top = rd.amax(s, dim=(len(s.shape) - 1,), keepdim=False)
    safe = ew.where(ew.isneginf(top), 0.0, top)
    shares = ew.exp(ew.sub(s, _rows(safe, s.shape)))
    total = _last_sum(shares)
    nothing = ew.eq(total, 0.0)
    out = matmul(_kept(shares, key, p), v)
    out = ew.div(out, _rows(ew.where(nothing, 1.0, total), out.shape))
    return out, ew.where(nothing, math.inf, ew.add(safe, ew.log(total)))


def _infer_grad(g, q, k, v, mask, lse, delta, key, *, causal, scale, p, mask_grad):
    check_statistics("dropped_attention_grad", q, lse, delta)
    return (q, k, v, q.with_shape(mask.shape)) if mask_grad else (q, k, v)


def _grad_body(g, q, k, v, mask, lse, delta, key, *, causal, scale, p, mask_grad):
    key_heads = k.shape[-3]
    k, v = (_spread_heads(x, q.shape[-3]) for x in (k, v))
    s = masked_scores(q, k, mask, causal, scale)
    shares = ew.exp(ew.sub(s, _rows(lse, s.shape)))
    ds = ew.mul(shares, ew.sub(_kept(matmul(g, transpose_last(v)), key, p), _rows(delta, s.shape)))
    found = (ew.mul(matmul(ds, k), scale), _gather_heads(ew.mul(matmul(transpose_last(ds), q), scale), key_heads),
             _gather_heads(matmul(transpose_last(_kept(shares, key, p)), g), key_heads))
    return (*found, sum_to(ds, shape=mask.shape)) if mask_grad else found


forward_steps, grad_steps = in_wide(_body, 1), in_wide(_grad_body)

dropped_attention_grad = op(
    "dropped_attention_grad", infer=_infer_grad, ref=in_single(_grad_body), vjp=derived_vjp(grad_steps),
    saves=(1, 2, 3, 4, 5, 6, 7, 8), lower=Composite(grad_steps), numbers=("scale", "p"), given=grad_steps, traits=("random",),
    flops=lambda args, outs, params: _flops(args[1], args[2], args[3], with_q=3, with_v=2),
    doc="The gradients of dropped_attention for q, k, v and (with mask_grad) the mask; delta is each row's g . out.")


def _vjp(g, out, q, k, v, mask, key, *, causal, scale, p, needs):
    g_out, g_lse = g
    delta = row_delta(g_out, out[0], g_lse)
    wanted = bool(needs[3]) and dt.of(mask) is not dt.bool_
    gq, gk, gv, *rest = dropped_attention_grad(g_out, q, k, v, mask, out[1], delta, key, causal=causal, scale=scale, p=p,
                                               mask_grad=wanted)
    return gq, gk, gv, rest[0] if rest else None, None


dropped_attention = op(
    "dropped_attention", infer=_infer, ref=in_single(_body, 1), vjp=_vjp, saves=(0, 1, 2, 3, 4, 5),
    lower=Composite(forward_steps), traits=("random", "autocast_low"), numbers=("scale", "p"), given=forward_steps,
    flops=lambda args, outs, params: _flops(*args[:3]),
    doc="dropout(softmax(q k' * scale + mask), p) v with what a key draws, and the logsumexp of each row of scores.")
