"""Canonical form: literals, identity views, chains of views and casts, copies."""

import pytest

import ingot  # noqa: F401  (fills the table of operators)
from graphs import check_rewrite, check_untouched
from ingot.passes.simplify.canonicalize import canonicalize


def body(lines, returned="%r", inputs="%x: f32[2,3]"):
    """Return a graph text from statements; {r} stands for the result."""
    return f"graph g({inputs}) {{\n" + "".join(f"  {line}\n" for line in lines) + f"  return {returned}\n}}"


def test_filled_values_become_numbers_on_the_right():
    check_rewrite(canonicalize, """
        graph g(%x: f32[2]) {
          %0: f32[2] = full(%x, dtype=f32, shape=(2,), value=2)
          %1: f32[] = full(None, dtype=f32, shape=(), value=0.1)
          %2: f32[2] = expand(%1, shape=(2,))
          %3: f32[2] = mul(%0, %x)
          %4: f32[2] = sub(%0, %3)
          %5: f32[2] = add(1.5, %4)
          return %5, %2
        }""", """
        graph g(%x: f32[2]) {
          %0: f32[] = full(None, dtype=f32, shape=(), value=0.1)
          %1: f32[2] = expand(%0, shape=(2,))
          %2: f32[2] = mul(%x, 2.0)
          %3: f32[2] = sub(2.0, %2)
          %4: f32[2] = add(%3, 1.5)
          return %4, %1
        }""")


def test_a_number_is_the_value_as_its_dtype_holds_it():
    check_rewrite(canonicalize, """
        graph g(%x: f16[2]) {
          %0: f16[2] = full(None, dtype=f16, shape=(2,), value=0.1)
          %1: f16[2] = mul(%x, %0)
          return %1
        }""", """
        graph g(%x: f16[2]) {
          %0: f16[2] = mul(%x, 0.0999755859375)
          return %0
        }""")


def test_a_choice_keeps_a_value_that_gives_the_dtype():
    check_rewrite(canonicalize, """
        graph g(%c: bool[2]) {
          %0: bf16[2] = full(None, dtype=bf16, shape=(2,), value=1.0)
          %1: bf16[2] = full(None, dtype=bf16, shape=(2,), value=2.0)
          %2: bf16[2] = where(%c, %0, %1)
          return %2
        }""", """
        graph g(%c: bool[2]) {
          %0: bf16[2] = full(None, dtype=bf16, shape=(2,), value=2.0)
          %1: bf16[2] = where(%c, 1.0, %0)
          return %1
        }""")


@pytest.mark.parametrize("text", [
    "%r: f32[2,3] = reshape(%x, shape=(2, 3))",
    "%r: f32[2,3] = expand(%x, shape=(2, 3))",
    "%r: f32[2,3] = permute(%x, dims=(0, 1))",
    "%r: f32[2,3] = cast(%x, dtype=f32)",
    "%r: f32[2,3] = slice(%x, dim=1, start=0, stop=9, step=1)",
])
def test_views_that_change_nothing_disappear(text):
    check_rewrite(canonicalize, body([text]), body([], "%x"))


@pytest.mark.parametrize("lines, result", [
    (["%0: f32[6] = reshape(%x, shape=(6,))", "%r: f32[3,2] = reshape(%0, shape=(3, 2))"],
     "%r: f32[3,2] = reshape(%x, shape=(3, 2))"),
    (["%0: f32[1,2,3] = expand(%x, shape=(1, 2, 3))", "%r: f32[4,2,3] = expand(%0, shape=(4, 2, 3))"],
     "%r: f32[4,2,3] = expand(%x, shape=(4, 2, 3))"),
    (["%0: f32[2,1,3] = reshape(%x, shape=(2, 1, 3))", "%r: f32[1,2,3] = permute(%0, dims=(1, 0, 2))"],
     "%r: f32[1,2,3] = reshape(%x, shape=(1, 2, 3))"),
    (["%0: f32[2,2] = slice(%x, dim=1, start=1, stop=3, step=1)", "%r: f32[2,1] = slice(%0, dim=1, start=1, stop=2, step=1)"],
     "%r: f32[2,1] = slice(%x, dim=1, start=2, stop=3, step=1)"),
    (["%0: f64[2,3] = cast(%x, dtype=f64)", "%r: f16[2,3] = cast(%0, dtype=f16)"], "%r: f16[2,3] = cast(%x, dtype=f16)"),
])
def test_chains_become_one_step(lines, result):
    check_rewrite(canonicalize, body(lines), body([result]))


