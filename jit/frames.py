"""Running code: whose it is, which functions have it, and in which cells its free variables live."""

import gc
import sys
import types

from .places import root_value
from .whose import INGOT, is_users_code


def unwatched(function, /, *args, **kwargs):
    """Calls what calls nothing of the user's: looking at all that happens inside would take longer than what it does."""
    watching = sys.getprofile()
    if watching is None:
        return function(*args, **kwargs)
    sys.setprofile(None)
    try:
        return function(*args, **kwargs)
    finally:
        sys.setprofile(watching)


def functions_of(frame) -> list:
    """The functions that have the code of a frame: by its name where that leads to it, else among all objects there are."""
    code, found = frame.f_code, frame.f_globals
    for part in code.co_qualname.split("."):
        found = found.get(part) if isinstance(found, (dict, types.MappingProxyType)) else None
        found = vars(found) if isinstance(found, type) else getattr(found, "__func__", found)
    if isinstance(found, types.FunctionType) and found.__code__ is code:
        return [found]
    return [f for f in gc.get_referrers(code) if isinstance(f, types.FunctionType) and f.__code__ is code]


def cell_of(functions, code, name, value):
    """The closure cell behind a free variable of running code, found through the functions made from that code."""
    at = code.co_freevars.index(name)
    for f in functions:
        if f.__closure__:
            cell = f.__closure__[at]
            if root_value(cell, name) is value:
                return cell
    return None


def is_user(frame) -> bool:
    """Whether a frame runs the user's code."""
    return is_users_code(frame.f_globals.get("__name__", ""), frame.f_code.co_filename)


def works_for_user(frame) -> bool:
    """Whether a library's frame runs for the user's code, and not for ingot's."""
    own = INGOT + "."
    while frame is not None and not is_user(frame):
        if frame.f_globals.get("__name__", "").startswith(own):
            return False
        frame = frame.f_back
    return frame is not None
