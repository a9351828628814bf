"""Epilogues in a product's tiles: the same bits, when they are fused, when they are not."""

import contextlib

import numpy as np
import pytest

import ingot
import mock_cuda
from graphs import graph_of
from ingot.passes.codegen.epilogue_program import EpilogueProgram
from ingot.passes.schedule.plan_memory import plan
from ingot.passes.schedule.plan_steps import Call, Product, Run
from ingot.runtime.core.dispatch import kernel_of
from ingot.runtime.cpu.gemm import gemm
from ingot.runtime.cpu.graph.program import CompiledGraph

SIZES = [(1, 7, 2), (1, 7, 16), (128, 70, 10), (3, 5, 33), (37, 53, 61), (70, 1100, 100)]

BODIES = {
    "bias and activation": ("""
          %1: f32[{m},{n}] = expand(%b, shape=({m}, {n}))
          %2: f32[{m},{n}] = add(%0, %1)
          %3: f32[{m},{n}] = relu(%2)
          return %3""", lambda p, b, c, r: (np.maximum(p + b, 0),)),
    "bias alone": ("""
          %1: f32[{m},{n}] = expand(%b, shape=({m}, {n}))
          %2: f32[{m},{n}] = add(%1, %0)
          return %2""", lambda p, b, c, r: (b + p,)),
    "what is the same in all rows": ("""
          %1: f32[{n}] = mul(%b, %b)
          %2: f32[{n}] = add(%1, %b)
          %3: f32[{m},{n}] = expand(%2, shape=({m}, {n}))
          %4: f32[{m},{n}] = mul(%0, %3)
          %5: f32[{m},{n}] = sub(%4, %r)
          %6: f32[{m},{n}] = mul(%5, %3)
          return %6""", lambda p, b, c, r: ((p * (b * b + b) - r) * (b * b + b),)),
    "scale, one number a row, residual": ("""
          %1: f32[{m},{n}] = mul(%0, 0.5)
          %2: f32[{m},{n}] = expand(%c, shape=({m}, {n}))
          %3: f32[{m},{n}] = sub(%1, %2)
          %4: f32[{m},{n}] = add(%3, %r)
          return %4""", lambda p, b, c, r: (p * np.float32(0.5) - c + r,)),
    "a mask beside the result": ("""
          %1: f32[{m},{n}] = relu(%0)
          %2: bool[{m},{n}] = gt(%1, 0.0)
          return %2, %1""", lambda p, b, c, r: (p > 0, np.maximum(p, 0))),
}


def product_graph(body, m, k, n):
    return graph_of(f"""
        graph g(%x: f32[{m},{k}], %w: f32[{k},{n}], %b: f32[{n}], %c: f32[{m},1], %r: f32[{m},{n}]) {{
          %0: f32[{m},{n}] = matmul(%x, %w){body.format(m=m, n=n)}
        }}""")


@pytest.mark.parametrize("size", SIZES, ids=str)
@pytest.mark.parametrize("what", BODIES)
def test_epilogues_round_as_separate_operators_do(what, size):
    body, meaning = BODIES[what]
    g = product_graph(body, *size)
    step, = plan(g).steps
    assert type(step) is Product
    rng = np.random.default_rng(7)
    arrays = [rng.standard_normal(v.shape).astype(np.float32) for v in g.inputs]
    want = meaning(gemm.matmul(arrays[0], arrays[1]), *arrays[2:])
    got = CompiledGraph(g, kernel_of, frozenset(range(len(want)))).run(arrays)
    for a, b in zip(want, got, strict=True):
        assert a.dtype == b.dtype
        assert (a == b).all(), f"{what} {size}: {np.abs(a.astype(np.float64) - b).max()}"


def kinds(text):
    return [type(s) for s in plan(graph_of(text)).steps]


