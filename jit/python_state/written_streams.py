"""Writes to files and text streams from outside: they become host calls, so each call writes, in order with its prints.

A stream in memory that the call also reads, or changes otherwise, counts by its whole content instead (`contents.py`).
"""

import functools
import gc
import io
import os
import sys
import threading
import types
from collections.abc import Callable
from typing import Any

from ...ir.interrupts import raise_interrupt
from ...ir.registry import Registry
from ...runtime.core.tensor import Tensor
from ...runtime.state.mode import tls
from ..errors.errors import RecordingStatus
from ..guards.guards import ReadCondition
from ..guards.held_content import held_by
from ..guards.snapshot import snapshot
from ..host.host_call import record
from ..proxies.lazy_scalars import forced
from ..proxies.numpy_scalars import fixed, stands_for_number
from ..proxies.plain_values import put_plain
from ..recorder.record import Recorder
from ..side_effects.contents import ContainerLog
from ..side_effects.deferred_print import SHOWN, Formatted, Text, written
from .call_rules import CONTENT, PURE, REFUSED, public_module
from .reachable import Reachable
from .read_log import LIBRARY, ReadLog

MEMORY = (io.StringIO, io.BytesIO)
STREAMS = (io.TextIOWrapper, io.BufferedWriter, io.BufferedRandom, *MEMORY)
_PLAIN = (str, bytes, int, float, bool, type(None), Tensor, Text)       # values whose text no user code makes
_GIVE_COUNTS = frozenset(("write", "writerow", "writerows"))
_stand_ins: dict = Registry()       # id of a stand-in -> the original
_last = threading.local()       # `result` of the last write of the thread


def stand_ins() -> list:
    """Return (method, its stand-in) for methods that write to streams, of classes that were loaded since the last call."""
    kinds: list = [] if _stand_ins else [(kind, ("write", "flush", "writelines")) for kind in STREAMS]
    if _writer() is not None and id(_writer().writerow) not in {id(f) for f in _stand_ins.values()}:
        kinds.append((_writer(), ("writerow", "writerows")))
    methods = {id(f): f for kind, names in kinds for f in [getattr(kind, name) for name in names]}
    SHOWN.update({kind: frozenset(("write",)) for kind in STREAMS})
    made: list = [(f, _by_host(f)) for f in methods.values()]
    _stand_ins.update([(id(other), original) for original, other in made])
    return made


def _writer() -> Any:
    """Return the class of writers of csv files, if they were imported."""
    return getattr(sys.modules.get("_csv"), "Writer", None)


def _unbound(function):
    """Return the function of a method. No code of the user's runs, as it may where an object is called."""
    return function.__func__ if type(function) is types.MethodType else function


def writes(function) -> bool:
    """Return whether a function is one of these stand-ins, perhaps bound to a stream."""
    return id(_unbound(function)) in _stand_ins


def is_printed_to(stream) -> bool:
    """Return whether a stream is one to which programs print."""
    return stream is sys.stdout or stream is sys.stderr


def stream_of(x) -> Any:
    """Return the stream to which a writer of csv files writes, or a stream itself."""
    if type(x) is not _writer():
        return x
    methods = [f for f in gc.get_referents(x) if isinstance(f, (types.BuiltinMethodType, types.MethodType))]
    return methods[0].__self__ if methods else None


