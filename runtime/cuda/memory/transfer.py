"""Copies between host and device, and between devices; the host arrays of a run travel side by side, in one copy.

Copies run in the current stream of the device. Reads wait for the elements. Writes wait as well, unless `wait=False`: then
page-locked memory is held until it was read. The driver does not tell when it reads other memory, so moderate sizes are first
copied into page-locked memory. A captured graph copies at every replay, so it only takes page-locked memory of the caller, and
holds it.
"""

from collections import deque
from itertools import accumulate
from typing import Any

import numpy as np

from ....ir.errors import DeviceError
from ....ir.sized_cache import SizedCache
from ....ir.symbols.symbolic import hint
from ...core.device_array import DeviceArray
from ..driver import streams
from ..driver.driver_state import DriverCache, thread
from . import pools, status_words
from .arrays import empty, used
from .pinned import PINNED

_STAGED = 64 << 20        # bytes of ordinary memory that are copied rather than waited for
SLOT = 16                 # bytes between arrays of one upload
MOST = 64                 # staging buffers that are cached


def to_device(a: np.ndarray, device: int, wait: bool = True) -> DeviceArray:
    """Copy a host array to new device memory."""
    if pools.thread.draws is not None and pools.thread.draws.takes(a):
        return pools.thread.draws.array_of(a)
    plain = a if a.flags.c_contiguous else np.ascontiguousarray(a).reshape(a.shape)
    made = empty(device, a.shape, a.dtype)
    if plain.size:
        upload(made, plain, wait)
    return made


def constant(a: np.ndarray, device: int) -> DeviceArray:
    """Copy a host array to permanent device memory, outside of a capture; the captured graph holds it."""
    made = pools.aside(device, lambda: to_device(a, device))
    pools.keep(made.memory)
    return made


CONSTANT_CACHES: list["ConstantCache"] = []


class ConstantCache(DriverCache):
    """Host arrays that are uploaded once, by key: at most `most`, and as many bytes as a `SizedCache` has."""

    def __init__(self, most: int):
        super().__init__(most)
        self.nbytes = 0
        CONSTANT_CACHES.append(self)

    def upload(self, key, device: int, make, owner=None) -> DeviceArray:
        """Return the array `make()` on a device, uploaded at the first request. A captured graph holds it.

        `owner` is held as long as the entry, for keys with its id.
        """
        array, _ = self.get((device, key)) or self.put((device, key), (constant(make(), device), owner))
        pools.keep(array.memory)
        return array

    def put(self, key, value):
        """Keep an array with its owner; the cache starts anew when it is full."""
        if self.nbytes + value[0].nbytes > SizedCache.most:
            self.clear()
        super().put(key, value)
        self.nbytes += value[0].nbytes
        return value

    def clear(self):
        self.nbytes = 0
        super().clear()


def frozen(a: np.ndarray, device: int) -> DeviceArray:
    """Return the host data of a captured graph in device memory: a constant, unless it is a random key."""
    draws = pools.thread.draws
    return draws.array_of(a) if draws.takes(a) else constant(a, device)


def upload(array: DeviceArray, plain: np.ndarray, wait: bool = True):
    """Copy a contiguous host array into a contiguous device array."""
    piece = PINNED.piece_of(plain)
    if pools.is_capturing() and (wait or piece is None):
        raise DeviceError("a graph that is captured copies from the host at every replay: from page-locked memory only "
                          "(pin_memory()), and without waiting (non_blocking=True); or make the tensor before the capture")
    if piece is None and not wait and plain.nbytes <= _STAGED:
        staging = PINNED.array(plain.shape, plain.dtype)
        np.copyto(staging, plain)
        plain, piece = staging, PINNED.piece_of(staging)
    wait, stream = wait or piece is None, streams.current(array.device)     # (last: it makes the device current)
    copy = stream.context.driver.cuMemcpyHtoDAsync_v2
    given = used(array, stream.handle), plain.ctypes.data, plain.nbytes, stream.handle
    if wait:
        streams.report_waiting_copy(array.device)
        stream.finish(plain, copy, *given)
    else:
        piece.begin(stream, copy, *given)


def to_host(x: DeviceArray, wait: bool = True) -> np.ndarray:
    """Copy a device array to host memory; with `wait=False` it is page-locked, and perhaps not there yet."""
    if wait and pools.is_capturing():
        raise DeviceError("values cannot be read while a graph is captured: nothing runs before it is replayed")
    plain = x if x.is_contiguous else x.backend.contiguous(x)
    out = np.empty(x.shape, x.dtype) if wait else PINNED.array(x.shape, x.dtype)
    if not out.size:
        return out
    stream = streams.current(x.device)
    copy = stream.context.driver.cuMemcpyDtoHAsync_v2
    given = out.ctypes.data, used(plain, stream.handle), out.nbytes, stream.handle
    if wait:
        streams.report_waiting_copy(x.device)
        stream.finish(out, copy, *given)
        status_words.verify(x.device, stream.handle)
    else:
        PINNED.piece_of(out).begin(stream, copy, *given)
    return out


def copy_of(x: DeviceArray, device: int | None = None) -> DeviceArray:
    """Copy a contiguous array to new memory, perhaps of another device."""
    device = x.device if device is None else device
    made = empty(device, x.shape, x.dtype)
    if x.size:
        copy(made, x)
    return made


def copy(dst: DeviceArray, src: DeviceArray):
    """Copy between contiguous arrays of one size in bytes. Between devices, each stream waits for the other."""
    stream = streams.current(src.device)
    here = used(src, stream.handle)
    if dst.device == src.device:
        ask, there = stream.context.driver.cuMemcpyDtoDAsync_v2, used(dst, stream.handle)
        ask(hint(there), hint(here), hint(src.nbytes), stream.handle)
        if thread.recorder is not None:
            thread.recorder.copied(ask, there, here, src.nbytes)
        return
    other = streams.current(dst.device)
    other.wait_stream(stream)
    other.context.driver.cuMemcpyPeerAsync(used(dst, other.handle), other.context.handle, here, stream.context.handle,
                                           src.nbytes, other.handle)
    stream.wait_stream(other)


def relocated(x: DeviceArray, device: int) -> DeviceArray:
    """Return an array on another device."""
    return x if x.device == device else copy_of(x.backend.contiguous(x), device)


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
        copy = stream.context.driver.cuMemcpyHtoDAsync_v2
        self.piece.begin(stream, copy, pointer, self.pointer, self.room.bytes, stream.handle)


def uploaded(arrays) -> list:
    """Return the arrays with host arrays copied to the device."""
    if all([a.__class__ is DeviceArray for a in arrays]):  # noqa: C419  (a list is quicker here)
        return arrays
    room = UploadLayout(arrays)
    device = next(a.device for a in arrays if a.__class__ is DeviceArray)
    if pools.is_capturing():
        return [a if a.__class__ is DeviceArray else frozen(a, device) for a in arrays]
    memory, stage = empty(device, (room.bytes,), np.uint8), StagingBuffer(room)
    stage.fill(arrays)
    upload(memory, stage.bytes, wait=False)
    return room.on_device(memory, arrays)
