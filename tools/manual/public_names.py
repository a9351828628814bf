"""Public names: signatures from the stubs, places in the source. An object has one home, its shortest path."""

import ast
import inspect
import re
import sys
import types
from copy import deepcopy
from functools import cache
from pathlib import Path
from typing import NamedTuple

import ingot

from ..stubs.public import Tree

ROOT = Path(ingot.__file__).parent
_PREFIXES = re.compile(r"\b(?:_b|_t|_c)\.|(?<![\w.])_(?=[A-Za-z]+\b)")       # of modules and private names in stubs


class Signature(NamedTuple):
    """A callable as its stub has it: the text behind its name, and modifiers such as `classmethod`."""

    text: str
    modifiers: tuple = ()


class Member(NamedTuple):
    """A method or property of a class."""

    name: str
    signatures: list
    doc: str
    is_property: bool


class Entry(NamedTuple):
    """A public class or function."""

    path: str               # of its module below ingot; "" for ingot itself
    name: str
    thing: object
    aliases: list           # other full names
    signatures: list
    bases: list
    members: list

    @property
    def full_name(self) -> str:
        return dotted(self.path, self.name)

    @property
    def is_class(self) -> bool:
        return isinstance(self.thing, type)

    @property
    def doc(self) -> str:
        return own_doc(self.thing)


def dotted(path: str, name: str = "") -> str:
    """Return a full name below `ingot`."""
    return ".".join(part for part in ("ingot", path, name) if part)


def own_doc(thing) -> str:
    """Return the docstring of an object, not that of its class."""
    doc = vars(thing).get("__doc__") if isinstance(thing, type) else getattr(thing, "__doc__", None)
    return inspect.cleandoc(doc) if isinstance(doc, str) else ""


@cache
def tree() -> Tree:
    """Return the public names of the live package, as the stubs have them."""
    return Tree()


class Stub:
    """A stub file: its definitions by name, and full names of the types that it names."""

    def __init__(self, path: str):
        file = ROOT.joinpath("stubs", "ingot", *path.split(".")) / "__init__.pyi"
        self.definitions: dict = {}
        self.full_names: dict = {}
        for node in ast.parse(file.read_text(encoding="utf-8")).body if file.exists() else ():
            if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
                self.definitions.setdefault(node.name, []).append(node)
                if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                    self.full_names[node.name] = dotted(path, node.name)
            elif isinstance(node, ast.AnnAssign) and isinstance(node.value, ast.Name) and isinstance(node.target, ast.Name):
                self.full_names[node.target.id] = dotted(path, node.value.id)           # `_device: TypeAlias = device`
            elif isinstance(node, ast.ImportFrom):
                self.full_names |= {a.asname or a.name: f"{node.module}.{a.name}" for a in node.names}

    def signature(self, node: ast.FunctionDef, is_method: bool, thing=None) -> Signature:
        """Return the signature of a function as a page shows it, with types by their full names. Defaults that the stub
        leaves out are those of `thing`."""
        modifiers = tuple(ast.unparse(d) for d in node.decorator_list if isinstance(d, ast.Name))
        args = deepcopy(node.args)
        if is_method and "staticmethod" not in modifiers:
            del (args.posonlyargs or args.args)[:1]
        every = [*args.posonlyargs, *args.args, args.vararg, *args.kwonlyargs, args.kwarg]
        for arg in filter(None, every):
            arg.annotation = self._qualified(arg.annotation)
        _fill_defaults(args, thing)
        returns = ""
        if node.returns is not None and node.name != "__init__":
            returns = f" -> {ast.unparse(self._qualified(deepcopy(node.returns)))}"
        text = f"({ast.unparse(args)}){returns}".replace("_np.", "numpy.")
        return Signature(_PREFIXES.sub("", text), modifiers)

    def _qualified(self, annotation):
        for node in ast.walk(annotation) if annotation is not None else ():
            if isinstance(node, ast.Name):
                node.id = self.full_names.get(node.id, node.id)
        return annotation


stub_of = cache(Stub)


def _fill_defaults(args: ast.arguments, thing):
    """Replace `...` by the default of the live function, if that is plain data."""
    try:
        live = inspect.signature(thing).parameters if thing is not None else {}
    except (TypeError, ValueError):
        return
    positional = [*args.posonlyargs, *args.args]
    last = positional[len(positional) - len(args.defaults):]
    for defaults, owners in ((args.defaults, last), (args.kw_defaults, args.kwonlyargs)):
        for i, (default, arg) in enumerate(zip(defaults, owners)):
            if isinstance(default, ast.Constant) and default.value is ... and arg.arg in live:
                value = live[arg.arg].default
                if type(value) in (bool, int, float, str, tuple, type(None)) and len(repr(value)) < 40:
                    defaults[i] = ast.Name(repr(value))


