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
        yield Sample((g, q, k, v, None, lse, delta), {"causal": True, "scale": 0.4, "mask_grad": False}, tol=32)
        yield Sample((g, q, k, v, mask, lse, delta), {"causal": False, "scale": 0.4, "mask_grad": True}, tol=32)
