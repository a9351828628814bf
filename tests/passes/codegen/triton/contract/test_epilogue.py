"""Products on a device take in what follows them: with the bits that they have apart, on the mock driver, and compiled for real
chips where Triton is installed.
"""

import importlib.util
import itertools

import numpy as np
import pytest

import ingot
import mock_cuda
from ingot import jit, nn
from ingot.ir import dtype as dt
from ingot.ir.graph.graph import Builder
from ingot.ir.opdef.aval import Aval
from ingot.ir.ops.core import elementwise as ew
from ingot.ir.ops.core.shape import expand, reshape
from ingot.ir.ops.linalg.products import matmul as matmul_op
from ingot.ir.ops.nn.conv import conv as conv_op
from ingot.ir.ops.nn.norm import batch_norm
from ingot.nn import functional as F
from ingot.passes import pipelines
from ingot.passes.codegen.triton.contract import matmul, matmul_hopper
from ingot.passes.codegen.triton.conv import conv, conv_depthwise
from ingot.passes.codegen.triton.ir.source import SIZE
from ingot.passes.codegen.triton.loops import configs
from ingot.passes.rewrite import pass_manager
from ingot.passes.schedule.device_plan import CallStep, KernelStep, ProductStep, plan
from ingot.runtime.cuda.compiler import compile as compiler
from tests.passes.codegen.triton.test_compile_loops import ARCHS, built, caches, variant  # noqa: F401 (a fixture)
from tests.runtime.cuda.graph.test_training_steps import Block

SEED = 23


def draw(*shape, dtype="float32"):
    return ingot.tensor(np.random.default_rng(SEED).standard_normal(shape)).to(getattr(ingot, dtype))


CASES = {
    "linear and gelu": (lambda x, w, b: F.gelu(x @ w + b), [(5, 7), (7, 33), (33,)]),
    "residual": (lambda x, w, r: (x @ w) * 2 + r, [(20, 17), (17, 40), (20, 40)]),
    "two results": (lambda x, w, b: (x @ w + b, (x @ w + b).relu()), [(9, 6), (6, 18), (18,)]),
    "two results of one row": (lambda x, w, b: (x @ w + b, (x @ w + b).relu()), [(1, 6), (6, 18), (18,)]),
    "two results of rows in batches": (lambda x, w, r: ((x @ w) * r + 1, (x @ w) * r), [(3, 1, 5), (3, 5, 18), (3, 1, 18)]),
    "two results of one number": (lambda x, w, r: ((x @ w) * r + 1, (x @ w) * r), [(3, 1, 5), (3, 5, 1), (3, 1, 1)]),
    "a batch, with a column of numbers": (lambda x, w, c: (x @ w) * c, [(3, 5, 4), (3, 4, 17), (3, 5, 1)]),
    "transposed": (lambda x, w, b: (x.T @ w.T + b).tanh(), [(7, 5), (21, 7), (21,)]),
    "a number": (lambda x, w, s: (x @ w) / s, [(6, 5), (5, 20), ()]),
    "one column": (lambda x, w, r: ((x @ w) * r, x @ w * r + 1), [(9, 5), (5, 1), (9, 1)]),
    "a convolution, affine and relu": (lambda x, w, m, g: F.relu(normed(F.conv2d(x, w, padding=1), m, g)),
                                       [(2, 3, 5, 6), (7, 3, 3, 3), (7,), (7,)]),
    "with a bias, and a residual": (lambda x, w, b, r: F.relu(F.conv2d(x, w, b, stride=2) + r),
                                    [(2, 3, 9, 7), (5, 3, 3, 3), (5,), (2, 5, 4, 3)]),
    "groups, and a gate": (lambda x, w, g: F.conv1d(x, w, groups=2) * g, [(3, 4, 8), (6, 2, 3), (3, 6, 1)]),
    "depthwise": (lambda x, w, b, m, g, r: (F.relu(normed(F.conv2d(x, w, b, groups=4), m, g)) + r),
                  [(2, 4, 6, 5), (8, 1, 3, 3), (8,), (8,), (8,), (2, 8, 4, 3)]),
    "planes of one pixel": (lambda x, w, m, g: F.silu(normed(F.conv2d(x, w), m, g)),
                            [(9, 4, 1, 1), (20, 4, 1, 1), (20,), (20,)]),
    "a transposed convolution": (lambda x, w, m, g: F.relu(normed(F.conv_transpose2d(x, w, padding=1), m, g)),
                                 [(2, 4, 5, 6), (4, 3, 3, 3), (3,), (3,)]),
    "transposed depthwise": (lambda x, w, r: F.conv_transpose2d(x, w, groups=4).relu() * r,
                             [(2, 4, 5, 6), (4, 1, 3, 3), (2, 4, 7, 8)]),
    "planes, two results": (lambda x, w, r: (F.conv2d(x, w) + r, (F.conv2d(x, w) + r).relu()),
                            [(2, 3, 4, 5), (1, 3, 2, 2), (2, 1, 3, 4)]),
    "an image of one pixel, two results": (lambda x, w, r: (F.conv2d(x, w) + r, (F.conv2d(x, w) + r).relu()),
                                           [(1, 3, 2, 2), (5, 3, 2, 2), (1, 5, 1, 1)]),
    "volumes, two results": (lambda x, w, r: (F.conv3d(x, w) + r, (F.conv3d(x, w) + r).relu()),
                             [(2, 2, 3, 4, 3), (5, 2, 2, 2, 2), (2, 5, 2, 3, 2)]),
}