def test_a_batch_with_its_own_bias():
    g = graph_of("""
        graph g(%x: f64[3,5,8], %w: f64[3,8,20], %r: f64[3,5,20]) {
          %0: f64[3,5,20] = matmul(%x, %w)
          %1: f64[3,5,20] = add(%0, %r)
          return %1
        }""")
    assert [type(s) for s in plan(g).steps] == [Product]
    x, w, r = (np.random.default_rng(1).standard_normal(v.shape) for v in g.inputs)
    got, = CompiledGraph(g, kernel_of, frozenset([0])).run([x, w, r])
    assert (got == gemm.matmul(x, w) + r).all()


def split(m, n, shape):
    """Return a product reshaped between a factor for each row and a residual."""
    return graph_of(f"""
        graph g(%x: f32[2,{m},7], %w: f32[2,7,{n}], %c: f32[{m},1], %r: f32[{','.join(map(str, shape))}]) {{
          %0: f32[2,{m},{n}] = matmul(%x, %w)
          %1: f32[2,{m},{n}] = expand(%c, shape=(2, {m}, {n}))
          %2: f32[2,{m},{n}] = add(%0, %1)
          %3: f32[{','.join(map(str, shape))}] = reshape(%2, shape={shape})
          %4: f32[{','.join(map(str, shape))}] = add(%3, %r)
          %5: f32[{','.join(map(str, shape))}] = relu(%4)
          return %5
        }}""")


@pytest.mark.parametrize("rows, columns, shape", [(5, 24, (2, 5, 4, 6)), (4, 18, (2, 6, 12))], ids=["split", "other rows"])
def test_columns_split_into_several_dims(rows, columns, shape):
    """Also with regrouped rows: the residual lies in the order of the product's own."""
    g = split(rows, columns, shape)
    assert [type(s) for s in plan(g).steps] == [Product]
    x, w, c, r = (np.random.default_rng(1).standard_normal(v.shape).astype(np.float32) for v in g.inputs)
    got, = CompiledGraph(g, kernel_of, frozenset([0])).run([x, w, c, r])
    assert (got == np.maximum((gemm.matmul(x, w) + c).reshape(r.shape) + r, 0)).all()


def test_products_without_an_epilogue():
    assert kinds("""
        graph g(%x: f32[4,5], %w: f32[5,20]) {
          %0: f32[4,20] = matmul(%x, %w)
          %1: f32[4,20] = neg(%0)
          return %0, %1
        }""") == [Call, Run]
    assert kinds("""
        graph g(%x: f32[4,5], %w: f32[5,20]) {
          %0: f32[4,20] = matmul(%x, %w)
          %1: f32[4] = sum(%0, dim=(1,), keepdim=False)
          return %1
        }""") == [Call, Run]
    assert kinds("""
        graph g(%x: f32[4,5], %w: f32[5,1]) {
          %0: f32[4,1] = matmul(%x, %w)
          %1: f32[4,1] = neg(%0)
          return %1
        }""") == [Call, Run]


def test_operands_in_any_layout():
    g = product_graph(BODIES["scale, one number a row, residual"][0], 6, 5, 18)
    rng = np.random.default_rng(3)
    x, w = rng.standard_normal((5, 6)).astype(np.float32).T, rng.standard_normal((5, 18)).astype(np.float32)
    c, r = rng.standard_normal((6, 1)).astype(np.float32), rng.standard_normal((18, 6)).astype(np.float32).T
    got, = CompiledGraph(g, kernel_of, frozenset([0])).run([x, w, np.zeros(18, np.float32), c, r])
    assert (got == gemm.matmul(x, w) * np.float32(0.5) - c + r).all()


def test_equal_epilogues_are_one_function():
    texts = [product_graph(BODIES["bias and activation"][0], m, 8, 32) for m in (3, 9)]
    fused = [plan(g).steps[0].epilogue.fused for g in texts]
    assert all(type(f) is EpilogueProgram for f in fused)
    assert fused[0].name == fused[1].name


