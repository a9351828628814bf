"""Progress of MPI's requests. Calls are short, and one at a time, so any thread may wait while others communicate."""

import os
import threading
import time
from collections.abc import Callable
from typing import Any

from ....ir.locks import new_lock
from ..stores.distributed_errors import DistBackendError
from .pause import Pause

SPINS = 100            # tests in a row before clocks and other ranks are looked at


class LostRanksError(Exception):
    """A call of MPI that cannot end: a rank has failed, or another rank has revoked the communicator."""


class Progress:
    """The calls of MPI of one process. Ranks that share cores give others their turn after each test."""

    def __init__(self, MPI: Any):
        self.MPI, self.lock, self.shares_cores = MPI, new_lock(), False
        self._losses = (MPI.ERR_PROC_FAILED, MPI.ERR_PROC_FAILED_PENDING, MPI.ERR_REVOKED, MPI.ERR_IN_STATUS)

    def call(self, work: Callable, *args) -> Any:
        """Return the result of a call that does not block."""
        try:
            with self.lock:
                return work(*args)
        except self.MPI.Exception as e:
            raise self._error(e) from e

    def begun(self, start: Callable, *args) -> list:
        """Start one request, or a list of them; return those that are not complete after some tests."""
        try:
            with self.lock:
                started = start(*args)
                left = started if started.__class__ is list else [started]
                self._test(left, SPINS)
                return left
        except self.MPI.Exception as e:
            raise self._error(e) from e

    def is_done(self, left: list, tests: int = 1) -> bool:
        """Return whether requests are complete after some tests, which make progress. Those that are leave the list."""
        try:
            with self.lock:
                return self._test(left, tests)
        except self.MPI.Exception as e:
            raise self._error(e) from e

    def _test(self, left: list, tests: int) -> bool:
        for _ in range(tests):
            while left[-1].Test():
                left.pop()
                if not left:
                    return True
            if self.shares_cores:
                os.sched_yield()
        return False

    def _error(self, error) -> Exception:
        if error.Get_error_class() in self._losses:
            return LostRanksError(f"{error}")
        return DistBackendError(f"MPI failed with {error}")

    def wait(self, left: list, deadline: float, busy: float, hopeless: Callable[[], bool]) -> bool:
        """Wait for requests; return False after the deadline, or once they are `hopeless`."""
        pause = Pause(busy)
        while not self.is_done(left, SPINS if pause.is_short() else 1):
            if time.monotonic() > deadline or hopeless():
                return self.is_done(left)
            pause.take()
        return True


class Background:
    """Thread that makes progress while no other thread of this rank does."""

    def __init__(self, look: Callable[[], bool]):
        self._look, self._ended = look, threading.Event()
        self._thread = threading.Thread(target=self._run, name="ingot-mpi", daemon=True)
        self._thread.start()

    def _run(self):
        while not self._ended.is_set():
            self._ended.wait(_BUSY if self._look() else _IDLE)

    def end(self):
        """Stop the thread."""
        self._ended.set()
        if self._thread is not threading.current_thread():
            self._thread.join()


_BUSY, _IDLE = 0.001, 0.01      # seconds between looks