class WrittenStreams:
    """Streams to which a recorded call has written by host calls."""

    def __init__(self, status: RecordingStatus, reads: ReadLog, contents: ContainerLog, reachable: Reachable):
        self._status, self._reads, self._contents, self._reachable = status, reads, contents, reachable
        self._written: dict = {}    # by id: (stream, its content before or None, [its host steps], [values that may change])

    def judge(self, call, function, args) -> tuple:
        """Return (rule, stream, name of the method, text) of a call of a method that writes, with operands or with unknown ones
        (None). By `PURE` the method itself goes on."""
        bound: list = [function.__self__] if type(function) is types.MethodType else []
        operands: list = [*bound, *(args or ())] or [None]
        receiver, *values = operands
        method = _stand_ins[id(_unbound(function))]
        stream, kind, name = stream_of(receiver), type(receiver), method.__name__
        text, is_outside = f"{public_module(kind.__module__)}.{kind.__qualname__}.{name}", self._is_outside(stream, receiver)
        if name != "flush" and is_printed_to(stream):
            rule = CONTENT if receiver is stream else REFUSED
        elif type(stream) in MEMORY:
            rule = CONTENT if is_outside and (args is None or call.site.may_catch) else PURE
        elif type(stream) in STREAMS:
            rule = PURE if args is not None and self._may_write(call, name, values) else REFUSED
        else:
            rule = REFUSED if receiver is not stream and is_outside else PURE
        return rule, stream, name, text

    def _may_write(self, call, name, values) -> bool:
        """Return whether each call can write to a file: no code goes on after an error, or uses a count of characters that may
        be another one."""
        recorder: Any = tls.m.recorder
        is_fixed = name == "write" and all(recorder.reads.printed.opened(x) is x for x in values)
        is_used = name in _GIVE_COUNTS and not (call.site.is_dropped or is_fixed)
        return not (call.site.may_catch or is_used) and (name != "write" or all(type(x) in (str, bytes) for x in values))

    def _is_outside(self, *values) -> bool:
        return any(map(self._reachable.has_met, values))

    def are_by_host(self, stream, x, name) -> bool:
        """Return whether each call repeats a write to a stream by a method of it, or of a writer `x` around it."""
        if name not in ("flush", "print") and is_printed_to(stream):
            return False
        if type(stream) in MEMORY:      # it may count by its content already
            return self._is_outside(stream, x) and (LIBRARY, id(stream)) not in self._reads.conditions
        return name == "print" or type(stream) in STREAMS

    def record(self, recorder, stream, emit, args, kwargs, is_quiet):
        """Record a host call that writes to a stream."""
        if type(stream) in STREAMS:
            content = held_by(stream) if type(stream) in MEMORY else None
            known = self._written.setdefault(id(stream), (stream, content and content(), [], []))
        record(recorder, emit, args, kwargs, is_quiet=is_quiet)
        if type(stream) in STREAMS:
            _, _, steps, values = known
            steps.append(recorder.hosts.steps[-1][0])
            values += _changing((*args, *kwargs.values()))
            self._reachable.iterators.passes(stream)

    def take_back(self, stream, its_name):
        """Let a stream in memory count by its content, since the call reads it: the host calls so far do nothing."""
        if type(stream) not in MEMORY or id(stream) not in self._written:
            return
        _, first, steps, values = self._written.pop(id(stream))
        if any(isinstance(v, Tensor) for v in values):
            self._status.refuse(f"it writes the text of a tensor to {its_name}, and reads that; do one of the two outside")
        for value in values:
            fixed(forced(value))
        for step in steps:
            step.fn = _nothing
        self._contents.changed_from(stream, first, its_name)
        self._reads.add_condition(ReadCondition(
            (LIBRARY, id(stream)), held_by(stream), snapshot(first), f"what {its_name} holds"))

    def asks_about(self, path):
        """Refuse code that asks about a file, or reads it, behind a write to it."""
        if any(type(stream) not in MEMORY and _is_file_of(stream, path) for stream, *_ in self._written.values()):
            self._status.refuse(f"it writes to the file {os.fsdecode(path)}, and asks about it behind that; do one of the two "
                                "outside")

    def close(self):
        self._written.clear()


def _nothing(*args, **kwargs):
    """Take the place of a write that is an effect of another sort."""


def _changing(values) -> list:
    """Return the numbers and tensors in values that a host call writes."""
    found: list = []
    for x in values:
        if type(x) in (list, tuple, Text):
            found += _changing(x.pieces if type(x) is Text else x)
        elif type(x) is Formatted:
            found += _changing(x[:1])
        elif stands_for_number(x) or isinstance(x, Tensor):
            found.append(x)
    return found


def _is_file_of(stream, path) -> bool:
    try:
        return os.path.samestat(os.fstat(stream.fileno()), os.stat(path))
    except (OSError, ValueError) as error:
        raise_interrupt(error, os.stat, path)
        return False


def _by_host(really: Callable) -> Callable:
    name = really.__name__

    def emit(x, *values):
        _last.result = really(x, *[put_plain(v, written) for v in values])

    emit.__name__ = emit.__qualname__ = really.__qualname__         # for messages

    @functools.wraps(really)
    def write(x, *args):
        recorder: Any = tls.m.recorder
        if not isinstance(recorder, Recorder) or recorder.tracker.world.apart.depth:
            return really(x, *args)
        if name not in ("write", "flush"):      # they go through iterators
            args = tuple([[list(row) for row in v] if name == "writerows" else list(v) for v in args])
        values, stream = [put_plain(v, recorder.reads.printed.opened) for v in args], stream_of(x)
        log = recorder.tracker.world.written
        if not log.are_by_host(stream, x, name):
            return really(x, *[put_plain(v, written) for v in values])
        if not recorder.repeats_messages and not recorder.permits("print"):
            return None
        log.record(recorder, stream, emit, (x, *values), {}, all(map(_is_plain, values)))
        return _last.result

    return write


def _is_plain(x) -> bool:
    return all(map(_is_plain, x)) if type(x) is list else type(x) in _PLAIN or stands_for_number(x)
