"""Errors of ingot that user code may catch while a call is recorded.

Their messages and choices show sizes as numbers. So once user code can catch one, the recording holds for these sizes alone.
"""

import sys
from functools import lru_cache
from typing import Any

from ...ir.errors import NEW_ERRORS
from ...ir.symbols.scope import Scope
from ...ir.symbols.symbolic import pinned
from ...runtime.state.mode import tls
from ..guards.frames import is_user


def _error_is_new():
    """Fix all sizes and numbers of the recorded call if user code that runs can catch an error."""
    recorder: Any = tls.m.recorder
    scope: Any = getattr(recorder, "scope", None)
    entered = recorder.modules.entered if type(scope) is Scope else None
    if entered is None:         # no function of a user is recorded
        return
    frame: Any = sys._getframe(2)
    while frame is not None and frame.f_code is not entered:
        if is_user(frame) and _catches(frame.f_code, frame.f_lasti):
            for number in [*scope.numbers.values()]:
                pinned(number)
            return
        frame = frame.f_back


def _catches(code, at: int) -> bool:
    """Return whether a handler stands around an instruction."""
    return any(begin <= at < end for begin, end in _handled(code.co_exceptiontable))


@lru_cache(4096)
def _handled(table: bytes) -> tuple:
    """Return (begin, end) of the bytes of a code object that have a handler. Each row of its table has the beginning, the
    length, the handler, and the depth of the stack, as numbers of 6 bits a byte; a mark in a byte begins the row."""
    numbers: list[list[int]] = []
    for byte in table:
        if byte & 128:
            numbers.append([0])
        numbers[-1][-1] = numbers[-1][-1] << 6 | byte & 63
        if not byte & 64:
            numbers[-1].append(0)
    return tuple([(2 * row[0], 2 * (row[0] + row[1])) for row in numbers])


NEW_ERRORS.append(_error_is_new)
