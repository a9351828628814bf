"""References of guards and side effects to objects that recordings do not keep alive: traced modules and arguments.

A traced module holds its recordings. An argument that counts by identity outlives no call that a recording fits: a recording
goes with it (`Living`).
"""

import threading
import weakref
from collections import deque
from contextlib import contextmanager
from types import MethodType, ModuleType
from typing import Any

from ..bytecode.user_code import is_a


class _Thread(threading.local):
    passed: frozenset = frozenset()     # ids of the arguments that count by identity in the recording at work


_thread = _Thread()


class Reference:
    """A weak reference to a traced module, which holds its own guards, or to an argument or a method of one."""

    __slots__ = ("number", "of")

    def __init__(self, x):
        self.of: Any
        if type(x) is MethodType:           # each lookup makes another object
            self.of, self.number = weakref.WeakMethod(x), hash((id(x.__self__), id(x.__func__)))
        else:
            self.of, self.number = weakref.ref(x), id(x)

    def __call__(self):
        return self.of()


class Living:
    """A value that is dropped once one of some objects dies. The interpreter does so without Python code, which an exception
    from a signal handler could leave."""

    __slots__ = ("_objects", "_slot")

    def __init__(self, value, objects):
        self._slot: deque = deque([(value,)], maxlen=1)
        self._objects = [weakref.ref(x, self._slot.append) for x in objects]

    @property
    def value(self):
        """The value, or None if it was dropped."""
        found = self._slot[0]
        return found[0] if type(found) is tuple else None

    def put(self, value):
        """Replace the value while all objects are alive."""
        self._slot.append((value,))


def can_die(x) -> bool:
    """Return whether an object that counts by identity is held weakly."""
    return type(x).__weakrefoffset__ != 0 and not is_a(x, (type, ModuleType))


@contextmanager
def holding_weakly(ids: frozenset):
    """Let guards and side effects that this thread makes hold the arguments with these ids weakly."""
    before, _thread.passed = _thread.passed, ids
    try:
        yield
    finally:
        _thread.passed = before


def passed_now() -> frozenset:
    """Return the ids of the arguments that are held weakly now."""
    return _thread.passed


def is_traced(x) -> bool:
    """Return whether an object is a traced module."""
    return hasattr(type(x), "_plain_module")


def is_passed(x) -> bool:
    """Return whether an object is an argument that is held weakly now, or a method of one."""
    return id(x) in _thread.passed or (type(x) is MethodType and id(x.__self__) in _thread.passed)


def plain_module(x):
    """Return the module with the same attributes as a traced module; other objects as they are."""
    return x._plain_module() if is_traced(x) else x


def reference_to(x):
    """Return a function that returns an object; it does not keep a traced module or an argument alive."""
    return Reference(x) if is_passed(x) or is_traced(x) else lambda: x


class _Place:
    """A tuple that begins with a reference in place of an object."""

    __slots__ = ("first", "others")

    def __init__(self, first, *others):
        self.first, self.others = Reference(first), others

    def __call__(self):
        return self.first(), *self.others


class Held:
    """Attribute of a guard with an object that it names, or a tuple with one first: traced modules and arguments are not kept
    alive. A `Reference` stays what it is."""

    def __init__(self, name):
        self._name = name

    def __get__(self, guard, kind=None):
        if guard is None:
            return self
        held = guard.__dict__[self._name]
        return held() if type(held) in (Reference, _Place) else held

    def __set__(self, guard, x):
        is_place = type(x) is tuple and bool(x) and (is_passed(x[0]) or is_traced(x[0]))
        is_weak = is_passed(x) or is_traced(x)
        guard.__dict__[self._name] = Reference(x) if is_weak else _Place(*x) if is_place else x
