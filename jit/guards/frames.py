"""Frames of running code: whether it is the user's, the function that it runs, and the cells of its free variables."""

import ctypes
import functools
import gc
import sys
import threading
import types
from typing import Any, NamedTuple

from ...ir.interrupts import raise_interrupt
from ...runtime.cpu.calls.call import knows_objects
from ..bytecode.user_code import INGOT, is_user_code
from ..errors.errors import Position
from .locations import root_value

_LAST_KNOWN = (3, 15)       # the newest Python whose layout of frames was checked
_TRACING = f"{INGOT}.jit.tracing."         # modules whose frames are around the recorded function
_POINTER = ~7               # of a reference, which has marks in its last bits from Python 3.14 on
_MOST_WORDS = 12            # of a frame before its first local variable
_FRAME = object.__basicsize__ + 8       # where a frame object keeps the address of the interpreter's frame
_MOST_WORDS_OF_THREAD = 64      # of a thread's state before the owner of its profiler
_IN_PYTHON = (types.FunctionType, types.MethodType)
_THREAD_STATE = ctypes.PYFUNCTYPE(ctypes.c_void_p)(("PyThreadState_Get", ctypes.pythonapi))
_SET_PROFILE = ctypes.PYFUNCTYPE(None, ctypes.c_void_p, ctypes.py_object)(("PyEval_SetProfile", ctypes.pythonapi))
_TAKE, _DROP = ctypes.PYFUNCTYPE(None, ctypes.py_object)(("Py_IncRef", ctypes.pythonapi)), ctypes.PYFUNCTYPE(
    None, ctypes.py_object)(("Py_DecRef", ctypes.pythonapi))
_WORD_AT, _OBJECT_AT = ctypes.c_size_t.from_address, ctypes.py_object.from_address


def unprofiled(function, /, *args, **kwargs):
    """Call a function without profile and trace events. It must call no user code: events for all that happens inside would
    cost more than the call itself."""
    watching, tracing = current_profiler(), sys.gettrace()
    if watching is None:
        return function(*args, **kwargs)
    settrace = own_settrace()
    sys.setprofile(None)
    settrace(None)
    try:
        return function(*args, **kwargs)
    finally:
        restore_profiler(watching)
        settrace(tracing)


class ProfilerInC(NamedTuple):
    """Profiler that C code has installed: cProfile, pyinstrument, VizTracer. The interpreter calls `function`, an address, with
    `owner`, which `sys.setprofile` cannot install again."""

    function: int
    owner: Any


def current_profiler() -> Any:
    """Return the profiler of this thread for `restore_profiler`, or None."""
    found = sys.getprofile()
    if found is None or type(found) in _IN_PYTHON:
        return found
    function = _profile_function(found) if _knows_profilers() else 0
    return ProfilerInC(function, found) if function else found


def restore_profiler(before):
    """Install the profiler again that `current_profiler()` returned."""
    if type(before) is ProfilerInC:
        _SET_PROFILE(before.function, before.owner)
    elif callable(getattr(before, "enable", None)):
        sys.setprofile(None)            # cProfile, on a Python whose layout of threads is not known
        before.enable()
    else:
        sys.setprofile(before)


def _profile_function(owner) -> int:
    """Return the address of the C function that the interpreter calls for the profiler `owner` of this thread, or 0. A thread's
    state holds the functions for profiling and tracing, and then their owners (CPython 3.11 to 3.15)."""
    words = (ctypes.c_size_t * _MOST_WORDS_OF_THREAD).from_address(_THREAD_STATE())
    at = next((i for i, word in enumerate(words) if word == id(owner)), 0)
    return words[at - 2] if at >= 2 else 0


@functools.lru_cache(None)
def _knows_profilers() -> bool:
    """Return whether the layout of a thread's state is as expected, by a profiler of our own in a thread of its own."""
    if not knows_objects() or sys.version_info[:2] > _LAST_KNOWN:
        return False
    owner, function = object(), ctypes.PYFUNCTYPE(ctypes.c_int, *[ctypes.c_void_p] * 2, ctypes.c_int, ctypes.c_void_p)(_ignores)
    address, found = ctypes.cast(function, ctypes.c_void_p).value or 0, []

    def look():
        _SET_PROFILE(address, owner)
        found.append(sys.getprofile() is owner and _profile_function(owner) == address)
        sys.setprofile(None)

    thread = threading.Thread(target=look)
    thread.start()
    thread.join()
    return found == [True]


def _ignores(owner, frame, event, arg) -> int:
    return 0


def own_settrace() -> Any:
    """Return the interpreter's own `sys.settrace`: the debugger pydevd puts one there that prints a warning."""
    holder = getattr(sys.modules.get("pydevd_tracing"), "TracingFunctionHolder", None)
    return getattr(holder, "_original_tracing", None) or sys.settrace


def function_of(frame):
    """Return the function that a running frame runs, or None if the interpreter does not tell."""
    slot = _function_slot()
    if slot is None:
        return None
    found = _object_at(_address_of(frame) + 8 * slot)
    return found if isinstance(found, types.FunctionType) and found.__code__ is frame.f_code else None


def _slots(frame, count=3):
    """Return the first words of the interpreter's frame: a head, the outer frame, and a pointer to these (CPython 3.11 to
    3.15)."""
    return (ctypes.c_size_t * count).from_address(_address_of(frame))


def _address_of(frame) -> int:
    return _WORD_AT(id(frame) + _FRAME).value


