"""Convolutions over few channels as products of packed images, on tensor cores."""

import numpy as np
import pytest

import ingot
import mock_cuda
from ingot import jit, nn
from ingot.ir.ops.nn import conv as cv
from ingot.ir.ops.packed import conv_channels_last as of_last
from ingot.nn import functional as F
from ingot.passes.codegen.triton.conv import conv_channels_last as last_text
from ingot.runtime.cuda.driver import context as contexts
from ingot.runtime.cuda.graph import eager
from ingot.runtime.cuda.ops.conv import conv_channels_last
from tests.passes.codegen.triton.test_kernel_families import eager_and_traced

CONVOLUTIONS = {3: F.conv1d, 4: F.conv2d, 5: F.conv3d}
WINDOWS = {"plain": ((9, 7), (3, 3), {}), "around": ((9, 7), (3, 3), {"padding": 1}),
           "strided": ((11, 10), (7, 5), {"stride": 2, "padding": (3, 2)}),
           "uneven": ((8, 11), (2, 4), {"stride": (3, 1), "padding": (0, 1)}),
           "far apart": ((11, 9), (3, 2), {"padding": (2, 1), "dilation": (2, 3)}),
           "far and strided": ((12, 9), (3, 3), {"stride": 2, "dilation": 2, "padding": 2}),
           "patches": ((8, 12), (4, 4), {"stride": 4}), "lines": ((40,), (5,), {"padding": 2}),
           "spaces": ((4, 5, 3), (2, 3, 2), {"padding": (1, 0, 1)})}
CASES = [(window, 1 + i % 7, ("bfloat16", "float16", "float32")[i % 3], i % 2 == 0) for i, window in enumerate(WINDOWS)]
CASES += [("around", channels, "bfloat16", channels % 2 == 0) for channels in (2, 5, 7)]
CASES += [pytest.param("strided", channels, "bfloat16", channels % 2 == 0, marks=pytest.mark.slow) for channels in range(1, 9)]
CASES += [pytest.param("around", channels, "float32", channels % 2 == 1, marks=pytest.mark.slow) for channels in (1, 3, 5)]


@pytest.fixture(autouse=True)
def small(monkeypatch):
    monkeypatch.setattr(last_text, "LEAST", 0)
    monkeypatch.setattr(conv_channels_last, "DEPTH", 16)
    monkeypatch.setattr(ingot.backends.cudnn, "allow_tf32", True)


def drawn(*shapes):
    rng = np.random.default_rng(8)
    return [rng.standard_normal(s).astype(np.float32) for s in shapes]


def close(got, want, dtype):
    rtol = {"bfloat16": 3e-2, "float16": 4e-3, "float32": 2e-3}[dtype]
    np.testing.assert_allclose(got, want, rtol=rtol, atol=rtol * np.abs(want).max())


@pytest.mark.parametrize("window, channels, dtype, bias", CASES, ids=lambda x: str(x))
def test_eager_and_traced_calls_are_as_on_the_host(window, channels, dtype, bias, monkeypatch):
    """Forward with the bias and what follows, and all gradients, the sums of filters cut in parts."""
    space, kernel, params = WINDOWS[window]
    arrays = drawn((2, channels, *space), (64, channels, *kernel), *([(64,)] if bias else []))
    f = CONVOLUTIONS[len(space) + 2]

    def work(x, w, *b):
        return F.relu(f(x, w / 4, *b, **params) * 2)

    kind = getattr(ingot, dtype)
    want = eager_and_traced(work, arrays, kind, "cpu")
    with mock_cuda.installed() as cuda:
        monkeypatch.setattr(contexts.context(0), "processors", 64)
        got = eager_and_traced(work, arrays, kind, "cuda")
        names = {one["name"] for one in cuda.launches}
    assert any(n.startswith("conv_packed_weight_grad") for n in names)
    assert any(n.startswith("conv_packed") and "epilogue" in n for n in names)
    assert not any(n.startswith(("conv_bf", "conv_f", "conv_bias", "conv_weight_grad")) for n in names)
    for one, other in zip(want, got):
        close(other, one, dtype)


@pytest.mark.parametrize("window, channels, dtype, bias", CASES, ids=lambda x: str(x))
def test_packed_images_and_channels_last_results(window, channels, dtype, bias, monkeypatch):
    """Compare the layouts that graphs use with the plain operators."""
    space, kernel, params = WINDOWS[window]
    rank, kind = len(space), getattr(ingot, dtype).np
    stride, padding, dilation = (np.broadcast_to(params.get(n, d), rank).tolist()
                                 for n, d in (("stride", 1), ("padding", 0), ("dilation", 1)))
    how = {"stride": tuple(stride), "dilation": tuple(dilation)}
    around = tuple([(p, p) for p in padding])
    x, w, b = (a.astype(kind) for a in drawn((2, channels, *space), (64, channels, *kernel), (64,)))
    y = cv.conv(x, w, b if bias else None, padding=around, groups=1, **how)
    g, = (a.astype(kind) for a in drawn(y.shape))
    want = np.moveaxis(y, 1, -1), np.moveaxis(cv.conv_weight_grad(x, g, size=kernel, padding=around, groups=1, **how), 1, -1)
    channel_count, none = 4 if channels <= 4 else 8, ((0, 0),) * rank
    with mock_cuda.installed() as cuda:
        monkeypatch.setattr(contexts.context(0), "processors", 64)
        x, w, b, g = (eager.transfer.to_device(a, 0) for a in (x, w, b, np.ascontiguousarray(np.moveaxis(g, 1, -1))))
        image = eager.run(of_last.packed_image, (x,), {"padding": around, "channels": channel_count})
        filters = eager.run(of_last.packed_image, (w,), {"padding": none, "channels": channel_count})
        made = [eager.run(of_last.conv_last, (image, filters, b if bias else None), {"padding": none, **how}),
                eager.run(of_last.conv_last_weight_grad, (image, g), {"padding": none, "size": kernel, **how})]
        y, dw = [eager.transfer.to_host(a) for a in made]
        names = [one["name"] for one in cuda.launches]
    assert [n.partition("_rows")[0] for n in names[:4]] == [f"pack_{8 * image.itemsize}"] * 2 + ["conv_packed"] * 2
    assert not dw[..., channels:].any()
    for one, other in zip(want, (y, dw[..., :channels])):
        close(other.astype(np.float32), one.astype(np.float32), dtype)


