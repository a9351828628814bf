"""State of the standard library that user code reads or changes: context variables, cached functions, random generators.

A function with `functools.lru_cache` runs once for one kind of arguments, and so do its writes. A replay would not draw from
the random generators of Python and numpy, so drawing is refused.
"""

import functools
import gc
import random
import sys
import types
from operator import is_

import numpy as np

from ..bytecode.reads import MISSING
from ..errors.errors import FirstTimeError, RecordingStatus, TraceError
from ..guards.guards import ReadCondition
from ..guards.known_objects import KnownObjects
from ..guards.locations import CONTEXT, StateInputs
from ..guards.snapshot import is_changeable, snapshot
from ..side_effects.effects import Target
from .attributes import TensorAttributes
from .read_log import ReadLog

_MOST_RESULTS = 256        # results that are compared to see that a cache was cleared


class ContextVariables:
    """Context variables that the function sets. A value that it has set itself and resets is no state from outside."""

    def __init__(self, inputs: StateInputs, reads: ReadLog):
        self._inputs, self._reads = inputs, reads
        self._set: dict = {}        # by id: (variable, its value before, number of set() without reset(), where)

    def called(self, variable, name, place):
        now = variable.get(MISSING)
        if name in ("set", "reset"):
            _, before, open_sets, _ = self._set.get(id(variable), (variable, now, 0, place))
            self._set[id(variable)] = variable, before, open_sets + (1 if name == "set" else -1), place
        elif self._set.get(id(variable), (variable, now))[1] is now:
            self._add_condition(variable)

    def _add_condition(self, variable):
        text, now = f"the context variable {variable.name}", variable.get(MISSING)
        self._reads.walker.walk(text, now)
        self._reads.add_condition(ReadCondition(
            ("context", id(variable)), lambda: variable.get(MISSING), snapshot(now, self._inputs), text))

    def targets(self) -> list:
        """Return the variables that keep what the function has set; raise if it resets one by a token from outside."""
        found = []
        for variable, before, open_sets, place in self._set.values():
            if open_sets > 0:
                if variable.get(MISSING) is before:     # perhaps by the token of the first of several set()
                    self._add_condition(variable)
                text = f"the context variable {variable.name} (at {place})"
                found.append(Target(variable, CONTEXT, CONTEXT, before, snapshot(before, self._inputs), text))
            elif variable.get(MISSING) is not before:
                raise TraceError(f"this function cannot be traced: it resets the context variable {variable.name} at {place} "
                                 "with a token from outside; do so outside, or set it")
        return found


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


class FunctionCaches:
    """Cached functions that the code of a recorded call reaches."""

    def __init__(self, reads: ReadLog, tensors: TensorAttributes):
        self._reads, self._tensors = reads, tensors
        self._functions: dict = {}          # by id: (function, its misses before)
        self._codes: set = set()        # code of the functions behind the caches
        self.is_reached = False         # whether the code that is looked at reaches one

    def starts(self, code):
        self.is_reached = code in self._codes       # code of a cached function reaches it

    def add(self, value):
        """Note a value that is read, if it is a cached function or a method of one."""
        function = value.__func__ if type(value) is types.MethodType else value
        if type(function) is not functools._lru_cache_wrapper:
            return
        self.is_reached = True
        if id(function) in self._functions:
            return
        self._functions[id(function)] = function, function.cache_info().misses
        self._codes.add(getattr(function.__wrapped__, "__code__", None))
        results = results_of(function)
        self._reads.add_condition(ReadCondition(
            ("cache", id(function)), _kept_by(function, results[:_MOST_RESULTS]), True,
            f"whether {function.__name__}() has kept its results"))
        for v in keys_of(function):
            self._tensors.add(v)        # another argument gives another result
        text = f"what {function.__name__}() gave"
        for v in results:
            self._reads.add_library(text, v)
            if is_changeable(v):
                self._reads.add_condition(ReadCondition(("kept", id(v)), lambda v=v: v, snapshot(v), text))

    def was_filled(self, condition) -> bool:
        """Return whether a condition is on the results of a cached function, to which this call has added some."""
        if condition.identity[0] != "cache":
            return False
        function, misses = self._functions[condition.identity[1]]
        return function.cache_info().misses != misses

    def check(self):
        """Raise if this call filled a cache: later calls find a result there, and read nothing of its sources."""
        for function, misses in self._functions.values():
            if function.cache_info().misses != misses:
                raise FirstTimeError(f"{function.__name__}() was run to fill its cache, which later calls don't repeat")


def _kept_by(function, results):
    """Return a function that says whether a cached function still holds its first results."""
    if not results:
        return lambda: True
    if function.cache_parameters()["maxsize"] is None:      # in a dictionary that only grows, or is cleared
        held = next(v for v in _cached_by(function) if type(v) is dict)
        return lambda: len(held) >= len(results) and all(map(is_, results, held.values()))
    return lambda: {id(v) for v in results} <= {id(v) for v in results_of(function)}


RANDOM = vars(random)
FROM_SYSTEM = "it draws random numbers from the operating system; use ingot's random functions"


class RandomGenerators:
    """Random generators of Python and numpy: a function that draws from them cannot be recorded, except from its own."""

    def __init__(self, status: RecordingStatus, known: KnownObjects):
        self._status, self._known = status, known
        self._global: tuple = ()
        self._states: list = []        # (generator, function that returns its state, state when it was first met)

    def start(self):
        self._global = random_states()

    def called(self, code, x):
        """Note a call of a method of Python's generators. One that the function made, with a seed, repeats its numbers."""
        if isinstance(x, random.Random) and id(x) not in self._known.own:
            if isinstance(x, random.SystemRandom):
                self._status.refuse(FROM_SYSTEM)
            elif code.co_name == "__init__":
                self._known.add_own(x)
            elif all(x is not known for known, *_ in self._states):
                self._states.append((x, random.Random.getstate, x.getstate()))

    def add(self, x):
        """Note a value that is read, if it is a generator of numpy."""
        if type(x).__module__.startswith("numpy.random") and (hasattr(x, "bit_generator") or hasattr(x, "get_state")):
            self._states.append((x, _numpy_state, _numpy_state(x)))

    def check(self):
        if self._global != random_states() or any(state(x) != before for x, state, before in self._states):
            self._status.refuse("it draws from Python's or numpy's random numbers, which would happen only when the trace is "
                                 "recorded; use ingot's random functions, or pass the numbers as an argument")


def random_states() -> tuple:
    """Return the state of the global random generators of Python and numpy."""
    legacy = sys.modules.get("numpy.random")
    return random.getstate(), None if legacy is None else _comparable(legacy.get_state())


def _numpy_state(generator):
    return _comparable(generator.get_state() if hasattr(generator, "get_state") else generator.bit_generator.state)


def _comparable(state):
    """Return the state of a generator with arrays as bytes."""
    if isinstance(state, np.ndarray):
        return state.tobytes()
    if isinstance(state, dict):
        return {name: _comparable(part) for name, part in state.items()}
    return tuple(map(_comparable, state)) if isinstance(state, tuple) else state
