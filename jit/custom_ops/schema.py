"""Schemas of user operators, as text: `f(Tensor x, Tensor(a!) out, int n=1, *, float eps=1e-5) -> Tensor`.

`(a!)` marks an argument that the operator writes, `[]` a list, `?` an optional one, and `*` begins the keywords.
"""

import ast
import inspect
import re
import types
import typing
from collections.abc import Sequence
from dataclasses import dataclass

from ...ir import dtype as dt
from ...ir.cached_property import cached_property
from ...ir.dtype import DType
from ...ir.errors import ArgumentError, DTypeError
from ...runtime.core.device import Device
from ...runtime.core.tensor import Tensor

KINDS = {Tensor: "Tensor", int: "SymInt", float: "float", bool: "bool", str: "str", DType: "ScalarType", Device: "Device"}
NUMBERS = frozenset((int, float, bool))
_WHOLE = re.compile(r"(?:(?P<ns>\w+)::)?(?P<name>[\w.]*)\s*\((?P<arguments>.*)\)\s*->\s*(?P<returns>.+)", re.S)
_ARGUMENT = re.compile(r"(?P<kind>\w+)(?:\((?P<alias>\w+)(?P<mark>!?)\))?(?P<first>\?)?(?P<many>\[\d*\])?(?P<last>\?)?"
                       r"\s+(?P<name>\w+)(?:\s*=\s*(?P<default>.+))?")
_RETURN = re.compile(r"(?P<kind>\w+)(?:\((?P<alias>\w+)(?P<mark>!?)\))?(?P<many>\[\d*\])?\??(?:\s+\w+)?")


@dataclass(frozen=True, eq=False)
class Argument:
    """One argument: its kind, whether it is a list, may be None, is written, and is passed by keyword."""

    name: str
    kind: str
    many: bool
    optional: bool
    written: str | None     # the letter of its mark
    keyword: bool
    default: object

    def accepts(self, value) -> bool:
        """Return whether the kind allows a value; only tensors are distinguished from everything else."""
        if value is None:
            return self.optional
        if self.many:
            return isinstance(value, (list, tuple)) and all(v is None or self._is_one(v) for v in value)
        return self._is_one(value)

    def _is_one(self, value):
        return isinstance(value, Tensor) == (self.kind == "Tensor")


@dataclass(frozen=True, eq=False)
class Schema:
    """A schema. `returns` are the kinds of results, such as ("Tensor", "Tensor[]"), and `passed` the names of written arguments
    that they are (None for new tensors)."""

    name: str
    arguments: tuple[Argument, ...]
    returns: tuple[str, ...]
    passed: tuple[str | None, ...]
    text: str

    @property
    def written(self) -> tuple[str, ...]:
        """The names of arguments that the operator writes."""
        return tuple([a.name for a in self.arguments if a.written])

    def bind(self, args, kwargs) -> tuple[list, dict]:
        """Return arguments by position and by keyword, with defaults; raise if one is not of its kind."""
        try:
            call = self._signature.bind(*args, **kwargs)
        except TypeError as error:
            raise TypeError(f"{self.name}: {error}; it is {self.text}") from None
        call.apply_defaults()
        for a in self.arguments:
            value = call.arguments[a.name]
            if not a.accepts(value):
                raise DTypeError(f"{self.name}: argument {a.name} is {type(value).__name__}; it is {self.text}")
        return list(call.args), call.kwargs

    @cached_property
    def _signature(self):
        kinds = inspect.Parameter
        return inspect.Signature([
            kinds(a.name, kinds.KEYWORD_ONLY if a.keyword else kinds.POSITIONAL_OR_KEYWORD, default=a.default)
            for a in self.arguments])


def parsed(text: str, name: str = "") -> Schema:
    """Return a schema from its text, which may leave out the name if it is given."""
    found = _WHOLE.fullmatch(text.strip())
    if found is None:
        raise ArgumentError(f"{text!r} is no schema; one is 'name(Tensor x, int n=1) -> Tensor'")
    arguments: list[Argument] = []
    keyword = False
    for part in _parts(found["arguments"]):
        if part == "*":
            keyword = True
            continue
        arguments.append(_argument(part, keyword, text))
    returns = found["returns"].strip()
    parts = _parts(returns[1:-1]) if returns.startswith("(") else [returns]
    results = [_returned(part, text, {a.written: a.name for a in arguments if a.written}) for part in parts]
    return Schema(name or found["name"], tuple(arguments), tuple([r[0] for r in results]), tuple([r[1] for r in results]),
                  text.strip())


