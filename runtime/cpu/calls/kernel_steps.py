"""Loop kernels as steps of native calls, and the few that several operators share: move, fill, convert, check numbers.

`buffers` of a step are words (`step_list.py`) in the order of the kernel's buffers. Strides of arrays are in bytes.
"""

import functools

import numpy as np

from ....ir import dtype as dt
from ....ir.kernel.kernel import Kernel
from ....ir.kernel.kernel_builder import KernelBuilder
from ....ir.reference.scalar_functions import as_kind
from ..compiler import compile
from .kernel_entry import kernel_text
from .step_list import At, NativeStep, Status, Table


@functools.lru_cache(4096)
def address_of(kernel: Kernel, how=None) -> int:
    """Return the address of the compiled kernel; `how` is a strategy of the code generator."""
    return compile.compile_module(kernel_text(kernel, how), [kernel.name])[kernel.name]


def step(kernel: Kernel, buffers, how=None, **symbols) -> NativeStep:
    """Return a kernel on buffers as a step; `symbols` are its sizes and strides (in elements)."""
    return NativeStep(address_of(kernel, how), (*buffers, *[symbols[s] for s in kernel.symbols], 0, 0))


def words_of(numbers) -> np.ndarray:
    """Return the bytes of an array as 64-bit integers, padded with zeros."""
    whole = np.zeros(-(-numbers.nbytes // 8) * 8, np.uint8)
    whole[:numbers.nbytes] = np.frombuffer(numbers.tobytes(), np.uint8)
    return whole.view(np.int64)


# Moving and filling.


@functools.lru_cache(256)
def _move(size: int, rank: int, inner: tuple) -> Kernel:
    kind = {1: dt.int8, 2: dt.int16, 4: dt.int32, 8: dt.int64}[size]
    k = KernelBuilder(f"move_{size}_{rank}_{'_'.join(map(str, inner))}")
    for d in range(rank):
        k.parallel(f"d{d}", f"n{d}")
    for b, make, unit in (("x", k.input, inner[0]), ("y", k.output, inner[1])):
        make(b, kind, [*[f"{b}{d}" for d in range(rank - 1)], f"{b}{rank - 1}" if unit is None else unit])
    with k.point():
        k.store(k.load("x"), "y")
    return k.build()


def move(shape, item: int, source, source_strides, target, target_strides) -> NativeStep:
    """Copy elements of `item` bytes (16: pairs of 8) between arrays of one shape and any strides in bytes."""
    if item == 16:
        shape, item = (*shape, 2), 8
        source_strides, target_strides = (*source_strides, 8), (*target_strides, 8)
    sizes, a, b = joined(shape, [s // item for s in source_strides], [s // item for s in target_strides])
    inner = tuple([s if s in (0, 1) else None for s in (a[-1], b[-1])])
    named = {f"{name}{d}": s for name, found in (("n", sizes), ("x", a), ("y", b)) for d, s in enumerate(found)}
    return step(_move(item, len(sizes), inner), (source, target), **named)


@functools.lru_cache(256)
def _add(kind, rank: int, inner: tuple) -> Kernel:
    k = KernelBuilder(f"add_{kind.name}_{rank}_{'_'.join(map(str, inner))}")
    for d in range(rank):
        k.parallel(f"d{d}", f"n{d}")
    for b, of, make, unit in (("x", "x", k.input, inner[0]), ("y", "y", k.input, inner[1]), ("z", "y", k.output, inner[1])):
        make(b, kind, [*[f"{of}{d}" for d in range(rank - 1)], f"{of}{rank - 1}" if unit is None else unit])
    with k.point():
        k.store(k.load("y") + k.load("x"), "z")
    return k.build()


def add(shape, kind, source, source_strides, target, target_strides) -> NativeStep:
    """Add elements to those of another array of the shape; strides are in bytes."""
    item = kind.itemsize
    sizes, a, b = joined(shape, [s // item for s in source_strides], [s // item for s in target_strides])
    inner = tuple([s if s in (0, 1) else None for s in (a[-1], b[-1])])
    named = {f"{name}{d}": s for name, found in (("n", sizes), ("x", a), ("y", b)) for d, s in enumerate(found)}
    return step(_add(kind, len(sizes), inner), (source, target, target), **named)


def copy_of(x, number: int, out, result: int) -> NativeStep:
    """Return the copy of an operand that starts an update, for a result outside of that operand's memory."""
    return move(x.shape, out.dtype.itemsize, At(number), x.strides, At(result), out.strides)._replace(apart=True)


def over_first(x, out, result: int) -> tuple:
    """Return the `over` of an update (`NativeCall`): the result may be written over the first operand if that is in C order."""
    in_rows = all(n == 1 or s == t for n, s, t in zip(x.shape, x.strides, out.strides))
    return ((result, 0),) if in_rows else ()


def joined(shape, a, b):
    """Return sizes and both strides without dims of size 1, with dims merged that follow each other evenly."""
    sizes, x, y = [], [], []
    for n, s, t in zip(shape, a, b):
        if n == 1:
            continue
        if sizes and x[-1] == s * n and y[-1] == t * n:
            sizes[-1], x[-1], y[-1] = sizes[-1] * n, s, t
        else:
            sizes, x, y = [*sizes, n], [*x, s], [*y, t]
    return (sizes, x, y) if sizes else ([1], [1], [1])


@functools.lru_cache(256)
def _fill(kind, bits: bytes) -> Kernel:
    k = KernelBuilder(f"fill_{kind.name}_{bits.hex()}")
    k.parallel("i", "n")
    k.output("y", kind, (1,))
    with k.point():
        k.store(k.const(kind, np.frombuffer(bits, kind.np)[0].item() if kind not in dt.NARROW
                        else float(np.frombuffer(bits, kind.np)[0])), "y")
    return k.build()


def fill(target, count: int, number, kind) -> NativeStep:
    """Store a number in so many elements of a dtype."""
    return step(_fill(kind, as_kind(np.asarray(number), kind.np).tobytes()), (target,), n=count)


@functools.lru_cache(256)
def _convert(kind, gives) -> Kernel:
    k = KernelBuilder(f"convert_{kind.name}_{gives.name}")
    k.parallel("i", "n")
    k.input("x", kind, (1,))
    k.output("y", gives, (1,))
    with k.point():
        k.store(k.load("x").to(gives), "y")
    return k.build()


def convert(source, kind, target, gives, count: int) -> NativeStep:
    """Convert so many elements of one dtype to another."""
    return step(_convert(kind, gives), (source, target), n=count)


# Checking.


@functools.lru_cache(64)
def _outside(kind, ignores: bool) -> Kernel:
    k = KernelBuilder(f"outside_{kind.name}_{int(ignores)}")
    k.reduce("r", "n")
    k.input("x", kind, (1,))
    k.input("bounds", dt.int64, (0,))
    k.input("ignored", dt.int64, (0,))
    k.input("high", dt.int64, (0,))
    k.output("wrong", dt.int64, (0,))
    with k.sweep():
        x = k.load("x").to(dt.int64)
        bad = k.fn.logical_or(k.fn.lt(x, k.load("bounds")), k.fn.ge(x, k.load("high")))
        if ignores:
            bad = k.fn.logical_and(bad, k.fn.ne(x, k.load("ignored")))
        found = k.fold("any", bad)
    with k.point():
        k.store(found.to(dt.int64), "wrong")
    return k.build()


def check_range(numbers, count: int, kind, low: int, high: int, ignored: int | None = None) -> NativeStep:
    """Stop the run unless `count` integers are in low .. high - 1 or `ignored`."""
    bounds = [Table([n]) for n in (low, ignored or 0, high)]
    return step(_outside(kind, ignored is not None), (numbers, *bounds, Status()), n=count)


@functools.lru_cache(16)
def _zero(kind) -> Kernel:
    k = KernelBuilder(f"zero_{kind.name}")
    k.reduce("r", "n")
    k.input("x", kind, (1,))
    k.output("wrong", dt.int64, (0,))
    with k.sweep():
        found = k.fold("any", k.fn.eq(k.load("x"), k.const(kind, 0)))
    with k.point():
        k.store(found.to(dt.int64), "wrong")
    return k.build()


def check_no_zero(numbers, count: int, kind) -> NativeStep:
    """Stop the run if one of `count` integers is 0. Bools are integers of 8 bits."""
    return step(_zero(kind), (numbers, Status()), n=count)


@functools.lru_cache(16)
def _falls(kind) -> Kernel:
    k = KernelBuilder(f"falls_{kind.name}")
    k.reduce("r", "n")
    for name in "xy":
        k.input(name, kind, (1,))
    k.output("wrong", dt.int64, (0,))
    with k.sweep():
        found = k.fold("any", k.fn.lt(k.load("y"), k.load("x")))
    with k.point():
        k.store(found.to(dt.int64), "wrong")
    return k.build()


def check_rising(operand: int, count: int, kind) -> list[NativeStep]:
    """Stop the run unless each of `count` integers is at least the one before."""
    if count < 2:
        return []
    return [step(_falls(kind), (At(operand), At(operand, kind.itemsize), Status()), n=count - 1)]
