"""Cost model of GPU work: bytes, operations and least time of each launch, from a driver that computes nothing.

    with Ledger() as ledger:        # in a process of its own, since its plans stay in memory
        step(x, y)
        ledger.rows.clear()
        step(x, y)
    print(ledger.table())

Each input and result counts once. Data that a kernel reads in several sweeps counts again if too much is read in between to
stay in the second-level cache (less for a sweep that begins at the end of the one before). Copies and fills beside an
operator's kernel are read and written. Partial sums are written before they are added.
"""

import ctypes
from dataclasses import dataclass, field
from math import prod
from typing import Any

from ....ir.graph.graph import Value
from ....ir.kernel.kernel import LOAD, SWEEP, buffer_of
from ....ir.ops.index import indexing as ix
from ....ir.ops.linalg.products import matmul
from ....ir.ops.nn import attention as at
from ....ir.ops.nn import conv as cv
from ....ir.ops.nn import recurrent as rc
from ....ir.ops.packed import conv_channels_last as last
from ....ir.ops.quantized.scaled_products import matmul8
from ....passes.codegen.triton.loops.reduction_loops import goes_back
from ....passes.schedule.batched_launches import names_at_end
from ..compiler import compile as compiler
from ..compiler import kernels as loops
from ..compiler import launch, precision
from ..driver import driver as library
from ..driver import streams
from ..graph import program
from .planning import Planner

_PAGE = 1 << 21
_FORWARD = frozenset((cv.conv, last.conv_last))
_BACK = frozenset((cv.conv_input_grad, last.conv_last_input_grad))
_ATTENTION = frozenset((at.attention, at.attention_grad, at.dropped_attention, at.dropped_attention_grad))
_FILTERS = frozenset((cv.conv_weight_grad, last.conv_last_weight_grad))
_CONVOLUTIONS = _FORWARD | _BACK | _FILTERS
_STEPS = frozenset((rc.rnn_sequence, rc.lstm_sequence, rc.lstm_states, rc.gru_sequence, rc.gru_states))
_STEPS_BACK = frozenset((rc.rnn_sequence_grad, rc.lstm_sequence_grad, rc.gru_sequence_grad))
_SOURCE = {ix.scatter: 2, ix.scatter_reduce: 2}         # number of the source operand of an update; 1 for others
_NEAR = 24 << 20        # bytes that stay in the second-level cache: half of it
_RESIDENT = 132 * 8     # concurrent programs
_PTX = {"fp32": "f32", "fp64": "f64"}


@dataclass(frozen=True)
class Chip:
    """Rates of a GPU: bytes a second of copies, operations a second by dtype of factors, seconds of a launch in a graph."""

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
        math = self.flops / chip.rates.get(self.dtype, chip.rates["float32"])
        return max((self.read + self.written) / chip.copies, math, len(self.kernels) * chip.launch)

    @property
    def programs(self) -> int:
        return max([prod(grid) for _, grid in self.kernels], default=0)


@dataclass
class _Running:
    """A running step: its kernels, the number of copies, fills and loops among them, their bytes, and bytes of partial sums."""

    step: Any
    kernels: list = field(default_factory=list)
    loops: int = 0
    read: int = 0
    written: int = 0
    parts: int = 0


