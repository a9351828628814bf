"""Functions with `functools.lru_cache` that user code calls: each runs once for one kind of arguments, and so do its writes."""

import functools
import types

from ..errors.errors import FirstTimeError
from ..guards.guards import ReadCondition
from ..guards.snapshot import snapshot
from .implicit_reads import keys_of, results_of
from .read_log import ReadLog
from .tensor_attributes import TensorAttributes

_MOST_RESULTS = 256        # results that are compared to see that a cache was cleared


class FunctionCaches:
    """Cached functions that the code of a recorded call reaches.

    is_reached   whether the code that is looked at reaches one
    """

    def __init__(self, reads: ReadLog, tensors: TensorAttributes):
        self._reads, self._tensors = reads, tensors
        self._found: dict = {}          # by id: (function, its misses before)
        self._codes: set = set()        # code of the functions behind the caches
        self.is_reached = False

    def starts(self, code):
        """Note code that starts; that of a cached function counts as reaching it."""
        self.is_reached = code in self._codes

    def add(self, value):
        """Note a value that is read, if it is a cached function or a method of one."""
        function = value.__func__ if type(value) is types.MethodType else value
        if type(function) is not functools._lru_cache_wrapper:
            return
        self.is_reached = True
        if id(function) in self._found:
            return
        self._found[id(function)] = function, function.cache_info().misses
        self._codes.add(getattr(function.__wrapped__, "__code__", None))
        results = results_of(function)
        self._reads.add_condition(ReadCondition(
            ("cache", id(function)), lambda: _holds(function, results[:_MOST_RESULTS]), True,
            f"whether {function.__name__}() has kept its results"))
        for v in keys_of(function):
            self._tensors.add(v)        # another argument gives another result
        for v in results:
            if type(v) in (list, dict, set):
                text = f"what {function.__name__}() gave"
                self._reads.add_condition(ReadCondition(("kept", id(v)), lambda v=v: v, snapshot(v), text))

    def was_filled(self, condition) -> bool:
        """Return whether a condition is on the results of a cached function, to which this call has added some."""
        if condition.identity[0] != "cache":
            return False
        function, misses = self._found[condition.identity[1]]
        return function.cache_info().misses != misses

    def check(self):
        """Raise if this call filled a cache: later calls find a result there, and read nothing of its sources."""
        for function, misses in self._found.values():
            if function.cache_info().misses != misses:
                raise FirstTimeError(f"{function.__name__}() was run to fill its cache, which later calls don't repeat")


def _holds(function, results) -> bool:
    """Return whether a cached function holds these very results."""
    return not results or {id(v) for v in results} <= {id(v) for v in results_of(function)}
