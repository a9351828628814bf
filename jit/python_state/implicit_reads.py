"""What code reads where no chain of names shows it: the code and defaults of functions, modules that it imports itself, methods
behind `super()`, context variables, attributes of classes, names that it computes."""

import functools
import gc
import inspect
import sys
import types
from typing import Any

from ...ir.symbols.symbolic import hint, is_symbol
from ...runtime.core.tensor import Tensor
from ...runtime.nn.base.module import Module
from ..bytecode.attribute_queries import imported
from ..bytecode.reads import GLOBAL, MISSING, Chain
from ..bytecode.user_code import unwrap_function
from ..errors.errors import FirstTimeError, TraceError
from ..guards.guards import FunctionGuard, Reading
from ..guards.instances import is_users
from ..guards.locations import CONTEXT
from ..guards.snapshot import is_container, is_plain, photograph
from ..side_effects.effects import Target
from ..side_effects.stdlib_state import held_by

_IN_CLASSES = (types.FunctionType, staticmethod, classmethod, property, Tensor)
_MOST_KEPT = 256        # results of a function with functools.lru_cache by which it is seen that it was cleared


def context_reading(variable) -> Reading:
    """That of a context variable."""

    def read():
        return variable.get(MISSING)

    return Reading(("context", id(variable)), read, read(), f"the context variable {variable.name}")


def owners_above(frame) -> list:
    """(class, name) of the methods and values of classes above that code reaches by `super()`, if it does."""
    code = frame.f_code
    if "__class__" not in code.co_freevars or not code.co_argcount:
        return []
    cls, first = frame.f_locals.get("__class__"), frame.f_locals.get(code.co_varnames[0])
    order = (first if isinstance(first, type) else type(first)).__mro__
    above = [c for c in order[order.index(cls) + 1 if cls in order else 0:] if is_users(c)]
    return [(next(c for c in above if name in vars(c)), name) for name in code.co_names if any(name in vars(c) for c in above)]


def known_in_class(cls, name) -> bool:
    """Whether a class has a function, a property, a number, a string, a tensor or a container under a name, itself or from
    another class: what `cls.name` gives without running anything."""
    value = inspect.getattr_static(cls, name, MISSING)
    if is_container(value):
        return is_users(next(c for c in cls.__mro__ if name in vars(c)))
    return isinstance(value, _IN_CLASSES) or (is_plain(value) and value is not MISSING)


def registry_reading(function) -> Reading | None:
    """That of the functions by type which `functools.singledispatch` chooses from."""
    if not hasattr(function, "registry") or not hasattr(function, "dispatch"):
        return None

    def read():
        return dict(function.registry)

    return Reading(("registry", id(function)), read, photograph(read()), f"the functions of {function.__name__}")


def decimal_reading() -> Reading:
    """That of the precision and the rounding of decimal numbers."""
    context = sys.modules["decimal"].getcontext

    def read():
        c = context()
        return c.prec, c.rounding, c.Emin, c.Emax, c.capitals, c.clamp, tuple(c.traps.values())

    return Reading(("decimal",), read, read(), "the context of decimal numbers")


def partial_reading(partial, text, held) -> Reading:
    """That of the arguments of a `functools.partial`."""

    def read():
        return partial.args, partial.keywords

    return Reading(("partial", id(partial)), read, photograph(read(), held), f"the arguments of {text}")


def _is_still(before, now) -> bool:
    """Whether a variable is the object that it was; numbers that were symbolic meanwhile are equal."""
    return before is now or (is_symbol(before) and hint(before) == now)


def _items(container) -> list:
    """Which objects a container holds, in order."""
    if isinstance(container, dict):
        return [tuple(map(id, item)) for item in dict.items(container)]
    return list(map(id, list.__iter__(container) if isinstance(container, list) else set.__iter__(container)))


def _kept_by(cached) -> list:
    """What a function with functools.lru_cache refers to, but for its attributes."""
    return [v for v in gc.get_referents(cached) if v is not cached.__dict__]


def keys_of(cached) -> list:
    """The arguments for which a function with functools.lru_cache keeps results."""
    if not cached.cache_info().currsize:
        return []
    keys = next((list(v) for v in _kept_by(cached) if type(v) is dict and v), [])
    return [x for key in keys for x in (key if type(key) is tuple else (key,))]


def results_of(cached) -> list:
    """What a function with functools.lru_cache keeps: its results, and perhaps their keys."""
    if not cached.cache_info().currsize:
        return []
    found = _kept_by(cached)
    if cached.cache_parameters()["maxsize"] is None:
        return list(next(v for v in found if type(v) is dict).values())
    return [v for v in found if not (type(v) is dict and any(type(x).__name__ == "_lru_list_elem" for x in v.values()))]


def _keeps(cached, results) -> bool:
    """Whether a function with functools.lru_cache keeps these very results."""
    return not results or {id(v) for v in results} <= {id(v) for v in results_of(cached)}


