"""Locks that are open in a forked process, whatever other threads held when it was forked.

A fork copies locks as they are, but only the forking thread: a lock that another thread held would stay closed for ever. So all
locks of ingot are made here, and opened in the child. Data behind them may be as a thread left it halfway, so code that holds a
lock changes what others read in one step. A fork waits for imports of other threads, since a module that was halfway in would
stay locked, too.

    lock = new_rlock()      # threading.RLock(), new_lock(), new_condition()

A signal handler that uses ingot may come at any call while its thread holds a lock. `new_lock` is for code that calls nothing
while it holds one, and for data that are halfway meanwhile: the handler would wait for its own thread.

A `with` block takes such a lock and gives it back in calls that no profile or trace function hears of. Otherwise an exception
from a signal handler in that function would come just before the lock is given back. `Turn` takes locks without a `with` block.
"""

import importlib
import os
import threading
import time
import weakref
from collections import deque
from functools import partial
from itertools import compress, starmap
from operator import attrgetter, methodcaller
from typing import Any

_LONGEST = 60.0         # seconds that a fork waits for imports: busy threads import slowly
_known: dict[int, weakref.ref] = {}
_release = methodcaller("release")


class Lock:
    """A lock of Python, whose `with` block runs no Python code and causes no event of a call."""

    __slots__ = ("__weakref__", "_acquire_restore", "_at_fork_reinit", "_enter", "_exit", "_is_owned", "_release_save",
                 "acquire", "locked", "release")
    __enter__ = property(attrgetter("_enter"))
    __exit__ = property(attrgetter("_exit"))

    def __init__(self, lock):
        self._enter, self._exit = lock.__enter__, partial(lock.__exit__)        # a builtin would be reported
        for name in self.__slots__:
            if hasattr(lock, name) and name != "__weakref__":
                setattr(self, name, getattr(lock, name))


class Condition(threading.Condition):
    """A condition with the `with` block of its lock."""

    __enter__ = property(attrgetter("_lock._enter"))        # type: ignore[assignment]
    __exit__ = property(attrgetter("_lock._exit"))          # type: ignore[assignment]


def new_lock() -> Any:
    """Return a `threading.Lock` that is open in a forked process."""
    return _entered(Lock(threading.Lock()))


def new_rlock() -> Any:
    """Return a `threading.RLock` that is open in a forked process."""
    return _entered(Lock(threading.RLock()))


def new_condition() -> Any:
    """Return a `threading.Condition` whose lock is open in a forked process, and for which nobody waits there."""
    return _entered(Condition(new_rlock()))


class Turn:
    """Locks that a block of code takes and gives back in its `finally`, each in one call in C: there is no moment at which an
    exception from a signal handler could come between a lock and its note.

        turn = Turn()
        try:
            if turn.takes(lock, False): ...
        finally:
            turn.give_back()
    """

    __slots__ = ("_taken", "give_back")

    def __init__(self):
        self._taken: list = [None]
        self.give_back = partial(deque, map(_release, iter(self._taken.pop, None)), 0)      # once

    def takes(self, lock, *how) -> bool:
        """Take a lock by `lock.acquire(*how)`; return False if it was not free."""
        before = len(self._taken)
        self._taken += compress((lock,), starmap(lock.acquire, (how,)))
        return len(self._taken) > before

    def taken(self) -> list:
        """Return the locks that it holds."""
        return self._taken[1:]


def _entered(lock):
    key = id(lock)
    _known[key] = weakref.ref(lock, partial(_known.pop, key))     # not Python code, where an interrupt would be lost
    return lock


def known() -> list:
    """Return all locks that are in use."""
    return [lock for lock in [known() for known in list(_known.values())] if lock is not None]


def _open_all():
    for lock in known():
        if isinstance(lock, threading.Condition):
            lock._waiters.clear()       # type: ignore[attr-defined]
        else:
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
