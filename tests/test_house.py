"""The house stands: layers, one record per operator, no hidden imports, a true face. Checked on the source itself."""

import ast
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import ingot
from ingot.ir.op import NO_GRAD, OPS, Composite, Host, Reduce, Scalar, Template, View

ROOT = Path(ingot.__file__).parent
LAYERS = {"ir": 0, "passes": 1, "runtime": 2, "jit": 3}
FACE = 4
OUTSIDE = {"tests", "benchmarks", "examples", "tools", "build", "dist"}
HEAVY = {"llvmlite", "triton", "networkx", "onnx", "safetensors", "mpi4py", "rich", "torch", "jax"}
LONGEST_FILE = 600


def package_files():
    return sorted(p for p in ROOT.rglob("*.py")
                  if not any(part in OUTSIDE or part.startswith(".") for part in p.relative_to(ROOT).parts))


def layer_of(parts) -> int:
    return LAYERS.get(parts[0], FACE) if len(parts) > 1 else FACE


def imported(path: Path):
    """(node, path parts inside the package, inside a function?) of every relative import."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    package = parts[:-1]
    tree = ast.parse(path.read_text())
    hidden = {id(n) for f in ast.walk(tree) if isinstance(f, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda))
              for n in ast.walk(f)}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.level:
            base = package[: len(package) - node.level + 1]
            module = base + tuple((node.module or "").split(".") if node.module else ())
            targets = [module] if node.module else [module + (a.name,) for a in node.names]
            for t in targets:
                yield node, t, id(node) in hidden
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            names = [a.name for a in node.names] if isinstance(node, ast.Import) else [node.module]
            for name in names:
                yield node, (f"@{name}",), id(node) in hidden


FILES = package_files()


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(ROOT)))
def test_a_file_imports_its_own_layer_and_those_below(path):
    here = layer_of(path.relative_to(ROOT).parts)
    for node, target, hidden in imported(path):
        if target[0].startswith("@"):
            name = target[0][1:].split(".")[0]
            assert name != "ingot", f"{path}:{node.lineno} imports the project by its absolute name"
            if name in HEAVY:
                assert hidden, f"{path}:{node.lineno} imports {name} at module level; import it where it is needed"
            continue
        assert not hidden, f"{path}:{node.lineno} hides a project import inside a function"
        there = LAYERS.get(target[0], FACE) if target else FACE
        assert there <= here, f"{path}:{node.lineno} reaches up to {'.'.join(target)}"


def test_heavy_packages_have_one_owner_each():
    owners = {}
    for path in FILES:
        for _, target, _ in imported(path):
            name = target[0][1:].split(".")[0] if target and target[0].startswith("@") else ""
            if name in HEAVY - {"networkx", "rich"}:
                owners.setdefault(name, set()).add(str(path.relative_to(ROOT)))
    crowded = {n: sorted(o) for n, o in owners.items() if len(o) > 1}
    assert not crowded, f"imported in more than one file: {crowded}"


def test_torch_is_nowhere_inside():
    for path in FILES:
        assert not re.search(r"^\s*(import|from) torch\b", path.read_text(), re.M), path


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(ROOT)))
def test_files_stay_readable(path):
    text = path.read_text()
    lines = text.count("\n")
    assert lines <= LONGEST_FILE, f"{path} has {lines} lines; is there a wall to draw?"
    assert path.name not in ("utils.py", "helpers.py", "misc.py", "common.py"), f"{path}: a drawer, not a room"
    assert ast.get_docstring(ast.parse(text)), f"{path} does not say what it is"
    assert not re.search(r"\b(TODO|FIXME|XXX|HACK)\b", text), f"{path} leaves work behind in a comment"


def test_every_operator_names_its_way_down():
    for op in OPS.values():
        assert type(op.lower) in (Scalar, Reduce, View, Composite, Template, Host), op.name
        assert op.vjp is NO_GRAD or callable(op.vjp) or isinstance(op.vjp, tuple), op.name


def test_passes_never_name_an_operator():
    names = set(OPS) - {"full", "index", "pad", "sum", "add", "copy", "any", "all", "sign", "exp", "log", "abs", "select",
                        "floor", "round", "pow", "neg", "where", "max", "min"}
    for path in FILES:
        parts = path.relative_to(ROOT).parts
        if parts[0] != "passes" or "codegen" in parts:
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                assert node.value not in names, f"{path}:{node.lineno} names {node.value!r}; ask the record or a trait"


def test_packages_are_all_listed():
    listed = set(tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["packages"])
    there = {"ingot"} | {"ingot." + ".".join(p.relative_to(ROOT).parent.parts) for p in FILES if p.parent != ROOT}
    assert listed == there, f"missing in pyproject: {sorted(there - listed)}; gone: {sorted(listed - there)}"


def test_the_face_is_true():
    assert list(ingot.__all__) == sorted(set(ingot.__all__))
    for name in ingot.__all__:
        if name not in ingot.paths.PUBLIC:
            assert getattr(ingot, name, None) is not None, name


def test_import_is_light():
    code = "import sys, ingot; print([m for m in ('llvmlite', 'triton', 'networkx', 'torch', 'rich', 'safetensors') if m in sys.modules])"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"


def test_public_paths_exist():
    for public, real in ingot.paths.PUBLIC.items():
        file = ROOT.joinpath(*real.split("."))
        assert file.with_suffix(".py").exists() or (file / "__init__.py").exists(), f"ingot.{public} points to {real}, which is not there"
