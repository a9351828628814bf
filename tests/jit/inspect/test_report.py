"""Explanations of traced functions: what runs products, convolutions and operators with native code of their own."""

import re

import pytest

import ingot
from ingot import jit

ROUTINES = {
    "product": (lambda x: x @ x, "matmul", r"by gemm_\w+"),
    "product with an epilogue": (lambda x: (x @ x + 1).relu(), "matmul", r"by gemm_\w+"),
    "convolution": (lambda x: ingot.nn.functional.conv2d(x.reshape(1, 4, 16, 16), ingot.ones(4, 4, 3, 3)), "conv",
                    r"by (direct|winograd\w*): \w+"),
    "attention": (lambda x: ingot.nn.functional.scaled_dot_product_attention(x, x, x), "attention", r"by attention_\w+"),
    "scan": (lambda x: x.cumsum(0), "cumsum", r"by scan_\w+"),
    "inverse": (lambda x: ingot.linalg.inv(x + ingot.eye(32)), "inv", "by its eager kernel"),
}


@pytest.mark.parametrize("name", ROUTINES)
def test_products_and_operators_name_what_runs(name):
    """The functions that `explain()` names are in `kernels`, with their code."""
    function, operation, how = ROUTINES[name]
    traced, x = jit.trace(function), ingot.rand(32, 32)
    for _ in range(2):
        traced(x)
    lines = [line for line in traced.explain().splitlines() if operation in line]
    assert re.search(how, lines[0]), lines
    for symbol in re.findall(r"by (?:\w+: )?(\w+_\w+|nested)", lines[0]):
        what, code = traced.kernels[symbol]
        assert operation in what and f"@{symbol}(" in code


def test_products_of_symbolic_sizes_name_what_runs():
    traced = jit.trace(lambda x: x @ x.T)
    for n in (8, 9, 10, 11):
        traced(ingot.rand(n, 16))
    assert "gemm" in traced.explain() and any("gemm" in name for name in traced.kernels)
