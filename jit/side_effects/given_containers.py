"""Lists and dictionaries among the arguments of a recorded call, which the function changes at every call.

Their content is part of the key of a recording, so a replay stores the whole final content of each.
"""

from collections import OrderedDict, defaultdict
from dataclasses import dataclass

from ..errors.errors import TraceError
from ..guards.arg_pytree import GIVEN, ByIdentity
from ..guards.locations import refill
from ..guards.snapshot import same_items
from ..proxies.numpy_scalars import now
from ..proxies.thread_overlay import mapped
from .effects import Target

_REFILLED = frozenset((list, dict, OrderedDict, defaultdict))
CONTENT = "content"     # kind of such a write


def _content(container) -> tuple:
    return tuple(container) if type(container) is list else tuple([(k, v) for k, v in container.items()])


@dataclass(frozen=True, eq=False)
class ContentTarget(Target):
    """Whole content of a container among the arguments; `key` is its number."""

    @property
    def place(self) -> tuple:
        return CONTENT, self.key

    def value(self):
        return _content(self.owner)

    def write_given(self, value, given):
        refill(given[self.key], value)

    rewrite_given = write_given


class ArgumentContainers:
    """Containers that the recorded function receives, and those of its caller. They differ if numbers in them are symbolic."""

    def __init__(self, containers, of_caller):
        self.containers, self.of_caller = containers, of_caller
        self._before = [c.copy() if type(c) in _REFILLED else None for c in containers]

    @property
    def are_copies(self) -> bool:
        """Return whether the function received other containers than its caller has."""
        return any(a is not b for a, b in zip(self.containers, self.of_caller))

    def _changed(self) -> list:
        return [(i, c, b) for i, (c, b) in enumerate(zip(self.containers, self._before))
                if b is not None and not same_items(c, b)]

    @property
    def has_changed_callers(self) -> bool:
        return any(c is self.of_caller[i] for i, c, _ in self._changed())

    def targets(self, contents) -> list:
        """Return the changed containers as targets; `contents` knows those that are reached on other ways, too."""
        changed = self._changed()
        for _, c, _ in changed:
            if contents.has_seen(c):
                raise TraceError(f"this function cannot be traced: it changes a {type(c).__name__} that is an argument, and "
                                 "that it also reaches otherwise; let it use the one or the other")
        return [ContentTarget(c, i, CONTENT, None, None, f"a {type(c).__name__} among the arguments") for i, c, _ in changed]

    def were(self) -> dict:
        """Return {id: content from before} of the changed ones."""
        return {id(c): b for _, c, b in self._changed()}

    def specs(self, contents) -> dict:
        """Return {id: spec} of containers that results may hold and that the function has not made."""
        given = {id(c): (GIVEN, i) for i, c in enumerate(self.containers)}
        seen = contents.containers()
        known = {id(c): ByIdentity(c) for c in seen if id(c) not in given}
        return {**known, **{at: spec for at, spec in given.items() if at not in {id(c) for c in seen}}}

    def settle(self):
        """Leave the changes so far, with plain numbers, in the caller's containers: the function has raised."""
        callers = {id(c): self.of_caller[i] for i, c in enumerate(self.containers)}
        for i, c, _ in self._changed():
            refill(self.of_caller[i], mapped(_content(c), lambda x: callers.get(id(x), now(x))))
