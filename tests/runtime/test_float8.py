"""float8_e4m3fn and float8_e5m2: casts as PyTorch has them, storage that moves as any other, arithmetic that is refused with
the way out, products with scales; on the CPU, traced, and on the mock driver.
"""

import copy
import importlib.util
import pickle
import warnings

import ml_dtypes
import numpy as np
import pytest

import ingot
import mock_cuda
from ingot import jit
from ingot.ir import dtype as dt
from ingot.ir.errors import ArgumentError, DTypeError, ShapeError
from ingot.ir.kernel.kernel_builder import KernelBuilder
from ingot.ir.reference import float8
from ingot.passes.codegen import scalars
from ingot.passes.codegen.triton.contract import matmul, matmul_hopper
from ingot.passes.codegen.triton.ir.source import FAST, SIZE, Kinds
from ingot.passes.codegen.triton.loops import configs
from ingot.runtime.cuda.compiler import compile as compiler
from tests.passes.codegen.triton.test_compile_loops import built, caches, variant  # noqa: F401 (a fixture)

SEED = 5
SHARED = {80: 166912, 89: 101376, 90: 232448}
KINDS = (ingot.float8_e4m3fn, ingot.float8_e5m2)
HAS_TORCH = importlib.util.find_spec("torch") is not None
needs_torch = pytest.mark.skipif(not HAS_TORCH, reason="PyTorch is not installed")
ALL_16 = np.arange(1 << 16, dtype=np.uint16)
ALL_8 = np.arange(256, dtype=np.uint8)


def draws():
    """Bits of float32 of all sizes, and those beside every float8."""
    rng = np.random.default_rng(SEED)
    near = [ALL_8.view(d.np).astype(np.float32).view(np.uint32) for d in KINDS]
    steps = [(n[:, None] + np.arange(-2, 3)).reshape(-1) for n in near]
    halves = [((n[:, None].view(np.float32) * np.float32(f)).view(np.uint32) + np.arange(-1, 2)).reshape(-1)
              for n in near for f in (1.0625, 1.125, 1.1875, 0.9375, 0.5)]
    return np.concatenate([rng.integers(0, 1 << 32, 200_000), *steps, *halves]).astype(np.uint32)


with np.errstate(all="ignore"):
    SOURCES = {"float16": ALL_16.view(np.float16), "bfloat16": ALL_16.view(ml_dtypes.bfloat16),
               "float32": draws().view(np.float32), "float64": draws().view(np.float32).astype(np.float64),
               "int32": np.arange(-70_000, 70_000, 7, dtype=np.int32), "uint8": ALL_8, "bool": np.array([False, True])}


def raw(x):
    """The bits of a tensor or an array of float8."""
    return np.asarray(x.numpy() if isinstance(x, ingot.Tensor) else x).view(np.uint8)


def traced(f, *args):
    """Return the result of a replay."""
    run = jit.trace(f)
    run(*args)
    return run(*args)


@pytest.mark.parametrize("kind", KINDS, ids=str)
@pytest.mark.parametrize("source", SOURCES)
def test_casts_to_float8_are_the_same_everywhere(source, kind):
    """The definition, the instructions that all generators share, eager (small and large) and traced."""
    a = SOURCES[source]
    want, x = raw(float8.converted(a, kind.np)), ingot.from_numpy(a)
    s = scalars.NumpyBuilder()
    assert (raw(s.cast(s.value(a), kind).ref) == want).all()
    large = ingot.from_numpy(np.resize(a, max(a.size, 40_000)))
    assert (raw(large.to(kind))[:a.size] == want).all() and (raw(x[:999].to(kind)) == want[:999]).all()
    assert (raw(traced(lambda v: v.to(kind), x)) == want).all()


@pytest.mark.peer
@needs_torch
@pytest.mark.parametrize("kind", KINDS, ids=str)
@pytest.mark.parametrize("source", [s for s in SOURCES if s != "float64"])     # which PyTorch rounds twice
def test_casts_are_those_of_torch(source, kind):
    import torch
    a = SOURCES[source]
    given = torch.frombuffer(bytearray(a.tobytes()), dtype=getattr(torch, source))
    theirs = given.to(getattr(torch, kind.name)).view(torch.uint8).numpy()
    if not _saturates(torch) and kind is ingot.float8_e4m3fn:
        with np.errstate(all="ignore"):
            keep = ~(np.abs(a.astype(np.float64)) > dt.LARGEST_E4M3FN)
        a, theirs = a[keep], theirs[keep]
    assert (raw(float8.converted(a, kind.np)) == theirs).all()


