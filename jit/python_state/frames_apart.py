"""Code that runs during a recorded call and is no part of it.

The interpreter runs garbage collections, handlers of signals, callbacks of weak references and `__del__` between two
instructions of any code, a replay's as well. The code of a module runs once, at its first import. The tracker sees nothing of
such code, and the recorder hears of none of its operators. If it changes state that the function has met, that is a change from
outside in the middle of a call, and the call is not recorded.
"""

import _signal
import gc
import importlib._bootstrap
import inspect
import signal
import sys
import threading
import types
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

from ...runtime.state.collector import CALLBACK, call_in_collections
from ...runtime.state.mode import tls
from ..bytecode.call_sites import call_sites_of
from ..bytecode.stack import instructions_of, position_of
from ..bytecode.user_code import is_user_code
from ..errors.errors import RecordingStatus
from ..guards.exact_values import exact
from ..guards.frames import is_user, works_for_user
from .stdlib_state import RandomGenerators

# Flags that `Mode.refresh` derives. An operator on symbolic sizes runs with no recorder for a moment, and leaves them as they
# are: a collection then must not clear them (tests/jit/python_state/test_interrupting_code.py).
_FLAGS = "told", "listened", "noticed", "special"
LOADS = importlib._bootstrap._load_unlocked.__code__      # type: ignore[attr-defined]
_MADE_ANEW = int, float, complex, str, bytes, tuple, np.generic       # classes of such values, whose content nobody changes
FINALISES = weakref.finalize.__call__.__code__
_SIGNALS = tuple(map(int, signal.valid_signals()))
# Instructions by which code in C may call a function that it was given before, as `map` does.
_MOVES = frozenset(("FOR_ITER", "UNPACK_SEQUENCE", "UNPACK_EX", "LIST_EXTEND", "SET_UPDATE", "DICT_UPDATE", "CONTAINS_OP"))


class _Left:
    """State when code began that is no part of the call: modes and flags of the thread, contents of containers, and `more`
    (values of locations, states of random generators, values that were read), which takes longer."""

    def __init__(self, modes, flags):
        self.modes, self.flags, self.contents, self.more = modes, flags, None, None


