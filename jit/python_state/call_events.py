"""Events of calls: each call that a frame of user code is about to make, with the callable and the operands.

The profiler reports neither stored bound methods of C types nor functions of Cython nor classes. So the interpreter stops at
the call instructions: on Python 3.11 by trace events of instructions, later by `sys.monitoring`. The operands lie in the
frame's memory, at a depth that the code shows.
"""

import sys
import threading
import types
from collections.abc import Callable
from typing import Any, NamedTuple

from ..bytecode.call_sites import CallSite, call_sites_of
from ..guards.frames import stack_values


class Called(NamedTuple):
    """A call that is about to happen.

    frame      the user's, which calls
    function   the callable
    args       operands by position; None if the interpreter does not tell them
    kwargs     operands by name
    site       its instruction
    """

    frame: Any
    function: Any
    args: tuple | None
    kwargs: dict
    site: CallSite

    def operands(self) -> tuple:
        """Return the operands that are known."""
        return (*(self.args or ()), *self.kwargs.values())

    @property
    def line(self) -> str:
        return f"{self.frame.f_code.co_filename}:{self.frame.f_lineno}"


def call_events(report: Callable) -> "TraceEvents | MonitoringEvents":
    """Return the events of this thread, which call `report` with each `Called`."""
    return (MonitoringEvents if sys.version_info >= (3, 12) else TraceEvents)(report)


def _called(frame, site, function=None) -> Called | None:
    """Return the call at a site; `function` is its callable as far as the interpreter tells it by itself."""
    found = stack_values(frame, [*site.callable_slots, *site.operand_slots])
    if found is not None:
        below, above, *operands = found
        first, bound = site.callable_and_object(below, above)
        if first is not None and (function is None or first is function):
            args, kwargs = _arguments(site, bound, operands)
            return Called(frame, first, args, kwargs, site)
    return None if function is None else Called(frame, function, None, {}, site)


def _arguments(site, bound, operands) -> tuple:
    if site.is_spread:
        args, kwargs = operands[0], operands[1] if len(operands) > 1 else None
        return tuple(args) if type(args) in (tuple, list) else None, dict(kwargs) if type(kwargs) is dict else {}
    names = site.keywords
    if names is None:
        *operands, names = operands
    split = len(operands) - len(names)
    first = () if bound is None else (bound,)
    return (*first, *operands[:split]), dict(zip(names, operands[split:]))


class TraceEvents:
    """Call events of Python 3.11, from trace events of instructions. A debugger goes on to receive its own."""

    def __init__(self, report: Callable):
        self._report, self._is_active = report, False
        self._outer: Any = sys.gettrace()
        self._local: dict = {}          # frame -> the debugger's function for it
        self._steps: dict = {}          # id of a code object -> (the object, trace function of its frames or None)

    def start(self):
        self._outer, self._is_active = sys.gettrace(), True
        sys.settrace(self._starts if type(self._outer) in (types.FunctionType, types.MethodType) else _ignored)

    def stop(self):
        self._is_active = False
        self._local.clear()
        self._steps.clear()
        sys.settrace(self._outer)

    def enter(self, frame):
        """Report the calls of a frame of user code that starts."""
        code = frame.f_code
        found = self._steps.get(id(code))       # (to hash code takes long)
        if found is None:
            sites = call_sites_of(code)
            found = self._steps[id(code)] = code, self._step_through(sites) if sites else None
        if found[1] is not None:
            frame.f_trace, frame.f_trace_opcodes = found[1], True
            frame.f_trace_lines = frame in self._local

    def _starts(self, frame, event, arg):
        local = self._outer(frame, event, arg)
        if local is None or not self._is_active:
            return local
        self._local[frame] = local
        return self._step_through({})

    def _step_through(self, sites) -> Callable:
        """Return the trace function of frames with these call sites."""
        def step(frame, event, arg):
            if event == "opcode":
                site = sites.get(frame.f_lasti)
                if site is not None and self._is_active:
                    called = _called(frame, site)
                    if called is not None:
                        self._report(called)
            elif frame in self._local:
                local = self._local[frame](frame, event, arg)
                if local is not None:
                    self._local[frame] = local
            return frame.f_trace        # (itself, which it would hold in a circle)

        return step


def _ignored(frame, event, arg):
    """Take no events of a frame that starts."""


class MonitoringEvents:
    """Call events of Python 3.12 and later, of the code objects that have started."""

    def __init__(self, report: Callable):
        self._report, self._thread, self._tool = report, threading.get_ident(), -1
        self._codes: set = set()
        self._monitoring: Any = getattr(sys, "monitoring", None)

    def start(self):
        tools = self._monitoring
        self._tool = next(n for n in (4, 3, tools.OPTIMIZER_ID, tools.PROFILER_ID) if tools.get_tool(n) is None)
        tools.use_tool_id(self._tool, __name__)
        tools.register_callback(self._tool, tools.events.CALL, self._calls)

    def stop(self):
        tools = self._monitoring
        for code in self._codes:
            tools.set_local_events(self._tool, code, 0)
        self._codes.clear()
        tools.register_callback(self._tool, tools.events.CALL, None)
        tools.free_tool_id(self._tool)

    def enter(self, frame):
        """Report the calls of a frame of user code that starts."""
        if frame.f_code not in self._codes and call_sites_of(frame.f_code):
            self._codes.add(frame.f_code)
            self._monitoring.set_local_events(self._tool, frame.f_code, self._monitoring.events.CALL)

    def _calls(self, code, offset, function, first):
        site = call_sites_of(code).get(offset)
        if site is not None and threading.get_ident() == self._thread:
            called = _called(sys._getframe(1), site, function)
            self._report(called)
