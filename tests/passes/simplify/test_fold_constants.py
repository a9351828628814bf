"""Constant folding: by exact operators only, and never of captured arrays."""

import ingot  # noqa: F401  (fills the table of operators)
from graphs import check_rewrite, check_untouched
from ingot.passes.simplify.fold_constants import fold_constants


def test_filled_values_fold_at_any_size():
    check_rewrite(fold_constants, """
        graph g(%x: f32[2]) {
          %0: f32[1000,1000] = full(None, dtype=f32, shape=(1000, 1000), value=2.0)
          %1: f32[1000,1000] = mul(%0, 3.0)
          %2: f64[1000,1000] = cast(%1, dtype=f64)
          %3: f64[1000000] = reshape(%2, shape=(1000000,))
          %4: f64[3,1000000] = expand(%3, shape=(3, 1000000))
          return %4
        }""", """
        graph g(%x: f32[2]) {
          %0: f64[3,1000000] = full(None, dtype=f64, shape=(3, 1000000), value=6.0)
          return %0
        }""")


def test_small_literals_fold():
    check_rewrite(fold_constants, """
        graph g(%x: f32[2]) {
          %0: i64[3] = iota(None, dim=0, dtype=i64, shape=(3,))
          %1: i64[3] = mul(%0, 2)
          %2: f32[3] = constant(None, dtype=f32, shape=(3,), values=(1.0, -0.0, inf))
          %3: f32[3] = neg(%2)
          %4: f32[1,3] = reshape(%3, shape=(1, 3))
          return %1, %4
        }""", """
        graph g(%x: f32[2]) {
          %0: i64[3] = constant(None, dtype=i64, shape=(3,), values=(0, 2, 4))
          %1: f32[1,3] = constant(None, dtype=f32, shape=(1, 3), values=(-1.0, 0.0, -inf))
          return %0, %1
        }""")


def test_results_are_rounded_in_their_dtype():
    check_rewrite(fold_constants, """
        graph g(%x: f32[2]) {
          %0: f16[] = full(None, dtype=f16, shape=(), value=0.1)
          %1: f16[] = add(%0, 1.0)
          return %1
        }""", """
        graph g(%x: f32[2]) {
          %0: f16[] = full(None, dtype=f16, shape=(), value=1.099609375)
          return %0
        }""")


def test_nodes_of_inputs_and_inexact_or_large_nodes_stay():
    check_untouched(fold_constants, """
        graph g(%x: f32[2]) {
          %0: f32[2] = neg(%x)
          %1: f32[3] = constant(None, dtype=f32, shape=(3,), values=(1.0, 2.0, 3.0))
          %2: f32[3] = exp(%1)
          %3: f32[] = sum(%1, dim=(0,), keepdim=False)
          %4: i64[100] = iota(None, dim=0, dtype=i64, shape=(100,))
          %5: i64[100] = neg(%4)
          return %0, %2, %3, %5
        }""")
