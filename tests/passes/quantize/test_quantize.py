"""Quantised graphs: their operators, the parts that stay, and the distance of results from floats."""

import numpy as np
import pytest

from graph_interpreter import interpret
from graphs import graph_of
from ingot.ir.graph.graph import Value
from ingot.ir.graph.text import parse, show
from ingot.ir.graph.verify import verify
from ingot.ir.ops.quantized.int8_conv import conv_int8, depthwise_int8
from ingot.passes.quantize.int8_chains import name_of
from ingot.passes.quantize.int8_weights import MOST_DEPTH, steps_for, whole_numbers
from ingot.passes.quantize.quantize import observed, quantize

LAYERS = {conv_int8, depthwise_int8}
CONV = "dilation=(1, 1), groups=1, padding=((1, 1), (1, 1)), stride=(1, 1)"
NONE = "((0, 0), (0, 0))"
POINT = "dilation=(1, 1), groups=1, padding=((0, 0), (0, 0)), stride=(1, 1)"
CHAIN = f"""
    graph g(%x: f32[2,4,6,6], %w: f32[16,4,3,3], %b: f32[16], %v: f32[5,16,1,1]) {{
      %0: f32[2,16,6,6] = conv(%x, %w, %b, {CONV})
      %1: f32[2,16,6,6] = relu(%0)
      %2: f32[2,5,6,6] = conv(%1, %v, None, {POINT})
      return %2
    }}"""
RESIDUAL = f"""
    graph g(%x: f32[1,8,6,6], %w: f32[8,8,3,3], %v: f32[8,8,3,3], %u: f32[8,8,1,1], %t: f32[12,8,1,1]) {{
      %0: f32[1,8,6,6] = conv(%x, %w, None, {CONV})
      %1: f32[1,8,6,6] = relu(%0)
      %2: f32[1,8,6,6] = conv(%x, %u, None, {POINT})
      %3: f32[1,8,6,6] = conv(%1, %v, None, {CONV})
      %4: f32[1,8,6,6] = add(%2, %3)
      %5: f32[1,8,6,6] = minimum(%4, 6.0)
      %6: f32[1,8,6,6] = maximum(%5, 0.0)
      %7: f32[1,12,6,6] = conv(%6, %t, None, {POINT})
      return %7
    }}"""
ROWS = """
    graph g(%x: f32[2,5,6], %w: f32[7,6], %b: f32[7], %v: f32[3,7]) {
      %0: f32[6,7] = permute(%w, dims=(1, 0))
      %1: f32[10,6] = reshape(%x, shape=(10, 6))
      %2: f32[10,7] = matmul(%1, %0)
      %3: f32[2,5,7] = reshape(%2, shape=(2, 5, 7))
      %4: f32[2,5,7] = expand(%b, shape=(2, 5, 7))
      %5: f32[2,5,7] = add(%3, %4)
      %6: f32[2,5,7] = tanh(%5)
      %7: f32[2,5,3] = linear(%6, %v, None)
      return %7
    }"""
POOLS = f"""
    graph g(%x: f32[2,4,6,6], %w: f32[8,4,3,3], %v: f32[8,4,1,1], %u: f32[3,16,1,1], %t: f32[4,3]) {{
      %0: f32[2,8,6,6] = conv(%x, %w, None, {CONV})
      %1: f32[2,8,3,3], %2: i64[2,8,3,3] = max_pool(%0, dilation=(1, 1), kernel=(3, 3), padding=((1, 1), (1, 1)), stride=(2, 2))
      %3: f32[2,8,6,6] = conv(%x, %v, None, {POINT})
      %4: f32[2,8,3,3] = avg_pool(%3, counted={NONE}, divisor=None, kernel=(2, 2), padding={NONE}, stride=(2, 2))
      %5: f32[2,16,3,3] = cat(%1, %4, dim=1)
      %6: f32[2,3,3,3] = conv(%5, %u, None, {POINT})
      %7: f32[2,3,3,3] = silu(%6)
      %8: f32[2,3] = sum(%7, dim=(2, 3), keepdim=False)
      %9: f32[2,4] = linear(%8, %t, None)
      return %9, %4
    }}"""
