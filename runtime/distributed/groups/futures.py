"""`ingot.futures`: results that arrive later, perhaps from another thread."""

import concurrent.futures as base
from collections.abc import Callable
from typing import Any, Generic, TypeVar

from ....ir.errors import ArgumentError
from ....ir.locks import new_lock

__all__ = ["Future", "collect_all", "wait_all"]
T = TypeVar("T")


class Future(Generic[T]):
    """Result to come: set once, awaited by any number of threads or callbacks. `devices` are ignored: a value is set when it is
    there."""

    def __init__(self, *, devices=None):
        self._promise: base.Future = base.Future()

    def done(self) -> bool:
        """Return whether there is a result or an exception."""
        return self._promise.done()

    def wait(self) -> Any:
        """Return the result once it exists; raise the exception if there is one."""
        return self._promise.result()

    def result(self, timeout: float | None = None) -> Any:
        """Return the result within so many seconds, as futures of Python do."""
        return self._promise.result(timeout)

    def exception(self, timeout: float | None = None) -> BaseException | None:
        """Return the exception, or None if there is a result, within so many seconds."""
        return self._promise.exception(timeout)

    def value(self) -> Any:
        """Return the result of a future that is done."""
        if not self.done():
            raise RuntimeError("the future has no value yet; wait() waits for it")
        return self.wait()

    def set_result(self, result) -> None:
        """Set the result."""
        self._settle(self._promise.set_result, result)

    def set_exception(self, result: BaseException) -> None:
        """Set an exception, which wait() and value() raise."""
        if not isinstance(result, BaseException):
            raise ArgumentError(f"set_exception takes an exception, got {result!r}")
        self._settle(self._promise.set_exception, result)

    def _settle(self, by, what):
        try:
            by(what)
        except base.InvalidStateError:
            raise RuntimeError("the future has a result already") from None

    def then(self, callback: Callable) -> "Future":
        """Return the future of `callback(self)`, which runs once this one is done."""
        after: Future = Future()

        def follow(done):
            try:
                after.set_result(callback(done))
            except Exception as e:
                after.set_exception(e)

        self.add_done_callback(follow)
        return after

    def add_done_callback(self, callback: Callable) -> None:
        """Call `callback(self)` once this one is done; at once if it is."""
        self._promise.add_done_callback(lambda promise: callback(self))


def collect_all(futures) -> Future:
    """Return the future of a list of futures, done when all of them are."""
    futures = list(futures)
    found: Future = Future()
    left = [len(futures)]
    lock = new_lock()

    def one(done):
        with lock:
            left[0] -= 1
            last = left[0] == 0
        if last:
            found.set_result(futures)

    for future in futures:
        future.add_done_callback(one)
    if not futures:
        found.set_result([])
    return found


def wait_all(futures) -> list:
    """Return the results of all; raise the first exception among them."""
    return [future.wait() for future in collect_all(futures).wait()]
