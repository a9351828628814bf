"""Errors in data that kernels find (an index out of range, a divisor of zero), stored in words of device memory.

A kernel that finds such data sets its operator's word and goes on with harmless values. Reads that wait for a stream call
`verify`, which raises the error of any operator launched there since.
"""

import ctypes
import weakref

import numpy as np

from ....ir.errors import ArgumentError, DimError, IngotError, LinAlgError
from ....ir.ops.core import random as rn
from ....ir.ops.linalg import checked_factorizations, factorizations, triangular
from ....ir.ops.math import gamma
from ....ir.ops.nn import ctc
from ...core.device_array import DeviceArray
from ..driver import context as contexts
from ..driver import streams
from ..driver.driver_state import on_replaced_driver, thread
from . import pools
from .arrays import empty, fill

_WORDS = 64
_DIVISIONS = ("floor_divide", "trunc_divide", "remainder", "fmod")      # their words mean a zero divisor
_REFUSALS = {"repeat_interleave": "repeat_interleave: counts must not be negative",
             "grouped_mm": "grouped_mm: offs must rise to at most the length of what they cut",
             ctc.ctc_loss.name: "ctc_loss: a length or a target is out of range", rn.poisson.name: rn.RATES,
             gamma.standard_gamma.name: gamma.CONCENTRATIONS, rn.binomial.name: rn.TRIALS,
             "lu_unpack": "lu_unpack: pivots are rows, from 1 on"}
_FACTORED = frozenset([op.name for op in (factorizations.cholesky, checked_factorizations.cholesky_ex, triangular.lu_factor,
                                          factorizations.solve,
                                          checked_factorizations.solve_ex, factorizations.inv, checked_factorizations.inv_ex)])
_names: list[str] = []
_words: dict = {}          # device -> array
_apart: list = []          # (weak reference to words, names) of programs with own numbers
_lost: dict = {}           # device -> the error of aborted work
_pending: dict = {}        # device -> {stream: ids of words that its launches may have written since the last check}


def slot(name: str) -> int:
    """Return the number of an operator's word."""
    if name not in _names:
        _names.append(name)
    return _names.index(name) % _WORDS


def words(device: int):
    """Return the words of a device for a launch that is about to write them."""
    if device not in _words:
        _words[device] = _zeros(device)
    launched(_words[device])
    if thread.recorder is not None:
        thread.recorder.checked(_words[device])
    return _words[device]


def _zeros(device):
    def make():
        made = empty(device, (_WORDS,), np.int32)
        fill(made, 0)
        streams.current(device).synchronize()
        return made

    return pools.aside(device, make)


def names() -> tuple:
    """Return the operators that have words, by number."""
    return tuple(_names)


def words_for(device: int, names: tuple):
    """Return separate words for programs with fixed operator numbers; they are checked as long as the caller holds them."""
    made = _zeros(device)
    _apart.append((weakref.ref(made), names))
    return made


def launched(words):
    """Record a launch that may write words. A captured graph holds the words, because every replay may write them."""
    if pools.is_capturing():
        pools.keep(words.memory)
        pools.keep(words)
    else:
        device = words.device
        _pending.setdefault(device, {}).setdefault(streams.current(device).handle, set()).add(id(words))


def words_among(held) -> list:
    """Return the words among the objects that a graph holds."""
    return list({id(h): h for h in held if isinstance(h, DeviceArray)}.values())


def _known(device) -> list:
    """Return the words of a device that are in use, each with its names."""
    _apart[:] = [(ref, names) for ref, names in _apart if ref() is not None]
    found = [(ref(), names) for ref, names in _apart]
    common = [(_words[device], _names)] if device in _words else []
    return common + [(words, names) for words, names in found if words is not None and words.device == device]


def lose(device: int, error: Exception):
    """Let the next read from a device raise an error: work that was aborted there has left no values."""
    _lost[device] = error


def verify(device: int, stream: int | None = None):
    """Raise the errors that kernels of a stream (None: all) have found; the stream was waited for."""
    if device in _lost:
        raise _lost.pop(device)
    pending = _pending.get(device)
    if not pending or (stream is not None and stream not in pending):
        return
    written = pending.pop(stream) if stream is not None else set().union(*pending.values())
    if stream is None:
        pending.clear()
    wrong = [name for a, names in _known(device) if id(a) in written for name in _set_in(a, names, device)]
    if wrong:
        error = _error_of(wrong, device)
        error.is_of_earlier_call = True
        raise error


def _error_of(wrong, device) -> IngotError:
    """Return the error for the operators whose words were set."""
    divided = [name for name in wrong if name in _DIVISIONS]
    if divided:
        return ArgumentError(f"{' and '.join(dict.fromkeys(divided))}: integer division by zero, on cuda:{device}; cast to a "
                             "float first, or mask the zeros with where()")
    refused = next((name for name in wrong if name in _REFUSALS), None)
    if refused is not None:
        return ArgumentError(f"{_REFUSALS[refused]}, on cuda:{device}")
    matrices = [name for name in wrong if name in _FACTORED]
    if matrices:
        return LinAlgError(f"{' and '.join(dict.fromkeys(matrices))}: a matrix is singular or not positive definite, on "
                           f"cuda:{device}; a call by itself says which one")
    return DimError(f"{' and '.join(dict.fromkeys(wrong))}: an index was out of range, on cuda:{device}; the same call on "
                    "the CPU (.cpu()) names the index and the line")


def _set_in(array, names, device) -> list:
    """Return the names whose words are set, and clear these."""
    found = (ctypes.c_int32 * _WORDS)()
    stream = streams.current(device)
    stream.finish(found, contexts.context(device).driver.cuMemcpyDtoHAsync_v2, ctypes.addressof(found), array.pointer,
                  ctypes.sizeof(found), stream.handle)
    wrong = [name for n, name in enumerate(names) if found[n % _WORDS]]
    if wrong:
        fill(array, 0)
    return wrong


@on_replaced_driver
def forget():
    """Forget all words."""
    _words.clear()
    _lost.clear()
    _apart.clear()
    _pending.clear()
