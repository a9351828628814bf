"""Wrong data that kernels find (an index out of range): noted in words of device memory, raised when values are next read.

A kernel that finds such data sets its operator's word and works on with something harmless. Whoever waits for a stream in
order to read values asks `verify`, which raises the error of any operator that was launched there since.
"""

import ctypes

import numpy as np

from ...ir.errors import DimError
from . import context as contexts
from . import streams
from .program import empty, fill

_WORDS = 64
_names: list[str] = []
_words: dict = {}          # device -> array
_pending: dict = {}        # device -> streams with launches that were not asked about


def slot(name: str) -> int:
    """The number of an operator's word."""
    if name not in _names:
        _names.append(name)
    return _names.index(name) % _WORDS


def words(device: int):
    """The words of a device; a launch that writes them is about to come."""
    if device not in _words:
        _words[device] = empty(device, (_WORDS,), np.int32)
        fill(_words[device], 0)
        streams.current(device).synchronize()
    _pending.setdefault(device, set()).add(streams.current(device).handle)
    return _words[device]


def replayed(device: int):
    """Notes that launches were repeated which may have written words."""
    if device in _words:
        words(device)


def verify(device: int, stream: int | None = None):
    """Raises what kernels of a stream (None: of any) have found; the stream was waited for."""
    pending = _pending.get(device)
    if not pending or (stream is not None and stream not in pending):
        return
    pending.clear() if stream is None else pending.discard(stream)
    found = (ctypes.c_int32 * _WORDS)()
    context = contexts.context(device)
    context.driver.cuMemcpyDtoHAsync_v2(ctypes.addressof(found), _words[device].pointer, ctypes.sizeof(found),
                                        streams.current(device).handle)
    streams.current(device).synchronize()
    wrong = [name for n, name in enumerate(_names) if found[n % _WORDS]]
    if wrong:
        fill(_words[device], 0)
        raise DimError(f"{' and '.join(wrong)}: an index was out of range, on cuda:{device}; the same call on the CPU (.cpu()) "
                       "names the index and the line")


def forget():
    """Forgets the words, for a driver that was replaced."""
    _words.clear()
    _pending.clear()
