"""Graphs whose inputs and results have other memory orders than row-major."""

import numpy as np
import pytest

from graph_interpreter import interpret
from graphs import graph_of
from ingot.ir.dim_order import inverse
from ingot.passes.layout.in_memory_order import apply_memory_order
from ingot.passes.simplify.canonicalize import canonicalize

LAST = (0, 2, 1)
PLAIN = """
    graph g(%x: f32[2,3,4], %y: f32[2,3,4], %c: f32[3,1]) {
      %0: f32[2,3,4] = expand(%c, shape=(2, 3, 4))
      %1: f32[2,3,4] = mul(%x, %0)
      %2: f32[2,3,4] = add(%1, %y)
      %3: f32[2,3,4] = relu(%2)
      return %3
    }"""
MIXED = """
    graph g(%x: f32[2,3,4], %y: f32[2,3,4]) {
      %0: f32[2,3,4] = exp(%x)
      %1: f32[2,3] = sum(%0, dim=(2,), keepdim=False)
      %2: f32[2,3,4] = mul(%0, %y)
      return %0, %1, %2
    }"""


def ordered(text, orders, wanted):
    """Return the graph, checked by its results."""
    graph = graph_of(text)
    new = canonicalize(apply_memory_order(graph, orders, wanted))
    arrays = [np.random.default_rng(i).standard_normal(v.shape).astype(np.float32) for i, v in enumerate(graph.inputs)]
    reordered = [np.ascontiguousarray(a.transpose(orders[i])) if i in orders else a for i, a in enumerate(arrays)]
    for i, (a, b) in enumerate(zip(interpret(graph, arrays).outputs, interpret(new, reordered).outputs, strict=True)):
        np.testing.assert_array_equal(a, b.transpose(inverse(wanted[i])) if i in wanted else b)
    return [n.op.name for n in new.nodes]


def test_elementwise_work_keeps_memory_order():
    assert ordered(PLAIN, {0: LAST, 1: LAST}, {0: LAST}) == ["expand", "permute", "mul", "add", "relu"]


def test_row_major_results_are_permuted_once():
    assert ordered(PLAIN, {0: LAST, 1: LAST}, {}) == ["expand", "permute", "mul", "add", "relu", "permute"]


def test_operands_of_several_orders_meet_row_major():
    assert ordered(PLAIN, {0: LAST}, {0: LAST}).count("permute") == 3


@pytest.mark.parametrize("orders", [{}, {0: LAST}, {1: (2, 0, 1)}, {0: LAST, 1: LAST}, {0: (1, 0, 2), 1: LAST}], ids=str)
@pytest.mark.parametrize("wanted", [{}, {0: LAST}, {1: (1, 0)}, {0: (2, 1, 0), 2: LAST}], ids=str)
def test_other_operators_see_row_major_dims(orders, wanted):
    names = ordered(MIXED, orders, wanted)
    assert [n for n in names if n != "permute"] == ["exp", "sum", "mul"]


def test_a_graph_without_orders_stays():
    graph = graph_of(PLAIN)
    assert apply_memory_order(graph, {}, {}) is graph
