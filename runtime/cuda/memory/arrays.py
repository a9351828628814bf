"""Arrays in device memory: allocation, fills, and addresses for work in a stream."""

import functools

import numpy as np

from ....ir import dtype as dt
from ....ir.reference.scalar_functions import as_kind
from ....ir.symbols.symbolic import hint
from ...core.device_array import DeviceArray
from ..driver import streams
from ..driver.driver_state import thread
from .pools import Memory

KIND = "cuda"


def used(array: DeviceArray, stream: int) -> int:
    """Return the address of an array for work in a stream, and record that use."""
    array.memory.used_on(stream)
    return array.pointer


def empty(device: int, shape, dtype, stream=None) -> DeviceArray:
    """Return an uninitialised array."""
    dtype = np.dtype(dtype)
    size = dtype.itemsize
    for n in shape:
        size *= n
    return DeviceArray(KIND, Memory(device, size, stream), shape, dtype)


def filled(device: int, shape, dtype, value) -> DeviceArray:
    """Return a new array of one number."""
    made = empty(device, shape, dtype)
    fill(made, value)
    return made


def fill(array: DeviceArray, value):
    """Write one number to all elements of a contiguous array."""
    if not array.size:
        return
    stream = streams.current(array.device)
    driver = stream.context.driver
    byte, word, number = _pattern(array.dtype, value.__class__, value if value else repr(value), value)
    if byte is not None:
        _set(driver.cuMemsetD8Async, array.pointer, byte, array.nbytes, stream.handle)
    elif word is not None and array.nbytes % 4 == 0 and array.pointer % 4 == 0:
        _set(driver.cuMemsetD32Async, array.pointer, word, array.nbytes // 4, stream.handle)
    else:
        array.backend.write(array, number)


def _pattern(dtype, *value) -> tuple:
    """Return (the byte that a number consists of, its 4-byte word, the number in a dtype); None if there is none."""
    try:
        return _cached_pattern(dtype, *value)
    except TypeError:           # a number that cannot be a key
        return _cached_pattern.__wrapped__(dtype, *value)


@functools.lru_cache(512)
def _cached_pattern(dtype, kind, text, value):
    pattern = as_kind(np.asarray(value), dtype).reshape(1)
    raw = pattern.view(np.uint8)
    byte = int(raw[0]) if (raw == raw[0]).all() else None
    word = int(np.tile(raw, 4 // raw.size).view(np.uint32)[0]) if raw.size <= 4 else None
    return byte, word, pattern[0].item()


def _set(ask, pointer, value, count, stream):
    ask(hint(pointer), value, hint(count), stream)
    if thread.recorder is not None:
        thread.recorder.filled(ask, pointer, value, count)


def on_device(*arrays) -> bool:
    """Return whether all operands, None aside, are device arrays."""
    return all(isinstance(a, DeviceArray) or a is None for a in arrays)


def broadcast_strides(a: DeviceArray, shape) -> tuple:
    """Return the strides of an array that is broadcast to a shape."""
    return (0,) * (len(shape) - a.ndim) + tuple([0 if n == 1 else s for n, s in zip(a.shape, a.strides)])


def window(a: DeviceArray, cuts) -> DeviceArray:
    """Return a window into an array: (start, size, step) for each dim."""
    offset = sum(start * s for (start, _, _), s in zip(cuts, a.strides))
    return a.look([n for _, n, _ in cuts], [s * step for s, (_, _, step) in zip(a.strides, cuts)], offset)


def as_reals(x: DeviceArray) -> DeviceArray:
    """Return contiguous complex numbers as one dim of alternating real and imaginary parts."""
    half = dt.PARTS[dt.from_numpy(x.dtype)].np
    return x.look((2 * x.size,), (half.itemsize,), 0, half)


def as_pairs(x: DeviceArray) -> DeviceArray:
    """Return contiguous complex numbers with their parts in a last dim of 2."""
    return as_reals(x).reshape(*x.shape, 2)
