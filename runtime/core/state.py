"""The only mutable globals: what the current thread is doing, and the defaults of the process."""

import contextvars
import threading
from types import CodeType
from typing import Any

import numpy as np

from ...ir import dtype as dt
from .recorder import Recorder


class Mode:
    """What the current thread is doing.

    grad       whether operators are put on the tape
    special    whether anything below is active, so that the hot path asks one question
    noticed    the same without autocast, for operators that it leaves as they are (`Op.is_autocast`)
    listened   the same, but for who only watches what remembered functions come to (`memo/call_recorder.py`)
    run        calls a function with numpy's floating point warnings off (ingot's results carry inf and nan instead)
    door       calls `dispatch.call` for who watches all Python that runs, but not what operators do; None inside of it
    agrees     makes of the place of a random key one that several processes agree on, where they draw together
    asked      how many modes (`overrides.TorchFunctionMode`) are asked about functions
    failures   how many operators have raised
    given_by_hosts   filled by jit while a replay must know what host functions have given
    """

    __slots__ = ("_context", "agrees", "anomaly", "asked", "autocast", "backward", "batched", "clock", "door", "failures",
                 "given_by_hosts", "grad", "inference", "listened", "noticed", "recorder", "run", "saved_hooks", "sizes",
                 "special")

    def __init__(self):
        self.grad = True
        self.inference = False
        self.recorder: Recorder | None = None      # set while a run is recorded
        self.sizes = None         # filled by jit while it records with symbolic sizes: gives the shape of a tensor
        self.autocast = None      # filled by amp: device kind -> dtype
        self.saved_hooks = None   # (pack, unpack) of saved_tensors_hooks
        self.batched = None       # the innermost level of vmap (runtime/batching)
        self.clock: Any = None    # who hears of each operator: the open profile (runtime/profiler), or an `AtDoor`
        self.backward: Any = None  # the innermost `Backward` that is under way
        self.agrees: Any = None   # filled while a function of tensors that processes share out runs (distributed/tensor)
        self.door: Any = None
        self.given_by_hosts: Any = None
        self.anomaly = False
        self.asked = 0
        self.special = self.listened = self.noticed = False
        self.failures = 0
        self._context = contextvars.Context()
        self._context.run(np.seterr, all="ignore")
        self.run: Any = self._context.run

    @property
    def watched(self) -> bool:
        """Whether a call is watched to be remembered: what it would do depending on values must be done by operators."""
        return self.special and not self.listened

    def only_now(self):
        """Called by what may be another thing at the next call that looks the same (values that are read, random keys), or must
        not be done again for nothing (writes, warnings)."""
        if self.clock is not None:
            self.clock.met_only_now()

    def refresh(self):
        """Call after changing any field behind `special`."""
        told = bool(self.recorder or self.saved_hooks or self.anomaly or self.batched or self.asked)
        self.listened = told or bool(self.autocast) or (self.clock is not None and not self.clock.only_watches)
        self.noticed = told or self.clock is not None
        self.special = self.noticed or bool(self.autocast)


class _Local(threading.local):
    m = Mode()      # what finalizers and stand-ins see where a thread has no state of its own yet, or none any more

    def __init__(self):
        self.m = Mode()


tls = _Local()
COMPILERS: list = []         # what `Module.compile` calls: `ingot.compile`, put there by the face
OPEN_PROFILES: list = []     # who takes the time of compiled code that runs; the last one does
COUNTERS: list = []          # who counts what compiled code does: each is told of it
OPEN_READERS: set = set()    # code of ingot's own functions that only compute with numbers which they read out of tensors
HANDING_READERS: set = set()     # and of those that only hand a number which they read to their caller


def mode() -> Mode:
    """The current thread's mode."""
    return tls.m


class Defaults:
    """What new tensors are when nothing is said."""

    dtype = dt.float32
    device = "cpu"
    clear_padding = True    # TransformerEncoder writes zeros for padding in inference (`backends.mha`)
    told: list = []     # called without arguments when the dtype changes


def get_default_dtype() -> dt.DType:
    """The dtype of tensors made from Python floats, and of int inputs to float functions."""
    return Defaults.dtype


def set_default_dtype(d) -> None:
    """Sets the dtype of tensors made from Python floats (a floating point dtype)."""
    d = dt.as_dtype(d)
    if d not in dt.FLOATS:
        raise dt.DTypeError(f"the default dtype must be a floating point dtype, got {d}")
    Defaults.dtype = d
    for tell in Defaults.told:
        tell()


def computes_with_numbers(function):
    """Marks a function that takes whatever stands for a number, while a call is recorded, as the number itself; its
    comprehensions do, too."""
    OPEN_READERS.update(_code_in(function.__code__))
    return function


def hands_on_number(function):
    """Marks a function that does no more with a number which it reads than to return it: while a call is recorded, its caller
    counts as who reads it."""
    HANDING_READERS.add(function.__code__)
    return function


def _code_in(code):
    """A function's code and that of what is written inside of it."""
    yield code
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from _code_in(inner)