class FramesApart:
    """Detection of such code. `depth` is 0 unless some runs. `contents` and `written` return what containers and other
    locations hold that the call has met and may have changed; `guarded` returns [(guard, value now)] of what it has read."""

    def __init__(self, status: RecordingStatus, contents: Callable, written: Callable, guarded: Callable,
                 generators: RandomGenerators):
        self.status, self._contents, self._written, self._guarded = status, contents, written, guarded
        self._generators = generators
        self.depth = 0
        self._current: tuple = None, 0      # the frame that runs apart, if the tracker found it as it started, and its level
        self._calling: tuple = 0, False     # id of the last user frame that called, and whether code in C may have called back
        self._left: list[_Left] = []    # what was before such code, and before code that interrupted it in turn
        self._thread = threading.get_ident()
        self._handlers: list[tuple[int, Any]] = []      # (signal, `_Handler`)
        self._collecting: int | None = None         # the level of a garbage collection that goes on
        self._lost: BaseException | None = None     # interrupt in a callback of the garbage collector, which drops errors
        self._is_inserted = False       # whether `CALLBACK` was not the first callback
        self._outer: Callable | None = None     # what collections called before, for a recording around this one

    def start(self):
        """Hear of garbage collections, and stand around the handlers of signals, until `stop`."""
        self.status.is_interrupted = bool(sys.gettrace() or sys.getprofile())
        if gc.callbacks[:1] != [CALLBACK]:      # others come before it, or have removed it
            self._is_inserted = True
            gc.callbacks.insert(0, CALLBACK)
        self._outer = call_in_collections(self._collects)
        if threading.current_thread() is threading.main_thread():
            for number in _SIGNALS:
                handler: Any = _signal.getsignal(number)
                if callable(handler):
                    self._handlers.append((number, _Handler(handler, self)))
                    signal.signal(*self._handlers[-1])
        self._generators.start()

    def stop(self):
        """End with the call, once more after an interrupt inside of this. Modes are put back by others."""
        for number, handler in self._handlers:
            handler.apart = None        # (others may keep it)
            now: Any = signal.getsignal(number)
            if now is handler:
                signal.signal(number, handler.func)
        if CALLBACK.func == self._collects:
            call_in_collections(self._outer)
        for callback, is_there in ((CALLBACK, self._is_inserted), (self._ends, True)):
            if is_there and callback in gc.callbacks:
                gc.callbacks.remove(callback)
        self._handlers.clear()
        self.depth, self._outer, self._is_inserted = 0, None, False
        self._left.clear()
        self._contents = self._written = self._guarded = tuple       # (they lead in a circle)
        self._raise_lost()

    def leave(self, is_sure=True) -> int:
        """Begin with code that is no part of the call, if it `is_sure` that some will run; return what `go_on` takes. A signal
        may come at any call in here: its handler leaves and goes on by itself."""
        m, level = tls.m, len(self._left)
        modes = m.recorder, m.sizes, m.dispatch_hook, m.own_code
        flags = m.told, m.listened, m.noticed, m.special
        self._left.append(left := _Left(modes, flags))
        self.depth = level + 1
        m.recorder = m.sizes = m.dispatch_hook = m.own_code = None
        m.refresh()
        left.contents = self._contents()
        if is_sure:
            left.more = self._values()
        else:
            sys.setprofile(self._begins)
        return level

    def _begins(self, frame, event, arg):
        """Note state before the first frame that starts in a collection, unless it is the callback at its end."""
        if event == "call":
            sys.setprofile(None)
            if frame.f_code not in _CALLBACKS:
                self._left[-1].more = self._values()

    def _values(self) -> tuple:
        return self._written(), self._generators.states(), self._guarded()

    def level(self) -> int:
        """Return how much such code runs, each inside of the one before."""
        return len(self._left)

    def go_on(self, text: str, level: int):
        """Go on with the call after code that `text` names, where it was at this level."""
        if len(self._left) <= level:        # an error ended `leave` at once, or the recording
            return
        left = self._left[level]
        if sys.getprofile() == self._begins:
            sys.setprofile(None)
        if left.contents is not None:       # (else an error ended `leave`)
            written, drawn, guarded = left.more or (None, None, ())
            if self._contents() != left.contents or (written is not None and self._written() != written) or any(
                    _has_changed(guard, value) for guard, value in guarded):
                self.status.is_interrupted = True
                self.status.first_time = f"{text} interrupted it, and changed what it reads or writes"
            if drawn:
                self._generators.drew_apart(drawn)
        m = tls.m
        del self._left[level:]
        self.depth = level or self._lost is not None
        m.recorder, m.sizes, m.dispatch_hook, m.own_code = left.modes
        m.refresh()
        for name, was in zip(_FLAGS, left.flags):
            setattr(m, name, getattr(m, name) or was)

    # Garbage collections, which may begin in the middle of the tracker.

    def _collects(self, phase, info):
        """Begin with a collection before all other callbacks, and let `_ends` be called after these."""
        try:
            if threading.get_ident() == self._thread:
                if phase == "start" and self._collecting is None:
                    self._collecting = len(self._left)
                    # Most collections begin in ingot's own code, and run none of users: these cost little by `_begins`. A
                    # callback of a weak reference in C that assigns to an attribute goes unnoticed there.
                    self.leave(is_sure=sys.getprofile() is not None or gc.callbacks[-1] is not CALLBACK)
                elif phase == "stop" and self._collecting is not None and self._ends not in gc.callbacks:
                    if gc.callbacks[-1] is CALLBACK:
                        self._ends(phase, info)
                    else:
                        gc.callbacks.append(self._ends)
        except BaseException as error:
            self.loses(error)

    def _ends(self, phase, info):
        """Go on with the call after the last callback."""
        try:
            if threading.get_ident() == self._thread:
                if self._ends in gc.callbacks:
                    gc.callbacks.remove(self._ends)
                level, self._collecting = self._collecting, None
                if level is not None:
                    self.go_on("a garbage collection", level)
        except BaseException as error:
            self.loses(error)

    @property
    def collects(self) -> bool:
        """Whether a collection goes on. The collector drops what callbacks raise, those of others as well. Python 3.12 handles
        signals where these start."""
        return self._collecting is not None

    def loses(self, error):
        """Keep an error that came in a callback, where the collector drops it. After that, the next event raises it."""
        self._lost = error
        self.depth = max(self.depth, 1)         # (asks for the event)

    def _raise_lost(self):
        error, self._lost = self._lost, None
        if error is not None:
            raise error

    # Frames.

    def interrupts(self, frame) -> bool:
        """Note a frame of user code that starts; return whether the interpreter called it where an object went."""
        local, code = frame.f_locals, frame.f_code
        first = [local.get(name) for name in code.co_varnames[:min(code.co_argcount, 2)]]
        if code.co_flags & inspect.CO_VARARGS:
            first += local.get(code.co_varnames[code.co_argcount + code.co_kwonlyargcount], ())[:1]
        is_dead = any(issubclass(type(x), weakref.ref) and x() is None for x in first)      # (`isinstance` may run code)
        if (is_dead and not self._may_call(frame)) or (first and _finalises(frame, first[0])):
            self.enter(frame)
        return self.depth > 0

    def enter(self, frame):
        """Set a frame apart that starts."""
        self.status.is_interrupted = True
        self._current = frame, self.leave()

    def finalises(self, frame):
        """Note a frame of `weakref.finalize` that starts: its weak reference passes itself."""
        if frame.f_locals.get("_") is not None:
            self.enter(frame)

    def sees(self, frame, event):
        """Note an event of code apart."""
        if self._lost is not None and not self._left and not _is_in_callback(frame):
            self.depth = 0
            self._raise_lost()
        current, level = self._current
        if frame is current and event == "return":
            self._current = None, 0
            self.go_on(f"{frame.f_code.co_qualname}()", level)

    def calls(self, frame, function, operands):
        """Note a call that a frame of user code is about to make: a function in C calls none but the operands."""
        may_call = type(function) is not types.BuiltinFunctionType or any(map(callable, operands))
        self._calling = id(frame), may_call

    def _may_call(self, frame) -> bool:
        """Return whether the caller of a frame may have called it by the instruction that runs there."""
        caller = frame.f_back
        if caller is None or not is_user(caller):
            return False
        ins = instructions_of(caller.f_code)[position_of(caller)]
        if ins.offset not in call_sites_of(caller.f_code):
            return ins.opname in _MOVES
        at, may_call = self._calling
        return at != id(caller) or may_call

    def loads(self, frame):
        """Note a frame of `LOADS`, which runs the code of a module that is imported for the first time."""
        spec = frame.f_locals["spec"]
        if is_user_code(spec.name, spec.origin or ""):
            self.enter(frame)
            if works_for_user(frame):
                self.status.first_time = f"it imported {spec.name}"


