"""Copies before native code that could not read a view, and none where it can."""

import numpy as np
import pytest

import ingot
from graph_interpreter import interpret
from graphs import check_untouched, graph_of
from ingot import jit
from ingot.passes.layout.plain_operands import PLAIN, ROWS, STRIDED, materialize_operands, pattern_of
from ingot.runtime.cpu.graph.program import CalledNode

TURNED = """
    graph g(%x: f32[4,6], %w: f32[4,5]) {
      %0: f32[6,4] = permute(%x, dims=(1, 0))
      %1: f32[6,5] = matmul(%0, %w)
      return %1
    }"""

BROKEN = """
    graph g(%x: f32[2,3,4,5], %w: f32[2,12,5]) {
      %0: f32[2,4,3,5] = permute(%x, dims=(0, 2, 1, 3))
      %1: f32[2,12,5] = reshape(%0, shape=(2, 12, 5))
      %2: f32[2,5,12] = permute(%1, dims=(0, 2, 1))
      %3: f32[2,5,5] = matmul(%2, %w)
      return %3
    }"""


def by(how):
    return lambda node: how if node.op.name == "matmul" else None


def after(text, how):
    g = graph_of(text)
    made = materialize_operands(g, by(how))
    arrays = [np.random.default_rng(0).standard_normal(v.shape).astype(np.float32) for v in g.inputs]
    for a, b in zip(interpret(g, arrays).outputs, interpret(made, arrays).outputs, strict=True):
        assert (a == b).all()
    assert materialize_operands(made, by(how)) is made
    return [n.op.name for n in made.nodes]


def test_a_transposed_operand_is_copied_for_code_that_reads_rows():
    assert after(TURNED, ROWS) == ["permute", "contiguous", "matmul"]
    assert after(TURNED, PLAIN) == ["permute", "contiguous", "matmul"]
    check_untouched(lambda g: materialize_operands(g, by(STRIDED)), TURNED)
    check_untouched(lambda g: materialize_operands(g, by(None)), TURNED)


def test_the_copy_replaces_the_first_view_without_strides():
    assert after(BROKEN, STRIDED) == ["permute", "contiguous", "reshape", "permute", "matmul"]
    assert after(BROKEN, PLAIN) == ["permute", "contiguous", "reshape", "permute", "contiguous", "matmul"]


def test_one_copy_serves_several_readers():
    text = """
        graph g(%x: f32[4,4]) {
          %0: f32[4,4] = permute(%x, dims=(1, 0))
          %1: f32[4,4] = matmul(%0, %0)
          %2: f32[4,4] = matmul(%0, %1)
          return %2
        }"""
    assert after(text, PLAIN).count("contiguous") == 1


def test_a_fill_is_materialised():
    assert after("""
        graph g(%x: f32[4,4]) {
          %0: f32[4,4] = full(%x, shape=(4, 4), value=2.0, dtype=f32)
          %1: f32[4,4] = matmul(%0, %x)
          return %1
        }""", STRIDED) == ["full", "contiguous", "matmul"]


def test_patterns():
    g = graph_of(TURNED)
    source, pattern = pattern_of(g.nodes[0].output)
    assert source is g.inputs[0]
    assert pattern.strides == (1, 6)


def test_operands_of_loops_are_copied_at_the_first_view_without_strides():
    text = BROKEN.replace("matmul(%2, %w)", "REST").replace("%w: f32[2,12,5]", "%w: f32[5]")
    text = text.replace("%3: f32[2,5,5] = REST", "%3: f32[2,5] = sum(%2, dim=(2,), keepdim=False)")
    assert after(text, STRIDED) == ["permute", "contiguous", "reshape", "permute", "sum"]
    assert after(text.replace("(0, 2, 1, 3)", "(0, 1, 2, 3)").replace("2,4,3,5", "2,3,4,5"), STRIDED)[1:] == [
        "reshape", "permute", "sum"]


@pytest.mark.parametrize("fn", [
    lambda x: x.permute(0, 2, 3, 1).reshape(2, -1, 3), lambda x: x.permute(0, 2, 3, 1).reshape(2, -1, 3).mT,
    lambda x: (x.mT.reshape(-1), x * 2), lambda x: (x + 1).permute(3, 2, 1, 0).reshape(8, -1).split([3, 5]),
    lambda x: ingot.nn.functional.max_pool2d(x, 2).permute(0, 2, 3, 1).reshape(-1),
], ids=range(5))
def test_results_in_an_order_that_strides_cannot_say_are_written_by_kernels(fn, tmp_path):
    """No step of the program calls Python, so a C library can be made of it."""
    x = ingot.randn(2, 6, 4, 8)
    model = jit.export(fn, (x,), tmp_path / "model.ingot")
    assert not [s for s in model.planned({})[0].steps if type(s) is CalledNode and not s.node.op.is_view]
    traced = jit.trace(fn)
    for got in (model(x), traced(x), traced(x)):
        for a, b in zip(*[t if isinstance(t, (tuple, list)) else (t,) for t in (got, fn(x))], strict=True):
            assert (a == b).all()
            assert a.shape == b.shape
