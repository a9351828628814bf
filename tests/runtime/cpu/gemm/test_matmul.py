"""Epilogues of matrix products, eagerly and in compiled graphs."""

import numpy as np
import pytest

import short_epilogues as ep
from ingot.ir import dtype as dt
from ingot.ir import target
from ingot.ir.errors import DTypeError, ShapeError
from ingot.ir.graph.graph import Builder
from ingot.ir.opdef.aval import Aval
from ingot.ir.ops.core import elementwise as ew
from ingot.ir.ops.core.shape import permute
from ingot.ir.ops.linalg import products
from ingot.passes.codegen.llvm.contract import gemm as codegen
from ingot.runtime.core.dispatch import kernel_of
from ingot.runtime.cpu.gemm import gemm
from ingot.runtime.cpu.graph.program import CompiledGraph
from products import BF16, DTYPES, LAYOUTS, error, make


def words(*values):
    """Return the operand block: addresses and integers as they are, floats as doubles."""
    return np.array([np.float64(v).view(np.int64) if isinstance(v, float) else v for v in values], np.int64)


def relu(f, value):
    return f.select(f.compare("ogt", value, 0.0), value, f.value(value.type, 0.0))


SHAPES = [(40, 70, 30, "plain"), (1, 300, 50, "plain"), (5, 67, 50, "turned"), (100, 130, 2200, "turned"), (50, 1, 20, "plain")]


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16"])
@pytest.mark.parametrize("rows, columns, depth, right", SHAPES)
def test_epilogues_fuse(dtype, rows, columns, depth, right, threads):
    threads(2)
    rng = np.random.default_rng(13)
    stored = codegen.Precision.of({"float32": "float", "float64": "double", "bfloat16": "bfloat"}[dtype]).a
    a, b = make(rng, (rows, depth), dtype), make(rng, (depth, columns), dtype, right)
    bias, per_row = make(rng, (columns,), dtype), make(rng, (rows,), dtype)
    residual = make(rng, (rows, columns + 3), dtype)[:, :columns]
    chain = ep.Chain((ep.Scale(), ep.ColumnBias(stored), ep.RowBias(stored), ep.Activation("relu", relu),
                      ep.Residual(stored, scaled=True)))
    out_dtype = "float64" if dtype == "float64" else "float32"
    product = gemm.Product(dtype, out_dtype, chain)
    block = words(0.25, bias.ctypes.data, per_row.ctypes.data, residual.ctypes.data, residual.strides[0], 0, -2.0)
    assert len(block) == chain.words
    got = product(a, b, operands=block.ctypes.data)
    wide = [x.astype(np.float64) for x in (a, b, bias, per_row, residual)]
    want = np.maximum(0.25 * (wide[0] @ wide[1]) + wide[2] + wide[3][:, None], 0) - 2 * wide[4]
    assert got.dtype == out_dtype
    assert np.abs(got - want).max() < (1e-11 if dtype == "float64" else 2e-4)


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16"])
@pytest.mark.parametrize("rows, columns, depth, right", [*SHAPES, (300, 200, 100, "turned")])
def test_an_array_can_be_passed_for_its_address(dtype, rows, columns, depth, right, threads):
    """As the only word of an epilogue; a copy is passed if kernels cannot read the array."""
    threads(2)
    rng = np.random.default_rng(16)
    stored = codegen.Precision.of({"float32": "float", "float64": "double", "bfloat16": "bfloat"}[dtype]).a
    a, b, bias = make(rng, (rows, depth), dtype), make(rng, (depth, columns), dtype, right), make(rng, (columns,), dtype)
    product = gemm.Product(dtype, None, ep.ColumnBias(stored))
    block = words(bias.ctypes.data)
    want = product(a, b, operands=block.ctypes.data).tobytes()
    shifted = np.frombuffer(b"\0" + bias.tobytes(), np.uint8)[1:].view(bias.dtype)
    for given in (bias, bias.repeat(2)[::2], shifted):
        assert product(a, b, operands=given).tobytes() == want
    assert not shifted.flags.aligned
    out = np.empty((rows, columns), bias.dtype)
    assert product(a, b, out, bias) is out
    assert out.tobytes() == want
    with pytest.raises(DTypeError):
        product(a, b, operands=bias.astype(np.float16))


