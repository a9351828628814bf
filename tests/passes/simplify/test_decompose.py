"""Decomposition of every composite of the tables, in float64 and in low precision."""

import numpy as np
import pytest

import ingot  # noqa: F401  (fills the table of operators)
from graph_interpreter import interpret
from graphs import check_rewrite, check_untouched, graph_of
from ingot.ir import dtype as dt
from ingot.ir.graph.verify import verify
from ingot.ir.opdef.op import OPS, Composite
from ingot.passes.simplify.decompose import decompose
from samples import (
    SAMPLES,
    rows,
    table,  # noqa: F401  (fills SAMPLES)
)
from tests.ir.graph.test_graph import graphs_of, one_node

COMPOSITES = sorted(n for n in set(SAMPLES) & set(OPS) if type(OPS[n].lower) is Composite)


@pytest.mark.parametrize("name", COMPOSITES)
def test_the_body_means_what_the_reference_means(name):
    for _, g, arrays in graphs_of(name):
        after = verify(decompose(g))
        assert not any(type(n.op.lower) is Composite for n in after.nodes)
        assert decompose(after) is after
        for a, b in zip(interpret(g, arrays).outputs, interpret(after, arrays).outputs):
            np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-10, err_msg=str(g))


@pytest.mark.parametrize("name", COMPOSITES)
def test_low_precision_is_rounded_once(name):
    for s in rows(name):
        if s.dtypes not in ("float", "any", "number"):
            continue
        s.args = tuple(s.cast(dt.bfloat16))
        g, arrays = one_node(OPS[name], s)
        for a, b in zip(interpret(g, arrays).outputs, interpret(verify(decompose(g)), arrays).outputs):
            np.testing.assert_allclose(a.astype(np.float64), b.astype(np.float64), rtol=0.02 * s.tol, atol=0.02, err_msg=str(g))


def test_new_nodes_carry_the_line_of_the_composite():
    after = decompose(graph_of("""
        graph g(%x: f32[2,3]) {
          %0: f32[2,3] = softmax(%x, dim=1)    # net.py:9
          return %0
        }"""))
    assert len(after) > 3 and {n.line for n in after.nodes} == {("net.py", 9)}


def test_low_precision_goes_through_float32():
    check_rewrite(decompose, """
        graph g(%x: bf16[4]) {
          %0: bf16[4] = hardtanh(%x, max_val=1.0, min_val=-1.0)
          return %0
        }""", """
        graph g(%x: bf16[4]) {
          %0: f32[4] = cast(%x, dtype=f32)
          %1: f32[4] = minimum(%0, 1.0)
          %2: f32[4] = maximum(%1, -1.0)
          %3: bf16[4] = cast(%2, dtype=bf16)
          return %3
        }""")


def test_contractions_keep_low_precision_operands():
    after = decompose(graph_of("""
        graph g(%x: bf16[4,8], %w: bf16[3,8]) {
          %0: bf16[4,3] = linear(%x, %w, None)
          return %0
        }"""))
    assert all(v.dtype is dt.bfloat16 for v in after.values())


def test_other_operators_stay():
    text = """
        graph g(%x: f32[2,3]) {
          %0: f32[2,3] = softmax(%x, dim=1)
          %1: f32[2,3] = exp(%0)
          return %1
        }"""
    check_untouched(lambda g: decompose(g, keep={OPS["softmax"]}), text)
    check_untouched(decompose, text.replace("softmax(%x, dim=1)", "neg(%x)"))
