"""Queue behind a kernel that is still being compiled: launches, copies, fills and marks, kept in their order.

A kernel that is in no cache is compiled by a thread (`compile.py`) while the program goes on. Its launch, and all that the
driver is asked to put into a stream after it, waits here for another thread, which asks the driver as soon as it can (`_work`).
Whoever waits for a device, reads from it, or captures a graph waits for that (`run_all`). So the kernels of a first step are
compiled side by side, whoever asks for them: an eager program, the recording of a traced one, or its plan.

Memory may be given back and taken again meanwhile: what it is taken for comes later in this order, too. Only who shares memory
or streams with other libraries cannot be served so: these do not see what waits. From then on kernels are compiled where they
are launched (`stop`).

A kernel that cannot be compiled stays first in line. Nothing behind it has run, so everybody who waits for something behind it
gets its error. One that cannot be loaded for want of memory is tried again when somebody waits again.
"""

import os
import threading
from collections import deque
from collections.abc import Callable
from ctypes import byref, c_void_p
from typing import Any

from ....ir.errors import DeviceError, OutOfMemoryError
from .driver_state import thread

waiting: deque = deque()        # (context, driver, function, arguments), in order; empty nearly always
_changed = threading.Condition(threading.RLock())


class _State:
    """Of the line.

    stopped   whether nothing new may wait
    worker    the thread that asks, if one does
    done      how much of what waited was asked
    error     why what is first cannot be
    """

    stopped = False
    worker: Any = None
    done = 0
    error: Any = None


def may() -> bool:
    """Return whether this thread may leave a launch for later: not while it captures."""
    return not _State.stopped and thread.held is None


def instead(driver, function: Callable, args: tuple) -> bool:
    """Return whether a call was left for later, since something waits that comes before it. What waits runs first where this
    thread captures: a capture takes what comes now."""
    if not waiting or thread.runs:
        return False
    if thread.held is not None:
        run_all()
        return False
    put(driver, function, args)
    return True


def put(driver, function: Callable, args: tuple):
    """Leave a call for later, in the context that is current."""
    _raise()
    _append(driver, function, args)
    with _changed:
        _start()


def after(driver, function: Callable, args: tuple):
    """Call a function that gives back what calls before it may use; for finalisers, which wait for nothing."""
    if waiting:
        _append(driver, function, args)
    else:
        function(*args)


def run_all():
    """Wait until all that is here now has run."""
    if not waiting or thread.runs:
        return
    with _changed:
        last = _State.done + len(waiting)
        _start()
        _changed.wait_for(lambda: _State.done >= last or _State.error is not None)
    _raise()


def is_ahead() -> bool:
    """Return whether something waits that comes before what this thread might ask."""
    return bool(waiting) and not thread.runs


def hasten():
    """Has what waits run, without waiting for it: nobody else may ever come who does (`after`). Raises why it cannot."""
    _raise()
    with _changed:
        _start()


def stop():
    """Has all that waits run, and nothing wait from now on: another library sees memory or streams of ours."""
    _State.stopped = True
    run_all()


def keep_order(wanted: bool) -> bool:
    """Return whether nothing waits from now on; gives what held before."""
    before, _State.stopped = _State.stopped, wanted
    return before


def forget():
    """Forget what waits, for a driver that was replaced."""
    with _changed:
        waiting.clear()
        _changed.wait_for(lambda: _State.worker is None)
        _State.error, _State.stopped, _State.done = None, False, 0


def _in_child():
    """In a forked process nothing waits: it has no thread that could ask, and no device."""
    global _changed
    _changed = threading.Condition(threading.RLock())
    waiting.clear()
    _State.worker = None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_child)


def _append(driver, function, args):
    handle = c_void_p()
    driver.raw["cuCtxGetCurrent"](byref(handle))
    waiting.append((handle.value, driver, function, args))


def _raise():
    """Raise why what is first cannot be. Where it was memory, there may be some when it is asked for again."""
    error = _State.error
    if isinstance(error, OutOfMemoryError):
        _State.error = None
        raise OutOfMemoryError(str(error)) from error
    if error is not None:
        raise DeviceError(f"{error}\n(This was found beside the program: what was launched after it has not run. With "
                          "INGOT_CUDA_COMPILERS=0 it is found where it is launched.)") from error


def _start():
    """Has a thread ask the driver for what waits."""
    if _State.worker is None and _State.error is None and waiting:
        _State.worker = threading.Thread(target=_work, name="ingot: late launches")
        _State.worker.start()


def _work():
    """Call what comes first until nothing is left. It leaves the line when it was called: until then others line up behind
    it."""
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
