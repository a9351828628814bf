"""Reductions and row operators over short rows, held in registers or transposed so that each lane is a row: the bits of the
other strategies, for every kind, length, number of rows and instruction set."""

import sys

import numpy as np
import pytest

import ingot
from covering import thinned
from guard_pages import fenced
from ingot import jit, nn
from ingot.ir import dtype as dt
from ingot.ir.target import host
from ingot.passes.codegen import reduction_kernels, row_kernels
from ingot.passes.codegen.llvm.loops import strategies, transposed_rows
from ingot.passes.codegen.llvm.loops.strategies import COLUMNS, ROWS, TRANSPOSED_ROWS, in_registers
from ingot.runtime.cpu.calls import pool
from kernel_runs import LEVELS, run

LENGTHS = (1, 2, 5, 7, 8, 15, 16, 17, 31, 32, 33, 40)
LONGER = (41, 50, 63, 64, 65, 100, 127, 128)     # of which a panel has no room
KINDS = ("sum", "prod", "max", "argmax", "argmin", "any", "var")
OPERATORS = sorted(set(row_kernels.ROW_KERNELS) - {"scan", "norm_weight_backward"})


def strategies_of(n):
    return {"held": in_registers(n)} | ({"transposed": TRANSPOSED_ROWS} if n <= transposed_rows.LONGEST else {})


