"""Matrix products as Triton source, run on numpy: every layout, sizes that tiles do not divide, the roads of Hopper chips."""

import numpy as np
import pytest

import ingot
import mock_cuda
import mock_cuda_triton
from ingot.ir import dtype as dt
from ingot.passes.codegen.triton.contract import matmul, matmul_hopper
from ingot.passes.codegen.triton.ir.source import FAST, POINTER, Kinds
from ingot.runtime.cuda import backend
from ingot.runtime.cuda.ops.products import products


def test_the_widest_tiles_are_for_chips_that_multiply_from_shared_memory():
    """Others hold factors in registers, too."""
    for kind, shared, widest in ((dt.bfloat16, 232448, 256), (dt.bfloat16, 166912, 128), (dt.float32, 166912, 64)):
        assert matmul.tiles(kind, 4096, 4096, 4096, True, shared).n == widest


@pytest.mark.parametrize("d, tolerance", [(dt.float32, 1e-5), (dt.bfloat16, 2e-2), (dt.float16, 2e-3), (dt.float64, 1e-12)],
                         ids=str)
@pytest.mark.parametrize("flips", [(False, False), (True, False), (False, True), (True, True)])
def test_products_in_every_layout(d, tolerance, flips):
    rng = np.random.default_rng(9)
    for batch, m, n, k in ((1, 1, 1, 1), (2, 40, 33, 70), (1, 130, 17, 40)):
        x, y = rng.standard_normal((batch, m, k)), rng.standard_normal((batch, k, n))
        want = (x.astype(d.np).astype(np.float64) @ y.astype(d.np).astype(np.float64))
        (x, xs), (y, ys) = (transposed_if(a.astype(d.np), flip) for a, flip in zip((x, y), flips))
        chosen = matmul.tiles(d, m, n, k, d.itemsize == 2, 232448)
        source = matmul.source(d, "ieee", (xs[1] == 1, xs[2] == 1), (ys[1] == 1, ys[2] == 1))
        sizes = {"M": m, "N": n, "K": k} | dict(zip(("s_xb", "s_xm", "s_xk", "s_yb", "s_yk", "s_yn"), (*xs, *ys)))
        z = np.zeros((batch, m, n), d.np)
        values = [x, y, z, *[("i32", sizes[p.name]) for p in source.parameters if p.kind != POINTER]]
        mock_cuda_triton.run(source.text, source.name, matmul.grid(m, n, batch, chosen), values,
                             dict(chosen.constants) | {"INDEX": np.int32})
        np.testing.assert_allclose(z.astype(np.float64), want, rtol=tolerance, atol=tolerance * 10, err_msg=f"{d} {m} {n} {k}")


CHIP = 132      # multiprocessors


@pytest.mark.parametrize("sizes, parts", [((4096, 4096, 4096), 1), ((768, 3072, 8192), 1), ((512, 512, 8192), 8),
                                          ((64, 64, 8192), 16),
                                          ((64, 64, 500), 1), ((768, 768, 8200), 1)], ids=str)
def test_deep_products_of_few_tiles_are_cut(sizes, parts):
    chosen = matmul.tiles(dt.bfloat16, *sizes, True, 232448)
    assert matmul.depth_parts(chosen, 2, True, sizes, CHIP) == parts


@pytest.mark.parametrize("k, n, stages", [(64, 128, 2), (128, 128, 4), (192, 128, 4), (768, 256, 3)])
def test_shallow_products_share_multiprocessors(k, n, stages):
    """Stores take longer than the sums here, so two tiles fit a multiprocessor."""
    chosen = matmul.tiles(dt.bfloat16, 200704, 256, k, True, 232448)
    assert (chosen.n, chosen.stages) == (n, stages)


def test_products_of_few_tiles_have_lower_ones():
    for kind in (dt.bfloat16, dt.float32):
        assert [matmul.tiles(kind, m, 1024, 512, True, 232448).m for m in (16, 1024, 2048)] == [16, 64, 128]


