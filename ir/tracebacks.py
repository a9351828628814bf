"""Tracebacks without frames of ingot: the last line is the user's.

An exception drops ingot's frames, and those of libraries below, when it leaves ingot: `left` runs at each door
(`ir/doors.py`). All else is shortened where it is shown (`ir/error_texts/shown_errors.py`). Frames of the user between stay: a
`forward` that a module calls, a hook, a dataset, a traced function. `INGOT_TRACEBACK=full` keeps all frames.

The class, the attributes and the identity of an exception stay. An error that ingot did not raise on purpose is a bug, or a
check of an argument is missing. A note then names the line of ingot.
"""

import os
import sys
import types
from functools import lru_cache
from opcode import opmap

from .config import current
from .errors import MEMORY_HINT, IngotError
from .interrupts import result_or

_PACKAGE = __name__.partition(".")[0]
_LIBRARIES = frozenset(("llvmlite", "ml_dtypes", "networkx", "numpy", "triton"))           # that ingot calls
_RAISE = _LIBRARIES | {_PACKAGE, "builtins"}        # packages with the classes of exceptions that ingot may raise itself
_ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
# Programs of ingot's own repository, which call ingot as users do.
_PROGRAMS = frozenset(("benchmarks", "demo", "examples", "tests", "tools"))
_STDLIB = os.path.dirname(os.__file__) + os.sep
_STARTER = "<frozen runpy>"       # `python -m`
_INSTALLED = f"{os.sep}site-packages{os.sep}"
_BETWEEN = frozenset(("concurrent.futures.thread", "contextlib", "functools", "threading"))
_RAISES = frozenset((opmap["RAISE_VARARGS"], opmap["RERAISE"]))
# Errors that tell of the world or of the caller's loop, wherever they are raised.
_OF_CALLERS = OSError, MemoryError, RecursionError, StopIteration, StopAsyncIteration, ImportError, Warning
_SIGNATURES = "() missing ", "() takes ", "() got "       # texts of calls that do not fit a signature
FULL = "INGOT_TRACEBACK=full"
_MOST = 100         # exceptions of one chain

_own: dict = {}     # by names of modules
_inside: dict = {}
_FOR_PYTHON: set[str] = set()       # modules that `computes_for_python` names


def is_own_module(name: str) -> bool:
    """Return whether frames of a module are ingot's."""
    known = _own.get(name)
    if known is None:
        top, _, inner = name.partition(".")
        known = _own[name] = top == _PACKAGE and inner.partition(".")[0] not in _PROGRAMS
    return known


def is_own(frame: types.FrameType) -> bool:
    """Return whether a frame is ingot's."""
    name = frame.f_globals.get("__name__")
    if name == "__main__":              # `python -m ingot.as_torch` runs the user's program
        name = getattr(frame.f_globals.get("__spec__"), "name", None)
    return name.__class__ is str and is_own_module(name)


def is_library(frame: types.FrameType) -> bool:
    """Return whether a frame belongs to the standard library, or to a library that ingot calls."""
    return _is_library_file(str(frame.f_globals.get("__name__", "")), frame.f_code.co_filename)


@lru_cache(1024)
def _is_library_file(module: str, file: str) -> bool:
    top = module.partition(".")[0]
    if top in _LIBRARIES or file.startswith("<frozen "):
        return True
    # A program may be called `code.py` or `test.py`.
    return top in sys.stdlib_module_names and file.startswith(_STDLIB) and _INSTALLED not in file


def outer_frame(frame: types.FrameType | None) -> types.FrameType | None:
    """Return the nearest frame from `frame` up that is no library's."""
    while frame is not None and not is_own(frame) and is_library(frame):
        frame = frame.f_back
    return frame


def user_frame(frame: types.FrameType | None) -> tuple:
    """Return (nearest frame outside ingot and its decorators, its number counted from 1 at `frame`)."""
    level = 1
    while frame is not None:
        name = frame.f_globals.get("__name__", "")
        inside = _inside.get(name)          # each write in place asks, so the common case makes no call
        if inside is None:
            inside = _inside[name] = name in _BETWEEN or is_own_module(name)
        if not inside:
            break
        level, frame = level + 1, frame.f_back
    return frame, level


def user_level() -> int:
    """Return the `stacklevel` with which the caller's warning names the user's line."""
    return user_frame(sys._getframe(1))[1]