def reduced(kind, x, how, level=None):
    """Reduce the rows of a matrix, which may be strided."""
    kernel = reduction_kernels.reduction(f"{kind}_rows", kind, dt.from_numpy(x.dtype), "PR", 1)
    out = np.zeros(len(x), kernel.buffer("y").dtype.np)
    run(kernel, [x, out], level, how, n0=len(x), n1=x.shape[1], s0=x.strides[0] // x.itemsize, s1=1, t0=1)
    return out


def operands(name, dtype, shape, seed, end=None):
    """Return (kernel, arrays) of a row operator, with other values in the results. With `end`, arrays have own pages."""
    kernel, rng = row_kernels.ROW_KERNELS[name](f"{name}_short", dtype, "rows"), np.random.default_rng(seed)
    arrays = []
    for b in kernel.buffers:
        size = {("R", 1): shape, (1, 0): shape[:1]}.get(b.strides, shape[1:])
        a = rng.integers(-1, shape[1], size) if b.dtype is dt.int64 else 0.5 + rng.random(size)
        a = np.full(size, 7) if b.role == "out" else a
        arrays.append(a.astype(b.dtype.np) if end is None else fenced(a.astype(b.dtype.np), end))
    return kernel, arrays


@pytest.mark.parametrize("n", (*LENGTHS, *LONGER))
@pytest.mark.parametrize("kind", KINDS)
def test_reductions_equal_those_along_rows_bit_for_bit(kind, n):
    rng = np.random.default_rng(n)
    for count in (1, 7, 16, 35):
        x = np.round(2 * rng.standard_normal((count, n)), 1).astype(np.float32)
        x[0, n // 2] = np.nan if "max" in kind else -0.0
        want = reduced(kind, x, ROWS)
        for name, how in strategies_of(n).items():
            assert reduced(kind, x, how).tobytes() == want.tobytes(), f"{kind} of {count} rows of {n}, {name}, seed {n}"


@pytest.mark.parametrize("dtype", [np.float64, np.float16, np.int64, np.int8, np.bool_], ids=lambda d: d.__name__)
def test_other_dtypes_and_strided_rows(dtype):
    for n in (6, 16, 29, 40, 87):
        x = np.random.default_rng(n).integers(-3, 4, (21, 110)).astype(dtype)[:, 3:3 + n]
        for kind in ("sum", "max", "argmin"):
            want = reduced(kind, x, ROWS)
            for name, how in strategies_of(n).items():
                assert reduced(kind, x, how).tobytes() == want.tobytes(), f"{kind} of rows of {n} {x.dtype}, {name}, seed {n}"


@pytest.mark.parametrize("name, dtype", thinned(OPERATORS, [dt.float32, dt.float64, dt.bfloat16], strength=1), ids=str)
def test_operators_over_rows(name, dtype):
    for n in (1, 6, 16, 23, 40, 57, 90):
        for count in (1, 17, 40):
            found = {}
            for label, how in {"rows": ROWS, **strategies_of(n)}.items():
                kernel, arrays = operands(name, dtype, (count, n), seed=n)
                run(kernel, arrays, how=how, A=count, R=n)
                found[label] = b"".join(a.tobytes() for a in arrays)
            assert len(set(found.values())) == 1, f"{name} of {count} rows of {n}, seed {n}"


@pytest.mark.parametrize("level", LEVELS)
def test_instruction_sets(level):
    for n in (7, 20, 40, 61, 113):
        x = np.random.default_rng(n).standard_normal((19, n)).astype(np.float32)
        for kind in ("sum", "argmax", "var"):
            want = reduced(kind, x, ROWS)
            for name, how in strategies_of(n).items():
                assert reduced(kind, x, how, level).tobytes() == want.tobytes(), f"{kind} of rows of {n}, {name}, seed {n}"


@pytest.mark.skipif(sys.platform != "linux", reason="protects pages")
@pytest.mark.parametrize("at_end", [False, True])
@pytest.mark.parametrize("name", ["softmax", "cross_entropy", "layer_norm"])
def test_memory_outside_the_rows_is_not_touched(name, at_end):
    for n in (5, 16, 21, 40, 64, 99):
        for how in strategies_of(n).values():
            kernel, arrays = operands(name, dt.float32, (19, n), n, at_end)
            run(kernel, arrays, how=how, A=19, R=n)


def test_threads_share_the_rows():
    before, found = pool.get_num_threads(), {}
    for name, how in {"rows": ROWS, **strategies_of(24)}.items():
        for threads in (1, 2):
            pool.set_num_threads(threads)
            kernel, arrays = operands("log_softmax", dt.float32, (5001, 24), seed=3)
            run(kernel, arrays, how=how, A=5001, R=24)
            found[name, threads] = arrays[1].tobytes()
    pool.set_num_threads(before)
    assert len(set(found.values())) == 1, "seed 3"


def test_the_suited_strategy():
    def suited(kind, *extents):
        return strategies.suited(reduction_kernels.reduction("k", kind, dt.float32, "PR", 1), extents)

    assert suited("sum", 1000, 6) == suited("sum", 1, 16) == in_registers(16)
    assert suited("sum", 1000, 17) == suited("argmax", 1000, 32) == in_registers(32)
    assert suited("sum", 1000, 127) == in_registers(128)
    assert suited("sum", 1000, 5) is suited("argmax", 1000, 15) is COLUMNS
    assert suited("sum", 1000, 64) is suited("sum", 1000, 128) is suited("sum", 1000, 129) is None
    entropy, softmax = (row_kernels.ROW_KERNELS[name](name, dt.float32, "rows") for name in ("cross_entropy", "softmax"))
    squares = TRANSPOSED_ROWS if host().vector_registers >= 32 else in_registers(16)
    assert strategies.suited(entropy, (100, 10)) == strategies.suited(entropy, (8, 16)) == squares
    assert strategies.suited(entropy, (7, 10)) == strategies.suited(softmax, (100, 10)) == in_registers(16)
    assert strategies.suited(entropy, (100, 41)) == in_registers(48)


def test_compiled_code_serves_other_lengths():
    @jit.trace
    def scores(x):
        return nn.functional.log_softmax(x * 2, -1) + x.sum(-1, keepdim=True)

    for n in (10, 12, 33, 300, 5000, 7):
        x = ingot.tensor(np.random.default_rng(n).standard_normal((50, n)).astype(np.float32))
        want = nn.functional.log_softmax(x * 2, -1) + x.sum(-1, keepdim=True)
        np.testing.assert_allclose(scores(x).numpy(), want.numpy(), rtol=1e-4, atol=1e-4, err_msg=f"seed {n}")
