"""Counted tables: parameters, buffers, children and hooks, and the functions that layers call. A change of them moves a
process-wide version."""

import sys
import types
import weakref
from collections import OrderedDict
from collections.abc import Callable
from importlib import import_module
from itertools import count

from ...ir.interrupts import raise_interrupt


class Structure:
    """Version of the structure of all modules (parameters, buffers, children, hooks, train or eval), of `requires_grad`, and of
    hooks of optimizers and leaves. A compiled trace with captured parameters compares this number first, and checks details
    only when it has moved."""

    version = 0


def _counting(plain):
    def change(self, *args, **kwargs):
        Structure.version += 1
        return plain(self, *args, **kwargs)

    change.__name__, change.__doc__ = plain.__name__, plain.__doc__
    return change


class Table(dict):
    """Parameters, buffers or children of a module by name; changes are counted."""

    __slots__ = ()

    def __reduce__(self):
        return dict, (dict(self),)


class Namespace(types.ModuleType):
    """A Python module whose functions layers call by name. A program that replaces one changes these layers."""

    def __setattr__(self, name, value):
        Structure.version += 1
        super().__setattr__(name, value)

    def __delattr__(self, name):
        Structure.version += 1
        super().__delattr__(name)

    def __reduce__(self):
        """Pickle it by its name. Pickles of functions name the modules that these use, and know only plain ones."""
        return import_module, (self.__name__,)


_namespaces: list[tuple[dict, dict]] = []       # (attributes of such a module, its own functions)


def count_changes(module: str, names) -> None:
    """Count changes of an imported module, whose functions have these names."""
    found = sys.modules[module]
    found.__class__ = Namespace
    _namespaces.append((vars(found), {name: vars(found)[name] for name in names}))


def replaced_functions() -> list:
    """Return the namespace, name and value of each function that a program has replaced."""
    return [(id(held), name, held.get(name)) for held, own in _namespaces for name, f in own.items() if held.get(name) is not f]


_SPARE = 16     # entries of removed hooks that a table keeps at least


def _reference(hook) -> Callable:
    """Return a weak reference to a hook, or one that keeps it where it has none."""
    try:
        return weakref.ref(hook)
    except TypeError as error:
        raise_interrupt(error, weakref.ref, hook)
        return lambda: hook


class HookTable(OrderedDict):
    """Hooks by number, in the order in which they run; changes are counted."""

    __slots__ = ("_stored",)
    _next = count()

    def __init__(self, *args, **kwargs):
        self._stored: dict = {}         # key -> (number of the hook there, or of the last one, and a reference to it)
        super().__init__(*args, **kwargs)

    def __setitem__(self, key, hook):
        known = self._stored.get(key)
        if known is None or known[1]() is not hook:     # a hook that comes back under its key keeps its number
            self._stored[key] = next(HookTable._next), _reference(hook)
        super().__setitem__(key, hook)
        if len(self._stored) > 2 * len(self) + _SPARE:
            self._stored = {k: (n, ref) for k, (n, ref) in self._stored.items() if k in self or ref() is not None}

    def __reduce__(self):
        return type(self), (), None, None, iter(self.items())

    def numbers(self) -> tuple:
        """Return a number for each hook, in their order, that no other hook ever has, even under the same key."""
        return tuple([self._stored[key][0] for key in self])


for _kind, _names in ((Table, ("__setitem__", "__delitem__", "__ior__", "clear", "pop", "popitem", "setdefault", "update")),
                      (HookTable, ("__setitem__", "__delitem__", "clear", "pop", "popitem", "move_to_end"))):
    for _name in _names:
        setattr(_kind, _name, _counting(vars(_kind).get(_name) or getattr(_kind.__mro__[1], _name)))


class RemovableHandle:
    """Handle that removes a hook; also a context manager."""

    _next = 0

    def __init__(self, hooks: dict, *marks: set, extra_dict=None):
        self.id = RemovableHandle._next
        RemovableHandle._next += 1
        self._hooks = hooks
        self._marks = marks
        self._others = extra_dict if isinstance(extra_dict, (list, tuple)) else [extra_dict] * (extra_dict is not None)

    def remove(self):
        """Remove the hook; a second call does nothing."""
        self._hooks.pop(self.id, None)
        for marks in self._marks:
            marks.discard(self.id)
        for other in self._others:
            other.pop(self.id, None)

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.remove()


def add_hook(hooks: dict, hook, *, prepend: bool = False, marks=()) -> RemovableHandle:
    """Add a hook (first with `prepend`), and its id to each set of `marks`."""
    handle = RemovableHandle(hooks, *marks)
    hooks[handle.id] = hook
    if prepend:
        hooks.move_to_end(handle.id, last=False)       # type: ignore[attr-defined]
    for each in marks:
        each.add(handle.id)
    return handle
