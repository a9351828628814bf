"""Steps of a graph on a device. An interrupt finds each step done or not begun (`core/journal.py`, `driver/held_calls.py`)."""

from functools import partial

from ...core.journal import Progress
from ..compiler import kernels
from ..driver.driver_state import thread
from ..driver.held_calls import HeldCalls


class DeviceProgress(Progress):
    """A run on a device under way, whose steps are noted in the instruction that writes."""

    __slots__ = ("device",)
    unnoted = 0

    def __init__(self, env, steps, device):
        super().__init__(env, steps)
        self.device = device


class Step:
    """A step of a device graph. `compute` puts its results into the environment, and may be repeated until it has written over
    an input; `dead` are the values that no later step reads."""

    dead: tuple
    writes_inputs = False

    def run(self, env, device, destinations=None):
        self.compute(env, device, destinations)
        for v in self.dead:
            env.pop(v, None)

    def compute(self, env, device, destinations=None):
        raise NotImplementedError

    def run_once(self, env, progress):
        """Run, as a step of a journaled run: launches that write over inputs are noted in the same instruction."""
        if not self.writes_inputs:
            self.compute(env, progress.device)
            progress.done.append(None)
        else:
            calls, recorder = HeldCalls(), thread.recorder
            try:
                thread.recorder = calls
                self.compute(env, progress.device)
            finally:
                thread.recorder = recorder
            progress.pending = calls.prepare(progress)
            progress.done += calls.made()
        self.settle(env, progress)

    def settle(self, env, progress):
        """Check what was launched, and drop what no later step reads; the same again after an interrupt."""
        if progress.pending is not None:
            progress.pending.finish(progress)
            progress.pending = None
        for v in self.dead:
            env.pop(v, None)


class Observed:
    """A step that is run by the observer of `kernels.OBSERVERS`."""

    def __init__(self, step: Step):
        self._step, self.writes_inputs, self.settle = step, step.writes_inputs, step.settle

    def run(self, *where):
        kernels.OBSERVERS[-1](self._step, partial(self._step.run, *where))

    def run_once(self, env, progress):
        kernels.OBSERVERS[-1](self._step, partial(self._step.run_once, env, progress))
