"""Attention with dropout on a device: the kernels draw what the CPU draws, forward and backward, and hold no scores."""

import copy

import numpy as np
import pytest

import ingot
import mock_cuda
from ingot import jit, nn
from ingot.ir.ops.nn.attention import dropped_attention
from ingot.nn import functional as F
from ingot.runtime.cuda.graph import eager
from ingot.runtime.cuda.ops.nn import attention

rng = np.random.default_rng(4)
P = 0.3
# batch, heads, key heads, queries, keys, size, size of values, mask
CASES = {"plain": (2, 3, 3, 40, 52, 20, 24, None), "odd": (2, 2, 2, 37, 51, 16, 16, None),
         "even by two": (1, 2, 2, 9, 70, 8, 8, None),
         "queries share keys": (2, 4, 2, 33, 72, 16, 16, None), "bools": (1, 2, 2, 40, 37, 8, 8, "bool"),
         "added": (2, 2, 1, 20, 45, 10, 12, "float"), "few": (1, 2, 2, 3, 2, 4, 4, None), "one": (1, 1, 1, 1, 1, 4, 4, None),
         "whole tiles": (1, 1, 1, 128, 128, 16, 16, None)}


def drawn(*shape, dtype=ingot.float32):
    return ingot.tensor(rng.standard_normal(shape)).to(dtype)


def operands(case, dtype=ingot.float32):
    """(queries, keys, values, the mask or None, what comes back to the result)"""
    batch, heads, key_heads, length, keys, e, width, kind = CASES[case]
    mask = drawn(batch, 1, length, keys, dtype=dtype) if kind == "float" else drawn(length, keys) > -0.3 if kind else None
    if kind == "bool":
        mask[5] = False         # a row of nothing
    return (drawn(batch, heads, length, e, dtype=dtype), drawn(batch, key_heads, keys, e, dtype=dtype),
            drawn(batch, key_heads, keys, width, dtype=dtype), mask, drawn(batch, heads, length, width, dtype=dtype))


def attended(tensors, device, seed=5, p=P, run=lambda f: f, **how):
    """The result and the gradients of queries, keys, values and an added mask, of one draw."""
    *leaves, mask, up = [None if t is None else t.to(device).detach() for t in tensors]
    if mask is not None and mask.is_floating_point():
        leaves.append(mask)
    for t in leaves:
        t.requires_grad_()

    def step(q, k, v, mask):
        return F.scaled_dot_product_attention(q, k, v, mask, p, enable_gqa=q.shape[1] != k.shape[1], **how)

    ingot.manual_seed(seed)
    out = run(step)(*leaves[:3], mask)
    out.backward(up)
    return [t.detach().cpu().double().numpy() for t in (out, *[t.grad for t in leaves])]


def compare(got, want, tolerance=3e-6):
    for n, (g, w) in enumerate(zip(got, want, strict=True)):
        np.testing.assert_allclose(g, w, rtol=tolerance, atol=tolerance * max(1, np.abs(w).max()), err_msg=f"value {n}")


@pytest.fixture(autouse=True)
def cuda(monkeypatch):
    """A device; operators must not run on the host."""
    monkeypatch.setattr(eager, "on_host", lambda op, *rest: pytest.fail(f"{op.name} ran on the host"))
    with mock_cuda.installed() as found:
        yield found


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("causal", [False, True], ids=["all", "causal"])
def test_the_mask_is_the_one_that_the_cpu_draws(case, causal, cuda):
    if causal and CASES[case][-1]:
        pytest.skip("a causal mask and another one are two masks")
    tensors = operands(case)
    want = attended(tensors, "cpu", is_causal=causal)
    before = len(cuda.launches)
    compare(attended(tensors, "cuda", is_causal=causal), want)
    names = [one["name"] for one in cuda.launches[before:]]
    assert sum("drops" in n for n in names) == 3 and not any("matmul" in n or "mask" in n for n in names), names
    shifted = CASES[case][4] % 4 != 0
    assert all(("shifted" in n) == shifted for n in names if "drops" in n)


@pytest.mark.parametrize("kind, tolerance", [("bfloat16", 2e-2), ("float16", 3e-3), ("float64", 1e-12)])
def test_in_other_dtypes(kind, tolerance):
    """float64 takes the road of whole matrices."""
    tensors = operands("queries share keys", getattr(ingot, kind))
    wide = [t if t is None else t.double() for t in tensors]
    compare(attended(tensors, "cuda", is_causal=True), attended(wide, "cpu", is_causal=True), tolerance)


def test_vectors_too_long_for_tiles(monkeypatch):
    tensors = operands("added")
    want = attended(tensors, "cpu")
    monkeypatch.setattr(attention, "_WIDEST", 1)
    compare(attended(tensors, "cuda"), want)


@pytest.mark.parametrize("allowed", [False, True], ids=["ieee", "tf32"])
def test_precisions_of_products(allowed):
    tensors = operands("odd")
    want = attended(tensors, "cpu")
    before = ingot.backends.cuda.matmul.allow_tf32
    ingot.backends.cuda.matmul.allow_tf32 = allowed
    try:
        compare(attended(tensors, "cuda"), want, 5e-3 if allowed else 3e-6)
    finally:
        ingot.backends.cuda.matmul.allow_tf32 = before


def test_traced_calls_draw_as_eager_ones_do():
    tensors = operands("odd")
    traced = {}

    def run(f):
        return traced.setdefault("f", jit.trace(f))

    for seed in (5, 5, 8, 9):
        compare(attended(tensors, "cuda", seed, run=run), attended(tensors, "cpu", seed))


