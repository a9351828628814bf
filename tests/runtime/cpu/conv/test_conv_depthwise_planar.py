"""Depthwise convolutions of plain arrays without blocks: the same bits as through blocks, and no memory beside the arrays."""

import sys

import numpy as np
import pytest

import ingot
from blocked_arrays import run_fused
from graph_interpreter import interpret
from graphs import graph_of
from guard_pages import fenced
from ingot import jit, nn
from ingot.ir import target
from ingot.ir.graph.text import parse
from ingot.ir.graph.verify import verify
from ingot.ir.ops.nn import conv as ops
from ingot.ir.ops.packed import blocked as blocked_ops
from ingot.passes.codegen.llvm.conv.conv_epilogue import Lines
from ingot.passes.layout.layout import layout
from ingot.passes.networks.fuse_conv_epilogue import fuse_conv_epilogue
from ingot.runtime.cpu.conv import blocked, conv_depthwise, conv_depthwise_planar, conv_gradients, conv_plan
from ingot.runtime.cpu.graph.program import CompiledGraph, kernel_of

pytestmark = pytest.mark.skipif(target.host().vector_bytes < 32, reason="loading some lanes of a vector is no instruction")

# images, channels, sizes, taps, stride, padding, dilation
WINDOWS = [
    (1, 6, (20, 40), (3, 3), (1, 1), ((1, 1), (1, 1)), (1, 1)),
    (2, 5, (9, 7), (3, 3), (1, 1), ((1, 1), (1, 1)), (1, 1)),
    (1, 3, (17, 37), (3, 3), (2, 2), ((1, 1), (1, 1)), (1, 1)),
    (1, 4, (30, 65), (5, 5), (2, 2), ((2, 2), (2, 2)), (1, 1)),
    (3, 9, (1, 50), (1, 7), (1, 1), ((0, 0), (3, 3)), (1, 1)),
    (1, 2, (12, 40), (3, 3), (1, 1), ((2, 2), (4, 4)), (2, 4)),
    (1, 2, (12, 40), (3, 3), (2, 2), ((0, 3), (5, 0)), (3, 3)),
    (2, 2, (11, 29), (3, 2), (3, 1), ((-1, 2), (-2, 1)), (1, 1)),
    (1, 7, (2, 2), (3, 3), (1, 1), ((1, 1), (1, 1)), (1, 1)),
    (1, 2, (33, 70), (4, 3), (1, 2), ((0, 0), (0, 0)), (1, 1)),
    (1, 2, (5, 3), (2, 2), (2, 2), ((20, 20), (40, 40)), (1, 1)),
]


def arrays(window, times=1, dtype=np.float32):
    images, channels, sizes, taps, *_ = window
    rng = np.random.default_rng(channels)
    return [rng.standard_normal(shape).astype(dtype) for shape in (
        (images, channels, *sizes), (channels * times, 1, *taps), (channels * times,))]


def params_of(window):
    return {"stride": window[4], "padding": window[5], "dilation": window[6], "groups": window[1]}


def geometry(x, w, params):
    g = conv_plan.geometry_of(x.shape, w.shape, **params, item=x.itemsize)
    return g, (x.shape[0], w.shape[0], g.dims[1].out, g.dims[2].out)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("times", [1, 3])
@pytest.mark.parametrize("window", WINDOWS, ids=str)
def test_planes_have_the_bits_of_blocks(window, times, dtype, threads):
    x, w, b = arrays(window, times, dtype)
    params = params_of(window)
    g, shape = geometry(x, w, params)
    wanted = conv_depthwise.depthwise(g, x.dtype, shape)(x, w, b)
    near = ops.conv.ref(*(a.astype(np.float64) for a in (x, w, b)), **params)
    assert np.abs(wanted - near).max() < 1e-4
    for count in (1, 2, 5):
        threads(count)
        assert np.array_equal(conv_depthwise_planar.planes(g, x.dtype, shape)(x, w, b), wanted), count


@pytest.mark.parametrize("window", [w for w in WINDOWS if w[4] == (1, 1)], ids=str)
def test_gradients_have_the_bits_of_blocks(window):
    x, w, _ = arrays(window)
    params = params_of(window)
    g, shape = geometry(x, w, params)
    back, grad = conv_depthwise_planar.input_geometry(g), np.random.default_rng(1).standard_normal(shape, np.float32)
    if back is None:
        return
    found = conv_depthwise_planar.planes(back, x.dtype, x.shape, flipped=True)(grad, w)
    assert np.array_equal(found, conv_gradients.plain_input_grad(g, x.dtype, x.shape)(grad, w))
    near = ops.conv_input_grad.ref(grad, w, size=x.shape[2:], **params)
    assert np.abs(found - near).max() < 1e-4


