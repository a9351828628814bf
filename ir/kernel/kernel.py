"""Kernel: one fused loop nest as plain data. Program: kernels in order over planned buffers.

A kernel has parallel dims, then reduce dims. Its stages run in order for every point of the parallel dims:

    point   once per parallel point
    sweep   once for every point of the reduce dims, in any order; `reduce` folds a value over the sweep, and its result
            is there from the next stage on; `scan` gives the running fold, the element itself included

A kernel without reduce dims is elementwise: one point stage. A value of a sweep is seen in that sweep only; a value of a
point stage is seen by all later stages. What must outlive a sweep is stored and loaded again (an "out" buffer may be read
in later stages, at the indices where it was written).

Sizes and strides are ints or names: named ones (`symbols`) are given when the kernel is launched. Strides count elements.

    kernel softmax {
      parallel i: rows
      reduce k: cols
      in x: f32[rs, 1]
      out y: f32[rs, 1]
      sweep:
        v: f32 = load x
        m: f32 = reduce v [max]
      sweep:
        ...
    }

Instructions:

    load      an element of a buffer; arguments replace the loop's indices in the named dims
    store     an element of a buffer
    const     a number
    index     the index of a dim, i64
    size      the size of a dim, i64
    cast      to another dtype
    reduce    a fold of KINDS; `spread` sums squares about the mean, `exp_sum` exp(x - largest) (floats on GPUs)
    scan      a running sum or prod
    NAME      every scalar function of the code generator

Reductions have one fixed tree per logical size (passes/codegen/llvm/loops/reduce.py states it), whatever the layout, the
instruction set or the number of threads.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from ..cached_property import cached_property
from ..dtype import DType
from ..errors import GraphError

SPREAD, EXP_SUM = "spread", "exp_sum"        # sums about the mean and below the maximum, in one sweep
KINDS = ("sum", "prod", "max", "min", "any", "all", "argmax", "argmin", SPREAD, EXP_SUM)
POINT, SWEEP = "point", "sweep"
LOAD, STORE, CONST, CAST, FOLD = "load", "store", "const", "cast", "reduce"
Size = int | str


@dataclass(frozen=True)
class Dim:
    """One loop: its name and its extent."""

    name: str
    extent: Size
    reduce: bool = False


@dataclass(frozen=True)
class Buffer:
    """An array operand: one stride per dim of the kernel, in elements.

    role: "in", "out" or "inout".
    """

    name: str
    dtype: DType
    strides: tuple[Size, ...]
    role: str = "in"

    @property
    def written(self) -> bool:
        return self.role != "in"


@dataclass(frozen=True)
class Instr:
    """One instruction in SSA form. `attr` is its buffer, number, dim or kind."""

    name: str
    op: str
    dtype: DType
    args: tuple[str, ...] = ()
    attr: Any = None


@dataclass(frozen=True)
class Stage:
    """Instructions that run per parallel point, or over the reduce dims."""

    over: str
    body: tuple[Instr, ...]


@dataclass(frozen=True)
class Kernel:
    """One fused loop nest."""

    name: str
    dims: tuple[Dim, ...]
    buffers: tuple[Buffer, ...]
    stages: tuple[Stage, ...]

    def __str__(self):
        return to_text(self)

    def __hash__(self):
        return self._hash

    def __getstate__(self):
        return {name: x for name, x in self.__dict__.items() if name != "_hash"}        # (another process has other hashes)

    @cached_property
    def _hash(self) -> int:
        return hash((self.name, self.dims, self.buffers, self.stages))

    @cached_property
    def parallel(self) -> tuple[Dim, ...]:
        return tuple(d for d in self.dims if not d.reduce)

    @cached_property
    def reduce(self) -> tuple[Dim, ...]:
        return tuple(d for d in self.dims if d.reduce)

    @cached_property
    def symbols(self) -> tuple[str, ...]:
        """Return names of sizes and strides that the launch gives, in order of first use."""
        sizes = [d.extent for d in self.dims] + [s for b in self.buffers for s in b.strides]
        return tuple(dict.fromkeys(s for s in sizes if isinstance(s, str)))

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Return names of the buffers, in order."""
        return tuple(b.name for b in self.buffers)

    def buffer(self, name: str) -> Buffer:
        return next(b for b in self.buffers if b.name == name)

    def instructions(self) -> Iterator[Instr]:
        for stage in self.stages:
            yield from stage.body


@dataclass(frozen=True)
class Slot:
    """The place of a program's array: `where` is a byte offset into the arena, or an argument number; `offset` counts bytes
    there.

    Arguments are the arrays that the caller gives: inputs, parameters and results alike.
    """

    kind: str  # "arena" or "argument"
    where: int
    bytes: int = 0
    offset: int = 0


