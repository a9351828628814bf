"""Matrix tiles (AMX): permission to use them.

Linux gives tiles to a process that asks, once, for all of its threads and for processes forked from it. On a system that is too
old, or in a sandbox that refuses, products do without tiles.
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
    """Whether the processor has tiles for bfloat16 and the instructions that kernels use beside them."""
    return FEATURES | {"avx512bf16"} <= host().features


@functools.lru_cache(None)
def is_allowed() -> bool:
    """Whether kernels of this process may use tiles; asks the system at the first call."""
    return is_offered() and _ask()


def is_wanted() -> bool:
    """Whether plans may use tiles: those that this process runs itself, if it is allowed to."""
    return not getattr(_local, "withheld", False) and is_allowed()


@contextlib.contextmanager
def withheld():
    """Plan without tiles inside of this block, in this thread: for programs that do not ask the system for them."""
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
