"""The number of threads that numpy's BLAS uses while it works for ingot.

The OpenBLAS in numpy's wheels runs one thread per processor, whatever else runs. They spin while they wait, which is a hundred
times slower beside other programs, and keep spinning for a tenth of a second beside ingot's kernels. So small matrices get one
thread, larger ones as many as ingot has. The user's own numpy calls, and other BLAS libraries, are left alone.
"""

import ctypes
import functools
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from .locks import new_rlock

ALONE = 256             # rows and columns up to which several threads gain a factorisation little
_FOLDERS = ("../numpy.libs", ".libs", ".dylibs")
_NAMES = ("scipy_openblas_{}64_", "scipy_openblas_{}", "openblas_{}64_", "openblas_{}")
_lock = new_rlock()
_calls = 0              # that run now
_before = 0             # threads that the library had before the first of them
most: Callable[[], int] = lambda: 1     # threads that ingot has; the thread pool says how many


class _Library(NamedTuple):
    get: Callable
    put: Callable


def held(fn: Callable, alone: bool, *args, **params):
    """Return `fn(*args, **params)`, run on one thread or on as many as ingot has."""
    library = _library()
    if library is None:
        return fn(*args, **params)
    _enter(library, alone)
    try:
        return fn(*args, **params)
    finally:
        _leave(library)


def suited(fn: Callable) -> Callable:
    """Return `fn(matrices, ...)`, run on a number of threads that suits the matrices."""

    @functools.wraps(fn)
    def run(x, *args, **params):
        return held(fn, max(x.shape[-2:], default=0) <= ALONE, x, *args, **params)

    return run


def is_held() -> bool:
    """Return whether the number of threads is ingot's to choose."""
    return _library() is not None


def _enter(library, alone):
    global _calls, _before
    with _lock:
        if not _calls:
            _before = library.get()
        _calls += 1
        library.put(1 if alone or _calls > 1 else max(1, min(_before, most())))


def _leave(library):
    global _calls
    with _lock:
        _calls -= 1
        if not _calls:
            library.put(_before)


@functools.cache
def _library() -> _Library | None:
    """Return the OpenBLAS that numpy has loaded."""
    for path in _candidates():
        try:
            library = ctypes.CDLL(str(path))
        except OSError:
            continue
        for name in _NAMES:
            get, put = (getattr(library, name.format(what), None) for what in ("get_num_threads", "set_num_threads"))
            if get is not None and put is not None:
                get.argtypes, get.restype = (), ctypes.c_int
                put.argtypes, put.restype = (ctypes.c_int,), None
                return _Library(get, put)
    return None


def _candidates() -> Iterator[Path]:
    for folder in _FOLDERS:
        yield from sorted((Path(np.__file__).parent / folder).glob("*openblas*"))


def _in_child():
    """Reset the state in a forked process, where no call runs."""
    global _calls
    calls, _calls = _calls, 0
    if calls and (library := _library()):
        library.put(_before)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_child)
