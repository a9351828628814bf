"""Algebra that keeps bits: each rule on special values, and its near misses."""

import pytest

import ingot  # noqa: F401  (fills the table of operators)
from graphs import check_rewrite, check_untouched
from ingot.passes.simplify.simplify import RULES, cancel_conjugates, simplify


def text(lines, returned, inputs="%x: {t}[2,3], %y: {t}[2,3], %c: bool[2,3]", t="f32"):
    out = f"graph g({inputs}) {{{{\n" + "".join(f"  {line}\n" for line in lines) + f"  return {returned}\n}}}}"
    return out.replace("{t}", t).replace("{{", "{").replace("}}", "}")


ONE_STEP = [   # dtype, an expression of x, y and the bool c, what it becomes
    ("f32", "mul(%x, 1.0)", "%x"), ("f32", "mul(%x, 1)", "%x"), ("i32", "mul(%x, 1)", "%x"), ("f16", "div(%x, 1.0)", "%x"),
    ("f32", "add(%x, -0.0)", "%x"), ("i64", "add(%x, 0)", "%x"), ("f32", "sub(%x, 0.0)", "%x"), ("u8", "sub(%x, 0)", "%x"),
    ("f32", "pow(%x, 1)", "%x"), ("f64", "pow(%x, 1.0)", "%x"),
    ("i32", "bitwise_or(%x, 0)", "%x"), ("i32", "bitwise_xor(%x, 0)", "%x"), ("i32", "bitwise_and(%x, %x)", "%x"),
    ("i32", "bitwise_or(%x, %x)", "%x"), ("bool", "logical_and(%x, %x)", "%x"), ("bool", "logical_or(%x, %x)", "%x"),
    ("f32", "maximum(%x, %x)", "%x"), ("f32", "minimum(%x, %x)", "%x"), ("f32", "where(%c, %x, %x)", "%x"),
    ("bool", "ne(%x, False)", "%x"), ("i32", "mul(%x, 0)", "full(None, dtype=i32, shape=(2, 3), value=0)"),
]


@pytest.mark.parametrize("t, before, after", ONE_STEP, ids=[f"{t} {b}" for t, b, _ in ONE_STEP])
def test_one_operation(t, before, after):
    if after.startswith("%"):
        check_rewrite(simplify, text([f"%r: {{t}}[2,3] = {before}"], "%r", t=t), text([], after, t=t))
    else:
        like = after.replace("None", "%x")   # canonicalize drops the operand that only lends its device
        check_rewrite(simplify, text([f"%r: {{t}}[2,3] = {before}"], "%r", t=t), text([f"%r: {{t}}[2,3] = {like}"], "%r", t=t))


TWO_STEPS = [   # dtype, an inner expression, an outer one of %0, what it becomes
    ("f32", "neg(%x)", "neg(%0)", "%x"), ("f32", "neg(%y)", "add(%x, %0)", "sub(%x, %y)"),
    ("f32", "neg(%y)", "add(%0, %x)", "sub(%x, %y)"), ("f32", "neg(%y)", "add(%0, 2.0)", "sub(2.0, %y)"),
    ("f32", "neg(%y)", "sub(%x, %0)", "add(%x, %y)"), ("f32", "neg(%x)", "abs(%0)", "abs(%x)"),
    ("f32", "neg(%x)", "square(%0)", "square(%x)"), ("f32", "abs(%x)", "square(%0)", "square(%x)"),
    ("i32", "bitwise_not(%x)", "bitwise_not(%0)", "%x"), ("f32", "floor(%x)", "floor(%0)", "floor(%x)"),
    ("f32", "abs(%x)", "abs(%0)", "abs(%x)"), ("f32", "sign(%x)", "sign(%0)", "sign(%x)"),
    ("f32", "round(%x)", "round(%0)", "round(%x)"),
]


@pytest.mark.parametrize("t, inner, outer, after", TWO_STEPS, ids=[f"{t[2]} {t[1]}" for t in TWO_STEPS])
def test_two_operations(t, inner, outer, after):
    lines = [] if after.startswith("%") else [f"%r: {{t}}[2,3] = {after}"]
    check_rewrite(simplify, text([f"%0: {{t}}[2,3] = {inner}", f"%r: {{t}}[2,3] = {outer}"], "%r", t=t),
                  text(lines, after if not lines else "%r", t=t))


def test_parts_of_conjugates():
    for part in ("real", "modulus"):
        lines = ["%0: c64[2,3] = conj(%x)", f"%r: f32[2,3] = {part}(%0)"]
        check_rewrite(simplify, text(lines, "%r", t="c64"), text([f"%r: f32[2,3] = {part}(%x)"], "%r", t="c64"))
    before = ["%0: c64[2,3] = conj(%x)", "%r: f32[2,3] = imag(%0)"]
    after = ["%1: f32[2,3] = imag(%x)", "%r: f32[2,3] = neg(%1)"]
    check_rewrite(simplify, text(before, "%r", t="c64"), text(after, "%r", t="c64"))


def test_negations_of_both_factors():
    lines = ["%0: f32[2,3] = neg(%x)", "%1: f32[2,3] = neg(%y)", "%r: f32[2,3] = {op}(%0, %1)"]
    for op in ("mul", "div"):
        check_rewrite(simplify, text([line.replace("{op}", op) for line in lines], "%r"),
                      text([f"%r: f32[2,3] = {op}(%x, %y)"], "%r"))


@pytest.mark.parametrize("before, after", [("eq", "ne"), ("ne", "eq")])
def test_negated_equality(before, after):
    check_rewrite(simplify, text([f"%0: bool[2,3] = {before}(%x, %y)", "%r: bool[2,3] = logical_not(%0)"], "%r"),
                  text([f"%r: bool[2,3] = {after}(%x, %y)"], "%r"))


