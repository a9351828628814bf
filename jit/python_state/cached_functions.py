"""Functions with `functools.lru_cache` that user code calls while it is recorded.

A cached function runs once for one kind of arguments, and so do its writes. Each call of user code tells its arguments, so only
the results that it gets are guarded, however many the cache holds. Replays call the function again, which counts as a hit and
makes its result the one that was used last. Calls that nobody saw, as those of C code, could not be made again: such a call is
not replayed.
"""

import ctypes
import functools
import gc
import types
from operator import is_
from typing import Any

from ...runtime.core.tensor import Tensor
from ...runtime.cpu.calls.call import knows_objects
from ..bytecode.reads import CACHED, MISSING
from ..errors.errors import FirstTimeError
from ..guards.guards import ReadCondition
from ..guards.snapshot import is_changeable, is_plain, snapshot
from .attributes import TensorAttributes
from .read_log import ReadLog

_MOST_RESULTS = 256        # results that are compared to see that a cache was cleared, where all of them are guarded
_POINTER = ~7           # of a reference (`guards/frames.py`)


def _cached_by(function) -> list:
    """Return what a cached function refers to, except for its attributes."""
    return [v for v in gc.get_referents(function) if v is not function.__dict__]


def name_of(function) -> str:
    """Return the name of a cached function; one around a partial or an object has none."""
    return getattr(function, "__name__", "a cached function")


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


class CachedResults:
    """The results of a cached function, by its arguments."""

    def __init__(self, function):
        inner = _cached_by(function)[::-1]          # (its table stands behind the keys and results of a limited one)
        self._table: dict = next((v for v in inner if type(v) is dict), {})
        self._mark = next((v for v in inner if type(v) is object), None)       # between arguments by position and by name
        parameters = function.cache_parameters()
        self._is_typed, self._is_limited = parameters["typed"], parameters["maxsize"] is not None

    def key(self, args, kwargs):
        """Return the key of a call in the table, as `functools` makes it; None if code of users may run to find it there."""
        values = *args, *kwargs.values()
        if not all(map(_is_found_without_code, values)) or (self._is_limited and _result_word() is None):
            return None
        if not kwargs and not self._is_typed:
            return args[0] if len(args) == 1 and type(args[0]) in (int, str) else args
        names = (self._mark, *[x for pair in kwargs.items() for x in pair]) if kwargs else ()
        return *args, *names, *(map(type, values) if self._is_typed else ())

    def result(self, key):
        """Return the result at a key, or MISSING."""
        found = self._table.get(key, MISSING)
        return found if found is MISSING or not self._is_limited else _result_in(found)


def _is_found_without_code(x) -> bool:
    """Return whether an object is looked up in a dictionary without code of users."""
    return is_plain(x) or isinstance(x, Tensor) or (type(x).__eq__ is object.__eq__ and type(x).__hash__ is object.__hash__)


def _result_in(entry) -> Any:
    """Return the result in an entry of a limited cache, from its memory (CPython)."""
    word = ctypes.c_size_t.from_address(id(entry) + ctypes.sizeof(ctypes.c_size_t) * (_result_word() or 0)).value
    return ctypes.cast(word & _POINTER, ctypes.py_object).value


