"""Products on a device compute their factors where they load them, where that pays: with the bits that they have apart, on the
mock driver, and compiled for real chips where Triton is installed.
"""

import importlib.util

import numpy as np
import pytest

import ingot
import mock_cuda
from ingot import jit
from ingot.ir import dtype as dt
from ingot.ir.graph.graph import Builder
from ingot.ir.opdef.aval import Aval
from ingot.ir.ops.core import elementwise as ew
from ingot.ir.ops.core.shape import expand, permute, reshape
from ingot.ir.ops.linalg.products import matmul as matmul_op
from ingot.ir.ops.nn.conv import conv as conv_op
from ingot.nn import functional as F
from ingot.passes import pipelines
from ingot.passes.codegen.triton.contract import matmul
from ingot.passes.codegen.triton.conv import conv
from ingot.passes.codegen.triton.ir.source import SIZE
from ingot.passes.codegen.triton.loops import configs
from ingot.passes.fusion import fuse_prologue
from ingot.passes.rewrite import pass_manager
from ingot.passes.schedule.device_plan import ProductStep, plan
from ingot.runtime.cuda.ops.products import products
from ingot.runtime.cuda.ops.products.factors import Computed, SideProgram
from tests.passes.codegen.triton.test_compile_loops import ARCHS, built, caches, variant  # noqa: F401 (a fixture)

SEED = 29


def draw(*shape, dtype="float32"):
    return ingot.tensor(np.random.default_rng(SEED).standard_normal(shape)).to(getattr(ingot, dtype))


CASES = {
    "a scale and an activation": (lambda x, w: (x * 0.5).relu() @ w, [(5, 7), (7, 33)]),
    "what is not 0 at 0": (lambda x, w: x.exp() @ (w + 1), [(20, 17), (17, 40)]),
    "numbers of rows, of columns, and of all": (lambda x, w, r, c, s: (x * r + c) / s @ w, [(9, 6), (6, 18), (9, 1), (6,), ()]),
    "a transposed factor": (lambda x, w: x.T.relu() @ w.T.abs(), [(7, 5), (21, 7)]),
    "transposed afterwards": (lambda x, w: x @ (w * 2 + 1).T, [(5, 7), (21, 7)]),
    "a batch": (lambda x, w, c: (x * c) @ w, [(3, 5, 4), (3, 4, 17), (3, 1, 4)]),
    "the same matrix for a batch": (lambda x, w: x @ (w - 1), [(3, 5, 4), (4, 17)]),
    "heads in the middle": (lambda x, w: (x + 1).reshape(5, 3, 4).permute(1, 0, 2) @ w, [(5, 12), (3, 4, 17)]),
    "two products read it": (lambda x, w, v: (x.relu() @ w, x.relu() @ v), [(5, 7), (7, 20), (7, 33)]),
    "a matrix and itself": (lambda x: (x * 2) @ (x * 2).T, [(20, 9)]),
    "an epilogue as well": (lambda x, w, b: F.relu(x.sigmoid() @ w + b), [(5, 7), (7, 20), (20,)]),
    "before a convolution": (lambda x, w, g: F.conv2d((x * g + 1).relu(), w, padding=1),
                             [(2, 3, 6, 5), (4, 3, 3, 3), (3, 1, 1)]),
    "what is not 0 at the edges": (lambda x, w, b: F.conv2d(x.exp(), w, b, padding=2, stride=2),
                                   [(2, 3, 7, 8), (5, 3, 3, 3), (5,)]),
    "numbers of images, of pixels": (lambda x, w, n, p: F.relu(F.conv2d(x * n + p, w, dilation=2)),
                                     [(2, 3, 7, 8), (5, 3, 2, 3), (2, 1, 1, 1), (7, 8)]),
    "groups": (lambda x, w, g: F.conv1d(x / g, w, groups=2), [(2, 6, 9), (4, 3, 2), (6, 1)]),
    "a window of one pixel": (lambda x, w, g: F.relu(F.conv2d(F.relu(x * g), w)), [(2, 6, 5, 4), (9, 6, 1, 1), (6, 1, 1)]),
    "volumes": (lambda x, w: F.conv3d(-x, w), [(1, 2, 4, 5, 3), (3, 2, 2, 2, 2)]),
}


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float64"])
@pytest.mark.parametrize("name", CASES)
def test_no_launch_of_its_own_with_the_same_bits(name, dtype):
    f, shapes = CASES[name]
    with mock_cuda.installed() as cuda:
        args = [draw(*s, dtype=dtype).cuda() + 0.5 for s in shapes]
        names = mock_cuda.launches_as_eager(cuda, f, *args, why=f"seed {SEED}")
    assert len(names) == 1 + (name == "two products read it") and all("prologue" in n for n in names), names


