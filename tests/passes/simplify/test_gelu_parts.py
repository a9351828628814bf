"""gelu shares the error function with its gradient, with the bits of its own kernel."""

import numpy as np
import pytest

from graphs import check_rewrite, check_untouched, graph_of, same_bits
from ingot.ir.opdef.op import OPS
from ingot.passes.simplify.gelu_parts import gelu_parts
from ingot.runtime.core.dispatch import kernel_of
from ingot.runtime.cpu.graph.program import CompiledGraph

BOTH = """
    graph g(%x: f32[3,4]) {
      %0: f32[3,4] = gelu(%x)
      %1: f32[3,4] = mul(%x, 0.7071067811865476)
      %2: f32[3,4] = erf(%1)
      return %0, %2
    }"""


def test_gelu_beside_its_error_function_becomes_its_parts():
    check_rewrite(gelu_parts, BOTH.replace("3,4", "5"), """
        graph g(%x: f32[5]) {
          %0: f32[5] = mul(%x, 0.5)
          %1: f32[5] = mul(%x, 0.7071067811865476)
          %2: f32[5] = erf(%1)
          %3: f32[5] = add(%2, 1.0)
          %4: f32[5] = mul(%0, %3)
          %5: f32[5] = mul(%x, 0.7071067811865476)
          %6: f32[5] = erf(%5)
          return %4, %6
        }""")


SLOPE = """
    graph g(%x: f32[5]) {
      %0: f32[5] = gelu(%x)
      %1: f32[5] = gelu_slope(%x)
      return %0, %1
    }"""


def test_gelu_beside_its_slope_becomes_its_parts():
    check_rewrite(gelu_parts, SLOPE, """
        graph g(%x: f32[5]) {
          %0: f32[5] = mul(%x, 0.5)
          %1: f32[5] = mul(%x, 0.7071067811865476)
          %2: f32[5] = erf(%1)
          %3: f32[5] = add(%2, 1.0)
          %4: f32[5] = mul(%0, %3)
          %5: f32[5] = mul(%x, 0.7071067811865476)
          %6: f32[5] = erf(%5)
          %7: f32[5] = add(%6, 1.0)
          %8: f32[5] = mul(%7, 0.5)
          %9: f32[5] = mul(%x, %x)
          %10: f32[5] = mul(%9, -0.5)
          %11: f32[5] = exp(%10)
          %12: f32[5] = mul(%11, 0.3989422804014327)
          %13: f32[5] = mul(%x, %12)
          %14: f32[5] = add(%8, %13)
          return %4, %14
        }""")


@pytest.mark.parametrize("text", [BOTH.replace("0.7071067811865476", "0.7"), BOTH.replace("erf(%1)", "sin(%1)"),
                                  BOTH.replace("gelu(%x)", "gelu_tanh(%x)"), BOTH.replace("f32", "f16"),
                                  SLOPE.replace("f32", "f16")])
def test_any_other_stays_whole(text):
    check_untouched(gelu_parts, text)


@pytest.mark.parametrize("kind", ["f32", "f64"])
@pytest.mark.parametrize("text", [BOTH, SLOPE])
def test_the_parts_give_the_bits_of_the_kernel(text, kind):
    g = graph_of(text.replace("f32", kind).replace("3,4", "40,50").replace("[5]", "[40,50]"))
    x = np.concatenate([np.random.default_rng(0).standard_normal(1990) * 3,
                        [0.0, -0.0, np.inf, -np.inf, np.nan, 1e30, -1e30, 1e-30, 9.0, -9.0]]).reshape(40, 50)
    x = x.astype(g.inputs[0].dtype.np)
    found, other = CompiledGraph(gelu_parts(g), kernel_of).run([x])
    assert same_bits(kernel_of(OPS["gelu"])(x), found)
    assert text is BOTH or same_bits(kernel_of(OPS["gelu_slope"])(x), other)