@pytest.mark.parametrize("d, tolerance", [(dt.float32, 1e-5), (dt.bfloat16, 2e-2), (dt.float64, 1e-12)], ids=str)
@pytest.mark.parametrize("flips", [(False, False), (True, False), (False, True), (True, True)])
def test_parts_of_a_product_add_up(d, tolerance, flips, monkeypatch):
    monkeypatch.setattr(matmul, "depth_parts", lambda *rest: 4)
    rng = np.random.default_rng(9)
    x, y = (rng.standard_normal(shape).astype(d.np) for shape in ((37, 160), (160, 21)))
    want = x.astype(np.float64) @ y.astype(np.float64)
    with mock_cuda.installed() as cuda:
        on_device = [backend.to_device(a.T.copy() if flip else a, 0) for a, flip in zip((x, y), flips)]
        factors = [a.transpose(1, 0) if flip else a for a, flip in zip(on_device, flips)]
        got = backend.to_host(products.product(factors, {}, 0))
        assert [(one["name"].split("_")[0], one["grid"][1]) for one in cuda.launches[-2:]] == [("matmul", 4), ("sum", 1)]
    assert got.dtype == d.np
    np.testing.assert_allclose(got.astype(np.float64), want, rtol=tolerance, atol=tolerance * 10)


@pytest.mark.parametrize("strategy", matmul_hopper.TILES)
@pytest.mark.parametrize("flips", [(False, False), (True, False), (False, True), (True, True)])
def test_products_by_bulk_copies(strategy, flips):
    """The roads of Hopper chips, in every layout: tiles cut by edges, several batches, fewer programs than tiles."""
    rng = np.random.default_rng(9)
    d, chosen = dt.bfloat16, matmul.Tiles(32, 64, 16, 4, 3, strategy)
    for batch, m, n, k in ((1, 8, 16, 8), (2, 40, 72, 56), (1, 136, 24, 40)):
        x, y = rng.standard_normal((batch, m, k)), rng.standard_normal((batch, k, n))
        want = (x.astype(d.np).astype(np.float64) @ y.astype(d.np).astype(np.float64))
        (x, xs), (y, ys) = (transposed_if(a.astype(d.np), flip) for a, flip in zip((x, y), flips))
        assert matmul_hopper.takes(d, 90, xs[1:], ys[1:], (2 * xs[0], 2 * ys[0]))
        source = matmul_hopper.source(d, "ieee", (xs[1] == 1, xs[2] == 1), (ys[1] == 1, ys[2] == 1), matmul.CONSTANTS, strategy)
        sizes = {"M": m, "N": n, "K": k} | dict(zip(("s_xb", "s_xm", "s_xk", "s_yb", "s_yk", "s_yn"), (*xs, *ys)))
        z = np.zeros((batch, m, n), d.np)
        values = [x, y, z, *[("i32", sizes[p.name]) for p in source.parameters if p.kind != POINTER]]
        programs = matmul.grid(m, n, batch, chosen, 2)
        assert programs[0] <= 2 or strategy != matmul_hopper.PERSISTENT
        mock_cuda_triton.run(source.text, source.name, programs, values, dict(chosen.constants) | {"INDEX": np.int32})
        np.testing.assert_allclose(z.astype(np.float64), want, rtol=2e-2, atol=0.2, err_msg=f"{strategy} {m} {n} {k}")


@pytest.mark.parametrize("wide, along, offset, persistent", [(True, True, 0, True), (True, False, 0, False),
                                                             (False, True, 0, False), (True, True, 1, False)], ids=str)
def test_wide_products_of_rows_and_rows_are_persistent_on_hopper(wide, along, offset, persistent):
    """If each multiprocessor (the mock's chip has four) has several tiles, and both factors suit bulk copies."""
    n = 1100 if wide else 200
    memory = ingot.from_numpy(np.random.default_rng(9).standard_normal(n * 64 + 1)).bfloat16()
    with mock_cuda.installed(arch=90) as cuda:
        x, w = memory.cuda()[:n * 64].view(n, 64), memory.cuda()[offset:offset + n * 64].view(n, 64)
        w = w if along else w.t().contiguous().t()
        got = (x @ w.t()).cpu()
        assert ("persistent" in cuda.launches[-1]["name"]) == persistent
    want = memory[:n * 64].view(n, 64).double() @ memory[offset:offset + n * 64].view(n, 64).double().t()
    assert (got.double() - want).abs().max() < 1e-2 * want.abs().max()


