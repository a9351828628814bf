"""Hoisting of weights: values that depend on weights alone are split off, and nothing else."""

import numpy as np
import pytest

import ingot
from graph_interpreter import interpret
from graphs import graph_of
from ingot.ir import dtype as dt
from ingot.ir.graph.graph import Builder
from ingot.ir.graph.verify import verify
from ingot.ir.opdef.aval import Aval
from ingot.ir.opdef.op import NO_GRAD, Op
from ingot.ir.ops.core.elementwise import mul, neg
from ingot.ir.ops.packed.blocked import conv_blocked, pack_filters
from ingot.passes.networks.hoist_weights import split_derived

GRAPH = """
    graph g(%x: f64[1,4,5,5], %w: f64[4,4,3,3], %s: f64[4], %b: f64[1,1,1,1,4]) {
      %0: f64[4,1,1,1] = reshape(%s, shape=(4, 1, 1, 1))
      %1: f64[4,4,3,3] = expand(%0, shape=(4, 4, 3, 3))
      %2: f64[4,4,3,3] = mul(%w, %1)
      %3: f64[144] = pack_filters(%2, kernel=('direct', 1, False, 4), size=144)
      %4: f64[1,1,1,1,4] = mul(%b, 2.0)
      %5: f64[1,1,5,5,4] = conv_blocked(%x, %3, %4, dilation=(1, 1), epilogue=(('add', 'a', 'o0'),), filters=(4, 4, 3, 3),
        groups=1, in_blocks=False, kernel=('direct', 1, False, 4), lanes=4, padding=((1, 1), (1, 1)), stride=(1, 1))
      %6: f64[4] = mul(%s, 3.0)
      return %5, %6
    }"""


def cut_of(stable):
    g = graph_of(GRAPH.replace(",\n        groups", ", groups"))
    return g, split_derived(g, frozenset(stable))


def check(g, cut):
    rng = np.random.default_rng(4)
    arrays = [rng.standard_normal(v.shape) for v in g.inputs]
    made = interpret(verify(cut.derived), [arrays[i] for i in cut.sources]).outputs
    got = interpret(verify(cut.main), [*arrays, *made]).outputs
    for a, b in zip(interpret(g, arrays).outputs, got, strict=True):
        assert (a == b).all()


def test_packed_weights_and_channel_values_are_hoisted():
    g, cut = cut_of({1, 2, 3})
    assert cut.sources == (1, 2, 3)
    assert len(cut.derived.outputs) == 2
    assert pack_filters not in [n.op for n in cut.main.nodes]
    assert [n.op for n in cut.main.nodes].count(conv_blocked) == 1
    assert len(cut.main.nodes) == 2, "the product that is returned stays, and only it"
    check(g, cut)


def test_changing_inputs_are_not_hoisted():
    g, cut = cut_of({1, 3})                  # the scale is not stable, so neither is the weight that it scales
    assert cut.sources == (3,)
    assert pack_filters in [n.op for n in cut.main.nodes]
    check(g, cut)


def test_small_values_of_weights_are_hoisted_too():
    text = """
        graph g(%x: f64[3,2,16], %s: f64[2,4], %w: f64[16,4], %b: f64[16], %d: f64[16], %big: f64[300,300]) {
          %0: f64[256] = pack_recurrent(%w, kernel=('lstm', 3), size=256)
          %1: f64[16] = add(%b, %d)
          %2: f64[3,2,16] = expand(%1, shape=(3, 2, 16))
          %3: f64[3,2,16] = add(%x, %2)
          %4: f64[3,2,4], %5: f64[2,4] = recurrent_packed(%3, None, %s, %s, %0, None, kernel=('lstm', 3), reverse=False)
          %6: f64[300,300] = neg(%big)
          %7: f64[3,2,16] = expand(%b, shape=(3, 2, 16))
          %8: f64[3,2,16] = mul(%x, %7)
          %9: f64[] = sum(%6, dim=(0, 1), keepdim=False)
          %10: f64[3,2,16] = expand(%9, shape=(3, 2, 16))
          %11: f64[3,2,16] = mul(%x, %10)
          return %4, %5, %8, %11
        }"""
    g = graph_of(text)
    cut = split_derived(g, frozenset({2, 3, 4, 5}))
    assert [v.shape for v in cut.derived.outputs] == [(256,), (16,), ()], "weights, the sum of biases, the number"
    assert cut.sources == (2, 3, 4, 5)
    check(g, cut)
    assert split_derived(g, frozenset({3, 4})) is None, "sums alone are not worth it"
    left = split_derived(g, frozenset({2, 3}))
    assert [v.shape for v in left.derived.outputs] == [(256,)], "a sum with what changes stays"
    check(g, left)


def test_large_values_stay():
    g = graph_of("""
        graph g(%x: f64[300,300], %w: f64[16,4], %z: f64[3,2,16], %s: f64[2,4], %big: f64[300,300]) {
          %0: f64[256] = pack_recurrent(%w, kernel=('lstm', 3), size=256)
          %1: f64[3,2,4], %2: f64[2,4] = recurrent_packed(%z, None, %s, %s, %0, None, kernel=('lstm', 3), reverse=False)
          %3: f64[300,300] = neg(%big)
          %4: f64[300,300] = add(%x, %3)
          return %1, %2, %4
        }""")
    cut = split_derived(g, frozenset({1, 4}))
    assert cut.sources == (1,)
    check(g, cut)


