"""Reductions over many columns, panel by panel, and over few: the bits of the other strategies, for every kind, layout and
number of threads."""

import numpy as np
import pytest

from ingot.ir import dtype as dt
from ingot.passes.codegen import reduction_kernels, row_kernels
from ingot.passes.codegen.llvm.loops import strategies
from ingot.passes.codegen.llvm.loops.strategies import COLUMNS, FEW_COLUMNS, PANELS, ROWS
from ingot.runtime.cpu.calls import pool
from ingot.runtime.cpu.loops import kernels as eager
from kernel_runs import LEVELS, run


def reduced(kind, x, pattern, how, level=None):
    """Reduce a contiguous array by a strategy."""
    kernel = reduction_kernels.reduction(f"{kind}_{pattern}", kind, dt.from_numpy(x.dtype), pattern, x.ndim - 1)
    parallel_dims = [i for i, c in enumerate(pattern) if c == "P"]
    out = np.zeros([x.shape[i] for i in parallel_dims], kernel.buffer("y").dtype.np)
    symbols = {f"n{i}": n for i, n in enumerate(x.shape)} | {f"s{i}": s // x.itemsize for i, s in enumerate(x.strides)}
    symbols |= {f"t{i}": s // out.itemsize for i, s in zip(parallel_dims, out.strides)}
    run(kernel, [x, out], level, how, **symbols)
    return out


def numbers(seed, shape, dtype=np.float32):
    return (1 + 0.01 * np.random.default_rng(seed).standard_normal(shape)).astype(dtype)


@pytest.mark.parametrize("n", [1, 2, 3, 7, 8, 9, 33, 63, 64, 65, 127, 257, 4096, 4097, 8193])
@pytest.mark.parametrize("kind", ["sum", "prod", "max", "argmax", "var"])
def test_panels_equal_columns_bit_for_bit(kind, n):
    for width, how in (*((width, PANELS) for width in (1, 70, 300, 1025)), (3, FEW_COLUMNS), (32, FEW_COLUMNS), (4, ROWS)):
        x = numbers(n, (2, n, width))
        x[0, n // 2, width // 2] = np.nan if kind in ("max", "argmax") else 1
        want, got = (reduced(kind, x, "PRP", strategy) for strategy in (COLUMNS, how))
        assert want.tobytes() == got.tobytes(), f"{kind} over {n} rows of {width} columns, seed {n}"


@pytest.mark.parametrize("pattern, shape", [("RPRP", (3, 2, 70, 300)), ("RPRP", (65, 1, 5, 513)),
                                            ("PRPRP", (2, 3, 1, 4100, 40))], ids=str)
def test_several_runs_of_rows(pattern, shape):
    x = numbers(5, shape)
    for kind in ("sum", "argmin", "var"):
        want, got = (reduced(kind, x, pattern, how) for how in (COLUMNS, PANELS))
        assert want.tobytes() == got.tobytes(), f"{kind} of {pattern}{shape}, seed 5"


@pytest.mark.parametrize("dtype", [np.float64, np.float16, np.int32, np.bool_], ids=lambda d: d.__name__)
def test_other_dtypes(dtype):
    x = (numbers(6, (1, 130, 700)) * 3).astype(dtype)
    for kind in ("sum", "max"):
        want, got = (reduced(kind, x, "PRP", how) for how in (COLUMNS, PANELS))
        assert want.tobytes() == got.tobytes(), f"{kind} of {x.dtype}, seed 6"


def test_every_instruction_set_gives_the_same_bits():
    x = numbers(7, (1, 300, 515))
    for kind in ("sum", "var"):
        results = [reduced(kind, x, "PRP", PANELS, level).tobytes() for level in LEVELS]
        assert len(set(results)) == 1, f"{kind} on {LEVELS}, seed 7"


def test_gradients_of_norms_and_threads():
    rng = np.random.default_rng(8)
    g, x = rng.standard_normal((2, 4500, 1030)).astype(np.float32)
    mean, rstd = rng.standard_normal((2, 4500)).astype(np.float32)
    kernel = row_kernels.norm_weight_backward("dw", dt.float32, "columns")
    results, before = [], pool.get_num_threads()
    for how, threads in ((COLUMNS, 1), (PANELS, 1), (PANELS, 2)):
        outs = np.empty((2, 1030), np.float32)
        pool.set_num_threads(threads)
        run(kernel, [g, x, mean, rstd, *outs], how=how, A=1, B=1030, R=4500, RB=4500 * 1030)
        results.append(outs.tobytes())
    pool.set_num_threads(before)
    assert results[0] == results[1] == results[2], "seed 8"


def test_the_suited_strategy():
    def suited(pattern, merged, kind="sum"):
        kernel = reduction_kernels.reduction("k", kind, dt.float32, pattern, len(pattern) - 1)
        return strategies.suited(kernel, [n for letter in "PR" for n, c in zip(merged, pattern) if c == letter])

    assert suited("PRP", (1, 64, 5000)) is PANELS
    assert suited("PRP", (1, 64, 100)) is None
    assert suited("PRP", (1, 64, 33)) is None
    assert suited("PRP", (1, 64, 32)) is suited("PRP", (1, 64, 4)) is suited("PRP", (1, 8, 4)) is FEW_COLUMNS
    assert suited("PRP", (1, 64, 2)) is ROWS
    softmax = row_kernels.softmax("softmax", dt.float32, "columns")
    assert [strategies.suited(softmax, (1, across, 64)) for across in (5, 6)] == [ROWS, None]
    assert suited("PR", (1000, 4)) is COLUMNS
    assert suited("PR", (1000, 400)) is None
    scan = row_kernels.scan("scan", dt.float32, "columns")
    assert strategies.suited(scan, (1, 5000, 64)) is None
    dw = row_kernels.norm_weight_backward("dw", dt.float32, "columns")
    assert strategies.strategy(dw) is COLUMNS, "a value for each row is no reason to go along the rows"


def test_eager_sums_over_columns():
    x = numbers(9, (70, 3000))
    total = eager.reduction("sum", dt.float32)
    want = reduced("sum", x[None], "PRP", COLUMNS)[0]
    assert total(x, 0).tobytes() == want.tobytes()
    assert total(np.asfortranarray(x.T), 1).tobytes() == want.tobytes()