@dataclass(frozen=True)
class Step:
    """One kernel of a program, the slot of each of its buffers, and the values of its symbols.

    A symbol's value is an int, or the name of one of the program's own symbols. Kernels written by hand (matmul templates and
    the like) stand beside Kernels: they have a name, symbols, and `write(module)`.
    """

    kernel: Any
    slots: tuple[str, ...]
    symbols: dict[str, Size] = field(default_factory=dict)


@dataclass(frozen=True)
class Program:
    """Kernels in the order they run, over named slots; the arena is one allocation of `arena_bytes`."""

    name: str
    steps: tuple[Step, ...]
    slots: dict[str, Slot]
    arena_bytes: int = 0
    symbols: tuple[str, ...] = ()

    def __str__(self):
        head = [f"program {self.name}({', '.join(self.symbols)}) arena={self.arena_bytes} {{"]
        for n, s in self.slots.items():
            head.append(f"  {n}: {s.kind} {s.where}{f' + {s.offset}' if s.offset else ''} ({s.bytes} bytes)")
        for step in self.steps:
            given = [f"{n}={v}" for n, v in step.symbols.items()]
            head.append(f"  {step.kernel.name}({', '.join([*step.slots, *given])})")
        return "\n".join([*head, "}"])

    @property
    def arguments(self) -> int:
        """Return the number of arrays that the caller gives."""
        return max((s.where + 1 for s in self.slots.values() if s.kind == "argument"), default=0)


def to_text(kernel: Kernel) -> str:
    """Return the kernel as readable text, one instruction a line."""
    lines = [f"kernel {kernel.name} {{"]
    lines += [f"  {'reduce' if d.reduce else 'parallel'} {d.name}: {d.extent}" for d in kernel.dims]
    lines += [f"  {b.role} {b.name}: {b.dtype.short}[{', '.join(map(str, b.strides))}]" for b in kernel.buffers]
    for stage in kernel.stages:
        lines.append(f"  {stage.over}:")
        lines += ["    " + instr_text(i) for i in stage.body]
    return "\n".join([*lines, "}"])


def instr_text(i: Instr) -> str:
    """Return one instruction as text."""
    operands = " ".join(i.args)
    attr = "" if i.attr is None else f" [{i.attr}]" if i.args else f" {i.attr}"
    if i.op == "store":
        return f"store {i.args[0]} -> {i.attr}"
    return f"{i.name}: {i.dtype.short} = {i.op}{' ' + operands if operands else ''}{attr}"


def verify(kernel: Kernel) -> Kernel:
    """Return the kernel if it keeps every rule, else raise a GraphError that names the broken one."""
    order = [d.reduce for d in kernel.dims]
    if order != sorted(order):
        _fail(kernel, "parallel dims come before reduce dims")
    for b in kernel.buffers:
        if len(b.strides) != len(kernel.dims):
            _fail(kernel, f"buffer {b.name} has {len(b.strides)} strides for {len(kernel.dims)} dims")
    defined: set[str] = set()
    names = {b.name for b in kernel.buffers}
    for stage in kernel.stages:
        if stage.over == SWEEP and not kernel.reduce:
            _fail(kernel, "a sweep needs a reduce dim")
        _verify_stage(kernel, stage, defined, names)
    return kernel


def _verify_stage(kernel, stage, defined, buffers):
    local = set(defined)
    folded = set()
    for i in stage.body:
        for a in i.args:
            if a not in local:
                _fail(kernel, f"{instr_text(i)}: {a} is not defined here")
        if i.op in ("load", "store") and buffer_of(i) not in buffers:
            _fail(kernel, f"{instr_text(i)}: no such buffer")
        if i.op == "store" and not kernel.buffer(i.attr).written:
            _fail(kernel, f"{instr_text(i)}: the buffer is only read")
        if i.op == "reduce":
            if i.attr not in KINDS or stage.over != SWEEP:
                _fail(kernel, f"{instr_text(i)}: reduces in a sweep, by one of {', '.join(KINDS)}")
            folded.add(i.name)
        elif i.op != "store":
            if i.name in local or i.name in folded:
                _fail(kernel, f"{i.name} is defined twice")
            local.add(i.name)
    defined |= folded if stage.over == SWEEP else local


def buffer_of(i: Instr) -> str:
    """Return the buffer that a load or a store names."""
    return str(i.attr[0] if isinstance(i.attr, tuple) else i.attr)


def _fail(kernel, message):
    raise GraphError(f"kernel {kernel.name}: {message}\n{to_text(kernel)}")
