"""The `.ingot` file: what is checked at export, calls and their errors, places in the file system, threads."""

import os
import random
import re
import signal
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

import ingot
from exported_models import mlp, quiet, small_file
from ingot import jit, nn
from ingot.ir.errors import ArgumentError, DTypeError, ShapeError
from ingot.ir.graph.printer import format_line
from ingot.ir.target import host
from ingot.jit import ExportError


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    """(path, module, example) of a small model with a free batch."""
    return small_file(tmp_path_factory.mktemp("model"))


# Arguments and results.


def test_the_signature_says_names_types_and_sizes(exported):
    model = jit.load(exported[0])
    assert str(model.signature) == "(input: f32[batch, 6]) -> (output: f32[batch, 3])"
    assert [s.name for s in model.inputs] == ["input"] and model.signature.dims == ("batch",)
    assert set(model.weights) == {"0.weight", "0.bias", "2.weight", "2.bias"}
    assert format_line(model.graph.nodes[0].line, full_paths=True) in model.source
    assert {line.partition(":")[0] for line in model.source} == {"exported_models.py"}


def test_tensors_give_tensors_and_arrays_give_arrays(exported):
    path, fn, x = exported
    model = jit.load(path)
    want = quiet(fn, x).numpy()
    assert isinstance(model(x), ingot.Tensor) and isinstance(model(x.numpy()), np.ndarray)
    assert (model(x).numpy() == want).all() and (model(x.numpy()) == want).all()
    column_major = np.asfortranarray(x.numpy())
    assert (model(column_major) == want).all()


@pytest.mark.parametrize("args, error, words", [
    ((np.zeros((4, 7), np.float32),), ShapeError, "dim 1 has size 7"),
    ((np.zeros((4, 6)),), DTypeError, "float64"),
    ((np.zeros(6, np.float32),), ShapeError, "1 dims"),
    ((), DTypeError, "differ in number"),
    ((np.zeros((4, 6), np.float32), 1), DTypeError, "differ in number"),
    (([0.0],), DTypeError, "differ in number"),
])
def test_wrong_arguments_are_named(exported, args, error, words):
    with pytest.raises(error, match=words):
        jit.load(exported[0])(*args)


def test_structures_are_restored(tmp_path):
    def fn(pair, *, scale=2.0, more=None):
        return {"sum": pair[0] + pair[1]["b"], "list": [pair[0] * scale, 7, None], "more": (more["x"].sum(),)}

    a, b, c = ingot.randn(3), ingot.randn(3), ingot.randn(2)
    arguments = {"pair": (a, {"b": b}), "scale": 3.0, "more": {"x": c}}
    model = jit.export(fn, arguments, tmp_path / "m.ingot")
    assert [s.name for s in model.inputs] == ["pair_0", "pair_1_b", "more_x"]
    assert [s.name for s in model.outputs] == ["sum", "list_0", "more_0"]
    found, want = model(**arguments), fn(**arguments)
    assert found["list"][1:] == [7, None]
    assert (found["list"][0] == want["list"][0]).all() and (found["more"][0] == want["more"][0]).all()
    with pytest.raises(DTypeError, match="plain values"):
        model(**{**arguments, "scale": 4.0})


def test_arguments_by_position_and_by_name(tmp_path):
    def fn(a, b):
        return a - b

    a, b = ingot.randn(3), ingot.randn(3)
    for examples in ((a, b), {"a": a, "b": b}):
        model = jit.export(fn, examples, tmp_path / "m.ingot", targets=())
        for found in (model(a, b), model(a=a, b=b), model(b=b, a=a), model(a, b=b)):
            assert (found == a - b).all()
        with pytest.raises(DTypeError):
            model(a, a=b)


def test_integers_bools_and_low_precision(tmp_path):
    def fn(i, b, h):
        return i * 2 + b.to(ingot.int64), ~b, (h * 3).to(ingot.bfloat16)

    args = (ingot.arange(6).reshape(2, 3), ingot.tensor([[True, False, True]]), ingot.ones(2, 3, dtype=ingot.bfloat16))
    model = jit.export(fn, args, tmp_path / "m.ingot")
    for got, want in zip(model(*args), fn(*args)):
        assert got.dtype is want.dtype and (got == want).all()