CASTS = {
    "to what is multiplied": lambda x, w: x.bfloat16() @ w.bfloat16(),
    "weights of float8 with a scale": lambda x, w: x.bfloat16() @ (w.to(ingot.float8_e4m3fn).bfloat16() * 0.5),
    "weights of whole numbers": lambda x, w: x @ ((w * 8).to(ingot.int8).float() / 8),
    "a result in float32": lambda x, w: (x.half() @ w.half()).float() + 1,
    "autocast": lambda x, w: F.linear(x, w.T),
}


@pytest.mark.parametrize("name", CASTS)
def test_casts_are_part_of_the_product(name):
    f = CASTS[name]
    with mock_cuda.installed() as cuda, ingot.amp.autocast("cuda", dtype=ingot.bfloat16, enabled=name == "autocast"):
        names = mock_cuda.launches_as_eager(cuda, f, draw(6, 40).cuda(), (draw(40, 20) / 4).cuda(), why=f"seed {SEED}")
    assert len(names) == 1 and names[0].count("prologue") == 2 - (name == "weights of whole numbers"), names


NOT = {
    "where the other factor is wide": (lambda x, w: x.exp() @ w, [(4, 20), (20, 600)]),
    "what is a result, too": (lambda x, w: ((x * 2) @ w, x * 2), [(5, 7), (7, 20)]),
    "three matrices": (lambda x, y, z, w: (x * y + z) @ w, [(5, 7), (5, 7), (5, 7), (7, 20)]),
    "what another kernel reads": (lambda x, w: ((x * 2) @ w, (x * 2).sum(0)), [(5, 7), (7, 20)]),
    "where many outputs meet it": (lambda x, w: F.conv2d(x * 2, w), [(2, 3, 5, 5), (600, 3, 3, 3)]),
    "depthwise": (lambda x, w: F.conv2d(x * 2, w, groups=3), [(2, 3, 5, 5), (3, 1, 3, 3)]),
    "what is summed up": (lambda x, w: (x / x.sum(1, keepdim=True)) @ w, [(5, 7), (7, 20)]),
}


@pytest.mark.parametrize("name", NOT)
def test_producers_that_are_not_fused(name):
    f, shapes = NOT[name]
    with mock_cuda.installed() as cuda:
        names = mock_cuda.launches_as_eager(cuda, f, *[draw(*s).cuda() for s in shapes], why=f"seed {SEED}")
    assert names and not any("prologue" in n for n in names), names


def test_an_input_that_is_updated_after_it_was_multiplied():
    """The product reads the weights later than the kernel would have that scales them."""
    with mock_cuda.installed():
        w = draw(20, 20).cuda()
        want = w.cpu().clone()

        @jit.trace
        def step(x):
            y = x @ (w * 0.5)
            w.mul_(0.9)
            return y

        for i in range(4):
            x = draw(20, 20) + i
            assert ingot.allclose(step(x.cuda()).cpu(), x @ (want * 0.5), rtol=1e-5, atol=1e-5), f"call {i}"
            want = want * 0.9


def test_more_batches_than_a_grid_has(monkeypatch):
    """In several launches, each with the addresses of its batches in whatever is read and written."""
    monkeypatch.setattr(products, "_MOST_BATCHES", 2)
    with mock_cuda.installed():
        x, w, c, r = draw(5, 3, 4), draw(5, 4, 17), draw(5, 1, 4), draw(5, 3, 17)

        def f(x, w, c, r):
            return (x * c + 1) @ w * 2 + r

        run, there = jit.trace(f), [t.cuda() for t in (x, w, c, r)]
        run(*there)
        assert ingot.allclose(run(*there).cpu(), f(x, w, c, r), rtol=1e-5, atol=1e-5)
        assert ingot.allclose((there[0] @ there[1]).cpu(), x @ w, rtol=1e-5, atol=1e-5)


def test_sizes_that_change():
    """The arrangement is made once; each size has its own numbers."""
    f = jit.trace(lambda x, w: (x.relu() * 2) @ w.abs())
    with mock_cuda.installed() as cuda:
        w = draw(12, 24).cuda()
        for n in (5, 9, 17, 9, 40):
            x = draw(n, 12)
            assert ingot.allclose(f(x.cuda(), w).cpu(), (x.relu() * 2) @ w.cpu().abs(), rtol=1e-5, atol=1e-5), n
        assert cuda.launches[-1]["name"].count("prologue") == 2


# Compiled.


