"""Conditions on state that code reads without a chain of names: the context of decimal numbers, arguments of partial functions,
functions chosen by type, context variables, results of cached functions, classes above in `super()`."""

import gc
import inspect
import sys
import types
from functools import partial
from typing import Any

from ...runtime.core.tensor import Tensor
from ..bytecode.reads import MISSING
from ..guards.guards import ReadCondition
from ..guards.instances import is_users
from ..guards.snapshot import is_container, is_plain, snapshot

_IN_CLASSES = (types.FunctionType, staticmethod, classmethod, property, Tensor)


def context_condition(variable) -> ReadCondition:
    """Return the condition on the value of a context variable."""

    def read():
        return variable.get(MISSING)

    return ReadCondition(("context", id(variable)), read, read(), f"the context variable {variable.name}")


def owners_above(frame) -> list:
    """Return (class, name) of the methods and values of base classes that code reaches by `super()`, if it does."""
    code = frame.f_code
    if "__class__" not in code.co_freevars or not code.co_argcount:
        return []
    cls, first = frame.f_locals.get("__class__"), frame.f_locals.get(code.co_varnames[0])
    order = (first if isinstance(first, type) else type(first)).__mro__
    above = [c for c in order[order.index(cls) + 1 if cls in order else 0:] if is_users(c)]
    return [(next(c for c in above if name in vars(c)), name) for name in code.co_names if any(name in vars(c) for c in above)]


def known_in_class(cls, name) -> bool:
    """Return whether `cls.name` gives a function, property, number, string, tensor or container without running code."""
    value = inspect.getattr_static(cls, name, MISSING)
    if is_container(value):
        return is_users(next(c for c in cls.__mro__ if name in vars(c)))
    return isinstance(value, _IN_CLASSES) or (is_plain(value) and value is not MISSING)


def registry_condition(function) -> ReadCondition | None:
    """Return the condition on the functions by type from which `functools.singledispatch` chooses."""
    if not hasattr(function, "registry") or not hasattr(function, "dispatch"):
        return None

    def read():
        return dict(function.registry)

    return ReadCondition(("registry", id(function)), read, snapshot(read()), f"the functions of {function.__name__}")


def decimal_condition() -> ReadCondition:
    """Return the condition on the precision and rounding of decimal numbers."""
    context = sys.modules["decimal"].getcontext

    def read():
        c = context()
        return c.prec, c.rounding, c.Emin, c.Emax, c.capitals, c.clamp, tuple(c.traps.values())

    return ReadCondition(("decimal",), read, read(), "the context of decimal numbers")


def partial_condition(partial, text, inputs) -> ReadCondition:
    """Return the condition on the arguments of a `functools.partial`."""

    def read():
        return partial.args, partial.keywords

    return ReadCondition(("partial", id(partial)), read, snapshot(read(), inputs), f"the arguments of {text}")


def _cached_by(function) -> list:
    """Return what a cached function refers to, except for its attributes."""
    return [v for v in gc.get_referents(function) if v is not function.__dict__]


def keys_of(function) -> list:
    """Return the arguments for which a cached function has results."""
    if not function.cache_info().currsize:
        return []
    keys = next((list(v) for v in _cached_by(function) if type(v) is dict and v), [])
    return [x for key in keys for x in (key if type(key) is tuple else (key,))]


def results_of(function) -> list:
    """Return the results that a cached function holds, and perhaps their keys."""
    if not function.cache_info().currsize:
        return []
    found = _cached_by(function)
    if function.cache_parameters()["maxsize"] is None:
        return list(next(v for v in found if type(v) is dict).values())
    return [v for v in found if not (type(v) is dict and any(type(x).__name__ == "_lru_list_elem" for x in v.values()))]


# Class -> what an object holds; classes by their names, as most programs never import them.
_HELD: dict = {
    "array.array": lambda a: (a.typecode, a.tobytes()),
    "builtins.bytearray": bytes,
    "builtins.memoryview": lambda view: (view.format, view.tobytes()),
    "builtins.mappingproxy": dict,
    "_ctypes._SimpleCData": bytes, "_ctypes.Array": bytes, "_ctypes.Structure": bytes, "_ctypes.Union": bytes,
    "_io.BytesIO": lambda file: (file.getvalue(), file.tell()),
    "_io.StringIO": lambda file: (file.getvalue(), file.tell()),
    **dict.fromkeys(("collections.UserDict", "collections.UserList", "collections.UserString"), lambda box: box.data),
    "configparser.RawConfigParser": lambda c: ({k: dict(v) for k, v in c._sections.items()}, dict(c.defaults())),
    "queue.Queue": lambda q: list(q.queue),
    "threading.Event": lambda event: event.is_set(),
    "threading.Semaphore": lambda s: s._value,
}


def held_by(value) -> Any:
    """A function without arguments that gives what such an object holds (None once it was closed or released); None for other
    objects, and for what programs print to."""
    if value is sys.stdout or value is sys.stderr:
        return None
    for kind in type(value).__mro__[:-1]:
        holds = _HELD.get(f"{kind.__module__}.{kind.__qualname__}")
        if holds is not None:
            return partial(_unless_closed, holds, value)
    return None


def _unless_closed(holds, value):
    try:
        return holds(value)
    except ValueError:
        return None