@functools.lru_cache(None)
def _result_word() -> int | None:
    """Return which word of an entry of a limited cache is the result, found on a function of our own."""
    if not knows_objects():
        return None
    result = object()

    @functools.lru_cache(2)
    def give():
        return result

    give()
    entry = next(iter(next(v for v in _cached_by(give)[::-1] if type(v) is dict).values()))
    words = (ctypes.c_size_t * (entry.__sizeof__() // ctypes.sizeof(ctypes.c_size_t))).from_address(id(entry))
    return next((i for i, word in enumerate(words) if word & _POINTER == id(result)), None)


class Reached:
    """A cached function that a recorded call reaches.

    misses, hits    of its cache when it was reached
    seen            count of calls since then that user code made, and that found their result
    is_whole        whether all its results are guarded, since code of users compares its arguments
    """

    def __init__(self, function):
        info = function.cache_info()
        self.function, self.misses, self.hits = function, info.misses, info.hits
        self.seen, self.is_whole, self.results = 0, False, CachedResults(function)

    def missed(self) -> bool:
        return self.function.cache_info().misses != self.misses

    def was_called_unseen(self) -> bool:
        return self.function.cache_info().hits != self.hits + self.seen


class FunctionCaches:
    """Cached functions that the code of a recorded call reaches."""

    def __init__(self, reads: ReadLog, tensors: TensorAttributes):
        self._reads, self._tensors = reads, tensors
        self._reached: dict = {}        # by id of the function: `Reached`
        self._codes: set = set()        # code of the functions behind the caches
        self.is_reached = False         # whether the code that is looked at reaches one

    def starts(self, code):
        self.is_reached = code in self._codes       # code of a cached function reaches it

    def add(self, value):
        """Note a value that is read, if it is a cached function or a method of one."""
        function = value.__func__ if type(value) is types.MethodType else value
        if type(function) is CACHED:
            self.is_reached = True
            self.meet(function)

    def meet(self, function) -> Reached:
        """Note a cached function that was reached."""
        known = self._reached.get(id(function))
        if known is None:
            known = self._reached[id(function)] = Reached(function)
            self._codes.add(getattr(function.__wrapped__, "__code__", None))
        return known

    def called(self, function, args, kwargs) -> bool:
        """Note a call by user code, or with unknown arguments (None) a function that it passes on. Return whether each replay
        has to make the call."""
        known = self.meet(function)
        if args is None:
            return False
        key = known.results.key(args, kwargs)
        if key is None:
            self._guard_all(known)
            known.seen += 1
            return True
        result = known.results.result(key)
        if result is MISSING:       # the call will run the function
            return False
        known.seen += 1
        results, name = known.results, name_of(function)
        self._reads.add_condition(ReadCondition(
            ("cache", id(function), id(result), key), lambda: results.result(key) is result, True,
            f"whether {name}() has kept its results"))
        for x in (*args, *kwargs.values()):
            self._tensors.add(x)        # another argument gives another result
        self._guard(name, result)
        return True

    def _guard(self, name, result):
        """Guard what a function gave."""
        text = f"what {name}() gave"
        if is_changeable(result):
            self._reads.add_condition(ReadCondition(("kept", id(result)), lambda: result, snapshot(result), text))
        if not is_plain(result):
            self._tensors.add(result)
            self._reads.walker.walk(f"{name}()", result)

    def _guard_all(self, known):
        """Guard all that a function has kept."""
        if known.is_whole:
            return
        function, results, known.is_whole = known.function, results_of(known.function), True
        self._reads.add_condition(ReadCondition(
            ("cache", id(function)), _kept_by(function, results[:_MOST_RESULTS]), True,
            f"whether {name_of(function)}() has kept its results"))
        for v in keys_of(function):
            self._tensors.add(v)
        for v in results:
            self._guard(name_of(function), v)

    def was_filled(self, condition) -> bool:
        """Return whether a condition is on the results of a cached function, to which this call has added some."""
        return condition.identity[0] == "cache" and self._reached[condition.identity[1]].missed()

    def are_filled(self) -> bool:
        """Return whether this call has filled a cache."""
        return any(known.missed() for known in self._reached.values())

    def check(self):
        """Raise if this call filled a cache: later calls find a result there, and read nothing of its sources. Raise, too, if
        it got results in calls that replays could not make."""
        for known in self._reached.values():
            name = name_of(known.function)
            if known.missed():
                raise FirstTimeError(f"{name}() was run to fill its cache, which a recording cannot repeat")
            if known.was_called_unseen():
                raise FirstTimeError(f"{name}(), which has a cache and counts its calls, was called by code in C")


def _kept_by(function, results):
    """Return a function that says whether a cached function still holds its first results."""
    if not results:
        return lambda: True
    if function.cache_parameters()["maxsize"] is None:      # in a dictionary that only grows, or is cleared
        held = next(v for v in _cached_by(function) if type(v) is dict)
        return lambda: len(held) >= len(results) and all(map(is_, results, held.values()))
    return lambda: {id(v) for v in results} <= {id(v) for v in results_of(function)}
