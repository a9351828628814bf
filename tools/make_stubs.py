"""Writes the type stubs `runtime/core/tensor.pyi` and `__init__.pyi`, those of public paths, and the names of late methods,
from the live package.

Methods are attached to Tensor, and functions to the face, when modules are loaded; editors and type checkers read source and
cannot see that. The stubs tell them. A function of the API without a return annotation returns a tensor.

    python tools/make_stubs.py           writes the stubs
    python tools/make_stubs.py --check   fails if the committed stubs are not what would be written
"""

import argparse
import builtins
import importlib
import inspect
import re
import subprocess
import sys
import textwrap
import types
from pathlib import Path

import ingot
from ingot.ir.dtype import ALL, DType
from ingot.ir.errors import IngotError
from ingot.paths import PUBLIC
from ingot.runtime import api as api
from ingot.runtime.api.register.register import NUMPY_NAMES
from ingot.runtime.core import tensor

ROOT = Path(ingot.__file__).parent
WIDTH = 124
_SENTENCE = re.compile(r".*?(?:\.(?= |$)|$)")      # up to its end
LITERALS = (bool, int, float, str, type(None), tuple)
LEFT_OUT = {"_cdata", "_grad",      # as_torch adds them
            "__module__", "__qualname__", "__doc__", "__dict__", "__weakref__", "__slots__", "__slotnames__", "__getattr__",
            "__annotations__", "__annotate__", "__annotate_func__", "__annotations_cache__", "__static_attributes__",
            "__firstlineno__", "__init_subclass__", "__new__"}
FOREIGN = {"typing", "types"}
THIRD = {"numpy", "collections.abc"}


def home_of(thing):
    """The module that defines something; Tensor and Size name the package as theirs."""
    return tensor.__name__ if thing in (tensor.Tensor, tensor.Size) else getattr(thing, "__module__", None)


