"""Names for messages: arguments (`x.shape[0]`, `batch['tokens'].shape[1]`, `self.temperature`) and traced functions."""

import functools
import inspect
import re
from dataclasses import is_dataclass
from typing import Any

from ...ir.cached_property import cached_property
from ...ir.draw.tables import clipped
from ...ir.graph.printer import format_line
from ...ir.interrupts import raise_interrupt
from ...ir.symbols.substitute import function_of
from ...runtime.nn.base.module import Module
from ..bytecode.reads import key_text
from ..errors.errors import Position, TraceError
from ..guards.arg_pytree import DEFAULTS, MADE, NODE, NUMBER, OBJECT, READ, TENSOR, ByIdentity
from ..guards.frames import position_of

SIZE = "size"
_BITS = re.compile(r"\((.+)\)\.hex\(\) == '([^']+)'")
_ANSWER = re.compile(r"\((.+)\) is (True|False)")


class Labels:
    """Names of the tensors and of the numbers in a call, read off its spec (`arg_pytree.flatten`), and then of `locations`,
    which held values of these `kinds`."""

    def __init__(self, parameters=(), spec=(tuple, ((tuple, ()), (dict, ()))), locations=(), kinds=()):
        self._call = parameters, spec, locations, kinds or ()

    @cached_property
    def _names(self) -> tuple:
        """The names of the tensors, and those of the numbers; few kinds of calls are ever asked for them."""
        parameters, spec, locations, kinds = self._call
        tensors: list = []
        numbers: list = []
        for name, part in argument_names(parameters, spec):
            _note(part, name, tensors, numbers)
        for place, kind in zip(locations, kinds):
            if kind is not None:
                (tensors if kind == TENSOR else numbers).append(str(place.chain))
        return tensors, numbers

    def add_numbers(self, names: list):
        self._names[1].extend(names)

    def of_tensor(self, i) -> str:
        """Return the name of a tensor by its position."""
        tensors = self._names[0]
        return tensors[i] if i < len(tensors) else f"tensor {i + 1}"

    def of_location(self, i) -> str:
        """Return the name of a location by its position."""
        return str(self._call[2][i].chain)

    def of(self, place) -> str:
        """Return the name of a place: ("size", argument, dim) or ("number", position)."""
        known = self._names[place[0] != SIZE]
        text = known[place[1]] if place[1] < len(known) else f"{place[0]} {place[1]}"
        return f"{text}.shape[{place[2]}]" if place[0] == SIZE else text


def _note(spec, text, tensors: list, numbers: list):
    """Add the names of the tensors and numbers in a part of a call."""
    if isinstance(spec, ByIdentity):
        return
    if spec == TENSOR or spec[0] is READ:
        tensors.append(text)
    elif spec[0] is NUMBER:
        numbers.append(text)
    else:
        for part, name in parts_of(*spec):
            _note(part, text + name, tensors, numbers)


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
        check = function_of(values, condition)
        try:
            holds = check(*values.values())
        except (ArithmeticError, ValueError) as error:
            raise_interrupt(error, check, *values.values())
            holds = False
        if not holds:
            return condition_in_words(condition, names) + (f" (needed at {format_line(line)})" if line else "")
    return None


def argument_names(parameters, spec) -> list:
    """Return (name, spec) of each argument of a call."""
    _, ((_, args), (_, kwargs)) = spec
    return [*[(_parameter_at(parameters, i), part) for i, part in enumerate(args)], *kwargs]


def parts_of(kind, inner):
    """Return (spec, what follows the name of the whole) for the parts of a container."""
    if kind is slice:
        return zip(inner, (".start", ".stop", ".step"))
    if kind is MADE:
        return [(part, "") for part in inner[1]]
    if kind is OBJECT:
        return [(part, f".{name}") for name, part in inner[1]]
    if kind is NODE:
        return [(part, f"[{i}]") for i, part in enumerate(inner[2])]
    if kind is DEFAULTS:
        return [(part, f"[{key_text(k)}]") for k, part in inner[1]]
    if isinstance(kind, type) and issubclass(kind, (tuple, list)):
        names = getattr(kind, "_fields", ())
        return [(part, f".{names[i]}" if i < len(names) else f"[{i}]") for i, part in enumerate(inner)]
    if isinstance(kind, type) and issubclass(kind, dict):
        return [(part, f"[{key_text(k)}]") for k, part in inner]
    return [(part, f".{name}") for name, part in inner] if is_dataclass(kind) and type(inner) is tuple else ()


def _parameter_at(parameters, i) -> str:
    """Return the name of a positional argument; of those that `*args` takes, with an index."""
    rest = next((k for k, name in enumerate(parameters) if name.startswith("*")), len(parameters))
    if i < rest:
        return parameters[i]
    return f"{parameters[rest][1:]}[{i - rest}]" if rest < len(parameters) else f"argument {i}"


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


def call_of(fn) -> str:
    """Return the name, parameters and line of a function, `step(x, n=3) of train.py:12`, with defaults that are short."""
    place = definition_of(fn)
    name = f"{clipped(place.name, 60)}{_signature_of(fn)}"
    return f"{name} of {format_line((place.file, place.line))}" if place.line else name


def _signature_of(fn) -> str:
    """Return the parameters of a function in brackets; `(...)` if it does not tell them."""
    try:
        found = inspect.signature(fn.forward if isinstance(fn, Module) else fn)
    except (TypeError, ValueError):
        return "(...)"
    plain = [p.replace(annotation=p.empty, default=p.default if type(p.default) in _SHOWN or p.default is p.empty else ...)
             for p in found.parameters.values()]
    return clipped(str(found.replace(parameters=plain, return_annotation=found.empty)).replace("Ellipsis", "..."), 60)


_SHOWN = frozenset((int, float, bool, str, type(None)))


def locate(error: TraceError, fn):
    """Name in an error the user's line that it came from, or that of the traced function."""
    error.locate(position_of(error) or definition_of(fn))
