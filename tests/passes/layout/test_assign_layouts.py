"""Copies in reading order: concats, and operators that write by strides."""

import pytest

from graphs import check_rewrite, check_untouched
from ingot.passes.layout.assign_layouts import assign_layouts


def test_a_permuted_concat_is_a_concat_of_permuted_parts():
    check_rewrite(assign_layouts, """
        graph g(%a: f32[2,3,4], %b: f32[5,3,4]) {
          %0: f32[7,3,4] = cat(%a, %b, dim=0)
          %1: f32[3,4,7] = permute(%0, dims=(1, 2, 0))
          %2: f32[12,7] = reshape(%1, shape=(12, 7))
          return %2
        }""", """
        graph g(%a: f32[2,3,4], %b: f32[5,3,4]) {
          %0: f32[3,4,2] = permute(%a, dims=(1, 2, 0))
          %1: f32[3,4,5] = permute(%b, dims=(1, 2, 0))
          %2: f32[3,4,7] = cat(%0, %1, dim=2)
          %3: f32[12,7] = reshape(%2, shape=(12, 7))
          return %3
        }""")


def test_a_copy_is_explicit_once_for_all_readers():
    check_rewrite(assign_layouts, """
        graph g(%a: f32[3,4,5]) {
          %0: f32[4,3,5] = permute(%a, dims=(1, 0, 2))
          %1: f32[12,5] = reshape(%0, shape=(12, 5))
          %2: f32[5] = sum(%1, dim=(0,), keepdim=False)
          %3: f32[12] = sum(%1, dim=(1,), keepdim=False)
          return %2, %3
        }""", """
        graph g(%a: f32[3,4,5]) {
          %0: f32[4,3,5] = permute(%a, dims=(1, 0, 2))
          %1: f32[4,3,5] = contiguous(%0)
          %2: f32[12,5] = reshape(%1, shape=(12, 5))
          %3: f32[5] = sum(%2, dim=(0,), keepdim=False)
          %4: f32[12] = sum(%2, dim=(1,), keepdim=False)
          return %3, %4
        }""")


ATTENTION = "%0: f32[2,3,4,8], %1: f32[2,3,4] = attention(%q, %q, %q, None, causal=True, scale=0.5)"
HEADS = "%2: f32[2,4,3,8] = permute(%0, dims=(0, 2, 1, 3))"


def test_attention_writes_in_the_order_of_its_reader():
    check_rewrite(assign_layouts, f"""
        graph g(%q: f32[2,3,4,8]) {{
          {ATTENTION}
          {HEADS}
          %3: f32[8,24] = reshape(%2, shape=(8, 24))
          %4: f32[2,3,4,8] = exp(%0)
          return %3, %4, %1
        }}""", f"""
        graph g(%q: f32[2,3,4,8]) {{
          {ATTENTION}
          {HEADS}
          %3: f32[2,4,3,8] = cat(%2, dim=0)
          %4: f32[2,3,4,8] = permute(%3, dims=(0, 2, 1, 3))
          %5: f32[8,24] = reshape(%3, shape=(8, 24))
          %6: f32[2,3,4,8] = exp(%4)
          return %5, %6, %1
        }}""")


@pytest.mark.parametrize("lines", [
    ("%1: f32[3,4,7] = permute(%0, dims=(1, 2, 0))", "return %1, %0"),
    ("%1: f32[3,4,7] = permute(%0, dims=(1, 2, 0))", "%2: f32[3,7,4] = permute(%0, dims=(1, 0, 2))", "return %1, %2"),
    ("%1: f32[84] = reshape(%0, shape=(84,))", "return %1"),
], ids=["read elsewhere", "two orders", "a view"])
def test_other_concats_stay(lines):
    check_untouched(assign_layouts, "\n".join(
        ["graph g(%a: f32[2,3,4], %b: f32[5,3,4]) {", "%0: f32[7,3,4] = cat(%a, %b, dim=0)", *lines, "}"]))


def test_results_of_the_graph_keep_their_order():
    check_rewrite(assign_layouts, f"""
        graph g(%q: f32[2,3,4,8]) {{
          {ATTENTION}
          {HEADS}
          %3: f32[8,24] = reshape(%2, shape=(8, 24))
          return %3, %0
        }}""", f"""
        graph g(%q: f32[2,3,4,8]) {{
          {ATTENTION}
          {HEADS}
          %3: f32[2,4,3,8] = contiguous(%2)
          %4: f32[8,24] = reshape(%3, shape=(8, 24))
          return %4, %0
        }}""")
