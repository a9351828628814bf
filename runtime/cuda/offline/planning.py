"""Planning for a GPU that this machine need not have, with a driver that only records.

A graph that runs on it leaves a `Program`: launches, fills and copies, with every address as a place in a region (an input, the
arena of inner values, the status words, a result). Memory is laid out in the order of requests, so a program needs one block.

    with Planner(90) as planner:
        program = planner.program(device_graph.run, avals)
"""

import ctypes
import itertools
import struct
from collections import deque
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ....ir.errors import DeviceError
from ...core.device_array import contiguous_strides
from .. import backend
from ..compiler import compile as compiler
from ..compiler import launch
from ..driver import driver as library
from ..driver.context import CHIPS
from ..driver.driver_state import thread
from ..graph import eager
from ..memory import pools, transfer
from ..memory import status_words as checks
from ..memory.allocator import frees

_REGION = 44                 # an address is (region number + 1) << 44, plus a byte in it
_ROUND = 512
_WORDS_ALLOCATION = 0
_ATTRIBUTES = {8: 49152, 10: 32, 39: 2048, 82: 65536, 18: 0, 38: 50 << 20}


@dataclass(frozen=True)
class Program:
    """Driver calls of a graph.

    commands  ("launch", number of the binary, grid, parameter block, ((parameter, region, byte), ...)),
              ("fill", 1 or 4, region, byte, value, count), ("copy", region, byte, region, byte, bytes),
              ("write", region, byte, content)
    arena     bytes of memory for inner values
    outputs   (region, byte) of each result
    checks    names of the operators that look at indices, by the number of their word
    binaries  what is launched

    Regions: the inputs in order, then the arena, the words of checks, and results with memory of their own.
    """

    commands: tuple
    arena: int
    outputs: tuple
    checks: tuple
    binaries: tuple


@dataclass
class _Block:
    """Memory in use."""

    pointer: int
    size: int
    number: int
    key: tuple = (0,)
    owner: Any = None

    def used_on(self, stream):
        """Do nothing: all work is in one stream."""