def explain() -> None:
    """Raise the error that names an argument of a wrong type, in place of one that arose inside the calling function."""
    error = sys.exception()
    if not isinstance(error, _OF_ARGUMENTS) or isinstance(error, IngotError):
        return
    told = result_or(None, _argument_error, error, sys._getframe(1))        # (objects of users may have odd attributes)
    if told is not None:
        raise told from None


def _argument_error(error, frame) -> Exception | None:
    entries = entries_of(error.__traceback__)
    caller = outer_frame(frame.f_back)
    is_ours = is_of_numpys_memory(error, entries) if isinstance(error, MemoryError) else note_on(error, entries)
    if is_ours and (caller is None or not is_own(caller)):
        return next(filter(None, [ask(error, frame.f_code, frame.f_locals) for ask in ARGUMENT_ERRORS]), None)
    return None


ARGUMENT_ERRORS: list = []      # functions of (error, code of a function, its variables) that return an error or None
_OF_ARGUMENTS = AttributeError, TypeError, ValueError, LookupError, MemoryError


def is_of_numpys_memory(error: MemoryError, entries: list) -> bool:
    """Return whether NumPy had no memory for an array of ingot. Its private class tells the size, not which function asked."""
    return type(error).__module__.partition(".")[0] == "numpy" and _innermost_own(entries) is not None


def left(level: int = 2) -> None:
    """Shorten the traceback of the exception that leaves the calling frame, unless that is called by ingot. `level` counts the
    frames from here to the caller of that frame."""
    error, caller = sys.exception(), sys._getframe(level - 1).f_back
    if error is not None and (caller is None or not is_own(caller)):
        result_or(None, _shorten_for, error, caller)        # (as above)


def _shorten_for(error: BaseException, caller: types.FrameType | None) -> None:
    """Shorten the traceback of an exception that leaves a frame with that caller."""
    caller = outer_frame(caller)
    if caller is None or not is_own(caller):
        trace = error.__traceback__
        if trace is not None and trace.tb_lineno is None and current().traceback != "full":
            error.__traceback__ = trace.tb_next         # `explain` raised it, in a handler, which has no line
        shorten(error)


def left_getattr() -> None:
    """Drop the frame of a `__getattr__` that found nothing. `hasattr` asks often, so this does no more."""
    error = sys.exception()
    trace = None if error is None else error.__traceback__
    if trace is not None and trace.tb_next is None and current().traceback != "full":
        error.__traceback__ = None              # type: ignore[union-attr]


def shorten(error: BaseException) -> None:
    """Drop ingot's frames from an exception, and from those that it came from."""
    for explain_text in TEXTS:
        explain_text(error)
    trace = error.__traceback__
    if trace is None or current().traceback == "full" or _is_of_another_thread(error, trace):
        return
    entries = entries_of(trace)
    note = note_on(error, entries)
    if note and note not in getattr(error, "__notes__", ()):
        error.add_note(note)
    came_from_ingot = _innermost_own(entries) is not None
    error.__traceback__ = users_part(trace)
    shorten_causes(error, came_from_ingot)


def explain_lack_of_memory(error: BaseException) -> None:
    """Give an empty MemoryError a note, if it met frames of ingot. Its arguments stay: another thread may have raised it."""
    if type(error) is not MemoryError or error.args or _NO_MEMORY in getattr(error, "__notes__", ()):
        return
    if any(is_own(entry.tb_frame) for entry in entries_of(error.__traceback__)):
        error.add_note(_NO_MEMORY)


_NO_MEMORY = f"(no memory is left; {MEMORY_HINT})"
# Functions of an error that leaves ingot, or is shown: they may rewrite its text.
TEXTS: list = [explain_lack_of_memory]


def _is_of_another_thread(error, trace) -> bool:
    """Return whether another thread may have raised an exception in code of a library: it has a class of users, and no text."""
    if error.args or type(error).__module__.partition(".")[0] in _RAISE:
        return False
    while trace.tb_next is not None:
        trace = trace.tb_next
    return is_own(trace.tb_frame) or is_library(trace.tb_frame)


def entries_of(trace) -> list:
    """Return the entries of a traceback, outermost first."""
    found = []
    while trace is not None:
        found.append(trace)
        trace = trace.tb_next
    return found


