"""Base of loop kernels: arguments, addresses, instructions, tasks.

A compiled kernel reads one array of 64-bit slots: the buffers' addresses in order, the symbols in order, then what the launch
computes (`CHUNKS`, `SCRATCH`). Its module defines

    <name>_task(arg, chunk, worker)    the chunk-th part of the work, for the thread pool
    <name>(arg)                        all the work, cut into chunks on the pool if it is large
"""

from collections.abc import Callable
from typing import Any

from .....ir import dtype as dt
from .....ir.kernel.kernel import Instr, Kernel, buffer_of
from .....ir.target import Target
from ... import scalars
from ...cost import instr_cost, kernel_cost
from ...scalars import Val
from ..ir.emit import Module
from ..ir.memory_types import memory_element
from ..ir.spelling import LlvmBuilder
from ..ir.types import I1, I32, I64, PTR, VOID, Value, iota, lanes_of, mangled, struct_of

_LONG = 50          # instructions from which a function that is used again is worth a call
_UNROLLED = 4       # how often a function of a sweep is written, about
CHUNK_COST = 65536  # work of one chunk, in simple instructions on one element
MAX_CHUNKS = 64
POOL = "ingot_pool_run"


class Nest:
    """One kernel being written into a module. Strategies subclass it and write the task."""

    def __init__(self, module: Module, kernel: Kernel):
        self.module, self.kernel = module, kernel
        names = [b.name for b in kernel.buffers]
        self.slots = {n: i for i, n in enumerate([*names, *(f"${s}" for s in kernel.symbols), "#chunks", "#scratch"])}
        self.f: Any = None      # the function being written
        self.loaded: dict[str, Value] = {}
        self.long_functions = _long_functions(kernel)
        self.index_of = {i.name: i.attr for i in kernel.instructions() if i.op == "index"}

    @property
    def target(self) -> Target:
        return self.module.target

    def start(self, function):
        """Begin a function whose first parameter is the slot array; load its slots at entry."""
        self.f = function
        self.arg = function.params[0]
        self.loaded = {name: self.slot(name) for name in self.slots if not name.startswith("#")}

    def slot(self, name: str) -> Value:
        kind = I64 if name[0] in "$#" else PTR
        return self.f.load(kind, self.f.at(self.arg, 8 * self.slots[name]))

    def set_slot(self, name: str, value):
        self.f.store(self.f.index(value), self.f.at(self.arg, 8 * self.slots[name]))

    def number(self, size):
        """Return a size or a stride: the int itself, or the symbol's value."""
        return self.loaded["$" + size] if isinstance(size, str) else size

    def product(self, sizes):
        total = 1
        for s in sizes:
            total = self.f.mul(total, self.number(s))
        return total

    def next_power_of_two(self, count):
        """Return the smallest power of two not below a count of at least 1."""
        f = self.f
        zeros = f.call("llvm.ctlz.i64", I64, f.index(f.sub(count, 1)), Value(I1, "false"))
        return f.select(f.compare("sgt", count, f.index(1)), f.binary("shl", f.index(1), f.index(f.sub(64, zeros))), f.index(1))

    def lanes(self, stages=None) -> int:
        """Return a vector's lanes for the widest type; float32 in float64 takes two vectors, as one waits for its results."""
        widest = 1
        for stage in self.kernel.stages if stages is None else stages:
            for i in stage.body:
                widest = max(widest, self.element_width(i))
        return self.target.vector_bytes // widest

    def element_width(self, i: Instr) -> int:
        """Return the bytes per lane that an instruction works with; counters and indices do not count."""
        dtype = i.dtype
        if i.op in ("load", "store"):
            dtype = self.kernel.buffer(buffer_of(i)).dtype
        elif not dtype.is_inexact:
            return 1
        return 4 if dtype in dt.NARROW else dt.PARTS.get(dtype, dtype).itemsize

    def cost(self) -> int:
        """Return the simple instructions per point of the iteration space."""
        return kernel_cost(self.kernel)

    # --- addresses ---
    def indices(self, flat, dims):
        """Return the index in each of `dims` of a flat row-major index."""
        out = []
        for position in range(len(dims) - 1, -1, -1):
            if position == 0:
                out.append(flat)
                break
            extent = self.number(dims[position].extent)
            out.append(self.f.mod(flat, extent))
            flat = self.f.div(flat, extent)
        return out[::-1]

    def offset(self, buffer, indices: dict):
        """Return the elements from the buffer's start to the point at `indices`; a missing index counts as 0."""
        total = 0
        for dim, stride in zip(self.kernel.dims, buffer.strides):
            if dim.name in indices:
                total = self.f.add(total, self.f.mul(indices[dim.name], self.number(stride)))
        return total

    def pointer(self, buffer, offset) -> Value:
        return self.f.at(self.loaded[buffer.name], offset, memory_element(buffer.dtype))

    # --- memory ---
    def load(self, s: LlvmBuilder, buffer, pointer, stride, mask=None) -> Val:
        """Load the lanes' elements from `pointer` on, `stride` apart (0: the same element in every lane)."""
        dtype = buffer.dtype
        if s.lanes == 1 or stride == 0:
            x = LlvmBuilder(self.f, 1).load(dtype, pointer)
            return x if s.lanes == 1 else s.splat(x)
        if stride == 1:
            return s.load(dtype, pointer, mask)
        if stride == -1:
            first = self.f.at(pointer, 1 - s.lanes, memory_element(dtype))
            return s.mapped(self._backwards, s.load(dtype, first, None if mask is None else self._backwards(mask)))
        return s.gather(dtype, s.pointers(pointer, dtype, self.lane_steps(s, stride)), mask)

    def _backwards(self, value):
        return self.f.shuffle(value, value, range(lanes_of(value.type) - 1, -1, -1))

    def lane_steps(self, s, stride) -> Value:
        """Return each lane's distance from the first, in elements."""
        return self.f.binary("mul", iota(s.lanes, I64), self.f.splat(self.f.index(stride), s.lanes))

    def store(self, s: LlvmBuilder, value: Val, buffer, pointer, stride, mask=None):
        if s.lanes == 1:
            s.store(value, pointer)
        elif stride == 1:
            s.store(value, pointer, mask)
        else:
            s.scatter(value, s.pointers(pointer, buffer.dtype, self.lane_steps(s, stride)), mask)

    # --- instructions ---
    def run(self, s: LlvmBuilder, body, env: dict, where: "Where"):
        """Write a stage's instructions; return reductions and scans as (instr, value) pairs."""
        folds = []
        for i in body:
            args = [self.fetch(s, env, a) for a in i.args]
            if i.op in ("reduce", "scan"):
                folds.append((i, args[0]))
                if i.op == "scan":
                    env[i.name] = where.scan(i, args[0])
            elif i.op == "store":
                where.store(s, i, args[0])
            else:
                env[i.name] = self.compute(s, i, args, where)
        return folds

    def compute(self, s, i: Instr, args, where) -> Val:
        if i.op == "load":
            return where.load(s, i, args)
        if i.op == "const":
            return s.const(i.dtype, i.attr)
        if i.op == "index":
            return where.index(s, i.attr)
        if i.op == "size":
            dim = next(d for d in self.kernel.dims if d.name == i.attr)
            return self.spread(s, Val(None, dt.int64, self.f.index(self.number(dim.extent))))
        if i.op == "cast":
            narrow = i.dtype is dt.int32 and i.args[0] in self.index_of
            return where.index(s, self.index_of[i.args[0]], dt.int32) if narrow else s.cast(args[0], i.dtype)
        return self.apart(s, i, args) if i.op in self.long_functions else scalars.apply(s, i.op, *args)

    def apart(self, s, i: Instr, args) -> Val:
        """Call a long function that the kernel uses several times, as a function of the module."""
        kinds = [p.ref.type for a in args for p in s.pieces(a)]
        name = f"{i.op}_{'_'.join(map(mangled, kinds))}"
        gives = [s.type(dt.PARTS[i.dtype])] * 2 if i.dtype.is_complex else [s.type(i.dtype)]
        if not self.module.has(name):
            f = self.module.function(name, [(kind, f"x{n}") for n, kind in enumerate(kinds)], struct_of(gives), internal=True)
            inner, values = LlvmBuilder(f, s.lanes), iter(f.params)
            made = scalars.apply(inner, i.op, *[inner.mapped(lambda _, values=values: next(values), a) for a in args])
            f.ret(f.packed([p.ref for p in inner.pieces(made)]))
        found = self.f.unpacked(self.f.call(name, struct_of(gives), *[p.ref for a in args for p in s.pieces(a)]), gives)
        return s.wrap(i.dtype, tuple(found) if i.dtype.is_complex else found[0])

    def fetch(self, s: LlvmBuilder, env, name) -> Val:
        """Return a value at the width of `s`."""
        v = env[name]
        return v if v.s.lanes == s.lanes else self.spread(s, v)

    def spread(self, s, v: Val) -> Val:
        return Val(s, v.dtype, v.ref) if s.lanes == 1 else s.splat(v)

    def spread_all(self, s, env, body):
        """Return the earlier values that `body` reads, broadcast to the width of `s` once."""
        used = {a for i in body for a in i.args}
        return {n: self.fetch(s, env, n) if n in used else v for n, v in env.items()}

    def flat_reduce_index(self, s, indices) -> Val:
        """Return the row-major index along all reduce dims, in every lane."""
        flat = 0
        for d in self.kernel.reduce:
            flat = self.f.add(self.f.mul(flat, self.number(d.extent)), indices[d.name])
        return self.spread(s, LlvmBuilder(self.f, 1).wrap(dt.int64, self.f.index(flat)))

    # --- tasks ---
    def share(self, units):
        """Return the half-open range of units of a task's chunk."""
        chunk = self.f.params[1]
        chunks = self.slot("#chunks")
        low = self.f.div(self.f.mul(chunk, units), chunks)
        return low, self.f.div(self.f.mul(self.f.add(chunk, 1), units), chunks)

    def launch(self, units: Callable, work: Callable):
        """Write `<name>(arg)`: as many chunks as the work and the units allow."""
        name = self.kernel.name
        self.start(self.module.function(name, [(PTR, "arg")]))
        self.cut(units(), work(), f"{name}_task")
        self.f.ret()

    def cut(self, units, work, task: str):
        """Run a task over `units`, in as many chunks as `work` (points of the iteration space) is worth."""
        f = self.f
        weighed = f.div(f.mul(work, self.cost()), CHUNK_COST)
        chunks = f.max(f.min(f.min(weighed, units), MAX_CHUNKS), 1)
        self.set_slot("#chunks", chunks)
        self.dispatch(task, chunks)

    def dispatch(self, task: str, chunks):
        """Call a task here, or on the pool if there are several chunks."""
        f = self.f
        zero_index = f.index(0)

        def pooled():
            f.call(POOL, VOID, Value(PTR, f"@{task}"), self.arg, f.index(chunks))

        alone = f.compare("sle", f.index(chunks), f.index(1))
        f.choose(alone, lambda: f.call(task, VOID, self.arg, zero_index, zero_index), pooled)


