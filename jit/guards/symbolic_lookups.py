"""Lookups of lists, tuples and arrays by a symbolic number: `rates[step]`.

C code forces a symbolic index to its value. The container and its location are noted then, and later recordings store a table
there (`symbolic_tables.py`), whose items each call looks up. The content of the container stays guarded. Only containers that
code does no more than index get a table. A number that is searched in a set or dictionary, and not found, is none of its
members. A number may be (part of) a key of a dictionary or set that one frame makes and alone sees: each key that is looked up
there is compared with all others.
"""

import math
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ...ir.symbols.scope import Scope
from ...ir.symbols.symbolic import is_symbol, source_of
from ..bytecode.call_sites import depths_of
from ..bytecode.reads import ARGUMENT, MISSING, Chain, follow
from ..bytecode.stack import CONSTANTS, Walk, instructions_of, is_lookup, position_of, variables_of
from ..bytecode.user_code import attributes_of_module
from ..bytecode.uses import INSPECTED, MEASURED, SINGLE
from ..bytecode.value_flow import is_private_table
from ..proxies.symbolic_tables import TABLES, table_of, was_written
from ..proxies.threads import is_alone
from .frames import is_user, stack_values
from .guards import ModulesGuard
from .locations import Location

MOST_MEMBERS = 256      # of a set or dictionary in which a symbolic number is looked for
_BY_HASH = frozenset((set, frozenset, dict))
_NUMBERS = frozenset((int, float, bool))
_PLAIN = frozenset((*_NUMBERS, str, bytes, type(None)))
_CLASSES = (*_NUMBERS, str)
_KEYED = {"BINARY_SUBSCR": (2, 1), "STORE_SUBSCR": (2, 1), "DELETE_SUBSCR": (2, 1), "CONTAINS_OP": (1, 2)}   # table and key
_LOOKUPS = frozenset(("__getitem__", "__setitem__", "__delitem__", "__contains__"))

@dataclass(frozen=True, eq=False)
class TableLocation(Location):
    """Location of a container that is indexed, and the calls, as (code, offset), that pass it to user functions."""

    calls: frozenset


class PrivateTables:
    """Dictionaries and sets with symbolic keys, which one frame has made and alone sees."""

    def __init__(self):
        self.on_first: Callable | None = None       # is called once there is one; then operations must be reported
        self._tables: dict = {}         # by id

    def has_key(self, frame) -> bool:
        """Return whether a frame looks up a key in such a table, or sets one."""
        code, at = frame.f_code, position_of(frame)
        ins = instructions_of(code)[at]
        slots = _KEYED.get("BINARY_SUBSCR" if is_lookup(ins) else ins.opname, ())
        depth = depths_of(code).get(ins.offset)
        values = stack_values(frame, [depth - n for n in slots]) if slots and depth is not None else None
        if values is None or type(values[0]) not in (dict, set) or self.on_first is None or len(values[0]) > MOST_MEMBERS:
            return False
        table, key = values
        names = [name for name, value in frame.f_locals.items() if value is table]
        if len(names) != 1 or not is_private_table(code, *names) or not _is_plain_key((key, *table)):
            return False
        if id(table) not in self._tables:
            self._tables[id(table)] = table
            self.on_first()
        self.compare(table, key)
        return True

    def compare(self, table, key):
        """Note which keys of a table a key equals, if it is one of these and the key may be looked up."""
        if id(table) in self._tables and _is_plain_key(key):
            for other in tuple(table):
                bool(other == key)

    def operated(self, method, operands):
        """Note the keys that are looked up in an operation."""
        if self._tables and method in _LOOKUPS and len(operands) > 1:
            table, key = operands if method != "__contains__" else reversed(operands)
            self.compare(table, key)

    def close(self):
        self.on_first = None
        self._tables.clear()


def _is_plain_key(x) -> bool:
    """Return whether to compare a key runs no code of the user."""
    if type(x) is tuple:
        return all(map(_is_plain_key, x))
    return type(x) in _PLAIN or is_symbol(x) or any(x is c for c in _CLASSES)


