"""Attributes that code queries of untracked objects, to which no chain of names leads, and of modules that it imports
itself."""

import importlib.util
import operator
import types
from itertools import pairwise
from typing import Any, NamedTuple

from .reads import untracked_names
from .stack import CONSTANTS, Walk, instructions_of, is_lookup, of_code, variables_of
from .user_code import INGOT

_QUERIES = frozenset(("getattr", "hasattr", "vars", "__dict__", "__getattribute__"))
_ALL = frozenset(("vars", "getmembers", "asdict", "astuple"))      # these may read whatever there is
_CATCHES = frozenset(("AttributeError", "Exception", "BaseException", "suppress"))
_SETS = frozenset(("setattr", "delattr", "__setattr__", "vars", "__dict__"))
_KINDS = frozenset(("isinstance", "issubclass", "type", "__class__"))
_STEPS = ("LOAD_ATTR", "LOAD_METHOD")


class AttributeQueries(NamedTuple):
    """Attribute queries of a code object.

    names      attributes that it reads or assigns
    assigned   those of them that it assigns
    computes   whether it computes attribute names
    by_name    whether it asks for attributes by their names, so that there may be none
    sets       whether it sets attributes by their names
    kinds      whether it asks for types
    """

    names: frozenset
    assigned: frozenset
    computes: bool
    by_name: bool
    sets: bool
    kinds: bool

    def with_names(self, more, assigned) -> "AttributeQueries":
        return self._replace(names=self.names | more, assigned=self.assigned | assigned) if more else self


NO_QUERIES = AttributeQueries(frozenset(), frozenset(), False, False, False, False)
ANY_ATTRIBUTE = NO_QUERIES._replace(computes=True, sets=True)      # of code that is not tracked


class QueryLog:
    """Attribute queries of all code that has run, by kind: a query without names. `computing` holds kinds with computed
    names."""

    def __init__(self):
        self._names: dict = {}          # kind -> all names that are queried in this way
        self.computing: list = []

    def add(self, queries: AttributeQueries) -> AttributeQueries | None:
        """Add the queries of code that starts; return those that are new."""
        kind = queries._replace(names=NO_QUERIES.names, computes=False)
        known = self._names.get(kind)
        if known is not None and queries.names <= known:
            return None
        self._names[kind] = queries.names | (known or NO_QUERIES.names)
        return kind._replace(names=queries.names - (known or NO_QUERIES.names))

    def add_computing(self, queries: AttributeQueries) -> AttributeQueries | None:
        """Add code that may compute attribute names; return its kind if that is new."""
        kind = queries._replace(names=NO_QUERIES.names, computes=False)
        if not queries.computes or kind in self.computing:
            return None
        self.computing.append(kind)
        return kind

    def all(self) -> list:
        return [kind._replace(names=names) for kind, names in self._names.items()]

    def names(self) -> frozenset:
        return frozenset().union(*self._names.values())


@of_code()
def queries_of(code) -> AttributeQueries:
    """Return the queries of a code object."""
    named = frozenset(code.co_names)
    names, assigned = untracked_names(code)
    by_name, sets, kinds = (not named.isdisjoint(some) for some in (_QUERIES, _SETS, _KINDS))
    matches = any(ins.opname == "MATCH_CLASS" for ins in instructions_of(code))
    return AttributeQueries(names, assigned, computes_names(code), by_name or matches, sets, kinds or matches)


def names_by_value(frame) -> frozenset:
    """Return attributes that code reads by values: `attrgetter` and `methodcaller` objects, classes in `case Point(x, y)`."""
    named = {n: frame.f_globals.get(n) for n in frame.f_code.co_names}
    found = [*named.values(), *frame.f_locals.values()]
    paths = [path for x in found if type(x) is operator.attrgetter for path in x.__reduce__()[1]]
    names = [name for text in paths for name in text.split(".")]
    names += [method_called(x) for x in found if type(x) is operator.methodcaller]
    if _has_positional_patterns(frame.f_code):
        found += [getattr(x, n, None) for x in found if isinstance(x, (types.ModuleType, type)) for n in named]
        names += [n for x in found if isinstance(x, type) for n in getattr(x, "__match_args__", ()) if isinstance(n, str)]
    return frozenset(names)


def method_called(caller: operator.methodcaller) -> str:
    """Return the name of the method that a `methodcaller` calls."""
    made: Any = caller.__reduce__()         # with keywords by a partial
    return made[0].args[0] if made[0] is not operator.methodcaller else made[1][0]


@of_code()
def _has_positional_patterns(code) -> bool:
    return any(ins.opname == "MATCH_CLASS" and ins.arg for ins in instructions_of(code))


@of_code()
def catches(code) -> bool:
    """Return whether code goes on after a missing attribute."""
    if not _CATCHES.isdisjoint(code.co_names):
        return True
    return any(ins.opname == "PUSH_EXC_INFO" and after.opname == "POP_TOP" for ins, after in pairwise(instructions_of(code)))


def computes_names(code) -> bool:
    """Return whether code asks any object for all attributes that there are. (Calls of `getattr` show the name.)"""
    return not _ALL.isdisjoint(code.co_names) or table_variables(code) is None


@of_code()
def table_variables(code) -> frozenset | None:
    """Return the parameters and free variables with a `__dict__` of which code does more than to look up names that it spells
    out; None if it takes the `__dict__` of anything else."""
    instructions = instructions_of(code) if "__dict__" in code.co_names else ()
    found: set = set()
    for before, ins, *after in zip(instructions, instructions[1:], instructions[2:], instructions[3:]):
        is_table = ins.opname == "LOAD_ATTR" and ins.argval == "__dict__"
        if is_table and not (after[0].opname in CONSTANTS and is_lookup(after[1])):
            found.add(_loaded_by(before))
    parameters = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    stored = {_stored_in(ins) for ins in instructions} | {ins.argval for ins in instructions if ins.opname == "STORE_DEREF"}
    return None if found - {*parameters, *code.co_freevars} or found & stored else frozenset(found)


def _loaded_by(ins) -> str | None:
    """Return the variable that an instruction puts on top of the stack, if it only does that."""
    moves = variables_of(ins)
    if moves:
        return None if moves[-1][0] else moves[-1][1]
    return ins.argval if ins.opname == "LOAD_DEREF" else None


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
