"""Compiled kernels of eager mode: shape-generic, cached in memory and on disk, called on NumPy arrays.

    exp = unary("exp", float32);            y = exp(x)
    add = binary("add", float32);           add(x, y, out=z)
    total = reduction("sum", float32);      total(x, (1,))
    soft = rowop("softmax", float32);       y = soft(x)

An elementwise kernel takes arrays of any broadcastable shapes and any strides, and its results have their memory order
(`ir/dim_order.py`); contiguous arrays of one shape go straight to native code. Values depend on the elements alone, not on
shape, strides or threads.
"""

import functools
from typing import Any

import numpy as np

from ....ir import dim_order
from ....ir import dtype as dt
from ....ir.cached_property import cached_property
from ....ir.errors import ArgumentError, DTypeError
from ....ir.kernel.kernel import Kernel
from ....ir.kernel.kernel_builder import KernelBuilder, result_of
from ....passes.codegen import row_kernels, scalars
from ....passes.codegen.llvm.loops import streaming
from ....passes.codegen.llvm.loops.strategies import STREAMING, suited
from ..calls import kernel_steps
from ..calls.kernel_entry import entries, planned_entry
from ..memory.alloc import SMALL_BYTES, empty, empty_in_order
from . import copies
from .row_calls import Reduction, RowOp

ADAPTER_RANKS = 5  # ranks 0 .. 4 have adapters of their own; more dims are merged first
_SHORT = 4  # extent from which a dim may be that of the lanes
_MAX_PLANS = 4096  # cached operand layouts per kernel


