"""The architecture holds: rooms import downwards, operators have one record each, imports are not hidden. Checked on source."""

import ast
import re
import subprocess
import sys
import tomllib
from collections import Counter
from functools import cache
from graphlib import CycleError, TopologicalSorter
from importlib.util import module_from_spec, resolve_name, spec_from_file_location
from pathlib import Path
from typing import NamedTuple

import pytest

import ingot
from ingot.ir import config
from ingot.ir import target as targets
from ingot.ir.opdef.op import NO_GRAD, OPS, Composite, Host, Reduce, Scalar, Template, View
from kernel_runs import LEVELS

ROOT = Path(ingot.__file__).parent
LAYERS = {"ir": 0, "passes": 1, "runtime": 2, "jit": 3}
FACE = 4
OUTSIDE = {"tests", "benchmarks", "examples", "tools", "stubs", "build", "dist", "docs"}
HEAVY = {"jinja2", "llvmlite", "triton", "networkx", "onnx", "safetensors", "mpi4py", "rich", "torch", "jax"}
MOST_FILES, LONGEST_DOCSTRING = 25, 15      # of a room


def package_files():
    return sorted(p for p in ROOT.rglob("*.py")
                  if not any(part in OUTSIDE or part.startswith(".") for part in p.relative_to(ROOT).parts))


def layer_of(parts) -> int:
    return LAYERS.get(parts[0], FACE) if len(parts) > 1 else FACE


class Facts(NamedTuple):
    """Facts of a file, without its syntax tree, which takes a hundred times the memory."""

    imports: list                   # (line, path parts inside the package, inside a function?); foreign ones as ("@name",)
    imported_files: set             # files of the product, imported lazily or not, for more than annotations
    public: list                    # (name of what is defined, line, has a docstring?)
    names: list                     # (line, text) of strings that are names of operators
    is_explained: bool
    functions_of_graphs: set        # names of functions whose first argument is a graph


@cache
def facts_of(path: Path) -> Facts:
    tree, package = ast.parse(path.read_text()), path.relative_to(ROOT).with_suffix("").parts[:-1]
    found = Facts([], set(), [], [], bool(ast.get_docstring(tree)), set())
    collect(tree, False, False, package, found)
    for node in tree.body:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)) and not node.name.startswith("_"):
            found.public.append((node.name, node.lineno, bool(ast.get_docstring(node))))
        if isinstance(node, ast.FunctionDef) and node.args.args and node.args.args[0].annotation is not None \
                and ast.unparse(node.args.args[0].annotation) == "Graph":
            found.functions_of_graphs.add(node.name)
    return found


def collect(node, hidden, annotates, package, found):
    """Puts imports and names of operators below a node into `found`; `annotates`: only type checkers read the node."""
    if isinstance(node, ast.Constant):
        if isinstance(node.value, str) and node.value in OPS:
            found.names.append((node.lineno, node.value))
        return
    if isinstance(node, (ast.Import, ast.ImportFrom, ast.Call)):
        found.imports.extend([(node.lineno, target, hidden) for target in targets_of(node, package)])
        if not annotates:
            found.imported_files.update(files_of(node, package))
    hidden = hidden or isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda))
    checked = node.body if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test) else ()
    for child in ast.iter_child_nodes(node):
        collect(child, hidden, annotates or child in checked, package, found)


def lazily_loaded(node, package):
    """The module that a call `lazy(__package__, "..name")` loads, as path parts inside the package; None for other nodes."""
    if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "lazy"):
        return None
    where, name = node.args
    assert isinstance(where, ast.Name) and where.id == "__package__" and isinstance(name, ast.Constant), ast.unparse(node)
    return tuple(resolve_name(name.value, ".".join(("ingot", *package))).split(".")[1:])


