"""Exceptions that come from elsewhere while code runs: at a chosen point, or from a signal."""

import dis
import signal
import sys
from contextlib import contextmanager


class Interrupted(Exception):
    """An exception as a tracker or a time limit of a user's raises it."""


KINDS = (KeyboardInterrupt, Interrupted, RuntimeError, MemoryError, SystemExit)
TEXT = "from outside"


_LOOKS = frozenset(opcode for name, opcode in dis.opmap.items() if name.startswith(("CALL", "RESUME", "JUMP_BACKWARD")))


class _Look:
    """A trace function that raises at a point where the interpreter looks for signals: after a call, where a frame starts, and
    where a loop goes back."""

    def __init__(self, left, kind):
        self.left, self.kind = left, kind
        self.last: dict = {}            # frame -> the instruction that it ran last

    def __call__(self, frame, event, arg):
        frame.f_trace_opcodes = True
        if event == "return":
            self.last.pop(frame, None)
        elif event == "opcode":
            looks = self.last.get(frame) in _LOOKS
            self.last[frame] = frame.f_code.co_code[frame.f_lasti]
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
