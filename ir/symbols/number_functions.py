"""Functions of `math` that also take symbolic numbers, and proxies of numbers while a call is recorded.

Python's own make a plain number of whatever they are given. ingot computes with these where an argument may be a size.
"""

import functools
import math
from collections.abc import Callable

from ..tracebacks import computes_for_python
from .symbolic import MATH, applied, is_symbol

computes_for_python(__name__)

# Tests of numbers as comparisons: `v - v` is 0 or nan.
_TESTS: dict[str, Callable] = {"isnan": lambda v: v != v, "isfinite": lambda v: v - v == 0,
                               "isinf": lambda v: v in (math.inf, -math.inf)}
_PLAIN = frozenset((float, int, bool))


def _with_numbers(plain):
    """Return a function of `math` that asks a proxy among its arguments for the result (`applied_function`)."""
    name = plain.__name__

    @functools.wraps(plain)
    def call(*args):
        if _PLAIN.issuperset(map(type, args)):
            return plain(*args)
        for x in args:
            compute = getattr(type(x), "applied_function", None)
            if compute is not None:
                return compute(name, plain, args)
        return applied(name, args) if any(map(is_symbol, args)) else plain(*args)

    return call


def _with_proxies(plain):
    """Return a test of `math` that compares proxies."""
    answer = _TESTS[plain.__name__]

    @functools.wraps(plain)
    def call(x):
        return answer(x) if is_symbol(x) or hasattr(type(x), "applied_function") else plain(x)

    return call


FUNCTIONS: dict[str, Callable] = {name: _with_numbers(plain) for name, plain in MATH.items()} | {
    name: _with_proxies(getattr(math, name)) for name in _TESTS}
cos, erf, isfinite, isnan, log, log1p, sqrt = [FUNCTIONS[name] for name in (
    "cos", "erf", "isfinite", "isnan", "log", "log1p", "sqrt")]
