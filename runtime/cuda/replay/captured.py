"""Captured graphs: a whole run of launches as one.

Inputs with fixed addresses (parameters) are read in place, others are copied into memory of the graph. All host data (numbers,
keys of random draws) travels in one upload. Results never share memory with the next run. Those that replace inputs are written
there; others are copied out, small ones all at once, and so are gradients. No graph is made if its copies take longer than
launches (`copied`).

Most calls bring the arrays of the call before, and an array never moves. So arrays are recognised by their ids while they live.
"""

from collections import deque
from itertools import accumulate

import numpy as np

from ....ir.locks import new_lock
from ...core.device_array import DeviceArray
from ...core.journal import Progress, resume
from ..compiler import copies, precision
from ..driver import streams
from ..driver.driver_state import thread
from ..driver.endings import Ending
from ..memory.arrays import empty, used
from ..memory.pools import Memory
from ..memory.transfer import StagingBuffer, UploadLayout
from . import graphs


class ResidentInputs:
    """Inputs of a graph, by number, at fixed addresses that work in a stream reads."""

    def __init__(self, arrays, numbers, stream: int):
        self.numbers, self.stream = tuple(numbers), stream
        self.pointers = [arrays[i].pointer for i in self.numbers]
        self._known = [0] * len(self.numbers)       # their ids; 0 where the array is gone
        self._watched: list = [None] * len(self.numbers)
        self._gone: deque = deque()                 # endings of known arrays: their positions
        self._foreign_uses: dict = {}                       # positions of inputs whose use must be recorded in their memory
        self._lock = new_lock()

    def are_there(self, arrays) -> bool:
        """Return whether the inputs among these arrays have the captured addresses."""
        inputs = [arrays[i] for i in self.numbers]
        if self._gone:
            self._forget_gone()
        return [*map(id, inputs)] == self._known or self._take_in(inputs)

    def _take_in(self, inputs) -> bool:
        with self._lock:
            known = self._known
            for k, a in enumerate(inputs):
                if id(a) == known[k]:
                    continue
                if a.pointer != self.pointers[k]:
                    return False
                self._watched[k] = Ending(a, self._gone.append, k)          # that of the array before is gone
                known[k] = id(a)
                if a.memory.stream == self.stream:
                    self._foreign_uses.pop(k, None)
                else:
                    self._foreign_uses[k] = None
        return True

    def _forget_gone(self):
        with self._lock:
            while self._gone:
                ending = self._gone.popleft()
                if self._watched[ending.left] is ending:
                    self._known[ending.left] = 0

    def moved_since(self, pointers) -> set:
        return {i for i, p in zip(self.numbers, self.pointers) if pointers[i] != p}

    def record_uses(self, arrays):
        """Record the stream's use of inputs whose memory does not know it."""
        for k in self._foreign_uses:
            used(arrays[self.numbers[k]], self.stream)


SMALL = 4096          # bytes of results that are copied out together (holding one of them holds the memory of all)
SMALL_GRADIENT = 1 << 20      # bytes of gradients, which are copied out apart from other results
_APART = 16           # alignment in bytes
WORTH = 8 << 20       # bytes that large chips copy while a host launches a kernel


class Captured:
    """One capture of a graph: its inputs, its outputs, and the copies between them and the caller."""

    def __init__(self, repeated, arrays, stable):
        device = next(a.device for a in arrays if a.__class__ is DeviceArray)
        self.device, self.stream = device, streams.current(device)
        self.room, self.precision = UploadLayout(arrays), precision.of_all()
        self.lock = new_lock()
        self._under_way: CapturedProgress | None = None         # the run that was begun last, if it is not known to be done
        self.resident = ResidentInputs(arrays, [i for i, is_stable in enumerate(stable) if is_stable], self.stream.handle)
        moving = [i for i, a in enumerate(arrays) if a.__class__ is DeviceArray and not stable[i]]
        self.memory = empty(device, (self.room.bytes,), np.uint8)
        inputs = self.room.on_device(self.memory, arrays)
        for i in moving:
            inputs[i] = arrays[i].copy()
        self.moving = [(i, inputs[i], inputs[i].nbytes) for i in moving]
        self.replaced = tuple(repeated.targets.items())
        self.back = [(p, number) for p, number in self.replaced if number in moving]
        self.graph = graphs.CUDAGraph()
        self.graph.generators.clear()           # (keys are among the inputs)
        self._capture(repeated, inputs)

    def _capture(self, repeated, inputs):
        """Capture a run. Earlier runs have loaded everything, and nothing runs now."""
        values = repeated.graph.graph.outputs
        small, gradients, self.apart = _parted(repeated, values)
        self.blocks = [CopiedOut(self.device, numbers, values) for numbers in (small, gradients) if numbers]
        destinations: dict = {}
        for block in self.blocks:
            destinations |= block.destinations(values)
        copied_parts = {i: part for block in self.blocks for i, part, _ in block.parts}

        def run():
            self.outputs = repeated.launch(inputs, inputs, destinations)
            for i, part in copied_parts.items():
                if self.outputs[i] is not part:
                    copies.write(part, self.outputs[i])

        graphs.capture(self.graph, run, streams.Stream(self.device))

    def fits(self, arrays) -> bool:
        """Return whether it may run now: in its stream, which becomes current, with inputs at the captured addresses."""
        return (streams.current(self.device) == self.stream and not self.stream.is_capturing()
                and self.resident.are_there(arrays))

    def stage(self) -> StagingBuffer | None:
        return self.room.stage() if self.room.host else None

    def room_for_results(self) -> list:
        """Return new memory for results; allocated before a run writes anything, because it may fail."""
        outputs, stream = self.outputs, self.stream.handle
        return [*[empty(self.device, outputs[i].shape, outputs[i].dtype, stream) for i in self.apart],
                *[Memory(self.device, block.bytes, stream) for block in self.blocks]]

    def run(self, arrays, room, stage, journal: dict | None = None) -> list:
        """Replay on new inputs; results that must not be overwritten by the next run go to `room`.

        With a journal, a run that an interrupt stopped goes on from there. The next run finishes it, if that comes earlier.
        """
        with self.lock:
            if journal is None:
                self._bring_all(arrays, stage)
                self.graph.replay_in(self.stream)
                return self._handed_out(arrays, room)
            progress = journal.get(self)
            if progress is None:
                progress = journal[self] = CapturedProgress(self, arrays, room, stage)
            earlier = self._under_way
            if earlier is not None and earlier is not progress and earlier.writes:
                resume(earlier)
            self._under_way = progress
            resume(progress)
            self._under_way = None
            return progress.env

    def _bring_all(self, arrays, stage):
        """Copy inputs into the graph's memory."""
        if stage is not None:
            stage.fill(arrays)
            stage.send(self.memory.pointer, self.stream)
            self.room.sent(stage)
        for i, place, size in self.moving:
            self._bring(arrays[i], place, size)
        self.resident.record_uses(arrays)

    def _handed_out(self, arrays, room) -> list:
        """Return the results, copied out of the graph's memory."""
        results = list(self.outputs)
        for position, number in self.back:
            copies.write(arrays[number], results[position])
        for position, number in self.replaced:
            results[position] = arrays[number]
        for i, made in zip(self.apart, room):
            copies.write(made, results[i])
            results[i] = made
        for block, memory in zip(self.blocks, room[len(self.apart):]):
            block.copy_out(memory, self.stream, results)
        return results

    def _bring(self, array, place, size):
        memory, stream = array.memory, self.stream
        if not array.is_contiguous or memory.stream != stream.handle or thread.recorder is not None:
            copies.write(place, array)
        elif size:
            stream.context.driver.cuMemcpyDtoDAsync_v2(place.pointer, memory.pointer + array.offset, size, stream.handle)