def _saturates(torch):
    """Older releases of PyTorch made nan of what is beyond the largest number."""
    return float(torch.tensor(1e4).to(torch.float8_e4m3fn)) == dt.LARGEST_E4M3FN


@pytest.mark.parametrize("kind", KINDS, ids=str)
@pytest.mark.parametrize("to", ["float32", "float16", "bfloat16", "float64", "int32", "int64", "uint8", "bool"])
def test_casts_from_float8_are_exact(to, kind):
    target = getattr(ingot, to)
    x = ingot.from_numpy(np.tile(ALL_8, 160)).view(kind)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore", RuntimeWarning)
        small, large = x[:256].to(target).numpy(), x.to(target).numpy()[:256]
    again = traced(lambda v: v.to(target), x).numpy()[:256]
    assert small.tobytes() == large.tobytes() == again.tobytes()
    if target.is_floating_point:
        assert (raw(ingot.from_numpy(small).to(kind)) == np.where(np.isnan(small.astype(float)), ALL_8 | 0x7F, ALL_8)).all()


def test_float64_is_rounded_once():
    """Just above the middle between two numbers, closer than float32 can say."""
    x = ingot.tensor([1.0625 + 1e-12, 1.0625, -1.1875 + 1e-12], dtype=ingot.float64)
    assert x.to(ingot.float8_e4m3fn).tolist() == [1.125, 1.0, -1.125]
    assert traced(lambda v: v.to(ingot.float8_e4m3fn), x).tolist() == [1.125, 1.0, -1.125]


def test_what_is_too_large():
    inf = float("inf")
    for make in (lambda v, d: ingot.tensor(v, dtype=d), lambda v, d: ingot.tensor(v).to(d),
                 lambda v, d: ingot.stack([ingot.full((), n, dtype=d) for n in v]),
                 lambda v, d: ingot.zeros(len(v), dtype=d).copy_(ingot.tensor(v))):
        assert make([500.0, -1e9, inf], ingot.float8_e4m3fn).tolist() == [448.0, -448.0, 448.0]
        assert make([1e9, -6e4, inf], ingot.float8_e5m2).tolist() == [inf, -57344.0, inf]


MOVES = {
    "clone": lambda x, y: x.clone(), "transposed": lambda x, y: x.t().contiguous(), "slices": lambda x, y: x[1:, ::2],
    "cat": lambda x, y: ingot.cat([x, y]), "stack": lambda x, y: ingot.stack([x, y], 1), "flip": lambda x, y: x.flip(0),
    "roll": lambda x, y: x.roll(3), "pad": lambda x, y: ingot.nn.functional.pad(x, (1, 2), value=1.5),
    "rows": lambda x, y: x[ingot.tensor([2, 0, 2])], "gather": lambda x, y: x.gather(1, ingot.tensor([[1, 0], [2, 2]])),
    "mask": lambda x, y: x[x == x], "where": lambda x, y: ingot.where(x == y, x, y), "repeat": lambda x, y: x.repeat(2, 3),
    "lookup": lambda x, y: ingot.nn.functional.embedding(ingot.tensor([[1], [3]]), x), "abs": lambda x, y: x.abs(),
    "masked_fill": lambda x, y: x.masked_fill(x == y, 0.25), "diagonal": lambda x, y: x.diagonal(),
    "scatter": lambda x, y: x.scatter(1, ingot.tensor([[1], [0]]), y), "expand": lambda x, y: x[:, None].expand(4, 2, 6),
}


def pair(kind, shape=(4, 6)):
    rng = np.random.default_rng(SEED)
    return [ingot.from_numpy(rng.integers(0, 0x78, shape).astype(np.uint8)).view(kind) for _ in range(2)]


@pytest.mark.parametrize("kind", KINDS, ids=str)
@pytest.mark.parametrize("name", MOVES)
def test_what_moves_elements(name, kind):
    f, (x, y) = MOVES[name], pair(kind)
    want = f(x.float(), y.float())
    for got in (f(x, y), traced(f, x, y)):
        assert got.dtype is kind and got.shape == want.shape and (got.float() == want).all()


@pytest.mark.parametrize("kind", KINDS, ids=str)
@pytest.mark.parametrize("name", [n for n in MOVES if n != "mask"])
def test_what_moves_elements_on_a_device(name, kind):
    f, (x, y) = MOVES[name], pair(kind)
    want = f(x, y)
    with mock_cuda.installed():
        ingot.set_default_device("cuda")
        try:
            there = x.cuda(), y.cuda()
            assert (raw(f(*there).cpu()) == raw(want)).all() and (raw(traced(f, *there).cpu()) == raw(want)).all()
        finally:
            ingot.set_default_device("cpu")


