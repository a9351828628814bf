"""Matrix tiles (AMX): whether this process may use them.

Linux gives tiles to a process that asks, once, for all of its threads and for processes forked from it. A system that is too
old, or a sandbox that refuses, leaves products on the roads without tiles.
"""

import contextlib
import ctypes
import functools
import sys
import threading

from ....ir.target import host

FEATURES = frozenset({"amx-tile", "amx-bf16"})
_ARCH_PRCTL, _REQUEST, _TILE_DATA = 158, 0x1023, 18         # of x86-64 Linux: asking for the state of tiles
_local = threading.local()


def is_offered() -> bool:
    """Whether the processor has tiles for bfloat16, and what the road that uses them needs beside them."""
    return FEATURES | {"avx512bf16"} <= host().features


@functools.lru_cache(None)
def is_allowed() -> bool:
    """Whether kernels of this process may use tiles; asks the system the first time."""
    return is_offered() and _ask()


def is_wanted() -> bool:
    """Whether plans may use tiles: those that this process runs itself, where it is allowed to."""
    return not getattr(_local, "withheld", False) and is_allowed()


@contextlib.contextmanager
def withheld():
    """Inside, this thread plans without tiles: what a program runs that does not ask for them."""
    before = getattr(_local, "withheld", False)
    _local.withheld = True
    try:
        yield
    finally:
        _local.withheld = before


def _ask() -> bool:
    if sys.platform != "linux":
        return False
    try:
        return ctypes.CDLL(None).syscall(_ARCH_PRCTL, _REQUEST, _TILE_DATA) == 0
    except (OSError, AttributeError):
        return False
