"""Strided copies on a device: one kernel writes an array or a number into existing memory, cast and broadcast."""

import functools

import numpy as np

from ....ir import dtype as dt
from ....ir.errors import ShapeError
from ....ir.kernel.kernel_builder import KernelBuilder
from ....ir.ops.core.complex_numbers import complex_
from ...core.device_array import DeviceArray
from ..driver import streams
from ..memory import transfer
from ..memory.arrays import broadcast_strides, used
from .kernels import Prepared, as_number


def write(dst, src):
    """Write `src` (an array anywhere, or a number) into `dst` in place, cast and broadcast."""
    if not isinstance(dst, DeviceArray):
        np.copyto(dst, transfer.to_host(src), casting="unsafe")
        return
    if isinstance(src, np.ndarray) and src.ndim == 0:
        src = src.item()
    if isinstance(src, np.ndarray):
        src = transfer.to_device(src, dst.device)
    elif isinstance(src, DeviceArray):
        src = transfer.relocated(src, dst.device)
    if not dst.size:
        return
    if isinstance(src, DeviceArray):
        if src.shape == dst.shape and src.dtype == dst.dtype and src.is_contiguous and dst.is_contiguous:
            if src.pointer != dst.pointer:
                transfer.copy(dst, _apart(src, dst))
            return
        src = _apart(src, dst)
    _assign(dst, src)


def _apart(src, dst):
    """Return the source, copied if it overlaps the destination in another order."""
    if src.memory is dst.memory and (src.pointer, src.strides, src.shape) != (dst.pointer, dst.strides, dst.shape):
        return src.backend.copied(src)
    return src


def _assign(dst, src):
    """Launch the kernel that reads by the source's strides and writes by the destination's."""
    number = not isinstance(src, DeviceArray)
    kind = dt.from_numpy(dst.dtype) if number else dt.from_numpy(src.dtype)
    steps = (0,) * dst.ndim if number else _checked_strides(src, dst.shape)
    made = _copier(dst, kind, steps, number)
    stream = streams.current(dst.device).handle
    parts = (src.real, src.imag) if number and kind.is_complex else (src,)
    given = [as_number(dt.PARTS.get(kind, kind), x) for x in parts] if number else [used(src, stream)]
    made(dst.device, stream, (*given, used(dst, stream)))


def _checked_strides(src, shape):
    lead = len(shape) - src.ndim
    if lead < 0 or any(n not in (1, m) for n, m in zip(src.shape, shape[lead:])):
        raise ShapeError(f"a value of shape {list(src.shape)} does not fit into a tensor of shape {list(shape)}")
    return broadcast_strides(src, shape)


def _copier(dst, kind, steps, number) -> Prepared:
    """Return the kernel for one layout; dims that both sides step through evenly are merged."""
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
    """Return the names of the buffers that a copy reads: two for a complex number."""
    return ("re", "im") if number and kind.is_complex else ("x",)


@functools.lru_cache(1024)
def _copying(kind, target, named, number):
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
