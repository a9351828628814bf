"""Exceptions that come from elsewhere while code runs: at a chosen point, or from a signal."""

import dis
import functools
import gc
import signal
import sys
from contextlib import contextmanager


class Interrupted(Exception):
    """An exception as a tracker or a time limit of a user's raises it."""


KINDS = (KeyboardInterrupt, Interrupted, RuntimeError, MemoryError, SystemExit)
TEXT = "from outside"


_LOOKS = frozenset(opcode for name, opcode in dis.opmap.items() if name.startswith(("CALL", "RESUME", "JUMP_BACKWARD")))


@functools.lru_cache(None)
def _handlers(code) -> list:
    return [(e.start, e.end, e.target) for e in dis._parse_exception_table(code)]       # type: ignore[attr-defined]


def _handler_at(code, offset):
    """Return where code goes on after an exception of an instruction."""
    return next((target for start, end, target in _handlers(code) if start <= offset < end), None)


def _is_foreign_callback(frame) -> bool:
    """Return whether a frame belongs to a callback of garbage collections that a library for tests has installed."""
    return any(getattr(c, "__code__", None) is frame.f_code and not c.__module__.startswith("ingot") for c in gc.callbacks)


class _Look:
    """A trace function that raises at a point where the interpreter looks for signals: after a call, where a frame starts, and
    where a loop goes back. An exception after a call counts as one of the call. A trace function can only raise at the next
    instruction, so points between two blocks of `try` are left out."""

    def __init__(self, left, kind):
        self.left, self.kind = left, kind
        self.last: dict = {}            # frame -> (opcode, place) of the instruction that it ran last

    def __call__(self, frame, event, arg):
        if event == "call" and _is_foreign_callback(frame):
            return None
        frame.f_trace_opcodes = True
        if event == "return":
            self.last.pop(frame, None)
        elif event == "opcode":
            code, at = frame.f_code, frame.f_lasti
            opcode, before = self.last.get(frame, (0, 0))
            looks = opcode in _LOOKS and _handler_at(code, before) == _handler_at(code, at)
            self.last[frame] = code.co_code[at], at
            self.left -= looks
            if looks and self.left == -1:
                raise self.kind(TEXT)
        return self


def raised_at(number: int, call, kind=Interrupted):
    """Call a function, and raise at the point with this number, in whichever frame that is. Return (what the call returned, the
    exception that reached the caller, whether the call reached the point)."""
    look, before = _Look(number, kind), sys.gettrace()
    result = error = None
    try:
        sys.settrace(look)
        result = call()
    except BaseException as found:
        error = found
    finally:
        sys.settrace(before)
        look.last.clear()
    return result, error, look.left < 0


def points_of(call) -> int:
    """Return how many such points a call has."""
    look, before = _Look(sys.maxsize, Interrupted), sys.gettrace()
    sys.settrace(look)
    try:
        call()
    finally:
        sys.settrace(before)
        look.last.clear()
    return sys.maxsize - look.left


def is_from_outside(error) -> bool:
    """Return whether an exception is one of those that this file raises."""
    return error is not None and error.args == (TEXT,)


@contextmanager
def alarm_after(seconds: float, kind=Interrupted):
    """Raise from a signal handler after some time, unless the block is left before."""
    def handle(number, frame):
        raise kind(TEXT)

    before = signal.signal(signal.SIGALRM, handle)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def install_as_handler(number: int):
    """Make the code that raises that of a signal handler, too: so it is known for one."""
    signal.signal(number, _Look(0, Interrupted))
