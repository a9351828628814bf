"""Signatures that annotations at run time cannot say: overloads, generics, decorators that keep a signature.

A file `ingot.utils.data.pyi` holds texts for the stub of `ingot.utils.data`. A function, with all its overloads, replaces the
generated one; of a class, the members written here replace the generated ones, and bases, if there are any. Other statements
are copied to the head of the stub. Docstrings come from the live package. `test_stubs.py` compares parameters with those of
the live functions.
"""

import ast
from pathlib import Path


class ClassText:
    """Bases and members of a class."""

    def __init__(self, node, source: str):
        self.bases = [ast.unparse(b) for b in node.bases]
        self.members = by_name(node.body, source)

    def member(self, name: str, doc: str) -> list:
        """Return the lines of a member."""
        return lines_of(self.members[name], doc)


class PageText:
    """Texts of one stub."""

    def __init__(self, source: str):
        self.functions: dict = {}
        self.classes: dict = {}
        self.head: list = []
        body = ast.parse(source).body
        for node in body:
            private = getattr(node, "name", "_").startswith("_")
            if isinstance(node, ast.ClassDef) and not private:
                self.classes[node.name] = ClassText(node, source)
            elif private:
                self.head += segment(node, source).splitlines()
        self.functions = by_name([n for n in body if isinstance(n, ast.FunctionDef) and not n.name.startswith("_")], source)

    def additional(self, names) -> list:
        """Return the functions that the live module does not list."""
        return [name for name in self.functions if name not in names]

    def function(self, name: str, doc: str) -> list:
        """Return the lines of a function."""
        return ["", *lines_of(self.functions[name], doc)]


class Texts(dict):
    """{path: PageText}."""

    def __init__(self, paths):
        folder = Path(__file__).parent
        super().__init__({path: PageText("") for path in paths})
        for file in sorted(folder.glob("*.pyi")):
            path = file.stem.removeprefix("ingot").removeprefix(".")
            self[path] = PageText(file.read_text())


def segment(node, source: str) -> str:
    """Return the source of a statement with its decorators and without its indentation."""
    first = min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", ()))])
    lines = source.splitlines()[first - 1:node.end_lineno]
    return "\n".join(line[node.col_offset:] for line in lines)


def by_name(nodes, source: str) -> dict:
    """Return {name: text} of functions and annotated names; the overloads of one stand together."""
    texts: dict = {}
    for node in nodes:
        name = getattr(node, "name", None) or getattr(getattr(node, "target", None), "id", None)
        if name:
            texts[name] = [*texts.get(name, ()), *segment(node, source).splitlines()]
    return texts


def lines_of(text: list, doc: str) -> list:
    """Return the lines of a function whose last overload has the docstring."""
    if not doc or not text[-1].endswith(": ..."):
        return text
    return [*text[:-1], text[-1].removesuffix(" ..."), "    " + doc]