def targets_of(node, package) -> list:
    """Return the targets of an import."""
    if isinstance(node, ast.ImportFrom) and node.level:
        base = package[: len(package) - node.level + 1]
        module = base + tuple((node.module or "").split(".") if node.module else ())
        return [module] if node.module else [(*module, a.name) for a in node.names]
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        names = [a.name for a in node.names] if isinstance(node, ast.Import) else [node.module]
        return [(f"@{name}",) for name in names]
    loaded = lazily_loaded(node, package)
    return [] if loaded is None else [loaded]


FILES = package_files()


def test_a_file_imports_its_own_layer_and_those_below():
    for path in FILES:
        here = layer_of(path.relative_to(ROOT).parts)
        for line, target, hidden in facts_of(path).imports:
            if target[0].startswith("@"):
                name = target[0][1:].split(".")[0]
                assert name != "ingot", f"{path}:{line} imports the project by its absolute name"
                if name in HEAVY:
                    assert hidden, f"{path}:{line} imports {name} at module level; import it where it is needed"
                continue
            assert not hidden, f"{path}:{line} hides a project import inside a function"
            there = LAYERS.get(target[0], FACE) if target else FACE
            assert there <= here, f"{path}:{line} reaches up to {'.'.join(target)}"


def order_of(layer: str) -> list:
    """The rooms of a folder from the bottom to the top, as its docstring lists them, with rooms inside of rooms in place."""
    doc = ast.get_docstring(ast.parse((ROOT / layer / "__init__.py").read_text())) or ""
    listed = re.search(r"^Rooms, from the bottom to the top:\s+([^.]*)\.$", doc, re.M | re.S)
    rooms = []
    for name in re.split(r",\s+", listed[1]) if listed else ():
        room = layer if name == "the files here" else f"{layer}/{name}"
        rooms += [room] if room == layer else order_of(room) or [room]
    return rooms


ORDER = [room for layer in LAYERS for room in order_of(layer)]
PLACE = {room: i for i, room in enumerate(ORDER)}


@cache
def file_of(parts) -> str | None:
    """The file of a module, or of the module that has the last part as a name."""
    for end in (len(parts), len(parts) - 1):
        base = ROOT.joinpath(*parts[:end])
        for file in (base.with_suffix(".py"), base / "__init__.py"):
            if end and file.is_file():
                return file.relative_to(ROOT).as_posix()
    return None


def files_of(node, package) -> set:
    """Return the files of the product that an import or a call of `lazy` loads."""
    if isinstance(node, ast.ImportFrom) and node.level:
        base = package[: len(package) - node.level + 1] + tuple((node.module or "").split(".") if node.module else ())
        return {file_of((*base, a.name)) for a in node.names} - {None}
    loaded = lazily_loaded(node, package)
    return set() if loaded is None else {file_of(loaded)} - {None}


def room_of(file: str) -> str:
    return file.rpartition("/")[0]


def test_rooms_import_downwards():
    upward = set()
    for path in FILES:
        file = path.relative_to(ROOT).as_posix()
        here = PLACE.get(room_of(file))
        for target in facts_of(path).imported_files if here is not None else ():
            if PLACE.get(room_of(target), -1) > here and not (path.name == "__init__.py" and target.startswith(room_of(file))):
                upward.add((file, target))
    assert not upward, "a room imports a room above it; see the orders in docstrings of layers"


def test_files_import_each_other_in_no_circle():
    imports = {path.relative_to(ROOT).as_posix(): facts_of(path).imported_files for path in FILES}
    try:
        TopologicalSorter({file: targets - {file} for file, targets in imports.items()}).prepare()
    except CycleError as error:
        pytest.fail(" imports ".join(reversed(error.args[1])))


FAMILIES = ("ir/ops/", "passes/codegen/", "runtime/cpu/", "runtime/cuda/", "runtime/nn/", "jit/onnx/")     # of operators


def test_names_of_files_are_few_and_plain():
    names = Counter(path.name for path in FILES if not path.relative_to(ROOT).as_posix().startswith(FAMILIES))
    assert not [name for name, count in names.items() if count > 2 and not name.startswith("__")]
    assert not [path for path in FILES if path.name.startswith(("eager_", "native_"))], "kernels stand in their family's file"