def normed(x, mean, gain):
    """A batch normalisation with given statistics."""
    return F.batch_norm(x, mean, gain.abs() + 0.5, gain, mean)


# In float64 what follows costs more than a sweep of its own.
DEAR = ("linear and gelu", "transposed", "planes of one pixel")


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float64"])
@pytest.mark.parametrize("name", CASES)
def test_one_launch_with_the_same_bits(name, dtype):
    f, shapes = CASES[name]
    with mock_cuda.installed() as cuda:
        args = [draw(*s, dtype=dtype).cuda() + 0.5 for s in shapes]
        names = mock_cuda.launches_as_eager(cuda, f, *args, why=f"seed {SEED}")
    if dtype != "float64" or name not in DEAR:
        assert len(names) == 1 and "epilogue" in names[0], names


@pytest.mark.parametrize("kernel", [4, 3, 2, 1])
def test_transposed_convolutions_with_a_stride(kernel):
    """A launch for each phase does what follows; where no tap reaches some pixels, a kernel of its own must."""
    with mock_cuda.installed() as cuda:
        def f(x, w, b, r):
            return F.relu(F.conv_transpose2d(x, w, b, stride=2) + 1 - r)

        size = 2 * 4 + kernel
        args = [draw(*s).cuda() for s in ((2, 3, 5, 5), (3, 4, kernel, kernel), (4,), (2, 4, size, size))]
        launched = mock_cuda.launches_as_eager(cuda, f, *args, why=f"seed {SEED}")
    names = [n for n in launched if "conv" in n]
    others = len(launched) - len(names)
    assert (len(names), others) == ((4, 0) if kernel > 1 else (1, 1)) and all(("epilogue" in n) == (kernel > 1) for n in names)


def test_operands_with_several_readers_are_computed_once():
    """A vector that two products' epilogues use, and one that is a result, are kernels of their own."""
    with mock_cuda.installed() as cuda:
        def f(x, w, g):
            scale = g.exp()
            return (x @ w) * scale, (x @ w.T) * scale, g.sin(), (x @ x.T) + g.sin()

        args = [(draw(*s) / 4).cuda() for s in ((20, 20), (20, 20), (20,))]
        names = mock_cuda.launches_as_eager(cuda, f, *args, why=f"seed {SEED}")
    assert sum("epilogue" in n for n in names) == 3 and 4 <= len(names) <= 5, names


def test_a_network_of_convolutions_is_one_launch_for_each():
    """Convolution, normalisation with given statistics, activation and residual, in blocks as ResNet has them."""
    ingot.manual_seed(0)
    net = nn.Sequential(nn.Conv2d(3, 4, 3, padding=1, bias=False), nn.BatchNorm2d(4), nn.ReLU(), Block(4, 4, 1), Block(4, 8, 2))
    for m in net.modules():
        if isinstance(m, nn.BatchNorm2d):
            m.running_mean.normal_()
            m.running_var.uniform_(0.5, 2)
    net.eval()
    x = draw(2, 3, 8, 8)
    with mock_cuda.installed() as cuda, ingot.no_grad():
        want = net(x)
        net.cuda()
        eager, traced = net(x.cuda()), jit.trace(lambda x: net(x))
        traced(x.cuda())
        before = len(cuda.launches)
        got = traced(x.cuda())
        names = [n["name"] for n in cuda.launches[before:]]
        assert ingot.equal(got.cpu(), eager.cpu()) and ingot.allclose(got.cpu(), want, rtol=1e-4, atol=1e-4)
    assert len(names) == 6 and all(n.startswith("conv") and "epilogue" in n for n in names), names


