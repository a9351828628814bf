"""Programs planned elsewhere (`planning.py`), run on a device: launches, fills and copies alone.

They need neither a compiler nor a code generator.
"""

import struct
from math import prod
from typing import Any

import numpy as np

from ....ir.dtype import BY_NAME
from ....ir.errors import FileError
from ...core.device_array import DeviceArray
from ..compiler import launch
from ..compiler.compile import Binary
from ..driver import context as contexts
from ..driver import streams
from ..memory import status_words as checks
from ..memory import transfer
from ..memory.arrays import KIND, empty, used
from ..memory.pools import Memory

_LARGEST = 1 << 40
_WORDS_BYTES = 4 * 64
_ALIGNED = 16


def as_json(program, avals) -> tuple:
    """Return (a planned program as data for a file, the bytes that it writes, its binaries), for results of these avals."""
    written, at, commands = [], 0, []
    for name, *rest in program.commands:
        if name == "launch":
            binary, grid, parameters, slots = rest
            commands.append([name, binary, list(grid), parameters.hex(), [list(p) for p in slots]])
        elif name == "write":
            region, byte, content = rest
            commands.append([name, region, byte, at, len(content)])
            written.append(content)
            at += len(content)
        else:
            commands.append([name, *rest])
    results = [[a.dtype.name, list(a.shape), list(place)] for a, place in zip(avals, program.outputs)]
    return ({"commands": commands, "arena": program.arena, "outputs": results, "checks": list(program.checks)},
            b"".join(written), program.binaries)


class ReadyProgram:
    """A program of a file with what it launches; run as a device graph is.

    data      what `as_json` made
    written   the bytes that it writes
    binaries  machine code, by the numbers that the program uses
    inputs    bytes of each input
    """

    is_native = False

    def __init__(self, data: dict, written: np.ndarray, binaries, inputs, device: int):
        self.device, self.inputs, self.written, self.binaries = device, len(inputs), written, list(binaries)
        self.outputs = [(BY_NAME[d], tuple(shape), *place) for d, shape, place in data["outputs"]]
        self.arena, self.checks = data["arena"], tuple(map(str, data["checks"]))
        own = [(d, shape) for d, shape, region, _ in self.outputs if region >= self.inputs + 2]
        self.room = [*inputs, self.arena, _WORDS_BYTES, *[_bytes(d, shape) for d, shape in own]]
        if any(type(n) is not int or not 0 <= n < _LARGEST for n in self.room):
            raise FileError("a ready program for a GPU is damaged")
        for d, shape, region, byte in self.outputs:
            self._check(region, byte, _bytes(d, shape))
        self.result_kinds = [(d.np, shape) for d, shape in own]
        self.steps = [self._step(*command) for command in data["commands"]]
        self.words: Any = checks.words_for(device, self.checks) if self.checks else None

    def _check(self, region, byte, size=0):
        fits = all(type(n) is int and n >= 0 for n in (region, byte, size)) and region < len(self.room)
        if not fits or byte + size > max(self.room[region], 1):
            raise FileError("a ready program for a GPU refers to memory that is not there")

    def _step(self, name, *rest):
        if name == "launch":
            return self._launch(*rest)
        driver = contexts.context(self.device).driver
        if name == "fill":
            unit, region, byte, value, count = rest
            self._check(region, byte, unit * count)
            fill = driver.cuMemsetD8Async if unit == 1 else driver.cuMemsetD32Async
            return lambda at, stream: fill(at[region] + byte, value, count, stream)
        if name == "copy":
            to, there, source, here, size = rest
            self._check(to, there, size)
            self._check(source, here, size)
            return lambda at, stream: driver.cuMemcpyDtoDAsync_v2(at[to] + there, at[source] + here, size, stream)
        if name != "write":
            raise FileError(f"a ready program for a GPU has the command {name!r}")
        region, byte, start, size = rest
        self._check(region, byte, size)
        constant = empty(self.device, (size,), np.uint8)
        transfer.upload(constant, np.array(self.written[start:start + size]))
        return lambda at, stream: driver.cuMemcpyDtoDAsync_v2(at[region] + byte, constant.pointer, size, stream)

    def _launch(self, number, grid, parameters, slots):
        if not (type(number) is int and 0 <= number < len(self.binaries)) or not _is_grid(grid):
            raise FileError("a ready program for a GPU has an impossible launch")
        binary = self.binaries[number]
        function = launch.function(self.device, binary)
        args = list(struct.unpack(binary.layout, bytes.fromhex(parameters))[:-2])
        for parameter, region, byte in slots:
            self._check(region, byte)
            args[parameter] = byte
        moving = tuple([(parameter, region) for parameter, region, _ in slots])
        grid = tuple(grid)

        def step(at, stream):
            given = args.copy()
            for parameter, region in moving:
                given[parameter] += at[region]
            function(grid, stream, *given)

        return step

    def run(self, inputs) -> list:
        stream = streams.current(self.device).handle
        inputs = [_plain(a) for a in inputs]
        arena = Memory(self.device, self.arena, stream)
        result_kinds = [empty(self.device, shape, dtype, stream) for dtype, shape in self.result_kinds]
        if self.words is not None:
            checks.launched(self.words)
        at = [*[used(a, stream) for a in inputs], arena.pointer, self.words.pointer if self.checks else 0,
              *[a.pointer for a in result_kinds]]
        for step in self.steps:
            step(at, stream)
        fresh = dict(zip(range(self.inputs + 2, len(at)), result_kinds))
        return [self._result(d, shape, region, byte, fresh, inputs, arena) for d, shape, region, byte in self.outputs]

    def _result(self, dtype, shape, region, byte, fresh, inputs, arena):
        """Return a result: its own memory, or a part of an input or of the arena."""
        if region in fresh:
            return fresh[region]
        if region == self.inputs:
            return DeviceArray(KIND, arena, shape, dtype.np, None, byte)
        whole = inputs[region]
        return DeviceArray(KIND, whole.memory, shape, dtype.np, None, whole.offset + byte, whole)