def test_the_runtime_knows_no_backend():
    """Tensors, gradients and public functions reach kernels through runtime/core/backend.py."""
    for path in FILES:
        file = path.relative_to(ROOT).as_posix()
        if file.startswith(("runtime/core/", "runtime/api/", "runtime/autograd/", "runtime/foreach/", "runtime/memo/")):
            imported = facts_of(path).imported_files
            reached = [target for target in imported if target.startswith(("runtime/cpu/", "runtime/cuda/"))]
            assert not reached, f"{file} imports {reached}"


@pytest.mark.parametrize("room", ORDER)
def test_a_room_is_small_and_says_what_it_is(room):
    assert len([path for path in FILES if path.parent == ROOT / room and path.name != "__init__.py"]) <= MOST_FILES
    doc = ast.get_docstring(ast.parse((ROOT / room / "__init__.py").read_text()))
    assert doc and doc.count("\n") < LONGEST_DOCSTRING


def test_every_room_has_its_place():
    rooms = {path.parent.relative_to(ROOT).as_posix() for path in FILES if path.name != "__init__.py"}
    assert {room for room in rooms if room.partition("/")[0] in LAYERS} <= set(ORDER)


def test_heavy_packages_have_one_owner_each():
    owners = {}
    for path in FILES:
        for _, target, _ in facts_of(path).imports:
            name = target[0][1:].split(".")[0] if target and target[0].startswith("@") else ""
            if name in HEAVY:
                owners.setdefault(name, set()).add(str(path.relative_to(ROOT)))
    crowded = {n: sorted(o) for n, o in owners.items() if len(o) > 1}
    assert not crowded, f"imported in more than one file: {crowded}"


def test_torch_is_nowhere_inside():
    for path in FILES:
        assert not re.search(r"^\s*(import|from) torch\b", path.read_text(), re.M), path


PRIVATE_PYTORCH = re.compile(r"_dynamo|_inductor|_foreach_doc|fast_path|_cdata|_saved_self|written_outside")


def test_the_core_does_not_know_the_private_side_of_pytorch():
    for path in FILES:
        file = path.relative_to(ROOT).as_posix()
        if not file.startswith("as_torch/"):
            above = [target for target in facts_of(path).imported_files if target.startswith("as_torch/")]
            assert not above, f"{file} imports {above}"
            assert layer_of(path.relative_to(ROOT).parts) == FACE or not PRIVATE_PYTORCH.search(path.read_text()), file


def test_files_stay_readable():
    for path in FILES:
        text = path.read_text()
        assert path.name not in ("utils.py", "helpers.py", "misc.py", "common.py"), f"{path}: a drawer, not a room"
        assert facts_of(path).is_explained, f"{path} does not say what it is"
        assert not re.search(r"\b(TODO|FIXME|XXX|HACK)\b", text), f"{path} leaves work behind in a comment"


MOST_METHODS, MOST_ATTRIBUTES, MOST_BASES = 40, 20, 3       # of a class in jit, inherited ones included


class ClassSize(NamedTuple):
    """Names of the methods of a class, attributes that it sets on self, and its bases."""

    methods: set
    attributes: set
    bases: list


def classes_of(path):
    """{name: `ClassSize`} of the classes in a file."""
    found = {}
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ClassDef):
            found[node.name] = ClassSize(
                {n.name for n in node.body if isinstance(n, ast.FunctionDef)},
                {n.attr for n in ast.walk(node) if isinstance(n, ast.Attribute) and isinstance(n.ctx, ast.Store)
                 and isinstance(n.value, ast.Name) and n.value.id == "self"},
                [ast.unparse(base).partition("[")[0].rpartition(".")[2] for base in node.bases])
    return found


