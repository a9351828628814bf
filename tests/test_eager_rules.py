"""Gradient rules of elementwise operators on large arrays: one kernel from the second time on, with the bits of the rule's
operations one after the other."""

import gc

import numpy as np
import pytest

import ingot
from ingot.nn import functional as F
from ingot.runtime.autograd import node
from ingot.runtime.cpu import eager_composites

SHAPE = (190, 190)
FUNCTIONS = {
    "gelu": (F.gelu, True), "gelu_tanh": (lambda x: F.gelu(x, approximate="tanh"), True), "silu": (F.silu, True),
    "mish": (F.mish, True), "softplus": (F.softplus, True), "tanh": (ingot.tanh, True), "sigmoid": (ingot.sigmoid, True),
    "log_sigmoid": (F.logsigmoid, True), "pow": (lambda x: ingot.abs(x) ** 2.5, True), "atan": (ingot.atan, True),
    "exp": (ingot.exp, False), "mul": (lambda x: x * x, False), "neg": (lambda x: -x, False),
    "divided by itself and one": (lambda x: x / (x * x + 1), True), "larger": (lambda x: ingot.maximum(x, -x), True),
    "where": (lambda x: ingot.where(x > 0, x, x * 2), False),
}


def gradient(f, x, g):
    x.grad = None
    f(x).backward(g)
    return x.grad.numpy().copy()


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("dtype", [ingot.float32, ingot.float64, ingot.float16, ingot.bfloat16], ids=str)
def test_bits_are_those_of_the_operations(name, dtype, monkeypatch):
    f, _ = FUNCTIONS[name]
    ingot.manual_seed(3)
    x, g = ingot.randn(SHAPE).to(dtype).requires_grad_(), ingot.randn(SHAPE).to(dtype)
    found = [gradient(f, x, g) for _ in range(3)]
    monkeypatch.setattr(node, "LARGE", 1 << 60)
    expected = gradient(f, x, g)
    for each in found:
        np.testing.assert_array_equal(each, expected)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_which_rules_are_one_kernel(name):
    f, joined = FUNCTIONS[name]
    x, g = ingot.randn(SHAPE).requires_grad_(), ingot.randn(SHAPE)
    eager_composites.rules_of.cache_clear()
    made = []
    for _ in range(3):
        gradient(f, x, g)
        made.append([rule for rule in _rules() if any(callable(v) for v in rule._made.values())])
    assert [bool(m) for m in made] == [False, joined, joined]


def _rules():
    return [r for r in gc.get_objects() if type(r) is eager_composites.Rules]


def test_gradients_of_other_strides():
    x = ingot.randn(SHAPE).requires_grad_()
    for g in (ingot.randn(SHAPE), ingot.randn(SHAPE).t(), ingot.randn(SHAPE[0], 1).expand(SHAPE)):
        expected = gradient(F.gelu, x, g.contiguous())
        for _ in range(3):
            np.testing.assert_array_equal(gradient(F.gelu, x, g), expected)


def test_a_condition_that_is_a_number_meets_large_arrays():
    x = (ingot.rand(SHAPE) + 0.5).requires_grad_()
    (x ** 2.5).sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), 2.5 * x.detach().numpy() ** 1.5, rtol=1e-5)
