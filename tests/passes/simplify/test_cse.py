"""Common subexpression elimination."""

import numpy as np

import ingot  # noqa: F401  (fills the table of operators)
from graphs import check_rewrite, check_untouched
from ingot.ir import dtype as dt
from ingot.ir.graph.graph import Builder
from ingot.ir.opdef.aval import Aval
from ingot.ir.opdef.op import NO_GRAD, Op
from ingot.ir.ops.core.elementwise import neg
from ingot.passes.simplify.cse import cse


def test_equal_operations_are_done_once():
    check_rewrite(cse, """
        graph g(%x: f32[2], %y: f32[2]) {
          %0: f32[2] = exp(%x)         # a.py:1
          %1: f32[2] = exp(%x)         # a.py:2
          %2: f32[2] = add(%0, %y)
          %3: f32[2] = add(%y, %1)
          %4: f32[1,2] = reshape(%2, shape=(1, 2))
          %5: f32[1,2] = reshape(%3, shape=(1, 2))
          update %x = %1
          return %4, %5
        }""", """
        graph g(%x: f32[2], %y: f32[2]) {
          %0: f32[2] = exp(%x)         # a.py:1
          %1: f32[2] = add(%0, %y)
          %2: f32[1,2] = reshape(%1, shape=(1, 2))
          update %x = %0
          return %2, %2
        }""")


def test_different_operations_stay():
    check_untouched(cse, """
        graph g(%x: f32[2], %y: f32[2]) {
          %0: f32[2] = sub(%x, %y)
          %1: f32[2] = sub(%y, %x)
          %2: f32[2] = add(%x, 0.0)
          %3: f32[2] = add(%x, -0.0)
          %4: f32[2] = add(%x, 0)
          %5: f32[1,2] = reshape(%x, shape=(1, 2))
          %6: f32[2,1] = reshape(%x, shape=(2, 1))
          return %0, %1, %2, %3, %4, %5, %6
        }""")


def test_random_and_effectful_operations_are_never_merged():
    for trait in ("random", "effect"):
        record = Op(f"{trait}_for_test", lambda x: x, lambda x: np.array(x), NO_GRAD, neg.lower, frozenset((trait,)))
        b = Builder()
        x = b.input("x", Aval((2,), dt.float32))
        g = b.finish([record(x), record(x)])
        assert cse(g) is g
