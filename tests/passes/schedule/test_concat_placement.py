"""Gradients of parts of one projection are written in place of their concat, and attention writes in reading order.

Steps of a traced graph copy nothing, and agree with eager mode and the CPU.
"""

from math import prod

import numpy as np
import pytest

import ingot
import mock_cuda
import mock_cuda_triton
from graph_interpreter import interpret
from graphs import graph_of
from ingot import jit, nn
from ingot.ir import config
from ingot.nn import functional as F
from ingot.passes.schedule import device_plan as plans
from ingot.runtime.cuda import backend
from ingot.runtime.cuda.compiler import kernels
from ingot.runtime.cuda.graph import eager
from ingot.runtime.cuda.graph.program import DeviceGraph

COPIED: list = []          # bytes of strided copies


def record_copied_bytes(prepared):
    if prepared.kernel.name.startswith("assign_"):
        copied = prepared.kernel.buffers[-1].dtype.itemsize
        COPIED.append(copied * prod(prepared.sizes[d.extent] for d in prepared.kernel.dims))


mock_cuda_triton.relabelled(record_copied_bytes)     # (traces do not watch installed packages)


@pytest.fixture(autouse=True)
def cuda(monkeypatch):
    monkeypatch.setattr(kernels, "LISTENERS", [record_copied_bytes])
    with mock_cuda.installed() as mock, config.override(cuda_graphs=False):
        yield mock


def heads(x, count):
    """Return (batch, length, width) as (batch, heads, length, width of a head)."""
    return x.view(*x.shape[:2], count, -1).transpose(1, 2)


def rope(x):
    """Rotate vectors by an angle that grows with their place."""
    angle = ingot.arange(x.shape[-2], device=x.device).float().view(-1, 1) * 0.1
    a, b = x.chunk(2, dim=-1)
    return x * angle.cos() + ingot.cat([-b, a], dim=-1) * angle.sin()


def by_slices(p):
    n = p.shape[-1] // 3
    return [heads(p[..., i * n:(i + 1) * n], 2) for i in range(3)]