def test_no_class_of_jit_is_several_objects():
    files = {path.relative_to(ROOT).as_posix(): classes_of(path) for path in FILES if path.is_relative_to(ROOT / "jit")}
    known = {name: size for classes in files.values() for name, size in classes.items()}

    def whole(size, among):
        """A class with what it inherits from the project."""
        inherited = [whole(known[base], among - {base}) for base in size.bases if base in among]
        return ClassSize(size.methods.union(*[i.methods for i in inherited]),
                         size.attributes.union(*[i.attributes for i in inherited]),
                         [base for base in size.bases if base in among])

    large = set()
    for file, classes in files.items():
        for name, size in classes.items():
            found = whole(size, known.keys() - {name})
            if (len(found.methods) > MOST_METHODS or len(found.attributes) > MOST_ATTRIBUTES or len(found.bases) > MOST_BASES):
                large.add(f"{file} {name}")
    assert not large, "a class that does several things is several objects that hold each other"


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
        for line, name in facts_of(path).names:
            assert name not in names, f"{path}:{line} names {name!r}; ask the record or a trait"


def test_pass_lists_stand_in_one_file():
    own = ROOT / "passes" / "pipelines.py"
    names = {"pipelines.SIMPLER"}
    for node in ast.walk(ast.parse(own.read_text())):
        if isinstance(node, ast.ImportFrom) and node.level == 1:
            names |= {a.name for a in node.names}
    named = re.compile(rf"\b({'|'.join(map(re.escape, names))})\b")
    for path in FILES:
        text = path.read_text() if path != own else ""
        displays = ast.walk(ast.parse(text)) if len(set(named.findall(text))) > 1 else ()
        for node in displays:
            if isinstance(node, (ast.Tuple, ast.List)):
                values = [x.value if isinstance(x, ast.Starred) else x for x in node.elts]
                found = [x for x in values if isinstance(x, (ast.Name, ast.Attribute)) and ast.unparse(x) in names]
                assert len(found) < 2, f"{path}:{node.lineno} is a list of passes; they stand in passes/pipelines.py"


def test_packages_are_all_listed():
    listed = set(tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["packages"])
    there = {"ingot", "ingot.examples.data"}
    there |= {"ingot." + ".".join(p.relative_to(ROOT).parent.parts) for p in FILES if p.parent != ROOT}
    assert listed == there, f"missing in pyproject: {sorted(there - listed)}; gone: {sorted(listed - there)}"


def test_the_face_is_true():
    assert list(ingot.__all__) == sorted(set(ingot.__all__))
    for name in ingot.__all__:
        if name not in ingot.paths.PUBLIC:
            assert hasattr(ingot, name), name


def test_the_package_is_loaded_once():
    copies = sorted(name for name, module in sys.modules.items() if getattr(module, "__file__", None) == ingot.__file__)
    assert copies == ["ingot"], "loaded a second time under another name: see tests/conftest.py"


def test_import_is_light():
    heavy = sorted(HEAVY - {"jax", "mpi4py"})
    code = f"import sys, ingot; print([m for m in {heavy} if m in sys.modules])"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"


def test_a_traced_step_loads_no_package_for_many_processes():
    code = ("import sys, ingot; w = ingot.ones(2, requires_grad=True); "
            "f = ingot.jit.trace(lambda x: (x * w).sum().backward()); f(ingot.ones(2)); f(ingot.ones(2)); "
            "print([m for m in sys.modules if m.startswith('ingot.runtime.distributed')])")
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"


def test_tests_begin_with_numpy_and_pytest_alone():
    """conftest needs only these, since some machines have no other packages."""
    missing = (HEAVY | {"ml_dtypes"}) - {"torch", "jax"}
    code = f"import sys; sys.modules |= dict.fromkeys({sorted(missing)}); sys.path.append('support'); import conftest"
    out = subprocess.run([sys.executable, "-c", code], cwd=ROOT / "tests", capture_output=True, text=True)
    assert not out.returncode, out.stderr



def test_public_paths_exist():
    for public, real in ingot.paths.PUBLIC.items():
        file = ROOT.joinpath(*real.split("."))
        there = file.with_suffix(".py").exists() or (file / "__init__.py").exists()
        assert there, f"ingot.{public} points to {real}, which is not there"