def _long_functions(kernel) -> frozenset:
    """Return the functions to write once, because the kernel uses them more than once or unrolls them."""
    found: dict = {}
    for i in kernel.instructions():
        if (i.op in scalars.FUNCTIONS or i.op in scalars.COMPLEX) and instr_cost(i) >= _LONG:
            found[i.op] = found.get(i.op, 0) + (_UNROLLED if kernel.reduce and instr_cost(i) >= 3 * _LONG else 1)
    return frozenset([name for name, times in found.items() if times > 1])


class Where:
    """Memory access of a stage's instructions: an index per dim, the lane dim, a mask, a handler of scans.

    `within` adds indices to an outer Where whose addresses are computed already, so a loop body computes only what changes in
    it.
    """

    def __init__(self, nest: Nest, indices: dict, lane_dim: str | None = None, mask=None, scan=None):
        self.nest, self.indices, self.lane_dim, self.mask, self.scan = nest, indices, lane_dim, mask, scan
        self.bases = {b.name: nest.pointer(b, nest.offset(b, indices)) for b in nest.kernel.buffers}

    def within(self, indices: dict, lane_dim=None, mask=None, scan=None) -> "Where":
        inner = Where.__new__(Where)
        inner.nest, inner.indices = self.nest, self.indices | indices
        inner.lane_dim, inner.mask, inner.scan = lane_dim or self.lane_dim, mask or self.mask, scan or self.scan
        nest, f = self.nest, self.nest.f
        inner.bases = {b.name: f.at(self.bases[b.name], nest.offset(b, indices), memory_element(b.dtype))
                       for b in nest.kernel.buffers}
        return inner

    def stride(self, buffer):
        """Return the elements between lanes."""
        if self.lane_dim is None:
            return 0
        position = [d.name for d in self.nest.kernel.dims].index(self.lane_dim)
        return self.nest.number(buffer.strides[position])

    def load(self, s, i, args) -> Val:
        nest, buffer = self.nest, self.nest.kernel.buffer(buffer_of(i))
        if args:
            return self.gather(s, buffer, dict(zip(i.attr[1:], args)))
        return nest.load(s, buffer, self.bases[buffer.name], self.stride(buffer), self.mask)

    def gather(self, s, buffer, at) -> Val:
        """Load at computed indices: one offset per lane."""
        nest, f = self.nest, self.nest.f
        fixed = {n: v for n, v in self.indices.items() if n not in at}
        base = nest.pointer(buffer, nest.offset(buffer, fixed))
        offset = s.const(dt.int64, 0)
        for dim, stride in zip(nest.kernel.dims, buffer.strides):
            if dim.name in at:
                step = nest.spread(s, Val(None, dt.int64, f.index(nest.number(stride))))
                offset = offset + at[dim.name] * step
        if self.lane_dim is not None and self.lane_dim not in at and s.lanes > 1:
            offset = offset + Val(s, dt.int64, nest.lane_steps(s, self.stride(buffer)))
        if s.lanes == 1:
            return s.load(buffer.dtype, f.at(base, offset.ref, memory_element(buffer.dtype)))
        return s.gather(buffer.dtype, s.pointers(base, buffer.dtype, offset.ref), self.mask)

    def store(self, s, i, value):
        nest, buffer = self.nest, self.nest.kernel.buffer(i.attr)
        nest.store(s, value, buffer, self.bases[buffer.name], self.stride(buffer), self.mask)

    def index(self, s, dim, dtype=dt.int64) -> Val:
        """Return the index of each lane's element along a dim; int32 takes half the vectors."""
        f, stored = self.nest.f, I64 if dtype is dt.int64 else I32
        first = f.index(self.indices.get(dim, 0))
        base = self.nest.spread(s, Val(None, dtype, first if stored == I64 else f.cast("trunc", first, I32)))
        if dim != self.lane_dim or s.lanes == 1:
            return base
        return Val(s, dtype, f.binary("add", base.ref, iota(s.lanes, stored)))


__all__ = ["CHUNK_COST", "Nest", "Where"]
