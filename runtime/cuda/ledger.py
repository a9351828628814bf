"""What a GPU is asked to do, launch by launch: the bytes that each must move, its operations, and the least time that takes.
It is found on a driver that does nothing, so no GPU is needed, nothing is computed, and sizes may be any.

    with Ledger() as ledger:        # for a process of its own, since plans of it stay in memory
        step(x, y)
        ledger.rows.clear()
        step(x, y)
    print(ledger.table())

Each input counts once, and so does each result; what is read again because a cache is too small does not count. Copies and
fills that a step makes beside its own kernels count with it.
"""

import ctypes
from dataclasses import dataclass, field
from math import prod
from typing import Any

from ...ir.graph import Value
from ...ir.ops import attention as at
from ...ir.ops import conv as cv
from ...ir.ops.linalg import matmul
from ...ir.ops.scaled import matmul8
from . import compile as compiler
from . import launch, precision, program, transfer
from .planning import Planner

_PAGE = 1 << 21
_CONVOLUTIONS = (cv.conv, cv.conv_input_grad, cv.conv_weight_grad)
_PTX = {"fp32": "f32", "fp64": "f64"}


@dataclass(frozen=True)
class Chip:
    """What a GPU reaches: bytes a second of copies, operations a second by the dtype of factors; seconds of a launch in a
    graph."""

    copies: float
    rates: dict
    launch: float = 2e-6


H100 = Chip(3.0e12, {"bfloat16": 800e12, "float16": 800e12, "tf32": 400e12, "float32": 60e12, "float64": 30e12})


@dataclass(frozen=True)
class Row:
    """One step of a graph: its kernels as (name, grid), the bytes that it reads and writes, and its operations."""

    kind: str
    kernels: tuple
    read: int
    written: int
    flops: int = 0
    dtype: str = ""
    shapes: str = ""

    def floor(self, chip: Chip) -> float:
        """The least seconds that it takes."""
        math = self.flops / chip.rates.get(self.dtype, chip.rates["float32"])
        return max((self.read + self.written) / chip.copies, math, len(self.kernels) * chip.launch)

    @property
    def programs(self) -> int:
        """The most programs that one of its kernels has."""
        return max([prod(grid) for _, grid in self.kernels], default=0)


@dataclass
class _Noted:
    """What a step has asked for: its kernels, how many of them are copies and fills, and the bytes that these move."""

    kernels: list = field(default_factory=list)
    copies: int = 0
    read: int = 0
    written: int = 0

    def copied(self, read, written):
        """A copy or a fill."""
        self.copies += 1
        self.read += read
        self.written += written


