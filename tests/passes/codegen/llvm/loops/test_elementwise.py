"""Elementwise kernels over rows of every length, cut anywhere: rows share addresses, and chains go over one vector or two."""

import numpy as np
import pytest

import ingot
from ingot import jit
from ingot.ir import dtype as dt
from ingot.passes.codegen.llvm.loops import nest
from ingot.passes.codegen.llvm.loops.strategies import SHORT_ROWS, suited
from ingot.runtime.cpu.calls import pool
from ingot.runtime.cpu.loops import kernels

SHAPES = [((7, 1, 3), (1, 5, 3)), ((6, 1, 16), (1, 9, 1)), ((2, 3, 1, 17), (1, 3, 11, 17)), ((4, 1, 5, 1, 2), (1, 3, 1, 6, 2)),
          ((3, 40, 1), (3, 1, 33)), ((5, 1, 8193), (1, 3, 8193)), ((2, 20000), (2, 1)), ((3, 1, 1), (1, 4, 1)),
          ((1, 9, 31), (8, 1, 1))]
KINDS = [dt.float32, dt.float64, dt.bfloat16]


def kernel_of(kind, chain, name):
    """Return the kernel of x * y + 1, or of a chain of instructions."""
    def build(k, x, y):
        return k.fn.sinh(k.fn.atan(x * y)) if chain else x * y + 1.0

    return kernels.elementwise(name, (kind, kind), (kind,), build)


@pytest.mark.parametrize("chain", [False, True], ids=["short", "chain"])
@pytest.mark.parametrize("kind", KINDS, ids=str)
@pytest.mark.parametrize("cost", [None, 1, 40], ids=["whole", "each row", "some rows"])
def test_rows_equal_one_flat_row(cost, kind, chain, monkeypatch):
    if cost:
        monkeypatch.setattr(nest, "CHUNK_COST", cost)
    over = kernel_of(kind, chain, f"rows_{cost}")
    before = pool.get_num_threads()
    for seed, shapes in enumerate(SHAPES):
        x, y = (np.random.default_rng(seed + 50 * i).standard_normal(s).astype(kind.np) for i, s in enumerate(shapes))
        flat = [np.ascontiguousarray(np.broadcast_to(a, np.broadcast_shapes(*shapes))).reshape(-1) for a in (x, y)]
        want = kernel_of(kind, chain, "flat")(*flat)
        for threads in (1, 3):
            pool.set_num_threads(threads)
            try:
                got, written = over(x, y), flat[0].reshape(np.broadcast_shapes(*shapes)).copy()
                over(written, y, out=written)       # each row once, or it would be a row of its own result
            finally:
                pool.set_num_threads(before)
            for a in (got, written):
                assert a.reshape(-1).tobytes() == want.tobytes(), f"{shapes}, {threads} threads, seed {seed}"


@pytest.mark.parametrize("shape", [(5, 3), (3, 1, 2), (4, 6, 20), (2, 9000), (0, 3), (3, 0), (2, 0, 4)], ids=str)
def test_indices_along_every_dim(shape):
    """In a traced function, each element is a function of its index."""
    x = ingot.rand(shape)
    along = [[-1 if i == d else 1 for i in range(len(shape))] for d in range(len(shape))]

    @jit.trace
    def elementwise(x):
        for d, size in enumerate(x.shape):
            x = x + 10.0**d * ingot.arange(size).reshape(along[d])
        return x

    want = x.numpy()
    for d, size in enumerate(shape):
        want = want + np.float32(10.0**d) * np.arange(size, dtype=np.float32).reshape(along[d])
    for _ in range(2):
        np.testing.assert_allclose(elementwise(x).numpy(), want, rtol=1e-6)


def test_the_strategy_for_short_rows():
    of = {chain: kernel_of(dt.float32, chain, "which").kernel(2) for chain in (False, True)}
    assert suited(of[True], (100, 16)) is SHORT_ROWS
    assert suited(of[True], (100, 17)) is suited(of[True], (16,)) is suited(of[False], (100, 16)) is None


@pytest.mark.parametrize("shapes", [((300, 1, 3), (1, 300, 3)), ((1, 400), (400, 1)), ((200, 1), (1, 200))], ids=str)
@pytest.mark.parametrize("op", ["__add__", "__sub__", "__mul__", "__truediv__"])
def test_large_results_of_small_operands_do_not_use_numpy(op, shapes, monkeypatch):
    """The result equals that of NumPy, which is not called."""
    a, b = (np.random.default_rng(i).standard_normal(s).astype(np.float32) for i, s in enumerate(shapes))
    want = getattr(a, op)(b)
    calls = []
    real = kernels.Elementwise.general
    monkeypatch.setattr(kernels.Elementwise, "general", lambda self, *args: calls.append(self.name) or real(self, *args))
    assert getattr(ingot.tensor(a), op)(ingot.tensor(b)).numpy().tobytes() == want.tobytes()
    assert len(calls) == 1
