"""Attention, with each row's logsumexp of scores, and its gradients where these statistics are given."""

import numpy as np
import torch

from ..families import rounded
from ..row import Leaf
from . import case, cases, formula, pulled
from .elementwise import INF, as_dtype

F = torch.nn.functional


def spread(k, q):
    """Return keys or values for all heads of the queries."""
    return k.repeat_interleave(q.shape[-3] // k.shape[-3], -3)


def bias_of(q, k, mask, causal):
    """Return what is added to scores: -inf for what is not seen."""
    bias = q.new_zeros(q.shape[-2], k.shape[-2])
    if mask is not None:
        bias = bias.masked_fill(~mask, -INF) if mask.dtype == torch.bool else bias + mask
    return bias.masked_fill(~torch.ones(bias.shape[-2:], dtype=torch.bool).tril(), -INF) if causal else bias


def scores_of(q, k, mask, causal, scale):
    """Return scores, -inf for what is not seen."""
    return q @ spread(k, q).mT * scale + bias_of(q, k, mask, causal)


def rows_of(s):
    """Return each row's logsumexp, inf for rows of nothing."""
    found = s.logsumexp(-1)
    return torch.where(found == -INF, INF, found)


@formula("attention")
def attention(q, k, v, mask, *, causal, scale):
    """PyTorch's attention, and the logsumexp of each row of scores."""
    grouped = q.shape[-3] != k.shape[-3]
    out = F.scaled_dot_product_attention(q, k, v, bias_of(q, k, mask, causal), scale=scale, enable_gqa=grouped)
    return out, rows_of(scores_of(q, k, mask, causal, scale))


def weighted(g, s, v, lse, delta):
    """Return what has the gradients of attention where its statistics are held: the sum of g * (p v) - delta * p."""
    p = torch.exp(s - lse.unsqueeze(-1))
    return (g * (p @ v)).sum() - (delta.unsqueeze(-1) * p).sum()


@formula("attention_grad")
def attention_grad(g, q, k, v, mask, lse, delta, *, causal, scale, mask_grad):
    """Autograd's gradients of that sum."""
    if mask_grad:
        return pulled(lambda q, k, v, mask: weighted(g, scores_of(q, k, mask, causal, scale), spread(v, q), lse, delta),
                      [q, k, v, mask], None)
    found = pulled(lambda q, k, v: weighted(g, scores_of(q, k, mask, causal, scale), spread(v, q), lse, delta), [q, k, v], None)
    return *found, q.new_zeros((0,) * q.ndim)


def operands(rng, lead, heads, key_heads, rows, cols, size, out):
    """Return queries, keys and values."""
    return (rounded(rng, *lead, heads, rows, size), rounded(rng, *lead, key_heads, cols, size),
            rounded(rng, *lead, key_heads, cols, out))


SHAPES = (((2,), 2, 2, 3, 4, 5, 2), ((), 4, 2, 3, 5, 2, 3), ((1, 2), 2, 1, 4, 3, 3, 3))


@cases("attention")
def attentions(name, rng):
    for i, shape in enumerate(SHAPES):
        *_, rows, cols, _, _ = shape
        q, k, v = map(Leaf, operands(rng, *shape))
        scale = (0.375, 0.75, 1.25)[i]
        if i != 1:
            yield case(f"plain {i + 1}", q, k, v, None, causal=False, scale=scale)
            yield case(f"bools {i + 1}", q, k, v, np.tri(rows, cols, dtype=bool) | (np.arange(cols) == 1), causal=False,
                       scale=scale)
        if i != 2:
            yield case(f"causal {i + 1}", q, k, v, None, causal=True, scale=scale)
            yield case(f"mask {i + 1}", q, k, v, Leaf(rounded(rng, rows, cols)), causal=False, scale=scale)
    yield case("mask and causal", *map(Leaf, operands(rng, *SHAPES[0])), Leaf(rounded(rng, 2, 2, 1, 4)), causal=True, scale=0.5)
    nothing = np.array([[True, False, True, True], [False] * 4, [False, True, False, False]])
    yield case("nothing seen", *operands(rng, (), 1, 1, 3, 4, 2, 2), nothing, causal=False, scale=1.0)


def statistics(rng, q):
    """Return a logsumexp and a delta for each row."""
    return rounded(rng, *q.shape[:-1]) + 1, rounded(rng, *q.shape[:-1])


@cases("attention_grad")
def attention_gradients(name, rng):
    for i, shape in enumerate(SHAPES):
        q, k, v = operands(rng, *shape)
        g, (lse, delta) = rounded(rng, *q.shape[:-1], v.shape[-1]), statistics(rng, q)
        mask, scale = rounded(rng, q.shape[-2], k.shape[-2]), (0.375, 0.75, 1.25)[i]
        leaves = [Leaf(a) for a in (g, q, k, v)]
        yield case(f"causal {i + 1}", *leaves, None, Leaf(lse), Leaf(delta), causal=True, scale=scale, mask_grad=False,
                   options={"only": [0, 1, 2]})
        yield case(f"mask {i + 1}", *leaves, Leaf(mask), Leaf(lse), Leaf(delta), causal=False, scale=scale, mask_grad=True)


formula("row_delta")(lambda g, out, g_lse: (g.to(g_lse.dtype) * out.to(g_lse.dtype)).sum(-1) - g_lse)


@cases("row_delta")
def row_deltas(name, rng):
    for i, shape in enumerate(((2, 3, 4), (3, 5), (1, 2, 3, 1))):
        yield case(f"shape {i + 1}", Leaf(rounded(rng, *shape)), Leaf(rounded(rng, *shape)), Leaf(rounded(rng, *shape[:-1])))
    low = as_dtype("bfloat16")
    yield case("bfloat16", rounded(rng, 3, 4).astype(low), rounded(rng, 3, 4).astype(low), rounded(rng, 3, dtype="float32"))


# Each query sees a stretch of keys.


def bounded_scores(q, k, bounds, table, scale, squash):
    """Return scores, bent and shifted by distance; -inf outside of a query's bounds."""
    s = q @ spread(k, q).mT * scale
    if squash is not None:
        s = squash[1] * torch.tanh(squash[0] * s)
    rows, cols = s.shape[-2:]
    if table is not None:
        s = s + table[..., torch.arange(cols) - torch.arange(rows).unsqueeze(1) + rows - 1]
    if bounds is not None:
        column = torch.arange(cols)
        s = s.masked_fill((column < bounds[..., :1]) | (column >= bounds[..., 1:]), -INF)
    return s


@formula("bounded_attention")
def bounded_attention(q, k, v, bounds, table, *, scale, squash):
    """Softmax of the scores times values; zeros for queries that see nothing."""
    s = bounded_scores(q, k, bounds, table, scale, squash)
    empty = (s == -INF).all(-1, keepdim=True)
    p = torch.where(empty, 0.0, torch.where(empty, 0.0, s).softmax(-1))
    return p @ spread(v, q), rows_of(s)


@formula("bounded_attention_grad")
def bounded_attention_grad(g, q, k, v, bounds, table, lse, delta, *, scale, squash, table_grad):
    """Autograd's gradients where the statistics are held."""
    inputs = [q, k, v, *([table] if table_grad else [])]
    return pulled(lambda q, k, v, table=table: weighted(g, bounded_scores(q, k, bounds, table, scale, squash), spread(v, q),
                                                        lse, delta), inputs, None)


def looks(rng, lead, heads, rows, cols):
    """Return pairs of bounds and tables, and squashes."""
    low = rng.integers(0, cols, (*lead, heads, rows))
    bounds = np.stack([low - (low == 0), low + rng.integers(1, cols + 2, low.shape)], -1)
    table, one = rounded(rng, *lead, heads, rows + cols - 1), (slice(1),) * (len(lead) + 1)
    whole = np.stack([np.zeros(rows, np.int64), np.arange(1, rows + 1)], -1).reshape(*(1,) * len(one), rows, 2)
    return (bounds, None, None), (whole, table, (0.5, 2.0)), (None, table[one], None), (bounds[one], table, None), (None, None,
                                                                                                                    (0.75, 1.5))


@cases("bounded_attention", "bounded_attention_grad")
def bounded(name, rng):
    for i in range(5):
        shape = SHAPES[i % 3]
        lead, heads, _, rows, cols, *_ = shape
        q, k, v = operands(rng, *shape)
        bounds, table, squash = looks(rng, lead, heads, rows, cols)[i % 5]
        leaf = None if table is None else Leaf(table)
        scale = (0.375, 0.75)[i % 2]
        if name == "bounded_attention":
            yield case(f"look {i + 1}", Leaf(q), Leaf(k), Leaf(v), bounds, leaf, scale=scale, squash=squash)
        else:
            g, (lse, delta) = rounded(rng, *q.shape[:-1], v.shape[-1]), statistics(rng, q)
            yield case(f"look {i + 1}", Leaf(g), Leaf(q), Leaf(k), Leaf(v), bounds, leaf, Leaf(lse), Leaf(delta), scale=scale,
                       squash=squash,
                       table_grad=table is not None)
    if name == "bounded_attention":
        nothing = np.array([[1, 1], [0, 4], [5, 2]]).reshape(1, 3, 2)
        yield case("nothing seen", *operands(rng, (), 1, 1, 3, 4, 2, 2), nothing, None, scale=1.0, squash=None)


# With probabilities dropped: what does not depend on the draw.

formula("dropped_attention")(lambda q, k, v, mask, key, *, causal, scale, p:
                             attention(q, k, v, mask, causal=causal, scale=scale))


@formula("dropped_attention_grad")
def dropped_attention_grad(g, q, k, v, mask, lse, delta, key, *, causal, scale, p, mask_grad):
    """Those of attention."""
    found = attention_grad(g, q, k, v, mask, lse, delta, causal=causal, scale=scale, mask_grad=mask_grad)
    return found if mask_grad else found[:3]


@cases("dropped_attention", "dropped_attention_grad")
def dropped(name, rng):
    """Nothing is dropped with p = 0. The logsumexp never depends on it, nor do gradients from delta alone."""
    for i, shape in enumerate(SHAPES):
        q, k, v = operands(rng, *shape)
        key, mask = rng.integers(0, 1 << 40, 2).astype(np.uint64), rounded(rng, q.shape[-2], k.shape[-2])
        params = {"causal": i != 1, "scale": (0.375, 0.75, 1.25)[i], "p": (0.0, 0.0, 0.5)[i]}
        if name == "dropped_attention":
            yield case(f"p {params['p']} {i}", Leaf(q), Leaf(k), v if i == 2 else Leaf(v), Leaf(mask) if i == 1 else None, key,
                       **params, options={"only": [1]} if i == 2 else {})
            continue
        g, (lse, delta) = rounded(rng, *q.shape[:-1], v.shape[-1]) * (i != 2), statistics(rng, q)
        leaf = np.asarray if i == 2 else Leaf
        yield case(f"p {params['p']} {i}", *[leaf(a) for a in (g, q, k, v)], leaf(mask) if i == 1 else None, leaf(lse),
                   leaf(delta), key, **params,
                   mask_grad=i == 1)
