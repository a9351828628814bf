"""Lists and dictionaries among the arguments of a recorded call: what the function changes in them, it changes at every call.

What they hold is a part of what a recording is good for, so a replay leaves in each the whole of what the function left there.
"""

from collections import OrderedDict, defaultdict
from dataclasses import dataclass

from ..errors.errors import TraceError
from ..guards.arg_pytree import GIVEN, ByIdentity
from ..proxies.numpy_scalars import now
from ..proxies.thread_overlay import mapped
from .effects import Target

_REFILLED = frozenset((list, dict, OrderedDict, defaultdict))
CONTENT = "content"     # how all that a container of the arguments holds is kept; the owner is its number


def _content(container) -> tuple:
    """What a container holds, as a value of its own."""
    return tuple(container) if type(container) is list else tuple([(k, v) for k, v in container.items()])


def _refill(container, content):
    """Leaves this, and nothing else, in a container."""
    if type(container) is list:
        container[:] = content
    else:
        container.clear()
        container.update(content)


def _is_as_before(container, copy) -> bool:
    """Whether a container holds the same objects in the same order."""
    x, y = [c if type(c) is list else [*c, *c.values()] for c in (container, copy)]
    return len(x) == len(y) and all(a is b for a, b in zip(x, y))


@dataclass(frozen=True, eq=False)
class ContentTarget(Target):
    """All that a container of the arguments holds; `key` is its number."""

    @property
    def place(self) -> tuple:
        """What identifies it."""
        return CONTENT, self.key

    def value(self):
        """What the function left there."""
        return _content(self.owner)

    def write_given(self, value, given):
        """Leaves it in a container of a call."""
        _refill(given[self.key], value)

    rewrite_given = write_given


class ArgumentContainers:
    """The containers that a function is given while it is recorded, and those of its caller, which are other ones where the
    function is given symbols for numbers in them."""

    def __init__(self, containers, of_caller):
        self.containers, self.of_caller = containers, of_caller
        self._before = [c.copy() if type(c) in _REFILLED else None for c in containers]

    @property
    def are_copies(self) -> bool:
        """Whether the function is given other ones than its caller has."""
        return any(a is not b for a, b in zip(self.containers, self.of_caller))

    def _changed(self) -> list:
        return [(i, c, b) for i, (c, b) in enumerate(zip(self.containers, self._before))
                if b is not None and not _is_as_before(c, b)]

    @property
    def has_changed_callers(self) -> bool:
        """Whether the function has changed what its caller holds."""
        return any(c is self.of_caller[i] for i, c, _ in self._changed())

    def targets(self, contents) -> list:
        """What is other in them than before; `contents` knows what is reached otherwise than by the arguments."""
        changed = self._changed()
        for _, c, _ in changed:
            if contents.has_seen(c):
                raise TraceError(f"this function cannot be traced: it changes a {type(c).__name__} that is an argument, and "
                                 "that it also reaches otherwise; let it use the one or the other")
        return [ContentTarget(c, i, CONTENT, None, None, f"a {type(c).__name__} among the arguments") for i, c, _ in changed]

    def were(self) -> dict:
        """{id: what it held} of those that were changed."""
        return {id(c): b for _, c, b in self._changed()}

    def specs(self, contents) -> dict:
        """{id: the spec} of containers that results may hold and that the function has not made."""
        given = {id(c): (GIVEN, i) for i, c in enumerate(self.containers)}
        seen = contents.containers()
        known = {id(c): ByIdentity(c) for c in seen if id(c) not in given}
        return {**known, **{at: spec for at, spec in given.items() if at not in {id(c) for c in seen}}}

    def settle(self):
        """The function has raised: its caller finds what it has changed so far, with plain numbers."""
        callers = {id(c): self.of_caller[i] for i, c in enumerate(self.containers)}
        for i, c, _ in self._changed():
            _refill(self.of_caller[i], mapped(_content(c), lambda x: callers.get(id(x), now(x))))
