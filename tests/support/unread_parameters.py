"""Parameters of public functions and classes that no code reads: found on the source, with one search through all calls.

A parameter is read if the body loads it, other than to hand it to a parameter of the project that is not read itself. It is
excused if the docstring of the function or its class names it in backquotes in a sentence that says why it does nothing.
"""

import ast
import importlib
import inspect
import re
import types
from functools import cache
from pathlib import Path
from typing import NamedTuple

import ingot
from ingot import paths

ROOT = Path(ingot.__file__).parent


class Source(NamedTuple):
    """A function in the source: its syntax tree, the docstrings that describe it, and the file."""

    node: ast.FunctionDef
    docs: str
    file: str


@cache
def sources(file: str) -> dict:
    """Return {first line: `Source`} of the functions in a file; the line is that of the first decorator."""
    found = {}

    def walk(node, docs):
        for child in ast.iter_child_nodes(node):
            inner = docs
            if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef)):
                own = ast.get_docstring(child) or ""
                first = min([child.lineno, *[d.lineno for d in child.decorator_list]])
                found[first] = Source(child, f"{docs}\n\n{own}", file)
                inner = ""
            elif isinstance(child, ast.ClassDef):
                inner = ast.get_docstring(child) or ""
            walk(child, inner)

    walk(ast.parse(Path(file).read_text()), "")
    return found


def source_of(function) -> Source | None:
    code = getattr(function, "__code__", None)
    if code is None or not code.co_filename.startswith(str(ROOT)):
        return None
    return sources(code.co_filename).get(code.co_firstlineno)


def parameters(node) -> list:
    a = node.args
    named = [p.arg for p in (*a.posonlyargs, *a.args, *a.kwonlyargs)]
    return named + [p.arg for p in (a.vararg, a.kwarg) if p is not None]


_CONSTANTS = "set()", "[]", "{}", "()"


def is_abstract(node) -> bool:
    """Return whether the body only raises, or returns a constant: the function, not a parameter, is without effect."""
    body = [s for s in node.body if not (isinstance(s, ast.Expr) and isinstance(s.value, ast.Constant))]
    if not body or isinstance(body[0], ast.Raise):
        return True
    return isinstance(body[0], ast.Return) and (body[0].value is None or ast.unparse(body[0].value) in _CONSTANTS or
                                                isinstance(body[0].value, ast.Constant))


def inner_functions(function) -> list:
    """Return the functions that a wrapper calls: what it names as wrapped, and functions in its closure."""
    found = [getattr(function, name) for name in ("__wrapped__", "_asks_for") if hasattr(function, name)]
    if function.__code__.co_flags & (inspect.CO_VARARGS | inspect.CO_VARKEYWORDS):
        for cell in function.__closure__ or ():
            try:
                content = cell.cell_contents
            except ValueError:
                continue
            if isinstance(content, types.FunctionType):
                found.append(content)
    return found


def callee(call, function):
    """Return the function of the project that a call names by a global, or by a global module's attribute."""
    spoken, space = call.func, function.__globals__
    try:
        if isinstance(spoken, ast.Name):
            found = space.get(spoken.id)
        elif isinstance(spoken, ast.Attribute) and isinstance(spoken.value, ast.Name) and spoken.value.id in space:
            found = getattr(space[spoken.value.id], spoken.attr, None)
        else:
            return None
    except Exception:
        return None
    if isinstance(found, type) and found.__module__.startswith("ingot"):
        found = found.__init__
        return (found, 1) if isinstance(found, types.FunctionType) else None
    return (found, 0) if isinstance(found, types.FunctionType) else None


def unread(function, depth=1) -> list:
    """Return the parameters of a function that its body never reads."""
    source = source_of(function)
    if source is None or is_abstract(source.node):
        return []
    names = [n for n in parameters(source.node) if not n.startswith("_")]
    ignored = set()     # ids of names whose value nothing reads
    for node in ast.walk(source.node):
        if isinstance(node, ast.Assign) and [ast.unparse(t) for t in node.targets] == ["_"]:
            ignored |= {id(n) for n in ast.walk(node.value)}
        if depth and isinstance(node, ast.Call):
            target = callee(node, function)
            inner = source_of(target[0]) if target else None
            if inner is None or is_abstract(inner.node) or any(isinstance(a, ast.Starred) for a in node.args):
                continue
            useless = unread(target[0], depth - 1)
            a = inner.node.args
            order = [p.arg for p in (*a.posonlyargs, *a.args)][target[1]:]
            for name, value in [*zip(order, node.args), *[(k.arg, k.value) for k in node.keywords]]:
                if isinstance(value, ast.Name) and name in useless:
                    ignored.add(id(value))
    read = {n.id for s in source.node.body for n in ast.walk(s)
            if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load) and id(n) not in ignored}
    if "locals" in read:
        return []
    read -= stored_for_nobody(source) & names_once(source)
    first = names[:1] if names[:1] in (["self"], ["cls"], ["mcs"]) else []
    return [n for n in names if n not in read and n not in first]