def _is_in_callback(frame) -> bool:
    """Return whether a frame is that of a callback, or is called by one: the collector drops what it raises."""
    while frame is not None and frame.f_code not in _CALLBACKS:
        frame = frame.f_back
    return frame is not None


_CALLBACKS = FramesApart._collects.__code__, FramesApart._ends.__code__


def _has_changed(guard, value) -> bool:
    """Return whether a location that was read holds another value than before code apart. Attributes of objects in C may make
    their values anew at each lookup, as `array.shape` and `array.dtype.name` do."""
    now = guard.value()
    if now is value or type(now) is not type(value):
        return now is not value
    if type(now) is types.MethodType:
        return now != value
    return not (issubclass(type(now), _MADE_ANEW) and exact(now) == exact(value))


class _Handler:
    """Handler of a signal while a call is recorded, around `func`. That name makes it known as a partial is."""

    def __init__(self, func, apart: FramesApart | None):
        self.func, self.apart = func, apart

    def __call__(self, number, frame):
        apart = self.apart
        if apart is None:
            return self.func(number, frame)
        apart.status.is_interrupted = apart.status.is_signalled = True
        level = apart.level()
        try:
            apart.leave()
            return self.func(number, frame)
        except BaseException as error:          # which the function may catch
            apart.status.handler_error = error
            apart.status.first_time = f"the handler of signal {number} raised an error in the middle of it"
            if not apart.collects and (frame is None or frame.f_code not in _CALLBACKS):
                raise
            apart.loses(error)
        finally:
            apart.go_on(f"the handler of signal {number}", level)


def _finalises(frame, x) -> bool:
    """Return whether a frame that starts is the `__del__` of an object, and the interpreter called it."""
    found = inspect.getattr_static(type(x), "__del__", None)
    return getattr(found, "__code__", None) is frame.f_code and (
        frame.f_back is None or "__del__" not in frame.f_back.f_code.co_names)
