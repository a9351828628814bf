"""Mutable globals: the mode of the current thread, and the defaults of the process."""

import contextvars
import threading
from collections.abc import Callable
from functools import partial
from types import CodeType
from typing import Any

import numpy as np

from ...ir import dtype as dt
from ...ir.blocks import block
from ...ir.doors import door
from .recorder import OperatorEvents, Recorder


class Mode:
    """The mode of a thread. After a change of any field behind `special`, call `refresh`."""

    __slots__ = (
        "_context",
        "agreed_keys",
        "anomaly",
        "autocast",
        "backward",
        "batched",
        "dispatch_hook",
        "done_by_hosts",
        "failures",
        "function_modes",
        "grad",
        "inference",
        "journal",
        "listened",
        "noticed",
        "observer",
        "own_code",
        "recorder",
        "repeats_stores",
        "results_of_hosts",
        "run",
        "saved_hooks",
        "sizes",
        "special",
        "told",
    )

    def __init__(self):
        self.grad = True            # operators are put on the tape
        self.inference = False
        self.recorder: Recorder | None = None           # set while a run is recorded
        self.sizes: Any = None      # set while it is recorded with symbolic sizes: returns the shape of a tensor
        self.autocast: Any = None   # amp: {device kind: dtype}
        self.saved_hooks: Any = None                    # (pack, unpack) of saved_tensors_hooks
        self.batched: Any = None    # innermost level of vmap (runtime/func)
        self.observer: OperatorEvents | None = None     # innermost observer of operators, such as a profile
        self.backward: Any = None   # innermost `Backward` under way
        self.agreed_keys: Any = None    # makes random keys those that all processes agree on (distributed/tensor)
        self.journal: dict | None = None    # runs that write over their inputs, while a replay must be able to finish them
        self.dispatch_hook: Any = None      # calls `dispatch.call`, unobserved by a tracker of Python; None inside of it
        self.results_of_hosts: Any = None       # `Outcomes` of host calls, while a replay runs
        self.done_by_hosts: Any = None      # `HostResults` of a replay that could not go on, for the run in its place
        self.repeats_stores = False         # hooks on registration ran when the assignment to a module was recorded
        self.own_code: Any = None           # calls ingot's own code that runs none of users, unobserved by that tracker
        self.anomaly: Any = False   # anomaly mode
        self.function_modes = 0     # count of modes that intercept functions (`overrides.TorchFunctionMode`)
        self.failures = 0           # count of operators that raised
        self.special = False        # any of these is active: the one question of the hot path
        self.told = False           # somebody hears of all that eager code does, so that a trace runs as it is
        self.noticed = False        # the same without autocast, for operators that it leaves alone (`Op.is_autocast`)
        self.listened = False       # the same without observers that only watch (`memo/call_recorder.py`)
        self._context = contextvars.Context()
        self._context.run(np.seterr, all="ignore")
        self.run: Any = self._context.run   # calls a function without numpy's floating point warnings

    @property
    def runner(self) -> Any:
        """Caller of functions as `run` is, also for code that runs inside of `run`: the interpreter calls signal handlers and
        finalisers there."""
        try:
            self.run(int)
        except RuntimeError as error:
            if not is_reentry(error):
                raise
            return _directly
        return self.run

    def quietly(self, function, /, *args, **kwargs):
        """Call a function as `runner` does. (`run` by itself is quicker.)"""
        try:
            return self.run(function, *args, **kwargs)
        except RuntimeError as error:
            return call_inside(error, function, *args, **kwargs)

    @property
    def watched(self) -> bool:
        """Whether a call is recorded to be memoised: choices that depend on values must be made by operators."""
        return self.special and not self.listened

    @property
    def told_by_users(self) -> bool:
        """Whether code of users may run inside of ingot's functions: modes that intercept them, hooks on saved tensors."""
        return bool(self.function_modes or self.saved_hooks or self.observer or self.batched or self.anomaly)

    def only_now(self):
        """Report what may differ at the next such call (a read value, a random key) or must not be repeated (a write)."""
        if self.observer is not None:
            self.observer.met_only_now()

    def refresh(self):
        """Update the flags derived from the other fields."""
        self.told = bool(self.recorder or self.saved_hooks or self.anomaly or self.batched or self.function_modes)
        self.listened = self.told or bool(self.autocast) or (self.observer is not None and not self.observer.only_watches)
        self.noticed = self.told or self.observer is not None
        self.special = self.noticed or bool(self.autocast)


def call_inside(error, function, /, *args, **kwargs):
    """Call a function that `Mode.run` has not called because the thread is inside of it already; else let the error, which is
    being handled, go on."""
    if not is_reentry(error):
        raise
    return function(*args, **kwargs)


def _directly(function, /, *args, **kwargs):
    return function(*args, **kwargs)


class _Local(threading.local):
    m = Mode()      # for finalizers in threads that have no state of their own yet, or none any more

    def __init__(self):
        self.m = Mode()


tls = _Local()


@block
def other_mode(**fields) -> tuple[Callable, Callable]:
    """Return a block in which fields of the thread's mode are others."""
    m = tls.m
    before = {name: getattr(m, name) for name in fields}

    def put(values):
        for name, value in values.items():
            setattr(m, name, value)
        m.refresh()

    return partial(put, fields), partial(put, before)


def is_reentry(error) -> bool:
    """Return whether `Mode.run` refused to run a function inside of another one, as a signal handler or a finaliser asks for in
    the middle of an operator: nothing ran."""
    return type(error) is RuntimeError and "cannot enter context" in str(error)


COMPILERS: list = []         # what `Module.compile` calls: `ingot.compile`, entered by the root package
OPEN_PROFILES: list = []     # profiles of compiled code; the last one runs it
COUNTERS: list = []          # counters of compiled code: each is told of a run
OPEN_READERS: set = set()    # code of ingot's own functions that only compute with numbers which they read
HANDING_READERS: set = set() # code of those that only return a number which they read


def mode() -> Mode:
    """Return the current thread's mode."""
    return tls.m


class Defaults:
    """Defaults of new tensors."""

    dtype = dt.float32
    device = "cpu"
    told: list = []     # functions called when the dtype changes


def get_default_dtype() -> dt.DType:
    """Return the dtype of tensors made from Python floats, and of int inputs to float functions."""
    return Defaults.dtype


def set_default_dtype(d) -> None:
    """Set the dtype of tensors made from Python floats (a floating point dtype)."""
    d = dt.as_dtype(d)
    if d not in dt.FLOATS:
        raise dt.DTypeError(f"the default dtype must be a floating point dtype, got {d}")
    Defaults.dtype = d
    for tell in Defaults.told:
        tell()


def computes_with_numbers(function):
    """Mark a function that takes lazy scalars as the numbers themselves while a call is recorded; its comprehensions do, too.
    """
    OPEN_READERS.update(_code_in(door(function).__code__))          # (a later door would change the code)
    return function


def hands_on_number(function):
    """Mark a function that only returns a number which it reads: while a call is recorded, its caller counts as the reader."""
    HANDING_READERS.add(door(function).__code__)
    return function


def _code_in(code):
    yield code
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from _code_in(inner)
