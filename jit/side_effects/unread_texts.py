"""Texts of symbolic numbers that nothing reads: `check(x.ndim > 1, f"got {x.shape}")`.

Such a text is plain, and does not fix its number. It may only go on to calls of user functions, which do not read it either.
Each call event of these calls is compared: where the text goes elsewhere, to `ValueError(...)` for instance, its number is
fixed then.
"""

import inspect
import logging
import sys
import types
from typing import Any

from ...ir.doors import door
from ...ir.symbols.symbolic import is_symbol, pinned
from ...runtime.core.tensor import Size
from ...runtime.state.mode import tls
from ..bytecode.call_sites import call_sites_of, depths_of
from ..bytecode.stack import instructions_of, position_of
from ..bytecode.user_code import is_user_code
from ..bytecode.value_flow import Takers, takers_of_result, takers_of_variable
from ..guards.frames import is_user, stack_values

_FORMATS = frozenset(("FORMAT_SIMPLE", "FORMAT_VALUE", "FORMAT_WITH_SPEC", "CONVERT_VALUE"))
_CALLS = frozenset(("PRECALL", "CALL"))
_TEXT_FUNCTIONS = (str, repr, format, str.format)
_HAS_PRECALL = sys.version_info < (3, 12)
_WRITERS = frozenset((door(Size.__repr__).__code__,))         # code of ingot that only puts texts of numbers together
_LOGGING = [getattr(logging.Logger, name) for name in ("debug", "info", "warning", "error", "critical")]
_GENERATOR = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR     # they return values in other ways


class UnreadTexts:
    """Texts whose numbers are not fixed, by the calls that may take them."""

    def __init__(self, recorder):
        self._recorder = recorder
        self.calls: dict = {}       # id of a code object -> (it, {position of a call: {number of an operand: [numbers in it]}})

    def takes(self, x, frame) -> bool:
        """Return whether nothing but user functions can read the text of a number that `frame` makes."""
        m: Any = tls.m
        if m.recorder is not self._recorder or not self._recorder.reads.defers or self._recorder.tracker.world.apart.depth:
            return False
        return self._follow(frame, None, x)

    def _follow(self, frame, inner, x) -> bool:
        """Follow a text that the current instruction of a frame makes; return whether all that takes it is known. `inner` is
        the code that has returned it to the frame."""
        if frame is None or not is_user(frame):
            return False
        at = position_of(frame)
        return _makes_text(frame, at, inner) and self._follow_result(frame, at, x)

    def _follow_result(self, frame, at, x) -> bool:
        takers = takers_of_result(frame.f_code, at)
        if takers is None or (takers.is_returned and not self._follow(frame.f_back, frame.f_code, x)):
            return False
        self._wait(frame.f_code, takers, x)
        return True

    def _wait(self, code, takers: Takers, x):
        _, calls = self.calls.setdefault(id(code), (code, {}))
        for at, operand in takers.calls:
            calls.setdefault(at, {}).setdefault(operand, []).append(x)

    def called(self, call):
        """Follow texts into a call that is about to happen, or fix their numbers."""
        frame = call.frame
        if id(frame.f_code) not in self.calls:
            return
        at, (_, calls) = position_of(frame), self.calls[id(frame.f_code)]
        for operand, numbers in [*calls.get(at, {}).items()]:
            inner, takers = _takers(call, operand) if call.args is not None else (None, None)
            for x in [*numbers]:
                if takers is None or (takers.is_returned and not self._follow_result(frame, at + _HAS_PRECALL, x)):
                    _fix(x)
                else:
                    self._wait(inner, takers, x)


def asking_frame(frame):
    """Return the frame that asks for a text, past code of ingot that only puts texts of numbers together; None if that is no
    user's."""
    while frame is not None and frame.f_code in _WRITERS:
        frame = frame.f_back
    return frame if frame is not None and is_user(frame) else None


def is_logged(frame) -> bool:
    """Return whether the text that a frame makes is the message of a call of a logger, which is on the stack."""
    code, at = frame.f_code, position_of(frame)
    takers, instructions = takers_of_result(code, at), instructions_of(code)
    if instructions[at].opname not in _FORMATS or takers is None or takers.is_returned or len(takers.calls) != 1:
        return False
    (call, _), = takers.calls
    site = call_sites_of(code).get(instructions[call].offset)
    between = instructions[at + 1:call]
    is_in_line = not any(ins.opname.startswith("STORE") or "JUMP" in ins.opname for ins in between)
    if site is None or call < at or not is_in_line or site.callable_slots[1] >= depths_of(code)[instructions[at].offset]:
        return False
    function, first = site.callable_and_object(*stack_values(frame, site.callable_slots) or (None, None))
    logger = getattr(function, "__self__", first)
    return (getattr(function, "__func__", function) in _LOGGING and type(logger) in (logging.Logger, logging.RootLogger)
            and logging.getLogRecordFactory() is logging.LogRecord)


def _fix(x):
    if is_symbol(x):
        pinned(x)
    else:
        x.force()


def _makes_text(frame, at, inner) -> bool:
    """Return whether the result of the current instruction of a frame is a text, made of the texts of its operands."""
    ins = instructions_of(frame.f_code)[at]
    if ins.opname not in _CALLS:
        return ins.opname in _FORMATS and stack_values(frame, ()) is not None
    site = call_sites_of(frame.f_code).get(instructions_of(frame.f_code)[at - _HAS_PRECALL].offset)
    values = () if site is None else stack_values(frame, site.callable_slots) or ()
    function = site.callable_and_object(*values)[0] if site is not None and values else None
    if inner is not None and getattr(getattr(function, "__func__", function), "__code__", None) is inner:
        return True
    return function in _TEXT_FUNCTIONS or (type(function) is types.BuiltinFunctionType and type(function.__self__) is str
                                           and function.__name__ == "format")


def _takers(call, operand) -> tuple:
    """Return (code of the function that is called, takers of the argument that an operand is); None for those that may be any.
    """
    is_method = type(call.function) is types.MethodType
    function: Any = call.function.__func__ if is_method else call.function
    code: Any = getattr(function, "__code__", None)
    if type(function) is not types.FunctionType or code.co_flags & _GENERATOR or not is_user_code(
            function.__globals__.get("__name__", ""), code.co_filename):
        return None, None
    place = len(call.args) + len(call.kwargs) - call.site.operands + operand
    if place < len(call.args):
        place += is_method
        return code, takers_of_variable(code, code.co_varnames[place]) if place < code.co_argcount else None
    name = [*call.kwargs][place - len(call.args)]
    is_named = name in code.co_varnames[code.co_posonlyargcount:code.co_argcount + code.co_kwonlyargcount]
    return code, takers_of_variable(code, name) if is_named else None
