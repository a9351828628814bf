"""Stubs agree with the code, and type checkers infer the right types."""

import importlib.util
import inspect
import os
import subprocess
import sys
from pathlib import Path

import pytest

import ingot
from ingot.ir.dtype import DType
from ingot.runtime import api as api

ROOT = Path(ingot.__file__).parent


@pytest.fixture(scope="module")
def maker():
    spec = importlib.util.spec_from_file_location("make_stubs", ROOT / "tools" / "make_stubs.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    api.load_rest()
    api.load_twins()
    return module


def test_the_committed_stubs_are_what_the_generator_makes(maker):
    for path, make in maker.STUBS.items():
        assert (ROOT / path).read_text() == make(), f"{path} is out of date: run `make stubs`"


def test_type_checkers_find_every_path_that_users_import(maker):
    """The stubs of paths are up to date and complete, and each names the module of its import."""
    made = maker.path_stubs()
    assert {f.relative_to(ROOT).as_posix(): f.read_text() for f in (ROOT / "stubs").rglob("*") if f.is_file()} == made
    for path, real in maker.public_paths().items():
        assert importlib.import_module(f"ingot.{path}") is importlib.import_module(f"ingot.{real}"), path
    assert made["stubs/optim/__init__.pyi"].startswith("from ..runtime.optim import *\n")


def test_functions_that_factories_build_are_written_out(maker):
    stubs = maker.path_stubs()
    assert "def fft(input, n=None, dim=-1, norm=None, *, out=None" in stubs["stubs/fft.pyi"]
    assert "def max_pool2d(input, kernel_size, stride=None" in stubs["stubs/nn/functional.pyi"]
    assert "import relu as relu" in stubs["stubs/nn/functional.pyi"]


def test_check_mode_fails_on_a_stale_stub(maker, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(maker, "ROOT", tmp_path)
    (tmp_path / "runtime" / "api").mkdir(parents=True)
    assert maker.main(["--check"]) == 1
    assert "make stubs" in capsys.readouterr().err
    assert not list(tmp_path.rglob("*.pyi")), "--check wrote something"
    assert maker.main([]) == 0
    assert maker.main(["--check"]) == 0
    (tmp_path / "__init__.pyi").write_text("")
    assert maker.main(["--check"]) == 1
    assert "__init__.pyi" in capsys.readouterr().err


def signature_of(text):
    scope = {}
    exec(f"def f({text}): ...", scope)
    return list(inspect.signature(scope["f"]).parameters.values())


@pytest.mark.parametrize("given, expected", [
    ("input, other", ["input, other"]),
    ("input, dim=None, keepdim=False", ["input, dim=None, keepdim=False, *, axis=None, keepdims=False"]),
    ("input, dim, *, out=None", ["input, dim, *, out=None", "input, *, axis, out=None"]),
    ("input, dim, index", ["input, dim, index", "input, *, axis, index"]),
    ("input, dim0, dim1", ["input, dim0, dim1", "input, *, axis0, axis1"]),
    ("input, dim, axis", ["input, dim, axis"]),
    ("input, *dims", ["input, *dims"]),
])
def test_numpys_names_are_further_spellings(maker, given, expected):
    found = maker.numpy_spellings(signature_of(given))
    assert [[p.name for p in f] for f in found] == [[p.name for p in signature_of(e)] for e in expected]
    assert [[p.kind for p in f] for f in found] == [[p.kind for p in signature_of(e)] for e in expected]


def test_types_are_named_so_that_methods_cannot_shadow_them(maker):
    stub = maker.Stub("ingot.runtime.core.tensor", "ingot.runtime", "")
    assert stub.annotation(int | None) == "builtins.int | None"
    assert stub.annotation(tuple[ingot.Tensor, ...]) == "builtins.tuple[Tensor, ...]"
    assert stub.annotation(DType) == "_dtype_module.DType"
    assert "from ..ir import dtype as _dtype_module" in stub.imports
    assert stub.annotation("Tensor | None") == "Tensor | None"


@pytest.mark.slow
def test_mypy_reads_code_as_users_write_it(tmp_path):
    pytest.importorskip("mypy")
    (tmp_path / "ingot").symlink_to(ROOT, target_is_directory=True)
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--config-file", str(ROOT / "pyproject.toml"), "--cache-dir", str(tmp_path / "cache"),
         "-m", "typing_samples"], capture_output=True, text=True, cwd=tmp_path,
        env={**os.environ, "MYPYPATH": os.pathsep.join((str(tmp_path), str(ROOT / "tests" / "support")))})
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("expression", ["x.sort().values.tolist() == [1, 3]", "Tensor.sort(x).values.tolist() == [1, 3]",
                                        "'topk' in dir(x) and hasattr(x, 'topk')", "x.relu_() is x"])
def test_methods_of_late_modules_load_when_they_are_used(expression):
    subprocess.run([sys.executable, "-c", f"""
import sys, ingot
from ingot.runtime.core.tensor import Tensor
loaded = lambda: "ingot.runtime.api.views.gather_scatter" in sys.modules
x = ingot.tensor([3.0, 1.0])
assert hasattr(x, "sum") and not hasattr(x, "no_such_thing") and not loaded()
assert {expression}
assert loaded() and Tensor.gather.__name__ == "gather" and x.gather(0, ingot.tensor([1])).item() == 1
"""], check=True)
