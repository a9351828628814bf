"""Reductions of integers and bools: small arrays by NumPy, large ones by the kernels of traced code, with one result."""

import numpy as np
import pytest

import ingot
from covering import thinned
from ingot.runtime.cpu.loops import kernels, reduction_kernels

KINDS = ["bool", "uint8", "int16", "int32", "int64", "uint64"]
SHAPES = [((7,), (0,)), ((5, 3), (1,)), ((66, 17), (0,)), ((3, 4, 5), (0, 2)), ((2, 100), (1,)), ((0, 3), (0,)), ((3, 0), (0,))]
OPERATORS = ["sum", "prod", "amax", "amin", "any", "all", "argmax", "argmin"]


def numbers(kind, shape, seed):
    """Return both ends of the dtype, and small numbers of which many are equal."""
    rng = np.random.default_rng(seed)
    if kind == "bool":
        return rng.random(shape) < 0.3
    ends = np.iinfo(kind)
    far, near = rng.choice(np.array([ends.min, ends.max], kind), shape), rng.integers(0, 3, shape).astype(kind)
    return np.where(rng.random(shape) < 0.2, far, near)


def reduced(op, x, dims, keepdim):
    """Return the result, or the kind of error."""
    try:
        return getattr(ingot.from_numpy(x), op)(dims if op in ("sum", "amax", "amin") else dims[0], keepdim=keepdim)
    except ingot.IngotError as error:
        return type(error)


@pytest.mark.parametrize("kind, op", thinned(KINDS, OPERATORS))
def test_kernels_equal_numpy(kind, op, monkeypatch):
    for seed, (shape, dims) in enumerate(SHAPES):
        a, what = numbers(kind, shape, seed), f"{op} of {kind}{shape} over {dims}, seed {seed}"
        for x, keepdim in ((a, False), (np.repeat(a, 2, -1)[..., ::2], True)):
            monkeypatch.setattr(reduction_kernels, "LARGE", 1 << 40)
            small = reduced(op, x, dims, keepdim)
            monkeypatch.setattr(reduction_kernels, "LARGE", 0)
            large = reduced(op, x, dims, keepdim)
            if isinstance(small, type):
                assert small is large, what
            else:
                assert small.dtype is large.dtype and np.array_equal(small.numpy(), large.numpy()), what


@pytest.mark.parametrize("op", ["sum", "amax", "any", "argmax"])
def test_large_arrays_take_kernels(op, monkeypatch):
    kinds, real = [], kernels.reduction
    monkeypatch.setattr(reduction_kernels.kernels, "reduction", lambda kind, *rest: kinds.append(kind) or real(kind, *rest))
    run = reduction_kernels.of_integers({"amax": "max"}.get(op, op), lambda x, *, dim, keepdim: "numpy")
    small, large = np.zeros((5, 3), np.int32), np.zeros((20000, 3), np.int32)
    assert isinstance(run(small, dim=(1,), keepdim=False), str) and not kinds
    assert run(large, dim=(1,), keepdim=False).shape == (20000,) and len(kinds) == 1
    along = run(np.zeros((600, 64), np.int32), dim=(1,), keepdim=False)
    assert isinstance(along, str) == (op == "argmax")