class Stub:
    """The text of one stub file: lines, and the imports that they turn out to need."""

    def __init__(self, module: str, package: str, doc: str):
        self.module, self.package, self.doc = module, package.split("."), doc
        self.imports: set[str] = set()
        self.third: set[str] = set()
        self.lines: list[str] = []

    def text(self) -> str:
        """The whole file."""
        body = "\n".join(self.lines)
        typing = ", ".join(name for name, use in (("Any", "Any"), ("overload", "@overload")) if use in body)
        head = [f'"""{self.doc}', "", 'Made by `make stubs` from the live package; not edited by hand.', '"""', "",
                *["import builtins"] * ("builtins." in body), *sorted(t for t in self.third if "numpy" not in t),
                f"from typing import {typing}", "",
                *(["import numpy", ""] if "import numpy" in self.third else [])]
        imports = sorted(self.imports, key=lambda line: (-leading_dots(line.split()[1]), line.casefold()))
        return "\n".join([*head, *imports, "", *self.lines]).replace("\n\n\n", "\n\n").rstrip() + "\n"

    def need(self, module: str, name: str, shown: str) -> str:
        """Imports `name` from a module of the project as `shown`."""
        path = module.split(".")
        shared = next((i for i, (a, b) in enumerate(zip(path, self.package)) if a != b), min(len(path), len(self.package)))
        dots = "." * (1 + len(self.package) - shared)
        self.imports.add(f"from {dots}{'.'.join(path[shared:])} import {name} as {shown}")
        return shown

    def publish(self, module: str, name: str, public: str) -> None:
        """Gives a class or module of the project a public name in the stub; a stub exports imports only if they keep theirs."""
        if name == public:
            self.need(module, name, public)
        else:
            self.lines.append(f"{public} = {self.need(module, name, f'_{name}')}")

    def annotation(self, hint) -> str:
        """A type as text. Classes are named so that no method or function of the stub can stand before them."""
        if hint is None or hint is type(None):
            return "None"
        if isinstance(hint, types.UnionType):
            return " | ".join(self.annotation(a) for a in hint.__args__)
        if isinstance(hint, types.GenericAlias):
            inner = ", ".join("..." if a is ... else self.annotation(a) for a in hint.__args__)
            return f"{self.annotation(hint.__origin__)}[{inner}]"
        if isinstance(hint, str):
            return hint
        if isinstance(hint, types.FunctionType):        # Python 3.14 reads a class's `-> bool` late: as its method `bool`
            hint = getattr(builtins, hint.__name__)
        if not isinstance(hint, type) or hint.__module__ in FOREIGN:
            return "Any"
        if hint is types.ModuleType:
            return "Any"
        if hint.__module__ in THIRD:
            self.third.add(f"import {hint.__module__}")
            return f"{hint.__module__}.{hint.__name__}"
        if hint.__module__ == "builtins":
            return f"builtins.{hint.__name__}"
        if home_of(hint) == self.module:
            return hint.__name__
        if hint is tensor.Tensor:
            return self.need(home_of(hint), "Tensor", "Tensor")
        home, _, name = home_of(hint).rpartition(".")
        return f"{self.need(home, name, f'_{name}_module')}.{hint.__name__}"

    def value(self, name: str, value) -> None:
        """A variable and its type."""
        self.lines.append(f"{name}: {self.annotation(type(value))}")

    def function(self, name: str, fn, returns: str, owner: type | None = None) -> None:
        """A function, or a method of `owner`, with numpy's spelling of its arguments as well."""
        parameters = list(inspect.signature(fn).parameters.values())
        if owner and parameters[0].kind is not parameters[0].VAR_POSITIONAL:
            parameters[0] = parameters[0].replace(name="self", annotation=inspect.Parameter.empty)
        redefined = owner and any(name in vars(base) for base in owner.__mro__[1:])
        note = "  # type: ignore[override]" if redefined and name not in ("__init__", "__repr__", "__hash__") else ""
        has_others = hasattr(getattr(fn, "_asks_for", fn), "__wrapped__")
        spellings = numpy_spellings(parameters) if has_others else [parameters]
        hint = inspect.signature(fn).return_annotation
        result = returns if hint is inspect.Signature.empty else self.annotation(hint)
        for these in spellings:
            if len(spellings) > 1:
                self.lines.append("@overload")
            self.lines += self._definition(name, [*self._parameters(these)], result, first_sentences(fn), note)

    def _definition(self, name, parameters, result, doc, note=""):
        head = f"def {name}("
        line = f"{head}{', '.join(parameters)}) -> {result}:"
        if len(line) > WIDTH:
            words = textwrap.wrap(", ".join(p.replace(" ", "\0") for p in parameters), WIDTH - len(head) - len(result) - 6)
            inside = ("\n" + " " * len(head)).join(words).replace("\0", " ")
            line = f"{head}{inside}) -> {result}:"
        if not doc:
            return (line + " ..." + note).splitlines()
        return [*(line + note).splitlines(), *textwrap.wrap(doc, WIDTH, initial_indent="    ", subsequent_indent="    ")]

    def _parameters(self, parameters):
        kinds = inspect.Parameter
        before = None
        for i, p in enumerate(parameters):
            if before is kinds.POSITIONAL_ONLY and p.kind is not kinds.POSITIONAL_ONLY:
                yield "/"
            if p.kind is kinds.KEYWORD_ONLY and before not in (kinds.KEYWORD_ONLY, kinds.VAR_POSITIONAL):
                yield "*"
            star = {kinds.VAR_POSITIONAL: "*", kinds.VAR_KEYWORD: "**"}.get(p.kind, "")
            yield star + self._parameter(p)
            before = p.kind
            if i == len(parameters) - 1 and before is kinds.POSITIONAL_ONLY:
                yield "/"

    def _parameter(self, p) -> str:
        hint = "" if p.annotation is p.empty else self.annotation(p.annotation)
        if not hint and isinstance(p.default, bool):
            hint = "builtins.bool"
        if p.default is p.empty:
            return f"{p.name}: {hint}" if hint else p.name
        default = repr(p.default) if type(p.default) in LITERALS else "..."
        if hint and p.default is None and "None" not in hint and hint != "Any":
            hint += " | None"
        return f"{p.name}: {hint} = {default}" if hint else f"{p.name}={default}"

    def property(self, name: str, prop: property, returns: str) -> None:
        """A property, with its setter."""
        hint = getattr(prop.fget, "__annotations__", {}).get("return", inspect.Signature.empty)
        result = returns if hint is inspect.Signature.empty else self.annotation(hint)
        self.lines += ["@builtins.property", *self._definition(name, ["self"], result, first_sentences(prop))]
        if prop.fset:
            self.lines += [f"@{name}.setter", f"def {name}(self, value) -> None: ..."]

    def cls(self, cls, returns: str) -> None:
        """A class with all its members; methods without an annotation return `returns`."""
        bases = ", ".join("builtins.tuple[builtins.int, ...]" if b is tuple else self.annotation(b)
                          for b in cls.__bases__ if b is not object)
        meta = f"metaclass={type(cls).__name__}" if type(cls) is not type else ""
        start = len(self.lines)
        for name, member in sorted(cls.__dict__.items()):
            if name not in LEFT_OUT:
                self._member(cls, name, member, returns)
        given = ", ".join(x for x in (bases, meta) if x)
        self.lines[start:] = ["", f"class {cls.__name__}{f'({given})' if given else ''}:", "    " + first_sentences(cls),
                              *("    " + line for line in self.lines[start:]), ""]

    def _member(self, cls, name, member, returns):
        if name == "__init__":
            returns = "None"
        if isinstance(member, property):
            self.property(name, member, "Any")
        elif isinstance(member, types.FunctionType):
            self.function(name, member, returns, cls)
        else:
            slot = inspect.ismemberdescriptor(member) or member is None
            self.lines.append(f"{name}: {'Any' if slot else self.annotation(type(member))}")


