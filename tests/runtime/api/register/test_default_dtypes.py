"""Dtypes of results under each default dtype: integers that become floats, numbers, and complex numbers."""

import pytest

import ingot

FLOATS = {ingot.float32: ingot.complex64, ingot.float64: ingot.complex128, ingot.float16: ingot.complex64,
          ingot.bfloat16: ingot.complex64}
WHOLE = [ingot.uint8, ingot.int8, ingot.int32, ingot.int64, ingot.bool]
FLOATING = {
    "sqrt": ingot.sqrt, "exp": ingot.exp, "sin": ingot.sin, "sigmoid": ingot.sigmoid, "log1p": ingot.log1p, "erf": ingot.erf,
    "reciprocal": ingot.reciprocal, "div": lambda x: x / x, "divided by a number": lambda x: x / 2,
    "plus a float": lambda x: x + 0.5, "times a float": lambda x: x * 1.5, "to a power": lambda x: x ** 0.5,
    "where": lambda x: ingot.where(x > 0, x, 0.5), "atan2": lambda x: ingot.atan2(x, x),
    "mean of floats": lambda x: (x * 1.0).mean(), "a new tensor": lambda x: ingot.tensor([1.5, 2.0]),
    "full": lambda x: ingot.full((2,), 0.5), "ones": lambda x: ingot.ones(2), "arange": lambda x: ingot.arange(0.0, 2.0),
    "eye": lambda x: ingot.eye(2), "linspace": lambda x: ingot.linspace(0, 1, 3), "rand": lambda x: ingot.rand(2),
    "logspace": lambda x: ingot.logspace(0, 1, 2)}
COMPLEX = {
    "times i": lambda x: x * 1j, "plus i": lambda x: x + 1j, "minus i": lambda x: 1j - x, "over i": lambda x: x / 1j,
    "a new tensor": lambda x: ingot.tensor([1j]), "full": lambda x: ingot.full((2,), 1j), "to a power": lambda x: x ** 1j,
    "where": lambda x: ingot.where(x > 0, x, 1j), "asked": lambda x: ingot.empty(1, dtype=ingot.result_type(x, 1j))}


@pytest.fixture(params=FLOATS, ids=str)
def default(request):
    ingot.set_default_dtype(request.param)
    yield request.param
    ingot.set_default_dtype(ingot.float32)


@pytest.mark.parametrize("dtype", WHOLE, ids=str)
@pytest.mark.parametrize("name", FLOATING)
def test_floats_of_integers_have_the_default_dtype(name, dtype, default):
    x = ingot.ones(2, dtype=dtype)
    assert FLOATING[name](x).dtype is default
    step = ingot.jit.trace(FLOATING[name])
    assert step(x).dtype is step(x).dtype is default


@pytest.mark.parametrize("dtype", WHOLE, ids=str)
@pytest.mark.parametrize("name", COMPLEX)
def test_complex_numbers_of_integers_have_the_default_precision(name, dtype, default):
    if dtype is ingot.bool and name == "minus i":
        dtype = ingot.int32
    assert COMPLEX[name](ingot.ones(2, dtype=dtype)).dtype is FLOATS[default]


@pytest.mark.parametrize("own", FLOATS, ids=str)
def test_tensors_of_floats_keep_their_precision(own, default):
    x = ingot.ones(2, dtype=own)
    assert (x * 1.5).dtype is (x + 1).dtype is ingot.sqrt(x).dtype is own
    assert (x * 1j).dtype is FLOATS[own]
