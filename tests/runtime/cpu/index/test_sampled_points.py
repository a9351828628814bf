"""Sums of elements at given points against their references; sampling at grids against PyTorch."""

import itertools

import numpy as np
import pytest

import ingot
import ingot.nn.functional as F
from ingot.ir.ops.nn import sampled_points as ops
from ingot.runtime.cpu.calls import pool
from ingot.runtime.cpu.index import sampled_points as kernels

SHAPES = [(1, 1, (3,), (1,), 1), (2, 3, (9, 7), (600,), 4), (1, 20, (40, 33), (31, 37), 4), (3, 2, (2, 5, 3), (4, 4, 33), 8),
          (1, 2, (6, 6), (513,), 16), (2, 2, (6, 6), (5,), 17)]


def random_case(images, channels, size, points, count, dtype):
    rng = np.random.default_rng(0)
    positions = rng.integers(-1, np.prod(size), (images, count, *points)).astype(np.int32)
    x, y, weights = (rng.standard_normal(s).astype(dtype) for s in ((images, channels, *size), (images, channels, *points),
                                                                    positions.shape))
    x.flat[0] = np.inf
    return x, y, positions, weights


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("case", SHAPES, ids=str)
def test_kernels_equal_their_references(case, dtype):
    x, y, positions, weights = random_case(*case, dtype)
    size, before = x.shape[2:], pool.get_num_threads()
    near = {"rtol": 1e-4 if dtype == "float32" else 1e-12, "atol": 1e-4 if dtype == "float32" else 1e-12}
    results = []
    try:
        for threads in (1, 2):
            pool.set_num_threads(threads)
            results.append([kernels.take(x, positions, weights), kernels.take(x, positions, None),
                            kernels.put(y, positions, weights, size=size), kernels.put(y, positions, None, size=size),
                            kernels.dots(x, y, positions)])
    finally:
        pool.set_num_threads(before)
    with np.errstate(all="ignore"):
        want = [ops.taps_take.ref(x, positions, weights), ops.taps_take.ref(x, positions, None),
                ops.taps_put.ref(y, positions, weights, size=size), ops.taps_put.ref(y, positions, None, size=size),
                ops.taps_dots.ref(x, y, positions)]
    assert results[0][0].tobytes() == np.asarray(want[0]).tobytes(), "sums over taps run in their order"
    for one, two, ref in zip(*results, want):
        assert one.tobytes() == two.tobytes() and one.dtype == ref.dtype
        np.testing.assert_allclose(one, ref, **near)


@pytest.mark.peer
@pytest.mark.parametrize(("mode", "padding", "align"), list(itertools.product(
    ("bilinear", "nearest", "bicubic"), ("zeros", "border", "reflection"), (False, True))))
def test_grid_sample_equals_pytorch(mode, padding, align):
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(1)
    for size, points in (((11, 13), (29, 30)), ((5, 6, 7), (4, 5, 33))):
        if mode == "bicubic" and len(size) == 3:
            continue
        x, grid = rng.standard_normal((2, 3, *size)), rng.uniform(-1.4, 1.4, (2, *points, len(size)))
        found = []
        for library in (ingot, torch):
            a, b = (library.tensor(v).requires_grad_() for v in (x, grid))
            fn = (F if library is ingot else torch.nn.functional).grid_sample
            y = fn(a, b, mode=mode, padding_mode=padding, align_corners=align)
            (y * y).sum().backward()
            found.append([v.detach().numpy() for v in (y, a.grad, b.grad)])
        for ours, theirs in zip(*found):
            np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-9)


def test_positions_of_nan_are_outside():
    x, grid = ingot.randn(1, 2, 4, 4), ingot.full((1, 3, 3, 2), float("nan"))
    assert F.grid_sample(x, grid, mode="nearest", align_corners=False).abs().sum().item() == 0
