"""Switches: state of the process or of a thread that programs set and ask for.

A value that one public function sets and another returns lives in a `Switch`, and is read by `get`. Other state (the rank of a
process, the current device) is asked for through `question`. So recorders hear of every read and write: a trace guards what it
read, and refuses to leave a switch changed. Grad mode, autocast and the defaults of new tensors are part of the key of a trace
(state.py).
"""

import functools
import threading
from collections.abc import Callable
from typing import Any

from ...ir.blocks import block
from .mode import tls


class Switch:
    """A value of the process; `name` names it in messages. A value is replaced, never changed in place."""

    __slots__ = ("_value", "name")

    def __init__(self, name: str, value: Any):
        self.name, self._value = name, value

    def peek(self) -> Any:
        """Return the value for code whose results do not depend on it: no recorder hears of it."""
        return self._value

    def put(self, value):
        """Set the value; no recorder hears of it."""
        self._value = value

    def get(self) -> Any:
        """Return the value."""
        recorder = tls.m.recorder
        if recorder is not None:
            recorder.switch_read(self)
        return self.peek()

    def set(self, value, is_restored=False):
        """Set the value. `is_restored`: the caller puts back the former one, whatever it is."""
        recorder = tls.m.recorder
        if recorder is not None:
            recorder.switch_set(self, is_restored)
        self.put(value)

    def around(self, value) -> tuple[Callable, Callable]:
        """Return the functions that set a value and put back the one before (`Block.around`)."""
        return functools.partial(self.set, value, is_restored=True), functools.partial(self.put, self.peek())

    held = block(around)        # a block with the value


class ThreadSwitch(Switch):
    """A value of each thread."""

    __slots__ = ("_first",)

    def __init__(self, name: str, value: Any):
        super().__init__(name, threading.local())
        self._first = value

    def peek(self) -> Any:
        return getattr(self._value, "now", self._first)

    def put(self, value):
        self._value.now = value


class LentSwitch(Switch):
    """A value that other code keeps: `peek` returns it, `put` sets it."""

    __slots__ = ("peek", "put")     # type: ignore[misc]

    def __init__(self, name: str, peek: Callable, put: Callable):
        super().__init__(name, None)
        self.peek, self.put = peek, put


class Setting:
    """Attribute of a class, or of a module of that class, that is a switch."""

    def __init__(self, name: str, value: Any):
        self.switch = Switch(name, value)

    def __get__(self, owner, kind=None) -> Any:
        return self if owner is None else self.switch.get()

    def __set__(self, owner, value):
        self.switch.set(value)


class OwnSetting:
    """Attribute of a class that is a switch of each of its objects."""

    def __init__(self, name: str, value: Any):
        self._name, self._first = name, value

    def __set_name__(self, owner, name):
        self._at = f"_switch_of_{name}"

    def _switch_of(self, owner) -> Switch:
        return owner.__dict__.get(self._at) or owner.__dict__.setdefault(self._at, Switch(self._name, self._first))

    def __get__(self, owner, kind=None) -> Any:
        return self if owner is None else self._switch_of(owner).get()

    def __set__(self, owner, value):
        self._switch_of(owner).set(value)


def question(function: Callable) -> Callable:
    """Decorate a public function whose answer other state decides. It only asks: guards call it again."""
    @functools.wraps(function)
    def ask(*args, **kwargs):
        recorder = tls.m.recorder
        if recorder is not None:
            recorder.asked(function.__name__, functools.partial(function, *args, **kwargs))
        return function(*args, **kwargs)

    return ask


def refuse_to_read(what: str):
    """Keep traces from reading what changes on its own, such as the memory in use."""
    if tls.m.recorder is not None:
        tls.m.recorder.refuse(f"it asks for {what}, which may differ from call to call", "do that outside of the function")
