"""Attention kernels against the operators' references: random geometries, masks, layouts, threads; the linear layer's bias."""

import tracemalloc

import ml_dtypes
import numpy as np
import pytest

import ingot
import ingot.nn.functional as F
from ingot.ir import target
from ingot.ir.ops.linalg.products import linear
from ingot.ir.ops.nn.attention import attention, attention_grad, bounded_attention, bounded_attention_grad
from ingot.passes.codegen import fast_activations
from ingot.passes.codegen.llvm.attention.attention import AttentionKernel
from ingot.passes.codegen.llvm.attention.attention_grad import AttentionGradKernel
from ingot.passes.codegen.llvm.attention.attention_softmax import ADDED_MASK, BOOL_MASK, NO_MASK
from ingot.passes.codegen.scalars import NumpyBuilder
from ingot.runtime.cpu.compiler import compile as compiler
from ingot.runtime.cpu.gemm import gemm
from ingot.runtime.cpu.nn import attention as kernels

TOLERANCE = {"float32": 1e-5, "float64": 2e-13}      # of results of size 1, and relative to a gradient's largest element


def random_layout(rng, shape, dtype):
    """Return random values in a layout of models: plain, heads inside rows, with gaps, transposed."""
    values = rng.standard_normal(shape).astype(dtype)
    kind = rng.integers(4)
    if kind == 1:
        return np.ascontiguousarray(values.swapaxes(-2, -3)).swapaxes(-2, -3)
    if kind == 2:
        room = np.zeros((*shape[:-1], shape[-1] + 5), dtype)
        room[..., 2:2 + shape[-1]] = values
        return room[..., 2:2 + shape[-1]]
    return np.asfortranarray(values) if kind == 3 else values


def case(seed, most_keys=300):
    """Return (q, k, v, mask, causal, gradient) of a random geometry."""
    rng = np.random.default_rng(seed)
    dtype = rng.choice(list(TOLERANCE))
    batch, key_heads = tuple(rng.integers(1, 3, rng.integers(0, 3))), int(rng.integers(1, 4))
    heads, rows = key_heads * int(rng.integers(1, 4)), int(rng.choice([1, 2, 7, 20, 64, 65, 130, 200]))
    keys = int(min(most_keys, rng.choice([1, 5, 16, 33, 64, 100, 200, 1500])))
    size, v_size = int(rng.choice([1, 3, 8, 16, 20, 64, 80])), int(rng.choice([1, 5, 16, 33, 64, 100]))
    arrays = [random_layout(rng, (*batch, h, n, e), dtype) for h, n, e in ((heads, rows, size), (key_heads, keys, size),
                                                                           (key_heads, keys, v_size), (heads, rows, v_size))]
    masks = (None, rng.random((rows, keys)) < 0.7, rng.standard_normal((*batch, heads, 1, keys)).astype(dtype),
             rng.random((heads, rows, 1)) < 0.8, rng.standard_normal((rows, keys)).astype(dtype))
    return *arrays[:3], masks[rng.integers(5)], bool(rng.integers(2)), arrays[3]


def in_double(*arrays):
    return [a if a is None or a.dtype == np.bool_ else a.astype(np.float64) for a in arrays]


def reference(q, k, v, mask, **params):
    with np.errstate(all="ignore"):
        return attention.ref(*in_double(q, k, v, mask), **params)


def close(got, want, dtype, label):
    finite = np.isfinite(want)
    assert np.array_equal(finite, np.isfinite(got)), label
    scale = max(1.0, np.abs(want[finite]).max(initial=0))
    assert np.abs(got[finite] - want[finite]).max(initial=0) <= TOLERANCE[str(dtype)] * scale, label


@pytest.mark.parametrize("seed", range(40))
def test_forward_of_any_geometry(seed, threads):
    q, k, v, mask, causal, _ = case(seed, 1500)
    want = reference(q, k, v, mask, causal=causal, scale=0.3)
    results = []
    for count in (1, 2, 3):
        threads(count)
        results.append(kernels.forward(q, k, v, mask, causal=causal, scale=0.3))
    for name, got, ref in zip(("out", "lse"), results[0], want):
        close(got, ref, q.dtype, f"seed {seed}: {name} of {q.shape} {k.shape} {v.shape}")
    for other in results[1:]:
        assert all(a.tobytes() == b.tobytes() for a, b in zip(results[0], other)), f"seed {seed}: threads change the result"


