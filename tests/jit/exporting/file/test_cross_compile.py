"""Files with code for other machines: for lesser ones of this kind it runs here, for AArch64 it is complete and loads without
any compiler."""

import os
import subprocess
import sys

import numpy as np
import pytest

import ingot
from exported_models import mlp, quiet
from ingot import jit, nn
from ingot.ir.errors import ArgumentError, DeviceError
from ingot.ir.target import LEVELS, cpu, host, supports

pytestmark = pytest.mark.skipif(host().arch != "x86_64", reason="the other machine of these tests is AArch64")


def cnn(seed=0):
    ingot.manual_seed(seed)
    return nn.Sequential(nn.Conv2d(3, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
                         nn.Linear(64, 4), nn.Softmax(-1)).eval()


class Words(nn.Module):
    """Lookups and attention."""

    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(11, 16)
        self.attention = nn.MultiheadAttention(16, 2, batch_first=True)

    def forward(self, words):
        x = self.table(words)
        return self.attention(x, x, x, need_weights=False)[0]


def words():
    ingot.manual_seed(0)
    return Words().eval()


CASES = {"mlp": (mlp, lambda: ingot.randn(4, 6), "input"), "cnn": (cnn, lambda: ingot.randn(2, 3, 4, 4), "input"),
         "words": (words, lambda: ingot.randint(0, 11, (2, 7)), "words")}

# Takes itself for an AArch64 machine, where objects are put together but nothing is run.
ELSEWHERE = """
import sys
for name in ("llvmlite", "networkx", "triton"):
    sys.modules[name] = None
import ctypes
import numpy as np
from ingot.ir import target
target.assume(target.cpu("aarch64"))
from ingot.runtime.cpu.compiler import compile, elf; from ingot.runtime.cpu.calls import pool
from ingot.runtime.cpu.compiler.relocations import AARCH64
outside, base, made = set(), [1 << 32], [0]

def load(data, resolve):
    def note(name):
        outside.add(name)
        return 1 << 40
    image = elf.Image(elf.Object(bytes(data), AARCH64))
    image.build(base[0], note)
    symbols = enumerate(image.source.symbols)
    found = {s.name: image.address(n, base[0], note) for n, s in symbols if s.section and s.binding == 1}
    base[0] += image.bytes
    made[0] += 1
    return found

elf.load = load
from ingot.jit.exporting.file import loader as loaded
from ingot.jit.exporting.file.image import Ready
model = loaded.load(sys.argv[1])
assert model.code.name == "aarch64", model.code
pool.compile_code()
for n in map(int, sys.argv[2].split(",")):
    arrays = [np.zeros([n if type(s) is str else s for s in spec.shape], spec.dtype.np) for spec in model.inputs]
    entry = model.code.ready(tuple(a.shape for a in arrays))
    if entry is None:
        print("planned", model.planned({name: n for name in model.signature.dims})[0].is_native)
        continue
    derived = entry.derived.writes if entry.derived else ()
    dtypes = [*[model._arrays[i].dtype for i in entry.weights], *[d.np for d, _ in derived]]
    entry.callable([*[a.dtype for a in arrays], *dtypes], None)
    if entry.derived:
        Ready(entry.derived, entry.objects, [model._arrays[i].dtype for i in entry.sources], None)
    print("ready")
for name in outside - set(compile._State.providers):
    assert any(hasattr(library, name) for library in (ctypes.pythonapi, ctypes.CDLL(None))), name
assert made[0] >= 4
"""


@pytest.mark.parametrize("name", [pytest.param(name, marks=pytest.mark.slow if name == "mlp" else ()) for name in CASES])
def test_code_for_aarch64_is_complete(name, tmp_path):
    make, inputs, argument = CASES[name]
    fn, x = make(), inputs()
    model = jit.export(fn, x, tmp_path / "m.ingot", dynamic={argument: {0: "batch"}}, targets=["native", "aarch64"])
    assert model.targets[1:] == ("aarch64",)
    np.testing.assert_allclose(model(x).numpy(), quiet(fn, x).numpy(), rtol=1e-4, atol=1e-6)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p), "INGOT_NUM_THREADS": "2",
                   "INGOT_CACHE_DIR": str(tmp_path / "cache")}
    environment.pop("INGOT_CPU_LEVEL", None)
    ran = subprocess.run([sys.executable, "-c", ELSEWHERE, str(model.path), f"{len(x)},1,8"], env=environment,
                         capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.split() == ["ready", "ready", "planned", "True"]


@pytest.mark.slow
def test_every_level_in_one_file(tmp_path):
    fn, x = mlp(), ingot.randn(4, 6)
    messages = []
    model = jit.export(fn, x, tmp_path / "m.ingot", targets=["native", *LEVELS], progress=messages.append)
    assert set(model.targets) == {model.code.name, *LEVELS}
    checked = [line for line in messages if line.startswith("checking")]
    here = {model.code.name, *[level for level in LEVELS if supports(cpu(level))]}
    assert len(checked) == len(here) and "compiling for aarch64" in messages
    for level in LEVELS:
        if supports(cpu(level)):
            environment = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p), "INGOT_CPU_LEVEL": level,
                           "INGOT_CACHE_DIR": str(tmp_path / level)}
            ran = subprocess.run([sys.executable, "-c", RUN, str(model.path), level], env=environment, capture_output=True,
                                 text=True)
            assert ran.returncode == 0, ran.stderr


RUN = """
import sys
sys.modules["llvmlite"] = None
import numpy as np
from ingot import jit
model = jit.load(sys.argv[1])
assert model.code.name == sys.argv[2], model.code.name
assert model(np.ones((4, 6), np.float32)).shape == (4, 3)
"""


def test_only_code_for_elsewhere_is_checked_here_first(tmp_path):
    fn, x = mlp(), ingot.randn(4, 6)
    messages = []
    model = jit.export(fn, x, tmp_path / "m.ingot", targets="aarch64", progress=messages.append)
    assert messages[-2:] == ["checking and compiling for this machine", "compiling for aarch64"] and model.code is None
    assert (model(x) == quiet(fn, x)).all()


@pytest.mark.parametrize("name", ["sparc", "", "sm_", "SM_90", "sm_9000", None, 3])
def test_targets_that_do_not_exist(name, tmp_path):
    with pytest.raises((ArgumentError, DeviceError), match="no target"):
        jit.export(mlp(), ingot.randn(4, 6), tmp_path / "m.ingot", targets=[name])
    assert not list(tmp_path.iterdir())
