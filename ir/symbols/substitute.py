"""Symbolic numbers in plain data: collected, evaluated, replaced by values, parsed from text."""

import hashlib
import operator
import re
from collections.abc import Callable
from functools import lru_cache
from keyword import iskeyword
from typing import Any

import numpy as np

from ..errors import GraphError
from ..locks import new_rlock
from . import polynomial as poly
from .scope import Scope
from .symbolic import MATH, OPERATOR, ROUNDINGS, SymFloat, SymInt, hint, is_symbol, source_of

# Held by who has Python parse a text: its parser counts its depth in one place for all threads, and fails where they meet.
PARSING = new_rlock()
_MOST_FUNCTIONS = 512   # cached functions of sizes
MOST_NESTED = 64        # parentheses in each other that are written out; Python's parser goes to 200
_OPERATIONS: dict = {"Add": operator.add, "Sub": operator.sub, "Mult": operator.mul, "Div": operator.truediv,
                     "Pow": operator.pow, "FloorDiv": operator.floordiv, "Mod": operator.mod}
_FUNCTIONS: dict = {"abs": abs, "floordiv": operator.floordiv, "mod": operator.mod, "max": max, "float": float,
                    "float32": lambda x: float(np.float32(x)), **ROUNDINGS,
                    **{f"math_{name}": function for name, function in MATH.items()}}


_operators: list = []       # one function, which gives that of an operator for numbers; None for other names


def serve_operators(function_of: Callable):
    """Set the function that computes operators on numbers."""
    _operators.append(function_of)


def _function(name: str):
    """Return the function that a name in an expression means, if it is none of a scope."""
    found = _FUNCTIONS.get(name)
    if found is None and name.startswith(OPERATOR) and (made := _operators[0](name[len(OPERATOR):])) is not None:
        found = _FUNCTIONS[name] = made
    return found


def choice(name: str, function: Callable, always: bool = False) -> Callable:
    """Make a function of sizes a choice: it answers by the sizes' values now, also for symbolic ones.

    Scopes that record choices keep the answer as a condition; all scopes do if `always`.
    """
    _FUNCTIONS[name] = function

    def ask(*args):
        answer = function(*map(hint, args))
        symbol = next((x for x in args if type(x) is SymInt and (always or x.scope.judges)), None)
        if symbol is not None:
            symbol.scope.note(f"{name}({', '.join(map(source_of, args))}) == {answer!r}")
        return answer

    return ask


def table(numbers) -> str:
    """Return the name, in expressions, of a lookup in these numbers; the same numbers have the same name."""
    content = tuple([(type(x).__name__, x.hex() if type(x) is float else repr(x)) for x in numbers])
    name = f"table_{hashlib.sha256(repr(content).encode()).hexdigest()[:32]}"
    _FUNCTIONS.setdefault(name, tuple(numbers).__getitem__)
    return name


def parse_number(scope: Scope, text: str) -> SymFloat:
    """Return the SymFloat whose expression is `text`. Nothing is executed: only arithmetic on known names is parsed."""
    import ast  # here, since graphs are read long after the start

    with PARSING:
        tree = ast.parse(text, mode="eval").body
    value = _value_of(tree, scope.hints)
    if type(value) is not float:
        raise GraphError("it is no float")
    names = frozenset(n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and n.id in scope.hints)
    return SymFloat(scope, text, value, names)


def _value_of(tree, values):
    kind = type(tree).__name__
    if kind == "Constant" and (type(tree.value) in (int, float, bool) or tree.value in ("inf", "-inf", "nan")):
        return tree.value
    if kind == "Name" and tree.id in values:
        return values[tree.id]
    if kind == "UnaryOp" and type(tree.op).__name__ == "USub":
        return -_value_of(tree.operand, values)
    if kind == "BinOp" and type(tree.op).__name__ in _OPERATIONS:
        return _OPERATIONS[type(tree.op).__name__](_value_of(tree.left, values), _value_of(tree.right, values))
    if kind == "Call" and type(tree.func).__name__ == "Name" and _function(tree.func.id) and not tree.keywords:
        return _function(tree.func.id)(*[_value_of(a, values) for a in tree.args])
    raise GraphError("only arithmetic on known names is meant")


# Putting values in.


def evaluator(expressions, names) -> Callable:
    """Return a function from values of `names` to a tuple of the expressions' values."""
    expressions = tuple(expressions)
    body = ", ".join([source_of(x) for x in expressions])
    return function_of(names, f"({body}{',' if expressions else ''})")


def data_evaluator(data, names) -> Callable:
    """Return a function from values of `names` to plain data (nested tuples, slices) with numbers for symbols."""
    held: dict = {}
    return function_of(names, _text_of(data, held), held)


def _text_of(x, held) -> str:
    """Return plain data as Python text; objects without a literal go into `held`, by name."""
    kind = type(x)
    if kind is tuple:
        return f"({', '.join([_text_of(v, held) for v in x])}{',' * (len(x) == 1)})"
    if kind is slice:
        return f"slice{_text_of((x.start, x.stop, x.step), held)}"
    if is_symbol(x):
        return source_of(x)
    if kind in (int, bool, type(None)):
        return repr(x)
    name = f"_held{len(held)}"
    held[name] = x
    return name


def condition_check(conditions, names) -> Callable:
    """Return a function from values of `names` to whether all conditions of a scope hold."""
    return function_of(names, " and ".join(["True", *[f"({c})" for c in conditions]]))


def function_of(names, expression: str, held=()) -> Callable:
    """Return a function of the values of `names`; `held` has the expression's other names."""
    return _compiled(tuple(names), expression) if not held else _function_of(names, expression, held)


