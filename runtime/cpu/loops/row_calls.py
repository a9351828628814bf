"""Callables of compiled kernels other than elementwise ones: reductions and row operators."""

import math
from typing import Any

import numpy as np

from ....ir.errors import ShapeError
from ....passes.codegen import reduction_kernels, row_kernels
from ....passes.codegen.llvm.loops.strategies import suited
from ..calls import kernel_steps
from ..calls.kernel_entry import entries, planned_entry
from ..memory.alloc import SMALL_BYTES, empty
from . import copies

MAX_PLANS = 4096  # shapes remembered per kernel


class Reduction:
    """A reduction of one kind and dtype over any dims of an array."""

    def __init__(self, kind: str, dtype, correction=1):
        self.kind, self.dtype, self.correction = kind, dtype, correction
        self.result = reduction_kernels.reduction_dtypes(kind, dtype)[1].np
        self._kernels: dict[tuple, Any] = {}
        self._entries: dict[tuple, Any] = {}
        self._plans: dict[tuple, tuple] = {}
        self._ready: dict[tuple, tuple] = {}
        self._strided_plans: dict[tuple, Any] = {}

    def __call__(self, x, dims=None, keepdim=False, out=None):
        """Reduce over `dims` (all of them if None)."""
        if x.__class__ is not np.ndarray:
            x = np.asarray(x)       # numpy's scalars
        if out is None and x.flags.c_contiguous:
            key = x.shape, dims, keepdim
            entry, words, shape, make = self._ready.get(key) or self._make_ready(key)
            out = make(shape, self.result)
            if words is not None:
                entry(x, out, words)
            return out
        return self._general(x, dims, keepdim, out)

    def _make_ready(self, key):
        """Return (native entry, its plan, shape of the result, its allocator) for contiguous arrays; no plan for an empty
        result."""
        (pattern, merged, kept_shape, shape, _), words, entry = self._plan(*key), None, None
        if 0 not in shape:
            kernel, how = self._kernel(pattern, len(merged) - 1, merged)
            values = {f"n{i}": n for i, n in enumerate(merged)}
            values |= {f"s{i}": math.prod(merged[i + 1:]) for i in range(len(merged))}
            parallel_dims = [i for i, c in enumerate(pattern) if c == "P"]
            values |= {f"t{i}": math.prod(kept_shape[d + 1:]) for d, i in enumerate(parallel_dims)}
            words = np.array([kernel_steps.address_of(kernel, how), *[values[s] for s in kernel.symbols]], np.int64)
            entry = planned_entry(kernel.name, ((self.dtype.np, len(key[0])),), ((self.result, len(shape)),))
        if len(self._ready) >= MAX_PLANS:
            self._ready.clear()
        make = np.empty if math.prod(shape) * self.result.itemsize < SMALL_BYTES else empty
        self._ready[key] = found = entry, words, shape, make
        return found

    def _plan(self, shape, dims, keepdim):
        key = shape, dims, keepdim
        plan = self._plans.get(key)
        if plan is None:
            if len(self._plans) >= MAX_PLANS:
                self._plans.clear()
            plan = self._plans[key] = reduction_plan(*key)
        return plan

    def _general(self, x, dims, keepdim, out):
        """Reduce an array of any strides, perhaps into a given one."""
        pattern, merged, kept_shape, shape, ready = self._plan(x.shape, dims, keepdim)
        unit = len(merged) - 1
        if not x.flags.c_contiguous:
            found = self._strided(x.shape, x.strides, x.itemsize, pattern, _reduced(len(x.shape), dims))
            if found is None:
                x = copies.dense(x)
            else:
                pattern, merged, kept_shape, unit, ready = found
        if out is None:
            out = empty(shape, self.result)
        if out.size:
            target = out if out.shape == kept_shape else out.reshape(kept_shape)
            view = x if x.shape == merged else x.reshape(merged)
            entry = ready.get(unit)
            if entry is None:
                entry = ready[unit] = self._entry(pattern, unit, merged)
            entry(view, target)
        return out

    def _strided(self, shape, strides, item, usual, over):
        """Return the plan for an array that is read in place; None if it is better copied."""
        key = shape, strides, over
        if key not in self._strided_plans:
            if len(self._strided_plans) >= MAX_PLANS:
                self._strided_plans.clear()
            self._strided_plans[key] = strided_plan(shape, strides, item, usual, over)
        return self._strided_plans[key]

    def _kernel(self, pattern, unit, merged):
        """Return the kernel for a pattern, and the strategy that suits the sizes."""
        if (pattern, unit) not in self._kernels:
            self._kernels[pattern, unit] = reduction_kernels.reduction(f"{self.kind}_{pattern}", self.kind, self.dtype, pattern,
                                                                       unit,
                                                                       correction=self.correction)
        kernel = self._kernels[pattern, unit]
        return kernel, suited_to(kernel, pattern, merged)

    def _entry(self, pattern, unit, merged):
        """Return the native entry for a pattern and arrays of any strides."""
        kernel, how = self._kernel(pattern, unit, merged)
        if (pattern, unit, how) not in self._entries:
            parallel_dims = [i for i, c in enumerate(pattern) if c == "P"]
            rules = {f"n{i}": ("size", 0, i) for i in range(len(pattern))}
            rules |= {f"s{i}": ("stride", 0, i) for i in range(len(pattern))}
            rules |= {f"t{i}": ("stride", 1, d) for d, i in enumerate(parallel_dims)}
            ranks = len(pattern), len(parallel_dims)
            self._entries[pattern, unit, how] = entries(kernel, {"door": ranks}, {"door": rules}, how)["door"]
        return self._entries[pattern, unit, how]