@pytest.mark.parametrize("seed", range(40))
def test_gradients_of_any_geometry(seed, threads):
    q, k, v, mask, causal, g = case(seed)
    out, lse = reference(q, k, v, mask, causal=causal, scale=0.3)
    delta, wants_mask = (out * g).sum(-1), mask is not None and mask.dtype != np.bool_
    with np.errstate(all="ignore"):
        want = attention_grad.ref(*in_double(g, q, k, v, mask), lse, delta, causal=causal, scale=0.3, mask_grad=wants_mask)
    results = []
    for count in (1, 2, 3):
        threads(count)
        results.append(kernels.gradients(g, q, k, v, mask, lse.astype(q.dtype), delta.astype(q.dtype), causal=causal, scale=0.3,
                                         mask_grad=wants_mask))
    for name, got, ref in zip(("q", "k", "v", "mask"), results[0], want):
        assert got.shape == ref.shape
        close(got / 4, ref / 4, q.dtype, f"seed {seed}: gradient of {name}, {q.shape} {k.shape} {v.shape}")
    for other in results[1:]:
        assert all(a.tobytes() == b.tobytes() for a, b in zip(results[0], other)), f"seed {seed}: threads change the result"


@pytest.mark.parametrize("causal", [False, True])
def test_long_sequences_store_no_scores(causal):
    rng = np.random.default_rng(3)
    q, k, v = (rng.standard_normal((1, 1, 3000, 16)).astype(np.float32) for _ in range(3))
    kernels.forward(q, k, v, None, causal=causal, scale=0.25)
    tracemalloc.start()
    out, lse = kernels.forward(q, k, v, None, causal=causal, scale=0.25)
    delta = (out * v).sum(-1)
    got = kernels.gradients(v, q, k, v, None, lse, delta, causal=causal, scale=0.25, mask_grad=False)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 3000 * 3000
    for some in (slice(505, 530), slice(1020, 1030), slice(2900, 3000)):      # around the ends of blocks of keys, and the last
        scores = (q[0, 0, some].astype(np.float64) @ k[0, 0].T.astype(np.float64)) * 0.25
        if causal:
            scores[np.arange(3000) > np.arange(3000)[some, None]] = -np.inf
        p = np.exp(scores - scores.max(1, keepdims=True))
        p /= p.sum(1, keepdims=True)
        close(out[0, 0, some], p @ v[0, 0], np.float32().dtype, f"rows {some}")
    assert all(np.isfinite(g).all() for g in got)


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("keys, size", [(50, 24), (9, 24), (600, 16), (33, 5), (1, 1), (16, 130)])
def test_a_row_does_not_depend_on_its_neighbours(keys, size, dtype):
    rng = np.random.default_rng(4)
    q = rng.standard_normal((2, 3, 50, size)).astype(dtype)
    for k in (random_layout(rng, (2, 3, keys, size), dtype) for _ in range(3)):
        out, lse = kernels.forward(q, k, k, None, causal=False, scale=0.2)
        for rows in (slice(0, 1), slice(3, 5), slice(20, 24), slice(7, 12), slice(31, 50)):
            some, logs = kernels.forward(q[:1, 1:2, rows], k[:1, 1:2], k[:1, 1:2], None, causal=False, scale=0.2)
            assert np.array_equal(some, out[:1, 1:2, rows]) and np.array_equal(logs, lse[:1, 1:2, rows]), rows


def test_masked_values_do_not_reach_a_row(threads):
    rng = np.random.default_rng(5)
    q, k, v = (rng.standard_normal((1, 2, 40, 8)).astype(np.float32) for _ in range(3))
    k[:, :, 30], q[:, :, 3] = np.nan, np.nan
    for count in (1, 2):
        threads(count)
        out, lse = kernels.forward(q, k, v, None, causal=True, scale=0.5)
        bad = np.isnan(out).all(-1)
        assert np.array_equal(bad, np.isnan(out).any(-1)) and np.array_equal(bad, np.isnan(lse))
        assert np.array_equal(np.flatnonzero(bad[0, 0]), [3, *range(30, 40)])


def test_fully_masked_rows_give_zeros():
    rng = np.random.default_rng(6)
    q, k, v = (rng.standard_normal((1, 2, 9, 8)) for _ in range(3))
    mask = rng.random((9, 9)) < 0.5
    mask[4] = False
    for operand in (mask, np.where(mask, 0.0, -np.inf)):
        out, lse = kernels.forward(q, k, v, operand, causal=False, scale=1.0)
        assert not out[:, :, 4].any() and np.isposinf(lse[:, :, 4]).all() and np.isfinite(np.delete(lse, 4, 2)).all()
        grads = kernels.gradients(v, q, k, v, operand, lse, (out * v).sum(-1), causal=False, scale=1.0, mask_grad=False)
        assert not grads[0][:, :, 4].any() and all(np.isfinite(g).all() for g in grads)


