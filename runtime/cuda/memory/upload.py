"""Uploads of a run: host arrays side by side in one piece of memory, which travels in one upload."""

from collections import deque
from itertools import accumulate
from typing import Any

import numpy as np

from ...core.device_array import DeviceArray
from . import pools, transfer
from .arrays import empty
from .pinned import PINNED

SLOT = 16             # bytes between them
MOST = 64             # pieces of page-locked memory that are kept to serve again


class Room:
    """How arrays of the host lie side by side in one piece of memory."""

    def __init__(self, arrays):
        self.host = [i for i, a in enumerate(arrays) if a.__class__ is not DeviceArray]
        sizes = [-(-max(1, arrays[i].nbytes) // SLOT) * SLOT for i in self.host]
        self.offsets = [0, *accumulate(sizes)]
        self.bytes = max(SLOT, self.offsets[-1])
        self.kinds = [(arrays[i].shape, arrays[i].dtype, arrays[i].nbytes) for i in self.host]
        self.count = len(arrays)
        self._stages: deque = deque(maxlen=MOST)       # those that were sent, the first one first

    def stage(self) -> "Stage":
        """Page-locked memory for the arrays of one run: some that was sent and has arrived, or new."""
        try:
            found = self._stages.popleft()
        except IndexError:
            return Stage(self)
        if found.has_arrived():
            return found
        self._stages.appendleft(found)
        return Stage(self)

    def sent(self, stage: "Stage"):
        """Take back memory that is on its way."""
        self._stages.append(stage)

    def seen(self, memory: DeviceArray, arrays) -> list:
        """Return the arrays, with those of the host where they lie in device memory."""
        found = list(arrays)
        for i, at in zip(self.host, self.offsets):
            a = arrays[i]
            found[i] = DeviceArray(memory.kind, memory.memory, a.shape, a.dtype, None, at, memory)
        return found


class Stage:
    """Page-locked memory for the host's arrays of one run; `views` are these by their numbers, None for those of the device."""

    def __init__(self, room: Room):
        self.room = room
        self.bytes = PINNED.array((room.bytes,), np.uint8)
        self.piece: Any = PINNED.piece_of(self.bytes)
        self.pointer = self.bytes.ctypes.data
        self.views: list = [None] * room.count
        for i, at, (shape, dtype, size) in zip(room.host, room.offsets, room.kinds):
            self.views[i] = self.bytes[at:at + size].view(dtype).reshape(shape)

    def has_arrived(self) -> bool:
        """Return whether nothing reads it any more."""
        return all([e.query() for e in self.piece.events.values()])  # noqa: C419  (a list is quicker here)

    def fill(self, arrays):
        """Take in the arrays that were not computed here."""
        views = self.views
        for i in self.room.host:
            if arrays[i] is not views[i]:
                np.copyto(views[i], arrays[i])

    def send(self, pointer: int, stream):
        """Copies all of it to an address on the device, in a stream."""
        stream.context.driver.cuMemcpyHtoDAsync_v2(pointer, self.pointer, self.room.bytes, stream.handle)
        self.piece.used_in(stream)


def uploaded(arrays) -> list:
    """Return the arrays, those of the host in device memory."""
    if all([a.__class__ is DeviceArray for a in arrays]):  # noqa: C419  (a list is quicker here)
        return arrays
    room = Room(arrays)
    device = next(a.device for a in arrays if a.__class__ is DeviceArray)
    if pools.is_capturing():
        return [a if a.__class__ is DeviceArray else transfer.frozen(a, device) for a in arrays]
    memory, stage = empty(device, (room.bytes,), np.uint8), Stage(room)
    stage.fill(arrays)
    transfer.upload(memory, stage.bytes, wait=False)
    return room.seen(memory, arrays)
