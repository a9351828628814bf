"""Parts of graphs: which nodes values need, and graphs of them that give what the whole gave."""

import numpy as np
import pytest

from ingot.ir.graph.interp import interpret
from ingot.ir.graph.text import parse
from ingot.ir.graph.verify import verify
from ingot.passes.rewrite.subgraphs import needed, part

GRAPH = """graph whole(%a: f32[3], %b: f32[3], %unused: f32[3]) {
  %0: f32[3] = mul(%a, %b)
  %1: f32[3] = exp(%a)
  %2: f32[3] = add(%0, %1)
  %3: f32[3] = neg(%2)
  return %3, %1
}
"""
ARRAYS = [np.array([1, 2, 3], np.float32), np.array([4, 5, 6], np.float32), np.zeros(3, np.float32)]


def value(graph, number):
    return graph.nodes[number].output


@pytest.mark.parametrize(("wanted", "given", "names"), [
    ((3,), (), ["mul", "exp", "add", "neg"]), ((1,), (), ["exp"]), ((3,), (2,), ["neg"]), ((3,), (0,), ["exp", "add", "neg"]),
    ((2,), (2,), []), ((), (), []),
])
def test_what_values_need(wanted, given, names):
    graph = parse(GRAPH)
    inside = needed([value(graph, i) for i in wanted], {value(graph, i) for i in given})
    assert [n.op.name for n in graph.nodes if n in inside] == names


@pytest.mark.parametrize(("wanted", "given", "keep", "inputs"), [
    ((3,), (), (), (0, 1)), ((1,), (), (), (0,)), ((1,), (), (2,), (0, 2)), ((3,), (0,), (), (0,)), ((3, 1), (2,), (), (0,)),
])
def test_parts_give_what_the_whole_gave(wanted, given, keep, inputs):
    graph = parse(GRAPH)
    there = dict(zip([v for n in graph.nodes for v in n.outputs], [ARRAYS[0] * ARRAYS[1], np.exp(ARRAYS[0])]))
    there[value(graph, 2)] = there[value(graph, 0)] + there[value(graph, 1)]
    there[value(graph, 3)] = -there[value(graph, 2)]
    known = [value(graph, i) for i in given]
    goal = [value(graph, i) for i in wanted]
    made, taken = part(graph, "some", needed(goal, set(known)), goal, known, frozenset(keep))
    assert taken == inputs and made.name == "some"
    results = interpret(verify(made), [*[ARRAYS[i] for i in taken], *[there[v] for v in known]]).outputs
    for result, v in zip(results, goal):
        np.testing.assert_allclose(result, there[v], rtol=1e-6)