def leading_dots(path: str) -> int:
    """How many packages up a relative import starts."""
    return len(path) - len(path.lstrip("."))


def first_sentences(thing) -> str:
    """Return the sentences of a docstring that begin on its first line, as source, or nothing."""
    first, _, rest = (thing.__doc__ or "").strip().partition("\n\n")[0].partition("\n")
    begun = "" if first.endswith(".") else _SENTENCE.match(" ".join(rest.split()))[0]
    doc = f"{first} {begun}".strip()
    if not doc:
        return ""
    return f'{"r" if chr(92) in doc else ""}"""{doc}{" " if doc.endswith(chr(34)) else ""}"""'


def numpy_spellings(parameters: list) -> list:
    """The parameter lists under which a function can be called.

    Optional renamed arguments have numpy's names as further keywords. A required one makes two lists; in the second, it and all
    later ones are keyword-only.
    """
    names = {p.name for p in parameters}
    renamed = [p for p in parameters if p.name in NUMPY_NAMES and NUMPY_NAMES[p.name] not in names
               and p.kind is not p.VAR_POSITIONAL]
    if not renamed:
        return [parameters]
    by_name = {p.name: p.replace(name=NUMPY_NAMES[p.name], kind=p.KEYWORD_ONLY) for p in renamed}
    if all(p.default is not p.empty for p in renamed):
        end = next((i for i, p in enumerate(parameters) if p.kind is p.VAR_KEYWORD), len(parameters))
        return [[*parameters[:end], *by_name.values(), *parameters[end:]]]
    first = parameters.index(renamed[0])
    rest = [by_name.get(p.name, p if p.kind is p.VAR_KEYWORD else p.replace(kind=p.KEYWORD_ONLY)) for p in parameters[first:]]
    return [parameters, [*parameters[:first], *rest]]