def names_once(source) -> set:
    """Return the names that the body of a function loads once."""
    loads = [n.id for s in source.node.body for n in ast.walk(s) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)]
    return {n for n in loads if loads.count(n) == 1}


def stored_for_nobody(source) -> set:
    """Return the names that a method stores in attributes of self which no file of the room reads."""
    found = set()
    for node in ast.walk(source.node):
        for target in node.targets if isinstance(node, ast.Assign) else ():
            both = isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple)
            pairs = zip(target.elts, node.value.elts) if both else [(target, node.value)]
            found |= {value.id for place, value in pairs if isinstance(place, ast.Attribute) and isinstance(value, ast.Name)
                      and ast.unparse(place.value) == "self" and place.attr not in read_in(Path(source.file).parent)}
    return found


@cache
def read_in(folder) -> set:
    """Return the attributes that files of a folder read, and the words of their strings, which may name attributes."""
    found = set()
    for path in folder.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load):
                found.add(node.attr)
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                found.update(re.findall(r"\w+", node.value) if node.value.count("\n") == 0 else ())
    return found


def is_excused(source, name) -> bool:
    sentences = re.split(r"(?<=\.)\s", re.sub(r"\s+", " ", source.docs))
    return any(f"`{name}`" in s and re.search(r"\bignored(:| because| since)|\bkept for\b", s) for s in sentences)


def public_functions() -> dict:
    """Return {function: (path, class or None)} of all public functions, methods and constructors, and of the functions that
    they wrap."""
    found: dict = {}
    for path, m in modules().items():
        for name in sorted({*dir(m), *getattr(m, "__all__", ())}):
            value = getattr(m, name, None)
            if name.startswith("_") or not str(getattr(value, "__module__", "")).startswith("ingot"):
                continue
            add(found, f"{path}.{name}", value)
    return found


def add(found, path, value, owner=None):
    if isinstance(value, type):
        for c in reversed(value.__mro__):
            if c.__module__.startswith("ingot"):
                for n, v in vars(c).items():
                    if (not n.startswith("_") or n in ("__init__", "__new__", "__call__")) and not isinstance(v, type):
                        v = v.fget if isinstance(v, property) else getattr(v, "__func__", v)
                        if isinstance(v, types.FunctionType):
                            add(found, f"{path}.{n}" if c is value else f"{c.__module__}.{c.__name__}.{n}", v, c)
    elif isinstance(value, types.FunctionType):
        if value not in found:
            found[value] = path, owner
            for inner in inner_functions(value):
                add(found, path, inner, owner)
    elif isinstance(value, types.MethodType):
        add(found, path, value.__func__)


def modules() -> dict:
    """Return {path: module} of the public modules."""
    found = {"ingot": ingot, "ingot.jit": ingot.jit}
    found |= {f"ingot.{path}": importlib.import_module(f"ingot.{path}") for path in sorted(paths.PUBLIC)}
    return found


def is_required_by_base(function, owner, name) -> bool:
    """Return whether a method must take a parameter, without a default, because a base class has the method."""
    takes = inspect.signature(function, follow_wrapped=False).parameters[name]
    bases = owner.__mro__[1:] if owner is not None else ()
    return takes.default is takes.empty and takes.kind < 2 and any(
        c.__module__.startswith("ingot") and function.__name__ in vars(c) for c in bases)


def is_read_by_twin(function, owner, name) -> bool:
    """Return whether Python hands a parameter of `__new__` to `__init__` as well, or the other way, and that reads it."""
    other = {"__new__": "__init__", "__init__": "__new__"}.get(function.__name__)
    if owner is None or other is None:
        return False
    twins = [vars(c)[other] for c in owner.__mro__ if other in vars(c) and c.__module__.startswith("ingot")]
    twin = getattr(twins[0], "__func__", twins[0]) if twins else None
    source = source_of(twin)
    if source is None:
        return False
    stars = [a.arg for a in (source_of(function).node.args.vararg, source_of(function).node.args.kwarg) if a is not None]
    return name in stars or (name in parameters(source.node) and name not in unread(twin))


def faults() -> list:
    """Return (file, line, function, parameter) of each parameter that is neither read nor excused."""
    seen = {}
    for f, (path, owner) in public_functions().items():
        source = source_of(f)
        for name in unread(f) if source else ():
            if not (is_excused(source, name) or is_required_by_base(f, owner, name) or is_read_by_twin(f, owner, name)):
                seen[source.file, source.node.lineno, name] = path
    return sorted((str(Path(file).relative_to(ROOT)), line, path, name) for (file, line, name), path in seen.items())
