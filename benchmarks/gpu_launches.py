"""What kernels of a step were launched with, on a driver that does nothing, and how long they take, on one that works. A module
of its own: what `python -m` runs counts as a user's, and calls of a user's driver amid a step keep it from being traced.
"""

import ctypes

import ingot
from ingot.runtime.cuda import compile as compiler
from ingot.runtime.cuda import driver as library
from ingot.runtime.cuda import kernels, launch, ledger, program, streams


class Unwatched(ledger.Ledger):
    """The ledger's driver, which does nothing, without the ledger, whose looking on takes time."""

    def __enter__(self):
        entered = super().__enter__()
        self._watching = program.OBSERVERS.pop(), kernels.LISTENERS.pop()
        return entered

    def __exit__(self, *exc):
        for found, one in zip((program.OBSERVERS, kernels.LISTENERS), self._watching):
            found.append(one)
        super().__exit__(*exc)


class Launches(ledger.Ledger):
    """A ledger whose kernels are called by numbers, of what was launched with which numbers: `kept[name]` is (variant, grid,
    block of parameters)."""

    def __init__(self, arch):
        super().__init__(arch)
        self.kept: dict = {}
        self._known: dict = {}

    def cuLaunchKernelEx(self, config, function, parameters, extra):
        """A launch."""
        code = self.modules[function]
        variant, binary = next((v, b) for v, b in compiler.made().items() if b.code == code)
        block = ctypes.string_at(ctypes.c_void_p.from_address(parameters).value, binary.offsets[-1] + 8)
        grid, pointers = launch.grid_of(config), [k[0] == "*" for k in variant.signature().values() if k != "constexpr"]
        numbers = tuple([block[o:o + 8] for o, is_pointer in zip(binary.offsets, pointers) if not is_pointer])
        name = self._known.setdefault((code, grid, numbers), f"{binary.name} {len(self._known)}")
        self.kept.setdefault(name, (variant, grid, block))
        return self._noted(name, grid, 0, 0)


class Times(ledger.Notes):
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
        self._names: dict = {}

    def __enter__(self):
        raw = library.get().raw
        self._before = dict(raw)
        for name in ("cuLaunchKernelEx", "cuMemcpyDtoDAsync_v2", "cuMemsetD8Async", "cuMemsetD32Async"):
            raw[name] = self._noting(raw[name], getattr(self, f"_{name}"))
        return super().__enter__()

    def __exit__(self, *exc):
        library.get().raw.update(self._before)
        super().__exit__(*exc)

    @staticmethod
    def _noting(function, note):
        def call(*args):
            code = function(*args)
            note(*args)
            return code

        return call

    def _cuMemcpyDtoDAsync_v2(self, to, source, size, stream):
        self._moved("copy", size, size)

    def _cuMemsetD8Async(self, to, value, count, stream):
        self._moved("fill", 0, count)

    def _cuMemsetD32Async(self, to, value, count, stream):
        self._moved("fill", 0, 4 * count)

    def _cuLaunchKernelEx(self, config, function, parameters, extra):
        if function not in self._names:
            self._names |= {f.handle: f.binary.name for f in launch._functions.values()}
        self._noted(self._names[function], launch.grid_of(config), 0, 0)

    def _observe(self, step, run):
        self._own.append([])
        super()._observe(step, run)
        self._own.pop()

    def _noted(self, name, grid, read, written):
        if self._running is None:
            self.owners.append([len(self.marks)])
        else:
            self._own[-1].append(len(self.marks))
        self.mark()
        return super()._noted(name, grid, read, written)

    def _finished(self, running):
        self.owners.append(self._own[-1])
        return super()._finished(running)

    def mark(self):
        """An event, here."""
        event = self._idle.pop() if self._idle else streams.Event(True)
        event.record()
        self.marks.append(event)

    def clear(self):
        """Forgets what was noted."""
        super().clear()
        self._idle += self.marks
        self.marks, self.owners = [], []

    def seconds(self) -> list[float]:
        """What each launch took, in the order of rows."""
        ingot.cuda.synchronize()
        each = [0.0, *[1e-3 * a.elapsed_time(b) for a, b in zip(self.marks, self.marks[1:])]]
        return [each[i] for own in self.owners for i in own]
