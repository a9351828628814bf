"""Exceptions that come from elsewhere while code runs: at a chosen point, or from a signal."""

import dis
import functools
import gc
import signal
import sys
import time
from contextlib import contextmanager

import ingot


class Interrupted(Exception):
    """An exception as a tracker or a time limit of a user's raises it."""


KINDS = (KeyboardInterrupt, Interrupted, RuntimeError, MemoryError, SystemExit)
TEXT = "from outside"
_LATER = 20e-6          # seconds after which a signal comes again that came in code in C


_LOOKS = frozenset(opcode for name, opcode in dis.opmap.items()
                   if name.startswith(("CALL", "JUMP_BACKWARD")) and "INTRINSIC" not in name)
_START = bytes((dis.opmap["RESUME"], 0))


@functools.lru_cache(None)
def _handlers(code) -> list:
    return [(e.start, e.end, e.target) for e in dis._parse_exception_table(code)]       # type: ignore[attr-defined]


def _handler_at(code, offset):
    """Return where code goes on after an exception of an instruction."""
    return next((target for start, end, target in _handlers(code) if start <= offset < end), None)


def _is_foreign_callback(frame) -> bool:
    """Return whether a frame belongs to a callback of garbage collections that a library for tests has installed."""
    return any(getattr(c, "__code__", None) is frame.f_code and not c.__module__.startswith("ingot") for c in gc.callbacks)


def _is_of_c(frame) -> bool:
    """Return whether a frame is one of the mock driver, which stands for code in C: no signal is handled in there."""
    return str(frame.f_globals.get("__name__", "")).startswith("mock_cuda_")


class _Look:
    """A trace function that raises at a point where the interpreter looks for signals: after a call, where a frame starts, and
    where a loop goes back. An exception after a call counts as one of the call. A trace function can only raise at the next
    instruction, so points between two blocks of `try` are left out.

    within   beginning of the names of the modules whose points count
    """

    def __init__(self, left, kind, within=""):
        self.left, self.kind, self.within = left, kind, within
        self.last: dict = {}            # frame -> (opcode, place) of the instruction that it ran last
        self.inside = None              # the outermost frame that stands for code in C

    def __call__(self, frame, event, arg):
        if self.inside is not None:
            if frame is self.inside and event == "return":
                self.inside = None
            return self if frame is self.inside else None
        if event == "call" and _is_of_c(frame):
            self.inside, frame.f_trace_lines = frame, False
            return self
        if event == "call" and _is_foreign_callback(frame):
            return None
        frame.f_trace_opcodes = True
        if event == "return":
            self.last.pop(frame, None)
        elif event == "call":
            at = frame.f_lasti
            if frame.f_code.co_code[at:at + 2] == _START:       # (no signal is handled as `close` resumes a generator)
                self._looks(frame)
        elif event == "opcode":
            code, at = frame.f_code, frame.f_lasti
            opcode, before = self.last.get(frame, (0, 0))
            self.last[frame] = code.co_code[at], at
            if opcode in _LOOKS and _handler_at(code, before) == _handler_at(code, at):
                self._looks(frame)
        return self

    def _looks(self, frame):
        """Raise if this is the point, as it is one."""
        if str(frame.f_globals.get("__name__", "")).startswith(self.within):
            self.left -= 1
            if self.left == -1:
                raise self.kind(TEXT)


def raised_at(number: int, call, kind=Interrupted, within=""):
    """Call a function, and raise at the point with this number, in whichever frame that is, or in one `within` modules. Return
    (what the call returned, the exception that reached the caller, whether the call reached the point)."""
    look, before = _Look(number, kind, within), sys.gettrace()
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


def points_of(call, within="") -> int:
    """Return how many such points a call has."""
    look, before = _Look(sys.maxsize, Interrupted, within), sys.gettrace()
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
        while frame is not None:
            if _is_of_c(frame):
                signal.setitimer(signal.ITIMER_REAL, _LATER)
                return
            frame = frame.f_back
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


@contextmanager
def known_as_handler():
    """Make the code that raises that of a signal handler meanwhile."""
    before = signal.getsignal(signal.SIGUSR2)
    install_as_handler(signal.SIGUSR2)
    try:
        yield
    finally:
        signal.signal(signal.SIGUSR2, before)


def _states(make, count: int) -> list:
    """Return the states of an object that nobody interrupts, after each call."""
    twin = make()
    found = [twin.state()]
    for _ in range(count):
        twin()
        found.append(twin.state())
    return found


def follow(make, interrupted, times: int) -> int:
    """Interrupt calls of an object. After each its `state()` must be that before the call or after it. Return how many were
    done."""
    states, it, at = _states(make, times), make(), 0
    rng = ingot.get_rng_state()
    for i in range(times):
        ingot.set_rng_state(rng)
        error = interrupted(it, i)
        assert error is None or is_from_outside(error), (i, error)
        rng, now = ingot.get_rng_state(), it.state()
        assert now in (states[at:at + 2] if error is not None else states[at + 1:at + 2]), (i, error)
        at += now != states[at]
    return at


def follow_alarms(make, kind, times: int, rng):
    """Do the same by signals at random times."""
    it, start = make(), time.perf_counter()
    for _ in range(100):
        it()
    usual = (time.perf_counter() - start) / 100

    def interrupted(it, i):
        try:
            with alarm_after(max(1e-6, rng.uniform(0, 1.2 * usual)), kind):
                it()
        except BaseException as error:
            return error
        return None

    return follow(make, interrupted, times)
