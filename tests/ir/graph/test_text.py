"""IR text: printing and parsing undo each other, and wrong text is explained with line and column."""

import math
import textwrap

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ingot  # noqa: F401  (fills the table of operators)
from graphs import random_graph
from ingot.ir import dtype as dt
from ingot.ir.errors import GraphError
from ingot.ir.graph.graph import Builder
from ingot.ir.graph.text import format_param, parse, parse_param, show
from ingot.ir.opdef.aval import Aval
from ingot.ir.opdef.op import OPS
from ingot.ir.opdef.params import param_key
from ingot.ir.ops.core import elementwise as ew
from ingot.ir.ops.core import reduce
from samples import (
    SAMPLES,
    table,  # noqa: F401  (fills SAMPLES)
)
from tests.ir.graph.test_graph import graphs_of


def dedent(text):
    return textwrap.dedent(text).strip()


def test_a_graph_reads_like_source():
    b = Builder("block")
    x, w = b.input("x", Aval((8, 64), dt.float32)), b.input("layer1.weight", Aval((64,), dt.float32))
    b.line = ("/home/me/model.py", 12)
    y = ew.mul(x, w)
    b.line = ("/home/me/model.py", 13)
    z = ew.sub(1.0, ew.tanh(y))
    b.line = None
    s = reduce.sum_(z, dim=(0,), keepdim=False)
    b.update(w, s)
    g = b.finish([z, s])
    assert str(g) == dedent("""
        graph block(%x: f32[8,64], %layer1.weight: f32[64]) {
          %0: f32[8,64] = expand(%layer1.weight, shape=(8, 64))    # model.py:12
          %1: f32[8,64] = mul(%x, %0)                              # model.py:12
          %2: f32[8,64] = tanh(%1)                                 # model.py:13
          %3: f32[8,64] = sub(1.0, %2)                             # model.py:13
          %4: f32[64] = sum(%3, dim=(0,), keepdim=False)
          update %layer1.weight = %4
          return %3, %4
        }""")
    assert parse(str(g)) == g
    assert parse(show(g, full_paths=True)).nodes[0].line == ("/home/me/model.py", 12)


def test_many_inputs_are_printed_one_a_line_and_outputs_may_be_missing():
    b = Builder("wide")
    for i in range(12):
        b.input(f"parameter{i}", Aval((128, 256), dt.float32))
    g = b.finish([])
    assert str(g).splitlines()[:3] == ["graph wide(", "    %parameter0: f32[128,256],", "    %parameter1: f32[128,256],"]
    assert parse(str(g)) == g and str(g).endswith("  return\n}")


@pytest.mark.parametrize("seed", range(60))
def test_random_graphs_are_parsed_back(seed):
    g = random_graph(np.random.default_rng([1, seed]), 25)
    for text in (show(g), show(g, full_paths=True)):
        back = parse(text)
        assert back == g and hash(back) == hash(g), f"seed {seed}\n{text}"
        assert show(back, full_paths=text != show(g)) == text, f"seed {seed}"
    assert [n.line for n in parse(show(g, full_paths=True)).nodes] == [n.line for n in g.nodes]


@pytest.mark.parametrize("name", sorted(set(SAMPLES) & set(OPS)))
def test_every_operator_is_parsed_back(name):
    for _, g, _ in graphs_of(name):
        assert parse(str(g)) == g and str(parse(str(g))) == str(g)


LITERALS = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(), st.sampled_from(dt.ALL),
              st.complex_numbers(allow_nan=True), st.builds(slice, st.none() | st.integers(), st.none() | st.integers())),
    lambda inner: st.lists(inner, max_size=4).map(tuple), max_leaves=8)


@settings(max_examples=300, deadline=None, derandomize=True)
@given(LITERALS)
def test_literals_are_parsed_back_with_type_and_bits(value):
    assert param_key(parse_param(format_param(value))) == param_key(value)


@pytest.mark.parametrize("text, value", [("0x1.8p+1", 3.0), ("-0x1p-1074", -5e-324), ("-0.0", -0.0), ("1e-5", 1e-5),
                                         (".5", 0.5), ("-inf", -math.inf), ("(1,)", (1,)), ("()", ()), ("f32", dt.float32),
                                         ("slice(1, None, 2)", slice(1, None, 2)), ("'a\\n%#b'", "a\n%#b")])
