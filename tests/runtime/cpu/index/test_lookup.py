"""Rows of tables by index, and losses over classes: references, threads, errors, traces."""

import ml_dtypes
import numpy as np
import pytest

import ingot
import ingot.nn.functional as F
from ingot.ir.errors import DimError
from ingot.ir.ops.index.indexing import index_put
from ingot.ir.ops.nn import embedding as ops
from ingot.ir.ops.nn.loss import cross_entropy, softmax_minus_onehot
from ingot.passes.codegen.llvm.index import gathers, linear_maps, sampled_points, scans
from ingot.passes.codegen.llvm.index import lookup as codegen
from ingot.runtime.core.dispatch import kernel_of
from ingot.runtime.cpu.index import gathers as gather_plans
from ingot.runtime.cpu.index import lookup
from ingot.runtime.cpu.index import sampled_points as sampled_point_plans
from ingot.runtime.cpu.index import scans as scan_plans
from ingot.runtime.cpu.loops import linear_maps as linear_map_plans


def on_all(threads, run):
    """Return the result of `run`, which has the same bits with any number of threads."""
    results = []
    for count in (1, 2, 3):
        threads(count)
        results.append(run())
    assert all(r.tobytes() == results[0].tobytes() for r in results)
    return results[0]


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16, ml_dtypes.bfloat16, np.int64, np.int16])
@pytest.mark.parametrize("width", [2, 16, 100, 771])
def test_rows_are_copied(dtype, width, threads):
    rng = np.random.default_rng(width)
    table, index = (rng.standard_normal((50, width)) * 99).astype(dtype), rng.integers(0, 50, (7, 91)).astype(np.int32)
    got = on_all(threads, lambda: lookup.take(table, index))
    assert got.dtype == table.dtype and got.tobytes() == table[index].tobytes()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("width", [1, 15, 64, 771])
def test_sums_run_in_the_order_of_the_indices(dtype, width, threads):
    rng = np.random.default_rng(width)
    values, index = rng.standard_normal((400, width)).astype(dtype), rng.integers(0, 9, 400)
    got = on_all(threads, lambda: lookup.add_rows(values, index, 11))
    want = np.zeros((11, width), dtype)
    np.add.at(want, index, values)
    assert np.array_equal(got, want)
    start = rng.standard_normal((11, width)).astype(dtype)
    np.add.at(want := start.copy(), index, values)
    index -= 11 * (index > 4)
    assert np.array_equal(on_all(threads, lambda: kernel_of(index_put)(start, values, index, accumulate=True)), want)


@pytest.mark.parametrize("dim", [0, 1, 2])
def test_expanded_indices_equal_their_copies(dim):
    x, src = ingot.randn(4, 5, 6), ingot.randn(4, 5, 6)
    for repeated in range(3):
        index = ingot.randint(0, x.shape[dim], x.shape).narrow(repeated, 0, 1).expand(x.shape)
        for how in (lambda i: x.scatter_add(dim, i, src), lambda i: x.scatter_reduce(dim, i, src, "amax"),
                    lambda i: x.gather(dim, i)):
            assert how(index).equal(how(index.contiguous()))


def test_indices_out_of_range_are_refused():
    table = ingot.ones(10, 500)
    for bad in (10, -1):
        with pytest.raises(DimError, match=f"index {bad} is out of range"):
            F.embedding(ingot.tensor([0, 3, bad] * 5), table)
    with pytest.raises(IndexError):
        table.index_add(0, ingot.tensor([0, 10]), ingot.ones(2, 500))


def test_gradients_of_embeddings(threads):
    rng = np.random.default_rng(1)
    weight, index = rng.standard_normal((30, 200)).astype(np.float32), rng.integers(0, 30, (8, 9))

    def gradient():
        w = ingot.tensor(weight, requires_grad=True)
        (F.embedding(ingot.tensor(index), w, padding_idx=3) ** 2).sum().backward()
        return w.grad.numpy()

    got = on_all(threads, gradient)
    counts = np.bincount(index.ravel(), minlength=30) * (np.arange(30) != 3)
    assert np.allclose(got, 2 * weight * counts[:, None], rtol=1e-5)


def test_low_precision_sums_are_rounded_once():
    values = np.full((300, 8), 0.1, ml_dtypes.bfloat16)
    got = kernel_of(ops.row_sums)(values, np.zeros(300, np.int64), rows=2)
    want = (values.astype(np.float32).sum(0)).astype(ml_dtypes.bfloat16)
    assert got.dtype == values.dtype and np.array_equal(got[0], want) and not got[1].any()


SHAPES = [(5, 3), (40, 1000), (7, 10, 6), (2, 4, 5, 3), (1, 1)]


