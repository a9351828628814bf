"""Models in files for GPUs: planned and compiled without one, run on a mock device without any compiler."""

import contextlib
import importlib.util
import json
import os
import random
import struct
import subprocess
import sys
import types

import numpy as np
import pytest

import ingot
import mock_cuda
from exported_models import MODELS, made, mlp
from ingot import jit, linalg, nn
from ingot.ir.errors import ArgumentError, DeviceError, DimError, FileError, LinAlgError
from ingot.ir.target import host
from ingot.jit import ExportError
from ingot.jit.exporting.capture import treespec
from ingot.jit.exporting.file import archive, cubins, cuda_model, writer
from ingot.runtime.cuda.compiler import compile as compiler
from ingot.runtime.cuda.offline import ready

REAL = ingot.cuda.is_available()
pytestmark = pytest.mark.skipif(REAL, reason="the mock takes the place of the driver")
needs_triton = pytest.mark.skipif(importlib.util.find_spec("triton") is None, reason="no Triton here")


@pytest.fixture
def planned_here(monkeypatch):
    """GPU code of exports is made in this process, by what stands for Triton on the mock device."""
    run = writer.subprocess.run

    def instead(words, **options):
        if not words[2].endswith(".cubins"):
            return run(words, **options)
        with mock_cuda.installed():
            cubins.main(words[3])
        return types.SimpleNamespace(returncode=0, stderr="")

    monkeypatch.setattr(writer.subprocess, "run", instead)


@contextlib.contextmanager
def device_alone():
    """A mock device, and nothing that compiles for it."""
    def refuse(variant):
        raise DeviceError(f"kernel {variant.source.name} was to be compiled")

    with mock_cuda.installed() as mock:
        compiler._ready.clear()
        before, compiler.build = compiler.build, refuse
        try:
            yield mock
        finally:
            compiler.build = before


def leaves(x):
    tensors = []
    treespec.describe(x, tensors, [])
    return [t.detach().cpu().numpy() if isinstance(t, ingot.Tensor) else np.asarray(t) for t in tensors]


def agrees(got, want):
    for a, b in zip(leaves(got), leaves(want)):
        assert a.shape == b.shape and a.dtype == b.dtype
        assert writer.agree(b, a), f"differs by {np.abs(a.astype(float) - b.astype(float)).max()}"


def on_gpu(x):
    tensors = []
    described = treespec.describe(x, tensors, [])
    return treespec.rebuild(described, [t.cuda() for t in tensors])


