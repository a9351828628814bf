"""Guards on `sys.modules`: on the module that an import finds, and on all where code looks them up by names that no chain
shows."""

import sys
import types
from operator import is_

from ..bytecode.reads import MISSING
from ..bytecode.user_code import is_own, is_user_namespace
from .guards import Condition


class ImportedModule(Condition):
    """The same module is loaded under a name, or still none is."""

    def __init__(self, name: str, module):
        self.identity, self.expected = ("imported module", name), module

    def holds(self) -> bool:
        return sys.modules.get(self.identity[1], MISSING) is self.expected

    def covers(self, other) -> bool:
        return self.expected is other.expected

    def __str__(self):
        return f"the module {self.identity[1]} in sys.modules was loaded, replaced or removed"


class LoadedModules(Condition):
    """The same modules are loaded under the same names, besides ingot's own, and those of libraries that the recording itself
    loads or removes."""

    identity = ("loaded modules",)

    def __init__(self):
        self._last: dict = {}           # `sys.modules` when it was last as expected
        self._expected = sys.modules.copy()
        self._others: frozenset = frozenset()       # names that do not count
        self._is_recorded = self.are_visited = False

    def holds(self) -> bool:
        now, last = sys.modules.copy(), self._last
        if len(now) == len(last) and all(map(is_, now.values(), last.values())) and [*now] == [*last]:
            return True
        differing = self._differing(now)
        if not self._is_recorded and not any(_is_users(held.get(name)) for name in differing for held in (now, self._expected)):
            self._is_recorded, self._others = True, frozenset(differing)        # the recording ends with this comparison
            differing = []
        if not differing:
            self._last = now
        return not differing

    def _differing(self, now) -> list:
        """Return the names of the modules that were loaded, replaced or removed."""
        return [name for name in {**self._expected, **now}
                if now.get(name) is not self._expected.get(name) and name not in self._others and not is_own(name)]

    def __str__(self):
        name = next(iter(self._differing(sys.modules.copy())), None)
        return f"the module {name} in sys.modules was loaded, replaced or removed"


def _is_users(module) -> bool:
    return isinstance(module, types.ModuleType) and is_user_namespace(module)