def test_epilogues_get_their_batch():
    rng = np.random.default_rng(14)
    a, b, residual = (make(rng, (4, 9, 9), "float32") for _ in range(3))
    block = words(residual.ctypes.data, residual.strides[1], residual.strides[0])
    got = gemm.Product("float32", epilogue=ep.Residual("float"))(a, b, operands=block.ctypes.data)
    assert np.allclose(got, a @ b + residual, atol=1e-5)


@pytest.mark.parametrize("dtype, out", [("float32", "bfloat16"), ("float32", "float16"), ("bfloat16", "float32"),
                                        ("float16", "float32")])
def test_results_are_cast_once(dtype, out):
    rng = np.random.default_rng(15)
    if target.host().half_conversions or "float16" not in (dtype, out):
        for rows, columns, depth in ((30, 70, 2000), (2, 5, 40), (1, 100, 3)):
            a, b = make(rng, (rows, depth), dtype), make(rng, (depth, columns), dtype)
            narrow = gemm.Product(dtype, out)(a, b)
            full = gemm.Product(dtype, "float32")(a, b)
            assert narrow.dtype == np.dtype(out if out != "bfloat16" else BF16)
            limit = {"float32": 0, "float16": 2e-3, "bfloat16": 1e-2}[out]
            assert (np.abs(narrow.astype("f4") - full) <= limit * np.abs(full) + (1e-4 if limit else 0)).all()


@pytest.mark.parametrize("bits", [0x00000001, 0x00800000, 0x3F808000, 0x3F818000, 0x7F7FFFFF, 0x7F800000, 0xFFC00001,
                                  0x80000001])
def test_bfloat_results_round_to_nearest_even(bits):
    value = np.array([[bits]], np.uint32).view(np.float32)
    got = gemm.Product("float32", BF16)(value, np.ones((1, 1), np.float32))
    want = (value * np.float32(1)).astype(BF16)
    assert np.array_equal(got.view(np.uint16), want.view(np.uint16)) or (np.isnan(want).all() and np.isnan(got).all())


# Products in compiled graphs.


def compiled_product(x, w, *bias, transposed=False):
    """Return the compiled graph of x @ w, or of x @ w.T, plus a bias, and its result."""
    b = Builder("product")
    values = [b.input(name, Aval(a.shape, dt.BY_NP[a.dtype])) for name, a in zip("xwb", (x, w, *bias))]
    out = products.matmul(values[0], permute(values[1], dims=(1, 0)) if transposed else values[1])
    graph = CompiledGraph(b.finish((ew.add(out, values[2]) if bias else out,)), kernel_of, frozenset({0}))
    return graph, graph.run([x, w, *bias])[0]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("lead, columns, depth", [((1,), 70, 40), ((5,), 64, 33), ((3, 4), 130, 1500), ((30,), 1, 7),
                                                  ((2, 0), 5, 6), ((9,), 200, 0)])
def test_products_of_rows_with_a_weight(dtype, lead, columns, depth, threads):
    threads(2)
    rng = np.random.default_rng(18)
    for layout in LAYOUTS:
        a, b = make(rng, (*lead, depth), dtype), make(rng, (depth, columns), dtype, layout)
        transposed = layout == "turned"
        rows = a.reshape(-1, depth) if depth else a
        graph, result = compiled_product(rows, b.T if transposed else b, transposed=transposed)
        assert result.shape == (len(rows), columns)
        if result.size:
            assert (result == 0).all() if depth == 0 else error(result, rows, b) <= DTYPES[dtype], layout
            assert graph.is_native or depth == 0


def test_products_of_strided_rows_with_an_epilogue():
    rng = np.random.default_rng(19)
    a, b, bias = make(rng, (40, 90), "float32", "strided"), make(rng, (90, 77), "float32"), make(rng, (77,), "float32")
    graph, result = compiled_product(a, b, bias)
    assert np.allclose(result, a @ b + bias, atol=1e-4)
    assert graph.is_native
    with pytest.raises(ShapeError, match="89 columns, the second 90 rows"):
        compiled_product(a[:, 1:], b, bias)
