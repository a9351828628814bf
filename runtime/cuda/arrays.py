"""Arrays in device memory: made, filled with a number, and their addresses for work in a stream."""

import numpy as np

from ...ir import dtype as dt
from ...ir.numeric import as_kind
from ..device_array import DeviceArray
from . import streams
from .pools import Memory

KIND = "cuda"


def used(array: DeviceArray, stream: int) -> int:
    """The address of an array that work in a stream is about to use."""
    array.memory.used_on(stream)
    return array.pointer


def empty(device: int, shape, dtype, stream=None) -> DeviceArray:
    """A new array with whatever is in memory."""
    dtype = np.dtype(dtype)
    size = dtype.itemsize
    for n in shape:
        size *= n
    return DeviceArray(KIND, Memory(device, size, stream), shape, dtype)


def filled(device: int, shape, dtype, value) -> DeviceArray:
    """A new array of one number."""
    made = empty(device, shape, dtype)
    fill(made, value)
    return made


def fill(array: DeviceArray, value):
    """Writes one number everywhere into a contiguous array."""
    if not array.size:
        return
    pattern = as_kind(np.asarray(value), array.dtype).reshape(1)
    raw = pattern.view(np.uint8)
    stream = streams.current(array.device)
    driver = stream.context.driver
    if (raw == raw[0]).all():
        driver.cuMemsetD8Async(array.pointer, int(raw[0]), array.nbytes, stream.handle)
    elif array.nbytes % 4 == 0 and array.pointer % 4 == 0 and raw.size <= 4:
        word = np.tile(raw, 4 // raw.size).view(np.uint32)[0]
        driver.cuMemsetD32Async(array.pointer, int(word), array.nbytes // 4, stream.handle)
    else:
        array.backend.write(array, pattern[0].item())


def as_reals(x: DeviceArray) -> DeviceArray:
    """The parts of contiguous complex numbers, beside each other in one dim."""
    half = dt.PARTS[dt.from_numpy(x.dtype)].np
    return x.look((2 * x.size,), (half.itemsize,), 0, half)


def as_pairs(x: DeviceArray) -> DeviceArray:
    """The parts of contiguous complex numbers, in a last dim of 2."""
    return as_reals(x).reshape(*x.shape, 2)