class Elementwise:
    """A scalar expression over arrays. `build(k, *values)` writes it with a KernelBuilder."""

    def __init__(self, name: str, inputs, outputs, build):
        self.name, self.inputs, self.build = name, tuple(inputs), build
        self.outputs = tuple(outputs)
        self.out = self.outputs[0].np
        self._several = len(self.outputs) > 1
        self._kernels: dict[tuple, Kernel] = {}
        self._strided: dict[tuple, int] = {}
        self._plans: dict[tuple, tuple] = {}
        self._sweep_plans: dict[tuple, Any] = {}
        self._number_plans: dict[tuple, tuple] = {}

    def kernel(self, rank: int = 1, classes=None) -> Kernel:
        """Return the kernel over `rank` dims; `classes` has each operand's innermost stride: 1, 0, -1 or None (any)."""
        key = rank, classes or (1,) * (len(self.inputs) + len(self.outputs))
        kernel = self._kernels.get(key)
        if kernel is None:
            kernel = self._kernels[key] = self._written(*key)
        return kernel

    def _written(self, rank, classes) -> Kernel:
        k = KernelBuilder(self.name)
        for d in range(rank):
            k.parallel(f"d{d}", f"n{d}")
        dtypes = (*self.inputs, *self.outputs)
        for b, (kind, inner) in enumerate(zip(dtypes, classes)):
            last = f"s{b}_{rank - 1}" if inner is None else inner
            strides = [*(f"s{b}_{d}" for d in range(rank - 1)), last]
            (k.input if b < len(self.inputs) else k.output)(f"b{b}", kind, strides)
        with k.point():
            values = self.build(k, *(k.load(f"b{b}") for b in range(len(self.inputs))))
            for b, v in enumerate(values if isinstance(values, tuple) else (values,), len(self.inputs)):
                k.store(v.to(dtypes[b]), f"b{b}")
        return k.build()

    @cached_property
    def adapters(self):
        """Native entries by rank, for contiguous arrays of one shape: inputs, then outputs."""
        return self._entries(None)

    @cached_property
    def streaming_adapters(self):
        """The same for results too large for caches."""
        return self._entries(STREAMING)

    def _entries(self, how):
        kernel, count = self.kernel(), len(self.inputs) + len(self.outputs)
        ranks = {f"door{r}": (r,) * count for r in range(ADAPTER_RANKS)}
        rules = {f"door{r}": {"n0": ("sizes", count - 1, 0, r)} for r in range(ADAPTER_RANKS)}
        made = entries(kernel, ranks, rules, how)
        return [made[f"door{r}"] for r in range(ADAPTER_RANKS)]

    def _large(self, first, arrays):
        """Return the result of large contiguous arrays of one shape, in memory of its own; None for others."""
        out = empty(first.shape, self.out)
        (self.streaming_adapters if out.nbytes >= streaming.WORTH else self.adapters)[out.ndim](*arrays, out)
        return out

    @cached_property
    def one(self):
        """A faster call for one array."""
        adapters, kind, general, make = self.adapters, self.out, self.__call__, np.empty

        def run(x):
            if x.ndim >= ADAPTER_RANKS or not x.flags.c_contiguous:
                return general(x)
            if x.nbytes >= SMALL_BYTES:
                return self._large(x, (x,))
            out = make(x.shape, kind)
            adapters[x.ndim](x, out)
            return out

        return run

    @cached_property
    def over(self):
        """A function that replaces a contiguous array by its result of the same dtype."""
        adapters, general = self.adapters, self.general

        def run(x):
            if x.ndim < ADAPTER_RANKS:
                adapters[x.ndim](x, x)
            else:
                general((x,), x)

        return run

    @cached_property
    def two(self):
        """A faster call for two large arrays of one shape."""
        general = self.__call__

        def run(x, y):
            if (x.shape == y.shape and x.ndim < ADAPTER_RANKS and x.nbytes >= SMALL_BYTES and x.flags.c_contiguous
                    and y.flags.c_contiguous):
                return self._large(x, (x, y))
            return general(x, y)

        return run

    def __call__(self, *arrays, out=None):
        first = arrays[0]
        shape = first.shape
        rank = len(shape)
        if rank >= ADAPTER_RANKS or self._several:
            return self.general(arrays, out)
        for a in arrays:
            if a.shape != shape or not a.flags.c_contiguous:
                return self.general(arrays, out)
        if out is None:
            if first.nbytes >= SMALL_BYTES:
                return self._large(first, arrays)
            out = np.empty(shape, self.out)
        elif out.shape != shape or not out.flags.c_contiguous:
            return self.general(arrays, out)
        self.adapters[rank](*arrays, out)
        return out

    def general(self, arrays, out=None):
        """Run on any broadcastable shapes, any strides, several outputs (`out` is then a tuple)."""
        for a in arrays:
            if a.__class__ is not np.ndarray:
                arrays = [np.asarray(a) for a in arrays]  # numpy scalars
                break
        outs = None if out is None else out if isinstance(out, tuple) else (out,)
        key = tuple([(a.shape, a.strides) for a in (*arrays, *(outs or ()))])
        shape, order, transposed, entry, plan = self._plans.get(key) or self._plan(key, arrays, outs)
        if outs is None:
            outs = tuple([empty_in_order(shape, d.np, order) for d in self.outputs])
            if transposed:
                arrays = [copies.in_order(a, order) if copied else a for a, copied in zip(arrays, transposed)]
        if entry is not None:
            entry(*arrays, *outs, plan)
        return outs if len(outs) > 1 else outs[0]

    def sweep(self, outs, arrays, numbers):
        """Run on arrays of one shape and numbers (arrays without dims); results replace the first of the arrays."""
        for a in (*outs, *arrays):
            if not a.flags.c_contiguous:
                return self.general((*outs, *arrays, *numbers), outs)
        key = outs[0].shape, len(arrays)
        found = self._sweep_plans.get(key)
        if found is None:
            operands = (*outs, *arrays, *numbers)
            found = self._plan(tuple([(a.shape, a.strides) for a in (*operands, *outs)]), operands, outs)[-2:]
            self._sweep_plans[key] = found
        entry, plan = found
        if entry is not None:
            entry(*outs, *arrays, *numbers, *outs, plan)
        return outs

    def with_numbers(self, arrays, numbers):
        """Run on arrays of one shape and numbers (arrays without dims; lists of both): a faster `general`."""
        shape = arrays[0].shape
        for a in arrays:
            if a.shape != shape or not a.flags.c_contiguous:
                return self.general((*arrays, *numbers))
        key = shape, len(arrays)
        found = self._number_plans.get(key)
        if found is None:
            operands = (*arrays, *numbers)
            found = self._number_plans[key] = self._plan(tuple([(a.shape, a.strides) for a in operands]), operands, None)[-2:]
        entry, plan = found
        out = empty(shape, self.out)
        if entry is not None:
            entry(*arrays, *numbers, out, plan)
        return out

    def _plan(self, key, arrays, outs):
        """Return the plan for operands of these shapes and strides. It is (shape of the result, order of its dims in memory,
        operands to copy into that order first, native entry, its words)."""
        shape = np.broadcast_shapes(*(a.shape for a in arrays))
        for o in outs or ():
            if o.shape != shape:
                raise ArgumentError(f"{self.name}: out has shape {list(o.shape)}, the operands give {list(shape)}")
        order, entry, plan = dim_order.agreed(shape, _steps(shape, (*arrays, *(outs or ())))), None, None
        fresh, transposed = outs is None, [outs is None and _is_transposed(a, order) for a in arrays]
        if fresh:
            arrays = [empty_in_order(a.shape, a.dtype, order, np.empty) if t else a for a, t in zip(arrays, transposed)]
            outs = tuple([empty_in_order(shape, d.np, order, np.empty) for d in self.outputs])
        if 0 not in shape:
            operands = (*arrays, *outs)
            merged, strides = merge_dims(shape, operands, order)
            kernel, address = self._strided_kernel(merged, tuple(_inner_class(s[-1]) for s in strides), fresh)
            values = {f"n{d}": n for d, n in enumerate(merged)}
            values |= {f"s{b}_{d}": n for b, steps in enumerate(strides) for d, n in enumerate(steps)}
            plan = np.array([address, *(values[s] for s in kernel.symbols)], np.int64)
            entry = planned_entry(self.name, tuple((a.dtype, a.ndim) for a in arrays), tuple((o.dtype, o.ndim) for o in outs))
        if len(self._plans) >= _MAX_PLANS:
            self._plans.clear()
            self._sweep_plans.clear()
            self._number_plans.clear()
        found = self._plans[key] = (shape, order, transposed if True in transposed else None, entry, plan)
        return found

    def _strided_kernel(self, merged, classes, fresh):
        """Return (kernel, address) for sizes and the classes of the innermost strides; `fresh` results are not read."""
        kernel = self.kernel(len(merged), classes)
        how = suited(kernel, merged) if fresh else None
        key = len(merged), classes, how
        if key not in self._strided:
            self._strided[key] = kernel_steps.address_of(kernel, how)
        return kernel, self._strided[key]


