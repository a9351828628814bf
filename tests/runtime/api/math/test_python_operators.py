"""Python operators of two dtypes, and of integers beside floats: the short path agrees with the functions."""

import itertools
import operator

import numpy as np
import pytest

import ingot
from ingot.runtime.api.math import python_operators

NAMES = {"add": operator.add, "sub": operator.sub, "mul": operator.mul, "div": operator.truediv, "eq": operator.eq,
         "ne": operator.ne, "lt": operator.lt, "le": operator.le, "gt": operator.gt, "ge": operator.ge}
DTYPES = ("bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64", "complex64")
SHAPES = (((2, 3), (3,)), ((2, 3), ()), ((), (2, 3)), ((), ()))
NUMBERS = (0.3, -1.5, 2, -3, True, float("inf"))
RNG = np.random.default_rng(3)


def tensor(shape, dtype):
    return ingot.tensor(RNG.integers(0, 2 if dtype == "bool" else 9, shape)).to(getattr(ingot, dtype))


def told(call):
    """Return the result of a call, or the kind of its error."""
    try:
        return call()
    except Exception as error:
        return type(error)


def same(got, want):
    if isinstance(want, type):
        assert got is want
        return
    facts = [(t.dtype, t.shape, t.stride(), t.requires_grad) for t in (got, want)]
    assert facts[0] == facts[1]
    np.testing.assert_array_equal(got.detach().to(ingot.complex128).numpy(), want.detach().to(ingot.complex128).numpy())


@pytest.mark.parametrize("name", NAMES)
def test_tensors_of_two_dtypes(name):
    for first, second in itertools.permutations(DTYPES, 2):
        for one, other in SHAPES:
            x, y = tensor(one, first), tensor(other, second)
            same(told(lambda: NAMES[name](x, y)), told(lambda: getattr(ingot, name)(x, y)))


@pytest.mark.parametrize("default", ["float32", "float64", "bfloat16"])
@pytest.mark.parametrize("name", NAMES)
def test_integer_tensors_with_python_numbers(name, default):
    before = ingot.get_default_dtype()
    ingot.set_default_dtype(getattr(ingot, default))
    try:
        for dtype, number, shape in itertools.product(DTYPES, NUMBERS, [(2, 3), ()]):
            x = tensor(shape, dtype)
            same(told(lambda: NAMES[name](x, number)), told(lambda: getattr(ingot, name)(x, number)))
            if name in ("add", "sub", "mul", "div"):
                same(told(lambda: NAMES[name](number, x)), told(lambda: getattr(ingot, name)(number, x)))
    finally:
        ingot.set_default_dtype(before)


@pytest.mark.parametrize("turned", [False, True])
def test_order_in_memory_and_sizes_beyond_the_road(turned):
    for n in (7, python_operators.LARGE // 7 + 1):
        x, mask = ingot.rand(7, n), ingot.rand(7, n) > 0.5
        if turned:
            x, mask = x.t(), mask.t()
        same(x * mask, ingot.mul(x, mask))
        same(mask * x, ingot.mul(mask, x))


@pytest.mark.parametrize("name", ["add", "sub", "mul", "div"])
def test_gradients(name):
    for dtype, wide in itertools.product(("float32", "float64"), ("int64", "uint8", "float64")):
        grads = []
        for call in (NAMES[name], getattr(ingot, name)):
            x = ingot.arange(1.0, 4.0, dtype=getattr(ingot, dtype)).requires_grad_()
            y = ingot.tensor([2, 3, 4], dtype=getattr(ingot, wide), requires_grad=wide == "float64")
            (call(x, y) * ingot.tensor([1, 2, 3])).sum().backward()
            grads.append((x.grad, y.grad))
        (dx, dy), (wanted, beside) = grads
        same(dx, wanted)
        assert (dy is None) == (beside is None)
        if dy is not None:
            same(dy, beside)


def test_observers_see_the_cast():
    with ingot.profiler.profile() as seen:
        ingot.ones(3) * ingot.arange(3)
    assert [event.name for event in seen.events()][-2:] == ["cast", "mul"]