def test_a_probability_that_changes_from_call_to_call():
    q = drawn(1, 2, 9, 8)
    traced = jit.trace(lambda x, p: F.scaled_dot_product_attention(x, x + 1, x, dropout_p=p))
    there = q.to("cuda")
    for p in (0.1, 0.5, 0.25, 0.75):
        ingot.manual_seed(3)
        want = F.scaled_dot_product_attention(q, q + 1, q, dropout_p=p)
        ingot.manual_seed(3)
        ingot.testing.assert_close(traced(there, p).cpu(), want)


def test_probabilities_share_machine_code(cuda):
    q = drawn(1, 2, 9, 8).to("cuda")
    F.scaled_dot_product_attention(q, q, q, dropout_p=0.1)
    ingot.cuda.synchronize()
    before = len(cuda.modules)
    for p in (0.5, 0.2, 0.9375):
        F.scaled_dot_product_attention(q, q, q, dropout_p=p)
    ingot.cuda.synchronize()
    assert len(cuda.modules) == before


@pytest.mark.parametrize("p", [0.0, 1.0, 1e-12, 1 - 1e-12])
def test_probabilities_at_the_ends(p):
    """Of nothing, of everything, and of what no word of 32 bits is below or above."""
    tensors = operands("odd")
    found = attended(tensors, "cuda", p=p)
    compare(found, attended(tensors, "cpu", p=p))
    if p < 0.5:
        compare(found, attended(tensors, "cuda", p=0.0))
    else:
        assert not any(x.any() for x in found)


def test_the_mean_over_draws_is_attention_without():
    q, k, v = (drawn(1, 1, n, 8) for n in (5, 6, 6))
    large_batch = [t.expand(100, 4, *t.shape[2:]).to("cuda") for t in (q, k, v)]
    ingot.manual_seed(1)
    some = F.scaled_dot_product_attention(*large_batch, dropout_p=0.25).cpu()
    want = F.scaled_dot_product_attention(q, k, v)[0, 0]
    spread = some.reshape(400, 5, 8).std(0) / 400 ** 0.5
    assert ((some.mean((0, 1)) - want).abs() <= 5 * spread).all()


def test_replays_of_a_graph_draw_anew():
    tensors = operands("plain")
    want = [attended(tensors, "cpu", seed) for seed in (4, 7)]
    q, k, v, _, up = [None if t is None else t.to("cuda") for t in tensors]
    leaves = [t.requires_grad_() for t in (q, k, v)]

    def step():
        out = F.scaled_dot_product_attention(*leaves, dropout_p=P)
        return out.detach(), *ingot.autograd.grad(out, leaves, up)

    step()
    graph = ingot.cuda.CUDAGraph()
    with ingot.cuda.graph(graph):
        results = step()
    for seed, expected in zip((4, 7), want):
        ingot.manual_seed(seed)
        graph.replay()
        compare([t.cpu().double().numpy() for t in results], expected)
    first = results[0].cpu()
    graph.replay()
    assert not ingot.equal(first, results[0].cpu())


@pytest.mark.parametrize("traced", [False, True], ids=["eager", "traced"])
def test_an_encoder_layer_trains_as_on_the_cpu(traced, cuda):
    layer, x = nn.TransformerEncoderLayer(16, 2, 32, dropout=0.2, batch_first=True), drawn(2, 11, 16)
    found = []
    for device in ("cpu", "cuda"):
        net = copy.deepcopy(layer).to(device).train()

        def step(x, net=net):
            loss = (net(x) ** 2).mean()
            return loss, *ingot.autograd.grad(loss, list(net.parameters()))

        run = jit.trace(step) if traced else step
        before = len(cuda.launches)
        for seed in (2, 3, 4):
            ingot.manual_seed(seed)
            results = [t.detach().cpu().double().numpy() for t in run(x.to(device))]
        names = [one["name"] for one in cuda.launches[before:]]
        found.append(results)
    assert any("attention" in n and "drops" in n for n in names)
    compare(found[1], found[0], 2e-5)


def test_autocast_takes_the_kernels_of_16_bits(cuda):
    q = drawn(1, 2, 12, 16).to("cuda").requires_grad_()
    with ingot.autocast("cuda", dtype=ingot.bfloat16):
        out = F.scaled_dot_product_attention(q, q, q, dropout_p=P)
    out.float().sum().backward()
    assert out.dtype is ingot.bfloat16 and q.grad.dtype is ingot.float32
    assert sum("bf16" in one["name"] and "drops" in one["name"] for one in cuda.launches) == 3


def test_second_derivatives():
    *tensors, up = (drawn(1, 2, 6, 4) for _ in range(4))
    results = []
    for device in ("cpu", "cuda"):
        leaves = [t.to(device).detach().requires_grad_() for t in tensors]
        ingot.manual_seed(6)
        out = F.scaled_dot_product_attention(*leaves, dropout_p=P)
        first = ingot.autograd.grad(out, leaves, up.to(device), create_graph=True)
        second = ingot.autograd.grad(sum((g ** 2).sum() for g in first), leaves)
        results.append([t.detach().cpu().double().numpy() for t in (*first, *second)])
    compare(results[1], results[0], 1e-5)


def test_a_probability_of_one_or_more_is_not_drawn():
    q, key = drawn(1, 1, 2, 4), ingot.tensor([1, 2], dtype=ingot.uint64)
    with pytest.raises(ValueError, match="from 0 to below 1"):
        dropped_attention(q, q, q, None, key, causal=False, scale=1.0, p=1.0)
    with pytest.raises(ValueError, match="within 0 and 1"):
        F.scaled_dot_product_attention(q, q, q, dropout_p=1.5)
