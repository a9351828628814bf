"""Exceptions that come from elsewhere while code runs: at a chosen bytecode, or from a signal."""

import signal
import sys
from contextlib import contextmanager


class Interrupted(Exception):
    """An exception as a tracker or a time limit of a user's raises it."""


KINDS = (KeyboardInterrupt, Interrupted, RuntimeError, MemoryError, SystemExit)
TEXT = "from outside"


class _Look:
    """A trace function that raises before a bytecode."""

    def __init__(self, left, kind):
        self.left, self.kind = left, kind

    def __call__(self, frame, event, arg):
        frame.f_trace_opcodes = True
        if event == "opcode":
            self.left -= 1
            if self.left == -1:
                raise self.kind(TEXT)
        return self


def raised_at(number: int, call, kind=Interrupted):
    """Call a function, and raise before the bytecode with this number, in whichever frame that is. Return (what the call
    returned, the exception that reached the caller, whether the call reached the bytecode)."""
    look, before = _Look(number, kind), sys.gettrace()
    result = error = None
    try:
        sys.settrace(look)
        result = call()
    except BaseException as found:
        error = found
    finally:
        sys.settrace(before)
    return result, error, look.left < 0


def bytecodes_of(call) -> int:
    """Return how many bytecodes a call takes."""
    left = [0]

    def look(frame, event, arg):
        frame.f_trace_opcodes = True
        left[0] += event == "opcode"
        return look

    before = sys.gettrace()
    sys.settrace(look)
    try:
        call()
    finally:
        sys.settrace(before)
    return left[0]


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
    """Make the code that raises at a bytecode that of a signal handler, too: so it is known for one."""
    signal.signal(number, _Look(0, Interrupted))