def test_results_have_the_strides_of_the_queries():
    packed = np.random.default_rng(7).standard_normal((2, 30, 3, 4, 16)).astype(np.float32)
    q, k, v = packed.transpose(2, 0, 3, 1, 4)
    out, lse = kernels.forward(q, k, v, None, causal=True, scale=0.25)
    assert out.swapaxes(1, 2).flags.c_contiguous
    grads = kernels.gradients(out, q, k, v, None, lse, (out * out).sum(-1), causal=True, scale=0.25, mask_grad=False)
    assert all(g.swapaxes(1, 2).flags.c_contiguous for g in grads[:3])


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
def test_low_precision_is_computed_in_single(dtype):
    rng = np.random.default_rng(8)
    q, k, v = (rng.standard_normal((1, 2, 33, 16)).astype(dtype) for _ in range(3))
    out, _ = attention(*(ingot.from_numpy(a) if dtype == np.float16 else ingot.tensor(a.astype(np.float32)).bfloat16()
                         for a in (q, k, v)), None, causal=True, scale=0.25)
    wide, _ = kernels.forward(*(a.astype(np.float32) for a in (q, k, v)), None, causal=True, scale=0.25)
    assert np.array_equal(out.float().numpy(), wide.astype(dtype).astype(np.float32))


def test_a_training_step_of_the_public_function(threads):
    rng = np.random.default_rng(9)
    packed = rng.standard_normal((2, 70, 3, 4, 16))

    def loss(x):
        q, k, v = x.permute(2, 0, 3, 1, 4)
        return (F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(2, 70, 64) ** 2).sum()

    x = ingot.tensor(packed, requires_grad=True)
    loss(x).backward()
    direction, eps = rng.standard_normal(packed.shape), 1e-6
    slope = sum(sign * loss(ingot.tensor(packed + sign * eps * direction)).item() for sign in (1, -1)) / (2 * eps)
    assert abs((x.grad.numpy() * direction).sum() - slope) <= 1e-6 * abs(slope)
    traced = ingot.jit.trace(loss)
    single = ingot.tensor(packed.astype(np.float32))
    assert traced(single).item() == loss(single).item() == traced(single).item()


@pytest.mark.parametrize("level", ["x86-64", "x86-64-v3", "x86-64-v4", "aarch64"])
@pytest.mark.parametrize("mask", [NO_MASK, BOOL_MASK, ADDED_MASK])
def test_every_target_compiles(level, mask):
    cpu = target.cpu(level)
    for made in (AttentionKernel(cpu, "float", mask), AttentionKernel(cpu, "float", mask, few=True),
                 AttentionGradKernel(cpu, "float", mask)):
        assert compiler.emit_object(made.text(), cpu)


@pytest.mark.parametrize("level", ["x86-64", "x86-64-v3"])
def test_narrower_vectors_give_the_same(level, monkeypatch):
    narrow = target.cpu(level)
    if not target.supports(narrow):
        pytest.skip(f"this machine does not run {level}")
    for module in (kernels, compiler):
        monkeypatch.setattr(module, "host", lambda: narrow)
    kernels.forward_plan.cache_clear()
    kernels.grad_plan.cache_clear()
    for seed in range(6):
        q, k, v, mask, causal, g = case(seed)
        want = reference(q, k, v, mask, causal=causal, scale=0.3)
        out, lse = kernels.forward(q, k, v, mask, causal=causal, scale=0.3)
        close(out, want[0], q.dtype, f"seed {seed}")
        grads = kernels.gradients(g, q, k, v, mask, lse, (out * g).sum(-1), causal=causal, scale=0.3, mask_grad=False)
        with np.errstate(all="ignore"):
            refs = attention_grad.ref(*in_double(g, q, k, v, mask), want[1], (want[0] * g).sum(-1), causal=causal, scale=0.3,
                                      mask_grad=False)
        for got, ref in zip(grads[:3], refs):
            close(got / 4, ref / 4, q.dtype, f"seed {seed}")
    kernels.forward_plan.cache_clear()
    kernels.grad_plan.cache_clear()


# The linear layer.


@pytest.mark.parametrize("seed", range(30))
def test_linear_equals_a_product_and_a_sum(seed):
    rng = np.random.default_rng(seed)
    rows, size, outputs = (int(2 ** rng.uniform(0, 8)) for _ in range(3))
    dtype = rng.choice(["float32", "float64"])
    x, w, b = (rng.standard_normal(shape).astype(dtype) for shape in ((rows, size), (outputs, size), (outputs,)))
    x, w = (np.asfortranarray(a) if rng.random() < 0.3 else a for a in (x, w))
    assert np.array_equal(linear(x, w, b), gemm.matmul(x, w.T) + b), f"seed {seed}: {rows} x {size} x {outputs} {dtype}"


def test_linear_rounds_low_precision_once():
    rng = np.random.default_rng(1)
    x, w, b = (rng.integers(-3, 4, shape).astype(np.float32) for shape in ((5, 40), (7, 40), (7,)))
    b += 0.5
    half = linear(*(a.astype(np.float16) for a in (x, w, b)))
    assert half.dtype == np.float16 and np.array_equal(half, (x @ w.T + b).astype(np.float16))


