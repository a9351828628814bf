"""Uploads of a run: its host arrays, side by side in one buffer, in one copy."""

from collections import deque
from itertools import accumulate
from typing import Any

import numpy as np

from ...core.device_array import DeviceArray
from . import pools, transfer
from .arrays import empty
from .pinned import PINNED

SLOT = 16             # bytes between arrays
MOST = 64             # staging buffers that are cached


class UploadLayout:
    """Layout of host arrays in one buffer."""

    def __init__(self, arrays):
        self.host = [i for i, a in enumerate(arrays) if a.__class__ is not DeviceArray]
        sizes = [-(-max(1, arrays[i].nbytes) // SLOT) * SLOT for i in self.host]
        self.offsets = [0, *accumulate(sizes)]
        self.bytes = max(SLOT, self.offsets[-1])
        self.kinds = [(arrays[i].shape, arrays[i].dtype, arrays[i].nbytes) for i in self.host]
        self.count = len(arrays)
        self._stages: deque = deque(maxlen=MOST)       # those that were sent, the first one first

    def stage(self) -> "StagingBuffer":
        """Return a staging buffer: a cached one whose copy is done, or a new one."""
        try:
            found = self._stages.popleft()
        except IndexError:
            return StagingBuffer(self)
        if found.has_arrived():
            return found
        self._stages.appendleft(found)
        return StagingBuffer(self)

    def sent(self, stage: "StagingBuffer"):
        """Cache a staging buffer whose copy is under way."""
        self._stages.append(stage)

    def on_device(self, memory: DeviceArray, arrays) -> list:
        """Return the arrays, with host arrays replaced by their device copies."""
        found = list(arrays)
        for i, at in zip(self.host, self.offsets):
            a = arrays[i]
            found[i] = DeviceArray(memory.kind, memory.memory, a.shape, a.dtype, None, at, memory)
        return found


class StagingBuffer:
    """Page-locked staging buffer of one run; `views` are its host arrays by number, None for device arrays."""

    def __init__(self, room: UploadLayout):
        self.room = room
        self.bytes = PINNED.array((room.bytes,), np.uint8)
        self.piece: Any = PINNED.piece_of(self.bytes)
        self.pointer = self.bytes.ctypes.data
        self.views: list = [None] * room.count
        for i, at, (shape, dtype, size) in zip(room.host, room.offsets, room.kinds):
            self.views[i] = self.bytes[at:at + size].view(dtype).reshape(shape)

    def has_arrived(self) -> bool:
        return all([e.query() for e in self.piece.events.values()])  # noqa: C419  (a list is quicker here)

    def fill(self, arrays):
        """Copy in the arrays that were not computed in place."""
        views = self.views
        for i in self.room.host:
            if arrays[i] is not views[i]:
                np.copyto(views[i], arrays[i])

    def send(self, pointer: int, stream):
        """Copy the buffer to a device address, in a stream."""
        stream.context.driver.cuMemcpyHtoDAsync_v2(pointer, self.pointer, self.room.bytes, stream.handle)
        self.piece.used_in(stream)


def uploaded(arrays) -> list:
    """Return the arrays with host arrays copied to the device."""
    if all([a.__class__ is DeviceArray for a in arrays]):  # noqa: C419  (a list is quicker here)
        return arrays
    room = UploadLayout(arrays)
    device = next(a.device for a in arrays if a.__class__ is DeviceArray)
    if pools.is_capturing():
        return [a if a.__class__ is DeviceArray else transfer.frozen(a, device) for a in arrays]
    memory, stage = empty(device, (room.bytes,), np.uint8), StagingBuffer(room)
    stage.fill(arrays)
    transfer.upload(memory, stage.bytes, wait=False)
    return room.on_device(memory, arrays)