def _bytes(dtype, shape):
    return dtype.itemsize * prod(shape)


def _is_grid(grid) -> bool:
    return len(grid) == 3 and all(type(n) is int and 1 <= n < most for n, most in zip(grid, (1 << 31, 1 << 16, 1 << 16)))


def _plain(a: DeviceArray) -> DeviceArray:
    a = a if a.is_contiguous else a.backend.contiguous(a)
    return a if not a.pointer % _ALIGNED else a.backend.copied(a)


def packed(binaries) -> tuple:
    """Return (the bytes of binaries, [first byte, size] of each)."""
    parts, slots, at = [], [], 0
    for data in [b.pack() for b in binaries]:
        slots.append([at, len(data)])
        parts += [data, bytes(-len(data) % _ALIGNED)]
        at += len(data) + -len(data) % _ALIGNED
    return b"".join(parts), slots


def unpacked(blob: np.ndarray, slots) -> list:
    """Parse data of `packed`, and check every number."""
    found = []
    for start, size in slots:
        if not (type(start) is type(size) is int and 0 <= start <= start + size <= blob.nbytes):
            raise FileError("GPU code lies outside of its member")
        binary = Binary.unpack(blob[start:start + size].tobytes())
        _check_binary(binary)
        found.append(binary)
    return found


def _check_binary(b: Binary):
    """Raise unless the numbers of a binary are possible."""
    numbers = (b.shared, b.threads, b.clusters, b.scratch, *b.offsets)
    if not all(type(n) is int and 0 <= n < 1 << 20 for n in numbers) or not b.threads or not b.clusters:
        raise FileError("GPU code is damaged")
    size = struct.calcsize(b.layout)
    if b.layout[:1] != "<" or any(o >= size for o in b.offsets) or type(b.name) is not str or b.code[:4] != b"\x7fELF":
        raise FileError("GPU code is damaged")
