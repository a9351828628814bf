"""Graphs as Python code: the text of a function `forward`, and the objects that it names."""

import keyword
import math
import operator
import re
import sys
from typing import Any, NamedTuple

from ...ir.errors import ArgumentError
from .node import FACE, Node, is_name, public_path

__all__ = ["PythonCode", "python_code"]

_INFIX = {operator.add: "+", operator.sub: "-", operator.mul: "*", operator.truediv: "/", operator.floordiv: "//",
          operator.mod: "%", operator.pow: "**", operator.matmul: "@", operator.lshift: "<<", operator.rshift: ">>",
          operator.and_: "&", operator.or_: "|", operator.xor: "^", operator.eq: "==", operator.ne: "!=", operator.lt: "<",
          operator.le: "<=", operator.gt: ">", operator.ge: ">="}
_PREFIX = {operator.neg: "-", operator.pos: "+", operator.invert: "~"}


class PythonCode(NamedTuple):
    """The source of a function, and its global names."""

    src: str
    globals: dict[str, Any]


class _Writer:
    def __init__(self, root: str):
        self.root, self.lines, self.globals = root, [], {}     # type: ignore[var-annotated]

    def global_name(self, name: str, thing) -> str:
        name = re.sub(r"\W", "_", name).strip("_") or "thing"
        name = f"_{name}" if name[0].isdigit() or keyword.iskeyword(name) else name
        tried, number = name, 0
        while tried in self.globals and self.globals[tried] is not thing:
            number += 1
            tried = f"{name}_{number}"
        self.globals[tried] = thing
        return tried

    def thing(self, x) -> str:
        """Return the expression of an object that is not plain data."""
        if type(x).__module__ == "builtins" and getattr(x, "__module__", None) == "builtins" and hasattr(x, "__name__"):
            return self.global_name(x.__name__, x)      # len, getattr, int
        place = public_path(x)
        if place is not None:
            self.globals[FACE] = sys.modules[FACE]
            return place
        module, name = getattr(x, "__module__", None), getattr(x, "__qualname__", None)
        if isinstance(name, str) and isinstance(module, str):
            module = module.replace("_operator", "operator")
            if "<" not in name:
                name = f"{module}.{name}"
            return self.global_name(name, x)
        return self.global_name(f"constant_{type(x).__name__}", x)

    def value(self, a) -> str:
        if isinstance(a, Node):
            return a.name
        if isinstance(a, tuple):
            inside = ", ".join(map(self.value, a))
            if type(a) is not tuple:
                kind = self.thing(type(a))
                return f"{kind}({inside})" if hasattr(a, "_fields") else f"{kind}(({inside}{',' * (len(a) == 1)}))"
            return f"({inside}{',' * (len(a) == 1)})"
        if isinstance(a, list):
            return f"[{', '.join(map(self.value, a))}]"
        if isinstance(a, dict):
            return f"{{{', '.join([f'{self.value(k)}: {self.value(v)}' for k, v in a.items()])}}}"
        if isinstance(a, slice):
            return f"slice({self.value(a.start)}, {self.value(a.stop)}, {self.value(a.step)})"
        plain = type(a) in (bool, int, str, bytes, range, complex) or a is None or a is Ellipsis
        if plain or (type(a) is float and math.isfinite(a)):
            return "..." if a is Ellipsis else repr(a)
        return self.thing(a)

    def operand(self, a) -> str:
        text = self.value(a)
        return text if isinstance(a, Node) or text[:1] != "-" else f"({text})"

    def call(self, function: str, args, kwargs) -> str:
        named = [f"{k} = {self.value(v)}" if is_name(k) else f"**{{{k!r}: {self.value(v)}}}" for k, v in kwargs.items()]
        return f"{function}({', '.join([*map(self.value, args), *named])})"

    def attribute(self, start: str, path: str) -> str:
        for part in path.split("."):
            start = f"{start}.{part}" if is_name(part) else f'getattr({start}, "{part}")'
        return start

    def function_call(self, node) -> str:
        fn, args = node.target, node.args
        if not node.kwargs:
            if fn in _INFIX and len(args) == 2:
                return f"{self.operand(args[0])} {_INFIX[fn]} {self.operand(args[1])}"
            if fn in _PREFIX and len(args) == 1:
                return f"{_PREFIX[fn]}{self.operand(args[0])}"
            if fn is operator.getitem and len(args) == 2 and isinstance(args[0], Node):
                return f"{args[0]}[{self.value(args[1])}]"
            if fn is getattr and len(args) == 2 and isinstance(args[0], Node) and isinstance(args[1], str) and is_name(args[1]):
                return f"{args[0]}.{args[1]}"
        return self.call(self.thing(fn), args, node.kwargs)

    def expression(self, node) -> str:
        if node.op == "get_attr":
            return self.attribute(self.root, node.target)
        if node.op == "call_function":
            return self.function_call(node)
        if node.op == "call_method":
            start = node.args[0]
            text = self.value(start) if isinstance(start, (Node, tuple, list, dict, str)) else f"({self.value(start)})"
            return self.call(self.attribute(text, node.target), node.args[1:], node.kwargs)
        if node.op == "call_module":
            return self.call(self.attribute(self.root, node.target), node.args, node.kwargs)
        raise ArgumentError(f"{node} is no step of a function: {node.op}")


def _parameters(writer, nodes) -> tuple[str, list[str]]:
    """Return the parameters of the function, and lines that rename starred ones to their nodes."""
    shown, lines, optional, starred = [], [], False, False
    for node in nodes:
        target = str(node.target)
        if target[0] == "*":
            starred |= target[:2] != "**"
            if node.name != target.lstrip("*"):
                lines.append(f"{node.name} = {target.lstrip('*')}")
            shown.append(target)
            continue
        if optional and not node.args and not starred:      # a parameter without default after one with default is a keyword
            shown.append("*")
            starred = True
        if node.name != target:
            lines.append(f"{node.name} = {target}")
        optional |= bool(node.args)
        shown.append(f"{target} = {writer.value(node.args[0])}" if node.args else target)
    return ", ".join([writer.root, *shown]), lines


def _last_uses(nodes) -> dict:
    """Return the values that are dead after each node."""
    last: dict = {}
    found: dict = {}
    for node in reversed(nodes):
        for used in (*node.all_input_nodes, node):
            if used not in last:
                last[used] = node
                if used.op != "output":
                    found.setdefault(node, []).append(used.name)
    return found


def python_code(graph, root: str = "self") -> PythonCode:
    """Return the source of a graph's function."""
    writer, nodes = _Writer(root), list(graph.nodes)
    parameters, lines = _parameters(writer, [n for n in nodes if n.op == "placeholder"])
    over = _last_uses(nodes)
    for node in nodes:
        if node.op == "placeholder":
            continue
        if node.op == "output":
            lines.append(f"return {writer.value(node.args[0])}")
            continue
        text = writer.expression(node)
        gone = [name for name in over.get(node, ()) if name != node.name]
        unused = node in over and node.name in over[node]
        line = text if unused else f"{node.name} = {text}"
        lines.append(line + (f";  {' = '.join(gone)} = None" if gone else ""))
    body = "\n".join([f"    {line}" for line in lines or ["pass"]])
    return PythonCode(f"def forward({parameters}):\n{body}\n", writer.globals)