@pytest.mark.parametrize("reduction", ["none", "sum", "mean"])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16])
def test_cross_entropy_and_its_gradient(shape, reduction, dtype, threads):
    rng = np.random.default_rng(sum(shape))
    x = (rng.standard_normal(shape) * 3).astype(dtype)
    target = rng.integers(0, shape[1], (shape[0], *shape[2:]))
    target[rng.random(target.shape) < 0.3] = -100
    target[0] = 0
    params = {"ignore_index": -100, "label_smoothing": 0.0, "reduction": reduction}
    got = on_all(threads, lambda: np.asarray(kernel_of(cross_entropy)(x, target, None, **params)[0]))
    want, lse = cross_entropy.ref(x.astype(np.float64), target, None, **params)
    tol = {2: 2e-3, 4: 2e-6, 8: 1e-13}[x.itemsize]
    np.testing.assert_allclose(got.astype(np.float64), want, rtol=tol, atol=tol)
    a, b = (rng.standard_normal(target.shape).astype(dtype) for _ in range(2))
    args = x, lse.astype(dtype), a, b, target
    dx = on_all(threads, lambda: kernel_of(softmax_minus_onehot)(*args))
    want = softmax_minus_onehot.ref(*(v.astype(np.float64) if v.dtype.kind == "f" else v for v in args))
    np.testing.assert_allclose(dx.astype(np.float64), want, rtol=8 * tol, atol=8 * tol)


def test_cross_entropy_of_few_and_no_rows():
    x = ingot.ones(3, 4)
    assert F.cross_entropy(x, ingot.tensor([-100, -100, -100])).isnan()
    assert F.cross_entropy(x, ingot.tensor([-100, 1, -100])).item() == F.cross_entropy(x[:1], ingot.tensor([1])).item()
    assert F.cross_entropy(ingot.ones(0, 4), ingot.zeros(0, dtype=ingot.int64), reduction="sum").item() == 0
    for bad in (4, -1):
        with pytest.raises(DimError, match=f"target {bad} is out of bounds"):
            F.cross_entropy(x, ingot.tensor([0, bad, 1]))
    inside = F.cross_entropy(x, ingot.tensor([0, 2, 2]), ignore_index=2, reduction="none")
    assert inside[1:].tolist() == [0, 0]


def test_a_traced_training_step_has_the_bits_of_eager():
    rng = np.random.default_rng(2)
    table, index, target = rng.standard_normal((20, 256)).astype(np.float32), rng.integers(0, 20, 40), rng.integers(0, 256, 40)

    def step(w, i, t):
        loss = F.cross_entropy(F.embedding(i, w), t)
        return loss.detach(), *ingot.autograd.grad(loss, [w])

    args = ingot.tensor(table, requires_grad=True), ingot.tensor(index), ingot.tensor(target)
    traced = ingot.jit.trace(step)
    for _ in range(2):
        assert all(ingot.equal(a, b) for a, b in zip(step(*args), traced(*args)))


SINGLE, INDEX = np.dtype(np.float32), np.dtype(np.int64)
PLANS = [       # the generator, the plan for a size
    (codegen.LookupKernel, lambda n: lookup.plan("take", SINGLE, n, 8, 10, False, 1)),
    (codegen.LookupKernel, lambda n: lookup.plan("add", SINGLE, n, 8, 10, True, 1)),
    (codegen.BagKernel, lambda n: lookup.bag_plan(SINGLE, n, 8, 3, False, 1)),
    (codegen.BagKernel, lambda n: lookup.bag_plan(SINGLE, n, 8, 3, True, 1)),
    (linear_maps.MapKernel, lambda n: linear_map_plans.plan(SINGLE, True, (n, 4), 0, 7, 2, 1)),
    (gathers.GatherKernel, lambda n: gather_plans.plan(SINGLE, (n, 4), INDEX, (n, 4), 0, 1)),
    (gathers.ScatterKernel, lambda n: gather_plans.scatter_plan(SINGLE, gathers.ADD, (n, 4), (n, 4), 0, 1)),
    (scans.ScanKernel, lambda n: scan_plans.plan("add", SINGLE, (n, 4), 0, 1)),
    (sampled_points.SampledPointsKernel, lambda n: sampled_point_plans.plan("put", SINGLE, True, n, 4, 25, 9, 4, 1))]


@pytest.mark.parametrize("kernel, plan", PLANS, ids=lambda x: getattr(x, "__name__", ""))
def test_new_sizes_generate_no_code(kernel, plan, monkeypatch):
    plan(1009)
    monkeypatch.setattr(kernel, "text", None)
    for n in (1013, 1019, 1021):
        assert plan(n) is not plan(1009)
