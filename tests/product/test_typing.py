"""Type checkers and editors on programs that use the built wheel: right ones have no errors, and each mistake is reported.

The wheel is unpacked into an environment of its own, so checkers find it as they find any installed package. basedpyright is
pyright, the engine of VS Code, in a wheel of PyPI: pyright itself loads its code from npm at its first start.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import numpy
import pytest

import ingot
from ingot.tools.packaging import backend
from ingot.tools.stubs.public import public_paths

ROOT = Path(ingot.__file__).parent
SUPPORT = ROOT / "tests" / "support"
PROGRAMS = sorted((SUPPORT / "typing_programs").glob("*.py"))
MISTAKES = SUPPORT / "typing_mistakes.py"
NOT_BUILT = shutil.ignore_patterns(".*", "build", "dist", "tests", "benchmarks", "docs", "*.egg-info", "__pycache__")


def run(*command, path="", **options):
    """Run a command with `path` alone as PYTHONPATH, which checkers would follow, too."""
    environment = {**os.environ, "PYTHONPATH": str(path)}
    return subprocess.run([*map(str, command)], capture_output=True, text=True, env=environment, **options)


def hook(folder, source, name, pattern="*.whl") -> Path:
    """Return the archive that a hook of the build backend makes from a copy of the source."""
    folder.mkdir()
    code = f"import backend; print(backend.{name}({str(folder)!r}))"
    done = run(sys.executable, "-c", code, cwd=source, path=source / "tools" / "packaging")
    assert done.returncode == 0, done.stdout + done.stderr
    archive, = folder.glob(pattern)
    return archive


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    """A copy of the source, since setuptools keeps files of earlier builds beside it."""
    folder = tmp_path_factory.mktemp("source") / "checkout"
    shutil.copytree(ROOT, folder, ignore=NOT_BUILT)
    shutil.copytree(ROOT / "examples", folder / "examples", dirs_exist_ok=True)
    return folder


@pytest.fixture(scope="module")
def installed(tmp_path_factory, source):
    """(The interpreter of an environment with the wheel, the folder of its packages)."""
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder, with_pip=False, symlinks=os.name != "nt")
    packages = Path(sysconfig.get_path("purelib", vars={"base": str(folder)}))
    zipfile.ZipFile(hook(folder / "wheel", source, "build_wheel")).extractall(packages)
    (packages / "others.pth").write_text(f"{Path(numpy.__file__).parents[1]}\n")
    return Path(sysconfig.get_path("scripts", vars={"base": str(folder)}), "python"), packages


@pytest.fixture(scope="module")
def programs(tmp_path_factory):
    """A folder with all programs, and nothing else."""
    folder = tmp_path_factory.mktemp("programs")
    for file in (*PROGRAMS, MISTAKES):
        shutil.copy(file, folder)
    return folder


def by_pyright(python, programs) -> set:
    """Return {(file, line)} of errors and warnings."""
    settings = {"typeCheckingMode": "basic", "include": ["."], "pythonVersion": "3.11"}
    (programs / "pyrightconfig.json").write_text(json.dumps(settings))
    command = ("-m", "basedpyright", "-p", programs, "--pythonpath", python, "--outputjson")
    done = run(sys.executable, *command, cwd=programs)
    assert done.returncode in (0, 1), done.stdout + done.stderr
    report = json.loads(done.stdout)
    assert report["summary"]["filesAnalyzed"] == len(PROGRAMS) + 1
    return {(Path(d["file"]).name, d["range"]["start"]["line"] + 1) for d in report["generalDiagnostics"]}


def by_mypy(python, programs) -> set:
    """Return {(file, line)} of errors."""
    command = ("-m", "mypy", "--python-executable", python, "--config-file=", "--check-untyped-defs", "--cache-dir", ".mypy")
    done = run(sys.executable, *command, *[file.name for file in (*PROGRAMS, MISTAKES)], cwd=programs)
    assert done.returncode in (0, 1), done.stdout + done.stderr
    return {(m[1], int(m[2])) for m in re.finditer(r"^(\w+\.py):(\d+): error", done.stdout, re.M)}


@pytest.mark.parametrize("checker", [by_pyright, by_mypy])
def test_checkers_report_each_mistake_and_nothing_else(checker, installed, programs):
    lines = MISTAKES.read_text().splitlines()
    planted = {(MISTAKES.name, i) for i, line in enumerate(lines, 1) if line.endswith("# mistake")}
    assert len(PROGRAMS) >= 24 and len(planted) >= 40
    found = checker(installed[0], programs)
    assert sorted(planted - found) == [], "not reported"
    assert sorted(found - planted) == [], "reported"


COMPLETED = [
    ("import ingot.nn.functional as F\nF.", {"relu", "softmax", "cross_entropy", "scaled_dot_product_attention"}),
    ("from ingot.nn import functional as F\nF.", {"relu", "conv2d"}),
    ("import ingot\ningot.nn.functional.", {"relu", "one_hot"}),
    ("from ingot import nn\nnn.", {"Linear", "Module", "functional", "utils", "init"}),
    ("import ingot\ningot.", {"Tensor", "randn", "float32", "no_grad", "nn", "optim", "jit", "manual_seed"}),
    ("import ingot as torch\ntorch.nn.", {"LSTM", "Sequential"}),
    ("from ingot import jit\njit.", {"trace", "export", "load", "quantize", "to_onnx", "to_c", "profile", "debug"}),
    ("import ingot.optim as optim\noptim.", {"Adam", "SGD", "lr_scheduler"}),
    ("from ingot.optim import lr_scheduler\nlr_scheduler.", {"StepLR", "OneCycleLR"}),
    ("from ingot.utils.data import D", {"DataLoader", "Dataset"}),
    ("import ingot\ningot.ones(2).", {"shape", "item", "backward", "max", "grad"}),
    ("import ingot.nn.functional as F\nF.relu(1).", {"shape", "mean"}),
    ("from ingot import nn\nnn.Linear(1, 2).", {"weight", "in_features", "parameters", "state_dict"}),
    ("from ingot import distributions\ndistributions.Normal(0, 1).", {"sample", "log_prob", "mean"}),
]


# jedi keeps a thread for the process in which it looks at code, so it has a process of its own.
EDITOR = """
import json, sys
import jedi
folder, path, *programs = json.load(sys.stdin)
jedi.settings.cache_directory = folder + "/cache"
project = jedi.Project(folder, sys_path=path, smart_sys_path=False)
completed = [[c.name for c in jedi.Script(code, project=project).complete()] for code in programs]
shown, = jedi.Script("import ingot.nn.functional as F\\nF.softmax", project=project).help(2, 5)
print(json.dumps([shown.docstring(), *completed]))
"""


def test_editors_complete_names_after_any_import(installed, tmp_path):
    pytest.importorskip("jedi")
    asked = [str(tmp_path), [str(installed[1]), *sys.path], *[code for code, _ in COMPLETED]]
    said = subprocess.run([sys.executable, "-c", EDITOR], input=json.dumps(asked), capture_output=True, text=True, check=True)
    shown, *completed = json.loads(said.stdout)
    for (code, names), given in zip(COMPLETED, completed, strict=True):
        assert names <= set(given), f"{code!r} lacks {names - set(given)}"
    assert "dim" in shown and "softmax" in shown.lower()


def test_the_wheel_has_a_stub_for_each_public_path(installed):
    packages = installed[1]
    for path in ["", *public_paths()]:
        assert (packages / "ingot" / path.replace(".", "/") / "__init__.pyi").exists(), path
    assert (packages / "ingot" / "py.typed").exists() and not (packages / "ingot" / "stubs").exists()
    listed = next(packages.glob("ingot-*.dist-info/RECORD")).read_text().splitlines()
    files = {line.rpartition(",")[0].rpartition(",")[0] for line in listed}
    assert files == {p.relative_to(packages).as_posix() for p in packages.rglob("*") if p.is_file() and p.name != "others.pth"
                     and "__pycache__" not in p.parts}


def test_a_source_archive_has_what_a_build_needs(source, tmp_path):
    shutil.unpack_archive(hook(tmp_path / "archive", source, "build_sdist", "*.tar.gz"), tmp_path)
    unpacked, = tmp_path.glob("ingot-*")
    with zipfile.ZipFile(hook(tmp_path / "wheel", unpacked, "build_wheel")) as wheel:
        assert {"ingot/nn/__init__.pyi", "ingot/py.typed", "ingot/__init__.py"} <= {*wheel.namelist()}


def test_an_editable_install_gives_checkers_the_stubs_and_programs_the_source(source, tmp_path):
    with zipfile.ZipFile(hook(tmp_path / "wheel", source, "build_editable")) as wheel:
        paths = [name for name in wheel.namelist() if ".dist-info/" not in name]
        assert paths == ["ingot.pth"]
        assert wheel.read("ingot.pth").decode() == f"{source / 'stubs'}\n"
    code = ("import ingot, ingot.nn.functional as F\n"
            "print(ingot.__file__, ingot.__path__, F.relu.__code__.co_filename, sep='\\n')")
    done = run(sys.executable, "-c", code, cwd=tmp_path, path=source / "stubs")
    assert done.stdout.splitlines()[:2] == [str(source / "__init__.py"), str([str(source)])], done.stderr
    assert done.stdout.splitlines()[2].startswith(str(source / "runtime"))


def test_rewritten_wheels_list_their_files(tmp_path):
    wheel = tmp_path / "a-1-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("a/old.py", "1")
        archive.writestr("a-1.dist-info/RECORD", "a/old.py,,\na-1.dist-info/RECORD,,\n")
    backend.rewrite(wheel, lambda name: name.endswith("old.py"), {"a/new.py": b"2"})
    with zipfile.ZipFile(wheel) as archive:
        assert archive.namelist() == ["a/new.py", "a-1.dist-info/RECORD"]
        record = archive.read("a-1.dist-info/RECORD").decode().splitlines()
    assert record == ["a/new.py,sha256=1HNeOiZeFu7gP1lxi5tdAwGcB9i2xR-Q2jpmbuwTqzU,1", "a-1.dist-info/RECORD,,"]
