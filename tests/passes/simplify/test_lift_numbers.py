"""Lifting of symbolic operands into inputs."""

import numpy as np
import pytest

from graphs import graph_of_sizes
from ingot.ir import dtype as dt
from ingot.ir.graph.graph import Builder
from ingot.ir.graph.text import parse, show
from ingot.ir.graph.verify import verify
from ingot.ir.opdef.aval import Aval
from ingot.ir.ops.core import random
from ingot.ir.ops.core.shape import full
from ingot.ir.ops.nn.activations import leaky_relu
from ingot.ir.symbols.scope import Scope
from ingot.ir.symbols.symbolic import is_symbol
from ingot.passes.schedule.specialize_shapes import bind_graph
from ingot.passes.simplify.lift_numbers import lift_numbers, number_array


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
def test_a_lifted_graph_reads_as_expected(before, after):
    made = lift_numbers(parse(before)).graph
    verify(made)
    if "return" in after:
        assert show(made) == after
    else:
        names = [n.op.name for n in made.nodes]
        assert names == ["cast", "expand", "div", "cast"] and made.outputs[0].dtype.short == "bf16"


def test_other_numbers_stay():
    graph = parse("""graph g[b=3](%x: f32[b]) {
  %0: f32[b] = mul(%x, 3.0)
  %1: f32[b-1] = slice(%0, dim=0, start=0, step=1, stop=b-1)
  return %1
}""")
    assert lift_numbers(graph).graph is graph


def named(graph):
    return [n.op.name for n in graph.nodes]


def test_parameters_become_operands_where_a_record_says_how():
    lifted = lift_numbers(parse("""graph g[n=0.5](%q: f32[1,2,3], %key: u64[2]) {
  %0: f32[1,2,3], %1: f32[1,2] = attention(%q, %q, %q, None, causal=True, scale=number('(n * (2))'))
  %2: bool[4] = bernoulli_mask(%key, p=number('n'), shape=(4,))
  %3: f32[1,2,4] = pad(%0, high=(0, 0, 1), interior=(0, 0, 0), low=(0, 0, 0), value=number('n'))
  return %3, %2
}"""))
    verify(lifted.graph)
    assert [(x.text, d.name) for x, d in lifted.numbers] == [("(n * (2))", "float32"), ("n", "float64"), ("n", "float32")]
    made = named(lifted.graph)
    assert made.index("mul") < made.index("attention") and "bernoulli_mask" not in made and made[-1] == "where"
    assert not any(is_symbol(v) for n in lifted.graph.nodes for v in n.params.values())


def test_other_parameters_stay_symbolic():
    graph = parse("""graph g[n=0.5](%x: f32[4,3]) {
  %0: f32[4,3], %1: f32[3], %2: f32[3] = batch_norm_train(%x, None, None, eps=number('n'))
  return %0
}""")
    assert lift_numbers(graph).graph is graph
    assert bind_graph(graph, {"n": 0.25}).nodes[0].params["eps"] == 0.25


def test_parameters_that_decide_what_a_graph_is_are_pinned():
    scope = Scope()
    n = scope.number("n", 0.5)
    b = Builder("g")
    x = b.input("x", Aval((4,), dt.float32))
    b.append(leaky_relu, (x,), {"negative_slope": n})
    assert not scope.conditions
    b.append(full, (x,), {"shape": (4,), "value": n, "dtype": dt.float32})
    assert list(scope.conditions) == ["(n).hex() == '0x1.0000000000000p-1'"]


@pytest.mark.parametrize("kind, value", [(dt.bfloat16, 0.30078125), (dt.float16, 0.300048828125),
                                         (dt.float32, np.float32(0.3))])
def test_a_number_is_the_one_that_a_dtype_holds(kind, value):
    assert number_array(0.3, kind) == value and number_array(0.3, kind).dtype == np.float32


def test_a_probability_is_the_same_bound_as_in_eager_mode(monkeypatch):
    monkeypatch.setattr(random, "mask_below", lambda words, *, shape: words)
    key = np.array([3, 5], np.uint64)
    for p in (0.0, 1.0, 1 / 3, 1e-10, 1 - 1e-10, 1.5 * 2.0 ** -32, 2.5 * 2.0 ** -32, *np.random.default_rng(0).random(20)):
        assert random.bernoulli_mask.by_operand(key, shape=(4,), p=float(p)).tolist() == [3, 5, round(p * 2 ** 32), 0]