def tensor_stub() -> str:
    """`runtime/core/tensor.pyi`."""
    stub = Stub(tensor.__name__, "ingot.runtime.core", "The Tensor with every method that the API attaches to it.")
    for name, thing in vars(tensor).items():
        if name in LEFT_OUT or home_of(thing) != tensor.__name__:
            continue
        if isinstance(thing, type):
            stub.cls(thing, "Tensor" if thing is tensor.Tensor else "Any")
        else:
            stub.function(name, thing, "Any")
    return stub.text()


def face_stub() -> str:
    """`__init__.pyi`."""
    stub = Stub("ingot", "ingot", "The face of ingot: dtypes, functions, and the modules beneath.")
    for public in (IngotError, tensor.Size, tensor.Tensor):
        stub.publish(home_of(public), public.__name__, public.__name__)
    modules = {"jit": "jit"} | {name: real for name, real in PUBLIC.items() if "." not in name}
    for name, real in modules.items():
        folder, _, last = f"ingot.{real}".rpartition(".")
        stub.publish(folder, last, name)
    for name in vars(ingot)["_LATE"]:
        thing = getattr(ingot, name)
        stub.publish(thing.__module__, thing.__name__, name)
    stub.lines += ["__version__: builtins.str", "__all__: builtins.list[builtins.str]", ""]
    for dtype in ALL:
        stub.lines.append(f"{dtype.name}: {stub.annotation(DType)}")
    stub.lines.append("")
    for name, thing in sorted(api.FUNCTIONS.items()):
        if isinstance(thing, types.FunctionType):
            stub.function(name, thing, "Tensor")
        elif type(thing) is type:
            stub.publish(thing.__module__, thing.__name__, name)
        else:
            stub.value(name, thing)
    return stub.text()


def late_methods() -> str:
    """`runtime/api/register/lazy_method_names.py`."""
    there = ("import ingot; from ingot.runtime import api; from ingot.runtime.core import tensor; "
             "print(*[name for name, member in vars(tensor.Tensor).items() if type(member) is not api.LateMethod])")
    early = subprocess.run([sys.executable, "-c", there], check=True, capture_output=True, text=True).stdout.split()
    now = {name for name, member in vars(tensor.Tensor).items() if type(member) is not api.LateMethod}
    names = sorted(now - set(early) - LEFT_OUT)
    lines = textwrap.wrap(", ".join(f'"{name}"' for name in names), WIDTH, initial_indent="    ", subsequent_indent="    ")
    doc = '"""The methods of Tensor that come with modules in `LATE`. Made by `make stubs`; not edited by hand."""'
    return "\n".join([doc, "", "NAMES = (", *lines, ")", ""])


# `import ingot.nn.functional as F`: the finder in `paths.py` answers at run time; checkers look for files of that name.

PATHS_FOLDER = "stubs"      # installed beside the package as `ingot-stubs`, which adds to what it says of itself


# Modules of public packages that are imported by their own path, too.
INSIDE = {
    "amp": ("autocast_mode", "grad_scaler"), "backends": ("cpu", "cuda", "mkl", "mps", "openmp"),
    "cuda": ("graphs", "memory", "nvtx", "profiler", "random", "streams"), "distributed": ("rpc",),
    "distributions": ("categorical", "constraint_registry", "constraints", "distribution", "gamma", "kl", "transforms"),
    "fx": ("graph", "graph_module", "immutable_collections", "interpreter", "node", "passes", "proxy", "subgraph_rewriter"),
    "multiprocessing": ("reductions", "spawn"),
    "nn": ("attention", "common_types", "functional", "grad", "init", "modules", "parallel", "parameter", "utils"),
    "nn.parallel": ("data_parallel", "distributed"),
    "nn.utils": ("clip_grad", "convert_parameters", "fusion", "memory_format", "parametrizations", "parametrize", "prune",
                 "rnn", "stateless", "weight_norm"),
    "optim": ("adam", "lbfgs", "lr_scheduler", "optimizer", "sgd", "sparse_adam", "swa_utils"),
    "quantization": ("fake_quantize", "qconfig"), "signal": ("windows",),
    "utils.data": ("dataloader", "dataset", "distributed", "sampler"),
}


