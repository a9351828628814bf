"""Sums of disjoint padded arrays become concats, bit for bit."""

import numpy as np
import pytest

import ingot
from graph_interpreter import interpret
from graphs import check_rewrite, check_untouched, graph_of, same_bits
from ingot import jit, nn
from ingot.ir.graph.verify import verify
from ingot.ir.ops.core.shape import cat, pad
from ingot.passes.fusion.pads_to_concat import concat_pads, expand_pads

HEAD = "graph g(%a: f32[2,3,4], %b: f32[2,5,4], %c: f32[2,2,4], %x: f32[2,10,4], %y: f32[2,10,4]) {"
A = "%0: f32[2,10,4] = pad(%a, high=(0, 7, 0), interior=(0, 0, 0), low=(0, 0, 0))"
B = "%1: f32[2,10,4] = pad(%b, high=(0, 2, 0), interior=(0, 0, 0), low=(0, 3, 0))"
C = "%2: f32[2,10,4] = pad(%c, high=(0, 0, 0), interior=(0, 0, 0), low=(0, 8, 0))"


def graph(*lines):
    return "\n".join([HEAD, *lines, "}"])


@pytest.mark.parametrize("lines", [
    (A, B, C, "%3: f32[2,10,4] = add(%0, %1)", "%4: f32[2,10,4] = add(%3, %2)", "return %4"),
    (A, B, C, "%3: f32[2,10,4] = add(%1, %2)", "%4: f32[2,10,4] = add(%0, %3)", "return %4, %0"),
    (A, C, "%1: f32[2,10,4] = add(%0, %2)", "return %1"),
    (B, C, "%0: f32[2,10,4] = add(%2, %1)", "return %0"),
    (A, B, C, "%3: f32[2,10,4] = add(%x, %0)", "%4: f32[2,10,4] = add(%3, %1)", "%5: f32[2,10,4] = add(%4, %2)", "return %5"),
    (A, C, "%1: f32[2,10,4] = add(%2, %x)", "%3: f32[2,10,4] = add(%0, %1)", "return %3"),
    (A, C, "%1: f32[2,10,4] = add(%x, %y)", "%3: f32[2,10,4] = add(%0, %1)", "%4: f32[2,10,4] = add(%3, %2)", "return %4"),
], ids=["three", "one read elsewhere", "a gap", "zeros first", "beside an array", "an array in between", "beside a sum"])
def test_sums_of_pads_become_concats_with_the_same_bits(lines):
    before = graph_of(graph(*lines))
    after = verify(concat_pads(before))
    assert cat in [n.op for n in after.nodes]
    assert concat_pads(after) is after
    arrays = [np.random.default_rng(1).standard_normal(v.shape).astype(np.float32) for v in before.inputs]
    for a in arrays:
        a.flat[:3] = -0.0, np.nan, np.inf
        a[:, ::3] = -0.0            # sums of zeros of each sign
    for a, b in zip(interpret(before, arrays).outputs, interpret(after, arrays).outputs, strict=True):
        assert same_bits(a, b)


SHIFTED = "%1: f32[2,10,4] = pad(%a, high=(0, 6, 0), interior=(0, 0, 0), low=(0, 1, 0))"
ONES = "%1: f32[2,10,4] = pad(%b, high=(0, 2, 0), interior=(0, 0, 0), low=(0, 3, 0), value=1)"


@pytest.mark.parametrize("lines", [
    (A, SHIFTED, "%2: f32[2,10,4] = add(%0, %1)", "return %2"),
    (A, ONES, "%2: f32[2,10,4] = add(%0, %1)", "return %2"),
    (A, B, "%2: f32[2,10,4] = mul(%0, %1)", "return %2"),
    (A, "%1: f32[2,10,4] = add(%0, 1.0)", "return %1"),
    (A, "%1: f32[2,10,4] = add(%0, %x)", "return %1"),
    (A, C, "%1: f32[2,10,4] = add(%0, %x)", "%3: f32[2,10,4] = add(%2, %y)", "%4: f32[2,10,4] = add(%1, %3)", "return %4"),
], ids=["overlap", "ones", "product", "number", "one pad", "beside two arrays"])
def test_other_sums_stay(lines):
    check_untouched(concat_pads, graph(*lines))


@pytest.mark.parametrize("unpack", [
    lambda p, n: p.chunk(3, dim=-1), lambda p, n: p.view(*p.shape[:-1], 3, n).unbind(-2), lambda p, n: p.split([n, n, n], -1)])
def test_the_gradient_of_a_joint_projection(unpack):
    ingot.manual_seed(3)
    layer = nn.Linear(8, 24)

    def step(x):
        layer.zero_grad()
        q, k, v = unpack(layer(x), 8)
        (q * k.tanh() + v.exp()).sum().backward()

    traced, x = jit.trace(step), ingot.randn(2, 5, 8)
    found = []
    for f in (step, traced, traced, traced):
        f(x)
        found.append([p.grad.numpy().copy() for p in layer.parameters()])
    made = [n.op for job in traced._jobs() for n in job.steps[-1].graph.nodes]
    assert cat in made and pad not in made
    for grads in found[1:]:
        assert all(np.allclose(a, b, rtol=1e-5, atol=1e-6) for a, b in zip(found[0], grads, strict=True))


PAD = "%0: f32[5,4] = pad(%x, high=(2, 0), interior=(0, 0), low=(1, 0){more})"


@pytest.mark.parametrize("value", [0, 1.5])
def test_a_pad_becomes_a_concat_with_fills(value):
    line = PAD.format(more=f", value={value}" if value else "")
    check_rewrite(expand_pads, f"graph g(%x: f32[2,4]) {{\n{line}\nreturn %0\n}}", f"""
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
def test_other_pads_stay(line):
    check_untouched(expand_pads, f"graph g(%x: f32[2,4]) {{\n{line}\nreturn %0\n}}")


def test_an_empty_pad_is_removed():
    check_rewrite(expand_pads, """
        graph g(%x: f32[2,4]) {
          %0: f32[2,4] = pad(%x, high=(0, 0), interior=(0, 0), low=(0, 0))
          return %0
        }""", """
        graph g(%x: f32[2,4]) {
          return %x
        }""")
