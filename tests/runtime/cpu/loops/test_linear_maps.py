"""Linear maps along a dim, sums by index arrays, rows of channels and shared gradients against their references."""

import gc
import time
import tracemalloc

import numpy as np
import pytest

import ingot
from graphs import same_bits
from ingot import jit
from ingot.ir.opdef.op import OPS
from ingot.ir.ops.index import indexing
from ingot.ir.ops.nn import linear_maps, resample
from ingot.ir.sized_cache import SizedCache
from ingot.nn import functional as F
from ingot.runtime.cpu.graph import eager
from ingot.runtime.cpu.loops import linear_maps as kernels

COPIES = {"reflect": lambda n: linear_maps.border_table("reflect", n, 3, 4),
          "circular": lambda n: linear_maps.border_table("circular", n, 5, -3),
          "nearest": lambda n: linear_maps.resample_table("nearest", n, 2 * n + 1, False, None)}
WEIGHTED = {"linear": lambda n: linear_maps.resample_table("linear", n, 2 * n + 1, False, None),
            "cubic": lambda n: linear_maps.resample_table("cubic", n, n // 2, False, None),
            "back": lambda n: linear_maps.transposed_resample("linear", 3 * n, n, False, None),
            "bins": lambda n: linear_maps.resample_table("area", n, 7, False, None)}
SHAPES = (((3, 40, 50), 2), ((3, 40, 50), 1), ((70, 33), 0), ((5, 3, 1000), 2), ((40, 17), 1))


@pytest.mark.parametrize("kind", [np.int8, np.float16, np.float32, np.float64, np.int64], ids=str)
def test_maps_equal_their_tables_bit_for_bit(kind):
    rng = np.random.default_rng(0)
    tables = COPIES | (WEIGHTED if kind in (np.float32, np.float64) else {})
    for shape, axis in SHAPES:
        x = (9 * rng.standard_normal(shape)).astype(kind)
        for name, table in tables.items():
            made = table(shape[axis])
            for view in (x, x[::-1]):
                want = linear_maps.apply_table(view, axis, made)
                assert same_bits(kernels.apply(view, axis, made), want), f"{name} of {shape} along {axis}, seed 0"


INDICES = {"rows": ((9, 40, 5), (70, None, None)), "a middle dim": ((4, 30, 20), (None, 64, None)),
           "pairs": ((20, 30), (90, 90)), "apart": ((6, 5, 7), (33, None, 33)), "flat": ((50,), (3000,)),
           "rows of two": ((5, 6, 11), (40, 40, None))}


@pytest.mark.parametrize("kind", [np.float32, np.float64, np.int64], ids=str)
@pytest.mark.parametrize("name", INDICES)
def test_sums_by_index_arrays_run_in_order(name, kind):
    rng = np.random.default_rng(1)
    shape, counts = INDICES[name]
    x = np.rint(9 * rng.standard_normal(shape)).astype(kind)    # whole numbers: no sum rounds, whatever its order
    indices = [None if n is None else rng.integers(-size, size, n) for n, size in zip(counts, shape)]
    value = np.rint(9 * rng.standard_normal(x[indexing.key_of(indices)].shape)).astype(kind)
    op = OPS["index_put"]
    want = op.ref(x, value, *indices, accumulate=True)
    assert same_bits(eager.kernel_for(op)(x, value, *indices, accumulate=True), want)
    indices[next(d for d, n in enumerate(counts) if n)][-1] = shape[0] * 99
    with pytest.raises(Exception, match="out of range"):
        eager.kernel_for(op)(x, value, *indices, accumulate=True)


@pytest.mark.parametrize("kind", ["float32", "float64"])
@pytest.mark.parametrize("shape", [(2, 1), (5, 31), (129, 33), (300, 200)], ids=str)
def test_batch_norm_of_rows_of_channels(shape, kind):
    rng = np.random.default_rng(2)
    numbers, g = 2 * rng.standard_normal(shape) + 300, rng.standard_normal(shape)     # a common offset costs no accuracy
    arrays = (numbers, *rng.standard_normal((2, shape[1])))
    x, w, b = (ingot.tensor(a).to(getattr(ingot, kind)).requires_grad_() for a in arrays)

    def step(x, w, b, g):
        y = F.batch_norm(x, None, None, w, b, training=True)
        return y, *ingot.autograd.grad(y, (x, w, b), g)

    operands = (x, w, b, ingot.tensor(g).to(x.dtype))
    found, traced = step(*operands), jit.trace(step)
    traced(*operands)
    for a, t in zip(found, traced(*operands)):
        assert same_bits(a.detach().numpy(), t.detach().numpy())
    wide = [v.detach().double() for v in operands]
    x, w, b, g = (v[..., None] if v.ndim == 2 else v for v in wide)     # as planes of one pixel
    want = step(*[v.requires_grad_() for v in (x, w, b)], g)
    rough = 2e-3 if kind == "float32" else 1e-9
    for a, t in zip(found, want):
        np.testing.assert_allclose(a.detach().numpy(), t.detach().numpy().reshape(a.shape), rtol=rough, atol=rough)


@pytest.mark.parametrize("size, kernel, divisor", [((8,), (8,), None), ((12, 10), (3, 5), None), ((4, 6, 8), (2, 3, 4), 7)])
def test_gradients_of_average_pooling_with_disjoint_windows(size, kernel, divisor):
    op, windows = OPS["avg_pool_grad"], tuple(n // k for n, k in zip(size, kernel))
    g = np.random.default_rng(3).standard_normal((2, 3, *windows)).astype(np.float32)
    none = ((0, 0),) * len(size)
    params = {"size": size, "kernel": kernel, "stride": kernel, "padding": none, "counted": none, "divisor": divisor}
    assert same_bits(eager.kernel_for(op)(g, **params), op.ref(g, **params))


def test_whole_powers_are_products():
    x = ingot.tensor(np.random.default_rng(4).standard_normal(100).astype(np.float32))
    for y in (x, x.double()):
        assert (y**3 == y * y * y).all() and (y**-1 == 1 / y).all()


@pytest.mark.parametrize("mode", ["reflect", "replicate", "circular"])
def test_border_padding_equals_maps(mode):
    rng = np.random.default_rng(1)
    for shape in ((3, 7), (2, 3, 7), (2, 3, 5, 6), (1, 2, 4, 3, 5)):
        most = [n - (mode == "reflect") for n in shape]
        for padded in range(1, len(shape)):
            low, high = ([int(rng.integers(0, min(4, m) + 1)) * (d >= padded) for d, m in enumerate(most)] for _ in range(2))
            for x in (rng.standard_normal(shape).astype(np.float32), rng.standard_normal(shape[::-1]).T):
                want = resample.border_pad.ref(x, low=tuple(low), high=tuple(high), mode=mode)
                np.testing.assert_array_equal(kernels.bordered(x, tuple(low), tuple(high), mode), want)


N = 1 << 15
OF_MANY_SIZES = {
    **{mode: lambda n, mode=mode: F.interpolate(ingot.ones(1, 1, 100), size=n, mode=mode)
       for mode in ("nearest", "linear", "area", "nearest-exact")},
    "bicubic": lambda n: F.interpolate(ingot.ones(1, 1, 10, 10), size=(1, n), mode="bicubic"),
    "antialias": lambda n: F.interpolate(ingot.ones(1, 1, 10, 10), size=(1, n), mode="bilinear", antialias=True),
    "linear, gradient":
        lambda n: F.interpolate(ingot.ones(1, 1, 100, requires_grad=True), size=n, mode="linear").sum().backward(),
    **{mode: lambda n, mode=mode: F.pad(ingot.ones(1, 1, n), (3, 3), mode=mode)
       for mode in ("reflect", "replicate", "circular")},
    "reflect, gradient": lambda n: F.pad(ingot.ones(1, 1, n, requires_grad=True), (3, 3), mode="reflect").sum().backward(),
    "average pool": lambda n: F.avg_pool1d(ingot.ones(1, 1, n), 3, padding=1),
    "average pool, gradient": lambda n: F.avg_pool1d(ingot.ones(1, 1, n, requires_grad=True), 3, 2, 1).sum().backward(),
    "even bins": lambda n: F.adaptive_avg_pool1d(ingot.ones(1, 1, n), N // 3),
    "power pool": lambda n: F.lp_pool1d(ingot.ones(1, 1, n), 2, 3),
    "local responses": lambda n: F.local_response_norm(ingot.ones(1, 1, n), 3),
    "folds, gradient": lambda n: ingot.ones(n, requires_grad=True).unfold(0, 3, 1).sum().backward(),
}


@pytest.mark.drawn
@pytest.mark.parametrize("name", OF_MANY_SIZES)
def test_tables_of_many_sizes_take_bounded_memory(name, monkeypatch):
    monkeypatch.setattr(SizedCache, "most", 1 << 19)
    OF_MANY_SIZES[name](N)
    tracemalloc.start()
    try:
        for i in range(1, 30):
            OF_MANY_SIZES[name](N + 64 * i)
        gc.collect()
        assert tracemalloc.get_traced_memory()[0] < 3 << 20     # two caches, and plans without tables
    finally:
        tracemalloc.stop()


def test_many_small_values_are_few():
    cache = SizedCache()
    for i in range(2000):
        assert cache.put(i, str(i), 1) == str(i)
    assert list(cache.entries) == list(range(2000 - 512, 2000))
    cache.put("large", "x", cache.most)
    assert list(cache.entries) == ["large"]
    assert cache.put("larger", "y", cache.most + 1) == "y" and list(cache.entries) == ["large"]


@pytest.mark.drawn
@pytest.mark.parametrize("traced", [False, True])
@pytest.mark.parametrize("mode", ["reflect", "circular", "replicate"])
def test_borders_that_go_through_x_many_times(mode, traced):
    x, seconds = np.arange(6, dtype=np.float32).reshape(2, 3), []
    for low, high in ((0, 400), (0, 501)), ((0, 40_000), (0, 50_001)):
        def pad(t, low=low, high=high):
            return resample.border_pad(t, low=low, high=high, mode=mode)

        run, began = ingot.jit.trace(pad) if traced else pad, time.process_time()
        for _ in range(3):
            found = run(ingot.tensor(x)).numpy()
        seconds.append(time.process_time() - began)
        assert np.array_equal(found, resample.border_pad.ref(x, low=low, high=high, mode=mode))
    assert seconds[1] < seconds[0] + 0.4
