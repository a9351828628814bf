"""Conditions on named sizes as text, checked without running any of it: comparisons of arithmetic on known names."""

import ast
import operator
from collections.abc import Callable

from ....ir.errors import FileError
from ....ir.symbols.substitute import PARSING
from ....ir.symbols.symbolic import ROUNDINGS

_ARITHMETIC: dict[type, Callable] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod, ast.Div: operator.truediv}
_RELATIONS: dict[type, Callable] = {
    ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt,
    ast.GtE: operator.ge, ast.Is: operator.is_}
_CALLS: dict[str, Callable] = {
    "floordiv": operator.floordiv, "mod": operator.mod, "abs": abs, "float": float, "max": max, "min": min,
    **ROUNDINGS}
_LONGEST = 2000


def holds(text: str, sizes: dict) -> bool:
    """Whether a condition holds for sizes by name; one that divides by zero does not."""
    try:
        return bool(_value(_tree(text), sizes))
    except ArithmeticError:
        return False


def value(text: str, sizes: dict) -> int:
    """The value of an expression over names."""
    return _value(_tree(text), sizes)


def _tree(text):
    if len(text) > _LONGEST:
        raise FileError("a condition on sizes is too long")
    try:
        with PARSING:
            return ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError, RecursionError) as e:
        raise FileError(f"{text!r} is no condition on sizes") from e


def _value(tree, sizes):
    kind = type(tree)
    if kind is ast.Constant and type(tree.value) in (int, float, bool):
        return tree.value
    if kind is ast.Name and tree.id in sizes:
        return sizes[tree.id]
    if kind is ast.UnaryOp and type(tree.op) is ast.USub:
        return -_value(tree.operand, sizes)
    if kind is ast.BinOp and type(tree.op) in _ARITHMETIC:
        return _ARITHMETIC[type(tree.op)](_value(tree.left, sizes), _value(tree.right, sizes))
    if kind is ast.BinOp and type(tree.op) is ast.Pow and type(tree.right) is ast.Constant and tree.right.value in (2, 3, 4):
        return _value(tree.left, sizes) ** tree.right.value
    if kind is ast.Compare and len(tree.ops) == 1 and type(tree.ops[0]) in _RELATIONS:
        return _RELATIONS[type(tree.ops[0])](_value(tree.left, sizes), _value(tree.comparators[0], sizes))
    if kind is ast.Call and type(tree.func) is ast.Name and tree.func.id in _CALLS and not tree.keywords:
        return _CALLS[tree.func.id](*[_value(a, sizes) for a in tree.args])
    raise FileError(f"{ast.unparse(tree)!r} is no condition on sizes")
