"""Moving elements: between host and device, between devices, and into memory that is there already.

Copies run in the current stream of the device. Reading waits until the elements are there. Writing waits as well, unless
`wait=False`: then page-locked memory is kept until it was read, and the driver is given no other, since it promises nothing of
when it reads that: what is not too large is copied into page-locked memory first. A graph that is captured copies at every
replay, so it only takes page-locked memory of its caller's, which it keeps.
"""

import functools

import numpy as np

from ....ir import dtype as dt
from ....ir.errors import DeviceError, ShapeError
from ....ir.kernel.kernel_builder import KernelBuilder
from ....ir.ops.core.complex_numbers import complex_
from ....ir.symbols.symbolic import hint
from ...core.device_array import DeviceArray
from ..compiler.kernels import Prepared, as_number
from ..driver import streams
from ..driver.driver_state import thread as noting
from . import pools, status_words
from .arrays import empty, used
from .pinned import PINNED

_STAGED = 64 << 20        # bytes of ordinary memory that are copied rather than waited for


def to_device(a: np.ndarray, device: int, wait: bool = True) -> DeviceArray:
    """A host array's elements in new device memory."""
    if pools.thread.draws is not None and pools.thread.draws.takes(a):
        return pools.thread.draws.placed(a)
    plain = a if a.flags.c_contiguous else np.ascontiguousarray(a).reshape(a.shape)
    made = empty(device, a.shape, a.dtype)
    if plain.size:
        upload(made, plain, wait)
    return made


def constant(a: np.ndarray, device: int) -> DeviceArray:
    """A host array's elements in device memory that is there for good: no part of a graph that is being captured, though the
    graph keeps it."""
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
    """A device array's elements in host memory: page-locked, and perhaps still on their way, with `wait=False`."""
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
    """A contiguous array's elements in new memory, perhaps of another device."""
    device = x.device if device is None else device
    made = empty(device, x.shape, x.dtype)
    if x.size:
        _copy(made, x)
    return made


def _copy(dst: DeviceArray, src: DeviceArray):
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
    """An array on another device."""
    return x if x.device == device else copy_of(x.backend.contiguous(x), device)


def write(dst, src):
    """Writes `src` (an array anywhere, or a number) into `dst`, cast and broadcast to it, in place."""
    if not isinstance(dst, DeviceArray):
        np.copyto(dst, to_host(src), casting="unsafe")
        return
    if isinstance(src, np.ndarray) and src.ndim == 0:
        src = src.item()
    if isinstance(src, np.ndarray):
        src = to_device(src, dst.device)
    elif isinstance(src, DeviceArray):
        src = moved(src, dst.device)
    if not dst.size:
        return
    if isinstance(src, DeviceArray):
        if src.shape == dst.shape and src.dtype == dst.dtype and src.is_contiguous and dst.is_contiguous:
            if src.pointer != dst.pointer:
                _copy(dst, _apart(src, dst))
            return
        src = _apart(src, dst)
    _assign(dst, src)


def _apart(src, dst):
    """The source, copied where it overlaps what is written in another order."""
    if src.memory is dst.memory and (src.pointer, src.strides, src.shape) != (dst.pointer, dst.strides, dst.shape):
        return src.backend.copied(src)
    return src


def _assign(dst, src):
    """One kernel that reads by the source's strides and writes by the destination's."""
    number = not isinstance(src, DeviceArray)
    kind = dt.from_numpy(dst.dtype) if number else dt.from_numpy(src.dtype)
    steps = (0,) * dst.ndim if number else _broadcast_strides(src, dst.shape)
    made = _copier(dst, kind, steps, number)
    stream = streams.current(dst.device).handle
    given = [used(src, stream)] if not number else _parts(kind, src) if kind.is_complex else [as_number(kind, src)]
    made(dst.device, stream, (*given, used(dst, stream)))


def _parts(kind, number) -> list:
    """A complex number as a launch gives it."""
    return [as_number(dt.PARTS[kind], x) for x in (number.real, number.imag)]


def _broadcast_strides(src, shape):
    """Strides in bytes that show an array in a larger shape."""
    lead = len(shape) - src.ndim
    if lead < 0 or any(n not in (1, m) for n, m in zip(src.shape, shape[lead:])):
        raise ShapeError(f"a value of shape {src.shape} does not fit into a tensor of shape {tuple(shape)}")
    return (0,) * lead + tuple([0 if n == 1 else s for n, s in zip(src.shape, src.strides)])


def _copier(dst, kind, steps, number) -> Prepared:
    """The kernel for one layout: dims that both sides step through evenly are one."""
    size, out = kind.itemsize, dst.dtype.itemsize
    dims: list = []
    for n, a, b in zip(dst.shape, steps, dst.strides):
        a, b = a // size, b // out
        if n == 1:
            continue
        if dims and dims[-1][1] == a * n and dims[-1][2] == b * n:
            dims[-1] = (dims[-1][0] * n, a, b)
        else:
            dims.append((n, a, b))
    dims = dims or [(1, 1, 1)]
    dims.append(dims.pop(max(range(len(dims)), key=lambda d: (dims[d][2] == 1, dims[d][1] == 1, dims[d][0]))))
    named = tuple([tuple([int(s) if s in (0, 1) else f"s{b}_{d}"
                          for d, (_, *both) in enumerate(dims) for s in (both[b],)]) for b in (0, 1)])
    sizes = {f"n{d}": n for d, (n, _, _) in enumerate(dims)}
    for b in (0, 1):
        sizes |= {f"s{b}_{d}": both[b] for d, (_, *both) in enumerate(dims)}
    sources = _sources(kind, number)
    kernel = _copying(kind, dt.from_numpy(dst.dtype), named, number)
    return Prepared(kernel, sizes, numbers=frozenset(sources) if number else frozenset())


def _sources(kind, number) -> tuple:
    """The names of the buffers that a copy reads: a complex number is two."""
    return ("re", "im") if number and kind.is_complex else ("x",)


@functools.lru_cache(1024)
def _copying(kind, target, named, number):
    """The kernel of a copy whose strides have these names, or are these numbers."""
    count, pair = len(named[0]), number and kind.is_complex
    k = KernelBuilder(f"assign_{kind.short}_{target.short}_{count}{'_number' if number else ''}")
    for d in range(count):
        k.parallel(f"d{d}", f"n{d}")
    sources = [k.input(name, dt.PARTS[kind] if pair else kind, list(named[0])) for name in _sources(kind, number)]
    y = k.output("y", target, list(named[1]))
    with k.point():
        loaded = [k.load(x) for x in sources]
        k.store(k.append(complex_.name, target, loaded) if pair else loaded[0].to(target), y)
    return k.build()