class CapturedProgress(Progress):
    """A run of a capture under way; `env` are its results."""

    __slots__ = ("captured", "given")
    unnoted = 0

    def __init__(self, captured: Captured, *given):
        super().__init__((), (_LAUNCH, _HAND_OUT))
        self.captured, self.given = captured, given


class _Launch:
    """Step that copies inputs in and launches the graph, which is noted in the same instruction."""

    writes_inputs = True

    def run_once(self, env, progress):
        captured, (arrays, _, stage) = progress.captured, progress.given
        captured._bring_all(arrays, stage)
        progress.done += captured.graph.launch_in(captured.stream)
        self.settle(env, progress)

    def settle(self, env, progress):
        captured, code = progress.captured, progress.done[0]
        if code:
            progress.done.clear()
        captured.graph.launched_in(captured.stream, code)


class _HandOut:
    """Step that copies results out."""

    writes_inputs = True

    def run_once(self, env, progress):
        arrays, room, _ = progress.given
        progress.env = progress.captured._handed_out(arrays, room)
        progress.done.append(None)

    def settle(self, env, progress):
        """Do nothing."""


_LAUNCH, _HAND_OUT = _Launch(), _HandOut()


class CopiedOut:
    """Results of a graph, by number, that are adjacent in memory and are copied out at once."""

    def __init__(self, device, numbers, values):
        offsets = [0, *accumulate([-(-_bytes(values[i]) // _APART) * _APART for i in numbers])]
        self.bytes = offsets[-1]
        self.memory = empty(device, (self.bytes,), np.uint8)
        self.parts = [(i, DeviceArray(self.memory.kind, self.memory.memory, values[i].shape, values[i].dtype.np, None, at), at)
                      for i, at in zip(numbers, offsets)]

    def destinations(self, values) -> dict:
        return {values[i]: part for i, part, _ in self.parts}

    def copy_out(self, memory, stream, results):
        """Copy the results into other memory, and replace them in a list of results."""
        stream.context.driver.cuMemcpyDtoDAsync_v2(memory.pointer, self.memory.pointer, self.bytes, stream.handle)
        for i, part, at in self.parts:
            results[i] = part.elsewhere(memory, at)


def copied(repeated, arrays, stable) -> int:
    """Return the bytes that each run of a capture would copy: moving inputs, and results that are not small."""
    values = repeated.graph.graph.outputs
    moving = sum(a.nbytes for a, stays in zip(arrays, stable) if a.__class__ is DeviceArray and not stays)
    return moving + sum(_bytes(values[i]) for i in _parted(repeated, values)[2])


def _parted(repeated, values) -> tuple:
    """Return the numbers of small results, of small gradients, and of those copied out alone."""
    left = [i for i in range(len(values)) if i not in repeated.targets]
    most = [SMALL_GRADIENT if i in repeated.brief else SMALL for i in range(len(values))]
    fit = [i for i in left if 0 < _bytes(values[i]) <= most[i]]
    small, gradients = ([i for i in fit if (i in repeated.brief) is is_brief] for is_brief in (False, True))
    copied_parts = frozenset(fit)
    return small, gradients, [i for i in left if i not in copied_parts]


def _bytes(value) -> int:
    return value.aval.size * value.dtype.itemsize