@dataclass
class _Arena:
    """Memory by first fit. Freed memory is reusable at once, because all work is in one stream.

    result_regions   {number of an allocation: its region}, for those that are results
    """

    region: int
    result_regions: dict = field(default_factory=dict)
    free: list = field(default_factory=lambda: [(0, 1 << (_REGION - 1))])
    size: int = 0
    count: int = 0
    captures: set = field(default_factory=set)
    freed: deque = field(default_factory=deque)

    def allocate(self, size, stream, pool=0, memory=None) -> _Block:
        block = self._block(size)
        if memory is not None:
            frees(memory, block, self.freed)
        return block

    def allocate_each(self, memories, sizes, stream, pool=0) -> list:
        return [self.allocate(size, stream, pool, memory) for memory, size in zip(memories, sizes)]

    def _block(self, size) -> _Block:
        while self.freed:
            self.release(self.freed.popleft().block)
        number, self.count = self.count, self.count + 1
        size = max(_ROUND, -(-size // _ROUND) * _ROUND)
        if number in self.result_regions:
            return _Block(_address(self.result_regions[number]), size, number)
        i = next(i for i, (_, room) in enumerate(self.free) if room >= size)
        start, room = self.free[i]
        self.free[i:i + 1] = [(start + size, room - size)] if room > size else []
        self.size = max(self.size, start + size)
        return _Block(_address(self.region) + start, size, number)

    def release(self, block):
        if block.pointer >> _REGION != self.region + 1 or block.number in self.result_regions:
            return
        at = block.pointer - _address(self.region)
        merged: list = []
        for start, size in sorted([*self.free, (at, block.size)]):
            if merged and sum(merged[-1]) == start:
                merged[-1] = merged[-1][0], merged[-1][1] + size
            else:
                merged.append((start, size))
        self.free = merged

    def settle(self):
        """Do nothing."""


class Planner:
    """Replacement of libcuda with one device of a chip; for a process of its own, since its plans and code stay in memory."""

    in_order = True         # calls are recorded at once

    def __init__(self, arch: int):
        if arch not in CHIPS:
            raise DeviceError(f"there is no GPU sm_{arch} to plan for: one of {', '.join(f'sm_{n}' for n in CHIPS)}")
        self.arch, self.commands, self.modules, self.pinned = arch, [], {}, []
        self.host_reads = self.first = self.regions = 0
        self.arena: Any = None
        self._numbers = itertools.count(1)

    def __enter__(self):
        self._before = library.replace(self)
        return self

    def __exit__(self, *exc):
        library.restore(self._before)

    # Driver calls.

    def __getattr__(self, name):
        if not name.startswith("cu"):
            raise AttributeError(name)
        return lambda *args: 0

    def _handle(self, out, *args):
        _set(out, next(self._numbers))
        return 0

    cuDevicePrimaryCtxRetain = cuStreamCreateWithPriority = cuEventCreate = _handle

    def cuDeviceGetCount(self, out):
        return _set(out, 1)

    def cuDeviceGetAttribute(self, out, number, device):
        shared, processors = CHIPS[self.arch]
        known = {**_ATTRIBUTES, 75: self.arch // 10, 76: self.arch % 10, 97: shared, 16: processors}
        return _set(out, known.get(number, 1))

    def cuDriverGetVersion(self, out):
        return _set(out, 13000)

    def cuMemHostAlloc(self, out, size, flags):
        """Return ordinary memory."""
        self.pinned.append(np.zeros(size, np.uint8))
        return _set(out, self.pinned[-1].ctypes.data)

    def cuMemcpyHtoDAsync_v2(self, to, source, size, stream):
        """Record a constant."""
        self.commands.append(("write", *self._place(to), ctypes.string_at(source, size)))
        return 0

    def cuMemcpyDtoHAsync_v2(self, to, source, size, stream):
        """Write zeros, since nothing was computed."""
        self.host_reads += 1
        ctypes.memset(to, 0, size)
        return 0

    def cuMemcpyDtoDAsync_v2(self, to, source, size, stream):
        self.commands.append(("copy", *self._place(to), *self._place(source), size))
        return 0

    def cuMemsetD8Async(self, to, value, count, stream):
        self.commands.append(("fill", 1, *self._place(to), value, count))
        return 0

    def cuMemsetD32Async(self, to, value, count, stream):
        self.commands.append(("fill", 4, *self._place(to), value, count))
        return 0

    def cuModuleLoadData(self, out, code):
        """Return a handle that identifies the code."""
        handle = next(self._numbers)
        self.modules[handle] = bytes(code)
        return _set(out, handle)

    def cuModuleGetFunction(self, out, module, name):
        return _set(out, module)

    def cuLaunchKernelEx(self, config, function, parameters, extra):
        code = self.modules[function]
        variant, binary = next((v, b) for v, b in compiler.binaries().items() if b.code == code)
        first = ctypes.c_void_p.from_address(parameters).value or 0
        values = struct.unpack(binary.layout, ctypes.string_at(first, struct.calcsize(binary.layout)))[:-2]
        kinds = [t for t in variant.signature().values() if t != "constexpr"]
        slots = tuple([(i, *self._place(x)) for i, (x, kind) in enumerate(zip(values, kinds)) if kind[0] == "*"])
        plain = [0 if kind[0] == "*" else x for x, kind in zip(values, kinds)]
        grid = launch.grid_of(config)
        block = struct.pack(binary.layout, *plain, 0, 0)
        self.commands.append(("launch", binary, (grid[0] // binary.clusters, *grid[1:]), block, slots))
        return 0

    # Programs.

    def program(self, run, avals) -> Program:
        """Return the program of a function of device arrays, for inputs of the given avals."""
        self.attempt(run, avals)             # loads code and tables
        numbers = [_number(a.memory) for a in self.attempt(run, avals)]
        owned = dict.fromkeys(n for n in numbers if n is not None)
        before = self.host_reads, eager.Host.calls
        results = self.attempt(run, avals, {n: len(avals) + 2 + i for i, n in enumerate(owned)})
        if (self.host_reads, eager.Host.calls) != before:
            raise DeviceError("the graph waits for the host")
        binaries = tuple(dict.fromkeys(c[1] for c in self.commands if c[0] == "launch"))
        commands = tuple([(c[0], binaries.index(c[1]), *c[2:]) if c[0] == "launch" else c for c in self.commands])
        return Program(commands, self.arena.size, tuple([self._place(a.pointer) for a in results]), checks.names(), binaries)

    def attempt(self, run, avals, result_regions=None) -> list:
        """Run once in regions of its own, so that addresses of other runs are detected.

        `result_regions` are regions of allocations by number.
        """
        result_regions = result_regions or {}
        self.first += self.regions
        self.regions = len(avals) + 2 + len(result_regions)
        self.commands.clear()
        checks.forget()
        for cache in transfer.CONSTANT_CACHES:
            cache.clear()
        regions = {n: self.first + region for n, region in result_regions.items()}
        regions[_WORDS_ALLOCATION] = self.first + len(avals) + 1
        self.arena = pools.adopt(0, _Arena(self.first + len(avals), regions))
        checks.words(0)
        self.commands.clear()
        inputs = [backend.foreign(0, _address(self.first + i), a.shape, a.dtype.np,
                                  contiguous_strides(a.shape, a.dtype.itemsize), self) for i, a in enumerate(avals)]
        thread.plans = True
        try:
            results = run(inputs)
        finally:
            thread.plans = False
        if not all(a.is_contiguous for a in results):
            raise DeviceError("a result does not lie in row-major order")
        return results

    def _place(self, address: int) -> tuple:
        """Return (region, byte) of an address."""
        region, byte = (address >> _REGION) - 1 - self.first, address & ((1 << _REGION) - 1)
        if not 0 <= region < self.regions:
            raise DeviceError("a launch refers to memory that is kept between runs")
        return region, byte


def _address(region: int) -> int:
    return (region + 1) << _REGION


def _set(out, value) -> int:
    out._obj.value = value
    return 0


def _number(memory) -> int | None:
    """Return the number of the allocation that memory came from, or None for an input."""
    block: Any = memory.block if isinstance(memory, pools.Memory) else None
    return None if block is None else block.number