@functools.lru_cache(None)
def _function_slot() -> int | None:
    """Return which of these words is the function, found on a function of our own."""
    if not knows_objects() or sys.version_info[:2] > _LAST_KNOWN:
        return None

    def slot_of_this():
        return [word & _POINTER for word in _slots(sys._getframe())].index(id(slot_of_this))

    try:
        return slot_of_this()
    except ValueError as error:
        raise_interrupt(error, slot_of_this)
        return None


def knows_stack() -> bool:
    """Return whether the layout of frames is known."""
    return _first_local() is not None


def stack_values(frame, slots) -> list | None:
    """Return the values on the stack of a running frame at some positions, None for empty ones; or None if the interpreter does
    not tell."""
    first = _first_local()
    if first is None:
        return None
    start = _stack_of(frame, first)
    return [_object_at(start + 8 * slot) for slot in slots]


def _stack_of(frame, first) -> int:
    """Return the address of the lowest value on the stack of a frame, whose first local variable is its word `first`."""
    code = frame.f_code
    cells = len(set(code.co_cellvars).difference(code.co_varnames)) + len(code.co_freevars)
    return _address_of(frame) + 8 * (first + code.co_nlocals + cells)


def put_on_stack(frame, slot: int, value):
    """Replace a value on the stack of a running frame, at a position that `stack_values` has read. An interrupt in between
    leaves a reference too many, never one too few."""
    word = _WORD_AT(_stack_of(frame, _first_local()) + 8 * slot)
    before = word.value
    _TAKE(value)
    word.value = id(value)
    if not before & ~_POINTER:       # (a mark says that the stack has no reference of its own)
        _DROP(ctypes.py_object.from_buffer(ctypes.c_size_t(before)))


def _object_at(address):
    """Return the object to which a word of a frame refers, or None."""
    word = _WORD_AT(address).value
    if word & ~_POINTER:        # (three times as slow)
        word = word & _POINTER
        return ctypes.py_object.from_buffer(ctypes.c_size_t(word)).value if word else None
    return _OBJECT_AT(address).value if word else None


@functools.lru_cache(None)
def _first_local() -> int | None:
    """Return which word of a frame is its first local variable, found on a function of our own."""
    if _function_slot() is None:
        return None

    def first_here(marker):
        return [word & _POINTER for word in _slots(sys._getframe(), _MOST_WORDS)].index(id(marker))

    marker = object()
    try:
        return first_here(marker)
    except ValueError as error:
        raise_interrupt(error, first_here, marker)
        return None


def functions_with_code(frame) -> list:
    """Return the functions with the code of a frame, by name, else among all objects (a second in a process of a gigabyte)."""
    code, found = frame.f_code, frame.f_globals
    for part in code.co_qualname.split("."):
        found = found.get(part) if isinstance(found, (dict, types.MappingProxyType)) else None
        found = vars(found) if isinstance(found, type) else getattr(found, "__func__", found)
    if isinstance(found, types.FunctionType) and found.__code__ is code:
        return [found]
    return [f for f in gc.get_referrers(code) if isinstance(f, types.FunctionType) and f.__code__ is code]


class RunningFunctions:
    """Functions that frames run, searched once for each code."""

    def __init__(self):
        self._by_code: dict = {}      # code -> functions that have it, where the interpreter does not tell which one runs

    def of(self, frame) -> list:
        """Return the function that a frame runs; where that is unknown, all that have its code, searched once for each code."""
        running = function_of(frame)
        if running is not None:
            return [running]
        found = self._by_code.get(frame.f_code)
        if found is None:
            found = self._by_code[frame.f_code] = functions_with_code(frame)
        return found


def cells_of(functions, code, name, value) -> list:
    """Return the closure cells that may be behind a free variable of running code: those of `functions` that hold the value."""
    at = code.co_freevars.index(name)
    cells = [f.__closure__[at] for f in functions if f.__closure__]
    return list({id(c): c for c in cells if root_value(c, name) is value}.values())


_decisions: dict = {}        # (file, module) -> is it user code?
_MOST_DECISIONS = 1 << 14


def is_user(frame) -> bool:
    """Return whether a frame runs user code. Each profile event of a recorded call asks this, so it makes no calls."""
    try:
        return _decisions[frame.f_code.co_filename, frame.f_globals["__name__"]]
    except KeyError:
        return _decide(frame.f_code.co_filename, frame.f_globals.get("__name__", ""))


def _decide(file, module) -> bool:
    if len(_decisions) >= _MOST_DECISIONS:
        _decisions.clear()
    found = _decisions[file, module] = is_user_code(module, file)
    return found


def running_position() -> Position | None:
    """Return the user's line that runs inside of the function that is recorded; None at its end."""
    frame: types.FrameType | None = sys._getframe(1)
    while frame is not None and not frame.f_globals.get("__name__", "").startswith(_TRACING):
        if is_user(frame):
            return Position(frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_qualname)
        frame = frame.f_back
    return None


def position_of(error) -> Position | None:
    """Return the innermost line of user code that an error came through."""
    found, step = None, error.__traceback__
    while step is not None:
        code = step.tb_frame.f_code
        if is_user(step.tb_frame):
            found = Position(code.co_filename, step.tb_lineno, code.co_qualname)
        step = step.tb_next
    return found


def works_for_user(frame) -> bool:
    """Return whether the frame of a library runs for user code, and not for ingot's."""
    own = INGOT + "."
    while frame is not None and not is_user(frame):
        if frame.f_globals.get("__name__", "").startswith(own):
            return False
        frame = frame.f_back
    return frame is not None