@pytest.mark.parametrize("strategy", ["", *matmul_hopper.TILES])
@pytest.mark.parametrize("first", dt.FLOAT8, ids=str)
def test_products_of_float8(strategy, first):
    """The chip's own products, of either kind with the other, in float32."""
    rng = np.random.default_rng(9)
    kinds, chosen = Kinds(first, dt.FLOAT8[0], dt.float32), matmul.Tiles(32, 64, 32, 4, 3, strategy)
    batch, m, n, k = 2, 40, 72, 112
    x, y = rng.standard_normal((batch, m, k)).astype(kinds.x.np), rng.standard_normal((batch, k, n)).astype(kinds.y.np)
    want = x.astype(np.float64) @ y.astype(np.float64)
    for flip, precision in ((True, "ieee"), (True, FAST), (False, "ieee")):
        there, steps = transposed_if(y, flip)
        if strategy and not flip:
            assert not matmul_hopper.takes(kinds, 90, (k, 1), steps[1:], ())
            continue
        units = (False, True), (steps[1] == 1, steps[2] == 1)
        if strategy:
            assert matmul_hopper.takes(kinds, 90, (k, 1), steps[1:], (m * k, steps[0]))
            source = matmul_hopper.source(kinds, precision, *units, matmul.CONSTANTS, strategy)
        else:
            source = matmul.source(kinds, precision, *units)
        assert ("max_num_imprecise_acc" in source.text) == (precision == "ieee")
        sizes = {"M": m, "N": n, "K": k, "s_xb": m * k, "s_xm": k} | dict(zip(("s_yb", "s_yk", "s_yn"), steps))
        z = np.zeros((batch, m, n), np.float32)
        values = [x, there, z, *[("i32", sizes[p.name]) for p in source.parameters if p.kind != POINTER]]
        mock_cuda_triton.run(source.text, source.name, matmul.grid(m, n, batch, chosen, 2), values,
                             dict(chosen.constants) | {"INDEX": np.int32})
        np.testing.assert_allclose(z, want, rtol=1e-5, atol=1e-5, err_msg=f"{strategy} {flip} {precision}")


def test_bulk_copies_want_addresses_on_multiples_of_16_bytes():
    takes, good = matmul_hopper.takes, ((64, 1), (1, 48), (0, 4096))
    assert takes(dt.bfloat16, 90, *good) and not takes(dt.bfloat16, 80, *good) and not takes(dt.float32, 90, *good)
    assert not takes(dt.bfloat16, 90, (60, 1), *good[1:]) and not takes(dt.bfloat16, 90, *good[:2], (8, 4096))
    assert not takes(dt.bfloat16, 90, (64, 2), *good[1:]) and not takes(dt.bfloat16, 90, (0, 1), *good[1:])


def transposed_if(a, flip):
    """(the array in memory, strides of its three dims in elements)."""
    _, m, n = a.shape
    if flip:
        return np.ascontiguousarray(a.swapaxes(1, 2)), (m * n, 1, m)
    return a, (m * n, n, 1)


VECTORS = {
    "rows": ((33, 70), (70, 1)), "columns": ((1, 33), (33, 70)), "a pair": ((1, 40), (40, 1)), "one step": ((9, 1), (1, 1)),
    "many rows": ((5, 33, 70), (5, 70, 1)), "many columns": ((5, 1, 33), (5, 33, 20)), "pairs": ((300, 1, 40), (300, 40, 1))}


@pytest.mark.parametrize("flips", [(False, False), (True, False), (False, True), (True, True)])
@pytest.mark.parametrize("name", VECTORS)
def test_products_with_vectors_are_sums(name, flips, monkeypatch):
    """One launch that reads the matrix once, however it lies; exact products alone."""
    monkeypatch.setattr(products, "VECTORS", 0)
    rng = np.random.default_rng(4)
    for dtype, own in (("float32", True), ("float64", True), ("bfloat16", False)):
        factors = [ingot.tensor(rng.standard_normal(s)).to(getattr(ingot, dtype)) for s in VECTORS[name]]
        factors = [t.mT.contiguous().mT if flip else t for t, flip in zip(factors, flips)]
        with mock_cuda.installed() as cuda:
            given = [t.cuda() for t in factors]
            before = len(cuda.launches)
            got = (given[0] @ given[1]).cpu()
            names = [one["name"] for one in cuda.launches[before:]]
        assert any(n.startswith("vectors") for n in names) is own and len(names) == 1, names
        room = 2e-2 if dtype == "bfloat16" else 1e-5
        want = factors[0].double() @ factors[1].double()
        np.testing.assert_allclose(got.double().numpy(), want.numpy(), rtol=room, atol=room * 8)