def _innermost_own(entries):
    """Return the last entry of ingot, if the error arose there or in a library that it called; None if below it the user's code
    ran, whose errors are the user's own (`json.loads` in a traced function)."""
    for entry in reversed(entries):
        if is_own(entry.tb_frame):
            return entry
        if is_user(entry):
            break
    return None


def is_user(entry) -> bool:
    """Return whether the frame of an entry is the user's, or of a library that a user calls."""
    return not is_own(entry.tb_frame) and not is_library(entry.tb_frame)


def users_part(trace) -> types.TracebackType | None:
    """Return a traceback without ingot's frames, those of libraries that ingot called, and those that started ingot."""
    kept: list = []
    inside = changed = False
    for entry in entries_of(trace):
        if is_own(entry.tb_frame) or (inside and is_library(entry.tb_frame)):
            while not inside and kept and kept[-1].tb_frame.f_code.co_filename == _STARTER:
                kept.pop()
            inside = changed = True
        else:
            kept.append(entry)
            inside = False
    if not changed:
        return trace
    made = None
    for entry in reversed(kept):
        made = entry if entry.tb_next is made else types.TracebackType(made, entry.tb_frame, entry.tb_lasti, entry.tb_lineno)
    return made


# Exceptions that an exception came from.


def chain_of(error: BaseException) -> list:
    """Return an exception, those that it came from, and those in groups among them."""
    found: dict = {}
    waiting: list = [error]
    while waiting and len(found) < _MOST:
        e = waiting.pop()
        if e is None or id(e) in found:
            continue
        found[id(e)] = e
        waiting += [e.__cause__, e.__context__, *(e.exceptions if isinstance(e, BaseExceptionGroup) else ())]
    return [*found.values()]


def shorten_causes(error: BaseException, came_from_ingot: bool = False) -> None:
    """Shorten the exceptions from which one came, and show none that ingot caught inside: it stays in `__context__`."""
    for _ in range(_MOST):
        cause = error.__cause__
        inner = cause if cause is not None else None if error.__suppress_context__ else error.__context__
        if inner is None:
            return
        if _is_internal(inner, came_from_ingot):
            _hide(error, inner)
            return
        if inner.__traceback__ is not None:
            inner.__traceback__ = users_part(inner.__traceback__) or inner.__traceback__
        error = inner


def _is_internal(error: BaseException, came_from_ingot: bool) -> bool:
    """Return whether an exception arose inside ingot and met no frame of the user."""
    trace = error.__traceback__
    if trace is None:
        return came_from_ingot          # one that was kept without frames, which would hold tensors
    entries = entries_of(trace)
    return not any(map(is_user, entries)) and (came_from_ingot or any(is_own(entry.tb_frame) for entry in entries))


def _hide(error: BaseException, inner: BaseException) -> None:
    """Do not show `inner`. What the user's code was handling when it called ingot is shown instead."""
    if error.__context__ is None:
        error.__context__ = inner
    error.__cause__ = None              # suppresses the context, too
    handled = inner.__context__
    for _ in range(_MOST):
        if handled is None:
            return
        if handled.__traceback__ is not None and not _is_internal(handled, False):
            error.__context__, error.__suppress_context__ = handled, False
            return
        handled = handled.__context__


# Errors that ingot did not raise on purpose.


def computes_for_python(module: str) -> None:
    """Enter a module whose functions do operations of Python for the user: `1 / n` of a symbolic `n`, `int("a")` in a traced
    function. What Python refuses there is the user's mistake."""
    _FOR_PYTHON.add(module)


def note_on(error: BaseException, entries: list) -> str:
    """Return the line of ingot in which an error arose that no `raise` of ingot made; empty for all others."""
    last = entries[-1]
    if not isinstance(error, Exception) or isinstance(error, (IngotError, *_OF_CALLERS)) or is_user(last):
        return ""
    own = _innermost_own(entries)
    if own is None or (own is last and own.tb_frame.f_code.co_code[own.tb_lasti] in _RAISES):
        return ""
    if own.tb_frame.f_globals.get("__name__") in _FOR_PYTHON:
        return ""
    if type(error) is TypeError and any(text in str(error) for text in _SIGNATURES):
        return ""
    file = own.tb_frame.f_code.co_filename
    file = os.path.join(_PACKAGE, os.path.relpath(file, _ROOT)) if file.startswith(_ROOT) else file
    return f"(raised inside ingot at {file}:{own.tb_lineno}; {FULL} shows all frames)"