def test_steps_of_slices_multiply():
    check_rewrite(canonicalize,
                  body(["%0: f32[5] = slice(%x, dim=0, start=1, stop=10, step=2)",
                        "%r: f32[2] = slice(%0, dim=0, start=1, stop=5, step=2)"], inputs="%x: f32[10]"),
                  body(["%r: f32[2] = slice(%x, dim=0, start=3, stop=8, step=4)"], inputs="%x: f32[10]"))


def test_permutations_compose():
    check_rewrite(canonicalize,
                  body(["%0: f32[4,2,3] = permute(%x, dims=(2, 0, 1))", "%r: f32[3,4,2] = permute(%0, dims=(2, 0, 1))"],
                       inputs="%x: f32[2,3,4]"),
                  body(["%r: f32[3,4,2] = permute(%x, dims=(1, 2, 0))"], inputs="%x: f32[2,3,4]"))
    check_rewrite(canonicalize, body(["%0: f32[3,2] = permute(%x, dims=(1, 0))", "%r: f32[2,3] = permute(%0, dims=(1, 0))"]),
                  body([], "%x"))


@pytest.mark.parametrize("lines", [
    ["%0: f16[2,3] = cast(%x, dtype=f16)", "%r: f32[2,3] = cast(%0, dtype=f32)"],          # rounds on the way
    ["%0: i64[2,3] = cast(%x, dtype=i64)", "%r: f32[2,3] = cast(%0, dtype=f32)"],          # truncates on the way
    ["%0: f64[2,3] = cast(%x, dtype=f64)", "%r: i32[2,3] = cast(%0, dtype=i32)"],          # out of range depends on the machine
    ["%0: f32[3,2] = permute(%x, dims=(1, 0))", "%r: f32[2,3] = reshape(%0, shape=(2, 3))"],
    ["%0: f32[2,2] = slice(%x, dim=1, start=1, stop=3, step=1)", "%r: f32[1,2] = slice(%0, dim=0, start=1, stop=2, step=1)"],
    ["%r: f32[2,3] = sub(1.0, %x)"],
])
def test_near_misses_stay(lines):
    check_untouched(canonicalize, body(lines))


def test_integers_through_wider_integers():
    check_rewrite(canonicalize,
                  body(["%0: i64[2] = cast(%x, dtype=i64)", "%r: i8[2] = cast(%0, dtype=i8)"], inputs="%x: i32[2]"),
                  body(["%r: i8[2] = cast(%x, dtype=i8)"], inputs="%x: i32[2]"))
    check_untouched(canonicalize,
                    body(["%0: f32[2] = cast(%x, dtype=f32)", "%r: f64[2] = cast(%0, dtype=f64)"], inputs="%x: i32[2]"))


def test_inner_copies_disappear_and_returned_copies_stay():
    check_rewrite(canonicalize, body(["%0: f32[2,3] = copy(%x)", "%r: f32[2,3] = exp(%0)"]), body(["%r: f32[2,3] = exp(%x)"]))
    check_untouched(canonicalize, body(["%r: f32[2,3] = copy(%x)"]))


def test_a_returned_copy_is_the_value_if_that_owns_memory():
    more = "%1: f32[2,3] = mul(%0, 2.0)"
    check_rewrite(canonicalize, body(["%0: f32[2,3] = exp(%x)", "%r: f32[2,3] = copy(%0)", more], "%r, %1"),
                  body(["%0: f32[2,3] = exp(%x)", more], "%0, %1"))


@pytest.mark.parametrize("returned", ["%r, %0", "%r, %v", "%r, %s"])
def test_a_copy_of_a_value_that_is_returned_elsewhere_stays(returned):
    lines = ["%0: f32[2,3] = exp(%x)", "%r: f32[2,3] = copy(%0)"]
    lines += {"%r, %0": [], "%r, %v": ["%v: f32[6] = reshape(%0, shape=(6,))"], "%r, %s": ["%s: f32[2,3] = copy(%0)"]}[returned]
    check_untouched(canonicalize, body(lines, returned))


@pytest.mark.parametrize("made", ["permute(%x, dims=(1, 0))", "full(None, dtype=f32, shape=(3, 2), value=1.0)"])
def test_a_copy_of_a_value_without_memory_stays(made):
    check_untouched(canonicalize, body([f"%0: f32[3,2] = {made}", "%r: f32[3,2] = copy(%0)"]))
