"""Products with swapped operands: a few rows times a weight that is contiguous along the depth."""

import numpy as np
import pytest

import ingot
import short_epilogues as ep
from covering import thinned
from ingot import jit
from ingot.nn import functional as F
from ingot.runtime.cpu.gemm import gemm
from ingot.runtime.cpu.gemm.gemm_plan import Layout, make_plan
from ingot.runtime.cpu.memory import cache_sizes
from products import DTYPES, error, make

SIZES = [(25, 96, 300), (33, 101, 70), (64, 200, 5000), (128, 768, 768), (100, 301, 1700), (256, 800, 100), (31, 97, 1),
         (26, 3000, 900), (47, 145, 0), (12, 40, 40_000), (35, 211, 256), (37, 3001, 40), (36, 120, 1000)]


@pytest.fixture(autouse=True)
def caches(monkeypatch):
    monkeypatch.setattr(cache_sizes, "second_level", lambda: 1 << 20)


def words_of(rows, columns, depth, threads=1, dtype="float32", count=None, left="plain"):
    shapes = [(rows, depth), (depth, columns), (rows, columns)]
    a, b, out = (np.zeros(shape if count is None else (count, *shape), dtype) for shape in shapes)
    b = np.ascontiguousarray(b.swapaxes(-1, -2)).swapaxes(-1, -2)
    a = np.asfortranarray(a) if left == "turned" else a
    made = make_plan(*(Layout(x.shape, x.strides) for x in (a, b, out)), a.itemsize, a.itemsize, gemm.Product(dtype), threads)
    return made, made.words


@pytest.mark.parametrize("rows, columns, depth, turned", [
    (128, 768, 768, True), (128, 256, 768, True), (128, 250, 768, False), (25, 75, 10, True), (24, 768, 768, False),
    (24, 768, 3072, True), (11, 768, 30_000, False), (256, 3072, 5000, True), (500, 3072, 768, False), (500, 3072, 300, True)])
def test_conditions_for_swapped_operands(rows, columns, depth, turned):
    made, named = words_of(rows, columns, depth)
    assert bool(named["turned"]) == made.swapped == turned
    if turned:
        assert made.strategy == "tiles" and (named["rows"], named["columns"] + named["last"]) == (columns, rows)
    assert not words_of(rows, columns, depth, left="turned")[1]["turned"], "A is packed along its rows"
    low, named = words_of(rows, columns, depth, dtype="bfloat16")
    assert low.strategy == "amx" or not named["turned"], "sums of register tiles are no elements of its C"


@pytest.mark.parametrize("rows, depth, last", [
    (33, 256, 1), (35, 256, 3), (37, 256, 5), (38, 256, 0), (48, 256, 0), (52, 256, 4), (67, 256, 0), (35, 3000, 0)])
def test_last_rows_by_dot_products(rows, depth, last):
    """Few rows beyond whole vectors, if tiles take all of the depth at once; panels of narrower vectors are less wide."""
    named = words_of(rows, 10_000, depth)[1]
    last = last if gemm.Product("float32").kernel("tiles").panel == 64 else 0
    assert (named["last"], named["columns"]) == (last, rows - last)


@pytest.mark.parametrize("threads, count", thinned((1, 2, 3, 16, 100), (None, 3, 40), strength=1))
def test_cuts_cover_all_and_depend_on_sizes_alone(threads, count):
    for rows, columns, depth in SIZES:
        made, named = words_of(rows, columns, depth, threads, count=count)
        assert named["depth_block"] == words_of(rows, columns, depth)[1]["depth_block"]
        assert named["items"] == named["panels"] * named["row_blocks"] * (count or 1)
        assert 1 <= named["chunks"] <= named["items"] and made.scratch_bytes >= named["scratch_bytes"]
        assert threads == 1 or count or rows * columns * depth < 1 << 20 or named["chunks"] >= min(threads, columns // 96)


@pytest.mark.parametrize("rows, threads, parts", [
    (256, 1, 1), (256, 2, 2), (256, 3, 1), (256, 4, 4), (256, 8, 4), (128, 2, 2), (250, 2, 2), (200, 2, 1), (64, 2, 1),
    (320, 2, 1), (192, 3, 3), (192, 2, 1)])
def test_rows_are_shared_out_if_shares_are_even(rows, threads, parts):
    """Each thread then packs rows of its own; otherwise all threads have all rows, and a part of the columns."""
    kernel = gemm.Product("float32").kernel("tiles")
    if kernel.panel != 64:
        pytest.skip("sizes are those of panels of 64 columns")
    named = words_of(rows, 3072, 768, threads)[1]
    assert named["panels"] == parts
    assert named["items"] % threads == 0, "some threads were to wait for others"


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("size", SIZES, ids=str)
def test_values_at_every_edge(dtype, size, threads):
    (rows, columns, depth), rng = size, np.random.default_rng(sum(size))
    a, b = make(rng, (rows, depth), dtype), make(rng, (depth, columns), dtype, "turned")
    results = []
    for number in (1, 2, 3, 16):
        threads(number)
        room = np.full((rows + 1, columns + 7), 5, dtype)
        results.append(gemm.matmul(a, b, room[:rows, 3:-4]).copy())
        assert (room[:, :3] == 5).all() and (room[:, -4:] == 5).all() and (room[rows] == 5).all(), "written beyond C"
    assert error(results[0], a, b) <= DTYPES[dtype]
    assert all(np.array_equal(results[0], other) for other in results), "threads changed a bit"


def test_stacks(threads):
    threads(2)
    rng = np.random.default_rng(1)
    a, b = make(rng, (3, 40, 500), "float32"), make(rng, (3, 500, 130), "float32", "turned")
    together = gemm.matmul(a, b)
    assert all(np.array_equal(together[i], gemm.matmul(a[i], b[i])) for i in range(3))
    assert error(together, a, b) <= DTYPES["float32"]


@pytest.mark.parametrize("rows, columns, depth", [(33, 101, 70), (35, 130, 256), (128, 400, 900), (40, 120, 3000)])
def test_short_epilogues(rows, columns, depth, threads):
    threads(2)
    rng = np.random.default_rng(2)
    a, b = make(rng, (rows, depth), "float32"), make(rng, (depth, columns), "float32", "turned")
    bias, per_row, residual = (make(rng, shape, "float32") for shape in ((columns,), (rows,), (rows, columns)))
    chain = ep.Chain((ep.ColumnBias("float"), ep.RowBias("float"), ep.Residual("float")))
    block = np.array([bias.ctypes.data, per_row.ctypes.data, residual.ctypes.data, residual.strides[0], 0], np.int64)
    product = gemm.Product("float32", epilogue=chain)
    got = product(a, b, operands=block.ctypes.data)
    assert np.array_equal(got, gemm.matmul(a, b) + bias + per_row[:, None] + residual)


@pytest.mark.parametrize("rows, width", [(33, 101), (128, 304), (40, 1025), (53, 402)])
def test_traced_layers_are_eager_ones(rows, width, threads):
    """A long epilogue (gelu, a residual) works on transposed blocks; a bias is added as in eager layers."""
    threads(2)
    ingot.manual_seed(0)
    x, r = ingot.randn(rows, 900), ingot.randn(rows, width)
    w, b = ingot.randn(width, 900), ingot.randn(width)
    for f in (lambda x: F.gelu(F.linear(x, w, b)), lambda x: F.linear(x, w, b) + r, lambda x: F.linear(x, w).tanh() * r,
              lambda x: F.linear(x, w, b)):
        traced = jit.trace(f)
        traced(x)
        assert np.array_equal(traced(x).numpy(), f(x).numpy())