class HiddenReads:
    """The part of a watch that hears of them."""

    def called(self: Any, fn, args, kwargs, tensors):
        """The function that is about to be called, and with what; the tensors that are in that."""
        self.passed = {id(x) for x in (*args, *kwargs.values(), *tensors)}
        self._gets_tensors(tensors)
        if type(fn) is functools.partial:
            self._walk("the traced function", fn)
        function = unwrap_function(fn, ())[0]
        if type(function) is types.FunctionType:
            self._note_hidden(function)

    def _note_hidden(self: Any, value):
        """What is read of modules and functions themselves, once a chain leads to them."""
        if isinstance(value, Module):
            self._see_module(value)
        elif type(value) is types.FunctionType and is_users(value):
            self.readings.setdefault(id(value), FunctionGuard(value))
            self._note_reading(registry_reading(value))
        elif type(value).__module__ == "decimal" or getattr(value, "__module__", "") == "decimal":
            self._note_reading(decimal_reading())

    def _note_library(self: Any, text, value):
        """What an object of Python's library holds, of which only its own code knows."""
        owner = getattr(value, "__self__", value) if isinstance(value, types.BuiltinMethodType | types.MethodType) else value
        held = held_by(owner)
        if held is not None:
            self._note_reading(Reading(("library", id(owner)), held, photograph(held(), self.held), f"what {text} holds"))

    def _note_reading(self: Any, reading):
        if reading is not None:
            self.readings.setdefault(reading.watched, reading)
            self._walk(reading.text, reading.read())

    def _context_variable(self: Any, variable, name, place):
        """Something is called on a context variable: what the function has set itself is no state from outside, if it is
        reset in the end."""
        now = variable.get(MISSING)
        if name in ("set", "reset"):
            _, before, kept, _ = self.contexts.get(id(variable), (variable, now, 0, place))
            self.contexts[id(variable)] = variable, before, kept + (1 if name == "set" else -1), place
        elif self.contexts.get(id(variable), (variable, now))[1] is now:
            self._note_reading(context_reading(variable))

    def _context_targets(self: Any) -> list:
        """The context variables that keep what the function has set; raises if one is what a token from outside says."""
        found = []
        for variable, before, kept, place in self.contexts.values():
            if kept > 0:
                if variable.get(MISSING) is before:     # perhaps by a token of the first of several
                    self._note_reading(context_reading(variable))
                text = f"the context variable {variable.name} (at {place})"
                found.append(Target(variable, CONTEXT, CONTEXT, before, photograph(before, self.held), text))
            elif variable.get(MISSING) is not before:
                raise TraceError(f"this function cannot be traced: it resets the context variable {variable.name} at {place} "
                                 "with a token from outside; do so outside, or set it")
        return found

    def _note_cache(self: Any, value):
        """A function that keeps its results runs once for each kind of arguments; so does what it changes."""
        function = value.__func__ if type(value) is types.MethodType else value
        self.meets_cache = self.meets_cache or type(function) is functools._lru_cache_wrapper
        if type(function) is functools._lru_cache_wrapper and id(function) not in self.caches:
            self.caches[id(function)] = function, function.cache_info().misses
            self.kept_by_code.add(getattr(function.__wrapped__, "__code__", None))
            kept = results_of(function)
            self._note_reading(Reading(("cache", id(function)), lambda: _keeps(function, kept[:_MOST_KEPT]), True,
                                       f"whether {function.__name__}() has kept its results"))
            for v in keys_of(function):
                self._note_tensor(v)        # for another argument it gives something else
            for v in kept:
                if type(v) in (list, dict, set):
                    text = f"what {function.__name__}() gave"
                    self._note_reading(Reading(("kept", id(v)), lambda v=v: v, photograph(v), text))

    def is_of_filled_cache(self: Any, reading) -> bool:
        """Whether a condition is on what a function with functools.lru_cache keeps, of which this call has filled the cache."""
        if reading.watched[0] != "cache":
            return False
        function, misses = self.caches[reading.watched[1]]
        return function.cache_info().misses != misses

    def check_caches(self: Any):
        """Raises if this call filled a cache: later ones find a result there, and look at nothing of which it was made."""
        for function, misses in self.caches.values():
            if function.cache_info().misses != misses:
                raise FirstTimeError(f"{function.__name__}() was run to fill its cache, which later calls don't repeat")

    def _check_copies(self: Any):
        """Raises if the function changed containers or namespaces in ways that cannot be repeated."""
        for container, copy, text in self.copies.values():
            if copy is not None and not (len(copy) == len(container) and _items(copy) == _items(container)):
                raise TraceError(f"this function cannot be traced: it changes {text}, a {type(container).__name__} that lives "
                                 "outside of it; return the value instead, or use a plain list or dict")
        for space, copy in self.spaces.values():
            names = [n for n in {**copy, **space} if not _is_still(copy.get(n, MISSING), space.get(n, MISSING))]
            if names:
                raise TraceError(f"this function cannot be traced: it writes {names[0]} through globals(); say "
                                 f"`global {names[0]}`, or return the value instead")

    def _note_imports(self: Any):
        """What code reads of modules that it imports itself, as far as these are there."""
        for (module, level), steps, package in self._imports:
            found = imported(module, level, package)
            if found is not None and hasattr(found, steps[0]):
                self._note(Chain(GLOBAL, steps[0], ()), vars(found), vars(found).get(steps[0], MISSING))
