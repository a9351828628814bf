"""Attention with dropout against its definition: masks, rows without keys, grouped heads; in each dtype."""

import numpy as np
import pytest

import ingot
from ingot.nn import functional as F

P = 0.4
MASKS = {"none": lambda rng: None, "bool": lambda rng: rng.random((5, 6)) < 0.6,
         "float": lambda rng: rng.standard_normal((5, 6)),
         "row without keys": lambda rng: np.arange(5)[:, None] * np.ones(6) != 2,
         "row of -inf": lambda rng: np.where(np.arange(5)[:, None] == 3, -np.inf, rng.standard_normal((5, 6)))}


def shares(q, k, mask, causal):
    """The attention of each query to each key, without dropout."""
    scores = q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])
    if causal:
        mask = np.tril(np.ones(scores.shape[-2:], bool))
    if mask is not None:
        scores = np.where(mask, scores, -np.inf) if mask.dtype == bool else scores + mask
    top = scores.max(-1, keepdims=True)
    e = np.exp(scores - np.where(np.isneginf(top), 0, top))
    total = e.sum(-1, keepdims=True)
    return e / np.where(total == 0, 1, total)


@pytest.mark.parametrize("heads", [(4, 4), (4, 2), (6, 2), (4, 1)], ids=str)
@pytest.mark.parametrize("mask", [*MASKS, "causal"])
def test_each_share_is_dropped_or_scaled(mask, heads):
    """Values of one hot rows give the shares themselves."""
    rng = np.random.default_rng(7)
    queries, keys = 5, 6
    q, k = rng.standard_normal((2, heads[0], queries, 8)), rng.standard_normal((2, heads[1], keys, 8))
    v = np.broadcast_to(np.eye(keys), (2, heads[1], keys, keys)) * np.arange(1, heads[1] + 1)[:, None, None]
    made = MASKS[mask](rng) if mask != "causal" else None
    ingot.manual_seed(3)
    options = {"dropout_p": P, "is_causal": mask == "causal", "enable_gqa": heads[0] != heads[1]}
    found = F.scaled_dot_product_attention(ingot.tensor(q), ingot.tensor(k), ingot.tensor(v.copy()),
                                           None if made is None else ingot.tensor(made), **options).numpy()
    group = heads[0] // heads[1]            # heads of queries that follow each other share one of the keys
    k = np.repeat(k, group, axis=1)
    want = shares(q, k, made, mask == "causal") * np.repeat(np.arange(1, heads[1] + 1), group)[:, None, None] / (1 - P)
    kept = found != 0
    np.testing.assert_allclose(found[kept], want[kept], rtol=1e-6)
    live = want > 1e-12
    assert 0.4 < kept[live].mean() < 0.8 and not kept[~live].any() and np.isfinite(found).all()


@pytest.mark.parametrize("mask", ["row without keys", "row of -inf"])
def test_a_row_without_keys_has_no_gradient(mask):
    rng = np.random.default_rng(7)
    q, k, v = (ingot.tensor(rng.standard_normal((1, 2, n, 8)), requires_grad=True) for n in (5, 6, 6))
    made = MASKS[mask](rng)
    F.scaled_dot_product_attention(q, k, v, ingot.tensor(made), dropout_p=P).sum().backward()
    row = 2 if made.dtype == bool else 3
    assert all(t.grad.isfinite().all() for t in (q, k, v)) and not q.grad[:, :, row].any() and q.grad[:, :, 1].any()