@pytest.mark.parametrize("before, after", [("lt", "ge"), ("ge", "lt"), ("gt", "le"), ("le", "gt")])
def test_negated_order_turns_round_for_integers_only(before, after):
    lines = [f"%0: bool[2,3] = {before}(%x, %y)", "%r: bool[2,3] = logical_not(%0)"]
    check_rewrite(simplify, text(lines, "%r", t="i32"), text([f"%r: bool[2,3] = {after}(%x, %y)"], "%r", t="i32"))
    check_untouched(simplify, text(lines, "%r"))


def test_choices_by_constants_and_not():
    check_rewrite(simplify, text(["%0: bool[2,3] = logical_not(%c)", "%r: f32[2,3] = where(%0, %x, 1.0)"], "%r"),
                  text(["%r: f32[2,3] = where(%c, 1.0, %x)"], "%r"))
    for value, chosen in ((True, "%x"), (False, "%y")):
        check_rewrite(simplify, text([f"%0: bool[2,3] = full(None, dtype=bool, shape=(2, 3), value={value})",
                                      "%r: f32[2,3] = where(%0, %x, %y)"], "%r"), text([], chosen))
    check_rewrite(simplify, text(["%0: f32[2,3] = cast(%c, dtype=f32)", "%r: bool[2,3] = ne(%0, 0.0)"], "%r"), text([], "%c"))


def test_extremes_over_size_one():
    for op in ("amax", "amin"):
        check_rewrite(simplify, text([f"%r: f32[3] = {op}(%x, dim=(0,), keepdim=False)"], "%r", inputs="%x: f32[1,3]"),
                      text(["%r: f32[3] = reshape(%x, shape=(3,))"], "%r", inputs="%x: f32[1,3]"))
        check_untouched(simplify, text([f"%r: f32[3] = {op}(%x, dim=(0,), keepdim=False)"], "%r"))


NEAR_MISSES = [   # what looks alike and differs for some value
    ("f32", "add(%x, 0.0)"),        # -0.0
    ("f32", "add(%x, 0)"),
    ("f32", "sub(%x, -0.0)"),       # -0.0
    ("f32", "mul(%x, 0.0)"),        # inf, nan, -0.0
    ("f32", "mul(%x, 2.0)"),
    ("f32", "div(1.0, %x)"),
    ("f32", "sub(0.0, %x)"),        # 0.0 - 0.0 is 0.0, neg gives -0.0
    ("f32", "sub(%x, %x)"),         # inf, nan
    ("f32", "div(%x, %x)"),
    ("c64", "mul(%x, 1)"),          # infinities
    ("f32", "pow(%x, 2)"),
]


@pytest.mark.parametrize("t, expression", NEAR_MISSES, ids=[f"{t} {e}" for t, e in NEAR_MISSES])
def test_near_misses_stay(t, expression):
    check_untouched(simplify, text([f"%r: {{t}}[2,3] = {expression}"], "%r", t=t))


def test_unsigned_negation_is_not_a_sign():
    check_untouched(simplify, text(["%0: u8[2,3] = neg(%x)", "%r: u8[2,3] = abs(%0)"], "%r", t="u8"))


def test_rules_have_names_of_their_own():
    assert len({r.name for r in RULES}) == len(RULES)


HEAD = "graph g(%x: c64[2,6], %y: c128[2,6]) {\n"


def conjugates(*lines, returned):
    return HEAD + "".join(f"  {line}\n" for line in lines) + f"  return {returned}\n}}"


GONE = [
    ((), ("%r: c64[2,6] = conj(%0)",), "%x", ()),
    (("%1: c64[6,2] = permute(%0, dims=(1, 0))",), ("%r: c64[6,2] = conj(%1)",), "%r",
     ("%r: c64[6,2] = permute(%x, dims=(1, 0))",)),
    (("%1: c64[2,3,2] = reshape(%0, shape=(2, 3, 2))", "%2: c64[2,2] = select(%1, dim=1, index=2)"),
     ("%r: c64[2,2] = conj(%2)",), "%r",
     ("%1: c64[2,3,2] = reshape(%x, shape=(2, 3, 2))", "%r: c64[2,2] = select(%1, dim=1, index=2)")),
]


@pytest.mark.parametrize("views, last, returned, after", GONE, ids=["beside each other", "turned", "several views"])
def test_pairs_of_conjugates_cancel(views, last, returned, after):
    before = conjugates("%0: c64[2,6] = conj(%x)", *views, *last, returned="%r")
    check_rewrite(cancel_conjugates, before, conjugates(*after, returned=returned))


def test_one_of_three_conjugates_stays():
    three = "%0: c64[2,6] = conj(%x)", "%1: c64[2,6] = conj(%0)", "%r: c64[2,6] = conj(%1)"
    check_rewrite(cancel_conjugates, conjugates(*three, returned="%r"), conjugates("%r: c64[2,6] = conj(%x)", returned="%r"))


@pytest.mark.parametrize("lines", [
    ("%r: c64[2,6] = conj(%x)",),
    ("%0: c64[2,6] = conj(%x)", "%1: c64[2,6] = neg(%0)", "%r: c64[2,6] = conj(%1)"),
    ("%0: c128[2,6] = conj(%y)", "%1: c64[2,12] = bitcast(%0, dtype=c64)", "%r: c64[2,12] = conj(%1)"),
], ids=["one", "arithmetic between", "other bits"])
def test_other_conjugates_stay(lines):
    check_untouched(cancel_conjugates, conjugates(*lines, returned="%r"))