@pytest.mark.parametrize("kind", KINDS, ids=str)
@pytest.mark.parametrize("source", ["float16", "bfloat16", "float32"])
def test_casts_on_a_device(source, kind):
    a = SOURCES[source][::5]
    want = raw(float8.converted(a, kind.np))
    with mock_cuda.installed():
        x = ingot.from_numpy(a).cuda()
        made = x.to(kind)
        assert (raw(made.cpu()) == want).all() and (raw(traced(lambda v: v.to(kind), x).cpu()) == want).all()
        back, expected = made.to(x.dtype).cpu().numpy(), ingot.from_numpy(want).view(kind).to(x.dtype).numpy()
        assert back.tobytes() == expected.tobytes()


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_writes_and_comparisons(kind):
    x, y = pair(kind)
    z = ingot.zeros(4, 6, dtype=kind)
    z.copy_(x.float())
    assert ingot.equal(z, x) and not ingot.equal(x, y)
    z[1], z[:, 2], z[z == 0] = y[1], 3, 1.5
    z[ingot.tensor([0, 3])] = y[:2]
    assert (z[0] == y[0]).all() and (z[3] == y[1]).all() and (z[2, 2] == 3).all() and (x != x).sum() == 0
    assert z.any() and (x != 0).all(1).tolist() == x.all(1).tolist()
    z.fill_(2).zero_()
    assert not z.any() and not z.all()
    assert (z == 0).all() and not z.isnan().any() and z.isfinite().all()


def test_what_a_dtype_says():
    for kind, largest, eps, tiny in ((KINDS[0], 448, 0.125, 2.0 ** -6), (KINDS[1], 57344, 0.25, 2.0 ** -14)):
        info = ingot.finfo(kind)
        assert (info.max, info.min, info.eps, info.tiny, info.bits, info.resolution) == (largest, -largest, eps, tiny, 8, 1)
        assert kind.itemsize == ingot.zeros(3, dtype=kind).element_size() == 1
        assert kind.is_floating_point and kind.is_signed and ingot.can_cast(kind, ingot.float32)
        assert str(ingot.tensor([1.5, -0.375], dtype=kind)) == f"tensor([ 1.5000, -0.3750], dtype={kind})"
        assert ingot.promote_types(kind, kind) is kind and ingot.result_type(ingot.zeros(2, dtype=kind), 1) is kind
        with pytest.raises(DTypeError, match="default dtype"):
            ingot.set_default_dtype(kind)


REFUSED = {
    "add": lambda x: x + x, "a number": lambda x: x + 1, "reflected": lambda x: 2 * x, "mul": lambda x: x * x,
    "neg": lambda x: -x, "less": lambda x: x < x, "exp": lambda x: x.exp(), "relu": lambda x: x.relu(),
    "sum": lambda x: x.sum(),
    "sqrt": lambda x: x.sqrt(), "mean": lambda x: x.mean(), "max": lambda x: x.max(),
    "matmul": lambda x: x @ x.t(), "softmax": lambda x: x.softmax(0), "sort": lambda x: x.sort(),
    "cumsum": lambda x: x.cumsum(0), "in place": lambda x: x.add_(1),
    "rand": lambda x: ingot.rand_like(x), "index_add": lambda x: x.index_add(0, ingot.tensor([0]), x[:1]),
    "linear": lambda x: ingot.nn.functional.linear(x, x),
    "large": lambda x: x.repeat(200, 200) + x.repeat(200, 200), "logical": lambda x: ingot.logical_not(x),
}


@pytest.mark.parametrize("kind", KINDS, ids=str)
@pytest.mark.parametrize("name", REFUSED)
def test_arithmetic_is_refused_with_the_way_out(name, kind):
    x = pair(kind)[0]
    with pytest.raises(DTypeError, match=r"does not compute in float8.*\.to\(ingot\.float32\)"):
        REFUSED[name](x)
    with pytest.raises(DTypeError, match="does not compute in"):
        jit.trace(REFUSED[name])(x)


