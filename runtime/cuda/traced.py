"""Traced graphs on a device: what depends on the host alone is computed there by one native call, the rest on the device, first
launch by launch, then as a CUDA graph.
"""

import threading
from itertools import accumulate
from typing import Any

import numpy as np

from ...ir import config
from ...ir.errors import DeviceError
from ..cpu.eager import kernel_for
from ..cpu.program import CompiledGraph
from ..device_array import DeviceArray
from . import eager, graphs, pools, precision, transfer
from .arranged import Arrangement, arrange
from .captured import Captured
from .program import DeviceGraph, empty

WARM_RUNS = 2         # runs before a capture
LEAST = 2             # launches from which it is worth it
SLOT = 16             # bytes between things of the host


class Traced:
    """A traced graph on a device.

    graph     what is computed, after all graph passes
    owned     positions of results that get memory of their own
    targets   {position of a result: number of the input that it replaces}
    arranged  gives its arrangement by the numbers of the inputs that lie on the host, if that was made before
    """

    is_native = False

    def __init__(self, graph, owned=frozenset(), targets=None, arranged=None):
        self.graph, self.owned, self.targets = graph, owned, targets or {}
        self._arranged = arranged or (lambda host: arrange(self.graph, self.owned, self.targets, host))
        self.in_place = frozenset(self.targets)
        self.made: dict = {}               # by the classes of the inputs
        self.last: tuple = (None, None)    # (classes of the inputs, parts) of the last run

    @property
    def plan(self):
        """The steps on the device."""
        return self.parts(()).device.graph.plan

    @property
    def captured(self):
        """The CUDA graph that the last run used or could have used, if there is one."""
        return self.last[1] and self.last[1].device.captured

    @property
    def refused(self) -> str:
        """Why it does not run as a CUDA graph, as far as is known."""
        return self.last[1].device.refused if self.last[1] else ""

    def parts(self, classes) -> "Parts":
        """The graph in two, where the inputs of the class of host arrays lie on the host."""
        found = self.made.get(classes)
        if found is None:
            host = frozenset([i for i, c in enumerate(classes) if c is not DeviceArray])
            found = self.made[classes] = Parts(self._arranged(host), self.targets, len(self.graph.outputs))
        return found

    def run(self, arrays) -> list:
        """The results, as arrays, in order; those with targets are written there."""
        classes, last = tuple([a.__class__ for a in arrays]), self.last
        if classes != last[0]:
            last = self.last = classes, self.parts(classes)
        return last[1].run(arrays)


class Sized:
    """A traced graph of symbolic sizes, for a device. Arguments are those of `Traced`."""

    def __init__(self, graph, owned=frozenset(), targets=None):
        self.graph, self.owned, self.targets = graph, owned, targets or {}
        self.arrangements: dict = {}       # by the numbers of the inputs that lie on the host
        self._lock = threading.Lock()

    def bind(self, values: dict) -> Traced:
        """The graph with `values` for its names."""
        return Traced(self.graph, self.owned, self.targets, lambda host: self._arranged(host).bind(values))

    def _arranged(self, host) -> Arrangement:
        with self._lock:
            if host not in self.arrangements:
                self.arrangements[host] = arrange(self.graph, self.owned, self.targets, host)
            return self.arrangements[host]


class Parts:
    """What runs on the host and what on the device; `count` is how many results the whole graph has."""

    def __init__(self, arrangement: Arrangement, targets, count):
        cut = self.cut = arrangement.cut
        self.inputs, self.count = arrangement.inputs, count
        self.host: Any = None
        if cut is not None:
            self.host = CompiledGraph(arrangement.host, kernel_for)
            self.written = [(cut.given + i, targets[p]) for i, p in enumerate(cut.results)
                            if p in targets and cut.given + i not in self.host.in_place]
            self.counted = [targets[p] for i, p in enumerate(cut.results)
                            if p in targets and cut.given + i in self.host.in_place]
        self.device = Repeated(arrangement.device, arrangement.over, arrangement.unchanged)
        self.back = [(p, targets[p]) for i, p in enumerate(arrangement.places)
                     if p in targets and i not in self.device.targets]

    def run(self, arrays) -> list:
        """The results of the whole graph."""
        if self.cut is None:
            return self.finished(self.device.run(arrays, self.device.room_for_results()), arrays)
        cut, host, room = self.cut, self.host, self.device.room_for_results()
        before = [arrays[n].copy() for n in self.counted] if room is None else []
        there = host.run([arrays[i] for i in cut.sources])
        try:
            made = self.device.run([arrays[i] for i in self.inputs] + there[:cut.given], room)
        except DeviceError:
            for n, a in zip(self.counted, before):
                np.copyto(arrays[n], a)         # (steps that were not made are not counted)
            raise
        for i, number in self.written:
            np.copyto(arrays[number], there[i])      # (a device array asks its backend)
        results = [None] * self.count
        for p, r in zip(cut.places, made):
            results[p] = r
        for p, r in zip(cut.results, there[cut.given:]):
            results[p] = r
        return self.finished(results, arrays)

    def finished(self, results, arrays):
        """Writes results that replace an input which the device's part does not know."""
        for p, number in self.back:
            transfer.write(arrays[number], results[p])
        return results