def test_graphs_without_packed_weights_stay():
    for stable in (set(), {0}, {1}, {2}):
        assert cut_of(stable)[1] is None


def test_draws_are_made_at_each_call():
    """Also values that depend on them, though their keys and sizes are stable."""
    text = """
        graph g(%k: u64[2], %w: f32[16,4], %z: f32[3,2,16], %s: f32[2,4]) {
          %0: f32[16,4] = uniform(%k, dtype=f32, shape=(16, 4))
          %1: f32[16,4] = mul(%w, %0)
          %2: f32[256] = pack_recurrent(%1, kernel=('lstm', 3), size=256)
          %3: f32[3,2,4], %4: f32[2,4] = recurrent_packed(%z, None, %s, %s, %2, None, kernel=('lstm', 3), reverse=False)
          return %3
        }"""
    assert split_derived(graph_of(text), frozenset({0, 1})) is None
    fixed = graph_of(text.replace("uniform(%k, dtype=f32, shape=(16, 4))", "neg(%w)"))
    assert split_derived(fixed, frozenset({0, 1})) is not None


def test_weights_in_lower_precision_are_kept_for_contractions():
    g = graph_of("""
        graph g(%x: f32[3,8], %w: f32[4,8], %v: f32[8,4], %b: f32[4]) {
          %0: bf16[3,8] = cast(%x, dtype=bf16)
          %1: bf16[4,8] = cast(%w, dtype=bf16)
          %2: bf16[4] = cast(%b, dtype=bf16)
          %3: bf16[3,4] = linear(%0, %1, %2)
          %4: bf16[8,4] = cast(%v, dtype=bf16)
          %5: bf16[4,8] = permute(%4, dims=(1, 0))
          %6: bf16[3,8] = matmul(%3, %5)
          return %6
        }""")
    cut = split_derived(g, frozenset({1, 2, 3}))
    assert sorted(v.shape for v in cut.derived.outputs) == [(4,), (4, 8), (8, 4)], "casts are kept, not what views make of them"
    assert [n.op.name for n in cut.main.nodes] == ["cast", "linear", "permute", "matmul"]
    assert split_derived(g, frozenset()) is None


@pytest.mark.parametrize("trait", ["random", "effect"])
def test_draws_and_effects_are_not_hoisted(trait):
    """Even with stable operands: weights with dropout, results of a user's function."""
    record = Op(f"{trait}_for_test", lambda x: x, lambda x: np.array(x), NO_GRAD, neg.lower, frozenset((trait,)))

    def cut_of_filters(*made):
        b = Builder("g")
        w, scale = b.input("w", Aval((4, 4, 3, 3), dt.float64)), b.input("s", Aval((144,), dt.float64))
        packed = [pack_filters(op(w), kernel=("direct", 1, False, 4), size=144) for op in made]
        return split_derived(b.finish([mul(p, scale) for p in packed]), frozenset({0}))

    assert cut_of_filters(record) is None
    cut = cut_of_filters(record, neg)
    assert [n.op for n in cut.derived.nodes] == [neg, pack_filters]
    assert [n.op for n in cut.main.nodes] == [record, pack_filters, mul, mul]


def test_drawn_filters_are_drawn_at_each_call():
    g = graph_of("""
        graph g(%x: f64[1,4,5,5], %k: u64[2]) {
          %0: f64[4,4,3,3] = uniform(%k, shape=(4, 4, 3, 3), dtype=f64)
          %1: f64[144] = pack_filters(%0, kernel=('direct', 1, False, 4), size=144)
          return %1
        }""")
    assert split_derived(g, frozenset({1})) is None


@pytest.mark.parametrize("make", [lambda: ingot.tensor([[[[-1.0, 0.0, 1.0]]], [[[0.5, 2.0, 1.0]]]]),
                                  lambda: ingot.stack([ingot.ones(1, 2, 2), ingot.arange(4.0).reshape(1, 2, 2)]),
                                  lambda: ingot.eye(3).repeat(2, 1, 1, 1), lambda: ingot.ones(20, 1, 3, 3),
                                  lambda: ingot.tensor([[[[0.0, 1.0, 0.0], [1.0, -4.0, 1.0], [0.0, 1.0, 0.0]]]])],
                         ids=["written", "stacked", "repeated", "uniform", "laplacian"])
@pytest.mark.parametrize("dtype", [ingot.float32, ingot.float64], ids=str)
def test_packed_weights_may_be_made_of_constants_alone(make, dtype):
    def fn(x):
        y = ingot.nn.functional.conv2d(ingot.nn.functional.pad(x, (1, 1, 1, 1)), make().to(dtype))
        return y.detach(), ingot.autograd.grad((y * y.detach()).sum(), x)[0]

    x, traced = ingot.rand(2, 1, 12, 14, dtype=dtype).requires_grad_(), ingot.jit.trace(fn)
    for _ in range(3):
        assert all(ingot.allclose(a, b, rtol=1e-5, atol=1e-5) for a, b in zip(traced(x), fn(x)))
