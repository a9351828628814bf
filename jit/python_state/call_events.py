"""Events of calls: each call that a frame of user code is about to make, with the callable and the operands.

Each attribute that code gets or sets is an event, too, which shows the owner. Operations such as `x[key]` are calls of methods.
They are reported once `report_operations` was called: few functions reach an object whose methods they could be.

The profiler reports neither stored bound methods of C types nor functions of Cython nor classes. So the interpreter stops at
the call instructions: on Python 3.11 by trace events of instructions, later by `sys.monitoring`. The operands lie in the
frame's memory, at a depth that the code shows. There a stand-in can take the place of a function that is about to be called.
"""

import sys
import threading
import types
from collections.abc import Callable
from typing import Any, NamedTuple

from ...ir.source_location import place_of_frame
from ..bytecode.call_sites import CallSite, call_sites_of
from ..bytecode.operation_sites import OperationSite, attribute_sites_of, operation_sites_of
from ..guards.frames import is_user, knows_stack, own_settrace, put_on_stack, stack_values
from .stand_ins import calls_operands, cast_for, stand_in_for


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
        return place_of_frame(self.frame)


class Operation(NamedTuple):
    """An operation that is about to happen, with the values on the stack at the slots of its site."""

    frame: Any
    operands: list
    site: OperationSite

    @property
    def line(self) -> str:
        return place_of_frame(self.frame)


def call_events(report: Callable, operated: Callable) -> "TraceEvents | MonitoringEvents":
    """Return the events of this thread, which call `report` with each `Called`, and `operated` with each `Operation`."""
    return (MonitoringEvents if sys.version_info >= (3, 12) else TraceEvents)(report, operated)


def _sites_of(code, has_operations: bool, is_library: bool) -> dict:
    """Return {offset: site} where code stops; that of libraries only calls."""
    operations = {} if is_library else operation_sites_of(code) if has_operations else attribute_sites_of(code)
    return {**operations, **call_sites_of(code)}


def _running(outside) -> list:
    """Return the frames of user code that run inside of a frame."""
    found: list = []
    frame: Any = sys._getframe(1)
    while frame is not None and frame is not outside:
        if is_user(frame):
            found.append(frame)
        frame = frame.f_back
    return found


def _called(frame, site, function=None) -> Called | None:
    """Return the call at a site, with stand-ins put where it needs them; `function` is its callable as far as the interpreter
    tells it by itself."""
    slots = [*site.callable_slots, *site.operand_slots]
    found = stack_values(frame, slots)
    if found is not None:
        below, above, *operands = found
        first, bound = site.callable_and_object(below, above)
        if first is not None and (function is None or first is function):
            other = stand_in_for(first) or cast_for(first, frame)
            if other is not None:
                put_on_stack(frame, slots[site.is_callable_above(below)], other)
                first = other
            for i, x in enumerate(operands):
                other = stand_in_for(x)
                if other is not None and calls_operands(first, bound):
                    put_on_stack(frame, slots[2 + i], other)
                    operands[i] = other
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

    def __init__(self, report: Callable, operated: Callable):
        self._report, self._operated, self._is_active = report, operated, False
        self.has_operations = False
        self._outside: Any = None       # the frame around the recorded call
        self._outer: Any = sys.gettrace()
        self._local: dict = {}          # frame -> the debugger's function for it
        self._steps: dict = {}          # id of a code object -> (the object, trace function of its frames or None)

    def start(self):
        self._outer, self._is_active, self._outside = sys.gettrace(), True, sys._getframe(2)
        own_settrace()(self._starts if _is_called_by_python(self._outer) else _ignored)

    def mute(self):
        """Report nothing more, until the end."""
        self._is_active = False

    def stop(self):
        self._is_active, self._outside = False, None
        self._local.clear()
        self._steps.clear()
        own_settrace()(self._outer)

    def enter(self, frame, is_library=False):
        """Report the calls of a frame that starts, and the operations in one of user code."""
        code = frame.f_code
        found = self._steps.get(id(code))       # (to hash code takes long)
        if found is None:
            sites = _sites_of(code, self.has_operations, is_library)
            found = self._steps[id(code)] = code, self._step_through(sites) if sites else None
        if found[1] is not None:
            frame.f_trace, frame.f_trace_opcodes = found[1], True
            frame.f_trace_lines = frame in self._local

    def report_operations(self):
        """Report operations from now on, in frames that run already, too."""
        if not self.has_operations:
            self.has_operations = True
            self._steps.clear()
            for frame in _running(self._outside):
                self.enter(frame)

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
                    self._stops(frame, site)
                    return frame.f_trace        # which that may have replaced
            elif frame in self._local:
                local = self._local[frame](frame, event, arg)
                if local is not None:
                    self._local[frame] = local
            return frame.f_trace        # (itself, which it would hold in a circle)

        return step

    def _stops(self, frame, site):
        """Report what frames of user code do at a site, and what those of libraries call."""
        operation = site if type(site) is OperationSite else operation_sites_of(frame.f_code).get(
            frame.f_lasti) if self.has_operations else None
        if operation is not None:
            self._operated(Operation(frame, stack_values(frame, operation.slots) or [], operation))
        if type(site) is CallSite:
            called = _called(frame, site)
            if called is not None:
                self._report(called)


