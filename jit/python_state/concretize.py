"""Functions that look at the very types of numbers get plain ones: `json.dumps({"loss": loss.item()})`, `type(n) is int`.

What stands for a number while a call is recorded is one to `isinstance`, but not to code that looks at an object's type, which
libraries in C do. Modules of the standard library that only move values about are left alone.
"""

from ...runtime.core.state import tls
from ..bytecode.attribute_queries import looks_at_types
from ..bytecode.user_code import TRUSTED
from ..guards.frames import is_user
from ..proxies.lazy_scalars import forced
from ..proxies.numpy_scalars import SymScalar, fixed

_MOVERS = TRUSTED | {"abc", "bisect", "collections", "contextlib", "copy", "dataclasses", "enum", "functools", "heapq",
                     "logging", "operator", "types", "typing"}

_getattr = getattr      # itself: another one stands in while calls are recorded, which takes longer


def settle(frame, is_symbolic):
    """A function starts: if it looks at types, or is a library's that the user's code calls, the numbers in its arguments are
    what they are now. `is_symbolic` says whether numbers are symbolic, too."""
    if not is_symbolic and not _getattr(_getattr(tls.m.recorder, "reads", None), "has_numbers", False):
        return
    if is_user(frame):
        if looks_at_types(frame.f_code):
            _settle(frame, lambda x: x.fixed() if type(x) is SymScalar else forced(x))
    elif frame.f_back is not None and is_user(frame.f_back) and _package_of(frame) not in _MOVERS:
        make_plain(frame)


def make_plain(frame):
    """The numbers in a function's arguments are what they are now, and count by that."""
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
    """A value with plain numbers in it; lists and dictionaries get them in place."""
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
