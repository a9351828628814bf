"""Dead code elimination."""

import numpy as np

import ingot  # noqa: F401  (fills the table of operators)
from graphs import check_rewrite, check_untouched
from ingot.ir import dtype as dt
from ingot.ir.graph.graph import Builder
from ingot.ir.opdef.aval import Aval
from ingot.ir.opdef.op import NO_GRAD, Op
from ingot.ir.ops.core.elementwise import exp, neg
from ingot.passes.simplify.dce import dce


def test_dead_nodes_go_and_updates_keep_what_they_need():
    check_rewrite(dce, """
        graph g(%x: f32[2], %w: f32[2], %v: f32[2]) {
          %0: f32[2] = exp(%x)
          %1: f32[2] = log(%0)
          %2: f32[2] = neg(%w)
          update %w = %2
          update %v = %v
          return %x
        }""", """
        graph g(%x: f32[2], %w: f32[2], %v: f32[2]) {
          %0: f32[2] = neg(%w)
          update %w = %0
          return %x
        }""")


def test_inputs_stay_even_if_nothing_reads_them():
    check_untouched(dce, "graph g(%x: f32[2], %unused: f32[9]) {\n  %0: f32[2] = exp(%x)\n  return %0\n}")


def test_effects_stay():
    shout = Op("shout_for_test", lambda x: x, lambda x: np.array(x), NO_GRAD, neg.lower, frozenset(("effect",)))
    b = Builder()
    x = b.input("x", Aval((2,), dt.float32))
    shout(exp(x))
    neg(x)
    after = dce(b.finish([x]))
    assert [n.op for n in after.nodes] == [exp, shout]
