"""Kernels of elements that replace some of their operands: for many small arrays in one launch, for others in one each."""

import functools
from math import prod

import numpy as np

from ...passes.codegen.triton import configs
from ...passes.codegen.triton.nest import POINTER, SIZE
from ..device_array import DeviceArray
from . import compile as compiler
from . import context as contexts
from . import launch, streams, transfer
from .arrays import empty, used
from .eager import contiguous
from .kernels import Prepared
from .noting import thread as noting
from .pools import Memory

ARRAYS = 16           # sets of arrays that a launch serves: its parameters take less than 1024 bytes of the 4096 there are
ALONE = 1 << 20       # elements from which a launch takes the device longer than the host
EVEN = compiler.EVEN[-1]        # elements that sizes are multiples of where vectors are whole


def sweep(rows, numbers):
    """Runs elementwise kernels (`runtime/cpu/kernels.py` describes them) of (outs, arrays, numbers) that write outs anew: one
    for each row (kernel, outs, arrays). A number may be an array of one element, on the device and of the dtype of all rows."""
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
            a.memory.used_on(stream)
        addresses += here
    _, outs, read = some[0][0]
    numbers = rounded[outs[0].dtype]
    made = _prepared_together(kernel, len(outs), len(read), _which_lie_there(numbers))
    made(device, stream, even, _given(numbers, stream), addresses, [size for _, _, size in some])


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
    nest, names = _kernel(kernel, outs, read, lie_there)
    over = tuple([(f"b{outs + read + len(lie_there) + n}", f"b{n}") for n in range(outs)])
    return Together(configs.many(nest, names, over, ARRAYS), len(lie_there))


class Together:
    """A kernel that serves many arrays in a launch."""

    def __init__(self, one: configs.Launch, numbers: int):
        self.launch, parameters = one, one.source.parameters
        self.columns = dict(one.constants)["COLS"]
        self.addresses = tuple([n for n, p in enumerate(parameters) if p.kind == POINTER])
        self.sets = [n for n in self.addresses if n >= numbers]
        self.sizes = tuple([n for n, p in enumerate(parameters) if p.kind == SIZE])
        self.functions: dict = {}

    def __call__(self, device, stream, even, numbers, addresses, sizes):
        """Launches; `addresses` are those of each set of arrays in turn, `even` says that all vectors of them are whole."""
        missing, columns = ARRAYS - len(sizes), self.columns
        args = [*numbers, *addresses, *addresses[:1] * (len(self.sets) - len(addresses)), *sizes, *(0,) * missing]
        grid = sum([(n + columns - 1) // columns for n in sizes]), 1, 1
        function = self.functions.get((device, even)) or self._function(device, even)
        function(grid, stream, *args)
        if noting.notes is not None:
            noting.notes.called(function, grid, args, self.addresses)

    def _function(self, device, even):
        variant = self.variant(contexts.context(device).arch, even)
        found = self.functions[device, even] = launch.function(device, compiler.compiled(variant))
        return found

    def variant(self, arch, even) -> compiler.Variant:
        """What is compiled for arrays of which all vectors are whole, or of which nothing is known."""
        aligned, units = (frozenset(self.sets), tuple([(n, EVEN) for n in self.sizes])) if even else (frozenset(), ())
        one = self.launch
        return compiler.Variant(one.source, one.constants, one.warps, arch, False, aligned, one.stages, units)


def forget():
    """Forgets what was prepared for a driver that was replaced."""
    _prepared.cache_clear()
    _prepared_together.cache_clear()