def test_values_with_other_readers_are_not_fused():
    """A product that is a result itself, or that another product reads, keeps its own memory."""
    with mock_cuda.installed():
        x, w = draw(5, 6).cuda(), draw(6, 6).cuda()
        f = jit.trace(lambda x, w: (x @ w, (x @ w).relu() @ w))
        for _ in range(2):
            a, b = f(x, w)
        np.testing.assert_allclose(a.cpu().numpy(), (x.cpu() @ w.cpu()).numpy(), rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(b.cpu().numpy(), ((x.cpu() @ w.cpu()).relu() @ w.cpu()).numpy(), rtol=1e-5, atol=1e-5)


def test_an_update_that_reads_the_weights_it_multiplies_by():
    """w is an operand of the product whose epilogue would write it."""
    with mock_cuda.installed():
        w = draw(20, 20).cuda()
        want = w.cpu().clone()

        @jit.trace
        def step(x):
            w.sub_((x @ w) * 0.1)
            return x.sum()

        for i in range(4):
            x = draw(20, 20) * (i + 1) / 10
            step(x.cuda())
            want -= (x @ want) * 0.1
        np.testing.assert_allclose(w.cpu().numpy(), want.numpy(), rtol=1e-4, atol=1e-5)


def epilogue_of(kind, function):
    """The fused step of f(x @ w + b) + r."""
    b = Builder("block")
    x, w, bias, r = [b.input(n, Aval(s, kind)) for n, s in (("x", (1024, 1024)), ("w", (1024, 1024)), ("b", (1024,)),
                                                            ("r", (1024, 1024)))]
    z = matmul_op(x, w)
    z = ew.add(z, expand(reshape(bias, shape=(1, 1024)), shape=z.shape))
    graph = pass_manager.run(b.finish([ew.add(function(z), r)]), pipelines.PIPELINE)
    step, = plan(graph).steps
    assert type(step) is ProductStep
    return step.epilogue


FUNCTIONS = {"relu": (lambda z: ew.maximum(z, 0.0), 0), "tanh": (ew.tanh, 64)}     # spilled bytes after the sum, at most


@pytest.mark.skipif(importlib.util.find_spec("triton") is None, reason="Triton is not installed")
@pytest.mark.parametrize("arch", ARCHS)
@pytest.mark.parametrize("kind", [dt.bfloat16, pytest.param(dt.float32, marks=pytest.mark.slow)], ids=str)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_compiles(name, kind, arch):
    function, spills = FUNCTIONS[name]
    made = epilogue_of(kind, function)
    along = tuple([(row != 0, batch != 0) for _, _, row, batch in made.operands])
    source = matmul.source(kind, "ieee", (False, True), (False, True), made.fused, along)
    chosen = matmul.tiles(kind, 1024, 1024, 1024, kind.itemsize == 2, 232448 if arch == 90 else 166912)
    one = configs.Launch(source, chosen.constants, chosen.warps, (1, 1, 1), stages=chosen.stages)
    _, ptx = built(one, {p.name: 1024 for p in source.parameters if p.kind == SIZE}, arch, spills)
    if kind.itemsize == 2:
        assert ("wgmma" if arch == 90 else "mma.sync") in ptx


@pytest.mark.skipif(importlib.util.find_spec("triton") is None, reason="Triton is not installed")
@pytest.mark.parametrize("arch", ARCHS)
def test_transposed_convolutions_compile(arch):
    made = convolution_of(dt.bfloat16, 1)
    along = tuple([(row != 0, batch != 0) for _, _, row, batch in made.operands])
    tile, warps, stages = conv.tiles(dt.bfloat16, "ieee", 6272, 64, 576)
    phase, _ = conv.phases((1, 3, 3), (1, 2, 2), (0, 1, 1), (1, 1, 1), (1, 56, 56))[3]
    window = tuple(zip(conv.WINDOW, (1, 3, 3, 1, 2, 2, 0, 1, 1, 1, 1, 1)))
    tiled = (*window, *zip(conv.TILE, tile), ("GROUPS", 1))
    alone = (*window, ("BLOCK", 256), ("GROUPS", 64))
    for source, constants, team in ((conv.phase_grad(dt.bfloat16, "ieee", made.fused, along), (*tiled, *phase.items()), warps),
                                    (conv.input_grad(dt.bfloat16, "ieee", made.fused, along), tiled, warps),
                                    (conv_depthwise.input_grad(dt.bfloat16, made.fused, along), alone, 4)):
        one = configs.Launch(source, constants, team, (1, 1, 1), stages=stages)
        built(one, {p.name: 64 for p in source.parameters if p.kind == SIZE}, arch)


def convolution_of(kind, groups):
    """The fused step of relu(batch_norm(conv(x, w))) + r, with statistics in float32."""
    b = Builder("block")
    x, w, r = [b.input(n, Aval(s, kind)) for n, s in (("x", (8, 64, 28, 28)), ("w", (64, 64 // groups, 3, 3)),
                                                      ("r", (8, 64, 28, 28)))]
    gain, shift, mean, var = [b.input(n, Aval((64,), d)) for n, d in (("gain", kind), ("shift", kind), ("mean", dt.float32),
                                                                      ("var", dt.float32))]
    y = conv_op(x, w, None, stride=(1, 1), padding=((1, 1), (1, 1)), dilation=(1, 1), groups=groups)
    y = ew.add(ew.maximum(batch_norm(y, gain, shift, mean, var, eps=1e-5), 0.0), r)
    step, = plan(pass_manager.run(b.finish([y]), pipelines.PIPELINE)).steps
    assert type(step) is ProductStep
    return step.epilogue


@pytest.mark.skipif(importlib.util.find_spec("triton") is None, reason="Triton is not installed")
@pytest.mark.parametrize("arch", ARCHS)
@pytest.mark.parametrize("kind", [dt.bfloat16, pytest.param(dt.float32, marks=pytest.mark.slow)], ids=str)
def test_convolutions_compile(kind, arch):
    window = tuple(zip(conv.WINDOW, (1, 3, 3, 1, 1, 1, 0, 1, 1, 1, 1, 1)))
    for groups in (1, 64):
        made = convolution_of(kind, groups)
        along = tuple([(row != 0, batch != 0) for _, _, row, batch in made.operands])
        assert sorted(along) == [(True, False)] * 4 + [(True, True)]
        tile, warps, stages = conv.tiles(kind, "ieee", 6272, 64, 576)
        tiled = (*zip(conv.TILE, tile), ("GROUPS", 1))
        if groups > 1:
            source, tiled, warps = conv_depthwise.forward(kind, False, made.fused, along), (("BLOCK", 256), ("GROUPS", 64)), 4
        else:
            source = conv.forward(kind, "ieee", False, made.fused, along)
        one = configs.Launch(source, (*window, *tiled), warps, (1, 1, 1), stages=stages)
        _, ptx = built(one, {p.name: 64 for p in source.parameters if p.kind == SIZE}, arch)
        if kind.itemsize == 2 and groups == 1:
            assert ("wgmma" if arch == 90 else "mma.sync") in ptx


@pytest.mark.skipif(importlib.util.find_spec("triton") is None, reason="Triton is not installed")
@pytest.mark.parametrize("briefly", [True, pytest.param(False, marks=pytest.mark.slow)], ids=["first", "all"])
@pytest.mark.parametrize("strategy", matmul_hopper.TILES)
def test_bulk_copies_compile(strategy, briefly):
    """Alone and with what follows, for Hopper: copies and products are the chip's own, and nothing spills, but a few bytes
    behind the loop where two groups of warps have half of the registers for results."""
    made = epilogue_of(dt.bfloat16, FUNCTIONS["relu"][0])
    after = made.fused, tuple([(row != 0, batch != 0) for _, _, row, batch in made.operands])
    layouts = [(False, False)] if briefly else itertools.product((False, True), repeat=2)
    for flips, tiles in itertools.product(layouts, matmul_hopper.TILES[strategy][:1 if briefly else None]):
        chosen, units = matmul.Tiles(*tiles, strategy), [(flip, not flip) for flip in flips]
        for more in [after] if briefly else [(), after]:
            source = matmul_hopper.source(dt.bfloat16, "ieee", *units, matmul.CONSTANTS, strategy, *more)
            one = configs.Launch(source, chosen.constants, chosen.warps, (1, 1, 1), stages=chosen.stages)
            v = variant(one, {p.name: 1024 for p in source.parameters if p.kind == SIZE}, 90)
            run = compiler._run_triton(v)
            binary, ptx = compiler._binary(v, run), run.asm["ptx"]
            full = strategy == matmul_hopper.SPECIAL and chosen.m * chosen.n > 128 * 128
            assert binary.spills <= (160 if full and more else 0) and binary.shared <= 232448
            assert binary.scratch and binary.clusters == 1
            assert "cp.async.bulk.tensor" in ptx and "wgmma" in ptx
            assert ("setmaxnreg" in ptx) == (strategy == matmul_hopper.SPECIAL) and binary.threads >= 32 * chosen.warps


DEEP = {"deep, few tiles": (512, 512, 8192), "many tiles": (768, 8192, 768), "soon done": (16, 768, 3072),
        "large": (8192, 768, 8192)}


@pytest.mark.parametrize("name", DEEP)
def test_deep_products_of_few_tiles_do_nothing_else(name):
    """Their depth is cut, so that all multiprocessors have something to do; what follows them is a kernel."""
    (m, n, k), alone = DEEP[name], name == "deep, few tiles"
    b = Builder("product")
    x, y = b.input("x", Aval((m, k), dt.bfloat16)), b.input("y", Aval((k, n), dt.bfloat16))
    steps = plan(b.finish([ew.cast(matmul_op(x, y), dtype=dt.float32)])).steps
    assert [type(s) for s in steps] == ([CallStep, KernelStep] if alone else [ProductStep])
    assert matmul.is_cut(dt.bfloat16, m, n, k) == alone
