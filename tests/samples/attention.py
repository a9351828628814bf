"""Samples of attention."""

import numpy as np

from . import Sample, samples


def tensors(rng, batch, heads, key_heads, rows, cols, size, out):
    return (rng.standard_normal((*batch, heads, rows, size)), rng.standard_normal((*batch, key_heads, cols, size)),
            rng.standard_normal((*batch, key_heads, cols, out)))


CASES = (((2,), 2, 2, 3, 4, 5, 2), ((), 4, 2, 3, 3, 2, 3), ((1, 2), 2, 1, 4, 4, 3, 3))


@samples("attention")
def _attention(rng):
    for batch, *sizes in CASES:
        q, k, v = tensors(rng, batch, *sizes)
        rows, cols = q.shape[-2], k.shape[-2]
        bools = np.tri(rows, cols, dtype=bool)
        for mask, causal in ((None, False), (None, True), (rng.standard_normal((rows, cols)), False), (bools, False),
                             (rng.standard_normal((*batch, q.shape[-3], 1, cols)), True)):
            yield Sample((q, k, v, mask), {"causal": causal, "scale": 0.4}, tol=16)
    nothing = np.zeros((3, 4), bool)
    yield Sample((*tensors(rng, (), 1, 1, 3, 4, 2, 2), nothing), {"causal": False, "scale": 1.0}, grad=False)


@samples("attention_grad")
def _attention_grad(rng):
    for batch, *sizes in CASES:
        q, k, v = tensors(rng, batch, *sizes)
        g = rng.standard_normal((*q.shape[:-1], v.shape[-1]))
        lse, delta = rng.standard_normal(q.shape[:-1]) + 1, rng.standard_normal(q.shape[:-1])
        mask = rng.standard_normal((q.shape[-2], k.shape[-2]))
        yield Sample((g, q, k, v, None, lse, delta), {"causal": True, "scale": 0.4, "mask_grad": False}, tol=32, wide=(5, 6))
        yield Sample((g, q, k, v, mask, lse, delta), {"causal": False, "scale": 0.4, "mask_grad": True}, tol=32, wide=(5, 6))


@samples("row_delta")
def _row_delta(rng):
    for shape in ((2, 3, 4), (1, 2, 3, 1), (3, 5), (2, 0, 4), (0, 3)):
        g, out = (rng.standard_normal(shape) for _ in range(2))
        yield Sample((g, out, rng.standard_normal(shape[:-1])), {}, tol=16, wide=(2,), grad=g.size > 0)


def looks(rng, batch, heads, rows, cols):
    """(bounds, table, squash): stretches of keys, one for all heads or for each, and so on."""
    low = rng.integers(0, cols, (*batch, heads, rows))
    bounds = np.stack([low - (low == 0), low + rng.integers(1, cols + 2, low.shape)], -1)
    table = rng.standard_normal((*batch, heads, rows + cols - 1))
    lead = (1,) * (len(batch) + 1)
    yield bounds, None, None
    yield np.stack([np.zeros(rows, np.int64), np.arange(1, rows + 1)], -1).reshape(*lead, rows, 2), table, (0.5, 2.0)
    yield None, table[(*(slice(1),) * len(lead),)], None
    yield bounds[(*(slice(1),) * len(lead),)], table, None
    yield None, None, (0.7, 1.5)


@samples("bounded_attention")
def _bounded(rng):
    for batch, heads, key_heads, rows, cols, *sizes in CASES:
        for bounds, table, squash in looks(rng, batch, heads, rows, cols):
            operands = tensors(rng, batch, heads, key_heads, rows, cols, *sizes)
            yield Sample((*operands, bounds, table), {"scale": 0.4, "squash": squash}, tol=16)
    nothing = np.array([[1, 1], [0, 4], [5, 2]]).reshape(1, 3, 2)
    yield Sample((*tensors(rng, (), 1, 1, 3, 4, 2, 2), nothing, None), {"scale": 1.0, "squash": None}, grad=False)


@samples("bounded_attention_grad")
def _bounded_grad(rng):
    for batch, heads, key_heads, rows, cols, *sizes in CASES:
        for bounds, table, squash in looks(rng, batch, heads, rows, cols):
            q, k, v = tensors(rng, batch, heads, key_heads, rows, cols, *sizes)
            g = rng.standard_normal((*q.shape[:-1], v.shape[-1]))
            lse, delta = rng.standard_normal(q.shape[:-1]) + 1, rng.standard_normal(q.shape[:-1])
            params = {"scale": 0.4, "squash": squash, "table_grad": table is not None}
            yield Sample((g, q, k, v, bounds, table, lse, delta), params, tol=32, wide=(6, 7))


@samples("dropped_attention")
def _dropped(rng):
    for batch, *sizes in CASES:
        q, k, v = tensors(rng, batch, *sizes)
        key, bools = rng.integers(0, 1 << 63, 2).astype(np.uint64), np.tri(q.shape[-2], k.shape[-2], dtype=bool)
        for mask, causal in ((None, False), (None, True), (rng.standard_normal(bools.shape), False), (bools, False)):
            yield Sample((q, k, v, mask, key), {"causal": causal, "scale": 0.4, "p": 0.3}, tol=16)


@samples("dropped_attention_grad")
def _dropped_grad(rng):
    for batch, *sizes in CASES:
        q, k, v = tensors(rng, batch, *sizes)
        g, key = rng.standard_normal((*q.shape[:-1], v.shape[-1])), rng.integers(0, 1 << 63, 2).astype(np.uint64)
        lse, delta = rng.standard_normal(q.shape[:-1]) + 1, rng.standard_normal(q.shape[:-1])
        mask = rng.standard_normal((q.shape[-2], k.shape[-2]))
        for given, causal in ((None, True), (mask, False)):
            params = {"causal": causal, "scale": 0.4, "p": 0.3, "mask_grad": given is not None}
            yield Sample((g, q, k, v, given, lse, delta, key), params, tol=32, wide=(5, 6))
