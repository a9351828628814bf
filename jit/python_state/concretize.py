"""Plain numbers for functions that look at the very types of numbers: `json.dumps({"loss": loss.item()})`, `type(n) is int`.

A proxy passes `isinstance` as a number, but not in code that reads an object's type, as C libraries do. Modules of the
standard library that only move values are exempt.
"""

from ...runtime.core.state import tls
from ..bytecode.attribute_queries import looks_at_types
from ..bytecode.user_code import TRUSTED
from ..guards.frames import is_user
from ..proxies.lazy_scalars import forced
from ..proxies.numpy_scalars import SymScalar, fixed

_MOVERS = TRUSTED | {"abc", "bisect", "collections", "contextlib", "copy", "dataclasses", "enum", "functools", "heapq",
                     "logging", "operator", "types", "typing"}

_getattr = getattr      # the original, which is quicker than the patched one


def settle(frame, is_symbolic):
    """Replace numbers in the arguments of a function that starts by their values, if it looks at types, or is a library's that
    user code calls. `is_symbolic` says whether numbers are symbolic, too."""
    if not is_symbolic and not _getattr(_getattr(tls.m.recorder, "reads", None), "has_numbers", False):
        return
    if is_user(frame):
        if looks_at_types(frame.f_code):
            _settle(frame, lambda x: x.fixed() if type(x) is SymScalar else forced(x))
    elif frame.f_back is not None and is_user(frame.f_back) and _package_of(frame) not in _MOVERS:
        make_plain(frame)


def make_plain(frame):
    """Replace the numbers in a function's arguments by their values, and fix them."""
    _settle(frame, lambda x: fixed(forced(x)))


def _package_of(frame) -> str:
    return frame.f_globals.get("__name__", "").partition(".")[0]


def _settle(frame, give):
    code = frame.f_code
    count, local = code.co_argcount + code.co_kwonlyargcount + bool(code.co_flags & 4) + bool(code.co_flags & 8), frame.f_locals
    for name in code.co_varnames[:count]:
        if name in local:
            plain = _plain(local[name], give, set())
            if plain is not local[name]:
                local[name] = plain


def _plain(x, give, seen: set):
    """Return a value with plain numbers in it; lists and dictionaries get them in place."""
    if type(x) is tuple:
        found = tuple([_plain(v, give, seen) for v in x])
        return found if any(a is not b for a, b in zip(x, found)) else x
    if type(x) not in (list, dict):
        return give(x)
    if id(x) not in seen:
        seen.add(id(x))
        for key, value in x.items() if type(x) is dict else enumerate(x):
            found = _plain(value, give, seen)
            if found is not value:
                x[key] = found
    return x