def test_what_is_public_says_what_it_is():
    for path in FILES:
        scalar = path.parent.name == "scalars"   # there a function with an operator's name needs no more words
        for name, line, is_explained in facts_of(path).public:
            if not (scalar and (name in OPS or name.rstrip("_") in OPS or name in ingot.__all__)):
                assert is_explained, f"{path}:{line} {name} has no docstring"


def test_every_pass_has_its_tests():
    for path in FILES:
        parts = path.relative_to(ROOT).parts
        if parts[0] != "passes" or parts[1] == "codegen" or path.stem == "__init__":
            continue
        own = ROOT.joinpath("tests", *parts[:-1], f"test_{path.stem}.py")
        room = r"\.".join(parts[:-1])
        used = re.compile(rf"^from ingot\.{room}\.{path.stem} import |^from ingot\.{room} import .*\b{path.stem}\b", re.M)
        is_pass = path.stem in facts_of(path).functions_of_graphs
        assert own.exists() or (not is_pass and any(used.search(t.read_text()) for t in (ROOT / "tests").rglob("test_*.py"))), \
            f"{path.stem} has no tests: write {own.relative_to(ROOT)}"


def test_every_switch_is_documented():
    pages = "".join((ROOT / name).read_text() for name in ("README.md", "ARCHITECTURE.md"))
    for row in config.describe().splitlines():
        variable, _, meaning = row.partition("=")
        assert re.search(rf"\b{variable}\b", pages), f"{variable} is in neither README.md nor ARCHITECTURE.md"
        assert meaning.partition("  ")[2].strip(), f"{variable} does not say what it does"


def test_a_file_that_types_is_marked():
    data = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["package-data"]["ingot"]
    assert (ROOT / "py.typed").exists() and "py.typed" in data


def test_rows_that_are_left_to_slow_tests_are_there(pytestconfig):
    """Of each file that is run whole; else `python tools/time_tests.py` writes the list anew. Rows of kernels that this
    processor cannot run are not there."""
    absent = [level for level, (arch, *_) in targets.LEVELS.items() if arch == targets.host().arch and level not in LEVELS]
    assert [row for row in pytestconfig.lost_rows if not any(level in row for level in absent)] == []


def test_the_quickest_row_of_each_test_is_not_left_out():
    spec = spec_from_file_location("time_tests", ROOT / "tools" / "time_tests.py")
    tool = module_from_spec(spec)
    spec.loader.exec_module(tool)
    times = {"f::slow[a]": 9.0, "f::slow[b]": 5.0, "f::slow[c]": 7.0, "f::alone": 8.0, "f::mixed[a]": 0.1, "f::mixed[b]": 2.0}
    whole = next(iter(tool.WHOLE))
    times |= {f"{whole}[a]": 3.0, f"{whole}[b]": 4.0}
    assert tool.rows_to_leave(times, 1.0) == ["f::mixed[b]", "f::slow[a]", "f::slow[c]"]
    assert not [row for row in tool.LIST.read_text().splitlines() if row.partition("[")[0] in tool.WHOLE]


def test_tests_that_need_torch_are_marked_peer():
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        text = path.read_text()
        if "torch" not in text or path.name in ("test_house.py", "test_real_device.py"):
            continue
        tree = ast.parse(text)
        whole = any(isinstance(node, ast.Assign) and "pytestmark" in ast.unparse(node) and "mark.peer" in ast.unparse(node)
                    for node in tree.body)
        for node in tree.body:
            if isinstance(node, ast.FunctionDef):
                is_marked = whole or any("mark.peer" in ast.unparse(d) for d in node.decorator_list)
                assert is_marked or not re.search(r"importorskip\('torch|needs_torch", ast.unparse(node)), \
                    f"{path.name}:{node.lineno} needs torch and is not marked peer"
            elif "importorskip('torch" in ast.unparse(node):
                assert whole, f"{path.name}:{node.lineno} needs torch, so the module is to be marked peer"
