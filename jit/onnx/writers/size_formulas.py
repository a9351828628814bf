"""Dynamic sizes of a model, and the nodes that compute derived sizes at run time.

The numbers of a recorded graph are symbolic (`ir/symbols/symbolic.py`). A writer's question about them must have the same
answer at all sizes at which the function was tried; otherwise the sizes would have to be fixed.
"""

import ast
from collections.abc import Callable
from typing import Any

import numpy as np

from ....ir import dtype as dt
from ....ir.symbols.scope import Scope
from ....ir.symbols.substitute import condition_check, has_symbols
from ....ir.symbols.symbolic import source_of
from ...errors.errors import ExportError
from ..format import proto


class FixedSize(ExportError):
    """Error: an operation needs fixed sizes."""

    def __init__(self, subject: str):
        super().__init__(f"{subject} would have to be fixed")


class Sizes(Scope):
    """Dynamic sizes of the recording, and the `points` (values of all of them, in order) at which the function was tried."""

    def __init__(self, recorded: Scope, points: list):
        super().__init__()
        self.hints, self.lows, self.points = dict(recorded.hints), dict(recorded.lows), points
        self.is_key = False

    def _answers(self, condition: str) -> set:
        check = condition_check((condition,), self.hints)
        return {bool(check(*point)) for point in self.points}

    def decide(self, relation, p) -> bool:
        """Answer a comparison: sizes are equal if they are at all points."""
        if relation == "==":
            return self._answers(f"{self._formula(p)} == 0") == {True}
        return super().decide(relation, p)

    def _formula(self, p) -> str:
        return source_of(self.wrap(p))

    def pin(self, p, value):
        raise FixedSize(f"the size {self._formula(p)}")

    def note(self, condition):
        """Raise if a condition does not hold at all points."""
        if self._answers(condition) != {True}:
            raise FixedSize(f"a size for which {condition}")


def is_fixed(numbers) -> bool:
    """Return whether none of the numbers is symbolic."""
    return not has_symbols(tuple(numbers))


# Formulas, as nodes on vectors of one element: (name, whether it is a float) of each.

_BINARY = {ast.Add: "Add", ast.Sub: "Sub", ast.Mult: "Mul", ast.Div: "Div", ast.Pow: "Pow"}
_WHOLE = ("floordiv", "mod")
_FUNCTIONS = {f"math_{name}": kind for name, kind in {
    "sqrt": "Sqrt", "exp": "Exp", "log": "Log", "sin": "Sin", "cos": "Cos", "tan": "Tan", "tanh": "Tanh", "sinh": "Sinh",
    "cosh": "Cosh", "asin": "Asin", "acos": "Acos", "atan": "Atan", "pow": "Pow", "fabs": "Abs"}.items()}
_FUNCTIONS["abs"] = "Abs"


class Formulas:
    """Writer of formulas over named sizes; `size(name)` returns the name of the vector that holds one."""

    def __init__(self, writer, size: Callable[[str], str]):
        self.node, self.const, self.size = writer.node, writer.const, size

    def written(self, number, dtype) -> str:
        name, is_float = self._value(ast.parse(source_of(number), mode="eval").body)
        have = dt.float64 if is_float else dt.int64
        return name if have is dtype else self.node("Cast", name, to=proto.type_number(dtype))

    def _value(self, tree) -> tuple[str, bool]:
        kind: Any = type(tree)
        if kind is ast.Constant and type(tree.value) in (int, float):
            is_float = type(tree.value) is float
            return self.const(np.array([tree.value], np.float64 if is_float else np.int64), "number"), is_float
        if kind is ast.Name:
            return self.size(tree.id), False
        if kind is ast.UnaryOp and type(tree.op) is ast.USub:
            name, is_float = self._value(tree.operand)
            return self.node("Neg", name), is_float
        if kind is ast.BinOp:
            return self._binary(type(tree.op), self._value(tree.left), self._value(tree.right))
        if kind is ast.Call and type(tree.func) is ast.Name:
            return self._call(tree.func.id, [self._value(a) for a in tree.args])
        raise FixedSize(f"a size in {ast.unparse(tree)}")

    def _binary(self, op, a, b):
        if op in (ast.FloorDiv, ast.Mod):
            return self._call("floordiv" if op is ast.FloorDiv else "mod", [a, b])
        floats = a[1] or b[1] or op in (ast.Div, ast.Pow)
        operands = [self._float(x) if floats else x[0] for x in (a, b)]
        return self.node(_BINARY[op], *operands), floats

    def _call(self, name, operands):
        if name in _WHOLE:
            if any(is_float for _, is_float in operands):
                return self._of_floats(name, *map(self._float, operands)), True
            a, b = (n for n, _ in operands)
            rest = self.node("Mod", a, b)               # it has the sign of b, as Python's; Div would cut
            return (rest if name == "mod" else self.node("Div", self.node("Sub", a, rest), b)), False
        if name == "max":
            return self.node("Max", *[n for n, _ in operands]), False
        floats = [self._float(x) for x in operands]
        if name == "float":
            return floats[0], True
        if name == "float32":
            narrow = self.node("Cast", floats[0], to=proto.type_number(dt.float32))
            return self._float((narrow, False)), True
        if name not in _FUNCTIONS:
            raise FixedSize(f"a size of which it takes {name.removeprefix('math_')}")
        return self.node(_FUNCTIONS[name], *floats), True

    def _of_floats(self, name, a, b):
        """Return the floor quotient of floats, or the remainder, as Python computes them, from C's remainder."""
        cut = self.node("Mod", a, b, fmod=1)
        zero = self.const(np.zeros(1), "zero")
        rest = self.node("Where", self.node("Less", self.node("Mul", cut, b), zero), self.node("Add", cut, b), cut)
        return rest if name == "mod" else self.node("Round", self.node("Div", self.node("Sub", a, rest), b))

    def _float(self, operand):
        name, is_float = operand
        return name if is_float else self.node("Cast", name, to=proto.type_number(dt.float64))