def test_a_product_beside_an_index_stays_alone():
    text = """
        graph g(%x: f32[4,5], %w: f32[5,20]) {
          %0: f32[4,20] = matmul(%x, %w)
          %1: i64[4,20] = iota(%x, shape=(4, 20), dim=1, dtype=i64)
          %2: bool[4,20] = lt(%1, 7)
          %3: f32[4,20] = where(%2, %0, 0.0)
          return %3
        }"""
    assert kinds(text) == [Call, Run]
    x, w = np.ones((4, 5), np.float32), np.ones((5, 20), np.float32)
    got, = CompiledGraph(graph_of(text), kernel_of, frozenset([0])).run([x, w])
    assert (got[:, :7] == 5).all()
    assert not got[:, 7:].any()


def test_a_product_over_nothing_takes_no_epilogue():
    """Python makes its sums, and knows no epilogue."""
    g = graph_of("""
        graph g(%a: f64[2,0], %b: f64[0,2], %c: f64[2,2]) {
          %0: f64[2,2] = matmul(%a, %b)
          %1: f64[2,2] = sub(%0, %c)
          %2: f64[2,2] = neg(%1)
          %3: f64[2,2] = permute(%2, dims=(1, 0))
          return %3
        }""")
    c = np.arange(4.0).reshape(2, 2)
    found, = CompiledGraph(g, kernel_of).run([np.zeros((2, 0)), np.zeros((0, 2)), c])
    assert (found == c.T).all()


def test_a_product_that_is_read_in_two_orders_stays_alone():
    """Element (i, j) needs elements (i, j) and (j, i) of the product, of which tiles hold one."""
    g = graph_of("""
        graph g(%x: f32[16,5], %w: f32[5,16]) {
          %0: f32[16,16] = matmul(%x, %w)
          %1: f32[16,16] = permute(%0, dims=(1, 0))
          %2: f32[16,16] = add(%0, %1)
          return %2
        }""")
    x, w = (np.random.default_rng(5).standard_normal(v.shape).astype(np.float32) for v in g.inputs)
    found, = CompiledGraph(g, kernel_of).run([x, w])
    product = gemm.matmul(x, w)
    assert (found == product + product.T).all()
    z, y = ingot.tensor(x), ingot.tensor(w)
    traced = ingot.jit.trace(lambda: (p := z @ y) + p.t())
    for _ in range(2):
        assert np.abs(traced().numpy() - (product + product.T)).max() < 1e-5


TWICE = {
    "transposed": lambda z: z + z.mT, "transposed first": lambda z: z.mT - z, "flipped": lambda z: z * z.flip(-2),
    "a row": lambda z: z - z[..., :1, :], "a column": lambda z: z - z[..., :1], "one number": lambda z: z / z[..., :1, :1],
    "three ways": lambda z: (z + z.mT) * z.flip(-1), "once, flipped": lambda z: z.flip(-1) * 2 + 1,
    "once, transposed": lambda z: z.mT * BESIDE.to(z.device) + 1, "a part": lambda z: z[..., :1] * BESIDE.to(z.device),
}
BESIDE = ingot.arange(24.0 * 24).reshape(24, 24)


@pytest.mark.parametrize("device", ["cpu", "cuda"])
@pytest.mark.parametrize("batch", [(), (3,)], ids=str)
@pytest.mark.parametrize("name", TWICE)
def test_a_product_read_in_another_order_stays_alone(name, batch, device):
    """A tile has its own elements alone, not those across the diagonal."""
    fn = TWICE[name]
    traced = ingot.jit.trace(lambda x, w: fn(x @ w))
    with mock_cuda.installed() if device == "cuda" else contextlib.nullcontext():
        for seed in range(2):
            ingot.manual_seed(seed)
            x, w = (ingot.randn(*batch, *shape).to(device) for shape in ((24, 5), (5, 24)))
            z = x @ w
            assert ((fn(z) - traced(x, w)).abs() <= 1e-5 * fn(z).abs() + 1e-6).all(), name
    if device == "cpu":
        assert fn(x @ w).equal(traced(x, w))