GROUPS = f"""
    graph g(%x: f32[1,12,5,5], %w: f32[12,1,3,3], %v: f32[24,3,3,3], %u: f32[6,4,1,1]) {{
      %0: f32[1,12,5,5] = conv(%x, %w, None, {CONV.replace("groups=1", "groups=12")})
      %1: f32[1,24,5,5] = conv(%0, %v, None, {CONV.replace("groups=1", "groups=4")})
      %2: f32[1,6,5,5] = conv(%1, %u, None, {POINT.replace("groups=1", "groups=6")})
      return %2
    }}"""
LINE = """
    graph g(%x: f32[2,3,9], %w: f32[8,3,3], %v: f32[8,8,2]) {
      %0: f32[2,8,5] = conv(%x, %w, None, dilation=(1), groups=1, padding=((1, 1)), stride=(2))
      %1: f32[2,8,5] = relu(%0)
      %2: f32[2,8,3] = conv(%1, %v, None, dilation=(2), groups=1, padding=((0, 0)), stride=(1))
      return %2
    }""".replace("(1)", "(1,)").replace("(2)", "(2,)").replace("((1, 1))", "((1, 1),)").replace("((0, 0))", "((0, 0),)")
FLAT = f"""
    graph g(%x: f32[2,4,4,4], %w: f32[6,4,3,3], %v: f32[5,96]) {{
      %0: f32[2,6,4,4] = conv(%x, %w, None, {CONV})
      %1: f32[2,6,4,4] = relu(%0)
      %2: f32[2,96] = reshape(%1, shape=(2, 96))
      %3: f32[2,5] = linear(%2, %v, None)
      return %3
    }}"""


def known_of(graph, arrays):
    """Return the arrays of values that depend on all inputs but the first."""
    env = dict(zip(graph.inputs[1:], arrays[1:]))

    def known(value):
        if value not in env and value.node is not None:
            operands = [known(x) if type(x) is Value else x for x in value.node.inputs]
            env[value] = None if any(a is None and type(x) is Value for a, x in zip(operands, value.node.inputs)) \
                else np.asarray(value.node.op.ref(*operands, **value.node.params))
        return env.get(value)

    return known


def arrays_for(graph, seed=0):
    rng = np.random.default_rng(seed)
    return [rng.standard_normal(v.shape).astype(np.float32) * (1 if not i else 0.3) for i, v in enumerate(graph.inputs)]


def done(text, keep=lambda value: False):
    """Return (graph, arrays, quantised graph, its arrays, layers)."""
    graph = graph_of(text)
    arrays = arrays_for(graph)
    known, seen = known_of(graph, arrays), {}
    env = dict(zip(graph.inputs, arrays))
    interpret(graph, arrays, observe=lambda node, results: env.update(zip(node.outputs, results)))
    for v in observed(graph, known, keep):
        seen[v] = float(env[v].min()), float(env[v].max())
    made, new, layers = quantize(graph, known, seen, keep)
    return graph, arrays, made, [*arrays, *new.values()], layers


@pytest.mark.parametrize("text, layers", [(CHAIN, 2), (RESIDUAL, 4), (ROWS, 2), (POOLS, 4), (GROUPS, 3), (LINE, 2), (FLAT, 2)])
def test_quantised_graphs_are_close(text, layers):
    graph, arrays, made, given, found = done(text)
    assert found == layers == sum(n.op in LAYERS for n in verify(made).nodes)
    assert parse(show(made)) == made and [v.aval for v in made.outputs] == [v.aval for v in graph.outputs]
    for want, got in zip(interpret(graph, arrays).outputs, interpret(made, given).outputs, strict=True):
        assert np.sqrt(((want - got) ** 2).mean() / (want ** 2).mean()) < 0.02, np.abs(want - got).max()


def ops_of(graph):
    return [n.op.name for n in graph.nodes]