def _inner_class(stride):
    return stride if stride in (-1, 0, 1) else None


def _lane_worth(size, steps):
    """Return how good a dim is for the lanes: not too short, unit strides (or none) in most arrays, else small ones."""
    return min(size, _SHORT) * (1 + 2 * sum(s in (-1, 0, 1) for s in steps)), -sum(map(abs, steps))


def _steps(shape, arrays) -> list:
    """Return the strides of each array, in bytes, broadcast to a shape."""
    return [np.broadcast_to(a, shape).strides for a in arrays]


def _is_transposed(array, order) -> bool:
    """Whether an operand is better copied into an order before its elements are read."""
    if array.size < copies.LEAST or array.flags.c_contiguous or (order is not None and array.ndim != len(order)):
        return False
    return copies.is_transposed(array if order is None else array.transpose(order))


def merge_dims(shape, arrays, order=None):
    """Return (merged shape, strides in elements of each array), with the dim that suits the lanes best last. Dims that follow
    each other evenly in every array, in an order (default: C order), become one."""
    steps_of = _steps(shape, arrays)
    sizes, steps = [], []
    for d in range(len(shape)) if order is None else order:
        n, here = shape[d], [s[d] // a.itemsize for s, a in zip(steps_of, arrays)]
        if n == 1:
            continue
        if sizes and all(s == h * n for s, h in zip(steps[-1], here)):
            sizes[-1] *= n
            steps[-1] = here
        else:
            sizes.append(n)
            steps.append(here)
    if not sizes:
        sizes, steps = [1], [[1] * len(arrays)]
    best = max(range(len(sizes)), key=lambda d: (_lane_worth(sizes[d], steps[d]), d))
    for row in (sizes, steps):
        row.append(row.pop(best))
    return tuple(sizes), [tuple(s[i] for s in steps) for i in range(len(arrays))]


def _check(name):
    if name not in scalars.FUNCTIONS and name not in scalars.COMPLEX:
        raise ArgumentError(f"no scalar function {name}; there are {', '.join(sorted(scalars.FUNCTIONS))}")


@functools.lru_cache(None)
def elementwise(name: str, inputs: tuple, outputs: tuple, build) -> Elementwise:
    """Return the kernel of an expression: `build(k, *values)` gives one value, or a tuple, of a KernelBuilder."""
    return Elementwise(name, inputs, outputs, build)


@functools.lru_cache(None)
def function(name: str, *dtypes) -> Elementwise:
    """Return the kernel of a scalar function on arguments of the given dtypes (`where` takes a bool first)."""
    _check(name)
    return Elementwise(name, dtypes, (result_of(name, dtypes[-1]),), lambda k, *values: k.call(name, *values))


def unary(name: str, dtype) -> Elementwise:
    """Return the kernel of a scalar function of one argument."""
    return function(name, dtype)


def binary(name: str, dtype) -> Elementwise:
    """Return the kernel of a scalar function of two arguments of one dtype."""
    return function(name, dtype, dtype)


@functools.lru_cache(None)
def cast(source, target) -> Elementwise:
    """Return the kernel of a conversion between dtypes."""
    return Elementwise(f"cast_{source.short}_{target.short}", (source,), (target,), lambda k, x: x.to(target))


_MANY = 1 << 12      # elements from which a compiled conversion is quicker than numpy's, which goes by single bfloats


def converted(array: np.ndarray, dtype) -> np.ndarray:
    """Return an array in another dtype; itself if it has it."""
    if array.dtype == dtype:
        return array
    return array.astype(dtype) if array.size < _MANY else cast(dt.BY_NP[array.dtype], dt.BY_NP[np.dtype(dtype)])(array)


@functools.lru_cache(None)
def reduction(kind: str, dtype, correction=1) -> Reduction:
    """Return the reduction of a kind: sum prod max min any all argmax argmin mean var std norm sumsq."""
    if kind in ("mean", "var", "std", "norm") and not dtype.is_floating_point:
        raise DTypeError(f"{kind} takes floating point types, got {dtype.name}; cast with .to()")
    return Reduction(kind, dtype, correction)


@functools.lru_cache(None)
def _rowop(kind, dtype, params):
    if kind not in row_kernels.ROW_KERNELS:
        raise ArgumentError(f"no row kernel {kind}; there are {', '.join(row_kernels.ROW_KERNELS)}")
    return RowOp(kind, dtype, dict(params))


def rowop(kind: str, dtype, /, **params) -> RowOp:
    """Return a kernel of `passes/codegen/row_kernels.py` along one dim."""
    return _rowop(kind, dtype, tuple(sorted(params.items())))


LOW = (dt.float16.np, dt.bfloat16.np)


def widened(run, rounded: int | None = None, like: int = 0):
    """Return a kernel that computes float16 and bfloat16 in float32. Each result is rounded, or the first `rounded` ones. The
    dtype is that of argument `like`, or of the first array. A result None stays None."""

    def call(*args, **params):
        kind = next(a.dtype for a in args if a is not None) if args[like] is None else args[like].dtype
        if kind not in LOW:
            return run(*args, **params)
        wide = [converted(a, dt.float32.np) if a is not None and a.dtype == kind else a for a in args]
        results = run(*wide, **params)
        if type(results) is not tuple:
            return None if results is None else converted(results, kind)
        narrow = [converted(r, kind) for r in results[:rounded]]
        return (*narrow, *results[len(narrow):])

    return call