@pytest.mark.skipif(sys.platform != "linux", reason="protects pages")
@pytest.mark.parametrize("at_end", [False, True])
@pytest.mark.parametrize("window", WINDOWS, ids=str)
def test_no_memory_outside_the_arrays_is_touched(window, at_end):
    x, w, b = arrays(window)
    g, shape = geometry(x, w, params_of(window))
    residual = np.ones(shape, np.float32)
    epilogue = Lines((("add", "a", "o0"), ("add", "v0", "o1")), ("channel", "full"), "float")
    run = conv_depthwise_planar.fused_planes(g, x.dtype, shape, epilogue)
    out = fenced(residual, at_end)
    given = [fenced(v, at_end) for v in (x, w, b, residual)]
    run.plan(*given[:2], out, np.array([v.ctypes.data for v in given[2:]], np.int64).ctypes.data)
    assert np.array_equal(out, run_fused(run, x, w, (b, residual)))
    assert np.array_equal(out, conv_depthwise_planar.planes(g, x.dtype, shape)(x, w, b) + residual)


def test_unsupported_plane_convolutions():
    x, w = (1, 4, 9, 9), (4, 1, 3, 3)
    usual = {"stride": (1, 1), "padding": ((1, 1),) * 2, "dilation": (1, 1), "groups": 4}

    def takes(x=x, w=w, **changed):
        return conv_depthwise_planar.takes(conv_plan.geometry_of(x, w, **(usual | changed), item=4))

    assert takes() and takes(stride=(5, 2)) and takes(w=(8, 1, 3, 3)) and takes(w=(4, 1, 1, 9))
    assert not takes(stride=(1, 3)) and not takes(w=(4, 1, 7, 7)) and not takes(w=(4, 2, 3, 3), groups=2)
    assert not takes(x=(1, 4, 5, 9, 9), w=(4, 1, 1, 3, 3), stride=(1,) * 3, padding=((1, 1),) * 3, dilation=(1,) * 3)


class Layer(nn.Module):
    """A depthwise convolution with an epilogue."""

    def __init__(self, follow):
        super().__init__()
        self.conv, self.norm = nn.Conv2d(6, 6, 3, padding=1, groups=6, bias=False), nn.BatchNorm2d(6)
        self.scale = nn.Parameter(ingot.randn(6, 1, 1))
        self.follow = follow

    def forward(self, x):
        return self.follow(self, x, self.norm(self.conv(x)))


FOLLOW = {"relu6": lambda m, x, y: nn.functional.relu6(y), "residual": lambda m, x, y: y + x,
          "scale": lambda m, x, y: nn.functional.relu(y * m.scale)}


@pytest.mark.parametrize("follow", FOLLOW)
def test_a_single_layer_is_one_step_without_blocks(follow):
    ingot.manual_seed(3)
    layer = Layer(FOLLOW[follow]).eval()
    layer.norm.running_var.uniform_(0.5, 2.0)
    x, traced = ingot.randn(2, 6, 13, 21), jit.trace(layer)
    with ingot.no_grad():
        wanted = layer(x)
        for _ in range(3):
            assert np.allclose(traced(x).numpy(), wanted.numpy(), atol=1e-5)
    graphs = [job.steps[-1].graph for job in traced._jobs()]
    made = [n for g in graphs for n in g.nodes if n.op is blocked_ops.conv_blocked]
    assert [n.params["lanes"] for n in made] == [1] and any(made[0].output in g.results for g in graphs)


def test_depthwise_layers_between_blocks_stay_in_blocks():
    net = nn.Sequential(nn.Conv2d(3, 32, 1), nn.Conv2d(32, 32, 3, padding=1, groups=32), nn.Conv2d(32, 8, 3)).eval()
    traced = jit.trace(net)
    with ingot.no_grad():
        x = ingot.randn(1, 3, 12, 12)
        traced(x), traced(x)
    nodes = [n for job in traced._jobs() for n in job.steps[-1].graph.nodes]
    lanes = [n.params["lanes"] for n in nodes if n.op is blocked_ops.conv_blocked]
    lanes += [layer[5] for n in nodes if n.op.name == "conv_chain_blocked" for layer in n.params["layers"]]
    assert lanes == [target.host().lanes(4)] * 3


def test_graph_results_are_unchanged():
    before = graph_of("""
        graph g(%x: f64[2,6,9,9], %w: f64[12,1,3,3], %b: f64[12], %s: f64[12,1,1], %r: f64[2,12,5,5]) {
          %0: f64[2,12,5,5] = conv(%x, %w, %b, dilation=(1, 1), groups=6, padding=((1, 1), (1, 1)), stride=(2, 2))
          %1: f64[2,12,5,5] = expand(%s, shape=(2, 12, 5, 5))
          %2: f64[2,12,5,5] = mul(%0, %1)
          %3: f64[2,12,5,5] = add(%r, %2)
          return %3
        }""")
    after = verify(fuse_conv_epilogue(verify(layout(before, blocked.choose))))
    assert after.nodes[-1].op is blocked_ops.conv_blocked and str(parse(str(after))) == str(after)
    rng = np.random.default_rng(5)
    given = [rng.standard_normal(v.shape) for v in before.inputs]
    wanted, = interpret(before, given).outputs
    np.testing.assert_allclose(interpret(after, given).outputs[0], wanted, rtol=1e-12)
    np.testing.assert_allclose(CompiledGraph(after, kernel_of).run(given)[0], wanted, rtol=1e-12)
