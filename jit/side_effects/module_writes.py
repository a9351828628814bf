"""Reads and writes of modules that no attribute chain shows: `model.eval()`, `for m in model.modules(): m.p = 0.1`.

Modules are remembered as they are when the function first reaches them, with all that they contain.
"""

from ...runtime.nn.base.module import Module
from ..bytecode.reads import MISSING
from ..guards.instances import attributes_of_module
from ..guards.snapshot import photograph
from .effects import Target

_SETS_MODE = Module.train.__code__
_MODE = "training"


class ModuleWrites:
    """The attributes of modules that a run may have written, beside those that its chains lead to.

    unread    places that it wrote without having read them
    """

    def __init__(self):
        self._first: dict = {}       # by id: (module, its attributes and buffers)
        self._tables: dict = {}      # by id: (module, its parameters, children and hooks, and the names of its buffers)
        self._ran: set = set()       # ids of modules whose forward, which is not the user's code, may have asked for the mode
        self._names: set = set()     # attributes that code reads or writes of objects that no chain leads to
        self.unread: set = set()

    def remember(self, module) -> list:
        """Notes how a module is, and those below, unless it is known; gives those that are new."""
        new = [m for m in Module.modules(module) if id(m) not in self._first] if id(module) not in self._first else []
        for m in new:
            self._first[id(m)] = m, _attributes(m)
            self._tables[id(m)] = m, _tables_of(m)
        return new

    def left_by_others(self, module, names):
        """What is other by now in attributes of a module is not the function's doing."""
        if id(module) in self._first:
            _, before = self._first[id(module)]
            now = _attributes(module)
            for name in names:
                before.pop(name, None)
                before.update({name: now[name]} if name in now else {})

    def modules(self) -> list:
        """All that are known."""
        return [m for m, _ in self._first.values()]

    def ran(self, module):
        """A module runs code that is not the user's."""
        self._ran.add(id(module))

    def named(self, names):
        """Code runs that reads or writes these attributes of whatever it meets."""
        self._names |= names

    def sets_mode(self, code, module, reads) -> bool:
        """Whether the code that starts is what sets a module's mode; `reads` are the places that were read before."""
        if code is not _SETS_MODE:
            return False
        place = id(module), _MODE
        if id(module) not in self._ran and place not in reads and _MODE not in self._names:
            self.unread.add(place)
        return True

    def targets(self, known) -> list:
        """`Target`s for what was written, but for the `known` places."""
        found = []
        for at, (m, before) in self._first.items():
            now = _attributes(m)
            for name in before.keys() | now.keys():
                was = before.get(name, MISSING)
                if (at, name) not in known and now.get(name, MISSING) is not was:
                    found.append(Target(m, name, "attr", was, photograph(was), f"{type(m).__name__}.{name}"))
        return found

    def restructured(self, written):
        """A module that consists of other parts than before, but for what is `written` (its places); or None."""
        for m, before in self._tables.values():
            if _besides(m, _tables_of(m), written) != _besides(m, before, written):
                return m
        return None

    def reached(self) -> list:
        """The modules of which such an attribute may have been read or written, whether or not they ran."""
        return [m for m, before in self._first.values() if not self._names.isdisjoint({*before, *_attributes(m)})]


def _attributes(m) -> dict:
    """What code reads and writes of a module by name, but for its parameters and children."""
    return {**attributes_of_module(m), **m._buffers}


def _tables_of(m) -> tuple:
    parts = [(name, id(v)) for table in (m._parameters, m._modules) for name, v in table.items()]
    return parts, [*m._buffers], m._hooks.numbers()


def _besides(m, tables, written) -> tuple:
    """The tables of a module without what is written in them."""
    parts, *rest = tables
    return [part for part in parts if (id(m), part[0]) not in written], *rest
