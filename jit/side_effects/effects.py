"""Writes to Python state that outlives a call: `self.step += 1`, `self.last = loss`, a `global` or `nonlocal` variable.

The recorded run makes them itself. Their values are results like those that the function returns. A replay stores them after
it has written everything else.
"""

from collections import OrderedDict, defaultdict, deque
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any

import numpy as np

from ...runtime.core.tensor import Tensor
from ...runtime.nn.base.module import Module
from ...runtime.nn.base.parameter import Buffer, Parameter
from ...runtime.optim.optimizer import State
from ..bytecode.reads import MISSING
from ..guards.locations import EXTEND, RESTORED, WHOLE, load, store
from ..guards.snapshot import looks_like
from ..proxies.numpy_scalars import now, stands_for_number
from ..proxies.thread_overlay import mapped

_SETTERS = (object.__setattr__, SimpleNamespace.__setattr__, type.__setattr__)


@dataclass(frozen=True, eq=False)
class Target:
    """A location that is written, as `Location.owner` gives it.

    was      the value from before
    before   what a guard expects of it
    text     its name for messages
    """

    owner: Any
    key: object
    kind: str
    was: object
    before: object
    text: str

    @property
    def place(self) -> tuple:
        return id(self.owner), self.kind if self.kind in (EXTEND, WHOLE) else self.key

    def value(self):
        if self.kind == "attr" and isinstance(self.owner, Module):
            return getattr(self.owner, str(self.key), MISSING)
        found = load(self.owner, self.key, self.kind)
        if found is MISSING and self.kind == "attr" and getattr(type(self.owner), str(self.key), MISSING) is self.was:
            return self.was             # its class has it, as before
        return found

    @property
    def is_changed(self) -> bool:
        now = self.value()
        return now is not self.was and (stands_for_number(now) or stands_for_number(self.was)
                                        or not looks_like(now, self.before))

    def without_values(self) -> "Target":
        """Return a copy without the values from before, which it would keep alive."""
        return replace(self, was=None, before=None)

    def write(self, value):
        if self.kind == EXTEND:
            self.owner.extend(value)
        else:
            self.rewrite(value)

    def write_given(self, value, given):
        """Store a value in a call with these containers among its arguments."""
        self.write(value)

    def rewrite_given(self, value, given):
        """Replace a written value, for the caller with these containers."""
        self.rewrite(value)

    def rewrite(self, value):
        if self.kind == "attr":
            if value is self.value():       # guards compare a module again after each change
                return
            if self._is_past_setter:
                if isinstance(self.owner, Module):
                    Module.__setattr__(self.owner, str(self.key), value)
                else:
                    vars(self.owner)[self.key] = value
            else:
                setattr(self.owner, str(self.key), value)
        else:
            store(self.owner, self.key, self.kind, value)

    def fix(self, give):
        """Replace numbers in the written value by what `give` makes of them."""
        value = self.value()
        if value is self.was and type(value) in RESTORED:       # writes to its items are targets of their own
            return
        plain = mapped(value, give)
        if plain is not value:
            self.rewrite(plain)

    def settle(self):
        self.fix(now)

    @property
    def _is_past_setter(self) -> bool:
        """Return whether the write skips a user's `__setattr__`. Its effects are logged themselves, and replays store them."""
        if isinstance(self.owner, Module):
            return type(self.owner).__setattr__ is not Module.__setattr__ and self.value() is not MISSING
        return (type(self.owner).__setattr__ not in _SETTERS and not isinstance(self.owner, type)
                and self.key in getattr(self.owner, "__dict__", ()))

    @property
    def is_plain(self) -> bool:
        """Return whether the write is a plain store: no property, and no `__setattr__` of the user's that stores elsewhere."""
        if self.kind != "attr":
            return True
        kind = type(self.owner)
        if isinstance(self.owner, Module):
            return kind.__setattr__ is Module.__setattr__ or self._is_past_setter
        found = getattr(kind, str(self.key), None)
        return (kind.__setattr__ in _SETTERS or self._is_past_setter) and (
            type(found).__name__ == "member_descriptor" or not hasattr(type(found), "__set__"))


def is_repeatable(value, contents) -> bool:
    """Return whether each call can make a value anew: tensors, numbers, and plain containers that the function has made."""
    kind = type(value)
    if kind is list or kind is deque or isinstance(value, tuple):
        return not contents.has_seen(value) and all(is_repeatable(v, contents) for v in value)
    if kind in _TABLES:
        items = [*value.items(), *(vars(value).items() if kind is OrderedDict else ())]
        return not contents.has_seen(value) and all(isinstance(k, (str, int)) and is_repeatable(v, contents) for k, v in items)
    return kind in _REMADE or isinstance(value, (int, float, bool, str, bytes, type(None), np.number, np.bool_))


_REMADE = (Tensor, Parameter, Buffer)
_TABLES = (dict, OrderedDict, defaultdict, State)
