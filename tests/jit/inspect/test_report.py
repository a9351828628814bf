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


def test_an_explanation_is_never_empty():
    traced = jit.trace(lambda x: x * 2)
    assert "nothing is recorded yet" in traced.explain()
    with ingot.compiler.set_stance("force_eager"):
        traced(ingot.ones(2))
    assert "1 time: traces are off" in traced.explain()


@pytest.mark.parametrize("make", [lambda: jit.trace(lambda x: x * 2), lambda: jit.trace(ingot.nn.Linear(2, 2)),
                                  lambda: ingot.compile(ingot.nn.Linear(2, 2)), lambda: ingot.compile(lambda x: x * 2)],
                         ids=["function", "module", "compiled module", "compiled function"])
def test_all_traced_objects_have_the_methods_of_traced_functions(make):
    traced = make()
    for _ in range(2):
        traced(ingot.ones(1, 2))
    assert {"stats", "explain", "graphs", "kernels", "forget"} <= set(dir(traced))
    assert traced.stats()["compiles"] == 1 and traced.graphs and traced.kernels and "recorded" in traced.explain()
    traced.forget()
    assert not traced.graphs and repr(traced)


def test_the_names_of_a_module_come_before_those_of_its_trace():
    class Counted(ingot.nn.Module):
        def stats(self):
            return "its own"

        def forward(self, x):
            return x

    assert jit.trace(Counted()).stats() == ingot.compile(Counted()).stats() == "its own"