def test_without_freeze_the_weights_are_those_of_the_module(tmp_path):
    model = nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2)).eval()
    x = ingot.randn(1, 1, 5, 5)
    frozen, free = (jit.export(model, x, tmp_path / f"{f}.ingot", freeze=f, targets=()) for f in (True, False))
    assert "1.running_var" in free.weights and "1.running_var" not in frozen.weights
    assert any(name.startswith("folded") for name in frozen.weights)
    assert not any(n.op.name == "batch_norm" for n in frozen.graph.nodes)
    for loaded in (frozen, free):
        np.testing.assert_allclose(loaded(x).numpy(), quiet(model, x).numpy(), rtol=1e-5, atol=1e-6)


# Functions that cannot be exported.


class Calls:
    """Counts in Python, which no recording sees."""

    def __init__(self):
        self.calls = 0

    def __call__(self, x):
        self.calls += 1
        return x * self.calls


class Counts(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("calls", ingot.zeros(1))

    def forward(self, x):
        self.calls += 1
        return x * 2


@pytest.mark.parametrize("fn, dynamic, words", [
    (lambda x: x * float(x.sum()), None, r"reads a value that depends on the arguments.*test_writer.py:\d+.*where"),
    (lambda x: x if x.sum() > 0 else -x, None, r"bool\(\) reads"),
    (nn.Sequential(nn.Linear(6, 6), nn.Dropout(0.5)), None, r"random numbers.*eval\(\)"),
    (nn.BatchNorm1d(6), None, r"writes to .*eval\(\)"),
    (Counts(), None, "writes to calls"), (Calls(), None, r"writes to self\.calls \(in .*test_writer.py:\d+"),
    (lambda x: x.add_(1), None, r"writes to an argument, a tensor of float32\[4, 6\] at .*test_writer.py:\d+.*x.clone\(\)"),
    (lambda x: x[1:].zero_() + x.sum(), None, "writes to an argument"),
    (lambda x: 3, None, "no tensor"),
    (lambda x: x.reshape(4, 6) + 1, {"x": {0: "batch"}}, r"batch cannot change.*test_writer.py:\d+"),
    (lambda x: (x * 2, x.shape[0]), {"x": {0: "batch"}}, "returns a size"),
    (lambda x: (print(x), x)[1], None, r"prints at .*test_writer.py:\d+"),
    (lambda x: x.numpy() * 2, None, "reads a value"), (lambda x: (x, np.ones(3)), None, "numpy arrays"),
    (lambda x: sum(x[i] for i in range(len(x))), {"x": {0: "batch"}}, "batch"),
])
def test_refusals_name_the_line_and_the_way_out(fn, dynamic, words, tmp_path):
    with pytest.raises(ExportError, match=words):
        jit.export(fn, ingot.randn(4, 6), tmp_path / "m.ingot", dynamic=dynamic)
    assert not list(tmp_path.iterdir()), "nothing is left behind"


@pytest.mark.parametrize("options, words", [
    ({"dynamic": {"y": {0: "batch"}}}, "the inputs are called 'x'"), ({"dynamic": {"x": {5: "batch"}}}, "has 2 dims"),
    ({"dynamic": {"x": {0: "max"}}}, "identifier"), ({"targets": ("z80",)}, "no target"),
    ({"targets": ("sm_1",)}, "no target"), ({"targets": "sm_12"}, "GPUs are"),
])
def test_wrong_options_are_named(options, words, tmp_path):
    with pytest.raises(ArgumentError, match=words):
        jit.export(lambda x: x * 2, ingot.randn(4, 6), tmp_path / "m.ingot", **options)


def test_a_condition_on_sizes_is_stored(tmp_path):
    def fn(x):
        if x.shape[0] > 10:
            raise ValueError("too long")
        return x * 2

    model = jit.export(fn, ingot.randn(4, 6), tmp_path / "m.ingot", dynamic={"x": {0: "n"}})
    assert model(ingot.ones(10, 6)).shape == (10, 6) and model(ingot.ones(1, 6)).shape == (1, 6)
    with pytest.raises(ShapeError, match=r"n = 11.*test_writer.py:\d+"):
        model(ingot.ones(11, 6))


def test_two_free_sizes_that_are_equal_or_not(tmp_path):
    def fn(a, b):
        return ingot.cat([a, b]), a @ b.t()

    model = jit.export(fn, (ingot.randn(4, 2), ingot.randn(4, 2)), tmp_path / "m.ingot", dynamic={"a": {0: "n"}, "b": {0: "m"}})
    assert str(model.signature).endswith("(output_0: f32[m+n, 2], output_1: f32[n, m])")
    for n, m in ((4, 4), (4, 7), (7, 4), (1, 5), (5, 1), (1, 1), (2, 3)):
        a, b = ingot.randn(n, 2), ingot.randn(m, 2)
        for got, want in zip(model(a, b), fn(a, b)):
            np.testing.assert_allclose(got.numpy(), want.numpy(), rtol=1e-5, atol=1e-6, err_msg=f"n {n}, m {m}")


def test_sizes_that_the_code_makes_equal(tmp_path):
    model = jit.export(lambda a, b: a + b, (ingot.ones(4, 2), ingot.ones(4, 2)), tmp_path / "m.ingot",
                       dynamic={"a": {0: "n"}, "b": {0: "m"}})
    assert model(ingot.ones(9, 2), ingot.ones(9, 2)).shape == (9, 2)
    for n, m in ((3, 4), (1, 4)):
        with pytest.raises(ShapeError, match=f"n = {n}"):
            model(ingot.ones(n, 2), ingot.ones(m, 2))


def test_names_in_any_script(tmp_path):
    fn = eval("lambda größe, 数: größe * 数")
    model = jit.export(fn, {"größe": ingot.ones(3), "数": ingot.ones(3)}, tmp_path / "m.ingot",
                       dynamic={"größe": {0: "länge"}, "数": {0: "länge"}})
    assert str(model.signature) == "(größe: f32[länge], 数: f32[länge]) -> (output: f32[länge])"
    assert model(ingot.ones(5), 数=ingot.ones(5)).shape == (5,)


# Threads and processes.


def test_many_threads_and_sizes_at_once(exported):
    path, fn, _ = exported
    model, bad = jit.load(path), []
    inputs = [ingot.randn(n, 6) for n in (1, 2, 3, 5, 8, 13)]
    wanted = [quiet(fn, x).numpy() for x in inputs]

    def work(seed):
        order = random.Random(seed)
        for _ in range(40):
            i = order.randrange(len(inputs))
            if not np.allclose(model(inputs[i].numpy()), wanted[i], atol=1e-6):
                bad.append(i)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not bad


def test_a_call_waits_for_no_lock(exported):
    """Sizes that were called before run while another thread holds the lock under which new ones are planned."""
    path, fn, x = exported
    model, got = jit.load(path), []
    model(x)
    thread = threading.Thread(target=lambda: got.append(model(x)), daemon=True)
    with model._lock:
        thread.start()
        thread.join(timeout=30)
        assert got, "a call waits for the lock"
    assert (got[0] == quiet(fn, x)).all()


NUMPY_ONLY = """
import sys
class Block:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in ("llvmlite", "networkx", "triton", "ml_dtypes", "rich", "safetensors", "onnx"):
            raise ImportError(name + " is blocked")
sys.meta_path.insert(0, Block())
import numpy as np, ingot
model = ingot.jit.load(sys.argv[1])
data = np.load(sys.argv[2])
for name in data.files:
    np.save(sys.argv[2] + "." + name + ".npy", model(data[name]))
"""


def run_numpy_only(path, inputs, tmp_path, **more):
    data = tmp_path / "in.npz"
    np.savez(data, **{str(i): x for i, x in enumerate(inputs)})
    environment = {**os.environ, "INGOT_CACHE_DIR": str(tmp_path / "no-cache"), **more}
    words = [sys.executable, "-c", NUMPY_ONLY, str(path), str(data)]
    return subprocess.Popen(words, env=environment, stderr=subprocess.PIPE, text=True), data


def test_a_file_runs_where_only_numpy_is_installed_in_two_processes_at_once(exported, tmp_path):
    path, fn, _ = exported
    inputs = [ingot.randn(n, 6).numpy() for n in (4, 1, 7, 40)]
    folders = [tmp_path / "a", tmp_path / "b"]
    for folder in folders:
        folder.mkdir()
    started = [run_numpy_only(path, inputs, folder) for folder in folders]
    for process, data in started:
        _, errors = process.communicate(timeout=60)
        assert process.returncode == 0, errors
        for i, x in enumerate(inputs):
            np.testing.assert_allclose(np.load(f"{data}.{i}.npy"), quiet(fn, ingot.tensor(x)).numpy(), atol=1e-6)


@pytest.mark.skipif(host().level not in ("x86-64-v3", "x86-64-v4"), reason="needs a machine with levels below its own")
def test_code_for_several_levels_in_one_file(tmp_path):
    fn, x = mlp(), ingot.randn(4, 6)
    model = jit.export(fn, x, tmp_path / "m.ingot", targets=("native", "x86-64-v3", "x86-64-v3"))
    assert len(model.targets) == (2 if host().level == "x86-64-v4" or host().features else 1)
    for level, code in ((os.environ.get("INGOT_CPU_LEVEL", ""), 0), ("x86-64-v3", 0), ("x86-64", 1)):
        process, data = run_numpy_only(tmp_path / "m.ingot", [x.numpy()], tmp_path, INGOT_CPU_LEVEL=level)
        _, errors = process.communicate(timeout=60)
        assert process.returncode == code, errors
        if code:
            assert "it has ready kernels for" in errors and "this one is cpu:x86-64" in errors
        else:
            np.testing.assert_allclose(np.load(f"{data}.0.npy"), quiet(fn, x).numpy(), atol=1e-6)


def test_packed_weights_in_the_file(tmp_path):
    ingot.manual_seed(0)
    fn = nn.Sequential(nn.Conv2d(3, 16, 3), nn.ReLU(), nn.Conv2d(16, 8, 1)).eval()
    x = ingot.randn(2, 3, 9, 9)
    plain, packed = (jit.export(fn, x, tmp_path / f"{p}.ingot", packed=p) for p in (False, True))
    name = f"objects/{packed.targets[0]}.packed"
    assert name in packed.sizes and name not in plain.sizes and packed.derived_weights and not plain.derived_weights
    before = packed.derived_weights
    assert (packed(x) == plain(x)).all()
    assert all(packed.derived_weights[key] is a for key, a in before.items()) and len(packed.derived_weights) == len(before)
    np.testing.assert_allclose(packed(x).numpy(), quiet(fn, x).numpy(), rtol=1e-5, atol=1e-6)


def test_one_file_imports_ml_dtypes():
    """An installation that only runs exported models does without it."""
    root = Path(ingot.__file__).parent
    owners = [path for folder in ("ir", "passes", "runtime") for path in (root / folder).rglob("*.py")
              if re.search(r"^\s*(import|from) ml_dtypes", path.read_text(), re.M)]
    assert [path.name for path in owners] == ["dtype.py"], "take ir.dtype.bfloat16.np instead"


# Places.


def test_read_only_files_and_strange_names(exported, tmp_path):
    path, fn, x = exported
    folder = tmp_path / "mit Leerzeichen und ünïcödé 模型"
    folder.mkdir()
    copy = folder / "mein modell.ingot"
    copy.write_bytes(path.read_bytes())
    copy.chmod(0o444)
    assert (jit.load(copy)(x) == quiet(fn, x)).all()
    assert (jit.load(os.fsencode(copy))(x) == quiet(fn, x)).all()


def test_unwritable_paths_are_found_before_the_work(tmp_path):
    messages = []
    for path, error in ((tmp_path / "no" / "m.ingot", FileNotFoundError), (tmp_path, IsADirectoryError)):
        with pytest.raises(error):
            jit.export(mlp(), ingot.randn(4, 6), path, progress=messages.append)
        with pytest.raises(error):
            jit.to_c(mlp(), ingot.randn(4, 6), path)
    assert not messages


@pytest.mark.skipif(not hasattr(signal, "SIGXFSZ"), reason="no limit on the size of files here")
def test_a_full_disk_leaves_the_old_file(exported, tmp_path):
    path, old = tmp_path / "m.ingot", exported[0].read_bytes()
    path.write_bytes(old)
    ran = subprocess.run([sys.executable, "-c", NO_ROOM, str(path)], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    assert path.read_bytes() == old and len(list(tmp_path.iterdir())) == 1


NO_ROOM = """
import resource, signal, sys
import ingot
from ingot import jit
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
network, x = ingot.nn.Linear(600, 600).eval(), ingot.randn(2, 600)
resource.setrlimit(resource.RLIMIT_FSIZE, (200000, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))
try:
    jit.export(network, x, sys.argv[1], targets=())
except OSError as e:
    assert "too large" in str(e), e
else:
    raise AssertionError("there was room")
"""


def test_a_failed_export_leaves_the_old_file(exported, tmp_path):
    path = tmp_path / "m.ingot"
    path.write_bytes(exported[0].read_bytes())
    with pytest.raises(ExportError):
        jit.export(lambda x: x * float(x.sum()), ingot.randn(2), path)
    assert path.read_bytes() == exported[0].read_bytes() and len(list(tmp_path.iterdir())) == 1


def test_the_file_keeps_working_when_it_is_replaced(exported, tmp_path):
    path = tmp_path / "m.ingot"
    path.write_bytes(exported[0].read_bytes())
    model, (_, fn, x) = jit.load(path), exported
    other = mlp(1)
    jit.export(other, x, path)
    assert (model(x) == quiet(fn, x)).all()
    assert (jit.load(path)(x) == quiet(other, x)).all()
