"""Channels last on GPUs: applied where that pays, with the same results."""

import numpy as np
import pytest

import ingot
import mock_cuda
from graph_interpreter import interpret
from graphs import check_rewrite, check_untouched, graph_of
from ingot import jit, nn
from ingot.ir.graph.verify import verify
from ingot.ir.ops.core.shape import contiguous
from ingot.ir.ops.packed import conv_channels_last as ops
from ingot.nn import functional as F
from ingot.passes.codegen.triton.conv import conv_channels_last as text
from ingot.passes.layout.channels_last import channels_last
from ingot.runtime.cuda.driver import context as contexts
from ingot.runtime.cuda.ops.conv import conv_channels_last


@pytest.fixture(autouse=True)
def small(monkeypatch):
    monkeypatch.setattr(text, "LEAST", 0)
    monkeypatch.setattr(text, "WIDE", 2)


WINDOW = "dilation=(1, 1), groups=1, padding=((1, 1), (1, 1)), stride=(1, 1)"
TWO = """
    graph g(%x: f16[2,4,5,5], %v: f16[4,4,3,3], %w: f16[6,4,3,3]) {{
      %0: f16[2,4,5,5] = conv(%x, %v, None, {window})
      %1: f16[2,4,5,5] = relu(%0)
      {more}
      %3: f16[2,6,5,5] = conv(%2, %w, None, {window})
      %4: f16[2,6] = sum(%3, dim=(2, 3), keepdim=False)
      return %4
    }}"""


def test_images_are_transposed_once():
    last = "dilation=(1, 1), padding=((1, 1), (1, 1)), stride=(1, 1)"
    check_rewrite(channels_last, TWO.format(window=WINDOW, more="%2: f16[2,4,5,5] = tanh(%1)"), f"""
        graph g(%x: f16[2,4,5,5], %v: f16[4,4,3,3], %w: f16[6,4,3,3]) {{
          %0: f16[2,5,5,4] = permute(%x, dims=(0, 2, 3, 1))
          %1: f16[2,5,5,4] = contiguous(%0)
          %2: f16[4,3,3,4] = permute(%v, dims=(0, 2, 3, 1))
          %3: f16[4,3,3,4] = contiguous(%2)
          %4: f16[2,5,5,4] = conv_last(%1, %3, None, {last})
          %5: f16[2,5,5,4] = relu(%4)
          %6: f16[2,5,5,4] = tanh(%5)
          %7: f16[6,3,3,4] = permute(%w, dims=(0, 2, 3, 1))
          %8: f16[6,3,3,4] = contiguous(%7)
          %9: f16[2,5,5,6] = conv_last(%6, %8, None, {last})
          %10: f16[2,6] = sum(%9, dim=(1, 2), keepdim=False)
          return %10
        }}""")


@pytest.mark.parametrize("change", [
    ("return %4", "return %1, %3"), ("f16", "f32"), ("4,", "3,"), ("groups=1", "groups=2"),
], ids=["results as they were", "float32 rounds otherwise", "odd channels", "groups"])
def test_other_graphs_stay(change):
    source = TWO.format(window=WINDOW, more="%2: f16[2,4,5,5] = tanh(%1)").replace(*change)
    halves = source.replace("4,4,3,3", "4,2,3,3").replace("6,4,3,3", "6,2,3,3")
    check_untouched(channels_last, halves if change[1] == "groups=2" else source)


