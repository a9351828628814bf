"""Names in code and texts that lead to attributes: of getters and formats, of `globals()`, and of modules that code imports
itself."""

import _string
import importlib.util
import operator
import string
from typing import Any

from ...ir.interrupts import raise_interrupt
from .stack import CONSTANTS, Walk, instructions_of, of_code, variables_of
from .user_code import INGOT

_STEPS = ("LOAD_ATTR", "LOAD_METHOD")


def method_called(caller: operator.methodcaller) -> str:
    """Return the name of the method that a `methodcaller` calls."""
    made: Any = caller.__reduce__()         # with keywords by a partial
    return made[0].args[0] if made[0] is not operator.methodcaller else made[1][0]


def fields_of_format(text: str) -> list:
    """Return (argument, [(whether a step gets an attribute, its name or key)]) of the fields of a text for `format`."""
    found, number = [], 0
    try:
        for _, field, spec, _ in string.Formatter().parse(text):
            if field is not None:
                first, steps = _string.formatter_field_name_split(field)
                found.append((number if first == "" else first, list(steps)))
                number += first == ""
                found += fields_of_format(spec or "")
    except ValueError as error:         # the call raises it, too
        raise_interrupt(error, string.Formatter().parse, text)
    return found


class _Constant(str):
    """Name that code spells out."""


class Names(Walk):
    """Walk that marks globals with their names, and strings."""

    def marked(self, ins, taken):
        if ins.opname == "LOAD_GLOBAL":
            return ins.argval
        return _Constant(ins.argval) if ins.opname in CONSTANTS and type(ins.argval) is str else None


@of_code()
def global_names(code) -> frozenset | None:
    """Return the texts in code with which it may look up `globals()["rate"]`, or None if it does anything else with
    `globals()`."""
    plain = [ins for ins in instructions_of(code) if ins.opname not in ("PRECALL", "PUSH_NULL")]
    for n, ins in enumerate(plain):
        if ins.argval == "globals" and ins.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
            called, *after = [*plain[n + 1:n + 4], *[ins] * 3][:3]
            is_name_before = n > 0 and _is_text(plain[n - 1]) and after[0].opname == "CONTAINS_OP"
            is_name_after = _is_text(after[0]) and after[1].opname.endswith("_SUBSCR")
            is_named_in_call = after[0].argval in ("get", "setdefault", "pop") and _is_text(after[1])
            if called.opname != "CALL" or not (is_name_before or is_name_after or is_named_in_call):
                return None
    return frozenset([c for c in code.co_consts if type(c) is str and c.isidentifier()])


def _is_text(ins) -> bool:
    return ins.opname == "LOAD_CONST" and type(ins.argval) is str


@of_code()
def imports_of(code) -> tuple:
    """Return ((module, level), steps) of the modules that code imports itself, and of what it reads of them."""
    found: dict = {}
    names: dict = {}         # variable -> (module, level)
    module: Any = None
    wants = level = None
    plain = [ins for ins in instructions_of(code) if ins.opname != "COPY"]        # as in `module.n += 1`
    for before, ins in zip((None, *plain), plain):
        came = "" if before is None else before.opname
        variable = _stored_in(ins)
        if ins.opname == "IMPORT_NAME":
            module, wants = (ins.argval, level), before is not None and before.argval
            found[module, ()] = None
        elif ins.opname == "IMPORT_FROM" and wants:
            found[module, (ins.argval,)] = None
        elif variable and came == "IMPORT_NAME":
            names[variable] = module[0].partition(".")[0], 0
        elif variable and came in ("IMPORT_FROM", "POP_TOP") and module is not None and not wants:      # `import a.b as c`
            names[variable] = module
        elif before is not None and ins.opname in _STEPS:
            moves = variables_of(before)
            if moves and not moves[-1][0] and moves[-1][1] in names:
                found[names[moves[-1][1]], (ins.argval,)] = None
        if ins.opname in CONSTANTS and type(ins.argval) is int:
            level = ins.argval
    return tuple(found)


def _stored_in(ins) -> str | None:
    """Return the variable that an instruction stores to first, if it begins with a store."""
    moves = variables_of(ins)
    return moves[0][1] if moves and moves[0][0] else None


def imported_name(module: str, level: int, package) -> str | None:
    """Return the whole name of a module that code imports; None for ingot's, and for names that lead to none."""
    try:
        name = importlib.util.resolve_name("." * level + module, package) if level else module
    except ImportError:
        return None
    return name if name.partition(".")[0] != INGOT else None


@of_code()
def looks_at_types(code) -> bool:
    """Return whether code calls `type`, which tells a proxy from a plain number."""
    return "type" in code.co_names and any(
        ins.argval == "type" and ins.opname in ("LOAD_GLOBAL", "LOAD_NAME") for ins in instructions_of(code))
