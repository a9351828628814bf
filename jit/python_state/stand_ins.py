"""Stand-ins for functions of Python while a call is recorded.

`print`, warnings and log records become host calls. `open` makes files conditions. Functions of `math` compute with symbolic
numbers and lazy scalars. No name leads to a stand-in: the tracker puts it in the place of the original where a frame is about
to call it or hands it to code in C (`CallPolicy.called`). So other threads see nothing, and nothing has to be put back. A
stand-in that outlives the recording does as the original does.

Casts: `int(t)` and `float(t)` give what `item()` gives (`lazy_scalars.py`), `len(t)` is `t.shape[0]`, `len(log)` of a growing
list is symbolic, as is `max(lengths)` of symbolic numbers, and `type(v)` of a proxy is that of its number. Python makes a plain
number of whatever `__int__` or `__len__` returns. So a `Cast` takes the place of the function in user code that only calls the
name, most of them with one argument, or uses it in `isinstance`. Code that does more (`type(x) is int`, `dtype=int`, `key=len`)
calls the original.
"""

import functools
import logging
import math
import os
import stat
import sys
import types
import warnings
import zlib
from collections.abc import Callable
from datetime import datetime
from functools import partial
from io import FileIO
from typing import Any, NamedTuple

from ...ir import dtype as dt
from ...ir.interrupts import raise_interrupt
from ...ir.process_state import recursion_limit
from ...ir.source_location import place_text
from ...ir.symbols import number_functions
from ...ir.symbols.symbolic import SymFloat, SymInt, extreme
from ...ir.tracebacks import computes_for_python
from ...runtime.core.storage import user_line
from ...runtime.core.tensor import Tensor
from ...runtime.state.mode import tls
from ..bytecode.attribute_queries import looks_at_types
from ..bytecode.stack import instructions_of, of_code
from ..bytecode.user_code import LIBRARIES, is_own, is_user_defined
from ..bytecode.value_flow import calls_of_result
from ..errors.errors import TraceError
from ..guards.frames import is_user, works_for_user
from ..guards.guards import ReadCondition
from ..guards.snapshot import CONTAINERS, snapshot
from ..host.host_call import record
from ..proxies import lazy_scalars
from ..proxies.lazy_scalars import LazyScalar, as_number, forced
from ..proxies.numpy_scalars import SymScalar, fixed
from ..proxies.plain_values import put_plain
from ..recorder.record import Recorder
from ..side_effects.deferred_print import written
from . import drawn_numbers, progress_bars, written_streams
from .repeated_warnings import warn_under

computes_for_python(__name__)
PROXIES = (LazyScalar, SymInt, SymFloat, SymScalar)
_MOST_CONTENT = 1 << 16        # bytes of a file that are compared at each call: reading them takes about 20 us
_EXACTLY = {int: Tensor.__int__, float: Tensor.__float__}


class TypeOf:
    """Cast for `type`."""

    __slots__ = ()
    kind = type

    def __call__(self, *args):
        return args[0].__class__ if len(args) == 1 and type(args[0]) in PROXIES else type(*args)


class Length:
    """Cast for `len`."""

    __slots__ = ()
    kind = len

    def __call__(self, *args):
        if len(args) == 1 and tls.m.sizes is not None:
            x, = args
            if isinstance(x, Tensor) and type(x).__len__ is Tensor.__len__ and x._a.ndim:
                return x.shape[0]
            numbers = _argument_list(x)
            if numbers is not None:
                return numbers.shape[0]
            tracker = getattr(tls.m.recorder, "tracker", None)
            if type(x) is list and tracker is not None:
                return tracker.inputs.length_of(x)
        return len(*args)


class Cast:
    """Cast for `int` or `float`."""

    __slots__ = ("kind",)

    def __init__(self, kind: type):
        self.kind = kind

    def __call__(self, *args):
        number = self._open_number(args[0]) if len(args) == 1 else None
        return self.kind(*args) if number is None else number

    def _open_number(self, x) -> Any:
        """Return a number with which the recording goes on, or None if it has to be plain."""
        kind = type(x)
        if kind in (SymInt, SymFloat):
            return x if x.__class__ is self.kind else x * 1.0 if kind is SymInt else x.whole()
        number = x if kind is LazyScalar else _number_of(x, self.kind)
        if type(number) in (int, SymInt):        # a size
            return number
        if number is None or not number.is_open:
            return None
        if number.kind is self.kind:
            return number
        if self.kind is int:
            return lazy_scalars.applied("int", (number,))
        return LazyScalar(number.recorder, number.tensor.to(dt.float64), float(number.hint))


