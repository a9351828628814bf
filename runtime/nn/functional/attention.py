"""Scaled dot-product and multi-head attention."""

import math

from ....ir import dtype as dt
from ....ir.errors import ArgumentError, ShapeError
from ....ir.ops.core import elementwise as ew
from ....ir.ops.core import reduce as rd
from ....ir.ops.core.shape import expand
from ....ir.ops.nn import softmax as softmax_ops
from ....ir.ops.nn.attention import attention, dropped_attention, masked_scores
from ....ir.symbols.number_functions import sqrt
from ....ir.symbols.substitute import as_float
from ...api.register.register import FUNCTIONS, memoised
from ...core.random import draw_key_on_device_of
from .dropout import dropout, probability
from .linear import linear


@memoised
def scaled_dot_product_attention(query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None,
                                 enable_gqa=False):
    """Return softmax(query @ key.T * scale + mask) @ value over (..., L, E), (..., S, E) and (..., S, Ev)."""
    if is_causal and attn_mask is not None:
        raise ArgumentError("scaled_dot_product_attention takes attn_mask or is_causal, not both")
    factor = 1 / sqrt(query.shape[-1] or 1) if scale is None else as_float(scale)
    if query.ndim < 2 or key.ndim < 2 or value.ndim < 2:
        raise ShapeError(f"attention takes tensors of at least 2 dimensions, got {query.aval}, {key.aval}, {value.aval}")
    q, k, v = _same_batch(query, key, value, enable_gqa)
    p, options = probability(dropout_p), {"causal": bool(is_causal), "scale": factor}
    if 0 < p < 1:
        compute = _attention_without_scores if q.device.type in _DRAWN_INSIDE else _attention_with_scores
        out = compute(q, k, v, attn_mask, p, **options)
    else:
        out, _ = attention(q, k, v, attn_mask, **options)
        out = out * 0.0 if p == 1 else out
    return out.reshape(out.shape[1:]) if query.ndim == 2 and key.ndim == 2 and value.ndim == 2 else out


def _same_batch(q, k, v, enable_gqa):
    """Return all three with at least 3 dimensions and the same batch."""
    ndim = max(3, q.ndim, k.ndim, v.ndim)
    q, k, v = (t.reshape((1,) * (ndim - t.ndim) + tuple(t.shape)) if t.ndim < ndim else t for t in (q, k, v))
    cut = -3 if enable_gqa else -2
    batches = [t.shape[:cut] for t in (q, k, v)]
    if batches[0] == batches[1] == batches[2]:
        return q, k, v
    batch = FUNCTIONS["broadcast_shapes"](*batches)
    return tuple(expand(t, shape=(*batch, *t.shape[cut:])) for t in (q, k, v))


_DRAWN_INSIDE = ("cuda",)       # devices whose kernels draw the dropout mask again in backward


def _attention_without_scores(q, k, v, mask, p, causal, scale):
    """Compute attention with dropout by kernels that store no scores."""
    return dropped_attention(q, k, v, mask, draw_key_on_device_of(q), causal=causal, scale=scale, p=p)[0]