class SymbolicLookups:
    """Tables at some locations while a call is recorded, and a log of further containers that symbolic numbers index."""

    def __init__(self, scope: Scope | None, inputs, locations):
        self.scope, self.private = scope, PrivateTables()
        self.containers: dict = {}           # id -> container that is indexed
        self.is_written = False         # whether the call wrote to a list through its table
        self._proxies: dict = {}        # id of a container -> its table
        for place in locations if scope is not None else ():
            container = place.value()
            proxy = self._proxies[id(container)] if id(container) in self._proxies else table_of(container)
            if proxy is not None and (is_alone() or place.is_private):
                self._proxies[id(container)] = proxy
                proxy.calls = place.calls
                inputs.store_table(place, proxy)

    def __enter__(self):
        if self.scope is not None:
            self.scope.on_index, self.scope.on_hash = self.index_forced, self.may_be_key
        return self

    def __exit__(self, *exc):
        if self.scope is not None:
            self.scope.on_index = self.scope.on_hash = None
        self.private.close()
        self.is_written = any([was_written(proxy) for proxy in self._proxies.values()])  # noqa: C419  (all of them)

    def index_forced(self):
        """Note that the calling code forces a symbolic number by `__index__`."""
        frame = sys._getframe(2)
        if is_user(frame):
            container = _operand(frame, is_lookup, 2)
            if type(container) not in TABLES and table_of(container) is not None:
                self.containers[id(container)] = container

    def may_be_key(self, number) -> bool:
        """Return whether the calling code may use the hash of a symbolic number, without fixing it."""
        frame = sys._getframe(2)
        return is_user(frame) and (self.private.has_key(frame) or is_no_member(number, frame))

    def locations(self, guards, contents) -> list:
        """Return the locations of the containers that code only indexes, and at which a table can be stored."""
        self.containers = {at: container for at, container in self.containers.items() if contents.only(container) == INSPECTED}
        chains = [(g.chain, g.root, g.value()) for g in guards if isinstance(g, Location)]
        chains += [(Chain(ARGUMENT, type(m).__name__, (("attr", name),)), m, value) for g in guards
                   if isinstance(g, ModulesGuard) for m, _ in g.states for name, value in attributes_of_module(m).items()]
        found = [TableLocation(chain, root, contents.calls_with(value)) for chain, root, value in chains
                 if id(value) in self.containers]
        return [place for place in found if place.is_settable and (
            place.holder() is None or contents.only(place.holder()) in (INSPECTED, MEASURED, *SINGLE))]


class _Origins(Walk):
    """Walk that marks values read from variables by (name, steps), and constants by (None, constant)."""

    def step(self, ins):
        moves = variables_of(ins)
        if moves and not any(is_store for is_store, _ in moves):
            self.stack += [(name, ()) for _, name in moves]
            return []
        return super().step(ins)

    def marked(self, ins, taken):
        if ins.opname in ("LOAD_GLOBAL", "LOAD_DEREF", "LOAD_NAME"):
            return ins.argval, ()
        if ins.opname in CONSTANTS:
            return None, ins.argval
        if not taken or taken[0] is None or taken[0][0] is None:
            return None
        name, steps = taken[0]
        if ins.opname == "LOAD_ATTR":
            return name, (*steps, ("attr", ins.argval))
        if is_lookup(ins) and taken[1] is not None and taken[1][0] is None:
            return name, (*steps, ("item", taken[1][1]))
        return None


def is_no_member(number, frame) -> bool:
    """Return whether a frame looks for a symbolic number in a set or dictionary (`step in milestones`) that does not hold
    it. The path then holds for all numbers that are no members."""
    container = _operand(frame, lambda ins: ins.opname == "CONTAINS_OP", 1)
    if type(container) not in _BY_HASH or len(container) > MOST_MEMBERS:
        return False
    members = [m for m in container if type(m) in _NUMBERS]
    if not all(type(m) in _PLAIN for m in container) or number.hint in members or not all(map(math.isfinite, members)):
        return False
    if members:
        number.scope.note(f"({source_of(number)}) not in {tuple(members)!r}")
    return True


def _operand(frame, is_wanted, depth: int) -> Any:
    """Return the value at a depth of the stack of a frame, if its instruction is wanted and variables lead to the value; else
    MISSING."""
    instructions, at = instructions_of(frame.f_code), position_of(frame)
    stack = _Origins().up_to(instructions, at).stack if is_wanted(instructions[at]) else []
    name, steps = (stack[-depth] if len(stack) >= depth else None) or (None, MISSING)
    if name is None:
        return steps
    space = frame.f_locals if name in frame.f_locals else frame.f_globals
    return follow(space[name], steps) if name in space else MISSING