def _number_of(x, kind) -> Any:
    """Return the value of a tensor of one element, as a number or lazy scalar."""
    recorder = tls.m.recorder
    reads: Any = getattr(recorder, "reads", None)
    if not isinstance(x, Tensor) or recorder is None or tls.m.batched is not None or not getattr(reads, "defers", False):
        return None
    is_plain = getattr(type(x), f"__{kind.__name__}__") is _EXACTLY[kind] and x.dtype is not dt.uint64 and not x.is_complex()
    if not is_plain or x._a.size != 1:
        return None
    held = float if x.is_floating_point() else int
    line = user_line() if held is kind is int else None
    if line is not None and reads.is_size(line, int(x._a.item())):
        return reads.size(x, int(x._a.item()), line)
    return LazyScalar(recorder, as_number(x, held), held(x._a.item()), line)


class Extreme:
    """Cast for `max` or `min`: that of sizes is a size."""

    __slots__ = ("kind",)

    def __init__(self, kind: Callable):
        self.kind = kind

    def __call__(self, *args, **kwargs):
        listed = _argument_list(args[0]) if len(args) == 1 and not kwargs else None
        if listed is not None:
            return _number_in(listed.max() if self.kind is max else listed.min())
        if kwargs or tls.m.sizes is None:
            return self.kind(*args, **kwargs)
        numbers = args if len(args) > 1 else list(args[0]) if type(args[0]) in (list, tuple, types.GeneratorType) else ()
        found = extreme(self.kind, numbers)
        return found if found is not None else self.kind(*numbers) if len(numbers) > 1 else self.kind(numbers or args[0])


class Total:
    """Cast for `sum`."""

    __slots__ = ()
    kind = sum

    def __call__(self, *args, **kwargs):
        listed = _argument_list(args[0]) if len(args) == 1 and not kwargs else None
        return sum(*args, **kwargs) if listed is None else _number_in(listed.sum())


def _argument_list(x):
    """Return the tensor that stands for a list of ints among the arguments, or None."""
    recorder = tls.m.recorder if type(x) is list or type(x) is tuple else None
    found = x if recorder is None else recorder.argument_array(x)
    return None if found is x else found


def _number_in(t):
    number = _number_of(t, int)
    return t.item() if number is None else number


CASTS: dict = {kind.__name__: Cast(kind) for kind in (int, float)} | {
    "len": Length(), "type": TypeOf(), "max": Extreme(max), "min": Extreme(min), "sum": Total()}
_ANYWHERE = ("len", "type")      # casts that suit code that looks at types, too


@of_code()
def casts_of(code) -> dict:
    """Return {name of `CASTS` in code: whether calls get the cast}: it is only called or used in `isinstance`, and types are
    not looked at."""
    if CASTS.keys().isdisjoint(code.co_names):
        return {}
    instructions = instructions_of(code)
    loads = [(at, ins.argval) for at, ins in enumerate(instructions) if ins.opname in ("LOAD_GLOBAL", "LOAD_NAME")]
    found = [calls_of_result(code, at) for at, name in loads if name == "isinstance"]
    tests = {call for f in found if f is not None for call in f.calls if instructions[call].arg == 2}
    types_count = looks_at_types(code)
    return {name: (name in _ANYWHERE or not types_count)
                  and all(_only_calls(code, at, tests) for at, other in loads if other == name)
            for name in sorted({name for _, name in loads} & CASTS.keys())}


def _only_calls(code, at, tests) -> bool:
    """Return whether code only calls the function that it loads, most of them with one argument, or gives it to `isinstance`,
    which it calls at `tests`."""
    instructions, found = instructions_of(code), calls_of_result(code, at)
    name, how = instructions[at].argval, instructions[at].opname
    if found is None or how == "LOAD_NAME" or not found.receivers <= tests:
        return False
    return name in ("max", "min") or all(instructions[call].arg <= 1 for call in found.calls)


_MOVERS = LIBRARIES.keys() | {"abc", "bisect", "collections", "contextlib", "copy", "dataclasses", "enum", "functools", "heapq",
                     "logging", "operator", "types", "typing"}


