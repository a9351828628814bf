"""Stubs agree with the code; `test_typing.py` checks what type checkers make of them."""

import ast
import importlib
import inspect
import json
import subprocess
import sys
import types
from pathlib import Path

import pytest

import ingot
from ingot.ir.dtype import DType
from ingot.runtime.api.register.register import NUMPY_NAMES
from ingot.tools import stubs
from ingot.tools.baseline.names import names_in
from ingot.tools.stubs import __main__ as command
from ingot.tools.stubs import internal, public
from ingot.tools.stubs.definitions import numpy_spellings

ROOT = Path(ingot.__file__).parent


@pytest.fixture(scope="module")
def files():
    """{file: text} as the generator writes it now, in a process of its own: other tests load and change modules."""
    code = "import json; from ingot.tools import stubs; print(json.dumps(stubs.contents()))"
    return json.loads(subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout)


def test_the_committed_stubs_are_what_the_generator_writes(files):
    assert stubs.difference(ROOT, files) == [], "run `make stubs`"


def test_public_paths_can_be_imported():
    for path in public.public_paths():
        assert importlib.import_module(f"ingot.{path}"), path


def test_each_stub_stands_alone(files):
    """No stub imports the source, which checkers would analyse, or a name that its page lacks."""
    bound = {file: names_in(ROOT / file) for file in files if file.endswith(".pyi") and file.startswith(public.FOLDER)}
    for file in bound:
        for node in ast.walk(ast.parse(files[file])):
            if isinstance(node, ast.ImportFrom) and (node.level or node.module.partition(".")[0] == "ingot"):
                home = f"stubs/{node.module.replace('.', '/')}/__init__.pyi"
                assert not node.level and home in bound, f"{file} imports {ast.unparse(node)}"
                for alias in node.names:
                    inner = home.replace("__init__.pyi", f"{alias.name}/__init__.pyi")
                    assert inner in bound or alias.name in bound[home], f"{file} imports {ast.unparse(node)}"


def test_hand_written_signatures_have_parameters_of_the_live_functions():
    tree, unknown = public.Tree(), []
    for path, page in tree.texts.items():
        texts = [(tree.names[path].get(name), lines) for name, lines in page.functions.items()]
        for name, text in page.classes.items():
            texts += [(getattr(tree.names[path][name], member, None), lines) for member, lines in text.members.items()]
        for live, lines in texts:
            live = live.__call__ if isinstance(live, types.ModuleType) else live
            accepted = inspect.signature(live).parameters.values() if inspect.isroutine(live) else ()
            if not accepted or any(p.kind is p.VAR_KEYWORD for p in accepted):
                continue
            known = {p.name for p in accepted} | {NUMPY_NAMES.get(p.name) for p in accepted} | {"self", "cls"}
            for node in ast.parse("\n".join(lines)).body:
                for argument in [*node.args.args, *node.args.kwonlyargs]:
                    if argument.arg not in known and (node.name[:2] != "__" or node.name in ("__init__", "__call__")):
                        unknown.append(f"ingot.{path}: {node.name} has no parameter {argument.arg}")
    assert unknown == [], "\n".join(unknown)


def test_check_mode_fails_on_a_stale_stub(files, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(command, "contents", lambda: files)
    assert command.main(["--check"], tmp_path) == 1
    assert "make stubs" in capsys.readouterr().err
    assert not list(tmp_path.rglob("*.pyi")), "--check wrote something"
    assert command.main([], tmp_path) == 0
    assert command.main(["--check"], tmp_path) == 0
    (tmp_path / public.FOLDER / "gone").mkdir()
    (tmp_path / public.FOLDER / "gone" / "__init__.pyi").write_text("")
    assert command.main(["--check"], tmp_path) == 1
    assert "gone/__init__.pyi" in capsys.readouterr().err
    assert command.main([], tmp_path) == 0
    assert not (tmp_path / public.FOLDER / "gone" / "__init__.pyi").exists()


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
def test_numpys_names_are_further_spellings(given, expected):
    found = numpy_spellings(signature_of(given))
    assert [[p.name for p in f] for f in found] == [[p.name for p in signature_of(e)] for e in expected]
    assert [[p.kind for p in f] for f in found] == [[p.kind for p in signature_of(e)] for e in expected]


def test_types_are_named_so_that_methods_cannot_shadow_them():
    stub = internal.Stub("ingot.runtime.core.tensor", "ingot.runtime", "")
    assert stub.annotation(int | None) == "builtins.int | None"
    assert stub.annotation(tuple[ingot.Tensor, ...]) == "builtins.tuple[Tensor, ...]"
    assert stub.annotation(DType) == "_dtype_module.DType"
    assert "from ..ir import dtype as _dtype_module" in stub.imports
    assert stub.annotation("Tensor | None") == "Tensor | None"


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