UNPACKED = {
    "unbind": lambda p: p.view(*p.shape[:2], 3, 2, -1).permute(2, 0, 3, 1, 4).unbind(0),
    "chunk": lambda p: [heads(x, 2) for x in p.chunk(3, dim=-1)],
    "slices": by_slices,
    "heads first": lambda p: [x.transpose(1, 2) for x in p.view(*p.shape[:2], 2, -1).chunk(3, dim=-1)],
    "groups": lambda p: [heads(x, n) for x, n in zip(p.split([p.shape[-1] // 2, p.shape[-1] // 4, p.shape[-1] // 4], -1),
                                                     (4, 2, 2))],
    "rope": lambda p: [f(heads(x, 2)) for x, f in zip(p.chunk(3, dim=-1), (rope, rope, lambda x: x))],
}


class Layer(nn.Module):
    def __init__(self, width, unpack):
        super().__init__()
        self.unpack = unpack
        self.into = nn.Linear(width, 3 * width if unpack != "groups" else 4 * width)
        self.out = nn.Linear(width if unpack != "groups" else 2 * width, width)

    def forward(self, x):
        q, k, v = UNPACKED[self.unpack](self.into(x))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
        return self.out(y.transpose(1, 2).reshape(*x.shape[:2], -1))


class Cross(nn.Module):
    """Cross-attention: keys and values of one projection of another sequence, with a mask."""

    def __init__(self, width):
        super().__init__()
        self.query, self.into, self.out = nn.Linear(width, width), nn.Linear(width, 2 * width), nn.Linear(width, width)

    def forward(self, x):
        k, v = (heads(t, 2) for t in self.into(x.tanh()[:, x.shape[1] % 2:]).chunk(2, dim=-1))
        mask = ingot.arange(k.shape[2], device=x.device) > 1
        y = F.scaled_dot_product_attention(heads(self.query(x), 2), k, v, attn_mask=mask)
        return self.out(y.transpose(1, 2).reshape(x.shape))


def grads(make, x, device, traced=False, dtype=None):
    """Return (the gradients of the parameters and of x, the bytes of strided copies in the last call)."""
    ingot.manual_seed(5)
    net, there = make().to(device), x.to(device)

    def step(x):
        net.zero_grad()
        leaf = x.detach().requires_grad_()
        with ingot.amp.autocast(ingot.device(device).type, dtype=dtype or ingot.bfloat16, enabled=dtype is not None):
            y = net(leaf)
        (y.float() ** 2).sum().backward()
        return leaf.grad

    run = jit.trace(step) if traced else step
    for _ in range(3 if traced else 1):
        COPIED.clear()
        found = run(there)
    copied = sum(COPIED)
    return [found.cpu().numpy(), *[p.grad.cpu().numpy() for p in net.parameters()]], copied


MAKERS = {name: lambda width, name=name: Layer(width, name) for name in UNPACKED} | {"cross": Cross}


@pytest.mark.parametrize("length", [7, 128], ids=["odd", "whole"])
@pytest.mark.parametrize("name", MAKERS)
def test_gradients_of_one_projection(name, length):
    """For lengths that fill every tile, and for others, whose gradient kernels take queries in one piece."""
    ingot.manual_seed(1)
    x, make = ingot.randn(2 if length < 100 else 1, length, 16), lambda: MAKERS[name](16)
    want, _ = grads(make, x, "cpu")
    eager, _ = grads(make, x, "cuda")
    got, copied = grads(make, x, "cuda", traced=True)
    for w, e, g in zip(want, eager, got, strict=True):
        np.testing.assert_allclose(e, w, rtol=2e-4, atol=2e-4 * np.abs(w).max())
        np.testing.assert_allclose(g, e, rtol=1e-5, atol=1e-5 * np.abs(w).max())
    if length == 128:
        assert copied == 0, f"{copied} bytes are copied"


@pytest.mark.parametrize("name", ["unbind", "groups"])
def test_under_autocast(name):
    ingot.manual_seed(1)
    x, make = ingot.randn(1, 128, 64), lambda: MAKERS[name](64)
    want, _ = grads(make, x, "cpu")
    got, copied = grads(make, x, "cuda", traced=True, dtype=ingot.bfloat16)
    assert copied == 0
    for w, g in zip(want, got, strict=True):
        assert np.abs(g - w).max() < 5e-2 * np.abs(w).max()


def random_parts(rng):
    """Return a function that concatenates kernel results, transposed ones, values with other readers, duplicates and inputs."""
    dim, transposed = int(rng.integers(2)), rng.random(8) < 0.5
    kinds = [int(k) for k in rng.integers(0, 6, size=int(rng.integers(1, 5)))]

    def join(x, y):
        made = [(x * 2).exp, lambda: y.softmax(0), lambda: x.t().tanh().t(), lambda: x - y, lambda: x, lambda: y.cumsum(1) + 1]
        found = [made[k]() for k in kinds]
        found += found[:1] if transposed[0] else []
        pieces = [p.t() if transposed[1] else p for p in found]
        whole = ingot.cat(pieces, dim=dim)
        whole = whole.t() * 3 if transposed[2] else whole
        more = found[0].sum(1) if transposed[3] else x
        return F.pad(whole @ whole.t(), (0, 2) if transposed[4] else (0, 0, 1, 0), value=0.5), more

    return join


@pytest.mark.parametrize("seed", range(12))
def test_parts_of_any_concat_are_written_in_place(seed):
    ingot.manual_seed(seed)
    join, x, y = random_parts(np.random.default_rng([5, seed])), ingot.randn(5, 6), ingot.randn(5, 6)
    traced, want = jit.trace(join), join(x, y)
    for _ in range(3):
        for w, g in zip(want, traced(x.cuda(), y.cuda()), strict=True):
            np.testing.assert_allclose(g.cpu().numpy(), w.numpy(), rtol=1e-4, atol=1e-4)


JOINED = """
    graph g(%x: f32[8,5], %y: f32[5,3], %w: f32[12,8]) {
      %0: f32[5,8] = permute(%x, dims=(1, 0))
      %1: f32[5,8] = exp(%0)
      %2: f32[5,1] = sum(%y, dim=(1,), keepdim=True)
      %3: f32[5,3] = expand(%2, shape=(5, 3))
      %4: f32[5,3] = div(%y, %3)
      %5: f32[5,12] = cat(%1, %2, %4, dim=1)
      %6: f32[5,8] = matmul(%5, %w)
      %7: f32[5,8] = OTHER
      return %7
    }"""


@pytest.mark.parametrize("other, parts", [("exp(%6)", {"exp": (0, 8), "sum": (8, 1), "div": (9, 3)}),
                                          ("mul(%6, %1)", {"sum": (8, 1), "div": (9, 3)})], ids=["alone", "read elsewhere"])
def test_kernels_write_their_parts(other, parts):
    """Only parts that no kernel makes for the concat alone are copied."""
    steps = plans.plan(graph_of(JOINED.replace("OTHER", other)))
    assert {v.node.op.name: (p.start, p.size) for v, p in steps.parts.items()} == parts
    arrays = [np.random.default_rng(0).random(v.shape).astype(np.float32) for v in steps.graph.inputs]
    got, = DeviceGraph(steps, eager.run_into).run([backend.to_device(a) for a in arrays])
    want, = interpret(steps.graph, arrays).outputs
    np.testing.assert_allclose(backend.to_host(got), want, rtol=1e-5)


def test_rotary_embeddings_are_one_kernel():
    """Rotary embeddings read and write their vectors once, in the order that attention or a product reads."""
    def rotated_product(x, w):
        return rope(heads(x, 2)).transpose(1, 2).reshape(x.shape) @ w

    ingot.manual_seed(0)
    x, w = ingot.randn(2, 6, 16), ingot.randn(16, 4)
    traced, want = jit.trace(rotated_product), rotated_product(x, w)
    for _ in range(2):
        np.testing.assert_allclose(traced(x.cuda(), w.cuda()).cpu().numpy(), want.numpy(), rtol=1e-5, atol=1e-5)
    text = traced.explain()
    assert text.count("call cat") == 1 and text.count(" over [") == 2, f"cosines, and the turn:\n{text}"
