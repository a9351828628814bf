"""float16 and bfloat16 where they cannot hold what is counted, or scaled by (more elements than 65504, large numbers), and of
logits far from zero."""

import numpy as np
import pytest

import ingot
import ingot.nn.functional as F
from ingot import jit

MANY = 70_000           # which float16 does not have
REDUCED = {
    "mean": lambda x: x.mean(), "mean of rows": lambda x: x.reshape(2, -1).mean(1).sum(),
    "mean of squares": lambda x: (x * x).mean(), "var": lambda x: x.var(), "std": lambda x: x.std(),
    "var_mean": lambda x: sum(ingot.var_mean(x)), "nanmean": lambda x: x.nanmean(),
    "mse_loss": lambda x: F.mse_loss(x, ingot.zeros_like(x)), "l1_loss": lambda x: F.l1_loss(x, ingot.zeros_like(x)),
    "huber_loss": lambda x: F.huber_loss(x, ingot.zeros_like(x)),
    "bce": lambda x: F.binary_cross_entropy_with_logits(x, ingot.zeros_like(x)),
    "cross_entropy": lambda x: F.cross_entropy(x.reshape(-1, 1).expand(-1, 2) * ingot.tensor([1.0, -1.0], dtype=x.dtype),
                                               ingot.zeros(x.numel(), dtype=ingot.int64)),
    "nll_loss": lambda x: F.nll_loss(x.reshape(-1, 1), ingot.zeros(x.numel(), dtype=ingot.int64)),
    "kl_div": lambda x: F.kl_div(x, ingot.ones_like(x), reduction="batchmean"),
}


@pytest.mark.parametrize("dtype", [ingot.float16, ingot.bfloat16])
@pytest.mark.parametrize("name", REDUCED)
def test_gradients_of_many_elements_are_those_of_float32(name, dtype):
    values = np.random.default_rng(3).standard_normal(MANY) + 2
    low = ingot.tensor(values).to(dtype)

    def gradient(x):
        x = x.detach().requires_grad_()
        return ingot.autograd.grad(REDUCED[name](x), x)[0]

    want = gradient(low.float()).numpy()
    for got in (gradient(low), jit.trace(gradient)(low)):
        got = got.float().numpy()
        assert abs(want).max() > 0
        assert np.allclose(got, want, rtol=0.02, atol=2e-2 * abs(want).max())       # of few bits, partly below the normal ones


@pytest.mark.parametrize("dtype", [ingot.float16, ingot.bfloat16])
@pytest.mark.parametrize("number", [3, 2049, 70_000, 70_001, -123_457, 10**40])
def test_whole_numbers_scale_as_floats_do(dtype, number):
    x = ingot.tensor([49_000.0, 1.0, 3.0, -0.25], dtype=dtype)
    for scaled in (lambda n: x / n, lambda n: x * n, lambda n: n * x, lambda n: ingot.floor_divide(x, n)):
        want = scaled(float(number)).tolist()
        assert np.array_equal(scaled(number).tolist(), want, equal_nan=True)
        assert np.array_equal(jit.trace(lambda: scaled(number))().tolist(), want, equal_nan=True)
    assert (x / 70_000).float().tolist() == pytest.approx([0.7, 1 / 70_000, 3 / 70_000, -0.25 / 70_000], rel=0.01)


@pytest.mark.parametrize("dtype, most", [(ingot.float16, 0.002), (ingot.bfloat16, 0.01)])
def test_gradients_of_cross_entropy_do_not_depend_on_where_logits_lie(dtype, most):
    logits = (ingot.randn(4, 1000, generator=ingot.Generator().manual_seed(1)) * 2 + 60).to(dtype)
    target = ingot.tensor([1, 2, 3, 4])

    def gradient(x):
        x = x.detach().requires_grad_()
        return ingot.autograd.grad(F.cross_entropy(x, target, reduction="sum"), x)[0]

    want = gradient(logits.double()).numpy()
    for got in (gradient(logits), jit.trace(gradient)(logits)):
        assert got.dtype is dtype
        assert abs(got.double().numpy() - want).max() < most
        assert abs(got.double().numpy().sum(1)).max() < 5 * most
