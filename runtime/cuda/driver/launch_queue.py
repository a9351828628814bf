"""Queue of driver calls behind a kernel that is still being compiled, in their order.

A thread compiles a kernel that is in no cache (`compile.py`) while the program goes on. Its launch, and all later calls that
enter streams, are queued here for another thread, which runs them as soon as possible (`_work`). Waiting for a device, reading
from it and capturing a graph drain the queue (`drain`). So the kernels of a first step compile side by side, in eager programs,
recordings and plans.

Memory may be freed and reused meanwhile, because its new use is queued later. Libraries that share memory or streams do not see
queued calls: for them the queue is disabled, and kernels are compiled at their launch (`disable`).

A kernel that cannot be compiled stays first in the queue, and everybody who waits for a call behind it gets its error. A kernel
that could not be loaded for lack of memory is tried again at the next wait.
"""

import os
import threading
from collections import deque
from collections.abc import Callable
from ctypes import byref, c_void_p
from itertools import starmap
from operator import call
from typing import Any

from ....ir.errors import DeviceError, OutOfMemoryError
from ....ir.locks import new_condition
from .driver_state import on_replaced_driver, thread

waiting: deque = deque()        # (context, driver, function, arguments), in order; nearly always empty
_changed = new_condition()


class _State:
    """State of the queue.

    stopped   whether new calls are not deferred
    worker    the thread that runs calls, if there is one
    done      number of calls that were run
    error     error of the first call
    """

    stopped = False
    worker: Any = None
    done = 0
    error: Any = None


def may_defer() -> bool:
    """Return whether this thread may defer a launch: not while it captures."""
    return not _State.stopped and thread.held is None


def defer(driver, function: Callable, args: tuple) -> bool:
    """Queue a call behind deferred ones, and return whether that was done. A capturing thread drains the queue instead."""
    if not waiting or thread.runs:
        return False
    if thread.held is not None:
        drain()
        return False
    enqueue(driver, function, args)
    return True


def enqueue(driver, function: Callable, args: tuple):
    """Queue a call for the current context."""
    waiting.extend(entries([(driver, function, args)]))
    wake()


def entries(calls) -> list:
    """Return calls (driver, function, arguments) as the queue has them, for the current context."""
    _raise()
    handle = c_void_p()
    if calls:
        calls[0][0].raw["cuCtxGetCurrent"](byref(handle))
    return [(handle.value, *one) for one in calls]


def after(driver, function: Callable, args: tuple, note: Callable = int):
    """Call a release function after all queued calls, without waiting. `note` is called in the same instruction as that."""
    step: tuple = (waiting.append, _entry(driver, function, args)) if waiting else (function, *args)
    deque(starmap(call, ((note,), step)), 0)


def _entry(driver, function, args) -> tuple:
    handle = c_void_p()
    driver.raw["cuCtxGetCurrent"](byref(handle))
    return handle.value, driver, function, args


def drain():
    """Wait until all queued calls have run."""
    if not waiting or thread.runs:
        return
    with _changed:
        last = _State.done + len(waiting)
        _start()
        _changed.wait_for(lambda: _State.done >= last or _State.error is not None)
    _raise()


def is_ahead() -> bool:
    """Return whether calls are queued that come before this thread's next one."""
    return bool(waiting) and not thread.runs


def kick():
    """Start the queue's thread without waiting, because nobody may ever wait. Raise the error of the queue."""
    _raise()
    wake()


def wake():
    """Start the queue's thread if there are calls."""
    with _changed:
        _start()


def disable():
    """Drain the queue and defer nothing from now on: another library sees memory or streams."""
    _State.stopped = True
    drain()


def keep_order(wanted: bool) -> bool:
    """Set whether calls are not deferred; return the setting before."""
    before, _State.stopped = _State.stopped, wanted
    return before


@on_replaced_driver
def _clear():
    """Clear the queue."""
    with _changed:
        waiting.clear()
        _changed.wait_for(lambda: _State.worker is None)
        _State.error, _State.stopped, _State.done = None, False, 0


def _in_child():
    """Clear the queue in a forked process: it has neither thread nor device."""
    waiting.clear()
    _State.worker = None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_child)


def _raise():
    """Raise the error of the first call. After an out-of-memory error it may succeed when tried again."""
    error = _State.error
    if isinstance(error, OutOfMemoryError):
        _State.error = None
        raise OutOfMemoryError(str(error)) from error
    if error is not None:
        raise DeviceError(f"{error}\n(This was found beside the program: what was launched after it has not run. With "
                          "INGOT_CUDA_COMPILERS=0 it is found where it is launched.)") from error


def _start():
    if _State.worker is None and _State.error is None and waiting:
        _State.worker = threading.Thread(target=_work, name="ingot: late launches")
        _State.worker.start()


def _work():
    """Run queued calls until none is left. A call leaves the queue after it ran, so later calls stay behind it."""
    thread.runs = True
    while True:
        with _changed:
            if not waiting:
                _State.worker = None
                _changed.notify_all()
                return
            context, driver, function, args = waiting[0]
        try:
            driver.raw["cuCtxSetCurrent"](context)
            function(*args)
        except BaseException as error:
            with _changed:
                _State.error, _State.worker = error, None
                _changed.notify_all()
            return
        with _changed:
            if waiting:
                waiting.popleft()
            _State.done += 1
            _changed.notify_all()
