"""Epilogues of blocked convolutions: fused with the same meaning."""

import numpy as np
import pytest

from graph_interpreter import interpret
from graphs import check_untouched, graph_of
from ingot.ir.graph.verify import verify
from ingot.ir.ops.packed.blocked import conv_blocked
from ingot.passes.networks.fuse_conv_epilogue import fuse_conv_epilogue

CONV = ("conv_blocked(%x, {w}, dilation=(1, 1), epilogue=(), filters=(8, 8, 3, 3), groups=1, in_blocks=True, "
        "kernel=('direct', 1, True, 4), lanes=4, padding=((1, 1), (1, 1)), stride=(1, 1))")
HEAD = "graph g(%x: f64[2,2,5,4,4], %w: f64[576], %u: f64[576], %r: f64[2,2,5,4,4], %c: f64[1,2,1,1,4]) {{"
KIND = "f64[2,2,5,4,4]"


def graph(*lines, returns):
    text = "\n".join([HEAD, f"%0: {KIND} = " + CONV.format(w="%w"), *lines, f"return {returns}", "}}"])
    return text.format(T=KIND, second=CONV.format(w="%u"))


FUSED = {
    "relu": (["%1: {T} = relu(%0)"], "%1", 1),
    "relu6": (["%1: {T} = minimum(%0, 6.0)", "%2: {T} = maximum(%1, 0.0)"], "%2", 1),
    "residual": (["%1: {T} = add(%r, %0)", "%2: {T} = relu(%1)"], "%2", 1),
    "scale": (["%1: {T} = expand(%c, shape=(2, 2, 5, 4, 4))", "%2: {T} = mul(%0, %1)", "%3: {T} = add(%2, 1.0)"], "%3", 1),
    "diamond": (["%1: {T} = add(%0, 3.0)", "%2: {T} = minimum(%1, 6.0)", "%3: {T} = mul(%0, %2)"], "%3", 1),
    "two convolutions": (["%1: {T} = {second}", "%2: {T} = add(%0, %1)", "%3: {T} = relu(%2)"], "%3", 2),
    "part of it": (["%1: {T} = relu(%0)", "%2: {T} = exp(%1)"], "%2", 2),
    "what is wanted twice": (["%1: {T} = relu(%0)", "%2: {T} = mul(%1, 2.0)"], "%2, %1", 2),
}


@pytest.mark.parametrize("name", FUSED)
def test_epilogues_mean_the_same(name):
    lines, returns, left = FUSED[name]
    before = graph_of(graph(*lines, returns=returns))
    after = verify(fuse_conv_epilogue(before))
    assert len([n for n in after.nodes if n.op.name != "expand"]) == left, str(after)
    assert any(n.params["epilogue"] for n in after.nodes if n.op is conv_blocked)
    assert fuse_conv_epilogue(after) is after
    rng = np.random.default_rng(6)
    arrays = [rng.standard_normal(v.shape) for v in before.inputs]
    for a, b in zip(interpret(before, arrays).outputs, interpret(after, arrays).outputs, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12)


@pytest.mark.parametrize("lines, returns", [
    (["%1: {T} = relu(%0)"], "%1, %0"),                                         # the sums are wanted, too
    (["%1: {T} = exp(%0)"], "%1"),                                              # dearer than a sweep of its own
    (["%1: f32[2,2,5,4,4] = cast(%0, dtype=f32)"], "%1"),
    (["%1: bool[2,2,5,4,4] = gt(%0, 0.0)"], "%1"),
    (["%1: f64[2,2,1,1,4] = sum(%0, dim=(2, 3), keepdim=True)"], "%1"),
])
def test_other_work_is_not_fused(lines, returns):
    check_untouched(fuse_conv_epilogue, graph(*lines, returns=returns))


def test_the_order_of_commutative_operands_does_not_matter():
    found = []
    for line in ("%1: {T} = add(%0, %r)", "%1: {T} = add(%r, %0)"):
        after = fuse_conv_epilogue(graph_of(graph(line, returns="%1")))
        found.append(after.nodes[0].params["epilogue"])
    assert found[0] == found[1]