def test_handwritten_literals_are_parsed(text, value):
    assert param_key(parse_param(text)) == param_key(value)


@pytest.mark.parametrize("name", ["<lambda>", "<lambda>_backward", "f.<locals>.g", "Net.forward"])
def test_graphs_of_lambdas_are_parsed_back(name):
    text = f"graph {name}(%x: f32[2]) {{\n  %0: f32[2] = exp(%x)\n  return %0\n}}"
    assert show(parse(text)) == text and parse(text).name == name


def test_layout_and_comments_are_free():
    g = parse("""
        # a note
        graph g ( %x : f32[ 2 ] ,
                  %y: f32[2] ) {   # another
          %sum: f32[2] = add(%x,%y)   # deep/er model.py:3
          # between
          return %sum
        }   # the end
    """)
    assert str(g) == dedent("""
        graph g(%x: f32[2], %y: f32[2]) {
          %0: f32[2] = add(%x, %y)    # er model.py:3
          return %0
        }""")


HEAD = "graph g(%x: f32[2]) {\n"
WRONG = [
    ("grph g() { return }", 1, 1, "expected 'graph'"),
    ("graph g(%x: f3[2]) { return }", 1, 13, "unknown dtype 'f3'; did you mean 'f32'"),
    ("graph g(%x: f32[2], %x: f32[2]) { return }", 1, 21, "%x is defined twice"),
    (HEAD + "  %0: f32[2] = tahn(%x)\n return }", 2, 16, "unknown operator 'tahn'; did you mean"),
    (HEAD + "  %0: f32[3] = tanh(%x)\n return }", 2, 3, r"declared f32\[3\], but tanh gives f32\[2\]"),
    (HEAD + "  %0: f32[2], %1: f32[2] = tanh(%x)\n return }", 2, 28, "gives 1 result, the text declares 2"),
    (HEAD + "  %0: f32[2] = add(%x)\n return }", 2, 16, "takes 2 operands, got 1"),
    (HEAD + "  %0: f32[2] = tanh(%y)\n return }", 2, 21, "%y is not defined above"),
    (HEAD + "  %0: f32[2] = reshape(%x, size=(2,))\n return }", 2, 16, "does not take these operands"),
    (HEAD + "  %0: f32[2] = reshape(shape=(2,), %x)\n return }", 2, 36, "operands stand before parameters"),
    (HEAD + "  %0: f32[2] = reshape(%x, shape=(2,), shape=(2,))\n return }", 2, 40, "given twice"),
    (HEAD + "  %0: f32[2] = reshape(%x, shape=(2))\n return }", 2, 36, "a tuple of one element"),
    (HEAD + "  %0: f32[2] = tanh(%x\n return }", 3, 2, "expected ','"),
    (HEAD + "  update %x = %z\n return }", 2, 15, "%z is not defined"),
    (HEAD + "  return %x\n} more", 3, 3, "expected the end"),
    (HEAD + "  $", 2, 3, "unexpected character"),
    (HEAD + "  %0: f32[2] = tanh(%x)", 2, 24, "found 'the end of the text'"),
    ("graph g(%x: f32[2], %w: f32[3]) {\n  update %w = %x\n  return\n}", 2, 3, "same type"),
]


@pytest.mark.parametrize("text, line, column, message", WRONG, ids=[w[3] for w in WRONG])
def test_wrong_text_is_explained(text, line, column, message):
    with pytest.raises(GraphError, match=message) as e:
        parse(text)
    assert f"line {line}, column {column}:" in str(e.value)
    shown, caret = str(e.value).splitlines()[-2:]
    assert shown[2:] == text.split("\n")[line - 1] and caret.index("^") == column + 1


@settings(max_examples=200, deadline=None, derandomize=True)
@given(st.integers(0, 30), st.randoms(use_true_random=False))
def test_damaged_text_is_one_error_or_another_graph(seed, random):
    text = list(str(random_graph(np.random.default_rng([2, seed]), 6)))
    for _ in range(random.randint(1, 3)):
        at = random.randrange(len(text))
        text[at] = random.choice(["", " ", "%", "(", ",", "0", "x", "\n", text[at] * 2])
    try:
        g = parse("".join(text))
    except GraphError:
        return
    assert parse(str(g)) == g
