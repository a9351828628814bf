"""Names for messages: arguments (`x.shape[0]`, `batch['tokens'].shape[1]`, `self.temperature`) and traced functions."""

import functools
import inspect
import re
from dataclasses import fields, is_dataclass
from typing import Any

from ...ir.graph.printer import format_line
from ...ir.symbols.substitute import function_of
from ...runtime.core.tensor import Tensor
from ...runtime.nn.base.module import Module
from ..bytecode.reads import key_text
from ..errors.errors import Position, TraceError
from ..guards.arg_pytree import ArrayArgument
from ..guards.frames import position_of
from ..proxies.numpy_scalars import NUMBERS

SIZE, NUMBER = "size", "number"
_BITS = re.compile(r"\((.+)\)\.hex\(\) == '([^']+)'")
_ANSWER = re.compile(r"\((.+)\) is (True|False)")


class Labels:
    """Names of the tensors and of the numbers in a call, in the order of `arg_pytree.flatten`."""

    def __init__(self, parameters, args, kwargs, locations=()):
        self.tensors: list = []
        self.numbers: list = []
        for i, x in enumerate(args):
            self._note(x, parameters[i] if i < len(parameters) else f"argument {i}")
        for name, x in kwargs.items():
            self._note(x, name)
        for place in locations:
            self._note(place.value(), str(place.chain))

    def _note(self, x, text):
        if isinstance(x, Tensor) or type(x) is ArrayArgument:
            self.tensors.append(text)
        elif type(x) in NUMBERS:
            self.numbers.append(text)
        elif isinstance(x, dict):
            for k, v in x.items():
                self._note(v, f"{text}[{key_text(k)}]")
        elif isinstance(x, (tuple, list)):
            for i, v in enumerate(x):
                self._note(v, f"{text}[{i}]")
        elif is_dataclass(x) and not isinstance(x, type) and type(x).__hash__ is None:
            for f in fields(x):
                self._note(getattr(x, f.name), f"{text}.{f.name}")

    def of(self, place) -> str:
        """Return the name of a place: ("size", argument, dim) or ("number", position)."""
        known = self.tensors if place[0] == SIZE else self.numbers
        text = known[place[1]] if place[1] < len(known) else f"{place[0]} {place[1]}"
        return f"{text}.shape[{place[2]}]" if place[0] == SIZE else text


def condition_in_words(condition: str, names: dict) -> str:
    """Return a condition of a scope with names for its symbols."""
    bits, answer = _BITS.fullmatch(condition), _ANSWER.fullmatch(condition)
    if bits:
        condition = f"{bits[1]} == {float.fromhex(bits[2])!r}"
    elif answer:
        condition = answer[1] if answer[2] == "True" else f"not ({answer[1]})"
    return re.sub(r"\b[A-Za-z_]\w*\b", lambda match: names.get(match[0], match[0]), condition)


def first_failing(conditions: dict, values: dict, names: dict) -> str | None:
    """Return in words the first condition that does not hold for values of the symbols, with the line that needs it."""
    for condition, line in conditions.items():
        try:
            holds = function_of(values, condition)(*values.values())
        except (ArithmeticError, ValueError):
            holds = False
        if not holds:
            return condition_in_words(condition, names) + (f" (needed at {format_line(line)})" if line else "")
    return None


def definition_of(fn) -> Position:
    """Return where a traced function, method, module or callable object is defined."""
    inner: Any = inspect.unwrap(fn)
    name = getattr(fn, "__qualname__", type(fn).__qualname__)
    while isinstance(inner, functools.partial):
        inner, name = inner.func, getattr(inner.func, "__qualname__", name)
    if isinstance(inner, Module):
        inner = inspect.unwrap(inner.forward)
    code = getattr(inner, "__code__", None) or getattr(type(inner).__call__, "__code__", None)
    return Position("<C>", 0, name) if code is None else Position(code.co_filename, code.co_firstlineno, name)


def locate(error: TraceError, fn):
    """Name in an error the user's line that it came from, or that of the traced function."""
    error.locate(position_of(error) or definition_of(fn))


def parameters_of(fn) -> tuple:
    """Return the names of a function's parameters, or those of a module's forward."""
    try:
        return tuple(inspect.signature(fn.forward if isinstance(fn, Module) else fn).parameters)
    except (TypeError, ValueError):      # of a function that does not say
        return ()