def _members(cls, nodes, stub) -> list:
    """Return the public methods and properties of a class that its stub documents, with what the class itself defines."""
    found: dict = {}
    for node in nodes:
        if isinstance(node, ast.FunctionDef) and (not node.name.startswith("_") or node.name == "__call__"):
            found.setdefault(node.name, []).append(node)
    members = []
    for name, overloads in found.items():
        if any(isinstance(d, ast.Attribute) for d in overloads[0].decorator_list):
            continue        # a setter
        is_property = any(isinstance(d, ast.Name) and d.id == "property" for d in overloads[0].decorator_list)
        doc = own_doc(getattr(cls, name, None)) or next(filter(None, map(ast.get_docstring, overloads)), "")
        members.append(Member(name, [stub.signature(node, True) for node in overloads], doc, is_property))
    return members


def _entry(path, name, thing, aliases) -> Entry:
    stub = stub_of(path)
    nodes = stub.definitions.get(name, [])
    if isinstance(thing, type):
        body = nodes[0].body if nodes else []
        init = [n for n in body if isinstance(n, ast.FunctionDef) and n.name == "__init__"]
        bases = [b for b in thing.__bases__ if b in tree().homes]
        return Entry(path, name, thing, aliases, [stub.signature(n, True, thing) for n in init], bases,
                     _members(thing, body, stub))
    signatures = [stub.signature(n, False, thing) for n in nodes if isinstance(n, ast.FunctionDef)]
    if not signatures:
        try:
            signatures = [Signature(str(inspect.signature(thing)))]
        except (TypeError, ValueError):
            signatures = [Signature("(...)")]
    return Entry(path, name, thing, aliases, signatures, [], [])


@cache
def entries() -> dict:
    """Return {object: its entry} of all public classes and functions."""
    aliases: dict = {thing: [] for thing in tree().homes}
    for path, names in tree().names.items():
        for name, thing in names.items():
            if isinstance(thing, (type, types.FunctionType)) and thing in aliases and tree().homes[thing] != (path, name):
                aliases[thing].append(dotted(path, name))
    return {thing: _entry(path, name, thing, sorted(aliases[thing])) for thing, (path, name) in tree().homes.items()
            if not name.startswith("_") or name.startswith("__")}


@cache
def _lines_of(file: Path) -> dict:
    """Return {qualified name: line} of the classes and functions in a file."""
    found: dict = {}

    def visit(node, prefix):
        for child in ast.iter_child_nodes(node):
            if isinstance(child, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
                found.setdefault(prefix + child.name, child.lineno)
                visit(child, f"{prefix}{child.name}.")
            elif isinstance(child, (ast.If, ast.Try, ast.With)):
                visit(child, prefix)

    visit(ast.parse(file.read_text(encoding="utf-8")), "")
    return found


def source_of(thing) -> tuple | None:
    """Return (file below the root, line) of the definition of a class or function; None if it is in no file of the package."""
    thing = inspect.unwrap(thing)
    if not isinstance(thing, type):
        file, line = Path(thing.__code__.co_filename), thing.__code__.co_firstlineno
        return (file.relative_to(ROOT).as_posix(), line) if file.is_relative_to(ROOT) else None
    for file in _files_of(thing):
        line = _lines_of(file).get(thing.__qualname__) or _line_naming(file, thing.__name__)
        if line:
            return file.relative_to(ROOT).as_posix(), line
    return None


def _files_of(cls) -> list:
    """Return the files that may define a class: that of its module, which users may see renamed, and those of its methods."""
    module = sys.modules.get(cls.__module__)
    files = [getattr(module, "__file__", None)]
    files += [value.__code__.co_filename for value in vars(cls).values() if isinstance(value, types.FunctionType)]
    return [file for file in map(Path, dict.fromkeys(filter(None, files))) if file.is_relative_to(ROOT) and file.exists()]


def _line_naming(file: Path, name: str) -> int | None:
    """Return the line of `Name = ...`, or else of a row `"Name": ...` or `"Name", ...`, of which a factory makes a class."""
    lines = file.read_text(encoding="utf-8").splitlines()
    for row in (rf"{name}\b[^=(]* = ", rf"""\s*\(?["']{name}["'][:,] *[^\s"]"""):
        for number, line in enumerate(lines, 1):
            if re.match(row, line):
                return number
    return None
