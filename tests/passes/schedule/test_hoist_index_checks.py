"""Index checks of updates: done once, at the indices' source, with the same results."""

import numpy as np
import pytest

from graph_interpreter import interpret
from graphs import graph_of
from ingot.ir.errors import GraphError
from ingot.passes.schedule.hoist_index_checks import hoist_index_checks, may_fail

SAME = """
    graph g(%x: f32[6,2], %y: f32[6,2], %v: f32[3,2], %i: i64[3]) {
      %0: f32[6,2] = index_put(%x, %v, %i, accumulate=False)
      %1: f32[6,2] = index_put(%y, %v, %i, accumulate=True)
      return %0, %1
    }"""
OTHER_SIZES = """
    graph g(%x: f32[6,2], %y: f32[9,2], %v: f32[3,2], %i: i64[3]) {
      %0: f32[6,2] = index_put(%x, %v, %i, accumulate=False)
      %1: f32[9,2] = index_put(%y, %v, %i, accumulate=False)
      return %0, %1
    }"""
MADE = """
    graph g(%x: f32[6,2], %y: f32[6,2], %v: f32[3,2], %i: i64[3]) {
      %0: i64[3] = add(%i, 1)
      %1: f32[3,2] = exp(%v)
      %2: f32[6,2] = index_put(%x, %1, %0, accumulate=False)
      %3: f32[6,2] = index_put(%y, %v, %0, accumulate=False)
      return %2, %3
    }"""
SCATTERED = """
    graph g(%x: f32[6,2], %y: f32[6,2], %v: f32[3,2], %i: i64[3,2]) {
      %0: f32[6,2] = scatter(%x, %i, %v, dim=0, mode="add")
      %1: f32[6,2] = scatter_reduce(%y, %i, %v, dim=0, mode="amax")
      return %0, %1
    }"""
TWO_DIMS = """
    graph g(%x: f32[6,4], %y: f32[6,4], %v: f32[3], %i: i64[3]) {
      %0: f32[6,4] = index_put(%x, %v, %i, %i, accumulate=False)
      %1: f32[6,4] = add(%0, %y)
      return %1
    }"""
GRAPHS = {"same": (SAME, 1), "other sizes": (OTHER_SIZES, 2), "made": (MADE, 1), "scattered": (SCATTERED, 1),
          "two dims": (TWO_DIMS, 2)}


def _values(graph, index):
    rng = np.random.default_rng(0)
    return [np.broadcast_to(np.array(index)[:, None] if len(v.shape) == 2 else np.array(index), v.shape).copy()
            if v.dtype.is_integer else rng.standard_normal(v.shape).astype(np.float32) for v in graph.inputs]


@pytest.mark.parametrize("name", GRAPHS)
def test_each_index_is_checked_once_for_each_range(name):
    text, checks = GRAPHS[name]
    graph = graph_of(text)
    made = hoist_index_checks(graph)
    names = [n.op.name for n in made.nodes]
    assert names.count("in_range") == checks
    assert max(i for i, n in enumerate(names) if n == "in_range") < min(i for i, n in enumerate(names) if n in (
        "index_put", "scatter", "exp"))
    assert any(map(may_fail, graph.nodes))
    assert [n.op.name for n in made.nodes if may_fail(n)] == ["in_range"] * checks
    given = _values(graph, [0, 2, 1])
    for a, b in zip(interpret(made, given).outputs, interpret(graph, given).outputs):
        assert (a == b).all()


@pytest.mark.parametrize("name", GRAPHS)
@pytest.mark.parametrize("wrong", [-10, 9])
def test_wrong_ones_are_refused(name, wrong):
    graph = graph_of(GRAPHS[name][0])
    with pytest.raises(GraphError, match="out of range"):
        interpret(hoist_index_checks(graph), _values(graph, [0, wrong, 1]))


def test_a_graph_without_updates_stays():
    graph = graph_of("""
        graph g(%x: f32[6,2], %i: i64[3]) {
          %0: f32[3,2] = index(%x, %i)
          return %0
        }""")
    assert hoist_index_checks(graph) is graph
    assert may_fail(graph.nodes[0])
