"""Iterators from outside that a recorded call reaches: a replay would not move them on.

Loops, unpacking and `in` move an iterator on without a call that could be seen. So the position of each iterator is compared
before and after, and a generator tells when it runs.
"""

import ctypes
import functools
import io
import operator
import re
import sys
import types
import weakref
from collections import deque
from typing import Any

from ...ir.interrupts import raise_interrupt
from ...ir.process_state import without_warnings
from ...runtime.core.tensor import Tensor
from ...runtime.nn.base.module import Module
from ..bytecode.reads import is_user_function
from ..bytecode.user_code import is_a
from ..errors.errors import RecordingStatus

_SCANNER: Any = type(re.compile("").scanner(""))        # type: ignore[attr-defined]
_CHANGING = (list, dict, set, deque)        # `iter(queue.popleft, None)` takes something out
_POSITIONS = ("line_num", "index")      # attributes of readers of csv files, and of `array.flat`


def is_library_iterator(value) -> bool:
    """Return whether an object moves on as it is read, and keeps where it stands in C code or in a frame."""
    move = getattr(type(value), "__next__", None)
    return not (move is None or is_user_function(move) or isinstance(value, (io.IOBase, Tensor, Module, *weakref.ProxyTypes)))


def is_file(value) -> bool:
    """Return whether a value is a file; those in memory are compared by their content."""
    return is_a(value, io.IOBase) and not is_a(value, (io.StringIO, io.BytesIO))


def is_open_file(value) -> bool:
    """Return whether a value is a file that is open for reading."""
    return is_file(value) and value is not sys.stdout and value is not sys.stderr and not value.closed and value.readable()


def position(iterator) -> Any:
    """Return what changes when an iterator in C, or a file, moves on."""
    if isinstance(iterator, io.IOBase):
        try:
            return None if iterator.closed else iterator.tell()
        except OSError as error:            # a loop reads it, or it is a stream
            raise_interrupt(error, iterator.tell)
            return object()
    if hasattr(iterator, "__length_hint__"):
        try:
            return operator.length_hint(iterator)
        except OverflowError as error:          # of a long range
            raise_interrupt(error, operator.length_hint, iterator)
    for name in _POSITIONS:
        try:
            return getattr(iterator, name)
        except (AttributeError, ValueError) as error:       # numpy's iterators have an index if they were asked for it
            raise_interrupt(error, getattr, iterator, name)
    if hasattr(iterator, "__dict__"):
        return [_part(x) for x in vars(iterator).values()]
    try:
        with without_warnings():        # itertools deprecate it
            parts = iterator.__reduce__()
    except TypeError as error:
        raise_interrupt(error, iterator.__reduce__)
        return None
    return [_part(x) for x in parts[1:]]


def _part(x):
    if type(x) is tuple:
        return [_part(v) for v in x]
    if type(x) is functools.partial:
        return [_part(v) for v in (x.func, *x.args, *x.keywords.values())]
    if is_a(x, (types.BuiltinMethodType, types.MethodWrapperType)) and not isinstance(x.__self__, types.ModuleType):
        return _part(x.__self__)        # `re.finditer` calls a method of a scanner, `iter(f.readline, "")` one of a file
    if type(x) is _SCANNER:             # keeps where it stands in its own memory alone, behind reference count and class
        return ctypes.string_at(id(x) + object.__basicsize__, x.__sizeof__() - object.__basicsize__)
    if is_library_iterator(x) or is_open_file(x):
        return position(x)
    return x if type(x) in (int, range) else (id(x), len(x)) if type(x) in _CHANGING else id(x)


class OutsideIterators:
    """Iterators that were there before the call."""

    def __init__(self, status: RecordingStatus):
        self._status = status
        self._met: dict = {}        # by id: (iterator, its name, its position before)
        self._frames: dict = {}     # by id of the frame of a generator: (frame, name of the generator)
        self._steps: dict = {}      # by id of a counter: how many steps the call has made that each call repeats

    def see(self, text, value):
        """Note a value that is reached, if it is an iterator or an open file."""
        if not (is_library_iterator(value) or is_open_file(value)) or id(value) in self._met:
            return
        self._met[id(value)] = value, text, position(value)
        frame = value.gi_frame if type(value) is types.GeneratorType else None
        if frame is not None:
            self._frames[id(frame)] = frame, text

    def moves(self, counter) -> int:
        """Note a step of a counter that each call repeats; return how many the call has made before."""
        self.passes(counter)
        self._steps[id(counter)] = steps = self._steps.get(id(counter), 0) + 1
        return steps - 1

    def passes(self, iterator):
        """Note that an iterator or a file has moved on as each call moves it."""
        if id(iterator) in self._met:
            _, text, _ = self._met[id(iterator)]
            self._met[id(iterator)] = iterator, text, position(iterator)

    def refuse(self, text, place=""):
        """Refuse the call, since it moves on an iterator."""
        where = f", at {place}" if place else ""
        self._status.refuse(f"it moves on {text}, an iterator that lives outside of it{where}; pass the value as an "
                            "argument, or take it in a function that is marked with jit.host and returns it as a tensor")

    def runs(self, frame):
        """Refuse the call if a frame that starts, or goes on, is one of a generator from outside."""
        if id(frame) in self._frames:
            self.refuse(self._frames[id(frame)][1])

    def check(self):
        """Refuse the call if one of them has moved on."""
        for iterator, text, before in self._met.values():
            if position(iterator) != before:
                self.refuse(text)

    def close(self):
        self._met, self._frames, self._steps = {}, {}, {}