def _argument(part, keyword, text):
    found = _ARGUMENT.fullmatch(part)
    if found is None:
        raise ArgumentError(f"{part!r} is no argument of a schema, in {text!r}")
    default = inspect.Parameter.empty
    if found["default"] is not None:
        default = _default(found["default"], found["kind"], text)
    if found["mark"] and found["kind"] != "Tensor":
        raise ArgumentError(f"{part!r} in {text!r}: only tensors can be written")
    optional = found["last"] or (found["first"] and not found["many"])
    return Argument(found["name"], found["kind"], found["many"] is not None, bool(optional),
                    found["alias"] if found["mark"] else None, keyword, default)


def _default(word, kind, text):
    if kind == "ScalarType" and word != "None":
        return dt.by_name(word.rpartition(".")[2])
    try:
        return ast.literal_eval(word)
    except (ValueError, SyntaxError):
        raise ArgumentError(f"the default {word} in {text!r} is no plain value") from None


def _returned(part, text, written):
    """Return the kind of a result, and the argument that it is."""
    found = _RETURN.fullmatch(part)
    if found is None:
        raise ArgumentError(f"{part!r} is no result of a schema, in {text!r}")
    if found["alias"] and (not found["mark"] or found["alias"] not in written):
        raise ArgumentError(f"{text!r}: an operator cannot return views of its arguments, nor arguments that it does not "
                            "write; return new tensors")
    return found["kind"] + ("[]" if found["many"] else ""), written.get(found["alias"])


def _parts(text):
    """Split at commas outside of brackets."""
    parts, depth, begin = [], 0, 0
    for i, c in enumerate(text + ","):
        depth += (c in "([") - (c in ")]")
        if c == "," and not depth:
            parts.append(text[begin:i].strip())
            begin = i + 1
    return [p for p in parts if p]


def infer_schema(function, /, *, mutates_args, op_name: str | None = None) -> str:
    """Return the schema of an annotated function. `mutates_args` names what it writes, or is "unknown": then every tensor may
    be written."""
    signature = inspect.signature(function, eval_str=True)
    named = set() if mutates_args == "unknown" else {mutates_args} if isinstance(mutates_args, str) else set(mutates_args)
    if not named <= set(signature.parameters):
        raise ArgumentError(f"mutates_args names {sorted(named - set(signature.parameters))}, which "
                            f"{function.__name__}{signature} does not take")
    words, keyword = [], False
    for number, p in enumerate(signature.parameters.values()):
        if p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD, p.POSITIONAL_ONLY):
            raise ArgumentError(f"{function.__name__}: {p} has no place in a schema; name each argument")
        if p.kind is p.KEYWORD_ONLY and not keyword:
            words.append("*")
            keyword = True
        words.append(_worded(p, p.name in named or mutates_args == "unknown", p.name in named, number))
    returned = signature.return_annotation
    if returned is inspect.Signature.empty:
        raise ArgumentError(f"{function.__name__} has no annotation for its result; write -> Tensor, or -> None")
    return f"{op_name or ''}({', '.join(words)}) -> {_results(returned)}"


def _worded(p, written, named, number):
    if p.annotation is p.empty:
        raise ArgumentError(f"argument {p.name} has no annotation, so there is no schema; write {p.name}: Tensor, or int ...")
    kind = _kind(p.annotation)
    if written and kind.startswith("Tensor"):
        kind = f"Tensor(a{number}!){kind[len('Tensor'):]}"
    elif named:
        raise ArgumentError(f"mutates_args names {p.name}, which is {kind}; only tensors can be written")
    return f"{kind} {p.name}" + ("" if p.default is p.empty else f"={_shown(p.default)}")


def _shown(default):
    if isinstance(default, DType):
        return default.name
    return f'"{default}"' if isinstance(default, (str, Device)) else repr(default)


def _kind(annotation) -> str:
    origin, inner = typing.get_origin(annotation), typing.get_args(annotation)
    if annotation in KINDS:
        return KINDS[annotation]
    if origin in (typing.Union, types.UnionType):
        rest = [a for a in inner if a is not type(None)]
        if set(rest) == NUMBERS:
            return "Scalar" + ("?" if len(rest) < len(inner) else "")
        if len(rest) == 1 and len(inner) == 2:
            return _kind(rest[0]) + "?"
    if origin in (list, Sequence) and len(inner) == 1 and (typing.get_origin(inner[0]) or inner[0]) is not list:
        return _kind(inner[0]) + "[]"
    raise ArgumentError(f"the annotation {annotation} has no word in a schema; there are Tensor, int, float, bool, str, dtype, "
                        "device, numbers as int | float | bool, each perhaps with None, and Sequence of them")


def _results(annotation) -> str:
    if annotation is None or annotation is type(None):
        return "()"
    inner = typing.get_args(annotation)
    if typing.get_origin(annotation) is tuple and Ellipsis not in inner:
        return f"({', '.join(_kind(a) for a in inner)})"
    return _kind(annotation)