def test_float8_meets_nothing_else():
    x, y = (ingot.ones(2, 3, dtype=k) for k in KINDS)
    for other in (y, ingot.ones(2, 3), ingot.ones(2, 3, dtype=ingot.int32)):
        for f in (lambda: x + other, lambda: x == other, lambda: ingot.cat([x, other]), lambda: ingot.where(x == x, x, other),
                  lambda: ingot.promote_types(x.dtype, other.dtype)):
            with pytest.raises(DTypeError, match="float8 does not combine"):
                f()


def test_gradients_pass_casts():
    x = ingot.randn(3, 4, requires_grad=True)
    (x.to(ingot.float8_e4m3fn).float() * 2).sum().backward()
    assert (x.grad == 2).all()


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_files_and_copies(kind, tmp_path):
    x = pair(kind)[0]
    for name in ("a.safetensors", "a.pt"):
        ingot.save({"x": x, "y": x[:, 1:3]}, tmp_path / name)
        read = ingot.load(tmp_path / name)
        assert read["x"].dtype is kind and (raw(read["x"]) == raw(x)).all() and ingot.equal(read["y"], x[:, 1:3])
    for made in (pickle.loads(pickle.dumps(x)), copy.deepcopy(x), ingot.from_numpy(x.numpy()), ingot.tensor(x.numpy())):
        assert made.dtype is kind and (raw(made) == raw(x)).all()


@pytest.mark.peer
@needs_torch
@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_exchange_with_torch(kind, tmp_path):
    import torch
    x = pair(kind)[0]
    seen = torch.from_dlpack(x)
    assert str(seen.dtype) == f"torch.{kind.name}" and (seen.view(torch.uint8).numpy() == raw(x)).all()
    seen.view(torch.uint8)[0, 0] = 7
    assert raw(x)[0, 0] == 7 and ingot.equal(ingot.from_dlpack(seen), x)
    torch.save({"x": seen}, tmp_path / "theirs.pt")
    assert ingot.equal(ingot.load(tmp_path / "theirs.pt")["x"], x)
    from safetensors.torch import load_file, save_file
    save_file({"x": seen.clone()}, tmp_path / "theirs.safetensors")
    assert ingot.equal(ingot.load(tmp_path / "theirs.safetensors")["x"], x)
    ingot.save({"x": x}, tmp_path / "ours.safetensors")
    assert (load_file(tmp_path / "ours.safetensors")["x"].view(torch.uint8) == seen.view(torch.uint8)).all()


@pytest.mark.skipif(importlib.util.find_spec("onnx") is None, reason="onnx is not installed")
@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_onnx_models(kind):
    w = pair(kind)[0].clone()
    model = jit.to_onnx(lambda x: x.to(kind).float() @ w.float(), (ingot.ones(3, 4),), opset=19)
    x = ingot.tensor([[1.1, -700.0, 1e6, 0.0], [2.0, 3.3, -1e-3, 7.0], [0.0, 0.2, 0.3, 0.4]])
    want, got = x.to(kind).float() @ w.float(), jit.from_onnx(model)(x)
    assert ((got == want) | (got.isnan() & want.isnan())).all()


# Products with scales.


def operands(m, k, n, kinds=KINDS[:1] * 2, rowwise=False):
    rng = np.random.default_rng(SEED)
    x, y = (ingot.tensor(rng.standard_normal(s).astype(np.float32)).to(d) for s, d in zip(((m, k), (n, k)), kinds))
    scales = [ingot.tensor(rng.uniform(0.5, 2, s if rowwise else ()).astype(np.float32)) for s in ((m, 1), (1, n))]
    return x, y.t(), *scales


PAIRS = ((KINDS[0], KINDS[0]), (KINDS[1], KINDS[0]), (KINDS[0], KINDS[1]))


@pytest.mark.peer
@needs_torch
@pytest.mark.parametrize("rowwise", [False, True])
@pytest.mark.parametrize("kinds", PAIRS, ids=str)
def test_scaled_products_are_those_of_torch(kinds, rowwise):
    import torch
    given = operands(32, 64, 48, kinds, rowwise)
    bias = ingot.linspace(-2, 2, 48)
    there = [torch.from_dlpack(t) for t in given]
    for dtype, tolerance, b in ((None, 0.26, None), (ingot.float32, 1e-5, None), (ingot.bfloat16, 8e-3, bias.bfloat16())):
        theirs = torch._scaled_mm(*there, bias=None if b is None else torch.from_dlpack(b),
                                  out_dtype=None if dtype is None else getattr(torch, dtype.name)).float().numpy()
        ours = ingot._scaled_mm(*given, bias=b, out_dtype=dtype)
        assert ours.dtype is (dtype or kinds[0])
        np.testing.assert_allclose(ours.float().numpy(), theirs, rtol=tolerance, atol=tolerance)
        again = traced(lambda *g, b=b, d=dtype: ingot._scaled_mm(*g, bias=b, out_dtype=d), *given)
        assert (again.float() == ours.float()).all()