def test_a_chain():
    """One quantisation, bytes between, floats at the end; the ReLU is a limit, the border is x's zero point."""
    _, _, made, _, _ = done(CHAIN)
    assert ops_of(made) == ["permute", "to_bytes", "pad", "conv_int8", "conv_int8", "permute"]
    first, second = [n for n in made.nodes if n.op is conv_int8]
    assert second.inputs[0] is first.output and first.params["low"] == first.params["zero"] == 0
    assert str(first.output.dtype) == "ingot.uint8" and str(second.output.dtype) == "ingot.float32"
    border = next(n for n in made.nodes if n.op.name == "pad")
    assert border.params["value"] == made.nodes[1].params["zero"] > 0
    assert [v.name for v in made.inputs[4:]] == ["w.int8", "w.start", "w.factor", "v.int8", "v.start", "v.factor"]


def test_residuals_are_read_as_bytes():
    _, _, made, _, _ = done(RESIDUAL)
    layers = [n for n in made.nodes if n.op is conv_int8]
    added = [n for n in layers if n.inputs[4] is not None]
    assert len(added) == 1 and added[0].inputs[4].node in layers and not {"add", "minimum", "maximum"} & set(ops_of(made))
    assert ops_of(made).count("to_bytes") == 1 and added[0].params["high"] <= 255


def test_max_pools_and_concats_of_bytes():
    _, _, made, _, _ = done(POOLS)
    biggest = [n for n in made.nodes if n.op.name == "maximum"]
    assert len(biggest) == 8 and all(str(n.output.dtype) == "ingot.uint8" for n in biggest)
    join = next(n for n in made.nodes if n.op.name == "cat")
    assert str(join.output.dtype) == "ingot.uint8" and join.params["dim"] == 3
    assert ops_of(made).count("to_bytes") == 4          # x, the two parts of the join, what the last layer reads


def test_an_image_as_a_row_of_bytes():
    _, _, made, _, _ = done(FLAT)
    assert ops_of(made).count("to_bytes") == 1 and "from_bytes" not in ops_of(made)


def test_rows_of_several_dims_take_their_bias_in():
    _, _, made, _, _ = done(ROWS)
    assert "add" not in ops_of(made) and "expand" not in ops_of(made)


def test_an_image_of_another_shape_is_no_row():
    """Its last dim has the number of channels, but is no channel dim."""
    graph, arrays, made, given, _ = done(f"""
        graph g(%x: f32[1,4,6,8], %w: f32[8,4,3,3], %b: f32[8]) {{
          %0: f32[1,8,6,8] = conv(%x, %w, None, {CONV})
          %1: f32[48,8] = reshape(%0, shape=(48, 8))
          %2: f32[48,8] = expand(%b, shape=(48, 8))
          %3: f32[48,8] = add(%1, %2)
          return %3
        }}""")
    want, got = interpret(graph, arrays).outputs[0], interpret(made, given).outputs[0]
    assert got.shape == want.shape and np.sqrt(((want - got) ** 2).mean() / (want ** 2).mean()) < 0.02


def test_layers_may_stay_in_floats():
    _, _, made, _, layers = done(CHAIN, keep=lambda weight: name_of(weight) == "v")
    assert layers == 1 and ops_of(made).count("conv") == 1


NEAR_MISSES = {
    "another dtype": CHAIN.replace("f32", "f64"),
    "a weight that is computed": """
    graph g(%x: f32[3,4], %w: f32[5,4]) {
      %0: f32[4,3] = permute(%x, dims=(1, 0))
      %1: f32[5,3] = matmul(%w, %0)
      return %1
    }""",
    "a border that cuts": """
    graph g(%x: f32[1,4,6,6], %w: f32[8,4,3,3]) {
      %0: f32[1,8,2,4] = conv(%x, %w, None, dilation=(1, 1), groups=1, padding=((-1, -1), (0, 0)), stride=(1, 1))
      return %0
    }""",
    "volumes": """
    graph g(%x: f32[1,4,3,3,3], %w: f32[8,4,1,1,1]) {
      %0: f32[1,8,3,3,3] = conv(%x, %w, None, dilation=(1, 1, 1), groups=1, padding=((0, 0), (0, 0), (0, 0)), stride=(1, 1, 1))
      return %0
    }""",
}


