"""Locks that are open in a forked process, whatever other threads held when it was forked.

A fork copies locks as they are, but only the forking thread: a lock that another thread held would stay closed for ever. So all
locks of ingot are made here, and opened in the child. Data behind them may be as a thread left it halfway, so code that holds a
lock changes what others read in one step. A fork waits for imports of other threads, since a module that was halfway in would
stay locked, too.

    lock = new_lock()       # threading.Lock(), new_rlock(), new_condition()
"""

import importlib
import os
import threading
import time
import weakref
from functools import partial

_LONGEST = 10.0         # seconds that a fork waits for imports
_known: dict[int, weakref.ref] = {}


def new_lock() -> threading.Lock:
    """Return a `threading.Lock` that is open in a forked process."""
    return _entered(threading.Lock())


def new_rlock():
    """Return a `threading.RLock` that is open in a forked process."""
    return _entered(threading.RLock())


def new_condition() -> threading.Condition:
    """Return a `threading.Condition` whose lock is open in a forked process, and for which nobody waits there."""
    return _entered(threading.Condition(new_rlock()))


def _entered(lock):
    key = id(lock)
    _known[key] = weakref.ref(lock, partial(_known.pop, key))     # not Python code, where an interrupt would be lost
    return lock


def _open_all():
    for known in list(_known.values()):
        lock = known()
        if isinstance(lock, threading.Condition):
            lock._waiters.clear()       # type: ignore[attr-defined]
        elif lock is not None:
            lock._at_fork_reinit()


def _wait_for_imports():
    """Wait until no other thread imports a module. Python tells by its locks of modules."""
    locks, deadline = getattr(getattr(importlib, "_bootstrap", None), "_module_locks", {}), time.monotonic() + _LONGEST
    while time.monotonic() < deadline and any(map(_is_foreign, list(locks.values()))):
        time.sleep(0.001)


def _is_foreign(known) -> bool:
    return getattr(known(), "owner", None) not in (None, threading.get_ident())


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_wait_for_imports, after_in_child=_open_all)
