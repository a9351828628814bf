"""Rounding of attention gradients with 16-bit floats: statistics of a row (logsumexp, gradient offset) stay float32."""

import numpy as np
import pytest

import ingot
import mock_cuda
from ingot import jit
from ingot.ir.errors import DTypeError
from ingot.ir.ops.nn.attention import attention_grad
from ingot.nn import functional as F
from ingot.nn.attention.flex_attention import flex_attention

# Against float64, relative to the largest element. With 16-bit statistics the first case erred by 0.023.
MOST = {"bfloat16": 8e-3, "float16": 1e-3}
CALLS = {
    "causal": ((1, 16, 32, 64), {"is_causal": True}),
    "long": ((1, 2, 300, 64), {"is_causal": True}),
    "all": ((1, 4, 32, 64), {}),
    "wide": ((1, 2, 33, 300), {}),
    "drops": ((1, 4, 32, 16), {"dropout_p": 0.25}),
    "mask": ((1, 2, 24, 16), {"attn_mask": True}),
}


def run(call, kind, device, traced):
    """Return attention and its gradients for itself."""
    shape, options = CALLS[call]
    rng = np.random.default_rng(0)
    operands = [ingot.tensor(rng.standard_normal(shape).astype(np.float32)).half() for _ in range(3)]
    if options.get("attn_mask"):
        mask = ingot.tensor(rng.standard_normal((shape[-2], shape[-2]))).half()
        options = {"attn_mask": mask.to(device, getattr(ingot, kind))}
    operands = [t.bfloat16().to(device, getattr(ingot, kind)) for t in operands]

    def step(*operands):
        operands = [t.detach().requires_grad_() for t in operands]
        out = F.scaled_dot_product_attention(*operands, **options)
        out.backward(out.detach())
        return out.detach(), *[t.grad for t in operands]

    step = jit.trace(step) if traced else step
    for _ in range(3 if traced else 1):
        ingot.manual_seed(3)
        found = step(*operands)
    return [t.cpu().double() for t in found]


@pytest.mark.parametrize("traced", [False, True], ids=["eager", "traced"])
@pytest.mark.parametrize("device", ["cpu", "cuda"])
@pytest.mark.parametrize("kind", MOST)
@pytest.mark.parametrize("call", CALLS)
def test_gradients_err_by_a_rounding(call, kind, device, traced):
    want = run(call, "float64", "cpu", False)
    with mock_cuda.installed():
        got = run(call, kind, device, traced)
    for name, g, w in zip(("out", "q", "k", "v"), got, want):
        error = ((g - w).abs().max() / w.abs().max()).item()
        assert error < MOST[kind], f"{name}: {error:.4f}"


@pytest.mark.parametrize("kind", MOST)
def test_gradients_of_gradients(kind):
    """Statistics stay float32 between operands and results (else 0.23 and 0.02)."""
    def penalty(q):
        out = F.scaled_dot_product_attention(q, q, q)
        g, = ingot.autograd.grad((out * out).sum(), q, create_graph=True)
        return ingot.autograd.grad((g.float() ** 2).sum() if g.dtype.itemsize == 2 else (g ** 2).sum(), q)[0]

    q = ingot.tensor(np.random.default_rng(0).standard_normal((1, 2, 12, 16)).astype(np.float32)).half().bfloat16()
    want, got = (penalty(q.to(getattr(ingot, k)).requires_grad_()).double() for k in ("float64", kind))
    assert ((got - want).abs().max() / want.abs().max()).item() < 8 * MOST[kind]


@pytest.mark.parametrize("wide", [(True, False), (False, True), (False, False)], ids=str)
def test_gradients_refuse_statistics_of_16_bits(wide):
    """A kernel that reads float32 would read past the end of 16-bit statistics."""
    q = ingot.ones(1, 2, 3, 4, dtype=ingot.bfloat16)
    lse, delta = (ingot.ones(1, 2, 3, dtype=ingot.float32 if w else ingot.bfloat16) for w in wide)
    with pytest.raises(DTypeError, match=r"attention_grad of bfloat16.* takes lse and delta in .*float32"):
        attention_grad(q, q, q, q, None, lse, delta, causal=False, scale=0.5, mask_grad=False)


@pytest.mark.parametrize("dtype", [ingot.float32, ingot.bfloat16, ingot.float16], ids=str)
@pytest.mark.parametrize("cap", [0.5, 5.0])
def test_scores_of_low_precision_are_rounded_before_a_score_function_changes_them(dtype, cap):
    """Kernels with a score form keep scores in float32, so they do not apply to low precision."""
    ingot.manual_seed(0)
    q, k, v = (ingot.randn(1, 2, 16, 8).to(dtype) * 3 for _ in range(3))
    found = flex_attention(q, k, v, score_mod=lambda s, b, h, i, j: cap * (s / cap).tanh())
    other = flex_attention(q, k, v, score_mod=lambda s, b, h, i, j: (cap * (s.clone() / cap).tanh()).clone())
    assert (found - other).abs().max() <= (1e-5 if dtype is ingot.float32 else 0)
