"""Product modules that note which of their functions run, in this process and in those that it starts.

An import hook compiles them with one more statement at the start of every function, which sets a byte. The bytes are a file
that forked processes share, and started ones find through the environment (`sitecustomize` calls `install`).
"""

import ast
import builtins
import json
import marshal
import mmap
import os
import sys
from importlib.machinery import PathFinder, SourceFileLoader
from typing import Any

from .functions import functions_in

FOLDER, ROOT, BYTES = "INGOT_HITS_FOLDER", "INGOT_HITS_ROOT", "INGOT_HITS_FILE"     # names in the environment
PACKAGE = "ingot"
everywhere: Any = builtins


def marked(text: str, file: str, base: int):
    """Compile a file so that its function number n sets byte `base + n`. Lines keep their numbers."""
    tree = ast.parse(text)
    for n, f in enumerate(functions_in(tree), base):
        body = f.node.body
        if isinstance(f.node, ast.Lambda):
            setting = _parsed(f"__hits__.__setitem__({n}, 1)", body).value
            f.node.body = ast.copy_location(ast.BoolOp(ast.Or(), [setting, body]), body)
        else:
            first = next((i for i, s in enumerate(body) if not _is_docstring(s)), len(body))
            body.insert(first, _parsed(f"__hits__[{n}] = 1", body[min(first, len(body) - 1)]))
    return compile(tree, file, "exec", dont_inherit=True)


def _parsed(text, at):
    """Parse a statement, and give all of it the place of a node."""
    made = ast.parse(text).body[0]
    for node in ast.walk(made):
        ast.copy_location(node, at)
    return made


def _is_docstring(statement):
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant) and type(statement.value.value) is str


class _Loader(SourceFileLoader):
    """Loads a module with its functions marked, from a copy of its code where one was kept."""

    def __init__(self, name, path, base):
        super().__init__(name, path)
        self._base = base

    def get_code(self, fullname):
        kept = os.path.join(os.environ[FOLDER], "code", f"{self._base}-{self.name}-{os.stat(self.path).st_mtime_ns}")
        if os.path.exists(kept):
            with open(kept, "rb") as source:
                return marshal.loads(source.read())
        with open(self.path, encoding="utf-8") as source:
            code = marked(source.read(), self.path, self._base)
        os.makedirs(os.path.dirname(kept), exist_ok=True)
        with open(f"{kept}.{os.getpid()}", "wb") as out:
            out.write(marshal.dumps(code))
        os.replace(f"{kept}.{os.getpid()}", kept)
        return code


class _Finder:
    """Finds the product's modules for `_Loader`."""

    def __init__(self, bases, root):
        self._bases, self._root = bases, root

    def find_spec(self, name, path=None, target=None):
        if name != PACKAGE and not name.startswith(PACKAGE + "."):
            return None
        spec = PathFinder.find_spec(name, path, target)
        if spec is not None and spec.origin is not None and type(spec.loader) is SourceFileLoader:
            base = self._bases.get(os.path.relpath(os.path.realpath(spec.origin), self._root))
            if base is not None:
                spec.loader = _Loader(name, spec.loader.path, base)
        return spec


def install():
    """Mark modules that are imported from now on; called when an interpreter starts."""
    with open(os.path.join(os.environ[FOLDER], "functions.json"), encoding="utf-8") as source:
        listed = json.load(source)
    everywhere.__hits__ = bytearray(listed["count"])
    if os.environ.get(BYTES):
        use(os.environ[BYTES])
    sys.meta_path.insert(0, _Finder(listed["bases"], os.environ[ROOT]))


def use(file: str):
    """Set the bytes in a file, which exists from then on."""
    size = len(everywhere.__hits__)
    with open(file, "a+b") as out:
        out.truncate(size)
        everywhere.__hits__ = mmap.mmap(out.fileno(), size)
    os.environ[BYTES] = file
