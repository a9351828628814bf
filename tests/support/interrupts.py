"""Exceptions that come from elsewhere while code runs: at a chosen point, or from a signal."""

import builtins
import ctypes
import dis
import functools
import gc
import json
import signal
import sys
import threading
import time
import unittest
from collections import defaultdict
from concurrent.futures import Future
from contextlib import contextmanager
from itertools import starmap
from queue import SimpleQueue

import ingot
from ingot.ir import locks
from ingot.jit.tracing.trace import RECORDING


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


def follow(make, interrupted, times: int, is_outside=is_from_outside) -> int:
    """Interrupt calls of an object. After each its `state()` must be that before the call or after it. Return how many were
    done. `is_outside` says whether an exception that reached the caller is the one from outside."""
    states, it, at = _states(make, times), make(), 0
    rng = ingot.get_rng_state()
    for i in range(times):
        ingot.set_rng_state(rng)
        error = interrupted(it, i)
        assert error is None or is_outside(error), (i, error)
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


class _CallLook(_Look):
    """A trace function that calls a function at points where its thread holds locks of ingot, as the handler of a signal that
    comes there: at `most` lines for each set of locks."""

    def __init__(self, work, most):
        super().__init__(sys.maxsize, work)
        self.most, self.lines = most, defaultdict(set)

    def _looks(self, frame):
        held = frozenset([id(lock) for lock in locks.known() if _is_held(lock)])
        lines, here = self.lines[held], (frame.f_code, frame.f_lineno)
        if held and here not in lines and len(lines) < self.most:
            lines.add(here)
            self.kind()


def _is_held(lock) -> bool:
    return lock is not RECORDING and (lock._is_owned() if hasattr(lock, "_is_owned") else lock.locked())


def called_inside_of_locks(call, work, most: int = 8):
    """Call a function, and do some work while it holds locks. Return (what the call returned, how often the work was done)."""
    look, before = _CallLook(work, most), sys.gettrace()
    sys.settrace(look)
    try:
        result = call()
    finally:
        sys.settrace(before)
        look.last.clear()
    return result, sum(map(len, look.lines.values()))


# Exceptions that ingot could take for its own: of other threads, which are a class alone, and of code in libraries.


def _is_made_of_nothing(kind) -> bool:
    if not (isinstance(kind, type) and issubclass(kind, BaseException)) or kind in (GeneratorExit, StopIteration):
        return False        # the interpreter takes these two for the end of a generator
    try:
        return not kind().args
    except TypeError:
        return False


BARE = tuple(sorted({kind for kind in vars(builtins).values() if _is_made_of_nothing(kind)}, key=lambda kind: kind.__name__))


def _failed_result():
    future: Future = Future()
    future.set_exception(LookupError(TEXT))
    return future.result()


IN_LIBRARIES = {        # calls of library code in the handler of a signal
    "json": lambda: json.loads("{"), "unittest": lambda: unittest.TestCase().fail(), "future": _failed_result,
    "reshape": lambda: ingot.ones(3).reshape(2), "numpy": lambda: ingot.ones(3).numpy().reshape(2),
    "divide": lambda: 1 // 0, "key": lambda: {}[1], "attribute": lambda: object().missing, "index": lambda: [][1],
    "type": lambda: len(1),
}
_SET_ASYNC = ctypes.pythonapi.PyThreadState_SetAsyncExc
_SET_ASYNC.argtypes = [ctypes.c_ulong, ctypes.py_object]


class _AsyncLook(_Look):
    """A trace function that sets an exception for the thread at a point, as another thread does. It is raised where the
    interpreter looks next. Nothing is traced by then: the frame of the trace function would get it."""

    def __init__(self, left, kind, within=""):
        super().__init__(left, kind, within)
        self.call = threading.get_ident(), kind
        self.set: list = []

    def _looks(self, frame):
        if self.left >= 0 and str(frame.f_globals.get("__name__", "")).startswith(self.within):
            self.left -= 1
            if self.left == -1:
                sys.settrace(None)
                self.set += starmap(_SET_ASYNC, (self.call,))       # no exception is raised behind this instruction


def async_at(number: int, call, kind, within=""):
    """Call a function, and set an exception from the point with this number on. Return (what the call returned, the exception
    that reached the caller, whether one was raised in the call)."""
    look, before = _AsyncLook(number, kind, within), sys.gettrace()
    result = error = None
    is_over = False
    try:
        try:
            sys.settrace(look)
            result = call()
            sys.settrace(before)
            is_over = True
        finally:
            sys.settrace(before)
            look.last.clear()
        for _ in range(3):          # it may come only now
            pass
    except BaseException as found:
        error = found
    is_raised = look.left < 0 and not (is_over and error is not None)
    return result, error if is_raised or not is_over else None, is_raised


