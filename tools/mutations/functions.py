"""Functions of files by name: all that have code of their own, lambdas among them.

The names are stable: `Class.method`, `outer.inner`, and `outer.<lambda 2>` for the second lambda in a function. This module and
`hits` are imported when interpreters start, so they import little.
"""

import ast
from collections import namedtuple

Function = namedtuple("Function", "name first last node")


def functions_in(tree) -> list:
    """Return the functions and lambdas of a syntax tree, in the order of the file."""
    functions: list = []
    _walk(tree, "", {}, functions)
    return functions


def _walk(node, name, lambdas, functions):
    for child in ast.iter_child_nodes(node):
        inner = name
        if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef)):
            inner = f"{name}.{child.name}".lstrip(".")
            functions.append(Function(inner, child.lineno, child.end_lineno, child))
        elif isinstance(child, ast.ClassDef):
            inner = f"{name}.{child.name}".lstrip(".")
        elif isinstance(child, ast.Lambda):
            lambdas[name] = lambdas.get(name, 0) + 1
            inner = f"{name}.<lambda {lambdas[name]}>"
            functions.append(Function(inner, child.lineno, child.end_lineno, child))
        _walk(child, inner, lambdas, functions)