def factor_of(kind, function, sources, m=1024, n=256, k=1024, position=0):
    """The step of a product whose factor is a function of inputs of the dtypes `sources`; the second lies along the columns."""
    b = Builder("block")
    shape = (m, k) if position == 0 else (k, n)
    given = [b.input(f"a{i}", Aval(shape if i == 0 else shape[-1:], d)) for i, d in enumerate(sources)]
    other = b.input("other", Aval((k, n) if position == 0 else (m, k), kind))
    made = function(given[0], *[expand(reshape(v, shape=(1, shape[-1])), shape=shape) for v in given[1:]])
    y = matmul_op(made, other) if position == 0 else matmul_op(other, made)
    graph = pass_manager.run(b.finish([y]), pipelines.PIPELINE)
    step, = plan(graph).steps
    assert type(step) is ProductStep and step.epilogue.before[position] is not None
    return step.epilogue


FACTORS = {
    "a cast": (lambda x: ew.cast(x, dtype=dt.bfloat16), (dt.float32,), 0),
    "affine and relu": (lambda x, g, b: ew.maximum(ew.add(ew.mul(x, g), b), 0.0), (dt.bfloat16,) * 3, 0),
    "float8": (lambda x, s: ew.mul(ew.cast(x, dtype=dt.bfloat16), s), (dt.float8_e4m3fn, dt.bfloat16), 1),
    "wide rows of float32": (lambda x: ew.cast(x, dtype=dt.bfloat16), (dt.float32,), 1),
}
SIZES = {"float8": (64, 256), "wide rows of float32": (1024, 8192)}


@pytest.mark.skipif(importlib.util.find_spec("triton") is None, reason="Triton is not installed")
@pytest.mark.parametrize("arch", ARCHS)
@pytest.mark.parametrize("name", FACTORS)
def test_compiles(name, arch):
    function, sources, position = FACTORS[name]
    m, n = SIZES.get(name, (1024, 128))
    made = factor_of(dt.bfloat16, function, sources, m, n, position=position)
    computed = made.before[position]
    how = Computed(SideProgram(computed.fused, [(row, batch) for _, _, row, batch in computed.operands]), computed.transposed)
    units, loaded = [(False, True), (False, True)], [2, 2]
    units[position], loaded[position] = how.how, how.loaded
    source = matmul.source(dt.bfloat16, "ieee", *units)
    chosen = matmul.tiles(dt.bfloat16, m, n, 1024, True, 232448 if arch == 90 else 166912, loaded=tuple(loaded))
    one = configs.Launch(source, chosen.constants, chosen.warps, (1, 1, 1), stages=chosen.stages)
    _, ptx = built(one, {p.name: 1024 for p in source.parameters if p.kind == SIZE}, arch)
    assert ("wgmma" if arch == 90 else "mma.sync") in ptx and ("cp.async" in ptx or "ld.global" in ptx)


@pytest.mark.skipif(importlib.util.find_spec("triton") is None, reason="Triton is not installed")
@pytest.mark.parametrize("arch", ARCHS)
def test_convolutions_compile(arch):
    """relu(x * gain + shift) before a window of 3x3."""
    b, kind = Builder("block"), dt.bfloat16
    shapes = {"x": (8, 64, 28, 28), "w": (16, 64, 3, 3), "gain": (64, 1, 1), "shift": (64, 1, 1)}
    x, w, gain, shift = [b.input(n, Aval(s, kind)) for n, s in shapes.items()]
    made = ew.maximum(ew.add(ew.mul(x, expand(gain, shape=x.shape)), expand(shift, shape=x.shape)), 0.0)
    y = conv_op(made, w, None, stride=(1, 1), padding=((1, 1), (1, 1)), dilation=(1, 1), groups=1)
    step, = plan(pass_manager.run(b.finish([y]), pipelines.PIPELINE)).steps
    computed = step.epilogue.before[0]
    how = Computed(SideProgram(computed.fused, [(row, batch) for _, _, row, batch in computed.operands]), False).how
    source = conv.forward(kind, "ieee", False, before=how)
    window = tuple(zip(conv.WINDOW, (1, 3, 3, 1, 1, 1, 0, 1, 1, 1, 1, 1)))
    tile, warps, stages = conv.tiles(kind, "ieee", 6272, 16, 576)
    one = configs.Launch(source, (*window, *zip(conv.TILE, tile), ("GROUPS", 1)), warps, (1, 1, 1), stages=stages)
    _, ptx = built(one, {p.name: 64 for p in source.parameters if p.kind == SIZE}, arch)
    assert "mma" in ptx


def test_how_much_is_done_again():
    """The rule is one number: what an element costs, times the extent of the other factor."""
    for n, fits in ((fuse_prologue.MOST_AGAIN // 4, True), (fuse_prologue.MOST_AGAIN, False)):
        b = Builder("block")
        x, w = b.input("x", Aval((64, 32), dt.float32)), b.input("w", Aval((n, 32), dt.float32))
        graph = pass_manager.run(b.finish([matmul_op(ew.mul(x, 2.0), permute(w, dims=(1, 0)))]), pipelines.PIPELINE)
        steps = plan(graph).steps
        assert (len(steps) == 1 and type(steps[0]) is ProductStep) == fits