def test_a_file_runs_on_a_device_without_a_compiler(planned_here, tmp_path):
    fn, x = mlp(), ingot.randn(4, 6)
    jit.export(fn, x, tmp_path / "m.ingot", dynamic={"input": {0: "batch"}}, targets=["native", "sm_90"])
    more = ingot.randn(8, 6)
    with ingot.no_grad():
        want, wanted = fn(x).numpy(), fn(more).numpy()
    with device_alone() as mock:
        model = jit.load(tmp_path / "m.ingot", device="cuda")
        assert all(t.device.type == "cuda" for t in model.weights.values())
        there = model(x.cuda())
        assert there.device == ingot.device("cuda:0")
        np.testing.assert_allclose(there.cpu().numpy(), want, rtol=1e-5, atol=1e-6)
        assert isinstance(model(x.numpy()), np.ndarray)
        np.testing.assert_allclose(model(x.numpy()), want, rtol=1e-5, atol=1e-6)
        assert mock.launches and type(model._bound[(4, 6),].compiled) is ready.ReadyProgram
        np.testing.assert_allclose(model(more.numpy()), wanted, rtol=1e-5, atol=1e-6)       # planned, with code from the file
        odd = ingot.randn(25, 6)[1:].cuda()[:, :6]
        np.testing.assert_allclose(model(odd[:4]).cpu().numpy(), fn(odd[:4].cpu()).detach().numpy(), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("model", MODELS, ids=lambda m: m.__name__)
def test_models_run_on_a_device(model, planned_here, tmp_path):
    fn, args, dynamic = made(model)
    jit.export(fn, args, tmp_path / "m.ingot", dynamic=dynamic, targets=["sm_90"])
    with ingot.no_grad():
        want = fn(*args)
    with device_alone():
        loaded = jit.load(tmp_path / "m.ingot", device="cuda")
        agrees(loaded(*on_gpu(args)), want)
        agrees(loaded(*on_gpu(args)), want)
        assert all(type(b.compiled) is ready.ReadyProgram for b in loaded._bound.values())


def test_index_tables_are_in_the_file(planned_here, tmp_path):
    """Of borders, interpolation and bins."""
    fn = nn.Sequential(nn.ReflectionPad2d(1), nn.Conv2d(2, 3, 3), nn.Upsample(scale_factor=2, mode="bilinear"),
                       nn.AdaptiveAvgPool2d(3), nn.AdaptiveMaxPool2d(2)).eval()
    x = ingot.randn(1, 2, 5, 6)
    jit.export(fn, x, tmp_path / "m.ingot", targets=["sm_90"])
    with ingot.no_grad():
        want = fn(x)
    with device_alone():
        loaded = jit.load(tmp_path / "m.ingot", device="cuda")
        for _ in range(2):
            agrees(loaded(x.cuda()), want)
        assert all(type(b.compiled) is ready.ReadyProgram for b in loaded._bound.values())


def test_tables_of_transforms_are_in_the_file(planned_here, tmp_path):
    fn, x = jit.trace(lambda x: ingot.fft.irfft(ingot.fft.rfft(x) * 2)), ingot.randn(3, 24)
    jit.export(fn, x, tmp_path / "m.ingot", targets=["sm_90"])
    want = fn(x)
    with device_alone():
        loaded = jit.load(tmp_path / "m.ingot", device="cuda")
        for _ in range(2):
            agrees(loaded(x.cuda()), want)
        assert all(type(b.compiled) is ready.ReadyProgram for b in loaded._bound.values())


class Lookup(nn.Module):
    """Rows of a table, which are checked on the device."""

    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(9, 4)

    def forward(self, words):
        return self.table(words).exp().sum(-1)


def test_launches_are_those_of_the_graph_to_the_byte(planned_here, tmp_path):
    fn, x = mlp(), ingot.randn(4, 6)
    jit.export(fn, x, tmp_path / "m.ingot", targets=["sm_90"])
    with mock_cuda.installed() as mock:
        model = jit.load(tmp_path / "m.ingot", device="cuda")
        given = x.cuda()._a
        mock.launches.clear()
        model.run([given])
        found = list(mock.launches)
        graph, weights = cuda_model.graph_for(model, {})
        mock.launches.clear()
        graph.run([given, *[model._arrays[i] for i in weights]])
        assert [e["name"] for e in found] == [e["name"] for e in mock.launches] and found
        known = {given.pointer, *[a.pointer for a in model._arrays]}
        for ours, theirs in zip(found, mock.launches):
            assert {k: ours[k] for k in ("grid", "block", "shared", "stream")} == {
                k: theirs[k] for k in ("grid", "block", "shared", "stream")}
            for a, b in zip(ours["values"], theirs["values"]):
                assert a == b or (a > 1 << 32 and b > 1 << 32 and not {a, b} & known), "only inner values lie elsewhere"


def test_a_model_on_a_device_describes_itself(planned_here, tmp_path):
    fn, x = mlp(), ingot.randn(4, 6)
    jit.export(fn, x, tmp_path / "m.ingot", dynamic={"input": {0: "batch"}}, targets=["native", "sm_90"])
    with device_alone():
        model = jit.load(tmp_path / "m.ingot", device="cuda")
        text = model.explain({"batch": 4})
        assert "matmul" in text and "f32[4,3]" in text, text
        assert model.targets[1] == "sm_90" and "f32[batch, 6]" in repr(model)
        if host().system == "linux":
            assert jit.to_c(model, x, tmp_path / "c").shared.endswith("libc.so"), "a C library is for the CPU, wherever it is"


def test_an_index_out_of_range_is_an_error(planned_here, tmp_path):
    ingot.manual_seed(0)
    fn, words = Lookup(), ingot.randint(0, 9, (3, 5))
    jit.export(fn, words, tmp_path / "m.ingot", targets=["sm_90"])
    want = fn(words).detach().numpy()
    with device_alone():
        model = jit.load(tmp_path / "m.ingot", device="cuda")
        np.testing.assert_allclose(model(words.numpy()), want, rtol=1e-5)
        with pytest.raises(DimError, match="embedding: an index was out of range"):
            model(words.numpy() + 9)
        np.testing.assert_allclose(model(words.numpy()), want, rtol=1e-5)


def test_a_matrix_without_factors_is_an_error(planned_here, tmp_path):
    def fn(x, b):
        return linalg.solve_triangular(linalg.cholesky(x), b, upper=False), linalg.inv(x + 1)

    def matrix(n):
        return ingot.tensor(np.random.default_rng(n).random((n, n)) / n + 2 * np.eye(n))

    x, b = matrix(70), ingot.ones(70, 2, dtype=ingot.float64)
    jit.export(fn, (x, b), tmp_path / "m.ingot", targets=["sm_90"])
    with device_alone():
        model = jit.load(tmp_path / "m.ingot", device="cuda")
        agrees(model(x.numpy(), b.numpy()), fn(x, b))
        with pytest.raises(LinAlgError, match="cholesky: a matrix is singular or not positive definite, on cuda:0"):
            model(-x.numpy(), b.numpy())
        agrees(model(x.numpy(), b.numpy()), fn(x, b))


def test_constants_and_results_that_are_inputs(planned_here, tmp_path):
    table = ingot.arange(6, dtype=ingot.float32)

    def fn(x):
        y = (x + table).sin()
        return {"same": x, "two": (y, y[1:3]), "fill": ingot.zeros(2, 3) + 0.5}

    x = ingot.randn(4, 6)
    jit.export(fn, x, tmp_path / "m.ingot", targets=["sm_90"])
    with device_alone():
        model = jit.load(tmp_path / "m.ingot", device="cuda")
        agrees(model(x.numpy()), fn(x))


def test_tensors_must_be_where_the_model_is(planned_here, tmp_path):
    fn, x = mlp(), ingot.randn(4, 6)
    jit.export(fn, x, tmp_path / "m.ingot", targets=["native", "sm_90"])
    with mock_cuda.installed(devices=2):
        model = jit.load(tmp_path / "m.ingot", device="cuda:1")
        assert model(x.to("cuda:1")).device == ingot.device("cuda:1")
        with pytest.raises(DeviceError, match=r"is on cuda:1, the tensor for input.* on cpu"):
            model(x)
        with pytest.raises(DeviceError, match=r"is on cuda:1, input .* on cuda:0"):
            model(x.to("cuda:0"))
        with pytest.raises(TypeError, match="not in host memory"):
            jit.load(tmp_path / "m.ingot")(x.to("cuda:0"))


def test_without_a_device_or_its_code(planned_here, tmp_path):
    fn, x = mlp(), ingot.randn(4, 6)
    jit.export(fn, x, tmp_path / "m.ingot", targets=["sm_80"])
    with pytest.raises(DeviceError, match="not available here"):
        jit.load(tmp_path / "m.ingot", device="cuda")
    with device_alone(), pytest.raises(DeviceError, match="was to be compiled"):
        jit.load(tmp_path / "m.ingot", device="cuda")(x.numpy())
    with mock_cuda.installed():
        for objects in (True, False):
            agrees(jit.load(tmp_path / "m.ingot", device="cuda", objects=objects)(x.numpy()), fn(x))


def test_operators_without_device_code_are_named(planned_here, tmp_path):
    with pytest.raises(ExportError, match=r"svd.*test_cuda_model.py:\d+"):
        jit.export(lambda x: ingot.linalg.svdvals(x) * 2, ingot.randn(5, 5), tmp_path / "m.ingot", targets=["sm_90"])
    with pytest.raises(ArgumentError, match="GPUs are sm_75"):
        jit.export(mlp(), ingot.randn(4, 6), tmp_path / "m.ingot", targets=["sm_11"])
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name, capability, runs", [
    ("sm_80", (8, 0), True), ("sm_80", (8, 9), True), ("sm_89", (8, 0), False), ("sm_80", (9, 0), False),
    ("sm_90", (9, 0), True), ("sm_100", (10, 0), True), ("sm_100", (10, 3), False), ("x86-64-v3", (8, 0), False)])