@pytest.mark.parametrize("text", NEAR_MISSES.values(), ids=NEAR_MISSES)
def test_near_misses(text):
    graph = graph_of(text)
    made, new, layers = quantize(graph, known_of(graph, arrays_for(graph)), dict.fromkeys(graph.values(), (-1.0, 1.0)))
    assert made is graph and not new and not layers


def test_uncalibrated_layers_stay():
    graph = graph_of(CHAIN)
    made, _, layers = quantize(graph, known_of(graph, arrays_for(graph)), {})
    assert made is graph and layers == 0


def test_quantising_twice_changes_nothing():
    _, _, made, given, _ = done(CHAIN)
    assert quantize(made, known_of(made, given), dict.fromkeys(made.values(), (-1.0, 1.0)))[0] is made


@pytest.mark.parametrize("low, high, zero", [(0, 2.55, 0), (-2.55, 0, 255), (-1, 1.55, 100), (0.5, 2.55, 0),
                                             (-2.55, -0.5, 255)])
def test_steps(low, high, zero):
    """Zero is a step; the ends are steps."""
    steps = steps_for(low, high)
    assert steps.zero == zero and steps.scale == pytest.approx(0.01)


def test_steps_of_nothing():
    assert steps_for(0, 0) == (1.0, 0) and steps_for(-1e-40, 1e-40) == (1.0, 0)


def test_small_weights_keep_their_bias():
    """The smallest weights do not push their bias out of 32 bits, and lose no more precision than they matter."""
    weight = np.full((4, 8, 1, 1), 0.1, np.float32)
    weight[1], weight[2], weight[3] = 1e-20, 0, 3e-9
    bias = np.array([1, 0.75, -0.5, 100], np.float32)
    made = whole_numbers(weight, bias, steps_for(0, 1))
    for x in (0, 255):
        got = (made.weight.reshape(4, -1).sum(1, dtype=np.int64) * x + made.start) * made.factor.astype(np.float64)
        np.testing.assert_allclose(got, weight.reshape(4, -1).sum(1) * (x / 255) + bias, rtol=1e-4)


def test_the_largest_sums_fit():
    """At the greatest depth with the largest bias."""
    weight = np.full((2, MOST_DEPTH), 1e-9, np.float32)
    made = whole_numbers(weight, np.array([1e4, -1e4], np.float32), steps_for(-1, 1))
    for x in (0, 255):
        sums = made.weight.sum(1, dtype=np.int64) * x + made.start
        assert (np.abs(sums) < 2 ** 31).all()


def test_values_are_bytes_once():
    """A value read by several layers is quantised once, and padded once for each border."""
    text = CHAIN.replace("return %2", f"""%3: f32[2,16,6,6] = conv(%x, %w, %b, {CONV})
      return %2, %3""")
    _, _, made, _, _ = done(text)
    assert ops_of(made).count("to_bytes") == ops_of(made).count("pad") == 1 and "from_bytes" not in ops_of(made)


@pytest.mark.parametrize("top", [6.0, 0.5])
def test_limits_within_the_range(top):
    """A limit inside the calibrated range holds."""
    text = CHAIN.replace("%1: f32[2,16,6,6] = relu(%0)", f"%1: f32[2,16,6,6] = minimum(%0, {top})")
    graph = graph_of(text)
    arrays = arrays_for(graph)
    ranges = dict.fromkeys(graph.values(), (-4.0, 12.0))
    made, _, _ = quantize(graph, known_of(graph, arrays), ranges)
    first = next(n for n in made.nodes if n.op is conv_int8)
    steps = steps_for(-4, 12)
    assert first.params["low"] == 0 and first.params["high"] == round(top / steps.scale) + steps.zero < 255
