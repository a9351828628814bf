"""`python -m ingot` on model files, as scripts use it: output, exit codes, messages on standard error."""

import io
import json
import subprocess
import sys
import xml.etree.ElementTree as ET
import zipfile

import numpy as np
import pytest

import ingot
from ingot import jit, nn
from ingot.__main__ import main
from ingot.ir.errors import FileError
from ingot.ir.target import host
from ingot.ir.version import VERSION
from ingot.runtime.serialization.numpy_files import read_arrays

SOURCE = '''
from ingot import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 3)

    def forward(self, x):
        return self.layer(x).relu()

class Wide(nn.Module):
    def __init__(self, width):
        super().__init__()

def double(a, b):
    return {"sum": a + b, "twice": a * 2}
'''


def run(*words, cwd=None):
    words = [sys.executable, "-m", "ingot", *map(str, words)]
    return subprocess.run(words, capture_output=True, text=True, timeout=110, cwd=cwd)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a folder with a model file, inputs for it, and code to export."""
    folder = tmp_path_factory.mktemp("cli")
    ingot.manual_seed(0)
    model = nn.Sequential(nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(), nn.Linear(144, 3)).eval()
    jit.export(model, ingot.randn(2, 1, 8, 8), folder / "model.ingot", dynamic={"input": {0: "batch"}})
    np.savez(folder / "in.npz", input=np.ones((3, 1, 8, 8)))
    np.savez(folder / "plain.npz", np.ones((3, 1, 8, 8), np.float32))
    np.savez(folder / "example.npz", x=np.ones((2, 4), np.float32))
    np.savez(folder / "two.npz", a=np.ones((2, 4), np.float32), b=np.ones((2, 4), np.float32))
    (folder / "nets.py").write_text(SOURCE)
    (folder / "broken.py").write_text("1 / 0")
    return folder


def test_inspect(folder):
    done = run("inspect", folder / "model.ingot", "--graph", "--weights", "--kernels", "--svg", folder / "model.svg")
    assert done.returncode == 0, done.stderr
    for words in ("input: f32[batch, 1, 8, 8]", "output: f32[batch, 3]", "sizes that may change: batch", "conv",
                  "graph Sequential[batch=", "4.weight: f32[3,144]", "weights.safetensors", host().level):
        assert words in done.stdout, words
    assert ET.parse(folder / "model.svg").getroot().tag.endswith("svg")


def test_inspect_for_scripts(folder):
    done = run("inspect", folder / "model.ingot", "--json")
    facts = json.loads(done.stdout)
    assert facts["signature"]["inputs"][0]["shape"] == ["batch", 1, 8, 8] and facts["weight_bytes"] > 0
    assert done.stderr == ""


@pytest.mark.parametrize("inputs", ["in.npz", "plain.npz"])
@pytest.mark.parametrize("more", [(), ("--no-objects", "--threads", "1")])
def test_run(folder, inputs, more):
    done = run("run", folder / "model.ingot", folder / inputs, "-o", folder / "out.npz", *more)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "" and "output: f32[3, 3]" in done.stderr
    want = jit.load(folder / "model.ingot")(np.ones((3, 1, 8, 8), np.float32))
    with np.load(folder / "out.npz") as out:
        np.testing.assert_allclose(out["output"], want, atol=1e-6)


def test_bench(folder):
    done = run("bench", folder / "model.ingot", "--batch", "1,3", "--threads", "1,2", "--seconds", "0.05", "--json")
    rows = json.loads(done.stdout)
    assert [(r["threads"], r["batch"]) for r in rows] == [(1, 1), (1, 3), (2, 1), (2, 3)]
    assert all(0 < r["p50_ms"] <= r["p90_ms"] <= r["p99_ms"] and r["per_second"] > 0 for r in rows)
    assert "measuring 2 threads" in done.stderr
    text = run("bench", folder / "model.ingot", "--seconds", "0.05")
    assert text.returncode == 0 and "p99 ms" in text.stdout


@pytest.mark.parametrize("source, example, more, signature", [
    ("nets:Net", "example.npz", ("--dynamic", "x:0=n"), "(x: f32[n, 4]) -> (output: f32[n, 3])"),
    ("nets:double", "two.npz", ("--no-freeze",), "(a: f32[2, 4], b: f32[2, 4]) -> (sum: f32[2, 4], twice: f32[2, 4])"),
])
def test_export_from_code(folder, source, example, more, signature):
    done = run("export", source, "--example", folder / example, "-o", folder / "made.ingot", *more, cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "recording" in done.stderr and "checking" in done.stderr, "progress on long work"
    assert str(jit.load(folder / "made.ingot").signature) == signature


def test_export_with_weights(folder):
    ingot.save({"layer.weight": ingot.zeros(3, 4), "layer.bias": ingot.tensor([1.0, -1.0, 2.0])}, str(folder / "w.safetensors"))
    done = run("export", "nets:Net", "--example", "example.npz", "-o", "w.ingot", "--weights", "w.safetensors", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert jit.load(folder / "w.ingot")(np.ones((2, 4), np.float32)).tolist() == [[1, 0, 2]] * 2


def test_convert_to_c(folder):
    run("export", "nets:Net", "--example", folder / "example.npz", "-o", folder / "net.ingot", cwd=folder)
    done = run("convert", folder / "net.ingot", folder / "net", "--beside")
    assert done.returncode == 0, done.stderr
    for name in ("net.h", "net.o", "libnet.so", "net.weights"):
        assert (folder / name).stat().st_size


def test_convert_fixes_sizes(folder):
    done = run("convert", folder / "model.ingot", folder / "fixed", "--size", "batch=3")
    assert done.returncode == 0, done.stderr
    assert "(input: f32[3, 1, 8, 8]) -> (output: f32[3, 3])" in (folder / "fixed.h").read_text()


@pytest.mark.parametrize("source", ["model.ingot", "model.onnx"])
@pytest.mark.parametrize("output", ["c.ingot", "c.onnx", "libc_so.so", "c_h.h", "c_o.o", "c_plain"])
def test_convert_chooses_formats_by_ending(source, output, folder, tmp_path, monkeypatch):
    onnx = pytest.importorskip("onnx")
    x, model = np.ones((3, 1, 8, 8), np.float32), jit.load(folder / "model.ingot")
    monkeypatch.chdir(folder)
    if source == "model.onnx":
        assert main(["convert", "model.ingot", source]) == 0
    assert main(["convert", source, str(tmp_path / output)]) == 0
    if output.startswith(("c_", "libc_")):
        name = output.removeprefix("lib").partition(".")[0]
        assert sorted(p.name for p in tmp_path.iterdir()) == [f"{name}.h", f"{name}.o", f"lib{name}.so"]
        assert "input: f32[1, 1, 8, 8]" in (tmp_path / f"{name}.h").read_text()
        return
    assert [p.name for p in tmp_path.iterdir()] == [output]
    if output == "c.onnx":
        graph = onnx.load(tmp_path / output).graph
        assert [i.name for i in graph.input] == ["input"] and graph.input[0].type.tensor_type.shape.dim[0].dim_param == "batch"
        assert "4.bias" in {t.name for t in graph.initializer}
        converted = jit.from_onnx(str(tmp_path / output))
    else:
        converted = jit.load(tmp_path / output)
    np.testing.assert_allclose(converted(ingot.tensor(x)).detach().numpy(), model(x), atol=1e-5)


def test_a_pipe_that_ends_early_is_no_error(folder):
    words = f"{sys.executable} -m ingot inspect {folder / 'model.ingot'} --graph --kernels --weights | true"
    done = subprocess.run(["bash", "-c", f"{words}; exit ${{PIPESTATUS[0]}}"], capture_output=True, text=True, timeout=110)
    assert done.returncode in (0, 141) and done.stderr == ""


def test_the_version():
    done = run("--version")
    assert done.returncode == 0 and done.stdout.startswith(f"ingot {VERSION}, Python ")


def test_convert_from_onnx(folder):
    pytest.importorskip("onnx")
    model = nn.Sequential(nn.Linear(4, 5), nn.Tanh()).eval()
    x = ingot.randn(2, 4)
    from ingot.jit import onnx
    onnx.to_onnx(model, x, str(folder / "net.onnx"), dynamic={"input": {0: "batch"}})
    done = run("convert", folder / "net.onnx", folder / "from_onnx.ingot")
    assert done.returncode == 0, done.stderr
    loaded = jit.load(folder / "from_onnx.ingot")
    for n in (1, 2, 6):
        x = ingot.randn(n, 4)
        with ingot.no_grad():
            np.testing.assert_allclose(loaded(x.numpy()), model(x).numpy(), atol=1e-5)


@pytest.mark.peer
def test_bench_beside_another_runtime(folder):
    pytest.importorskip("onnxruntime")
    pytest.importorskip("onnx")
    from ingot.jit import onnx
    model = nn.Sequential(nn.Flatten(), nn.Linear(64, 3)).eval()
    onnx.to_onnx(model, ingot.randn(2, 1, 8, 8), str(folder / "same.onnx"), dynamic={"input": {0: "batch"}})
    done = run("bench", folder / "model.ingot", "--batch", "2", "--seconds", "0.05", "--onnx", folder / "same.onnx", "--json")
    assert done.returncode == 0, done.stderr
    assert {"ingot", "onnxruntime"} <= {row["runtime"] for row in json.loads(done.stdout)}


@pytest.mark.parametrize("words, message", [
    (("inspect", "missing.ingot"), "missing.ingot: No such file or directory"), (("inspect", "in.npz"), "not an ingot model"),
    (("run", "model.ingot", "missing.npz", "-o", "o.npz"), "missing.npz"),
    (("run", "model.ingot", "nets.py", "-o", "o.npz"), "not a file of arrays"),
    (("run", "model.ingot", "two.npz", "-o", "o.npz"), "input: f32[batch, 1, 8, 8]"),
    (("bench", "model.ingot", "--size", "w=3"), "batch"), (("convert", "missing.ingot", "o.onnx"), "missing.ingot"),
    (("convert", "model.ingot", "o.onnx", "--size", "btach=3"), "did you mean 'batch'?"),
    (("export", "broken:Net", "--example", "example.npz", "-o", "o.ingot"), "ZeroDivisionError: division by zero at "),
    (("export", "nets:Nte", "--example", "example.npz", "-o", "o.ingot"), "did you mean 'Net'?"),
    (("export", "nets:Wide", "--example", "example.npz", "-o", "o.ingot"), "Wide() raised TypeError"),
    (("export", "nets:Nope", "--example", "example.npz", "-o", "o.ingot"), "no Nope"),
    (("export", "nope:Nope", "--example", "example.npz", "-o", "o.ingot"), "cannot be imported"),
    (("export", "nets:Net", "--example", "two.npz", "-o", "o.ingot"), "does not fit"),
])
def test_errors_are_one_message_and_code_1(folder, words, message):
    done = run(*words, cwd=folder)
    assert done.returncode == 1
    assert done.stderr.startswith("error: ") or "\nerror: " in done.stderr
    assert message in done.stderr and "Traceback" not in done.stderr and done.stdout == ""
    assert not (folder / "o.npz").exists() and not (folder / "o.ingot").exists()


@pytest.mark.parametrize("words, message", [
    (("bench", "model.ingot", "--batch", "x"), "positive numbers"), (("bench", "model.ingot", "--seconds", "-1"), "positive"),
    (("export", "nets", "--example", "example.npz", "-o", "o.ingot"), "package.module:name"),
    (("export", "nets:Net", "--example", "example.npz", "-o", "o.ingot", "--dynamic", "x=3"), "INPUT:DIM=NAME"),
    (("export", "nets:Net", "--example", "example.npz", "-o", "o.onnx"), "convert makes other formats"),
    (("convert", "in.npz", "o.ingot"), "reads files that end with .onnx, .ingot"),
    (("convert", "model.ingot", "o.pt"), "writes files that end with .ingot, .onnx, .so"),
    (("convert", "model.ingot", "o.onx"), "did you mean '.onnx'?"), (("convert", "model.ingot", "o.c"), "not source"),
    (("convert", "model.ingot", "o.v1"), ".v1"), (("convert", "model.ingot", "o.so"), "called libo.so"),
    (("convert", "model.ingot", "o.ingot", "--size", "batch"), "NAME=N"),
    (("convert", "model.ingot", "o.onnx", "--threads", "2"), "C libraries"),
    (("convert", "model.ingot", "o.onnx", "--target", "aarch64"), "machine code"),
    (("insepct", "model.ingot"), "did you mean 'inspect'?"), (("inspect", "model.ingot", "--grahp"), "did you mean '--graph'?"),
    (("demo", "--epochs", "0"), "positive"),
])
def test_wrong_words_are_one_message_and_code_2(folder, words, message, capsys, monkeypatch):
    monkeypatch.chdir(folder)
    before = sorted(folder.iterdir())
    try:
        code = main(words)
    except SystemExit as e:
        code = e.code
    done = capsys.readouterr()
    assert code == 2 and message in done.err and "error: " in done.err and done.out == ""
    assert sorted(folder.iterdir()) == before


@pytest.mark.parametrize("old, new", [
    (b"(3,)", b"(1e9,)"), (b"(3,)", b"(99999999999999999999,)"), (b"(3,)", b"((((("), (b"(3,)", b"('a',)"), (b"(3,)", b"(-3,)"),
    (b"(3,)", b"(999999999999,)"), (b"'<f4'", b"'|O'"), (b"'<f4'", b"'<V99999999999999'"), (b"NUMPY", b"PYNUM"),
    (b"False", b"[]"),
])
@pytest.mark.parametrize("name", ["a.npy", "a"])
def test_damaged_arrays_are_one_kind_of_error(old, new, name, tmp_path):
    memory = io.BytesIO()
    np.save(memory, np.ones(3, np.float32))
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as file:
        file.writestr(name, memory.getvalue().replace(old, new))
    with pytest.raises(FileError, match=r"a\.npz is not a file of arrays"):
        read_arrays(str(tmp_path / "a.npz"))


@pytest.mark.parametrize("words", [("run",), ("bench",), ("export", "x"), ("inspect", "a", "b"), ("fly",)])
def test_wrong_words_are_code_2(words):
    done = run(*words)
    assert done.returncode == 2 and "usage" in done.stderr


@pytest.mark.parametrize("command", ["inspect", "run", "bench", "export", "convert", "doctor", "demo"])
def test_every_command_has_help(command):
    done = run(command, "--help")
    assert done.returncode == 0 and "usage: python -m ingot" in done.stdout
    assert f"examples:\n  python -m ingot {command}" in done.stdout