class Ledger(Planner):
    """A driver that notes what it is asked. Compiling is left out, unless `compiled`."""

    def __init__(self, arch: int = 90, compiled: bool = False):
        super().__init__(arch)
        self.rows: list[Row] = []
        self.uploads: list[int] = []        # bytes of each copy from the host
        self.compiled = compiled
        self._noted: Any = None             # of the step that runs
        self._named: dict = {}
        self._top = 1 << 40

    def __enter__(self):
        program.OBSERVERS.append(self._observe)
        transfer.OBSERVERS.append(self._observe_copy)
        if not self.compiled:
            compiler.stand_in(_stand_in)
        return super().__enter__()

    def __exit__(self, *exc):
        program.OBSERVERS.remove(self._observe)
        transfer.OBSERVERS.remove(self._observe_copy)
        compiler.stand_in(None)
        super().__exit__(*exc)

    def _observe(self, step, run):
        """Runs a step, and notes it if it launches anything itself."""
        outside, self._noted = self._noted, _Noted()
        try:
            run()
            if self._noted.kernels:
                self.rows.append(_row(step, self._noted))
        finally:
            self._noted = outside

    def _observe_copy(self, read, written):
        """A strided copy, whose launch follows."""
        if self._noted is not None:
            self._noted.copied(read, written)

    def clear(self):
        """Forgets what was noted."""
        self.rows.clear()
        self.uploads.clear()

    # What the driver is asked.

    def cuMemGetInfo_v2(self, free, total):
        """Plenty."""
        free._obj.value = total._obj.value = 1 << 40
        return 0

    def cuMemAlloc_v2(self, out, size):
        """Addresses that nothing lies at."""
        out._obj.value = self._top
        self._top += -(-size // _PAGE) * _PAGE
        return 0

    def cuMemcpyHtoDAsync_v2(self, to, source, size, stream):
        """An upload."""
        self.uploads.append(size)
        return 0

    def cuMemcpyDtoHAsync_v2(self, to, source, size, stream):
        """Zeros: there is nothing to read."""
        ctypes.memset(to, 0, size)
        return 0

    def cuMemcpyDtoDAsync_v2(self, to, source, size, stream):
        """A copy; one outside of steps is a step of its own."""
        return self._moved("copy", size, size)

    def cuMemsetD8Async(self, to, value, count, stream):
        """A fill of bytes."""
        return self._moved("fill", 0, count)

    def cuMemsetD32Async(self, to, value, count, stream):
        """A fill of words."""
        return self._moved("fill", 0, 4 * count)

    def cuStreamIsCapturing(self, stream, out):
        """Nothing is captured."""
        out._obj.value = 0
        return 0

    def cuLaunchKernelEx(self, config, function, parameters, extra):
        """A launch."""
        if function not in self._named:
            self._named[function] = next(b for b in compiler.made().values() if b.code == self.modules[function])
        return self._launched(self._named[function].name, tuple(launch.grid_of(config)), 0, 0)

    def _moved(self, name, read, written):
        if self._noted is not None:
            self._noted.copied(read, written)
        return self._launched(name, (1, 1, 1), read, written)

    def _launched(self, name, grid, read, written):
        if self._noted is None:
            self.rows.append(Row(name, ((name, grid),), read, written))
        else:
            self._noted.kernels.append((name, grid))
        return 0

    # Reports.

    def floor(self, chip: Chip = H100) -> float:
        """The least seconds of all steps."""
        return sum(r.floor(chip) for r in self.rows)

    def facts(self, chip: Chip = H100) -> dict:
        """The sums, as plain numbers."""
        moved, flops = sum(r.read + r.written for r in self.rows), sum(r.flops for r in self.rows)
        return {"floor": self.floor(chip), "bytes": moved, "flops": flops,
                "launches": sum(len(r.kernels) for r in self.rows), "uploaded": sum(self.uploads)}

    def table(self, chip: Chip = H100, most: int = 40) -> str:
        """Sums by kind of step, then the steps that take longest, alike ones together."""
        facts = self.facts(chip)
        lines = [f"{1e3 * facts['floor']:.3f} ms at least: {facts['bytes'] / 1e9:.2f} GB, {facts['flops'] / 1e12:.3f} TFLOP, "
                 f"{facts['launches']} launches, {facts['uploaded']} bytes uploaded", ""]
        for kind, rows in _grouped(self.rows, lambda r: r.kind, chip):
            lines.append(f"{1e3 * _seconds(rows, chip):9.3f} ms  {len(rows):4} x {kind}: "
                         f"{sum(r.read + r.written for r in rows) / 1e9:.3f} GB, {sum(r.flops for r in rows) / 1e12:.3f} TFLOP")
        lines += ["", "us in all, times, MB read and written, GFLOP of one"]
        for row, rows in _grouped(self.rows, lambda r: r, chip)[:most]:
            kernels = ", ".join(f"{name}[{'x'.join(map(str, grid))}]" for name, grid in row.kernels[:4])
            more = f" and {len(row.kernels) - 4} more" if len(row.kernels) > 4 else ""
            lines.append(f"{1e6 * _seconds(rows, chip):9.1f} {len(rows):4} x {row.read / 1e6:9.2f} + {row.written / 1e6:9.2f} "
                         f"{row.flops / 1e9:8.1f}  {row.kind} {row.shapes}: {kernels}{more}")
        return "\n".join(lines)


def _grouped(rows, key, chip) -> list:
    found: dict = {}
    for r in rows:
        found.setdefault(key(r), []).append(r)
    return sorted(found.items(), key=lambda item: -_seconds(item[1], chip))


def _seconds(rows, chip) -> float:
    return sum(r.floor(chip) for r in rows)


def _stand_in(variant) -> compiler.Binary:
    """What stands for machine code: the layout of its parameters is Triton's."""
    kinds = [t for t in variant.signature().values() if t != "constexpr"]
    types = ["u64" if k[0] == "*" else _PTX.get(k, k.replace("i", "s")) for k in [*kinds, "*i8", "*i8"]]
    ptx = ",".join(f".param .{t} k_param_{i}" for i, t in enumerate(types))
    layout, offsets = compiler.parameter_layout(f".visible .entry k({ptx}\n)", kinds)
    return compiler.Binary(variant.key().encode(), variant.source.name, 0, 32 * variant.warps, 1, 0, layout, offsets)


# What steps move.


def _row(step, noted) -> Row:
    kernels = tuple(noted.kernels)
    if type(step) is program.Launched:
        return Row("fused", kernels, *_of_kernel(step))
    node = step.node
    values = [x for x in node.inputs if type(x) is Value]
    read, written = {x: _bytes(x) for x in values}, sum(map(_bytes, node.outputs))
    if type(step) is program.Multiplied:
        for x, before in zip(node.inputs, step.source.epilogue.before):
            if before is not None:
                del read[x]
                read |= {v: _bytes(v) for v, *_ in before.operands}
        others = step.source.epilogue.others
        read |= {v: _bytes(v) for v in step.source.beside}
        written = sum(_bytes(v) for v in (step.source.epilogue.result, *others))
    flops = _flops(node)
    kind = values[-1].dtype.name if flops and values else ""
    how = precision.of_convolutions() if node.op in _CONVOLUTIONS else precision.of_products()
    kind = how if kind == "float32" and how != "ieee" else kind
    shapes = " x ".join("x".join(map(str, x.shape)) for x in values[:2])
    if noted.copies == len(kernels):
        return Row(node.op.name, kernels, noted.read, noted.written, flops, kind, shapes)
    return Row(node.op.name, kernels, sum(read.values()) + noted.read, written + noted.written, flops, kind, shapes)


def _of_kernel(step) -> tuple:
    """(bytes that a fused kernel reads, that it writes)"""
    kernel, sizes = step.kernel.kernel, step.kernel.sizes

    def number(n):
        return sizes[n] if isinstance(n, str) else n

    moved: tuple[dict, dict] = ({}, {})
    for buffer, (value, _) in zip(kernel.buffers, step.operands):
        elements = prod([number(d.extent) for d, s in zip(kernel.dims, buffer.strides) if number(s)])
        table = moved[buffer.written]
        table[value] = min(table.get(value, 0) + elements * buffer.dtype.itemsize, _bytes(value))
    return sum(moved[0].values()), sum(moved[1].values())


def _bytes(value) -> int:
    return value.aval.size * value.dtype.itemsize


def _flops(node) -> int:
    """Multiplications and additions of what tensor cores can do."""
    shapes = [x.shape for x in node.inputs if type(x) is Value]
    if node.op in (matmul, matmul8):
        return 2 * prod(node.output.shape) * shapes[0][-1]
    if node.op in (cv.conv, cv.conv_input_grad):
        return 2 * prod(node.output.shape if node.op is cv.conv else shapes[0]) * prod(shapes[1][1:])
    if node.op is cv.conv_weight_grad:
        return 2 * prod(shapes[1]) * prod(node.output.shape[1:])
    if node.op in (at.attention, at.attention_grad):
        first = node.op is at.attention_grad
        scores = prod(shapes[first][:-1]) * shapes[first + 1][-2] // (2 if node.params["causal"] else 1)
        return (10 if first else 4) * scores * shapes[first][-1]
    return 0