def suited_to(kernel, pattern, merged):
    """Return the strategy for a reduction of a merged shape."""
    return suited(kernel, [n for letter in "PR" for n, c in zip(merged, pattern) if c == letter])


def reduction_plan(shape, dims, keepdim):
    """Return (pattern, merged shape of x, merged shape of the result, shape of the result, {native entries by contiguous dim}).
    P and R (kept and reduced dims) alternate in the pattern."""
    over = _reduced(len(shape), dims)
    pattern, merged = "P", [1]
    for d, n in enumerate(shape):
        letter = "R" if d in over else "P"
        if pattern[-1] == letter:
            merged[-1] *= n
        else:
            pattern += letter
            merged.append(n)
    if "R" not in pattern:
        pattern, merged = pattern + "R", [*merged, 1]
    if merged[0] == 1 and pattern.count("P") > 1:
        pattern, merged = pattern[1:], merged[1:]
    kept_shape = tuple(n for n, c in zip(merged, pattern) if c == "P")
    result = tuple(1 if d in over else n for d, n in enumerate(shape) if keepdim or d not in over)
    return pattern, tuple(merged), kept_shape, result, {}


def _reduced(rank, dims) -> frozenset:
    if dims is None:
        return frozenset(range(rank))
    return frozenset([d % rank if rank else 0 for d in ((dims,) if isinstance(dims, int) else dims)])


def strided_plan(shape, strides, item, usual, over):
    """Return (pattern, merged shape of x, merged shape of the result, contiguous dim, {}) for an array that is not in C order.
    None if no dim gives vectors of elements, or sums would go another way than in the `usual` pattern."""
    pattern, merged, steps = "", [], []
    for d, (n, s) in enumerate(zip(shape, strides)):
        letter = "R" if d in over else "P"
        if n == 1:
            continue
        if pattern and pattern[-1] == letter and steps[-1] == s * n:
            merged[-1] *= n
            steps[-1] = s
        else:
            pattern += letter
            merged.append(n)
            steps.append(s)
    unit = steps.index(item) if item in steps else None
    same_way = "RR" not in pattern and pattern.count("R") == usual.count("R") and "P" in pattern
    if not same_way or unit is None or (pattern[unit] == "P" and merged[unit] < _FEW_COLUMNS) or min(steps) < 0:
        return None
    return pattern, tuple(merged), tuple([n for n, c in zip(merged, pattern) if c == "P"]), unit, {}


