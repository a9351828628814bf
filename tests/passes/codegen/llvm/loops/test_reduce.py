"""Compiled reductions: the fixed tree on every instruction set, layout and thread count; accuracy; result types."""

import numpy as np
import pytest

from ingot.ir import dtype as dt
from ingot.ir import target
from ingot.passes.codegen import reduction_kernels
from ingot.passes.codegen.llvm.loops import rows
from ingot.passes.codegen.llvm.loops.strategies import kernel_text, strategy
from ingot.runtime.cpu.calls import pool
from ingot.runtime.cpu.compiler import compile as compiler
from ingot.runtime.cpu.loops import kernels
from kernel_runs import LEVELS, run, samples


def reduction_kernel(kind, dtype, pattern, unit):
    return reduction_kernels.reduction(f"{kind}_{pattern}", kind, dtype, pattern, unit)


def reduce_with(kind, x, pattern, level=None):
    """Reduce a contiguous array by the kernel of a pattern."""
    dtype = dt.from_numpy(x.dtype)
    kernel = reduction_kernel(kind, dtype, pattern, x.ndim - 1)
    parallel_dims = [i for i, c in enumerate(pattern) if c == "P"]
    out = np.zeros([x.shape[i] for i in parallel_dims], np.int64 if kind.startswith("arg") else x.dtype)
    symbols = {f"n{i}": n for i, n in enumerate(x.shape)} | {f"s{i}": s // x.itemsize for i, s in enumerate(x.strides)}
    symbols |= {f"t{i}": s // out.itemsize for i, s in zip(parallel_dims, out.strides)}
    run(kernel, [x, out], level, **symbols)
    return out


PATTERNS = [("PR", (3, 5)), ("PR", (2, 64)), ("PR", (3, 201)), ("PR", (2, 5000)), ("PR", (1, 150000)), ("PRP", (2, 5, 3)),
            ("PRP", (1, 70, 100)), ("PRP", (1, 4100, 20)), ("RPR", (4, 3, 70)), ("PRPR", (2, 3, 4, 9))]


@pytest.mark.parametrize("kind", ["sum", "max", "argmin", "var"])
@pytest.mark.parametrize("pattern, shape", PATTERNS, ids=[f"{p}{s}" for p, s in PATTERNS])
def test_reductions_equal_numpy_on_every_instruction_set(kind, pattern, shape):
    x = np.random.default_rng(1).standard_normal(shape).astype(np.float32)
    results = [reduce_with(kind, x, pattern, level) for level in LEVELS]
    assert all(r.tobytes() == results[0].tobytes() for r in results), "the instruction set changes the bits"
    axes = tuple(i for i, c in enumerate(pattern) if c == "R")
    if kind == "argmin":
        permuted = np.moveaxis(x, axes, range(x.ndim - len(axes), x.ndim))
        np.testing.assert_array_equal(results[0], permuted.reshape(*results[0].shape, -1).argmin(-1))
    elif kind == "var":
        np.testing.assert_allclose(results[0], x.astype(np.float64).var(axes, ddof=1), rtol=2e-6)
    else:
        want = getattr(np, kind)(x.astype(np.float64), axes)
        np.testing.assert_allclose(results[0], want, rtol=1e-5, atol=1e-4 if kind == "sum" else 0)


@pytest.mark.parametrize("n", [1, 2, 31, 32, 33, 63, 64, 65, 100, 4095, 4096, 4097, 20000])
@pytest.mark.parametrize("kind", ["sum", "prod", "max"])
def test_the_tree_does_not_depend_on_layout(kind, n):
    x = (1 + 0.01 * np.random.default_rng(n).standard_normal((3, n))).astype(np.float32)
    rows = reduce_with(kind, x, "PR")
    columns = reduce_with(kind, np.ascontiguousarray(x.T)[None], "PRP")[0]
    assert strategy(reduction_kernel(kind, dt.float32, "PR", 1)) is not strategy(reduction_kernel(kind, dt.float32, "PRP", 2))
    assert rows.tobytes() == columns.tobytes()


def test_results_do_not_depend_on_threads():
    x = np.random.default_rng(2).standard_normal(3_000_001).astype(np.float32)
    wide = x[:3_000_000].reshape(3000, 1000)
    total, soft = kernels.reduction("sum", dt.float32), kernels.rowop("softmax", dt.float32)
    before, results = pool.get_num_threads(), []
    try:
        for threads in (1, 2, 3):
            pool.set_num_threads(threads)
            results.append((total(x).tobytes(), total(wide, 0).tobytes(), total(wide, 1).tobytes(), soft(wide).tobytes()))
    finally:
        pool.set_num_threads(before)
    assert results[0] == results[1] == results[2]


@pytest.mark.parametrize("kind", ["sum", "argmax"])
@pytest.mark.parametrize("words", [40, 200])
def test_groups_of_chunks_change_no_bit(kind, words, monkeypatch):
    for seed, shape in enumerate([(1, 4096 * 16), (3, 4096 * 37 + 5), (7, 70_001), (1, 1_000_003)]):
        x = np.random.default_rng(seed).standard_normal(shape).astype(np.float32)
        monkeypatch.setattr(rows, "SPLIT_WORDS", 4096)
        want = reduce_with(kind, x, "PR")
        monkeypatch.setattr(rows, "SPLIT_WORDS", words)
        assert np.array_equal(reduce_with(kind, x, "PR"), want), f"{kind} of {shape}, seed {seed}"


@pytest.mark.parametrize("kind", ["max", "min"])
@pytest.mark.parametrize("pattern", ["PR", "PRP"])
def test_loads_of_extremes_are_not_masked(kind, pattern):
    """A load whose mask is made of the last maximum could not begin before it: rows would come at the latency of memory."""
    kernel = reduction_kernel(kind, dt.float32, pattern, len(pattern) - 1)
    lines = compiler.assembly(kernel_text(kernel, target.cpu("x86-64-v4"))).splitlines()
    compared = [line for line in lines if f"v{kind}ps" in line]
    assert compared and not any("(" in line and "{%k" in line for line in compared)


def test_sums_are_as_accurate_as_numpys():
    rng = np.random.default_rng(3)
    total, ours, theirs = kernels.reduction("sum", dt.float32), [], []
    for n in (1000, 10000, 100000):
        for _ in range(40):
            x = rng.random(n).astype(np.float32)
            exact = x.astype(np.float64).sum()
            ours.append(abs(float(total(x)) - exact) / exact)
            theirs.append(abs(float(x.sum()) - exact) / exact)
    assert np.sqrt(np.mean(np.square(ours))) <= 1.3 * np.sqrt(np.mean(np.square(theirs)))


def test_empty_and_special_reductions():
    empty = np.zeros((3, 0), np.float32)
    assert kernels.reduction("sum", dt.float32)(empty, (1,)).tolist() == [0, 0, 0]
    assert kernels.reduction("prod", dt.float32)(empty, (1,)).tolist() == [1, 1, 1]
    assert kernels.reduction("sum", dt.float32)(empty, (0,)).shape == (0,)
    x = np.ones((2, 100), np.float32)
    x[1, 70] = np.nan
    assert np.isnan(kernels.reduction("max", dt.float32)(x, (1,))).tolist() == [False, True]
    assert kernels.reduction("argmax", dt.float32)(x, (1,)).tolist() == [0, 70]
    assert kernels.reduction("argmax", dt.float32)(np.full((2, 5), -np.inf, np.float32), (1,)).tolist() == [0, 0]
    assert kernels.reduction("any", dt.bool_)(np.zeros((4, 3), bool)).item() is False
    assert kernels.reduction("sum", dt.int64)(np.full(10, 2**61, np.int64)).item() == (10 * 2**61 + 2**63) % 2**64 - 2**63


@pytest.mark.parametrize("dtype", [dt.bool_, dt.uint8, dt.int8, dt.int32, dt.int64, dt.float16], ids=str)
def test_result_types_of_reductions(dtype):
    x = samples(dtype, 91, 16)[:80].reshape(8, 10)
    total = kernels.reduction("sum", dtype)(x, 1)
    if dtype.is_floating_point:
        np.testing.assert_allclose(total, x.astype(np.float64).sum(1), rtol=1e-2, atol=1e-2)
    else:
        np.testing.assert_array_equal(total, x.sum(1, dtype=np.int64))
        assert total.dtype == np.int64
    for kind in ("any", "all"):
        np.testing.assert_array_equal(kernels.reduction(kind, dtype)(x, 0), getattr(np, kind)(x, 0))


@pytest.mark.parametrize("dims", [None, 0, 1, 3, (0, 2), (0, 2, 3), (1, 3), (1, 2), (0, 1, 2, 3), (0, 1), ()])
def test_reduction_over_any_dims(dims):
    x = np.random.default_rng(4).standard_normal((6, 7, 8, 9)).astype(np.float64)
    total = kernels.reduction("sum", dt.float64)
    np.testing.assert_allclose(total(x, dims), x.sum(dims), rtol=1e-12, atol=1e-12)
    assert total(x, dims, True).shape == x.sum(dims, keepdims=True).shape
    np.testing.assert_allclose(total(x[0, 0].T, 0), x[0, 0].T.sum(0), rtol=1e-12, atol=1e-12)