def settle(frame, is_symbolic):
    """Make numbers in the arguments of a function plain if it looks at types, or is a library's that user code calls."""
    if not is_symbolic and not getattr(getattr(tls.m.recorder, "reads", None), "has_numbers", False):
        return
    if is_user(frame):
        if looks_at_types(frame.f_code):
            _settle(frame, lambda x: fixed(x) if type(x) is SymScalar else forced(x))
    elif frame.f_back is not None and is_user(frame.f_back) and (
            frame.f_globals.get("__name__", "").partition(".")[0] not in _MOVERS):
        make_plain(frame)


def make_plain(frame):
    """Replace the numbers in a function's arguments by their values, and fix them."""
    _settle(frame, lambda x: fixed(forced(x)))


def settle_values(values):
    """Make the numbers in lists and dictionaries plain, for C code that looks at their types."""
    for x in values:
        put_plain(x, lambda v: fixed(forced(v)))


def _settle(frame, give):
    code = frame.f_code
    count, local = code.co_argcount + code.co_kwonlyargcount + bool(code.co_flags & 4) + bool(code.co_flags & 8), frame.f_locals
    for name in code.co_varnames[:count]:
        if name in local:
            plain = put_plain(local[name], give)
            if plain is not local[name]:
                local[name] = plain


IS_ENABLED = logging.Logger.isEnabledFor.__code__


def level_condition(logger, level) -> ReadCondition:
    """Return the condition that a logger takes, or does not take, records of a level."""
    return ReadCondition.of(("logging", id(logger), level), lambda: logger.isEnabledFor(level),
                            f"whether the logger {logger.name} takes level {level}")


# The originals. Stand-ins call them by these names, since a frame that names `print` or `open` gets stand-ins itself.
_PRINT, _OPEN, _WARN, _HANDLE = print, open, warnings.warn, logging.Logger.handle


class MessageSettings(NamedTuple):
    """Settings of messages as they were before the function ran."""

    stdout: Any
    shows: tuple
    filters: tuple

    @classmethod
    def now(cls):
        """Return the settings, and add the stand-ins for classes of libraries that were loaded meanwhile."""
        for original, other in _late_stand_ins():
            _STAND_INS[id(original)], _REAL[id(other)] = other, original
        return cls(sys.stdout, _showing(), tuple(warnings.filters))

    @staticmethod
    def warn(message, category, stacklevel):
        """Record a warning of ingot's own code."""
        _warn(message, category, stacklevel + 1)


def _tracker() -> Any:
    """Return the tracker of this thread's recording, or None."""
    recorder = tls.m.recorder
    return recorder.tracker if isinstance(recorder, Recorder) else None


def _repeats_messages() -> bool:
    """Return whether a run is recorded whose messages come at each replay."""
    recorder: Any = tls.m.recorder
    return _tracker() is not None and recorder.repeats_messages


def _showing() -> tuple:
    """Return the functions that show warnings."""
    module: Any = warnings
    return module.showwarning, module._showwarnmsg_impl


def _warn(message, category=None, stacklevel=1, *args, **kwargs):
    """Stand-in for `warnings.warn`."""
    if not _repeats_messages() or args or kwargs:
        return _WARN(message, category, stacklevel + 1, *args, **kwargs)
    tracker = _tracker()
    before = tracker.world.messages
    if not isinstance(message, (str, Warning)):
        tracker.status.refuse(f"it warns with a {type(message).__name__} as the message; pass a string or a Warning")
    tracker.reads.add_condition(ReadCondition(
        ("warnings",), lambda: tuple(warnings.filters), snapshot(before.filters), "how warnings are filtered"))
    if _showing() != before.shows:       # user code listens
        return _WARN(message, category, stacklevel + 1)
    frame = sys._getframe(1)
    for _ in range(stacklevel - 1):
        frame = frame.f_back or frame
    space = frame.f_globals
    place = frame.f_code.co_filename, frame.f_lineno, space.get("__name__", "<string>")
    registry, own = space.setdefault("__warningregistry__", {}), tuple(warnings.filters)

    emit: Callable = partial(warnings.warn_explicit, message, category or UserWarning, *place, registry)
    if own != before.filters:
        is_first = tracker.world.filters.is_first(warnings.filters, registry)
        emit = partial(warn_under, own, is_first, message, category or UserWarning, *place, registry)
    return record(tls.m.recorder, emit, (), {}, is_quiet=True)


