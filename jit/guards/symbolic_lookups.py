"""Lists, tuples and arrays of numbers that are looked up by a counter: `rates[step]`.

Code in C takes a symbolic number as a key by its value now. Where that is seen, it is noted which container was meant and where
it was found, and in later recordings a table lies there, which holds the same and is one of its kind. What it gives for a
symbolic number is a number that each call looks up; that the container holds the same is guarded as ever. Only containers with
which code does no more than look at them get one: where other code begins to run, the container lies in its place again. A
number that is looked for in a set or dictionary, and not found, is none of those in there.
"""

import math
import sys
from dataclasses import dataclass
from typing import Any

from ...ir.symbols.scope import Scope
from ...ir.symbols.symbolic import source_of
from ..bytecode.reads import ARGUMENT, MISSING, Chain, follow
from ..bytecode.stack import CONSTANTS, Walk, instructions_of, is_lookup, position_of, variables_of
from ..bytecode.uses import INSPECTED, MEASURED, SINGLE
from ..proxies.other_threads import is_alone
from ..proxies.symbolic_tables import TABLES, table_of, was_written
from .frames import is_user
from .guards import ModulesGuard
from .instances import attributes_of_module
from .locations import Location

MOST_MEMBERS = 256      # of a set or dictionary in which a symbolic number is looked for
_BY_HASH = frozenset((set, frozenset, dict))
_NUMBERS = frozenset((int, float, bool))
_PLAIN = frozenset((*_NUMBERS, str, bytes, type(None)))

@dataclass(frozen=True, eq=False)
class TableLocation(Location):
    """A place of a container that is looked up, and the calls, as (code, offset), to which it is given: they lead to functions
    of the user's that do no more."""

    calls: frozenset


class SymbolicLookups:
    """Has tables lie in some places while a call is recorded, and notes which other containers are looked up by symbolic
    numbers.

    found        by id: these containers
    is_written   whether the call changed a list in whose place a table lay: it has done so to the list itself
    """

    def __init__(self, scope: Scope | None, inputs, places):
        self.scope = scope
        self.found: dict = {}
        self.is_written = False
        self._made: dict = {}        # by id of a container: its table
        for place in places if scope is not None else ():
            container = place.value()
            made = self._made[id(container)] if id(container) in self._made else table_of(container)
            if made is not None and (is_alone() or place.is_private):
                self._made[id(container)] = made
                made.calls = place.calls
                inputs.lay(place, made)

    def __enter__(self):
        if self.scope is not None:
            self.scope.on_index, self.scope.on_hash = self.hear, is_no_member
        return self

    def __exit__(self, *exc):
        if self.scope is not None:
            self.scope.on_index = self.scope.on_hash = None
        self.is_written = any([was_written(made) for made in self._made.values()])  # noqa: C419  (all of them)

    def hear(self):
        """The value of a symbolic number is asked for by the code that called its `__index__`."""
        frame = sys._getframe(2)
        if is_user(frame):
            found = _container_at(frame)
            if type(found) not in TABLES and table_of(found) is not None:
                self.found[id(found)] = found

    def places(self, guards, contents) -> list:
        """Where those were found, as a recording's guards show, with which code does nothing else, if something else can be put
        there."""
        self.found = {at: container for at, container in self.found.items() if contents.only(container) == INSPECTED}
        chains = [(g.chain, g.root, g.value()) for g in guards if isinstance(g, Location)]
        chains += [(Chain(ARGUMENT, type(m).__name__, (("attr", name),)), m, value) for g in guards
                   if isinstance(g, ModulesGuard) for m, _ in g.states for name, value in attributes_of_module(m).items()]
        found = [TableLocation(chain, root, contents.given_to(value)) for chain, root, value in chains
                 if id(value) in self.found]
        return [place for place in found if place.is_settable and (
            place.holder() is None or contents.only(place.holder()) in (INSPECTED, MEASURED, *SINGLE))]


class _Origins(Walk):
    """Marks what is read of variables: (name, steps); of constants (None, the constant)."""

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


def is_no_member(number) -> bool:
    """Whether a symbolic number is looked for in a set or dictionary (`step in milestones`) that does not hold it: what follows
    holds for all numbers that are none of those in there."""
    frame = sys._getframe(2)
    if not is_user(frame):
        return False
    instructions, at = instructions_of(frame.f_code), position_of(frame)
    if instructions[at].opname != "CONTAINS_OP":
        return False
    walk = _Origins().up_to(instructions, at)
    container = _marked(frame, walk.stack[-1] if walk.stack else None)
    if type(container) not in _BY_HASH or len(container) > MOST_MEMBERS:
        return False
    members = [m for m in container if type(m) in _NUMBERS]
    if not all(type(m) in _PLAIN for m in container) or number.hint in members or not all(map(math.isfinite, members)):
        return False
    if members:
        number.scope.note(f"({source_of(number)}) not in {tuple(members)!r}")
    return True


def _container_at(frame) -> Any:
    """The container of which the code of a frame is looking up an item; MISSING if it does something else, or that is no item
    of a variable, or of attributes of one."""
    instructions, at = instructions_of(frame.f_code), position_of(frame)
    if not is_lookup(instructions[at]):
        return MISSING
    walk = _Origins().up_to(instructions, at)
    mark = walk.stack[-2] if len(walk.stack) > 1 else None
    return MISSING if mark is None or mark[0] is None else _marked(frame, mark)


def _marked(frame, mark) -> Any:
    """What a mark leads to in the variables of a frame, or the constant that it is."""
    if mark is None or mark[0] is None:
        return MISSING if mark is None else mark[1]
    name, steps = mark
    space = frame.f_locals if name in frame.f_locals else frame.f_globals
    return follow(space[name], steps) if name in space else MISSING
