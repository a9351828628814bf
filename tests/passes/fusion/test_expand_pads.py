"""Padding at the ends of one dim as a join with fills."""

import pytest

from graphs import check_rewrite, check_untouched
from ingot.passes.fusion.expand_pads import pads_as_joins

PAD = "%0: f32[5,4] = pad(%x, high=(2, 0), interior=(0, 0), low=(1, 0){more})"


@pytest.mark.parametrize("value", [0, 1.5])
def test_a_join_with_fills(value):
    line = PAD.format(more=f", value={value}" if value else "")
    check_rewrite(pads_as_joins, f"graph g(%x: f32[2,4]) {{\n{line}\nreturn %0\n}}", f"""
        graph g(%x: f32[2,4]) {{
          %0: f32[1,4] = full(None, dtype=f32, shape=(1, 4), value={value})
          %1: f32[2,4] = full(None, dtype=f32, shape=(2, 4), value={value})
          %2: f32[5,4] = cat(%0, %x, %1, dim=0)
          return %2
        }}""")


@pytest.mark.parametrize("line", [
    "%0: f32[3,5] = pad(%x, high=(1, 0), interior=(0, 0), low=(0, 1))",
    "%0: f32[3,4] = pad(%x, high=(0, 0), interior=(1, 0), low=(0, 0))",
    "%0: f32[2,4] = pad(%x, high=(1, 0), interior=(0, 0), low=(-1, 0))",
], ids=["two dims", "between", "cut away"])
def test_others_stay(line):
    check_untouched(pads_as_joins, f"graph g(%x: f32[2,4]) {{\n{line}\nreturn %0\n}}")


def test_one_that_pads_nothing():
    check_rewrite(pads_as_joins, """
        graph g(%x: f32[2,4]) {
          %0: f32[2,4] = pad(%x, high=(0, 0), interior=(0, 0), low=(0, 0))
          return %0
        }""", """
        graph g(%x: f32[2,4]) {
          return %x
        }""")
