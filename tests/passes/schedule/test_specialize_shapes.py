"""Specialisation of symbolic sizes to numbers."""

import numpy as np
import pytest

from graph_interpreter import interpret
from graphs import graph_of_sizes
from ingot.ir import dtype as dt
from ingot.ir.graph.graph import Builder
from ingot.ir.graph.verify import verify
from ingot.ir.opdef.aval import Aval
from ingot.ir.ops.core import elementwise, reduce, shape
from ingot.ir.ops.linalg import products as linalg
from ingot.ir.symbols.scope import Scope
from ingot.passes.schedule.plan_memory import arrange, place
from ingot.passes.schedule.specialize_shapes import Binder, bind_graph
from ingot.passes.simplify.lift_numbers import lift_numbers
from ingot.runtime.core.dispatch import kernel_of
from ingot.runtime.cpu.graph import prepared_steps
from ingot.runtime.cpu.graph.program import CompiledGraph, SharedCalls, arrange_for_cpu


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
    arrangement = arrange(lift_numbers(graph_of_sizes()).graph, {0, 1})
    bound = Binder(arrangement).bind({"b": b, "seq_len": s, "n": 0.5})
    assert not bound.graph.symbols and len(bound.steps) == len(arrangement.steps)
    plan = place(bound)
    assert all(type(n) is int for v in plan.graph.values() for n in v.shape)
    group = next(step.group for step in bound.steps if hasattr(step, "group"))
    assert all(type(n) is int for n in group.shape) and all(type(n) is int for n in group.body.shape)
    again = place(Binder(arrangement).bind({"b": b + 1, "seq_len": s, "n": 0.5}))
    assert again.graph.inputs[0].shape[0] == b + 1 and plan.graph.inputs[0].shape[0] == b


def pooled_layer():
    """Return a graph whose sizes are free before a sum over them, and fixed after it."""
    n = Scope().size("n", 5)
    b = Builder()
    x, w = b.input("x", Aval((n, 4), dt.float32)), b.input("w", Aval((4, 3), dt.float32))
    last = b.append(shape.select, (x,), {"dim": 0, "index": n - 1})
    pooled = b.append(reduce.sum_, (x,), {"dim": (0,), "keepdim": False})
    row = b.append(shape.reshape, (b.append(elementwise.add, (pooled, last), {}),), {"shape": (1, 4)})
    layer = b.append(linalg.matmul, (row, w), {})
    square = b.append(linalg.matmul, (x, b.append(shape.permute, (x,), {"dims": (1, 0)})), {})
    return b.finish([b.append(linalg.matmul, (layer, b.append(shape.permute, (w,), {"dims": (1, 0)})), {}), square])


def test_copies_share_parts_without_sizes():
    binder = Binder(arrange_for_cpu(lift_numbers(pooled_layer()).graph, {0, 1}), shares=True)
    first, second = binder.bind({"n": 3}), binder.bind({"n": 7})
    products = [s for s in binder.plan.steps if getattr(s, "node", None) is not None and s.node.op is linalg.matmul]
    assert {s in binder.steps for s in products} == {True, False}       # the layers, and x @ x.T
    assert [a is b for a, b in zip(first.steps, second.steps)] == [s in binder.steps for s in binder.plan.steps]
    assert not first.graph.symbols and [v.shape for v in second.graph.outputs] == [(1, 4), (7, 7)]


def test_shared_steps_are_prepared_once(monkeypatch):
    binder, requests = Binder(arrange_for_cpu(lift_numbers(pooled_layer()).graph, {0, 1}), shares=True), []
    prepare = prepared_steps.prepare
    monkeypatch.setattr(prepared_steps, "prepare", lambda step: [requests.append(step), prepare(step)][1])
    calls, rng = SharedCalls(binder.steps), np.random.default_rng(0)
    for n in (3, 7, 2, 3):
        made = CompiledGraph(binder.bind({"n": n}), kernel_of, prepare=calls.prepare)
        x, w = rng.normal(size=(n, 4)).astype("f"), rng.normal(size=(4, 3)).astype("f")
        want = interpret(made.graph, [x, w]).outputs
        for a, b in zip(made.run([x, w]), want, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-5)
    assert max(map(requests.count, requests)) == 1 and any(s in binder.steps for s in requests)