MIXED = {
    "cat": ("%a: f16[2,4,5,5] = neg(%1)\n %2: f16[2,4,5,5] = slice(%b, dim=1, start=2, stop=6, step=1)",
            "%b: f16[2,8,5,5] = cat(%1, %a, dim=1)"),
    "pad": ("%a: f16[2,4,7,8] = pad(%1, high=(0, 0, 1, 2), interior=(0, 0, 0, 0), low=(0, 0, 1, 1), value=0.5)\n"
            " %2: f16[2,4,5,5] = slice(%b, dim=3, start=1, stop=6, step=1)",
            "%b: f16[2,4,5,8] = slice(%a, dim=2, start=2, stop=7, step=1)"),
    "statistics": ("%a: f16[1,4,1,1] = sum(%1, dim=(0, 2, 3), keepdim=True)\n %2: f16[2,4,5,5] = sub(%1, %b)",
                   "%b: f16[2,4,5,5] = expand(%a, shape=(2, 4, 5, 5))"),
    "over channels": ("%a: f16[2,5,5] = amax(%1, dim=(1,), keepdim=False)\n %2: f16[2,4,5,5] = add(%1, %c)",
                      "%b: f16[2,1,5,5] = reshape(%a, shape=(2, 1, 5, 5))\n %c: f16[2,4,5,5] = expand(%b, shape=(2, 4, 5, 5))"),
    "waiting for another image": ("%a: f16[2,4,5,5] = tanh(%1)\n %2: f16[2,4,5,5] = later(%a, %b)",
                                  "%b: f16[2,4,5,5] = neg(%1)"),
    "waiting for a number": ("%a: f16[2,4,5,5] = tanh(%1)\n %2: f16[2,4,5,5] = later(%a, %b)",
                             "%b: f16[] = sum(%1, dim=(0, 1, 2, 3), keepdim=False)"),
    "over images": ("%a: f16[4,5,5] = sum(%1, dim=(0,), keepdim=False)\n %2: f16[2,4,5,5] = mul(%1, %c)",
                    "%b: f16[1,4,5,5] = reshape(%a, shape=(1, 4, 5, 5))\n %c: f16[2,4,5,5] = expand(%b, shape=(2, 4, 5, 5))"),
}


@pytest.mark.parametrize("name", MIXED)
def test_operators_between_convolutions_mean_the_same(name):
    (first, second), between = MIXED[name][0].split("\n"), MIXED[name][1]
    before = graph_of(TWO.format(window=WINDOW, more="\n".join([first, between, second])))
    after = verify(channels_last(before))
    made = [n.op for n in after.nodes]
    assert made.count(ops.conv_last) == 2 and made.count(contiguous) == 3
    rng = np.random.default_rng(2)
    given = [rng.standard_normal(v.shape).astype(np.float16) / 4 for v in before.inputs]
    for got, want in zip(interpret(after, given)[0], interpret(before, given)[0]):
        np.testing.assert_allclose(got, want, rtol=2e-2, atol=2e-2)


# On a device.


class Block(nn.Module):
    """Parallel windows of all kinds, as in residual networks."""

    def __init__(self, bias=False, momentum=0.1, stride=2):
        super().__init__()
        norm = [nn.BatchNorm2d(n, momentum=momentum) for n in (64, 64, 64, 128, 128)]
        self.stem, self.a = nn.Conv2d(3, 64, 3, padding=1, bias=bias), nn.Conv2d(64, 64, 1, bias=bias)
        self.b = nn.Conv2d(64, 64, 3, padding=1, stride=stride, bias=bias)
        self.c, self.d = nn.Conv2d(64, 128, 1, bias=bias), nn.Conv2d(64, 128, 1, stride=stride, bias=bias)
        self.e = nn.Conv2d(128, 128, (3, 2), padding=(1, 0), bias=bias)
        self.norms, self.head = nn.ModuleList(norm), nn.Linear(128, 3)

    def forward(self, x):
        n = self.norms
        x = F.max_pool2d(F.relu(n[0](self.stem(x))), 2)
        y = F.relu(n[2](self.b(F.relu(n[1](self.a(x))))))
        y = F.relu(n[3](self.c(y)) + self.d(x))
        y = F.relu(n[4](self.e(y)))
        return self.head(F.adaptive_avg_pool2d(y, 1).flatten(1))


def trained(net, x, device, train, steps=3):
    net = net.to(device).train(train)
    x = x.to(device)

    def step(x):
        for p in net.parameters():
            p.grad = None
        out = net(x)
        out.square().sum().backward()
        return out, [p.grad for p in net.parameters()]

    step = jit.trace(step)
    for _ in range(steps):
        out, grads = step(x)
    buffers = [b for b in net.buffers() if b.dtype.is_floating_point]
    return [t.detach().float().cpu().numpy() for t in (out, *grads, *buffers)]


def fresh(dtype, **how):
    ingot.manual_seed(3)
    net = Block(**how)
    x = ingot.randn(2, 3, 10, 12)
    return net.to(dtype), x.to(dtype)


