"""Driver calls of a step that writes over inputs: held back until all are known, then made in one instruction.

    thread.recorder = calls = HeldCalls()
    ...                                     # code that launches, copies and fills; then the recorder before is restored
    progress.pending = calls.prepare(progress)
    progress.done += calls.made()           # no signal is handled in between
    calls.finish(progress)

So an exception from a signal handler finds the step done or not begun. A call that waits, or that uses the host, first makes
the calls before it: a step waits only before it writes over inputs.
"""

from collections.abc import Callable
from functools import partial
from itertools import islice, starmap, takewhile, tee
from operator import call, not_
from typing import Any, NamedTuple

from . import launch_queue
from .driver_state import thread

_HELD = frozenset(("cuMemcpyDtoDAsync_v2", "cuMemsetD8Async", "cuMemsetD32Async"))      # besides launches


class ReadyCall(NamedTuple):
    """A call without Python code: a function of the driver and its arguments.

    error    function from the driver's code to an exception
    release  called after the call
    """

    call: tuple
    error: Callable
    release: Callable


class HeldCalls:
    """The recorder of a step whose calls are held back. It keeps all memory that the step allocates."""

    holds_back, symbolic = True, False

    def __init__(self):
        self.calls = self._number = 0
        self._held: list = []           # ((driver, function, arguments), function that returns its `ReadyCall`, or None)
        self._kept: list = []
        self._ready: list = []
        self._making: Any = None
        self._codes: Any = None

    def hold(self, driver, function, args, ready=None):
        """Hold the call `function(*args)` back; without `ready` it waits for a kernel that is being compiled."""
        self._held.append(((driver, function, args), ready))

    def meets(self, driver, name, checked, args) -> bool:
        """Return whether a function of the driver is held back; if not, make the calls before it."""
        if name in _HELD:
            self.hold(driver, checked, args, lambda: ReadyCall((driver.raw[name], *args), partial(driver.error, name), int))
            return True
        held, self._held = self._held, []
        try:
            thread.recorder = None
            if launch_queue.waiting or any([ready is None for _, ready in held]):       # noqa: C419  (quicker)
                launch_queue.waiting.extend(launch_queue.entries([one for one, _ in held]))
                launch_queue.wake()
            else:
                for (_, function, given), _ in held:
                    function(*given)
        finally:
            thread.recorder = self
        return False

    def took(self, memory, nbytes):
        """Keep memory that was allocated."""
        self._kept.append(memory)

    def holds(self, memory):
        """Keep permanent memory."""
        self._kept.append(memory)

    def _nothing(self, *args):
        """Do nothing: launches, fills and copies are met as calls."""

    launched = filled = copied = checked = _nothing

    def prepare(self, progress) -> "HeldCalls":
        """Make the calls ready, as the next step of a run. What may fail fails here, with nothing written yet."""
        self._number = len(progress.done)
        if launch_queue.waiting or any([ready is None for _, ready in self._held]):     # noqa: C419  (quicker)
            entries = launch_queue.entries([one for one, _ in self._held])
            self._making = map(launch_queue.waiting.extend, (entries,))
        else:
            self._ready = [ready() for _, ready in self._held]
            codes, self._codes = tee(starmap(call, [one.call for one in self._ready]))
            self._making = map(list, (takewhile(not_, codes),))
        return self

    def made(self):
        """Return an iterator that makes all calls when its one item is taken."""
        return self._making

    def finish(self, progress):
        """Raise the error of a call that failed, after which no other was made: then the step is not done."""
        if len(progress.done) <= self._number:          # an interrupt came before
            return
        ready, self._kept = self._ready, []
        if self._codes is None:
            launch_queue.wake()
            return
        count = len(progress.done[-1])
        if count < len(ready):
            progress.done.pop()
            raise ready[count].error(next(islice(self._codes, count, None)))
        while ready:
            ready.pop().release()
