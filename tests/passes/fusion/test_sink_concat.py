"""Elementwise operations on a concat move to its parts."""

import pytest

from graphs import check_rewrite, check_untouched
from ingot.passes.fusion.sink_concat import sink_concats

ROPE = """
    graph g(%x: f32[3,4], %c: f32[3,4], %s: f32[3,4]) {
      %0: f32[3,2] = slice(%x, dim=1, start=0, step=1, stop=2)
      %1: f32[3,2] = slice(%x, dim=1, start=2, step=1, stop=4)
      %2: f32[3,2] = neg(%1)
      %3: f32[3,4] = cat(%2, %0, dim=1)
      %4: f32[3,4] = mul(%3, %s)
      %5: f32[3,4] = mul(%x, %c)
      %6: f32[3,4] = add(%5, %4)
      return %6
    }"""


def test_rotary_halves_are_computed_in_parts():
    check_rewrite(sink_concats, ROPE, """
        graph g(%x: f32[3,4], %c: f32[3,4], %s: f32[3,4]) {
          %0: f32[3,2] = slice(%x, dim=1, start=0, step=1, stop=2)
          %1: f32[3,2] = slice(%x, dim=1, start=2, step=1, stop=4)
          %2: f32[3,2] = neg(%1)
          %3: f32[3,2] = slice(%s, dim=1, start=0, step=1, stop=2)
          %4: f32[3,2] = mul(%2, %3)
          %5: f32[3,2] = slice(%s, dim=1, start=2, step=1, stop=4)
          %6: f32[3,2] = mul(%0, %5)
          %7: f32[3,2] = slice(%x, dim=1, start=0, step=1, stop=2)
          %8: f32[3,2] = slice(%c, dim=1, start=0, step=1, stop=2)
          %9: f32[3,2] = mul(%7, %8)
          %10: f32[3,2] = add(%9, %4)
          %11: f32[3,2] = slice(%x, dim=1, start=2, step=1, stop=4)
          %12: f32[3,2] = slice(%c, dim=1, start=2, step=1, stop=4)
          %13: f32[3,2] = mul(%11, %12)
          %14: f32[3,2] = add(%13, %6)
          %15: f32[3,4] = cat(%10, %14, dim=1)
          return %15
        }""")


def test_equal_concats_sink_together():
    check_rewrite(sink_concats, """
        graph g(%x: f32[2,3], %y: f32[2,3]) {
          %0: f32[4,3] = cat(%x, %y, dim=0)
          %1: f32[4,3] = cat(%y, %x, dim=0)
          %2: f32[4,3] = sub(%0, %1)
          %3: f32[4,3] = mul(%2, %2)
          return %3
        }""", """
        graph g(%x: f32[2,3], %y: f32[2,3]) {
          %0: f32[2,3] = sub(%x, %y)
          %1: f32[2,3] = sub(%y, %x)
          %2: f32[2,3] = mul(%0, %0)
          %3: f32[2,3] = mul(%1, %1)
          %4: f32[4,3] = cat(%2, %3, dim=0)
          return %4
        }""")


@pytest.mark.parametrize("lines", [
    ("%1: f32[4,3] = exp(%0)", "return %1, %0"),
    ("%1: f32[4,3] = exp(%0)", "%2: f32[4,3] = neg(%0)", "return %1, %2"),
    ("%1: f32[4,1] = sum(%0, dim=(1,), keepdim=True)", "return %1"),
], ids=["leaves", "two readers", "a sum"])
def test_other_concats_stay(lines):
    check_untouched(sink_concats, "\n".join(
        ["graph g(%x: f32[2,3], %y: f32[2,3]) {", "%0: f32[4,3] = cat(%x, %y, dim=0)", *lines, "}"]))


def test_uneven_parts_stay():
    check_untouched(sink_concats, """
        graph g(%x: f32[2,3], %y: f32[1,3]) {
          %0: f32[3,3] = cat(%x, %y, dim=0)
          %1: f32[3,3] = exp(%0)
          return %1
        }""")
