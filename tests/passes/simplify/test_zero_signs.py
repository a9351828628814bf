"""Zeros that were added for a sign, before products and sums."""

import pytest

from graphs import check_rewrite, check_untouched
from ingot.passes.simplify.zero_signs import drop_zero_signs


def test_zeros_are_added_after_sums_and_dropped_before_products():
    check_rewrite(drop_zero_signs, """
        graph g(%x: f32[3,4], %w: f32[12,5]) {
          %0: f32[3,4] = add(%x, 0.0)
          %1: f32[1,12] = reshape(%0, shape=(1, 12))
          %2: f32[1,5] = matmul(%1, %w)
          %3: f32[3] = sum(%0, dim=(1,), keepdim=False)
          return %2, %3
        }""", """
        graph g(%x: f32[3,4], %w: f32[12,5]) {
          %0: f32[1,12] = reshape(%x, shape=(1, 12))
          %1: f32[1,5] = matmul(%0, %w)
          %2: f32[3] = sum(%x, dim=(1,), keepdim=False)
          %3: f32[3] = add(%2, 0.0)
          return %1, %3
        }""")


@pytest.mark.parametrize("line", ["%1: f32[3,4] = exp(%0)", "%1: f32[3,4] = add(%x, %0)",
                                  "%1: f32[3,1] = amax(%0, dim=(1,), keepdim=True)"], ids=["function", "sum of two", "maximum"])
def test_other_readers_see_the_sign(line):
    check_untouched(drop_zero_signs, f"graph g(%x: f32[3,4]) {{\n%0: f32[3,4] = add(%x, 0.0)\n{line}\nreturn %1\n}}")


@pytest.mark.parametrize("number", ["-0.0", "1.0"])
def test_other_numbers_are_added(number):
    check_untouched(drop_zero_signs, f"""
        graph g(%x: f32[3,4]) {{
          %0: f32[3,4] = add(%x, {number})
          %1: f32[3] = sum(%0, dim=(1,), keepdim=False)
          return %1
        }}""")