def _attention_with_scores(q, k, v, mask, p, causal, scale):
    """Compute attention with dropout and stored probabilities, faster on the CPU; 16-bit floats in float32."""
    like, (q, k, v) = q, map(ew.widened, (q, k, v))
    if mask is not None and mask.dtype is not dt.bool_:
        mask = ew.widened(mask)
    k, v = (t if t.shape[-3] == q.shape[-3] else t.repeat_interleave(q.shape[-3] // t.shape[-3], dim=-3) for t in (k, v))
    scores = masked_scores(q, k, mask, causal, scale)
    if mask is None:
        shares = softmax_ops.softmax(scores, dim=scores.ndim - 1)
    else:
        nothing = expand(ew.isneginf(rd.amax(scores, dim=(scores.ndim - 1,), keepdim=True)), shape=tuple(scores.shape))
        shares = softmax_ops.softmax(ew.where(nothing, 0.0, scores), dim=scores.ndim - 1)
        shares = ew.where(nothing, 0.0, shares)
    return ew.narrowed(dropout(shares, p) @ v, like)


def canonical_mask(mask, dtype):
    """Return a mask as floats to add; True in a boolean mask means masked."""
    if mask is None or mask.dtype is not dt.bool_:
        return mask
    return FUNCTIONS["zeros"](mask.shape, dtype=dtype, device=mask.device).masked_fill(mask, -math.inf)


def _projected(query, key, value, weights, biases):
    return tuple(linear(x, w, b) for x, w, b in zip((query, key, value), weights, biases))


def _with_extra_step(x, row, batch):
    return FUNCTIONS["cat"]([x, row.expand(1, batch, x.shape[2])])


def _merged_mask(attn_mask, key_padding_mask, batch, heads, extra):
    """Return one additive mask (N, heads or 1, L or 1, S) from both, with `extra` unmasked steps at the end."""
    if attn_mask is not None:
        attn_mask = attn_mask.unsqueeze(0) if attn_mask.ndim == 2 else attn_mask
        attn_mask = attn_mask.reshape(batch, heads, *attn_mask.shape[1:]) if attn_mask.shape[0] != 1 else attn_mask.unsqueeze(0)
    if key_padding_mask is not None:
        key_padding_mask = key_padding_mask[:, None, None]
    masks = [m for m in (attn_mask, key_padding_mask) if m is not None]
    if not masks:
        return None
    merged = masks[0] if len(masks) == 1 else masks[0] + masks[1]
    if extra:
        open_ = FUNCTIONS["zeros"]((*merged.shape[:-1], extra), dtype=merged.dtype, device=merged.device)
        merged = FUNCTIONS["cat"]([merged, open_], -1)
    return merged


def _check_inputs(query, key, value):
    """Raise unless keys and values have one length, and the batch of the queries."""
    shapes = [tuple(x.shape) for x in (query, key, value)]
    if len(shapes[0]) not in (2, 3) or any(len(s) != len(shapes[0]) for s in shapes):
        raise ShapeError("multi-head attention takes query, key and value of 3 dimensions, or of 2 without a batch, got "
                         f"{', '.join(str(x.aval) for x in (query, key, value))}")
    if shapes[1][:-1] != shapes[2][:-1] or shapes[0][1:-1] != shapes[1][1:-1]:
        raise ShapeError(f"multi-head attention takes [L, N, E], [S, N, E] and [S, N, E], got "
                         f"{', '.join(str(x.aval) for x in (query, key, value))}")


def _check_masks(attn_mask, key_padding_mask, lengths, batch, heads):
    target, source = lengths
    if attn_mask is not None and tuple(attn_mask.shape) not in ((target, source), (batch * heads, target, source),
                                                               (1, target, source)):
        raise ShapeError(f"attn_mask must be ({target}, {source}) or ({batch * heads}, {target}, {source}), "
                         f"got {list(attn_mask.shape)}")
    if key_padding_mask is not None and tuple(key_padding_mask.shape) != (batch, source):
        raise ShapeError(f"key_padding_mask must be ({batch}, {source}), got {list(key_padding_mask.shape)}")


@memoised
def multi_head_attention_forward(query, key, value, embed_dim_to_check, num_heads, in_proj_weight, in_proj_bias, bias_k,
                                 bias_v, add_zero_attn, dropout_p, out_proj_weight, out_proj_bias, training=True,
                                 key_padding_mask=None, need_weights=True, attn_mask=None, use_separate_proj_weight=False,
                                 q_proj_weight=None, k_proj_weight=None, v_proj_weight=None, static_k=None, static_v=None,
                                 average_attn_weights=True, is_causal=False):
    """Compute multi-head attention over (L, N, E), (S, N, E) and (S, N, E), or without batch; return (output, weights)."""
    _check_inputs(query, key, value)
    single = query.ndim == 2
    if single:
        query, key, value = (x.unsqueeze(1) for x in (query, key, value))
        key_padding_mask = None if key_padding_mask is None else key_padding_mask.unsqueeze(0)
    target, batch, size = query.shape
    if size != embed_dim_to_check or size % num_heads:
        raise ShapeError(f"multi-head attention of size {embed_dim_to_check} with {num_heads} heads got queries of size {size}")
    if is_causal and attn_mask is None:
        raise ArgumentError("is_causal is a hint about attn_mask; give the mask as well")
    _check_masks(attn_mask, key_padding_mask, (target, key.shape[0]), batch, num_heads)
    weights = (q_proj_weight, k_proj_weight, v_proj_weight) if use_separate_proj_weight else in_proj_weight.chunk(3)
    biases = (None,) * 3 if in_proj_bias is None else in_proj_bias.chunk(3)
    q, k, v = _projected(query, key, value, weights, biases)
    extra = 0
    if bias_k is not None:
        k, v, extra = _with_extra_step(k, bias_k, batch), _with_extra_step(v, bias_v, batch), 1
    q, k, v = (x.reshape(x.shape[0], batch, num_heads, x.shape[2] // num_heads).permute(1, 2, 0, 3) for x in (q, k, v))
    k, v = (given.reshape(batch, num_heads, *given.shape[1:]) if given is not None else own
            for given, own in ((static_k, k), (static_v, v)))
    if add_zero_attn:
        zeros = FUNCTIONS["zeros"]((batch, num_heads, 1, k.shape[-1]), dtype=k.dtype, device=k.device)
        k, v, extra = FUNCTIONS["cat"]([k, zeros], 2), FUNCTIONS["cat"]([v, zeros], 2), extra + 1
    mask = _merged_mask(canonical_mask(attn_mask, q.dtype), canonical_mask(key_padding_mask, q.dtype), batch, num_heads, extra)
    attended, shares = _attend(q, k, v, mask, dropout_p if training else 0.0, need_weights)
    out = linear(attended.permute(2, 0, 1, 3).reshape(target, batch, size), out_proj_weight, out_proj_bias)
    if shares is not None:
        shares = shares.mean(1) if average_attn_weights else shares
        shares = shares.squeeze(0) if single else shares
    return (out.squeeze(1) if single else out), shares


def _attend(q, k, v, mask, dropout_p, need_weights):
    if not need_weights:
        return scaled_dot_product_attention(q, k, v, mask, dropout_p), None
    scores = (q * (1 / sqrt(q.shape[-1]))) @ k.transpose(-1, -2)
    if mask is not None:
        scores = scores + mask
    shares = softmax_ops.softmax(scores, dim=3)
    if dropout_p > 0:
        shares = dropout(shares, dropout_p)
    return shares @ v, shares