def test_choice_of_code_for_a_device(name, capability, runs):
    assert cuda_model.fits(name, capability) is runs


def test_damaged_programs_are_errors(planned_here, tmp_path):
    jit.export(mlp(), ingot.randn(4, 6), tmp_path / "m.ingot", targets=["sm_90"])
    with device_alone():
        reader = archive.Reader(str(tmp_path / "m.ingot"))
        index, blob = reader.json("objects/sm_90.json"), reader.member("objects/sm_90.bin")
        entry = index["entries"][0]
        for seed in range(300):
            r = random.Random(seed)
            broken = json.loads(json.dumps(entry))
            place = r.choice(broken["commands"])
            number = r.randrange(1, len(place))
            place[number] = r.choice([-1, 1 << 50, None, "launch", [], [[0, 99, 0]], [[0, 0, 1 << 44]], [[99, 0, 0]], "00"])
            try:
                ready.ReadyProgram(broken, blob[:0], ready.unpacked(blob, index["binaries"]), [96, 64, 384, 192, 12], 0)
            except (FileError, TypeError, ValueError, IndexError, KeyError, struct.error, OverflowError):
                continue        # what `load` makes one error of
            assert place[number] == [], f"seed {seed}: {place} was taken"


@needs_triton
@pytest.mark.slow
def test_real_machine_code_for_two_chips(tmp_path):
    fn, x = mlp(), ingot.randn(4, 6)
    jit.export(fn, x, tmp_path / "m.ingot", targets=["sm_80", "sm_90"])
    for arch in (80, 90):
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
        words = [sys.executable, "-c", LAUNCHES, str(tmp_path / "m.ingot"), str(arch)]
        ran = subprocess.run(words, capture_output=True, text=True, env=environment)
        assert ran.returncode == 0, ran.stderr
        _, launches, *machine = ran.stdout.split()
        assert int(launches) >= 1 and machine == ["machine", "190"], ran.stdout


LAUNCHES = """
import sys
for name in ("triton", "llvmlite", "networkx"):
    sys.modules[name] = None
import numpy as np, struct
from ingot import jit
from ingot.runtime.cuda.offline.planning import Planner

class Device(Planner):
    launched, next = [], 1 << 40

    def cuMemAlloc_v2(self, out, size):
        out._obj.value, self.next = self.next, self.next + size
        return 0

    def cuLaunchKernelEx(self, config, function, parameters, extra):
        self.launched.append(self.modules[function])
        return 0

    cuMemcpyHtoDAsync_v2 = cuMemcpyDtoDAsync_v2 = cuMemsetD8Async = cuMemsetD32Async = lambda *args: 0

with Device(int(sys.argv[2])) as device:
    model = jit.load(sys.argv[1], device="cuda")
    model.run([np.zeros((4, 6), np.float32)])
    made = device.launched
    print("launches", len(made), "machine", *{struct.unpack_from("<H", code, 18)[0] for code in made})
"""
