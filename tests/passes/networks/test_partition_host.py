"""Host parts of device graphs: the nodes that are split off, and both parts together against the whole."""

import numpy as np

from graph_interpreter import interpret
from ingot.ir.graph.text import parse, show
from ingot.ir.graph.verify import verify
from ingot.ir.ops.core import random as rn
from ingot.passes.networks.partition_host import partition_host

STEP = """graph step(%w: f32[3], %t: f32[], %lr: f64[], %g: f32[3]) {
  %0: f32[] = add(%t, 1.0)
  %1: f64[] = cast(%0, dtype=f64)
  %2: f64[] = div(%lr, %1)
  %3: f32[] = cast(%2, dtype=f32)
  %4: f32[3] = expand(%3, shape=(3,))
  %5: f32[3] = mul(%g, %4)
  %6: f32[3] = sub(%w, %5)
  return %6, %0
}
"""


def whole(cut, arrays, graph):
    """Return the results of the two parts, in the order of the whole graph's."""
    there = interpret(verify(cut.host), [arrays[i] for i in cut.sources]).outputs
    made = interpret(verify(cut.main), [*[arrays[i] for i in cut.inputs], *there[:cut.given]]).outputs
    results = dict(zip(cut.main_results, made)) | dict(zip(cut.results, there[cut.given:]))
    return [results[i] for i in range(len(graph.outputs))]


def test_counters_stay_on_the_host():
    graph = parse(STEP)
    cut = partition_host(graph, frozenset({1, 2}))
    assert [n.op.name for n in cut.host.nodes][:4] == ["add", "cast", "div", "cast"]
    there = [n.op.name for n in cut.main.nodes]
    assert there == ["expand", "mul", "sub"] and cut.main.inputs[-1].shape == (), "one number travels, however many take it"
    assert cut.sources == (1, 2) and cut.inputs == (0, 3) and cut.given == 1
    assert cut.main_results == (0,) and cut.results == (1,)
    arrays = [np.float32([1, 2, 3]), np.float32(4), np.float64(0.5), np.float32([1, -1, 2])]
    for want, got in zip(interpret(graph, arrays).outputs, whole(cut, arrays, graph)):
        np.testing.assert_array_equal(got, want)


def test_inputs_that_are_replaced_stay_inputs():
    graph = parse("""graph f(%p: f32[2], %n: f32[], %x: f32[2]) {
  %0: f32[] = mul(%n, 2.0)
  %1: f32[2] = expand(%0, shape=(2,))
  %2: f32[2] = mul(%x, %1)
  return %2
}
""")
    assert partition_host(graph, frozenset({1})).inputs == (2,)
    assert partition_host(graph, frozenset({1}), frozenset({0})).inputs == (0, 2)


def test_graphs_without_host_values_stay():
    for text in ("""graph f(%x: f32[2], %n: f32[]) {
  %0: f32[2] = expand(%n, shape=(2,))
  %1: f32[2] = mul(%x, %0)
  return %1
}
""", """graph f(%k: u64[2], %x: f32[4]) {
  %0: f32[4] = uniform(%k, dtype=f32, shape=(4,))
  %1: f32[4] = mul(%x, %0)
  return %1
}
"""):
        graph = parse(text)
        host = frozenset([i for i, v in enumerate(graph.inputs) if v.shape in ((), (2,)) and v.name in ("n", "k")])
        cut = partition_host(graph, host)
        assert cut is None or not {rn.uniform.name} & {n.op.name for n in cut.host.nodes}, show(graph)
    assert partition_host(parse(STEP), frozenset()) is None


def test_a_graph_of_the_host_alone_is_left_alone():
    graph = parse("graph f(%n: f32[]) {\n  %0: f32[] = add(%n, 1.0)\n  return %0\n}\n")
    assert partition_host(graph, frozenset({0})) is None
