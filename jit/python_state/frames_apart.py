"""Code that runs during a recorded call and is no part of it.

The interpreter runs garbage collections, handlers of signals, callbacks of weak references and `__del__` between two
instructions of any code, a replay's as well. The code of a module runs once, at its first import. The tracker sees nothing of
such code, and the recorder hears of none of its operators. If it changes state that the function has met, that is a change from
outside in the middle of a call, and the call is not recorded.
"""

import functools
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

from ...runtime.state.mode import tls
from ..bytecode.call_sites import call_sites_of
from ..bytecode.stack import instructions_of, position_of
from ..bytecode.user_code import is_user_code
from ..errors.errors import RecordingStatus
from ..guards.frames import is_user, works_for_user
from .stdlib_state import RandomGenerators

# Flags that `Mode.refresh` derives. An operator on symbolic sizes runs with no recorder for a moment, and leaves them as they
# are: a collection then must not clear them (tests/jit/python_state/test_interrupting_code.py).
_FLAGS = "told", "listened", "noticed", "special"
LOADS = importlib._bootstrap._load_unlocked.__code__      # type: ignore[attr-defined]
FINALISES = weakref.finalize.__call__.__code__
# Instructions by which code in C may call a function that it was given before, as `map` does.
_MOVES = frozenset(("FOR_ITER", "UNPACK_SEQUENCE", "UNPACK_EX", "LIST_EXTEND", "SET_UPDATE", "DICT_UPDATE", "CONTAINS_OP"))


class FramesApart:
    """Detection of such code. `depth` is 0 unless some runs. `met` returns state that the call has met and may have
    changed."""

    def __init__(self, status: RecordingStatus, met: Callable, generators: RandomGenerators):
        self.status, self._met, self._generators = status, met, generators
        self.depth = 0
        self._current: Any = None       # the frame that runs apart, if the tracker found it as it started
        self._calling: tuple = 0, False     # id of the last user frame that called, and whether code in C may have called back
        self._modes: tuple = ()         # of the recording, while such code runs
        self._flags: list = []
        self._before: tuple = ()        # state, and that of random generators, before it
        self._thread = threading.get_ident()
        self._handlers: list[tuple[int, Any]] = []      # (signal, `_Handler`)
        self._lost: BaseException | None = None     # interrupt in a callback of the garbage collector, which drops errors

    def start(self):
        """Stand around the callbacks of the garbage collector and the handlers of signals, until `stop`."""
        self.status.is_interrupted = bool(gc.callbacks or sys.gettrace() or sys.getprofile())
        gc.callbacks.insert(0, self._begins)
        gc.callbacks.append(self._ends)
        if threading.current_thread() is threading.main_thread():
            for number in signal.valid_signals():
                handler: Any = signal.getsignal(number)
                if callable(handler) and handler is not signal.default_int_handler:
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
        for callback in (self._begins, self._ends):
            if callback in gc.callbacks:
                gc.callbacks.remove(callback)
        self._handlers.clear()
        self.depth, self._modes, self._before = 0, (), ()
        self._met = tuple       # (it leads in a circle)
        self.raise_lost()

    def leave(self):
        """Begin with code that is no part of the call. A signal may come in between: its handler is inside then."""
        self.depth += 1
        if self.depth == 1:
            m = tls.m
            self._modes = m.recorder, m.sizes, m.dispatch_hook, m.own_code
            self._flags = [(name, getattr(m, name)) for name in _FLAGS]
            m.recorder = m.sizes = m.dispatch_hook = m.own_code = None
            m.refresh()
            self._before = self._met(), self._generators.states()

    def go_on(self, text: str):
        """Go on with the call after code that `text` names."""
        if self.depth != 1:
            self.depth = max(self.depth - 1, 0)
            return
        if self._before:        # (else an interrupt has ended `leave`)
            met, drawn = self._before
            if self._met() != met:
                self.status.first_time = f"{text} interrupted it, and changed what it reads or writes"
            self._generators.drew_apart(drawn)
        m = tls.m
        if self._modes:
            m.recorder, m.sizes, m.dispatch_hook, m.own_code = self._modes
        self.depth, self._modes, self._before = 0, (), ()
        m.refresh()
        for name, was in self._flags:
            setattr(m, name, getattr(m, name) or was)

    # Garbage collections, which may begin in the middle of the tracker.

    def _begins(self, phase, info):
        self._collects(phase == "start", self.leave)

    def _ends(self, phase, info):
        self.status.is_interrupted = self.status.is_interrupted or bool(info.get("collected"))
        self._collects(phase == "stop" and self.depth > 0, functools.partial(self.go_on, "a garbage collection"))

    def _collects(self, is_it: bool, act: Callable):
        try:
            if is_it and threading.get_ident() == self._thread:
                act()
        except BaseException as error:
            self._lost = error

    def raise_lost(self):
        """Raise an interrupt that came in a callback of the garbage collector."""
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
        is_dead = any(isinstance(x, weakref.ref) and x() is None for x in first)
        if (is_dead and not self._may_call(frame)) or (first and _finalises(frame, first[0])):
            self.enter(frame)
        return self.depth > 0

    def enter(self, frame):
        """Set a frame apart that starts."""
        self._current, self.status.is_interrupted = frame, True
        self.leave()

    def finalises(self, frame):
        """Note a frame of `weakref.finalize` that starts: its weak reference passes itself."""
        if frame.f_locals.get("_") is not None:
            self.enter(frame)

    def sees(self, frame, event):
        """Note an event of code apart."""
        if frame is self._current and event == "return":
            self._current = None
            self.go_on(f"{frame.f_code.co_qualname}()")

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


class _Handler:
    """Handler of a signal while a call is recorded, around `func`. That name makes it known as a partial is."""

    def __init__(self, func, apart: FramesApart | None):
        self.func, self.apart = func, apart

    def __call__(self, number, frame):
        apart = self.apart
        if apart is None:
            return self.func(number, frame)
        apart.status.is_interrupted = apart.status.is_signalled = True
        try:
            apart.leave()
            return self.func(number, frame)
        except BaseException:           # which the function may catch
            apart.status.first_time = f"the handler of signal {number} raised an error in the middle of it"
            raise
        finally:
            apart.go_on(f"the handler of signal {number}")


def _finalises(frame, x) -> bool:
    """Return whether a frame that starts is the `__del__` of an object, and the interpreter called it."""
    found = inspect.getattr_static(type(x), "__del__", None)
    return getattr(found, "__code__", None) is frame.f_code and (
        frame.f_back is None or "__del__" not in frame.f_back.f_code.co_names)