def public_paths() -> dict:
    """{path below the package: the module behind it} of what users import."""
    paths = {path: real for path, real in PUBLIC.items() if not path.startswith("_")}
    for parent, names in INSIDE.items():
        paths |= {f"{parent}.{name}": f"{paths[parent]}.{name}" for name in names if f"{parent}.{name}" not in paths}
    return paths


def path_stubs() -> dict:
    """{file: text} of the stubs of public paths."""
    paths = public_paths()
    contents = {f"{PATHS_FOLDER}/py.typed": "partial\n"}
    for path in paths.keys() | {parent for inner in paths for parent in _parents(inner)}:
        module = importlib.import_module(f"ingot.{path}")
        children = sorted(p.rpartition(".")[2] for p in paths if p.rpartition(".")[0] == path)
        file = f"{PATHS_FOLDER}/{path.replace('.', '/')}{'/__init__' if children else ''}.pyi"
        dots = "." * (path.count(".") + 1 + bool(children))
        named = getattr(module, "__all__", ())                      # such as the function `data_parallel`
        modules = [f"from . import {child} as {child}" for child in children if child not in named]
        built = built_functions(module) if path in paths else {}
        if built:
            package = f"ingot.{path}" if children else f"ingot.{path}".rpartition(".")[0]
            stub = Stub(f"ingot.{path}", package, f"The names of `ingot.{path}`, and functions that factories build.")
            plain = [name for name in named if name not in built]
            stub.imports |= {*modules, *[f"from {dots}{paths[path]} import {name} as {name}" for name in plain]}
            for name, function in sorted(built.items()):
                stub.function(name, function, "Any")
            contents[file] = stub.text()
        else:
            lines = [f"from {dots}{paths[path]} import *"] if path in paths else []
            contents[file] = "\n".join([*lines, *modules, ""])
    return dict(sorted(contents.items()))


def built_functions(module) -> dict:
    """Return {name: function} of what factories have built, whose code stands inside of another function. A type checker reads
    other functions in their source."""
    functions = {name: getattr(module, name) for name in getattr(module, "__all__", ())}
    return {name: fn for name, fn in functions.items() if isinstance(fn, types.FunctionType)
            and "<locals>" in inspect.unwrap(fn).__code__.co_qualname}


def _parents(path: str) -> list:
    """The packages above a path."""
    names = path.split(".")
    return [".".join(names[:i]) for i in range(1, len(names))]


STUBS = {"runtime/core/tensor.pyi": tensor_stub, "__init__.pyi": face_stub,
         "runtime/api/register/lazy_method_names.py": late_methods}


def main(argv=None) -> int:
    """Writes or checks the stubs; the result is the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="write nothing; fail if a stub is not up to date")
    check = parser.parse_args(argv).check
    api.load_rest()
    api.load_twins()
    stale, contents = [], path_stubs()
    for path, text in [*[(path, make()) for path, make in STUBS.items()], *contents.items()]:
        file = ROOT / path
        if check and (not file.exists() or file.read_text() != text):
            stale.append(path)
        elif not check:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
    for file in (ROOT / PATHS_FOLDER).rglob("*.pyi"):
        if file.relative_to(ROOT).as_posix() not in contents:
            stale.append(str(file.relative_to(ROOT)))
            if not check:
                file.unlink()
    if check and stale:
        print(f"not what the code says: {', '.join(stale)}; run `make stubs`", file=sys.stderr)
    return 1 if check and stale else 0


if __name__ == "__main__":
    sys.exit(main())