def _handle(logger, log_record):
    """Stand-in for `logging.Logger.handle`."""
    if not _repeats_messages():
        return _HANDLE(logger, log_record)
    if log_record.exc_info:
        line = place_text((log_record.pathname, log_record.lineno))
        raise TraceError(f"this function cannot be traced: it logs an exception at {line}; do so in a function that is "
                         "marked with jit.host")

    def emit(message, args):
        _HANDLE(logger, logger.makeRecord(log_record.name, log_record.levelno, log_record.pathname, log_record.lineno,
                                          written(message), args, None, log_record.funcName))

    recorder: Any = tls.m.recorder
    return record(recorder, emit, (recorder.reads.printed.opened(log_record.msg), log_record.args or ()), {})


_PLAIN = (str, int, float, bool, type(None), Tensor)        # types whose text no user code makes


def _print(*args, **kwargs):
    """Stand-in for `print`."""
    recorder: Any = tls.m.recorder
    tracker = _tracker()
    if tracker is None:
        return _PRINT(*args, **kwargs)
    if not recorder.repeats_messages and not recorder.permits("print"):
        return None
    if sys.stdout is not tracker.world.messages.stdout:        # redirected by user code
        kwargs.setdefault("file", sys.stdout)
    opened, file = recorder.reads.printed.opened, kwargs.get("file")
    streams = tracker.world.written
    if file is not None and not streams.are_by_host(file, file, "print"):
        return _PRINT(*[str(opened(x)) for x in args], **kwargs)
    return streams.record(recorder, file, _emit, tuple(map(opened, args)), {k: opened(v) for k, v in kwargs.items()},
                          is_quiet=all(isinstance(x, _PLAIN) for x in args))


def _pretty(original: Callable) -> Callable:
    """Return the stand-in for `pprint.pprint` or `pprint.pp`."""
    def emit(value, **kwargs):
        original(written(value), **{k: written(x) for k, x in kwargs.items()})

    @functools.wraps(original)
    def show(value, *args, **kwargs):
        recorder: Any = tls.m.recorder
        tracker = _tracker()
        stream = args[0] if args else kwargs.get("stream")
        if tracker is None or (stream is not None and tracker.reachable.is_made(stream)):
            return original(value, *args, **kwargs)
        if args or stream is not None or sys.stdout is not tracker.world.messages.stdout:
            tracker.status.refuse(f"it calls pprint.{original.__name__} for another stream than sys.stdout; use print(file=)")
            return original(value, *args, **kwargs)
        if not recorder.repeats_messages and not recorder.permits("print"):
            return None
        opened = recorder.reads.printed.opened
        return record(recorder, emit, (opened(value),), {k: opened(x) for k, x in kwargs.items()},
                      is_quiet=isinstance(value, _PLAIN))

    return show


def _late_stand_ins() -> list:
    """Return (function, its stand-in) for functions of modules that were loaded since the last call."""
    module = sys.modules.get("pprint")
    pretty = [] if module is None else [(f, _pretty(f)) for f in (module.pprint, module.pp) if id(f) not in _STAND_INS]
    return [*pretty, *progress_bars.stand_ins(), *drawn_numbers.stand_ins(), *written_streams.stand_ins()]


def _emit(*args, **kwargs):
    _PRINT(*map(written, args), **{k: written(v) for k, v in kwargs.items()})


def _open(file, mode="r", *args, **kwargs):
    """Stand-in for `open`."""
    tracker = _tracker()
    if tracker is None:
        return _OPEN(file, mode, *args, **kwargs)
    tracker.world.libraries.opens(file, mode, sys._getframe(1))
    found = _OPEN(file, mode, *args, **kwargs)
    tracker.known.add_own(found)
    return found


def _recursion_limit():
    """Stand-in for `sys.getrecursionlimit`: while a call is recorded, the limit leaves room for the frames of the recorder.
    Imports of ingot may ask for it, too."""
    tracker = _tracker()
    if tracker is not None and works_for_user(sys._getframe(1)):
        tracker.reads.add_condition(ReadCondition.of(("recursion",), recursion_limit, "the limit of recursion"))
    return recursion_limit()


_MESSAGES: list[tuple[Callable, Callable]] = [(_PRINT, _print), (_OPEN, _open), (_WARN, _warn), (_HANDLE, _handle),
                                              (sys.getrecursionlimit, _recursion_limit)]
