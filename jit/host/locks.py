"""Locks from outside that a traced function takes.

A replay takes them before it reads anything, and gives them back at its end. So whatever a replay reads and writes, other
threads meet it as in eager code. Locks that eager code takes one after the other are held together. To cause no deadlock by
that, a replay waits for one lock only while it holds no other one.
"""

from collections import Counter
from typing import Any

from ...ir.locks import Turn

_TAKES = frozenset(("acquire", "acquire_lock", "__enter__"))
_WAITS = ((), (True,), (-1,), (True, -1))        # operands of `acquire` with which it waits until it has the lock


class TakesLocks(Exception):
    """Raised where a call could be replayed with some locks in its hands."""

    def __init__(self, locks: tuple):
        self.locks = locks


class HeldLocks:
    """Locks that a replay holds, from `take` to `turn.give_back`."""

    def __init__(self, locks: tuple):
        self.locks, self.turn = locks, Turn()

    def take(self):
        """Wait for one lock, and take the others if they are free; else wait for the one that was not, and so on."""
        locks = self.locks
        while True:
            busy = next((i for i, lock in enumerate(locks) if not self.turn.takes(lock, *((False,) if i else ()))), None)
            if busy is None:
                return
            locks = locks[busy:] + locks[:busy]
            self.turn.give_back()
            self.turn = Turn()

    def has(self, locks: tuple) -> bool:
        """Return whether it holds some locks, as often as they occur."""
        return not Counter(map(id, locks)) - Counter(map(id, self.turn.taken()))


class LockLog:
    """Locks that a recorded run takes."""

    waiting: Any = None         # log of the recording that may wait for a lock, which the thread of another call may hold

    def __init__(self):
        self._held: dict = {}       # by id: (lock, how often the run holds it)
        self._most: dict = {}       # by id: (lock, how often it was held at once)
        self._around_hosts: list = []       # (host function, {id: how often} of the locks held at its call)
        self._problem = ""

    def called(self, lock, name, args, kwargs, place, has_branched) -> bool:
        """Note a method of a lock that the run is about to call; return False if a replay could not do so. The locks of a call
        must not depend on values of tensors (`has_branched`)."""
        held = self._held.get(id(lock), (lock, 0))[1]
        if name in _TAKES:
            LockLog.waiting = self
            if has_branched:
                self._problem = self._problem or (f"it takes a lock at {place}, behind a branch on the value of a tensor; "
                                                  "take it before")
            self._held[id(lock)] = lock, held + 1
            self._most[id(lock)] = lock, max(held + 1, self._most.get(id(lock), (lock, 0))[1])
        elif held:
            self._held[id(lock)] = lock, held - 1
        else:
            self._problem = self._problem or (f"it gives back a lock at {place} that was taken outside of it; take it in the "
                                              "function, by a `with` block")
        return name not in _TAKES or name == "__enter__" or (args is not None and (*args, *kwargs.values()) in _WAITS)

    def goes_on(self):
        """Note that the run goes on: it waits for no lock."""
        if LockLog.waiting is self:
            LockLog.waiting = None

    def calls_host(self, name):
        """Note a call of a host function."""
        self._around_hosts.append((name, {at: n for at, (_, n) in self._held.items() if n}))

    @property
    def problem(self) -> str:
        """Why a replay cannot take the locks as the run did, in words; empty if it can."""
        if any(n for _, n in self._held.values()):
            return "it leaves a lock taken, or an error left a `with` block of one; take it outside, or give it back"
        most = {at: n for at, (_, n) in self._most.items()}
        outside = next((name for name, held in self._around_hosts if held != most), None)
        if outside is not None and not self._problem:
            return (f"its host function {outside} runs outside of a lock that it takes; call it with the lock taken, or take "
                    "the lock in the host function")
        return self._problem

    def taken(self) -> tuple:
        """Return the locks that each call takes, each as often as it is held at once."""
        return tuple([lock for lock, n in self._most.values() for _ in range(n)])