class Repeated:
    """A graph on the device, run again and again. What it takes from the host travels in one upload."""

    def __init__(self, steps, targets, unchanged):
        self.targets = targets
        self.graph = DeviceGraph(steps, eager.run_into, unchanged=unchanged)
        self.runs = 0
        self.places: tuple = ()            # where inputs were in the run before
        self.captured: Captured | None = None
        self.unsteady: set = set()         # numbers of inputs that were seen to move
        self.refused = ""                  # why it is not captured
        self._lock = threading.Lock()

    def room_for_results(self) -> list | None:
        """Memory for the results of the captured graph, if there is one that may be run."""
        captured = self.captured
        if captured is not None and captured.precision != precision.of_all():
            captured = self.captured = None         # it multiplies as the switches said then
        return None if captured is None else captured.room_for_results()

    def run(self, arrays, room) -> list:
        """The results, as arrays, in order; those with targets are written there."""
        captured = self.captured
        if room is not None and captured is not None and captured.fits(arrays):
            return captured.run(arrays, room)
        before = eager.Host.calls
        results = self.launch(uploaded(arrays), arrays)
        if not self.refused and config.current().cuda_graphs:
            self._consider(arrays, eager.Host.calls != before)
        return results

    def launch(self, given, arrays, places=None) -> list:
        """Kernel by kernel. What a run does not write into the inputs itself is copied there."""
        results = self.graph.run(given, places)
        for position, number in self.targets.items():
            if position not in self.graph.in_place or results[position] is not arrays[number]:
                transfer.write(arrays[number], results[position])
        return results

    def _consider(self, arrays, on_host):
        """After a run: whether to capture."""
        if on_host:
            self.refused = "some operators run on the host"
        elif len(self.graph.plan.steps) < LEAST:
            self.refused = "one launch is as quick"
        places = tuple([a.pointer if a.__class__ is DeviceArray else None for a in arrays])
        self.runs = self.runs + 1 if not graphs.is_current_stream_capturing() else 0
        if self.refused or self.runs < WARM_RUNS or not self.places:
            self.places = places
            return
        moved = {i for i, (a, b) in enumerate(zip(places, self.places)) if a is None or a != b}
        if self.captured is not None:
            moved |= {i for i, p in self.captured.bound if places[i] != p}
            if moved <= self.unsteady:
                return
        self.unsteady |= moved
        stable = [i not in self.unsteady for i in range(len(places))]
        try:
            with self._lock:
                self.captured = Captured(self, arrays, stable, Room(arrays))
        except DeviceError as e:
            self.refused = str(e)
        self.places = places


class Room:
    """How arrays of the host lie side by side in one piece of memory."""

    def __init__(self, arrays):
        self.host = [i for i, a in enumerate(arrays) if a.__class__ is not DeviceArray]
        sizes = [-(-max(1, arrays[i].nbytes) // SLOT) * SLOT for i in self.host]
        self.offsets = [0, *accumulate(sizes)]
        self.bytes = max(SLOT, self.offsets[-1])

    def filled(self, arrays) -> np.ndarray:
        """The arrays' bytes, page-locked."""
        staged = pools.PINNED.array((self.bytes,), np.uint8)
        raw = memoryview(staged)
        for i, at in zip(self.host, self.offsets):
            said = arrays[i].tobytes()
            raw[at:at + len(said)] = said
        return staged

    def seen(self, memory: DeviceArray, arrays) -> list:
        """The arrays, with those of the host where they lie in device memory."""
        found = list(arrays)
        for i, at in zip(self.host, self.offsets):
            a = arrays[i]
            found[i] = DeviceArray(memory.kind, memory.memory, a.shape, a.dtype, None, at, memory)
        return found


def uploaded(arrays) -> list:
    """The arrays, those of the host in device memory."""
    room = Room(arrays)
    if not room.host:
        return arrays
    device = next(a.device for a in arrays if a.__class__ is DeviceArray)
    if pools.is_capturing():
        return [a if a.__class__ is DeviceArray else transfer.frozen(a, device) for a in arrays]
    memory = empty(device, (room.bytes,), np.uint8)
    transfer.upload(memory, room.filled(arrays), wait=False)
    return room.seen(memory, arrays)