_NUMBERS = [(getattr(math, name), function) for name, function in number_functions.FUNCTIONS.items()]
_STAND_INS: dict = {id(original): functools.wraps(original)(other) for original, other in [*_MESSAGES, *_NUMBERS]}
_REAL: dict = {id(cast): cast.kind for cast in CASTS.values()} | {      # id of a stand-in -> the original
    id(other): original for original, other in [*_MESSAGES, *_NUMBERS]}
_CASTS_BY_ID = {id(cast.kind): cast for cast in CASTS.values()}
_NAMES = frozenset([original.__name__ for original, _ in [*_MESSAGES, *_NUMBERS]])
_NAMES_IN_OWN_CODE = frozenset(("open", "print"))


def real(x):
    """Return the original of a stand-in; other values as they are."""
    return _REAL.get(id(x), x)


def cast_for(function, frame) -> Any:
    """Return the cast for a function that the frame of user code is about to call, or None."""
    found = _CASTS_BY_ID.get(id(function))
    return found if found is not None and is_user(frame) and casts_of(frame.f_code).get(function.__name__) else None


def stand_in_for(function) -> Any:
    """Return the stand-in for a function that is about to be called, or None."""
    found = _STAND_INS.get(id(function))
    if found is None and type(function) is functools.partial:
        inner = stand_in_for(function.func)
        return None if inner is None else functools.partial(inner, *function.args, **function.keywords)
    if found is None and type(function) is types.MethodType:
        inner = _STAND_INS.get(id(function.__func__))
        return None if inner is None else types.MethodType(inner, function.__self__)
    if found is None and type(function) is types.BuiltinMethodType:     # `random.random`, as the module has it, or `file.write`
        inner = _STAND_INS.get(id(getattr(type(function.__self__), function.__name__, None)))
        return None if inner is None else types.MethodType(inner, function.__self__)
    return found


def calls_operands(function, receiver) -> bool:
    """Return whether a function may call its operands unseen, rather than keep them: code of users is seen."""
    receiver = getattr(function, "__self__", receiver)
    return not (function is functools.partial or type(receiver) in CONTAINERS or is_user_defined(
        getattr(function, "__func__", function)))


@of_code()
def _named_by(code) -> frozenset:
    return _NAMES.intersection(code.co_names)


def may_need_stand_ins(frame) -> bool:
    """Return whether the frame of a library may call a function that has a stand-in. ingot's own code calls
    `number_functions`, and tells the recorder of warnings itself: it often runs past the tracker."""
    names, module = _named_by(frame.f_code), frame.f_globals.get("__name__", "")
    if is_own(module):
        return not names.isdisjoint(_NAMES_IN_OWN_CODE)
    return bool(names) or module.partition(".")[0] in progress_bars.PACKAGES or module == "csv"


class FileState(NamedTuple):
    """Facts of a file, which differ once it is replaced or written. `content` is that of a small file that is read: times of
    files are coarse, programs set them, and writes through a memory map leave them as they are."""

    time: int
    changed: int
    size: int
    number: int
    content: bytes | None

    def __repr__(self):
        written, changed = [f"{datetime.fromtimestamp(t / 1e9):%Y-%m-%d %H:%M:%S.%f}" for t in (self.time, self.changed)]
        sums = "" if self.content is None else f", checksum {zlib.crc32(self.content):08x}"
        return f"{self.size} bytes of {written}, changed {changed}{sums}"


def file_state(path, is_read=False) -> FileState | str:
    """Return a value that changes when a file is replaced or written; `is_read`: code reads its content, too."""
    found = _stat(path)
    if found is None:
        return "missing"
    content = _content(path) if is_read and stat.S_ISREG(found.st_mode) and found.st_size <= _MOST_CONTENT else None
    return FileState(found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino, content)


def _content(path) -> bytes | None:
    """Return the content of a file, or None if it cannot be read."""
    try:
        return _read(path)
    except OSError as error:
        raise_interrupt(error, _read, path)
        return None


def _read(path) -> bytes:
    with FileIO(path) as file:
        return file.readall()


def is_stream(path) -> bool:
    """Return whether a path leads to a pipe, terminal or device, which gives other bytes each time."""
    found = _stat(path)
    return found is not None and not stat.S_ISREG(found.st_mode)


def _stat(path):
    try:
        return os.stat(path)
    except (OSError, ValueError) as error:
        raise_interrupt(error, os.stat, path)
        return None