class _Handler:
    """Handler of a signal that does some work; `raised` is the error of that."""

    def __init__(self, work):
        self.work, self.raised = work, None

    def __call__(self, *_):
        try:
            self.work()
        except BaseException as error:
            self.raised = error
            raise


def _raises_alike(kind):
    def work():
        raise kind(TEXT)
    return work


def _removes_itself():
    signal.signal(signal.SIGALRM, signal.SIG_IGN)
    IN_LIBRARIES["json"]()


# Way -> what the handler of a signal does, drawn by a generator. The way "thread" is a class that another thread raises.
IN_HANDLERS: dict = {
    "library": lambda rng: rng.choice(list(IN_LIBRARIES.values())), "signal": lambda rng: _raises_alike(rng.choice(KINDS)),
    "timeout": lambda rng: _raises_alike(TimeoutError), "exit": lambda rng: sys.exit,
    "removes itself": lambda rng: _removes_itself,
}
WAYS = "thread", *IN_HANDLERS


def interrupted_by(call, point: int, way: str, rng):
    """Interrupt a call at a point, in one of `WAYS`. Return the exception that reached the caller, which must be the one from
    outside."""
    if way == "thread":
        kind = rng.choice(BARE)
        _, error, is_raised = async_at(point, call, kind)
        assert error is None or (type(error) is kind and not error.args), (point, error)
    else:
        kind = IN_HANDLERS[way](rng)
        _, error, is_raised = handler_at(point, call, kind)
    assert is_raised is (error is not None), (point, kind, "was swallowed" if is_raised else error)
    return error


def _any(error) -> bool:
    return True


def follow_points(make, way: str, points, rng) -> int:
    """Interrupt one call of an object at each of some points."""
    return follow(make, lambda it, i: interrupted_by(it, points[i], way, rng), len(points), _any)


def handler_at(number: int, call, work, within=""):
    """Do the same by a function that runs there, as the handler of a signal does."""
    handler = _Handler(work)
    result, error, _ = raised_at(number, call, handler, within)
    assert error is handler.raised or error is None, (error, handler.raised)
    return result, error, handler.raised is not None


class _Sender(threading.Thread):
    """A thread that raises exceptions in the one that made it, each some time after it is asked."""

    def __init__(self):
        super().__init__(daemon=True)
        self.to, self.orders, self.sent = threading.get_ident(), SimpleQueue(), threading.Event()

    def run(self):
        while (order := self.orders.get()) is not None:
            time.sleep(order[0])
            _SET_ASYNC(self.to, order[1])
            self.sent.set()


@contextmanager
def sender():
    """Give such a thread, among threads that take turns often. It starts with its first order: what is recorded beside other
    threads fixes numbers that these might read."""
    made, before = _Sender(), sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        yield made
    finally:
        made.orders.put(None)
        if made.is_alive():
            made.join()
        sys.setswitchinterval(before)


def by_thread(by: _Sender, seconds: float, call, kind):
    """Call a function and raise a class from another thread meanwhile, or soon after. Return the exception."""
    by.sent.clear()
    if not by.is_alive():
        by.start()
    try:
        by.orders.put((seconds, kind))
        call()
        while not by.sent.is_set():
            pass
        for _ in range(1000):
            pass
    except BaseException as error:
        assert type(error) is kind and not error.args, error
        by.sent.wait()
        return error
    raise AssertionError(f"{kind.__name__} was swallowed")


def by_alarm(seconds: float, call, work):
    """Call a function, and do some work in the handler of a signal, which removes itself first. Return its error, or None if
    the call had ended before."""
    def handle(number, frame):
        signal.signal(signal.SIGALRM, signal.SIG_IGN)
        handler()

    handler, before, error = _Handler(work), signal.signal(signal.SIGALRM, handle), None
    try:
        try:
            signal.setitimer(signal.ITIMER_REAL, seconds)
            call()
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
    except BaseException as found:
        error = found
    finally:
        signal.signal(signal.SIGALRM, before)
    assert error is handler.raised, (error, handler.raised)
    return error


def usual_seconds(call) -> float:
    """Return how long a call takes when nothing interrupts it."""
    start = time.perf_counter()
    for _ in range(100):
        call()
    return (time.perf_counter() - start) / 100


def follow_times(make, way: str, times: int, rng) -> int:
    """Interrupt calls of an object at random times."""
    usual = usual_seconds(make())
    with sender() as by:
        def interrupted(it, i):
            seconds = max(1e-6, rng.uniform(0, 1.2 * usual))
            if way == "thread":
                return by_thread(by, seconds, it, rng.choice(BARE))
            return by_alarm(seconds, it, rng.choice(list(IN_LIBRARIES.values())))

        return follow(make, interrupted, times, _any)
