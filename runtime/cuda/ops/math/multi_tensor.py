"""Kernels of elements that replace some of their operands: for many small arrays in one launch, for others in one each."""

import functools
from math import prod

import numpy as np

from .....passes.codegen.triton.loops import configs
from .....passes.codegen.triton.loops.multi_tensor import SLOTS
from ....core.device_array import DeviceArray
from ...compiler import compile as compiler
from ...compiler.kernels import Prepared
from ...driver import streams
from ...graph.eager import contiguous
from ...memory import transfer
from ...memory.arrays import empty, used
from ...memory.pools import Memory
from ..products.batched_launch import Together

ARRAYS = SLOTS        # sets of arrays that a launch serves: its parameters take about 1024 bytes of the 4096 there are
ALONE = 1 << 20       # elements from which a launch takes the device longer than the host
EVEN = compiler.EVEN[-1]        # elements that sizes are multiples of where vectors are whole


def sweep(rows, numbers):
    """Runs elementwise kernels (`runtime/cpu/loops/kernels.py` describes them) of (outs, arrays, numbers) that write outs anew:
    one for each row (kernel, outs, arrays). A number may be an array of one element, on the device and of the dtype of all
    rows."""
    alone, together = _sorted(rows) if len(rows) > 1 else (rows, {})
    rounded = {kind: _rounded(numbers, kind) for kind in {outs[0].dtype for _, outs, _ in rows}}
    for (kernel, device, even), found in together.items():
        for i in range(0, len(found), ARRAYS):
            some = found[i:i + ARRAYS]
            if len(some) == 1:
                alone.append(some[0][0])
            else:
                _run_together(kernel, device, even, some, rounded)
    for kernel, outs, read in alone:
        _run(kernel, outs, read, rounded[outs[0].dtype])


def fresh(arrays) -> list:
    """New arrays like others."""
    return [empty(a.device, a.shape, a.dtype) for a in arrays]


def _rounded(numbers, kind) -> list:
    """Numbers as the dtype has them."""
    with np.errstate(over="ignore"):
        return [n if n.__class__ is DeviceArray else kind.type(n).item() for n in numbers]


def _sorted(rows) -> tuple[list, dict]:
    """(rows that run alone, {(kernel, device, whether vectors are whole): [(row, addresses, size)]} of those that do not)."""
    alone: list = []
    together: dict = {}
    memories, count = set(), 0
    for row in rows:
        kernel, outs, read = row
        size, device = prod(outs[0].shape), outs[0].memory.device
        small, all_bits, addresses = 0 < size < ALONE, 0, []
        for a in (*outs, *read):
            memory = a.memory
            if memory.__class__ is Memory:
                memories.add(memory)
            count += 1
            small = small and a.is_contiguous and memory.device == device
            address = memory.pointer + a.offset
            all_bits |= address
            addresses.append(address)
        if small:
            even = size % EVEN == 0 and all_bits % compiler.ALIGNED == 0
            together.setdefault((kernel, device, even), []).append((row, addresses, size))
        else:
            alone.append(row)
    return (alone, together) if len(memories) == count or _lie_apart(rows) else (rows, {})


def _lie_apart(rows) -> bool:
    """Whether no array shares elements with another one, so that rows may run in any order or at once."""
    end = 0
    for start, following in sorted([_span(a) for _, outs, read in rows for a in (*outs, *read) if a.size]):
        if start < end:
            return False
        end = following
    return True


def _span(a) -> tuple:
    """The addresses between which an array lies."""
    if a.is_contiguous:
        return a.pointer, a.pointer + a.nbytes
    return a.memory.pointer, a.memory.pointer + a.memory.nbytes


def _run_together(kernel, device, even, some, rounded):
    stream = streams.current(device).handle
    addresses: list = []
    for (_, outs, read), here, _ in some:
        for a in (*outs, *read):
            memory = a.memory
            if memory.stream != stream:
                memory.used_on(stream)
        addresses += here
    _, outs, read = some[0][0]
    numbers = rounded[outs[0].dtype]
    made, known, columns = _prepared_together(kernel, len(outs), len(read), _which_lie_there(numbers))
    sizes, programs = [], 0
    for _, _, size in some:
        count = (size + columns - 1) // columns
        sizes += size, count
        programs += count
    made(device, stream, known[even], _given(numbers, stream), addresses, sizes, programs)


def _run(kernel, outs, arrays, numbers):
    reads = [contiguous(a) for a in (*outs, *arrays)]
    writes = [a if a.is_contiguous else empty(a.device, a.shape, a.dtype) for a in outs]
    made = _prepared(kernel, len(outs), len(arrays), _which_lie_there(numbers), outs[0].size)
    device = outs[0].device
    stream = streams.current(device).handle
    given = [*[used(a, stream) for a in reads], *_given(numbers, stream), *[used(a, stream) for a in writes]]
    if outs[0].size:
        made(device, stream, given)
    for a, made_there in zip(outs, writes):
        if a is not made_there:
            transfer.write(a, made_there)


def _given(numbers, stream) -> list:
    """Numbers, or their addresses."""
    return [used(n, stream) if n.__class__ is DeviceArray else n for n in numbers]


def _which_lie_there(numbers) -> tuple:
    """Which numbers are in the device's memory."""
    return tuple([n.__class__ is DeviceArray for n in numbers])


def _kernel(kernel, outs, read, lie_there) -> tuple:
    """(the kernel of one dim, the names of the numbers that launches give): its buffers are what it replaces, what it reads,
    numbers, results."""
    classes = (1,) * (outs + read) + (0,) * len(lie_there) + (1,) * outs
    return kernel.kernel(1, classes), frozenset([f"b{n}" for n, there in enumerate(lie_there, outs + read) if not there])


@functools.lru_cache(1024)
def _prepared(kernel, outs, read, lie_there, size):
    nest, names = _kernel(kernel, outs, read, lie_there)
    return Prepared(nest, {"n0": size}, numbers=names)


@functools.lru_cache(256)
def _prepared_together(kernel, outs, read, lie_there):
    """(the kernel for many arrays, what is known of sizes where vectors are not whole and where they are, its tile)."""
    nest, names = _kernel(kernel, outs, read, lie_there)
    pointers, first = outs + read, outs + read + len(lie_there)
    over = tuple([(f"b{first + n}", f"b{n}") for n in range(outs)])
    shared = frozenset([f"b{n}" for n in range(pointers, first)])
    one = configs.any_size(nest, names)
    made = Together(configs.many(nest, names, one, ARRAYS, shared, over), len(lie_there), ARRAYS, ((EVEN,),))
    return made, ((0,), (EVEN,)), dict(one.constants)["COLS"]


def forget():
    """Forgets what was prepared for a driver that was replaced."""
    _prepared.cache_clear()
    _prepared_together.cache_clear()