def _is_called_by_python(tracer) -> bool:
    """Return whether a tracer takes calls of Python code. Those in C (coverage.py) install themselves when they are called."""
    return type(tracer) in (types.FunctionType, types.MethodType) or type(tracer).__module__.startswith("_pydevd_")


def _ignored(frame, event, arg):
    """Take no events of a frame that starts."""


class MonitoringEvents:
    """Call events of Python 3.12 and later, of the code objects that have started.

    They come before the instruction, since some calls have read the stack when the interpreter reports them. That report alone
    tells the callable where the stack is not known.
    """

    def __init__(self, report: Callable, operated: Callable):
        self._report, self._operated, self._thread, self._tool = report, operated, threading.get_ident(), -1
        self._codes: dict = {}          # code -> whether its operations are reported
        self.has_operations = False
        self._outside: Any = None       # the frame around the recorded call
        self._knows_stack = knows_stack()
        self._monitoring: Any = getattr(sys, "monitoring", None)

    def start(self):
        tools, self._outside = self._monitoring, sys._getframe(2)
        self._tool = next(n for n in (4, 3, tools.OPTIMIZER_ID, tools.PROFILER_ID) if tools.get_tool(n) is None)
        tools.use_tool_id(self._tool, __name__)
        tools.register_callback(self._tool, tools.events.CALL, self._calls)
        tools.register_callback(self._tool, tools.events.INSTRUCTION, self._stops)

    def mute(self):
        """Report nothing more, until the end."""
        self._thread = 0

    def stop(self):
        tools, self._outside = self._monitoring, None
        for code in self._codes:
            tools.set_local_events(self._tool, code, 0)
        self._codes.clear()
        tools.register_callback(self._tool, tools.events.CALL, None)
        tools.register_callback(self._tool, tools.events.INSTRUCTION, None)
        tools.free_tool_id(self._tool)

    def enter(self, frame, is_library=False):
        """Report the calls of a frame that starts, and the operations in one of user code."""
        code, events, has_operations = frame.f_code, self._monitoring.events, self.has_operations and not is_library
        if self._codes.get(code) is not has_operations and _sites_of(code, has_operations, is_library):
            self._codes[code] = has_operations
            self._monitoring.set_local_events(self._tool, code, events.INSTRUCTION if self._knows_stack else events.CALL)

    def report_operations(self):
        """Report operations from now on, in frames that run already, too."""
        if not self.has_operations:
            self.has_operations = True
            for frame in _running(self._outside):
                self.enter(frame)

    def _calls(self, code, offset, function, first):
        site = call_sites_of(code).get(offset)
        if site is not None and threading.get_ident() == self._thread:
            called = _called(sys._getframe(1), site, function)
            self._report(called)

    def _stops(self, code, offset):
        operations = operation_sites_of if self.has_operations else attribute_sites_of
        operation, site = operations(code).get(offset), call_sites_of(code).get(offset)
        if operation is None and site is None:
            return self._monitoring.DISABLE
        if threading.get_ident() == self._thread:
            frame = sys._getframe(1)
            if operation is not None:
                self._operated(Operation(frame, stack_values(frame, operation.slots) or [], operation))
            called = None if site is None else _called(frame, site)
            if called is not None:
                self._report(called)
        return None
