"""Symbolic numbers that are operands become inputs."""

import pytest

from graphs import graph_of_sizes
from ingot.ir.text import parse, show
from ingot.ir.verify import verify
from ingot.passes.lift_numbers import lift_numbers


def test_lifted_numbers_are_inputs():
    lifted = lift_numbers(graph_of_sizes())
    assert [d.name for _, d in lifted.numbers] == ["float32"] * 3
    assert len(lifted.graph.inputs) == 4
    verify(lifted.graph)
    assert lift_numbers(lifted.graph).graph is lifted.graph


@pytest.mark.parametrize("before, after", [
    ("""graph g[n=0.5](%x: f32[4]) {
  %0: f32[4] = mul(%x, number('(n * (2))'))
  return %0
}""", """graph g(%x: f32[4], %number0: f32[]) {
  %0: f32[4] = expand(%number0, shape=(4,))
  %1: f32[4] = mul(%x, %0)
  return %1
}"""),
    ("""graph g[b=3](%x: bf16[b]) {
  %0: bf16[b] = div(%x, b)
  return %0
}""", """graph g[b=3](%x: bf16[b], %number0: f32[]) {
  %0: f32[] = cast(%x, dtype=f32)
}"""),
])
def test_golden(before, after):
    made = lift_numbers(parse(before)).graph
    verify(made)
    if "return" in after:
        assert show(made) == after
    else:
        names = [n.op.name for n in made.nodes]
        assert names == ["cast", "expand", "div", "cast"] and made.outputs[0].dtype.short == "bf16"


def test_a_near_miss_stays():
    graph = parse("""graph g[b=3](%x: f32[b]) {
  %0: f32[b] = mul(%x, 3.0)
  %1: f32[b-1] = slice(%0, dim=0, start=0, step=1, stop=b-1)
  return %1
}""")
    assert lift_numbers(graph).graph is graph
