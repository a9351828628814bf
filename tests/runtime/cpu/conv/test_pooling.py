"""Pool and batch normalisation kernels against the operators' references: geometries, NaN and infinity, threads, accuracy."""

import numpy as np
import pytest

from blocked_arrays import block, operator, unblock
from ingot.ir import target
from ingot.ir.errors import ShapeError
from ingot.ir.ops.nn import norm as norm_ops
from ingot.ir.ops.nn import pool as ops
from ingot.passes.codegen.llvm.conv import batch_norm as norm_code
from ingot.passes.codegen.llvm.conv import pooling as pool_code
from ingot.passes.codegen.llvm.conv.pooling_blocked import BlockedPoolKernel
from ingot.runtime.core.dispatch import kernel_of
from ingot.runtime.cpu.compiler import compile as compiler
from ingot.runtime.cpu.conv import batch_norm, pooling

TOLERANCE = {"float32": 2e-6, "float64": 4e-15}


def windows(rng, dilated):
    """Return (spatial sizes, parameters) of random windows that all meet the input."""
    while True:
        rank = int(rng.integers(1, 4))
        size = tuple(int(n) for n in rng.integers(2, 70 if rank < 3 else 9, rank))
        kernel, stride = (tuple(int(n) for n in rng.integers(1, 5, rank)) for _ in range(2))
        dilation = tuple(int(n) for n in rng.integers(1, 3 if dilated else 2, rank))
        padding = tuple(tuple(int(n) for n in rng.integers(0, k // 2 + 1, 2)) for k in kernel)
        if all(n + lo + hi > d * (k - 1) for n, (lo, hi), k, d in zip(size, padding, kernel, dilation)):
            return size, {"kernel": kernel, "stride": stride, "padding": padding, "dilation": dilation}


FILLS = {"ties": lambda rng, shape: rng.integers(-2, 3, shape),
         "nan": lambda rng, shape: np.where(rng.random(shape) < 0.2, np.nan, rng.integers(-2, 3, shape)),
         "lowest": lambda rng, shape: np.where(rng.random(shape) < 0.8, -np.inf, rng.integers(-2, 3, shape))}


@pytest.mark.parametrize("fill", FILLS)
@pytest.mark.parametrize("seed", range(12))
def test_maxima_and_their_positions(fill, seed, threads):
    rng = np.random.default_rng([seed, len(fill)])
    threads(1 + seed % 2)
    size, params = windows(rng, True)
    x = FILLS[fill](rng, (2, 3, *size)).astype(("float32", "float64")[seed % 2])
    best, places = kernel_of(ops.max_pool)(x, **params)
    wanted, wanted_places = ops.max_pool.ref(x, **params)
    message = f"seed {seed}: {x.shape} {params}"
    assert best.dtype == x.dtype and np.array_equal(best, wanted, equal_nan=True), message
    assert places.dtype == np.int64 and np.array_equal(places, wanted_places), message
    g = rng.standard_normal(best.shape).astype(x.dtype)
    for accumulate in (True, False):
        given = {"size": size, "accumulate": accumulate}
        assert np.array_equal(kernel_of(ops.plane_put)(g, places, **given), ops.plane_put.ref(g, places, **given)), message


@pytest.mark.parametrize("fill", FILLS)
@pytest.mark.parametrize("shape, size", [((1, 2, 5000), (7,)), ((2, 3, 57, 43), (4, 7)), ((2, 3, 57, 43), (1, 1)),
                                         ((1, 2, 24, 16, 17), (3, 5, 2)), ((1, 80, 10, 12), (11, 13))])
def test_maxima_of_bins(fill, shape, size):
    x = FILLS[fill](np.random.default_rng(len(fill)), shape).astype(np.float32)
    (best, places), (wanted, wanted_places) = (f(x, size=size) for f in (kernel_of(ops.adaptive_max_pool),
                                                                         ops.adaptive_max_pool.ref))
    assert best.dtype == x.dtype and np.array_equal(best, wanted, equal_nan=True)
    assert places.dtype == np.int64 and np.array_equal(places, wanted_places)


@pytest.mark.parametrize("fill", FILLS)
def test_large_disjoint_windows_are_reduced_as_bins(fill):
    x = FILLS[fill](np.random.default_rng(len(fill)), (2, 3, 64, 48)).astype(np.float32)
    params = {"kernel": (32, 24), "stride": (32, 24), "padding": ((0, 0), (0, 0)), "dilation": (1, 1)}
    (best, places), (wanted, wanted_places) = (f(x, **params) for f in (kernel_of(ops.max_pool), ops.max_pool.ref))
    assert np.array_equal(best, wanted, equal_nan=True) and np.array_equal(places, wanted_places)


@pytest.mark.parametrize("seed", range(24))
def test_averages_and_their_gradients(seed, threads):
    rng = np.random.default_rng(seed)
    threads(1 + seed % 2)
    dtype = ("float32", "float64")[seed // 2 % 2]
    size, params = windows(rng, False)
    params = {name: params[name] for name in ("kernel", "stride", "padding")}
    params |= {"counted": (params["padding"], ((0, 0),) * len(size))[seed % 2], "divisor": 3 if seed % 5 == 0 else None}
    x = rng.standard_normal((2, 3, *size)).astype(dtype)
    message = f"seed {seed}: {x.shape} {params}"
    y = kernel_of(ops.avg_pool)(x, **params)
    assert np.abs(y - ops.avg_pool.ref(x.astype(np.float64), **params)).max() <= 20 * TOLERANCE[dtype], message
    g = rng.standard_normal(y.shape).astype(dtype)
    dx = kernel_of(ops.avg_pool_grad)(g, size=size, **params)
    wanted = ops.avg_pool_grad.ref(g.astype(np.float64), size=size, **params)
    assert dx.dtype == g.dtype and np.abs(dx - wanted).max() <= 20 * TOLERANCE[dtype], message


FEW_NAN = {"some_nan": lambda rng, shape: np.where(rng.random(shape) < 0.002, np.nan, rng.integers(-1, 2, shape) * 0.0)}


@pytest.mark.parametrize("fill", FILLS | FEW_NAN)
@pytest.mark.parametrize("seed", range(12))
def test_blocked_maxima_and_their_positions(fill, seed):
    rng = np.random.default_rng([seed, len(fill), 1])
    dtype = ("float32", "float64")[seed % 2]
    size, params = windows(rng, True)
    x = (FILLS | FEW_NAN)[fill](rng, (2, 19, *size)).astype(dtype)
    wanted, wanted_places = ops.max_pool.ref(x, **params)
    message = f"seed {seed}: {x.shape} {params}"
    best, places = operator("max_pool_places_blocked")(block(x), **params)
    for found in (unblock(a, 19) for a in (best, operator("max_pool_blocked")(block(x), **params))):
        assert np.array_equal(found, wanted, equal_nan=True), message
        assert np.array_equal(np.signbit(found), np.signbit(wanted)), message
    assert np.array_equal(np.moveaxis(places, -1, 2).reshape(2, -1, *wanted.shape[2:])[:, :19], wanted_places), message


@pytest.mark.parametrize("seed", range(8))
def test_blocked_averages(seed):
    rng = np.random.default_rng(seed)
    dtype = ("float32", "float64")[seed % 2]
    size, params = windows(rng, False)
    x = rng.standard_normal((2, 19, *size)).astype(dtype)
    params = {name: params[name] for name in ("kernel", "stride", "padding")} | {"counted": params["padding"], "divisor": None}
    mean = unblock(operator("avg_pool_blocked")(block(x), **params), 19)
    wanted = ops.avg_pool.ref(x.astype(np.float64), **params)
    assert np.abs(mean - wanted).max() <= 20 * TOLERANCE[dtype], f"seed {seed}: {x.shape} {params}"


def test_a_global_average():
    x = np.random.default_rng(0).standard_normal((3, 5, 7, 9))
    params = {"kernel": (7, 9), "stride": (7, 9), "padding": ((0, 0),) * 2, "counted": ((0, 0),) * 2, "divisor": None}
    y = kernel_of(ops.avg_pool)(x, **params)
    assert y.shape == (3, 5, 1, 1) and np.abs(y[..., 0, 0] - x.mean((2, 3))).max() < 1e-15


@pytest.mark.parametrize("place", [-1, 20])
def test_positions_outside_of_a_plane_are_refused(place):
    g, places = np.ones((1, 2, 3), np.float32), np.zeros((1, 2, 3), np.int64)
    places[0, 1, 2] = place
    with pytest.raises(ShapeError, match="outside of a plane"):
        kernel_of(ops.plane_put)(g, places, size=(4, 5), accumulate=True)


def test_windows_outside_the_input_use_the_reference():
    x = np.ones((1, 1, 3), np.float32)
    params = {"kernel": (1,), "stride": (1,), "padding": ((2, 2),), "dilation": (1,)}
    assert pooling.max_pool(x, **params) is None
    best, _ = kernel_of(ops.max_pool)(x, **params)
    assert best.tolist() == [[[-np.inf, -np.inf, 1, 1, 1, -np.inf, -np.inf]]]


SHAPES = [(4, 5, 7, 9), (64, 10), (3, 4, 2), (2, 3, 4100), (8, 32, 20, 20), (1, 1, 1), (5, 3, 16)]


def statistics(rng, shape, dtype, offset):
    """Return random (x, weight, bias, gradients of the three results)."""
    x = (rng.standard_normal(shape) * 2 + offset).astype(dtype)
    others = [rng.standard_normal(shape[1]).astype(dtype) for _ in range(4)]
    return x, *others[:2], rng.standard_normal(shape).astype(dtype), *others[2:]


def close(found, wanted, tolerance):
    assert found.dtype == wanted.dtype or wanted.dtype == np.float64
    assert np.abs(found - wanted).max() <= tolerance * max(np.abs(wanted).max(), 1e-30)


@pytest.mark.parametrize("offset", [0, 1000])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_batch_norm_by_its_own_statistics(shape, dtype, offset, threads):
    threads(2)
    x, w, b, g, g_mean, g_var = statistics(np.random.default_rng(len(shape)), shape, dtype, offset)
    wide = [a.astype(np.float64) for a in (x, w, b)]
    y, mean, var = kernel_of(norm_ops.batch_norm_train)(x, w, b, eps=1e-5)
    wanted, wanted_mean, wanted_var = norm_ops.batch_norm_train.ref(*wide, eps=1e-5)
    epsilon = np.finfo(dtype).eps
    assert np.abs(mean - wanted_mean).max() <= 4 * (1 + offset) * epsilon
    close(var, wanted_var, 60 * epsilon)
    close(y, wanted, (20 + 2 * offset) * epsilon)
    grads = kernel_of(norm_ops.batch_norm_grad)(g, g_mean, g_var, x, w, mean, var, eps=1e-5)
    expected = norm_ops.batch_norm_grad.ref(*(a.astype(np.float64) for a in (g, g_mean, g_var, x, w, mean, var)), eps=1e-5)
    for found, wanted in zip(grads, expected):
        close(found, wanted, 200 * epsilon if shape != (1, 1, 1) else 1e-4)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_batch_norm_by_given_statistics(shape):
    rng = np.random.default_rng(7)
    x, w, b, *_ = statistics(rng, shape, "float32", 0)
    mean, var = rng.standard_normal(shape[1]).astype("f4"), rng.random(shape[1]).astype("f4") + np.float32(0.1)
    for weight in (w, None):
        for bias in (b, None):
            found = kernel_of(norm_ops.batch_norm)(x, weight, bias, mean, var, eps=1e-5)
            assert np.array_equal(found, norm_ops.batch_norm.ref(x, weight, bias, mean, var, eps=1e-5))
            clipped = batch_norm.evaluate(x, weight, bias, mean, var, eps=1e-5, relu=True)
            assert np.array_equal(clipped, np.maximum(found, 0))


def test_threads_and_other_channels_change_nothing(threads):
    x, w, b, g, g_mean, g_var = statistics(np.random.default_rng(8), (6, 40, 13, 11), "float32", 3)
    results = []
    for count in (1, 2, 3):
        threads(count)
        y, mean, var = kernel_of(norm_ops.batch_norm_train)(x, w, b, eps=1e-5)
        results.append((y, mean, var, *kernel_of(norm_ops.batch_norm_grad)(g, g_mean, g_var, x, w, mean, var, eps=1e-5)))
    for one, other in zip(results[0] * 2, results[1] + results[2]):
        assert np.array_equal(one, other)
    alone = kernel_of(norm_ops.batch_norm_train)(x[:, 7:8], w[7:8], b[7:8], eps=1e-5)[0]
    assert np.array_equal(alone[:, 0], results[0][0][:, 7])


@pytest.mark.parametrize("level", ["x86-64-v4", "x86-64-v3", "x86-64", "aarch64"])
def test_modules_compile_for_every_target(level):
    machine = target.cpu(level)
    made = [norm_code.BatchNormKernel(machine, kind, element, True).text()
            for kind in (norm_code.TRAIN, norm_code.EVAL, norm_code.GRAD) for element in ("float", "double")]
    made += [pool_code.PoolKernel(machine, kind, "float", spread).text()
             for kind in (pool_code.MAX, pool_code.AVERAGE, pool_code.AVERAGE_GRAD)
             for spread in (pool_code.CONTIGUOUS, pool_code.PAIRS, pool_code.APART)]
    made += [BlockedPoolKernel.of(machine, kind, "double", taps).text() for kind in (pool_code.MAX, pool_code.AVERAGE)
             for taps in ((1, 3, 3), (1, 7, 7), (2, 2, 2))]
    for text in (*made, pool_code.PoolKernel(machine, pool_code.PUT, "double").text()):
        assert compiler.emit_object(text, machine)