@pytest.mark.parametrize("how", [
    {"dtype": ingot.bfloat16}, *[pytest.param(how, marks=pytest.mark.slow) for how in (
        {"dtype": ingot.float16, "bias": True}, {"dtype": ingot.bfloat16, "momentum": None, "stride": 1},
        {"dtype": ingot.bfloat16, "train": False, "bias": True}, {"dtype": ingot.float32},
        {"dtype": ingot.float32, "bias": True}, {"dtype": ingot.bfloat16, "order": ingot.channels_last})],
], ids=str)
def test_training_is_as_on_the_host(how, monkeypatch):
    """The distance to exact training is that of the host in the same precision, or, for TF32, in float16, which has as many
    bits."""
    dtype, train, order = how["dtype"], how.get("train", True), how.get("order")
    more = {k: v for k, v in how.items() if k in ("bias", "momentum", "stride")}
    monkeypatch.setattr(text, "WIDE", 64)
    monkeypatch.setattr(conv_channels_last, "DEPTH", 16)
    monkeypatch.setattr(ingot.backends.cudnn, "allow_tf32", dtype is ingot.float32)

    def net_and_images(dtype=dtype):
        net, x = fresh(dtype, **more)
        return net, x if order is None else x.contiguous(memory_format=order)

    exact = trained(*fresh(ingot.float32, **more), "cpu", train)
    want = trained(*net_and_images(ingot.float16 if dtype is ingot.float32 else dtype), "cpu", train)
    with mock_cuda.installed() as cuda:
        monkeypatch.setattr(contexts.context(0), "processors", 8)
        got = trained(*net_and_images(), "cuda", train)
        names = {one["name"].partition("_epilogue")[0] for one in cuda.launches}
    kind = {ingot.bfloat16: "bf16", ingot.float16: "f16", ingot.float32: "f32_tf32"}[dtype]
    back = "conv_rows_back_turned" if dtype is ingot.float32 else "conv_rows_back"
    assert {f"{back}_{kind}", f"conv_rows_weight_grad_{kind}"} <= names
    if dtype is not ingot.bfloat16:     # units at the edge of relu fall on either side, and others do on the host: all at once
        exact, want, got = ([np.concatenate([a.reshape(-1) / np.abs(e).max() for a, e in zip(some, exact)])]
                            for some in (exact, want, got))
    size = np.max if dtype is ingot.bfloat16 else np.linalg.norm
    for e, one, other in zip(exact, want, got):
        slack = 2 * size(np.abs(one - e)) + (0.02 if dtype is ingot.bfloat16 else 0.004) * size(np.abs(e))
        assert size(np.abs(other - e)) <= slack


@pytest.mark.parametrize("order", [ingot.contiguous_format, ingot.channels_last], ids=str)
def test_images_that_users_see_lie_as_in_eager_mode(order, monkeypatch):
    """Results, gradients of inputs, and writes into arguments."""
    monkeypatch.setattr(text, "WIDE", 64)

    def work(x, total, *weights):
        y = x
        for w in weights:
            y = F.relu(F.conv2d(y, w, padding=1))
        with ingot.no_grad():
            total.add_(y)
        dx, = ingot.autograd.grad(y.float().square().sum(), x)
        return y, dx, y[:, 1:3]

    def results(device, run):
        ingot.manual_seed(4)
        x = ingot.randn(2, 64, 5, 6).to(ingot.float16).contiguous(memory_format=order).to(device).requires_grad_()
        weights = [(ingot.randn(64, 64, 3, 3) / 20).to(ingot.float16).to(device) for _ in range(3)]
        total = ingot.ones((2, 64, 5, 6), dtype=ingot.float16).contiguous(memory_format=order).to(device)
        for _ in range(3):
            found = run(x, total, *weights)
        return [(t.stride(), t.detach().float().cpu().numpy()) for t in (*found, total)]

    with mock_cuda.installed() as cuda:
        want, before = results("cuda", work), len(cuda.launches)
        got = results("cuda", jit.trace(work))
        assert any(one["name"].startswith("conv_rows") for one in cuda.launches[before:])
    for (one_strides, one), (strides, other) in zip(want, got):
        assert strides == one_strides
        np.testing.assert_allclose(other, one, rtol=2e-2, atol=1e-2 * np.abs(one).max())
