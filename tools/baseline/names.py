"""Names that users reach: those of public module paths, with kinds and signatures, and those of stub files.

A module with an `__all__` promises those names; one without promises the functions, classes and values of its own. Other names
that happen to be there, such as imports, are listed apart: they may change. Annotations are left out of signatures, since they
name private modules.
"""

import ast
import importlib
import inspect
import types

from .checkout import ROOT, defining
from .generated import digest

LISTED = "Tensor", "Module"         # classes whose members are listed; of others there is a hash
PLAIN = int, float, bool, str, bytes, type(None), complex


def of_modules() -> dict:
    """Return `{"promised": {path: {name: kind and signature}}, "also": {path: names}}`."""
    import ingot

    paths = ["", *sorted({*defining("PublicPaths").PUBLIC, *(path for path in of_stubs() if path and path != "_tensor")})]
    promised, also = {}, {}
    for path in paths:
        module = importlib.import_module(f"ingot.{path}") if path else ingot
        there = [name for name, value in vars(module).items() if name[:2] != "__" and type(value) is not types.ModuleType]
        named = getattr(module, "__all__", None)
        own = [n for n in there if not n.startswith("_") and getattr(vars(module)[n], "__module__", None) == module.__name__]
        names = sorted(set(own if named is None else named))
        promised[path] = {name: described(getattr(module, name)) if hasattr(module, name) else "missing" for name in names}
        also[path] = sorted({name for name in there if not name.startswith("_")}.difference(names))
    listed = {name: members(getattr(ingot, name, None) or getattr(ingot.nn, name)) for name in LISTED}
    return {"promised": promised, "members": listed, "also": also}


def of_stubs() -> dict:
    """Return `{path: names}` of the stub files, and of those beside the source."""
    tensor, = [path for path in ROOT.rglob("tensor.pyi") if path.relative_to(ROOT).parts[0] == "runtime"]
    found = {"_tensor": names_in(tensor)}
    for path in sorted((ROOT / "stubs").rglob("*.pyi")):
        found[".".join(path.relative_to(ROOT / "stubs" / "ingot").parts[:-1])] = names_in(path)
    return found


def names_in(path) -> list[str]:
    """Return the names that a stub file binds, with those of its classes; of what it imports as a whole, a star."""
    found = set()
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        found.update(bound_by(node))
        if isinstance(node, ast.ClassDef):
            found.update(f"{node.name}.{name}" for inner in node.body for name in bound_by(inner))
    return sorted(found)


def bound_by(node) -> list[str]:
    """Return the names that a statement binds for whoever imports the stub."""
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return [node.name]
    if isinstance(node, ast.ImportFrom):
        return ["*" if a.name == "*" else a.asname for a in node.names if a.name == "*" or a.asname]
    if isinstance(node, ast.Import):
        return [a.asname for a in node.names if a.asname]
    targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
    return [t.id for t in targets if isinstance(t, ast.Name)]


def described(value) -> str:
    """Return the kind of a value, with its signature, members or text."""
    if isinstance(value, type):
        return f"class{signature(value)} {digest(' '.join(members(value)))}"
    if isinstance(value, types.ModuleType):
        return "module"
    return f"callable{signature(value)}" if callable(value) else f"{type(value).__name__} {text_of(value)}".strip()


def members(cls) -> list[str]:
    """Return the public attributes of a class, each with its signature."""
    found = []
    for name in dir(cls):
        if not name.startswith("_"):
            value = inspect.getattr_static(cls, name)
            value = getattr(value, "__func__", value)
            found.append(name + (signature(value) if callable(value) and not isinstance(value, type) else ""))
    return found


def signature(value) -> str:
    """Return the parameters of a callable without annotations."""
    try:
        parameters = inspect.signature(value).parameters.values()
    except (ValueError, TypeError):
        return "(?)"
    return "(" + ", ".join([str(p.replace(annotation=p.empty, default=p.empty)) + ("" if p.default is p.empty else
                                                                                  f"={text_of(p.default) or 'object'}")
                            for p in parameters]) + ")"


def text_of(value) -> str:
    """Return the text of a plain value; of others their name, if they have one."""
    if isinstance(value, (tuple, list)) and type(value) in (tuple, list):
        return "(" + ", ".join([text_of(v) for v in value]) + ")"
    return repr(value) if type(value) in PLAIN else str(getattr(value, "__name__", ""))