# The functions of epilogues.


@pytest.mark.parametrize("name, low, high, units", [("exp_below", -10, 2, 1.2), ("exp_below", -103, 0, 5),
                                                    ("sigmoid", -40, 30, 3), ("sigmoid", -87, 0, 5), ("tanh", -12, 12, 2.5)])
def test_accuracy_of_the_functions_of_epilogues(name, low, high, units):
    builder = NumpyBuilder()
    x = np.concatenate([np.linspace(low, high, 40001), np.geomspace(1e-30, 1, 4001), -np.geomspace(1e-30, 1, 4001)])
    x = x.astype(np.float32)
    exact = {"exp_below": np.exp, "sigmoid": lambda v: 1 / (1 + np.exp(-v)), "tanh": np.tanh}[name](x.astype(np.float64))
    got = getattr(fast_activations, name)(builder, builder.value(x)).ref
    assert (np.abs(got - exact) / np.spacing(np.abs(exact).astype(np.float32))).max() <= units
    special = getattr(fast_activations, name)(builder, builder.value(np.array([-np.inf, np.nan, 0.0], np.float32))).ref
    assert np.array_equal(special, {"exp_below": [0, np.nan, 1], "sigmoid": [0, np.nan, 0.5], "tanh": [-1, np.nan, 0]}[name],
                          equal_nan=True)


# Ranges of keys, tables of distances, squashed scores.


def bounds_of(rng, lead, rows, keys, kind):
    """Return bounds like those of models: sliding windows, documents, prefixes, arbitrary ones (empty for some queries)."""
    at = np.arange(rows)
    if kind == "window":
        low, high = at - int(rng.integers(1, 40)), at + 1
    elif kind == "documents":
        edges = np.unique(rng.integers(0, rows, 4))
        low, high = (np.searchsorted(edges, at, "right") + 0, at + 1)
        low = np.concatenate([[0], edges])[low]
    elif kind == "prefix":
        low, high = np.zeros(rows, np.int64), np.maximum(at + 1, keys // 3)
    else:
        low = rng.integers(-5, keys + 5, (*lead, rows))
        high = low + rng.integers(-3, keys, low.shape)
    return np.stack([np.broadcast_to(x, (*lead, rows)) for x in (low, high)], -1).astype(np.int64)


@pytest.mark.parametrize("kind", ["window", "documents", "prefix", "any"])
@pytest.mark.parametrize("seed", range(12))
def test_rows_attend_to_their_ranges_of_keys(seed, kind, threads):
    q, k, v, _, _, g = case(seed, 1500)
    rng = np.random.default_rng([seed, 5])
    rows, keys, lead = q.shape[-2], k.shape[-2], q.shape[:-2]
    bounds = bounds_of(rng, lead if rng.integers(2) else (1,) * len(lead), rows, keys, kind)
    table = rng.standard_normal((*(lead if rng.integers(2) else (1,) * len(lead)), rows + keys - 1)).astype(q.dtype)
    for options in ((bounds, None, None), (bounds, table, (0.5, 2.0)), (None, table, None)):
        params = {"scale": 0.3, "squash": options[2]}
        operands = (q, k, v, *options[:2])
        with np.errstate(all="ignore"):
            out, lse = bounded_attention.ref(*in_double(*operands[:3]), options[0], *in_double(options[1]), **params)
            delta = (g * out).sum(-1)
            statistics = lse.astype(q.dtype), delta.astype(q.dtype)
            want = bounded_attention_grad.ref(*in_double(g, q, k, v), options[0], *in_double(options[1]), lse, delta, **params,
                                              table_grad=options[1] is not None)
        results = []
        for count in (1, 3):
            threads(count)
            found = kernels.bounded(*operands, **params)
            grads = kernels.bounded_gradients(g, *operands, *statistics, **params, table_grad=options[1] is not None)
            results.append((*found, *grads))
        label = f"seed {seed} {kind} q {q.shape} k {k.shape} v {v.shape}"
        for i, (got, ref) in enumerate(zip(results[0], (out, lse, *want))):
            close(got, ref, q.dtype, f"{label}: result {i}")
        for one, other in zip(*results):
            assert np.array_equal(one, other), label


def test_keys_outside_all_ranges_cost_no_memory():
    n = 4096
    q = np.zeros((1, 1, n, 8), np.float32)
    at = np.arange(n)
    bounds = np.stack([at - 64, at + 1], -1)[None, None]
    table = np.zeros((1, 1, 2 * n - 1), np.float32)
    kernels.bounded(q, q, q, bounds, table, scale=1.0, squash=None)
    tracemalloc.start()
    kernels.bounded(q, q, q, bounds, table, scale=1.0, squash=None)
    assert tracemalloc.get_traced_memory()[1] < 8 * n * n // 100
    tracemalloc.stop()