@lru_cache(_MOST_FUNCTIONS)
def _compiled(names: tuple, expression: str) -> Callable:
    return _function_of(names, expression, ())


def _function_of(names, expression: str, held) -> Callable:
    for name in _WORDS(expression):
        _function(name)
    space: dict = {"__name__": __name__, **_FUNCTIONS, **dict(held)}
    lines = "".join([f"    {line}\n" for line in _in_parts(expression)])
    exec(compile(f"def evaluate({', '.join(names)}):\n{lines}", "<sizes>", "exec"), space)
    return space["evaluate"]


def _in_parts(expression: str) -> list:
    """Return statements for an expression, none nested deeper than Python's parser goes, like a sum of hundreds of numbers."""
    if expression.count("(") < MOST_NESTED:
        return [f"return {expression}"]
    parts: list = []
    stack: list = [([], 0)]         # for each open parenthesis what came behind it, and how deep that is nested
    for token in re.split("([()])", expression):
        if token == "(":
            stack.append(([], 0))
        elif token == ")":
            inner, height = stack.pop()
            before, so_far = stack[-1]
            text = f"({''.join(inner)})"
            if height + 1 < MOST_NESTED:
                before.append(text)
                stack[-1] = before, max(so_far, height + 1)
                continue
            function = _CALLED(before[-1]).group() if before else ""
            if function and not iskeyword(function):
                before[-1], text = before[-1].removesuffix(function), function + text
            parts.append(f"_part{len(parts)} = {text}")
            before.append(f"_part{len(parts) - 1}")
        else:
            stack[-1][0].append(token)
    return [*parts, f"return {''.join(stack[0][0])}"]


def names_in(conditions, names) -> frozenset:
    """Return those of `names` that conditions of a scope mention."""
    return frozenset(names).intersection(_WORDS(" ".join(conditions)))


_CALLED: Any = re.compile(r"(?:[A-Za-z_][\w.]*)?$").search
_WORDS = re.compile(r"[A-Za-z_]\w*").findall


def has_symbols(x) -> bool:
    """Return whether plain data (numbers, tuples, slices) holds a symbolic number."""
    if isinstance(x, tuple):
        return any(map(has_symbols, x))
    if type(x) is slice:
        return has_symbols((x.start, x.stop, x.step))
    return is_symbol(x)


def collect(x, symbols: dict):
    """Enter the symbolic numbers in plain data into `symbols`, by key."""
    if isinstance(x, tuple):
        for v in x:
            collect(v, symbols)
    elif type(x) is slice:
        collect((x.start, x.stop, x.step), symbols)
    elif type(x) is SymInt:
        symbols.setdefault(x.poly, x)
    elif type(x) is SymFloat:
        symbols.setdefault(x.text, x)


def replaced(x, give: Callable):
    """Return plain data with `give(number)` in place of each symbolic number."""
    kind = type(x)
    if kind is tuple:
        return tuple([replaced(v, give) for v in x])
    if kind is SymInt or kind is SymFloat:
        return give(x)
    if kind is slice:
        return slice(*replaced((x.start, x.stop, x.step), give))
    if isinstance(x, tuple):
        made = [replaced(v, give) for v in x]
        return kind(*made) if hasattr(kind, "_fields") else tuple.__new__(kind, made)     # of texts, too
    return x


def bound_values(x, values):
    """Return plain data with numbers in it, for the values of the names of their scope, in order."""
    found: dict = {}
    collect(x, found)
    names = next(iter(found.values())).scope.hints
    numbers = dict(zip(found, evaluator(found.values(), names)(*values)))
    return replaced(x, lambda n: numbers[n.poly if type(n) is SymInt else n.text])


def valuer(names, values) -> Callable:
    """Return a function from the names' values, in order, to the value of a symbolic number."""
    given = dict(zip(names, values))

    def value(x):
        return poly.evaluate(x.poly, given) if type(x) is SymInt else evaluator((x,), given)(*given.values())[0]

    return value


def at_hint(x):
    """Return plain data with every symbolic number as it is now, without conditions."""
    return replaced(x, hint)


def slice_bounds(s: slice, n) -> tuple:
    """Return `s.indices(n)` for a positive step, also where sizes are symbolic."""
    if not (is_symbol(n) or is_symbol(s.start) or is_symbol(s.stop)):
        return s.indices(n)
    return _clipped(s.start, n, 0), _clipped(s.stop, n, n), 1 if s.step is None else s.step


def _clipped(i, n, default):
    if i is None:
        return default
    if i < 0:
        return i + n if i + n >= 0 else 0
    return i if i <= n else n


def as_int(n):
    """Return `int(n)`; a symbolic size stays one."""
    return n if n.__class__ is int else int(n)


def as_float(n):
    """Return `float(n)`; a symbolic number stays one, also that of a numpy scalar."""
    if isinstance(n, np.generic):
        n = n.item()
    return n if is_symbol(n) else float(n)


def is_same(a, b) -> bool:
    """Return whether two sizes, or two shapes, are equal whatever the symbols are, without conditions."""
    if isinstance(a, tuple):
        return a is b or (len(a) == len(b) and all(map(is_same, a, b)))
    return a is b or (a.poly == b.poly if type(a) is SymInt and type(b) is SymInt else
                      type(a) is not SymInt and type(b) is not SymInt and a == b)


def owned_by(scope: Scope, x):
    """Return a symbolic number of a scope with the same names as one of this scope."""
    if type(x) is SymInt:
        return scope.wrap(poly.put(x.poly, scope.fixed) if scope.fixed else x.poly)
    return SymFloat(scope, x.text, evaluator((x,), scope.hints)(*scope.hints.values())[0], x.names, x.quotient)