_FEW_COLUMNS = 8        # elements up to which columns are better copied to rows


class RowOp:
    """A composite along one dim: arrays of shape [..., R, ...], per row, or along R, as the library says."""

    def __init__(self, kind: str, dtype, params):
        self.kind, self.dtype, self.params = kind, dtype, params
        self._kernels: dict[str, Any] = {}
        self._plans: dict[tuple, tuple] = {}

    def __call__(self, *arrays, dim=-1):
        """Run on arrays in the library's order; return the outputs, one alone or a tuple."""
        if len(arrays) == 1:
            x, = arrays
            ready = self._plans.get((dim, x.shape))
            if ready is not None and len(ready[2]) == 1 and x.flags.c_contiguous:
                entry, words, results, make = ready
                result = make(*results[0])
                entry(x, result, words)
                return result
        key: list = [dim]
        operands: list = []
        for a in arrays:                # a loop, since a list in one expression is a call of its own
            key.append(a.shape)
            operands.append(a if a.flags.c_contiguous else copies.dense(a))
        entry, words, results, make = self._plans.get(tuple(key)) or self._plan(tuple(key))
        outs = tuple([make(shape, kind) for shape, kind in results])
        entry(*operands, *outs, words)
        return outs if len(outs) > 1 else outs[0]

    def _plan(self, key):
        """Return (native entry, its plan, shape and dtype of each output, their allocator) for arrays of some shapes."""
        dim, *shapes = key
        whole = max(shapes, key=len)
        shape = whole or (1,)
        dim %= len(shape)
        a, r, b = math.prod(shape[:dim]), shape[dim], math.prod(shape[dim + 1:])
        side_by_side = b != 1 or self.kind in (row_kernels.scan.__name__, row_kernels.norm_weight_backward.__name__)
        kernel, how = self._kernel(*((row_kernels.COLUMNS, (a, b, r)) if side_by_side else (row_kernels.ROWS, (a, r))))
        kinds = [_shape_kind(o, side_by_side) for o in kernel.buffers]
        count = {"full": a * r * b, "row": a * b, "along": r}
        for operand, kind in zip(shapes, kinds):
            if math.prod(operand) != count[kind]:
                raise ShapeError(f"{self.kind} of {list(whole)} along dim {dim} takes an array of {count[kind]} elements, got "
                                 f"{list(operand)}")
        shaped = {"full": whole, "row": shape[:dim] + shape[dim + 1:], "along": (r,)}
        results = [(shaped[kind], o.dtype.np) for kind, o in zip(kinds, kernel.buffers) if o.written]
        values = {"A": a, "R": r, "B": b, "RB": r * b}
        words = np.array([kernel_steps.address_of(kernel, how), *[values[s] for s in kernel.symbols]], np.int64)
        inputs = [o.dtype.np for o in kernel.buffers if not o.written]
        entry = planned_entry(kernel.name, tuple([(kind, len(operand)) for kind, operand in zip(inputs, shapes)]),
                              tuple([(kind, len(operand)) for operand, kind in results]))
        if len(self._plans) >= MAX_PLANS:
            self._plans.clear()
        make = np.empty if all(math.prod(shape) * kind.itemsize < SMALL_BYTES for shape, kind in results) else empty
        found = self._plans[key] = entry, words, results, make
        return found

    def _kernel(self, layout, extents):
        if layout not in self._kernels:
            self._kernels[layout] = row_kernels.ROW_KERNELS[self.kind](f"{self.kind}_{layout}", self.dtype, layout,
                                                                       **self.params)
        return self._kernels[layout], suited(self._kernels[layout], extents)


def _shape_kind(buffer, side_by_side):
    """Return the shape kind of a buffer of a row kernel: full, row or along."""
    if side_by_side:
        return {("RB", 1, "B"): "full", ("B", 1, 0): "row"}.get(buffer.strides, "along")
    return {("R", 1): "full", (1, 0): "row"}.get(buffer.strides, "along")
