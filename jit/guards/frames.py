"""Running code: whose it is, which functions have it, and in which cells its free variables live."""

import ctypes
import functools
import gc
import sys
import types

from ...runtime.cpu.calls.call import knows_objects
from ..bytecode.user_code import INGOT, is_users_code
from .locations import root_value

_LAST_KNOWN = (3, 15)       # the newest Python on which the layout of frames was looked at
_POINTER = ~7               # of a reference, which has marks in its last bits from Python 3.14 on


def unprofiled(function, /, *args, **kwargs):
    """Calls what calls nothing of the user's: looking at all that happens inside would take longer than what it does."""
    watching = sys.getprofile()
    if watching is None:
        return function(*args, **kwargs)
    sys.setprofile(None)
    try:
        return function(*args, **kwargs)
    finally:
        restore_profiler(watching)


def restore_profiler(before):
    """Puts back what `sys.getprofile()` gave before somebody else watched."""
    if hasattr(before, "enable"):
        sys.setprofile(None)            # cProfile, which the interpreter cannot call as it calls functions
        before.enable()
    else:
        sys.setprofile(before)


def function_of(frame):
    """The function that a running frame runs; None where the interpreter does not tell."""
    slot = _function_slot()
    if slot is None:
        return None
    address = _slots(frame)[slot] & _POINTER
    found = ctypes.cast(address, ctypes.py_object).value if address else None
    return found if isinstance(found, types.FunctionType) and found.__code__ is frame.f_code else None


def _slots(frame):
    """The first words of what the interpreter knows of a running frame. A frame object is a head, the frame outside of it, and
    where these words are (CPython 3.11 to 3.15)."""
    return (ctypes.c_size_t * 3).from_address(ctypes.c_size_t.from_address(id(frame) + object.__basicsize__ + 8).value)


@functools.lru_cache(None)
def _function_slot() -> int | None:
    """Which of these words is the function: the one that is so here."""
    if not knows_objects() or sys.version_info[:2] > _LAST_KNOWN:
        return None

    def slot_of_this():
        return [word & _POINTER for word in _slots(sys._getframe())].index(id(slot_of_this))

    try:
        return slot_of_this()
    except ValueError:
        return None


def functions_with_code(frame) -> list:
    """The functions that have the code of a frame, where nobody knows which of them runs: by its name where that leads to it,
    else among all objects there are, which takes a second in a process of a gigabyte."""
    code, found = frame.f_code, frame.f_globals
    for part in code.co_qualname.split("."):
        found = found.get(part) if isinstance(found, (dict, types.MappingProxyType)) else None
        found = vars(found) if isinstance(found, type) else getattr(found, "__func__", found)
    if isinstance(found, types.FunctionType) and found.__code__ is code:
        return [found]
    return [f for f in gc.get_referrers(code) if isinstance(f, types.FunctionType) and f.__code__ is code]


class RunningFunctions:
    """Functions that frames run."""

    def __init__(self):
        self._found: dict = {}      # code -> functions that have it, where the interpreter does not tell which one runs

    def of(self, frame) -> list:
        """Return the function that a frame runs; where that is unknown, all that have its code, searched once for each code."""
        running = function_of(frame)
        if running is not None:
            return [running]
        found = self._found.get(frame.f_code)
        if found is None:
            found = self._found[frame.f_code] = functions_with_code(frame)
        return found


def cells_of(functions, code, name, value) -> list:
    """The closure cells that may be the one behind a free variable of running code: those of functions with that code which
    hold the value. There is one where the function that runs is known."""
    at = code.co_freevars.index(name)
    cells = [f.__closure__[at] for f in functions if f.__closure__]
    return list({id(c): c for c in cells if root_value(c, name) is value}.values())


_verdicts: dict = {}        # (file, module) -> whether code of theirs is the user's
_MOST_VERDICTS = 1 << 14


def is_user(frame) -> bool:
    """Whether a frame runs the user's code. (Asked at every event of a call that is recorded, most of which call nothing here:
    a subscript is no event.)"""
    try:
        return _verdicts[frame.f_code.co_filename, frame.f_globals["__name__"]]
    except KeyError:
        return _verdict(frame.f_code.co_filename, frame.f_globals.get("__name__", ""))


def _verdict(file, module) -> bool:
    if len(_verdicts) >= _MOST_VERDICTS:
        _verdicts.clear()
    found = _verdicts[file, module] = is_users_code(module, file)
    return found


def works_for_user(frame) -> bool:
    """Whether a library's frame runs for the user's code, and not for ingot's."""
    own = INGOT + "."
    while frame is not None and not is_user(frame):
        if frame.f_globals.get("__name__", "").startswith(own):
            return False
        frame = frame.f_back
    return frame is not None
