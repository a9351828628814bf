"""Measured times of launches: the rows of a `DriverLog` on a real driver, with events between.

    with Times() as times:      # before anything is on a device
        step(x, y)
        times.clear()
        times.mark()
        step(x, y)
        print(list(zip(times.rows, times.owners)), times.seconds())
"""

from ..compiler import launch
from ..driver import driver as library
from ..driver import streams
from .cost_model import DriverLog


class Times(DriverLog):
    """The launches of this machine's driver, as they are noted, with events between. To be entered before anything is on a
    device.

    marks   an event for each launch, at its end, the first of all at their beginning
    owners  for each row, which of the launches are its own
    """

    def __init__(self):
        super().__init__()
        self.marks: list[streams.Event] = []
        self.owners: list[list[int]] = []
        self._own: list[list[int]] = [[]]
        self._idle: list[streams.Event] = []

    def __enter__(self):
        raw = library.get().raw
        self._before = dict(raw)
        for name in ("cuLaunchKernelEx", "cuMemcpyDtoDAsync_v2", "cuMemsetD8Async", "cuMemsetD32Async"):
            raw[name] = self._logging(raw[name], getattr(self, name))
        return super().__enter__()

    def __exit__(self, *exc):
        library.get().raw.update(self._before)
        super().__exit__(*exc)

    @staticmethod
    def _logging(function, log):
        def call(*args):
            code = function(*args)
            log(*args)
            return code

        return call

    def _name_of(self, function):
        if function not in self._names:
            self._names |= {f.handle: f.binary.name for f in launch._functions.values()}
        return self._names[function]

    def _observe(self, step, run):
        self._own.append([])
        super()._observe(step, run)
        self._own.pop()

    def _log(self, name, grid, read, written):
        if self._running is None:
            self.owners.append([len(self.marks)])
        else:
            self._own[-1].append(len(self.marks))
        self.mark()
        return super()._log(name, grid, read, written)

    def _finished(self, running):
        self.owners.append(self._own[-1])
        return super()._finished(running)

    def mark(self):
        event = self._idle.pop() if self._idle else streams.Event(True)
        event.record()
        self.marks.append(event)

    def clear(self):
        super().clear()
        self._idle += self.marks
        self.marks, self.owners = [], []

    def seconds(self) -> list[float]:
        """Return the time of each launch, in the order of rows."""
        self.marks[-1].synchronize()
        each = [0.0, *[1e-3 * a.elapsed_time(b) for a, b in zip(self.marks, self.marks[1:])]]
        return [each[i] for own in self.owners for i in own]