class DriverLog:
    """Log of driver calls by step; owners of driver calls report each to `_log`."""

    def __init__(self):
        self.rows: list[Row] = []
        self.uploads: list[int] = []        # bytes of each copy from the host
        self._running: _Running | None = None
        self._names: dict = {}              # of loaded kernels, by handle

    def __enter__(self):
        loops.OBSERVERS.append(self._observe)
        loops.LISTENERS.append(self._heard)
        return self

    def __exit__(self, *exc):
        loops.OBSERVERS.remove(self._observe)
        loops.LISTENERS.remove(self._heard)

    def _observe(self, step, run):
        outside, self._running = self._running, _Running(step)
        try:
            run()
            if self._running.kernels:
                row = self._finished(self._running)
                if outside is not None and outside.step.node.op in _FILTERS:
                    outside.parts = outside.parts or row.read
        finally:
            self._running = outside

    def _finished(self, running) -> Row:
        self.rows.append(_row(running))
        return self.rows[-1]

    def _heard(self, prepared):
        """Count the operands of loop kernels in mixed steps; steps of loops alone are counted by their values."""
        if self._running is not None and type(self._running.step) is not program.Launched:
            self._running.loops += len(prepared.launches)
            for buffer, times, size in _traffic(prepared):
                self._running.read += round(times * size)
                self._running.written += size * buffer.written

    def clear(self):
        self.rows.clear()
        self.uploads.clear()

    def _log_moved(self, name, read, written):
        if self._running is not None:
            self._running.loops += 1
            self._running.read += read
            self._running.written += written
        return self._log(name, (1, 1, 1), read, written)

    def _log(self, name, grid, read, written):
        """Log a launch; outside of steps it is a step of its own."""
        if self._running is None:
            self.rows.append(Row(name, ((name, grid),), read, written))
        else:
            self._running.kernels.append((name, grid))
        return 0

    # Driver calls; outside of steps each is a step of its own.

    def cuMemcpyDtoDAsync_v2(self, to, source, size, stream):
        return self._log_moved("copy", size, size)

    def cuMemsetD8Async(self, to, value, count, stream):
        return self._log_moved("fill", 0, count)

    def cuMemsetD32Async(self, to, value, count, stream):
        return self._log_moved("fill", 0, 4 * count)

    def cuLaunchKernelEx(self, config, function, parameters, extra):
        return self._log(self._name_of(function), launch.grid_of(config), 0, 0)

    def _name_of(self, function):
        """Return the name of a loaded kernel."""
        raise NotImplementedError

    # Reports.

    def floor(self, chip: Chip = H100) -> float:
        return sum(r.floor(chip) for r in self.rows)

    def facts(self, chip: Chip = H100) -> dict:
        total_bytes, flops = sum(r.read + r.written for r in self.rows), sum(r.flops for r in self.rows)
        return {"floor": self.floor(chip), "bytes": total_bytes, "flops": flops,
                "launches": sum(len(r.kernels) for r in self.rows), "uploaded": sum(self.uploads)}

    def table(self, chip: Chip = H100, most: int = 40) -> str:
        """Return sums by kind of step, then the slowest steps, with equal ones joined."""
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


