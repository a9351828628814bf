"""Traced graphs as CUDA graphs: a whole run of launches as one.

The first runs launch kernel by kernel. What then neither waits nor computes on the host is captured: inputs that stay where
they are (parameters) are read there, others are copied into memory of the graph, and everything that comes from the host
(numbers, keys of random draws) travels in one upload. Results are copied out, so they never share memory with the next run.
"""

import threading

import numpy as np

from ...ir import config
from ...ir.errors import DeviceError
from ..device_array import DeviceArray
from . import checks, eager, graphs, pools, streams, transfer
from .program import DeviceGraph, empty, used

WARM_RUNS = 2         # runs before a capture
LEAST = 2             # launches from which it is worth it
_SLOT = 16            # bytes between things of the host


class Traced:
    """A traced graph on a device.

    graph     what is computed, after all graph passes
    owned     positions of results that get memory of their own
    targets   {position of a result: number of the input that it replaces}
    """

    is_native = False

    def __init__(self, graph, owned, targets):
        self.graph, self.owned, self.targets = graph, owned, targets
        self.in_place = frozenset(targets)
        self.made: dict = {}               # by which inputs are numbers
        self.runs = 0
        self.places: tuple = ()            # where inputs were in the run before
        self.captured: Captured | None = None
        self.unsteady: set = set()         # numbers of inputs that were seen to move
        self.refused = ""                  # why it is not captured
        self._lock = threading.Lock()

    @property
    def plan(self):
        """The steps."""
        return self.device_graph(frozenset()).plan

    def device_graph(self, numbers) -> DeviceGraph:
        """The graph, where the inputs `numbers` are numbers."""
        if numbers not in self.made:
            self.made[numbers] = DeviceGraph(self.graph, eager.run, self.owned, numbers)
        return self.made[numbers]

    def run(self, arrays) -> list:
        """The results, as arrays, in order; those with targets are written there."""
        captured = self.captured
        if captured is not None and captured.fits(arrays):
            return captured.run(arrays)
        before = eager.Host.calls
        results = self.launch(arrays)
        if not self.refused and config.current().cuda_graphs:
            self._consider(arrays, eager.Host.calls != before)
        return results

    def launch(self, arrays) -> list:
        """Kernel by kernel."""
        numbers = frozenset([i for i, a in enumerate(arrays) if a.__class__ is np.ndarray and a.ndim == 0])
        given = [a.item() if i in numbers else a for i, a in enumerate(arrays)]
        return self.finish(self.device_graph(numbers).run(given), arrays)

    def finish(self, results, arrays) -> list:
        """Writes results into the inputs that they replace."""
        for position, number in self.targets.items():
            transfer.write(arrays[number], results[position])
        return results

    def _consider(self, arrays, on_host):
        """After a run: whether to capture."""
        if on_host:
            self.refused = "some operators run on the host"
        elif len(self.device_graph(frozenset()).steps) < LEAST:
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
                self.captured = Captured(self, arrays, stable)
        except DeviceError as e:
            self.refused = str(e)
        self.places = places


class Captured:
    """One capture of a traced graph: what it reads and writes, and how its inputs get there."""

    def __init__(self, traced: Traced, arrays, stable):
        device = next(a.device for a in arrays if a.__class__ is DeviceArray)
        self.traced, self.device, self.stream = traced, device, streams.current(device)
        self.lock = threading.Lock()
        self.layouts = [(a.__class__, a.shape, a.strides, a.dtype) for a in arrays]
        self.bound = [(i, a.pointer) for i, a in enumerate(arrays) if stable[i]]
        self.host = [i for i, a in enumerate(arrays) if a.__class__ is not DeviceArray]
        self.moving = [i for i, a in enumerate(arrays) if a.__class__ is DeviceArray and not stable[i]]
        self.room = empty(device, (max(1, sum(self._slots(arrays))),), np.uint8)
        self.inputs = self._inputs(arrays)
        self.graph = graphs.CUDAGraph()
        self._capture()

    def _slots(self, arrays):
        return [-(-max(1, arrays[i].nbytes) // _SLOT) * _SLOT for i in self.host]

    def _inputs(self, arrays) -> list:
        """The arrays that the captured kernels read."""
        found, at = list(arrays), 0
        for i, size in zip(self.host, self._slots(arrays)):
            a = arrays[i]
            found[i] = DeviceArray(self.room.kind, self.room.memory, a.shape, a.dtype, None, at, self.room)
            at += size
        for i in self.moving:
            found[i] = arrays[i].copy()
        return found

    def _capture(self):
        """Runs once for real, so that everything is loaded, then again to capture. Neither changes a target."""
        made = self.traced.device_graph(frozenset())
        made.run(self.inputs)
        with graphs.graph(self.graph):
            self.outputs = made.run(self.inputs)
            self.traced.finish(self.outputs, self.inputs)

    def fits(self, arrays) -> bool:
        """Whether the inputs are where the capture reads them."""
        if streams.current(self.device) != self.stream or graphs.is_current_stream_capturing():
            return False
        return all(arrays[i].pointer == p for i, p in self.bound)

    def run(self, arrays) -> list:
        """Replays on new inputs."""
        traced, stream = self.traced, self.stream.handle
        with self.lock:
            self._upload(arrays)
            for i in self.moving:
                transfer.write(self.inputs[i], arrays[i])
            for i, _ in self.bound:
                used(arrays[i], stream)
            self.graph.replay()
            checks.replayed(self.device)
            results = [r if i in traced.targets else r.copy() for i, r in enumerate(self.outputs)]
            for position, number in traced.targets.items():
                if number in self.moving or number in self.host:
                    transfer.write(arrays[number], results[position])
        return results

    def _upload(self, arrays):
        """Everything from the host in one copy, from page-locked memory."""
        if not self.host:
            return
        staged = pools.PINNED.array(self.room.shape, np.uint8)
        at = 0
        for i, size in zip(self.host, self._slots(arrays)):
            raw = np.ascontiguousarray(arrays[i]).reshape(-1).view(np.uint8)
            staged[at:at + raw.size] = raw
            at += size
        transfer.upload(self.room, staged, wait=False)
