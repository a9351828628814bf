"""Products on a device take in what follows them: with the bits that they have apart, on the mock driver, and compiled for real
chips where Triton is installed.
"""

import importlib.util

import numpy as np
import pytest

import ingot
import mock_cuda
from ingot import jit
from ingot.ir import dtype as dt
from ingot.ir.aval import Aval
from ingot.ir.graph import Builder
from ingot.ir.ops import elementwise as ew
from ingot.ir.ops.linalg import matmul as matmul_op
from ingot.ir.ops.shape import expand, reshape
from ingot.nn import functional as F
from ingot.passes import pipeline
from ingot.passes.codegen.triton import configs, matmul
from ingot.passes.codegen.triton.nest import SIZE
from ingot.passes.codegen.triton.plan import ProductStep, plan
from test_triton_compile import ARCHS, built, caches  # noqa: F401 (a fixture)

SEED = 23


def draw(*shape, dtype="float32"):
    return ingot.tensor(np.random.default_rng(SEED).standard_normal(shape)).to(getattr(ingot, dtype))


CASES = {
    "linear and gelu": (lambda x, w, b: F.gelu(x @ w + b), [(5, 7), (7, 33), (33,)]),
    "residual": (lambda x, w, r: (x @ w) * 2 + r, [(20, 17), (17, 40), (20, 40)]),
    "two results": (lambda x, w, b: (x @ w + b, (x @ w + b).relu()), [(9, 6), (6, 18), (18,)]),
    "a batch, with a column of numbers": (lambda x, w, c: (x @ w) * c, [(3, 5, 4), (3, 4, 17), (3, 5, 1)]),
    "transposed": (lambda x, w, b: (x.T @ w.T + b).tanh(), [(7, 5), (21, 7), (21,)]),
    "a number": (lambda x, w, s: (x @ w) / s, [(6, 5), (5, 20), ()]),
}

DEAR = ("linear and gelu", "transposed")      # in float64 what follows costs more than a sweep of its own


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float64"])
@pytest.mark.parametrize("name", CASES)
def test_one_launch_with_the_same_bits(name, dtype):
    f, shapes = CASES[name]
    with mock_cuda.installed() as cuda:
        args = [draw(*s, dtype=dtype).cuda() + 0.5 for s in shapes]
        want = f(*args)
        traced = jit.trace(f)
        traced(*args)
        before = len(cuda.launches)
        got = traced(*args)
        names = [x["name"] for x in cuda.launches[before:]]
        for w, g in zip(want if isinstance(want, tuple) else (want,), got if isinstance(got, tuple) else (got,)):
            assert g.dtype is w.dtype and ingot.equal(g.cpu(), w.cpu()), f"{name}, seed {SEED}"
    if dtype != "float64" or name not in DEAR:
        assert len(names) == 1 and "epilogue" in names[0], names


def test_what_others_read_stays():
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
    graph = pipeline.run(b.finish([ew.add(function(z), r)]), pipeline.PIPELINE)
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
    by_rows = tuple([row != 0 for _, _, row, _ in made.operands])
    source = matmul.source(kind, "ieee", (False, True), (False, True), made.fused, by_rows)
    chosen = matmul.tiles(kind, 1024, 1024, 1024, kind.itemsize == 2, 232448 if arch == 90 else 166912)
    one = configs.Launch(source, chosen.constants, chosen.warps, (1, 1, 1), stages=chosen.stages)
    _, ptx = built(one, {p.name: 1024 for p in source.parameters if p.kind == SIZE}, arch, spills)
    if kind.itemsize == 2:
        assert ("wgmma" if arch == 90 else "mma.sync") in ptx
