"""gelu shares the error function with its gradient, with the bits of its own kernel."""

import numpy as np
import pytest

from graphs import check_rewrite, check_untouched, graph_of, same_bits
from ingot.ir.op import OPS
from ingot.passes.gelu_parts import gelu_parts
from ingot.runtime.cpu.program import CompiledGraph
from ingot.runtime.dispatch import kernel_of

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


@pytest.mark.parametrize("text", [BOTH.replace("0.7071067811865476", "0.7"), BOTH.replace("erf(%1)", "sin(%1)"),
                                  BOTH.replace("gelu(%x)", "gelu_tanh(%x)"), BOTH.replace("f32", "f16")])
def test_any_other_stays_whole(text):
    check_untouched(gelu_parts, text)


@pytest.mark.parametrize("kind", ["f32", "f64"])
def test_the_parts_give_the_bits_of_the_kernel(kind):
    g = graph_of(BOTH.replace("f32", kind).replace("3,4", "40,50"))
    x = np.concatenate([np.random.default_rng(0).standard_normal(1990) * 3,
                        [0.0, -0.0, np.inf, -np.inf, np.nan, 1e30, -1e30, 1e-30, 9.0, -9.0]]).reshape(40, 50)
    x = x.astype(g.inputs[0].dtype.np)
    found, _ = CompiledGraph(gelu_parts(g), kernel_of).run([x])
    assert same_bits(kernel_of(OPS["gelu"])(x), found)
