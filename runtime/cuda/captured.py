"""Captured graphs: a whole run of launches as one.

Inputs that stay where they are (parameters) are read there, others are copied into memory of the graph, and everything that
comes from the host (numbers, keys of random draws) travels in one upload. Results never share memory with the next run: those
that replace inputs are written there, others are copied out, small ones all at once.
"""

import threading
from itertools import accumulate
from typing import Any

import numpy as np

from ..device_array import DeviceArray
from . import graphs, precision, streams, transfer
from .program import empty, used

SMALL = 4096          # bytes up to which results travel together
_APART = 16           # bytes that they are apart


class Captured:
    """One capture of a graph: what it reads and writes, and how its inputs get there."""

    def __init__(self, repeated, arrays, stable, room):
        device = next(a.device for a in arrays if a.__class__ is DeviceArray)
        self.device, self.stream = device, streams.current(device)
        self.targets, self.room, self.precision = repeated.targets, room, precision.of_all()
        self.lock = threading.Lock()
        self.bound = [(i, a.pointer) for i, a in enumerate(arrays) if stable[i]]
        self.moving = [i for i, a in enumerate(arrays) if a.__class__ is DeviceArray and not stable[i]]
        self.memory = empty(device, (room.bytes,), np.uint8)
        self.inputs = room.seen(self.memory, arrays)
        for i in self.moving:
            self.inputs[i] = arrays[i].copy()
        self.graph = graphs.CUDAGraph()
        self.graph.generators.clear()           # (keys are among the inputs)
        self._capture(repeated)

    def _capture(self, repeated):
        """Everything was loaded by the runs before; nothing runs now."""
        graph = repeated.graph
        self.small = [i for i, v in enumerate(graph.graph.outputs) if i not in self.targets and 0 < _bytes(v) <= SMALL]
        values = [graph.graph.outputs[i] for i in self.small]
        self.offsets = [0, *accumulate([-(-_bytes(v) // _APART) * _APART for v in values])]
        self.together: Any = empty(self.device, (max(_APART, self.offsets[-1]),), np.uint8)
        places = {v: self._part(self.together, v.shape, v.dtype.np, at) for v, at in zip(values, self.offsets)}
        with graphs.graph(self.graph, stream=streams.Stream(self.device)):
            self.outputs = repeated.launch(self.inputs, self.inputs, places)
            for i, v in zip(self.small, values):
                if self.outputs[i] is not places[v]:
                    transfer.write(places[v], self.outputs[i])
        self.apart = [i for i in range(len(self.outputs)) if i not in self.targets and i not in self.small]
        self.parts = [(i, v.shape, v.dtype.np, at) for i, v, at in zip(self.small, values, self.offsets)]

    @staticmethod
    def _part(whole, shape, dtype, at):
        return DeviceArray(whole.kind, whole.memory, shape, dtype, None, at)

    def fits(self, arrays) -> bool:
        """Whether the inputs are where the capture reads them."""
        if streams.current(self.device) != self.stream or graphs.is_current_stream_capturing():
            return False
        return all([arrays[i].pointer == p for i, p in self.bound])  # noqa: C419  (a list is quicker here)

    def room_for_results(self) -> list:
        """New memory for what is copied out of the graph's; asked for before a run has written anything, for there may be
        none."""
        found = [empty(self.device, self.outputs[i].shape, self.outputs[i].dtype) for i in self.apart]
        return [*found, empty(self.device, self.together.shape, np.uint8)] if self.parts else found

    def run(self, arrays, room) -> list:
        """Replays on new inputs; results go to `room`, if they must not lie where the next run's will."""
        stream = self.stream.handle
        with self.lock:
            if self.room.host:
                transfer.upload(self.memory, self.room.filled(arrays), wait=False)
            for i in self.moving:
                transfer.write(self.inputs[i], arrays[i])
            for i, _ in self.bound:
                used(arrays[i], stream)
            self.graph.replay()
            results = list(self.outputs)
            for position, number in self.targets.items():
                if number in self.moving:
                    transfer.write(arrays[number], results[position])
                results[position] = arrays[number]
            for i, made in zip(self.apart, room):
                transfer.write(made, results[i])
                results[i] = made
            if self.parts:
                together = room[-1]
                transfer.write(together, self.together)
                for i, shape, dtype, at in self.parts:
                    results[i] = self._part(together, shape, dtype, at)
        return results


def _bytes(value) -> int:
    return value.aval.size * value.dtype.itemsize