@pytest.mark.parametrize("value", [np.inf, np.nan])
def test_nan_reaches_only_the_windows_that_hold_it(value):
    """Steps are deeper than windows, and images have zeros beside them."""
    x, w = drawn((1, 3, 12, 13), (64, 3, 3, 5))
    x[0, 1, 4, 12] = x[0, 2, 0, 0] = value

    def results(device):
        x_, w_ = (ingot.tensor(a).to(ingot.bfloat16).to(device).requires_grad_() for a in (x, w))
        out = F.conv2d(x_, w_, padding=(1, 2))
        out.backward(ingot.ones_like(out))
        return [np.isfinite(t.detach().float().cpu().numpy()) for t in (out, w_.grad)]

    want = results("cpu")
    with mock_cuda.installed():
        got = results("cuda")
    for one, other in zip(want, got):
        assert (one == other).all() and one.any() and not one.all()


@pytest.mark.parametrize("change", ["groups", "outputs", "point", "exact"])
def test_others_are_gathered(change, monkeypatch):
    monkeypatch.setattr(ingot.backends.cudnn, "allow_tf32", change != "exact")
    groups, outputs, kernel = 2 if change == "groups" else 1, 24 if change == "outputs" else 64, 1 if change == "point" else 3
    x, w = drawn((2, 4, 6, 5), (outputs, 4 // groups, kernel, kernel))
    dtype = ingot.float32 if change == "exact" else ingot.bfloat16
    want = F.conv2d(*[ingot.tensor(a).to(dtype) for a in (x, w)], groups=groups).float().numpy()
    with mock_cuda.installed() as cuda:
        got = F.conv2d(*[ingot.tensor(a).to(dtype).to("cuda") for a in (x, w)], groups=groups).float().cpu().numpy()
        assert not any("pack" in one["name"] for one in cuda.launches)
    close(got, want, "bfloat16")


class Stem(nn.Module):
    """The beginning of a residual network, and a convolution that wants its channels last."""

    def __init__(self, channels=3):
        super().__init__()
        self.stem, self.norm = nn.Conv2d(channels, 64, 7, stride=2, padding=3, bias=False), nn.BatchNorm2d(64)
        self.next = nn.Conv2d(64, 64, 3, padding=1)

    def forward(self, x):
        return self.next(F.tanh(self.norm(self.stem(x)))).mean((2, 3))


@pytest.mark.parametrize("dtype", [ingot.bfloat16, ingot.float32], ids=str)
def test_networks_pack_their_images_once_and_turn_nothing_behind(dtype, monkeypatch):
    """A traced training step: the first convolution's result, and its gradient, lie with channels last."""
    def trained(device):
        ingot.manual_seed(3)
        net, x = Stem().to(dtype).to(device), ingot.randn(2, 3, 13, 18).to(dtype).to(device)

        def step(x):
            for p in net.parameters():
                p.grad = None
            out = net(x)
            out.square().sum().backward()
            return out, [p.grad for p in net.parameters()]

        traced = jit.trace(step)
        for _ in range(3):
            out, grads = traced(x)
        return [t.detach().float().cpu().numpy() for t in (out, *grads)]

    want = trained("cpu")
    with mock_cuda.installed() as cuda:
        monkeypatch.setattr(contexts.context(0), "processors", 8)
        got = trained("cuda")
        names = [one["name"] for one in cuda.launches]
    kind = "bf16" if dtype is ingot.bfloat16 else "f32"
    forward = len(names) - 1 - names[::-1].index(f"conv_packed_rows_{kind}_tf32")
    back = names.index(f"conv_packed_rows_weight_grad_{kind}_tf32", forward)
    assert names[forward - 2:forward] == [f"pack_{8 * dtype.itemsize}"] * 2
    assert not any(n.startswith("pack_") for n in names[forward:])
    between = [n for n in names[forward:back] if n.startswith("move")]       # of the second convolution's filters, and back
    assert names[forward + 1][:4] == "sum_" and names[back - 1][:4] == "mul_" and len(between) <= 2, names[forward:back]
    for e, one in zip(want, got):
        np.testing.assert_allclose(one, e, rtol=6e-2, atol=6e-2 * np.abs(e).max())