@pytest.mark.parametrize("arch", [80, 90])
@pytest.mark.parametrize("rowwise", [False, True])
@pytest.mark.parametrize("kinds", PAIRS, ids=str)
def test_scaled_products_on_a_device(kinds, rowwise, arch):
    """One launch, eager and traced: by the chip's own float8, or with factors widened where they are loaded."""
    given = operands(20, 70, 33, kinds, rowwise)
    for dtype in (ingot.float32, ingot.bfloat16, ingot.float8_e4m3fn):
        want = ingot._scaled_mm(*given, out_dtype=dtype).float().numpy()
        with mock_cuda.installed(arch=arch) as cuda:
            there = [t.cuda() for t in given]

            def f(*g, dtype=dtype):
                return ingot._scaled_mm(*g, out_dtype=dtype)

            run = jit.trace(f)
            run(*there)
            for made in (f, run):
                before = len(cuda.launches)
                got = made(*there).cpu()
                assert len(cuda.launches) == before + 1, [x["name"] for x in cuda.launches[before:]]
                np.testing.assert_allclose(got.float().numpy(), want, rtol=1e-5 if dtype is ingot.float32 else 0.13, atol=1e-5)


@pytest.mark.skipif(importlib.util.find_spec("triton") is None, reason="Triton is not installed")
@pytest.mark.parametrize("precision", ["ieee", FAST])
@pytest.mark.parametrize("strategy", ["", *matmul_hopper.TILES])
@pytest.mark.parametrize("arch", [89, 90])
def test_products_compile(arch, strategy, precision):
    """By the chip's own instructions, without spills: the tile that is taken without trying, and one of each strategy. (What
    sums take registers for twice, or results shared memory, wider tiles are for the tuner to leave out.)"""
    if strategy and arch != 90:
        pytest.skip("there are no bulk copies")
    kinds, units = Kinds(*KINDS[::-1], dt.float32), ((False, True), (True, False))
    found = [t for t in matmul.candidates(KINDS[0], 2048, 2048, 2048, True, SHARED[arch], arch == 90) if t.strategy == strategy]
    chosen = next(t for t in found if t.m * t.n <= 128 * 128)
    how = kinds, precision, *units
    source = matmul_hopper.source(*how, matmul.CONSTANTS, strategy) if strategy else matmul.source(*how)
    v = variant(configs.Launch(source, chosen.constants, chosen.warps, (1, 1, 1), stages=chosen.stages),
                {p.name: 2048 for p in source.parameters if p.kind == SIZE}, arch)
    made = compiler._run_triton(v)
    binary, ptx = compiler._binary(v, made), made.asm["ptx"]
    assert not binary.spills and binary.shared <= SHARED[arch]
    assert ("e5m2.e4m3" in ptx) and ("wgmma" if arch == 90 else "mma.sync") in ptx


@pytest.mark.skipif(importlib.util.find_spec("triton") is None, reason="Triton is not installed")
@pytest.mark.parametrize("arch", [80, 90])
@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_casts_compile(kind, arch):
    k = KernelBuilder("there_and_back")
    k.parallel("i", "n")
    x, y, z = k.input("x", dt.bfloat16, (1,)), k.output("y", kind, (1,)), k.output("z", dt.bfloat16, (1,))
    with k.point():
        small = k.load(x).to(kind)
        k.store(small, y)
        k.store(small.to(dt.bfloat16), z)
    for one in configs.launches(k.build(), {"n": 1 << 20}):
        built(one, {"n": 1 << 20}, arch)


def test_scaled_products_say_what_is_wrong():
    x, y, a, b = operands(8, 16, 4)
    with pytest.raises(ArgumentError, match="scale_a must have one element, or one for each of 8 rows"):
        ingot._scaled_mm(x, y, ingot.ones(3), b)
    with pytest.raises(DTypeError, match="float32"):
        ingot._scaled_mm(x, y, a.double(), b)
    with pytest.raises(DTypeError, match="float8_e4m3fn and float8_e5m2"):
        ingot._scaled_mm(x.float(), y, a, b)
    with pytest.raises(ShapeError, match="fit together"):
        ingot._scaled_mm(x, y.t(), a, b)
