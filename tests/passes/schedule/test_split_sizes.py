"""Graphs cut where sizes end: the nodes of each part, and both parts together against the whole."""

import numpy as np

from graph_interpreter import interpret
from ingot.ir.graph.text import parse
from ingot.ir.graph.verify import verify
from ingot.passes.schedule.split_sizes import split_sizes

STEP = """graph step[n=4](%w: f32[3], %x: f32[n,3], %m: f32[3]) {
  %0: f32[3] = mul(%w, 2.0)
  %1: f32[3] = mul(%m, 0.5)
  %2: f32[n,3] = expand(%0, shape=(n, 3))
  %3: f32[n,3] = mul(%x, %2)
  %4: f32[3] = sum(%3, dim=(0,), keepdim=False)
  %5: f32[3] = add(%4, %1)
  %6: f32[3] = sub(%w, %5)
  return %6, %4, %0, %w
}
"""


def test_both_parts_compute_the_whole():
    graph = parse(STEP)
    cut = split_sizes(graph, frozenset({1, 2}), frozenset({0}))
    assert [n.op.name for n in cut.sized.nodes] == ["mul", "expand", "mul", "sum", "contiguous"]
    assert [n.op.name for n in cut.rest.nodes] == ["mul", "add", "sub"] and not cut.rest.symbols
    assert (cut.results, cut.rest_results) == ((1, 2, 3), (0,)) and 0 in cut.inputs
    verify(cut.sized), verify(cut.rest)
    draw = np.random.default_rng(0)
    arrays = [draw.standard_normal(shape).astype(np.float32) for shape in ((3,), (4, 3), (3,))]
    made = interpret(cut.sized, [arrays[i] for i in cut.sources]).outputs
    end = interpret(cut.rest, [*[arrays[i] for i in cut.inputs], *made[:cut.given]]).outputs
    found = dict(zip(cut.results, made[cut.given:])) | dict(zip(cut.rest_results, end))
    for i, want in enumerate(interpret(graph, arrays).outputs):
        np.testing.assert_array_equal(found[i], want)


def test_what_the_rest_is_given_is_memory_of_its_own():
    """The rest may write over an input that the first part has only looked at."""
    graph = parse("""graph f[n=4](%w: f32[2,3], %x: f32[n,3]) {
  %0: f32[3,2] = permute(%w, dims=(1, 0))
  %1: f32[n,2] = matmul(%x, %0)
  %2: f32[2] = sum(%1, dim=(0,), keepdim=False)
  %3: f32[3,2] = expand(%2, shape=(3, 2))
  %4: f32[3,2] = mul(%0, %3)
  return %4, %1
}
""")
    cut = split_sizes(graph, frozenset())
    given = [v.node.op.name for v in cut.sized.outputs[:cut.given]]
    assert sorted(given) == ["contiguous", "sum"]
