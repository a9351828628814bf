"""Numbers in the place of symbolic sizes."""

import numpy as np
import pytest

from graphs import graph_of_sizes
from ingot.ir.interp import interpret
from ingot.ir.verify import verify
from ingot.passes.bind import Binder, bind_graph
from ingot.passes.lift_numbers import lift_numbers
from ingot.passes.plan_memory import arrange, place


@pytest.mark.parametrize("b, s", [(4, 6), (3, 5), (2, 2)])
def test_a_graph_with_numbers_put_in_is_interpreted(b, s):
    graph = bind_graph(graph_of_sizes(), {"b": b, "seq_len": s, "n": 0.75})
    assert not graph.symbols
    verify(graph)
    x = np.random.default_rng(b).normal(size=(b, s, 8)).astype("f")
    rows, counted = interpret(graph, [x]).outputs
    want = (x / np.float32(b * s) * np.float32(0.5)).reshape(b * s, 8)[b - 1::2] + np.float32(b)
    assert np.allclose(rows, want.sum(1), rtol=1e-5) and counted.tolist() == list(range((b + 1) // 2))


def test_a_graph_without_symbols_is_itself():
    graph = bind_graph(graph_of_sizes(), {"b": 4, "seq_len": 6, "n": 0.5})
    assert bind_graph(graph, {}) is graph


@pytest.mark.parametrize("b, s", [(4, 6), (3, 9), (7, 2)])
def test_an_arrangement_is_copied_with_numbers(b, s):
    arranged = arrange(lift_numbers(graph_of_sizes()).graph, {0, 1})
    bound = Binder(arranged).bind({"b": b, "seq_len": s, "n": 0.5})
    assert not bound.graph.symbols and len(bound.steps) == len(arranged.steps)
    plan = place(bound)
    assert all(type(n) is int for v in plan.graph.values() for n in v.shape)
    group = next(step.group for step in bound.steps if hasattr(step, "group"))
    assert all(type(n) is int for n in group.shape) and all(type(n) is int for n in group.body.shape)
    again = place(Binder(arranged).bind({"b": b + 1, "seq_len": s, "n": 0.5}))
    assert again.graph.inputs[0].shape[0] == b + 1 and plan.graph.inputs[0].shape[0] == b
