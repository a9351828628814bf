"""Moving elements: between host and device, between devices, and into memory that is there already.

Copies run in the current stream of the device. Reading waits until the elements are there. Writing waits as well, unless
`wait=False`: then page-locked memory is kept until it was read, and the driver is given no other, since it promises nothing of
when it reads that: what is not too large is copied into page-locked memory first. A graph that is captured copies at every
replay, so it only takes page-locked memory of its caller's, which it keeps.
"""

import numpy as np

from ....ir.errors import DeviceError
from ....ir.symbols.symbolic import hint
from ...core.device_array import DeviceArray
from ..driver import streams
from ..driver.driver_state import thread as noting
from . import pools, status_words
from .arrays import empty, used
from .pinned import PINNED

_STAGED = 64 << 20        # bytes of ordinary memory that are copied rather than waited for


def to_device(a: np.ndarray, device: int, wait: bool = True) -> DeviceArray:
    """Return a host array's elements in new device memory."""
    if pools.thread.draws is not None and pools.thread.draws.takes(a):
        return pools.thread.draws.placed(a)
    plain = a if a.flags.c_contiguous else np.ascontiguousarray(a).reshape(a.shape)
    made = empty(device, a.shape, a.dtype)
    if plain.size:
        upload(made, plain, wait)
    return made


def constant(a: np.ndarray, device: int) -> DeviceArray:
    """Return a host array's elements in device memory that is there for good: no part of a graph that is being captured, though
    the graph keeps it."""
    with pools.aside(device):
        made = to_device(a, device)
    pools.keep(made.memory)
    return made


def frozen(a: np.ndarray, device: int) -> DeviceArray:
    """What of the host a graph that is being captured reads at every replay: what it is now, unless it is a key."""
    draws = pools.thread.draws
    return draws.placed(a) if draws.takes(a) else constant(a, device)


def upload(made: DeviceArray, plain: np.ndarray, wait: bool = True):
    """Copies a contiguous host array into a contiguous device array."""
    piece = PINNED.piece_of(plain)
    if pools.is_capturing() and (wait or piece is None):
        raise DeviceError("a graph that is captured copies from the host at every replay: from page-locked memory only "
                          "(pin_memory()), and without waiting (non_blocking=True); or make the tensor before the capture")
    if piece is None and not wait and plain.nbytes <= _STAGED:
        staged = PINNED.array(plain.shape, plain.dtype)
        np.copyto(staged, plain)
        plain, piece = staged, PINNED.piece_of(staged)
    wait, stream = wait or piece is None, streams.current(made.device)      # (asked last: the memory's device is current now)
    if wait:
        streams.say_that_a_copy_waits(made.device)
    stream.context.driver.cuMemcpyHtoDAsync_v2(used(made, stream.handle), plain.ctypes.data, plain.nbytes, stream.handle)
    if wait:
        stream.synchronize()
    else:
        piece.used_in(stream)


def to_host(x: DeviceArray, wait: bool = True) -> np.ndarray:
    """Return a device array's elements in host memory: page-locked, and perhaps still on their way, with `wait=False`."""
    if wait and pools.is_capturing():
        raise DeviceError("values cannot be read while a graph is captured: nothing runs before it is replayed")
    plain = x if x.is_contiguous else x.backend.contiguous(x)
    out = np.empty(x.shape, x.dtype) if wait else PINNED.array(x.shape, x.dtype)
    if not out.size:
        return out
    stream = streams.current(x.device)
    if wait:
        streams.say_that_a_copy_waits(x.device)
    stream.context.driver.cuMemcpyDtoHAsync_v2(out.ctypes.data, used(plain, stream.handle), out.nbytes, stream.handle)
    if wait:
        stream.synchronize()
        status_words.verify(x.device, stream.handle)
    else:
        PINNED.piece_of(out).used_in(stream)
    return out


def copy_of(x: DeviceArray, device: int | None = None) -> DeviceArray:
    """Return a contiguous array's elements in new memory, perhaps of another device."""
    device = x.device if device is None else device
    made = empty(device, x.shape, x.dtype)
    if x.size:
        copy(made, x)
    return made


def copy(dst: DeviceArray, src: DeviceArray):
    """Copies between contiguous arrays of one size in bytes. Between devices the stream of each waits for the other's."""
    stream = streams.current(src.device)
    here = used(src, stream.handle)
    if dst.device == src.device:
        ask, there = stream.context.driver.cuMemcpyDtoDAsync_v2, used(dst, stream.handle)
        ask(hint(there), hint(here), hint(src.nbytes), stream.handle)
        if noting.notes is not None:
            noting.notes.copied(ask, there, here, src.nbytes)
        return
    other = streams.current(dst.device)
    other.wait_stream(stream)
    other.context.driver.cuMemcpyPeerAsync(used(dst, other.handle), other.context.handle, here, stream.context.handle,
                                           src.nbytes, other.handle)
    stream.wait_stream(other)


def moved(x: DeviceArray, device: int) -> DeviceArray:
    """Return an array on another device."""
    return x if x.device == device else copy_of(x.backend.contiguous(x), device)