class Ledger(DriverLog, Planner):
    """A driver that only logs. Kernels are compiled only if `compiled`."""

    def __init__(self, arch: int = 90, compiled: bool = False):
        Planner.__init__(self, arch)
        DriverLog.__init__(self)
        self.compiled = compiled
        self._top = 1 << 40

    def __enter__(self):
        DriverLog.__enter__(self)
        if not self.compiled:
            compiler.stand_in(_stand_in)
        return Planner.__enter__(self)

    def __exit__(self, *exc):
        DriverLog.__exit__(self, *exc)
        compiler.stand_in(None)
        Planner.__exit__(self, *exc)

    # Driver calls.

    def cuMemGetInfo_v2(self, free, total):
        """Report plenty of memory."""
        free._obj.value = total._obj.value = 1 << 40
        return 0

    def cuMemAlloc_v2(self, out, size):
        """Return addresses without memory."""
        out._obj.value = self._top
        self._top += -(-size // _PAGE) * _PAGE
        return 0

    def cuMemcpyHtoDAsync_v2(self, to, source, size, stream):
        self.uploads.append(size)
        return 0

    def cuMemcpyDtoHAsync_v2(self, to, source, size, stream):
        """Write zeros, since nothing was computed."""
        ctypes.memset(to, 0, size)
        return 0

    def cuStreamIsCapturing(self, stream, out):
        out._obj.value = 0
        return 0

    def _name_of(self, function):
        if function not in self._names:
            self._names[function] = next(b.name for b in compiler.binaries().values() if b.code == self.modules[function])
        return self._names[function]


class Times(DriverLog):
    """The launches of this machine's driver, with events between. Enter it before anything is on a device.

        with Times() as times:
            step(x, y)
            times.clear()
            times.mark()
            step(x, y)
            print(list(zip(times.rows, times.owners)), times.seconds())

    marks   an event for each launch, at its end, the first of all at their beginning
    owners  for each row, which of the launches are its own
    """

    def __init__(self):
        super().__init__()
        self.marks: list[streams.Event] = []
        self.owners: list[list[int]] = []
        self._own: list[list[int]] = [[]]
        self._idle: list[streams.Event] = []

    def __enter__(self):
        raw = library.get().raw
        self._before = dict(raw)
        for name in ("cuLaunchKernelEx", "cuMemcpyDtoDAsync_v2", "cuMemsetD8Async", "cuMemsetD32Async"):
            raw[name] = self._logging(raw[name], getattr(self, name))
        return super().__enter__()

    def __exit__(self, *exc):
        library.get().raw.update(self._before)
        super().__exit__(*exc)

    @staticmethod
    def _logging(function, log):
        def call(*args):
            code = function(*args)
            log(*args)
            return code

        return call

    def _name_of(self, function):
        if function not in self._names:
            self._names |= {f.handle: f.binary.name for f in launch._functions.values()}
        return self._names[function]

    def _observe(self, step, run):
        self._own.append([])
        super()._observe(step, run)
        self._own.pop()

    def _log(self, name, grid, read, written):
        if self._running is None:
            self.owners.append([len(self.marks)])
        else:
            self._own[-1].append(len(self.marks))
        self.mark()
        return super()._log(name, grid, read, written)

    def _finished(self, running):
        self.owners.append(self._own[-1])
        return super()._finished(running)

    def mark(self):
        event = self._idle.pop() if self._idle else streams.Event(True)
        event.record()
        self.marks.append(event)

    def clear(self):
        super().clear()
        self._idle += self.marks
        self.marks, self.owners = [], []

    def seconds(self) -> list[float]:
        """Return the time of each launch, in the order of rows."""
        self.marks[-1].synchronize()
        each = [0.0, *[1e-3 * a.elapsed_time(b) for a, b in zip(self.marks, self.marks[1:])]]
        return [each[i] for own in self.owners for i in own]


def _grouped(rows, key, chip) -> list:
    found: dict = {}
    for r in rows:
        found.setdefault(key(r), []).append(r)
    return sorted(found.items(), key=lambda item: -_seconds(item[1], chip))


def _seconds(rows, chip) -> float:
    return sum(r.floor(chip) for r in rows)


def _stand_in(variant) -> compiler.Binary:
    """Return a placeholder of machine code with Triton's parameter layout."""
    kinds = [t for t in variant.signature().values() if t != "constexpr"]
    types = ["u64" if k[0] == "*" else _PTX.get(k, k.replace("i", "s")) for k in [*kinds, "*i8", "*i8"]]
    ptx = ",".join(f".param .{t} k_param_{i}" for i, t in enumerate(types))
    layout, offsets = compiler.parameter_layout(f".visible .entry k({ptx}\n)", kinds)
    return compiler.Binary(variant.key().encode(), variant.source.name, 0, 32 * variant.warps, 1, 0, layout, offsets)


# Bytes of steps.


def _row(running) -> Row:
    step, kernels = running.step, tuple(running.kernels)
    if type(step) is program.Launched:
        return Row("fused", kernels, *_of_kernel(step))
    if type(step) is program.LaunchedTogether:
        traffic = ([(sum(map(_bytes, set(s.reads))), sum(map(_bytes, set(s.writes)))) for s in step.steps] if step.are_ends
                   else [_of_kernel(m) for m in step.members])
        kind = f"fused, {len(traffic)} {'ends' if step.are_ends else 'alike'}"
        return Row(kind, kernels, sum([read for read, _ in traffic]), sum([written for _, written in traffic]))
    node = step.node
    values = [x for x in node.inputs if type(x) is Value]
    read, written = {x: _bytes(x) for x in values}, sum(map(_bytes, node.outputs))
    if type(step) is program.Multiplied:
        for x, before in zip(node.inputs, step.source.epilogue.before):
            if before is not None:
                del read[x]
                read |= {v: _bytes(v) for v, *_ in before.operands}
        others = step.source.epilogue.others
        read |= {v: _bytes(v) for v in step.source.epilogue_reads}
        written = sum(_bytes(v) for v in (step.source.epilogue.result, *others))
    if "updates" in node.op.traits:         # a copy of the base is counted separately
        del read[values[0]]
        written = _bytes(node.inputs[_SOURCE.get(node.op, 1)])
    flops = _flops(node)
    factors = values if node.op in _ATTENTION else reversed(values)       # (statistics of rows come last, states first)
    kind = next((v.dtype.name for v in factors if v.dtype.is_inexact), "") if flops else ""
    how = precision.of_convolutions() if node.op in _CONVOLUTIONS else precision.of_products()
    kind = how if kind == "float32" and how != "ieee" else kind
    shapes = " x ".join("x".join(map(str, x.shape)) for x in values[:2])
    if running.loops == len(kernels):
        return Row(node.op.name, kernels, running.read, running.written, flops, kind, shapes)
    read_in_all, written_in_all = sum(read.values()) + running.read, (running.parts or written) + running.written
    return Row(node.op.name, kernels, read_in_all, written_in_all, flops, kind, shapes)


def _of_kernel(step) -> tuple:
    """Return (bytes read, bytes written) of a fused kernel; buffers that share a value count it once."""
    read: dict = {}
    written: dict = {}
    late = names_at_end(step.kernel.kernel) if step.step.ends_apart else ()
    for (buffer, times, size), (value, _) in zip(_traffic(step.kernel), step.operands):
        if buffer.name in late:
            continue                # (counted with the end)
        whole, (so_far, most) = _bytes(value), read.get(value, (0, 0))
        most = max(most, times)
        read[value] = min(so_far + round(times * size), round(most * whole)), most
        if buffer.written:
            written[value] = min(written.get(value, 0) + size, whole)
    return sum([n for n, _ in read.values()]), sum(written.values())


def _traffic(prepared) -> list:
    """Return (buffer, times that it is read, bytes) of a kernel's buffers."""
    kernel, sizes = prepared.kernel, prepared.sizes

    def number(n):
        return sizes[n] if isinstance(n, str) else n

    extents = [number(d.extent) for d in kernel.dims]
    once = {b.name: b.dtype.itemsize * prod([n for n, s in zip(extents, b.strides) if number(s)]) for b in kernel.buffers}
    stages = [s for s in kernel.stages if s.over == SWEEP]
    swept = [{buffer_of(i) for i in s.body if i.op == LOAD and not i.args} for s in stages]
    shares = [_fetched(prepared, s, sum([once[n] for n in names])) for s, names in zip(stages, swept)]
    times = {n: sum([share for names, share in zip(swept, shares) if n in names]) for n in once}
    return [(b, times[b.name] if b.written else max(1, times[b.name]), once[b.name]) for b in kernel.buffers]


def _fetched(prepared, stage, swept: int) -> float:
    """Return the share of data that a sweep over so many bytes fetches from memory.

    A backward sweep finds its first data in the cache; the distance to earlier reads grows twice as fast.
    """
    between = _between(prepared, swept)
    if between <= _NEAR:
        return 0
    back = len(prepared.launches) == 1 and goes_back(prepared.kernel, stage)
    return 1 - _NEAR / (2 * between) if back else 1


def _between(prepared, swept: int) -> int:
    """Return the bytes read between two reads of the same data, in a sweep of so many bytes."""
    first = prepared.launches[0]
    if len(prepared.launches) > 1:
        return swept                    # each sweep is a launch
    if dict(first.launch.constants)["COLS"] >= prod(_extents(prepared)):
        return 0                        # whole rows are held
    return swept * min(_RESIDENT, first.launch.grid[0]) // first.launch.grid[0]


def _extents(prepared) -> list:
    return [prepared.sizes[d.extent] if isinstance(d.extent, str) else d.extent for d in prepared.kernel.reduce]


def _bytes(value) -> int:
    return value.aval.size * value.dtype.itemsize


def _flops(node) -> int:
    """Return the multiplications and additions of tensor-core work."""
    shapes = [x.shape for x in node.inputs if type(x) is Value]
    if node.op in (matmul, matmul8):
        return 2 * prod(node.output.shape) * shapes[0][-1]
    if node.op in _FORWARD | _BACK:
        return 2 * prod(node.output.shape if node.op in _FORWARD else shapes[0]) * prod(shapes[1][1:])
    if node.op in _FILTERS:
        return 2 * prod(shapes[1]) * prod(node.output.shape[1:])
    if node.op in _STEPS:
        return node.op.flops(node.inputs, node.outputs, node.params)
    if node.op in _STEPS_BACK:          # the gradient of weights is a product, with a row of its own
        return node.op.flops(node.inputs, node.outputs, node.params) // 2
    if node.op in _ATTENTION:
        first = node.op in (at.attention_grad, at.dropped_attention_grad)
        scores = prod(shapes[first][:-1]) * shapes[first + 1][-2] // (2 if node.params["causal"] else 1)
        return (10 if first else 4) * scores * shapes[first][-1]
    return 0
