"""Compiled kernels for eager mode: shape-generic, cached in memory and on disk, called on numpy arrays.

    exp = unary("exp", float32);            y = exp(x)
    add = binary("add", float32);           add(x, y, out=z)
    total = reduction("sum", float32);      total(x, (1,))
    soft = rowop("softmax", float32);       y = soft(x)

An elementwise kernel takes arrays of any broadcastable shapes and any strides; arrays of one shape that are contiguous go
straight to native code. Values depend on the elements alone, not on shape, strides or threads.
"""

import functools
import math
import threading

import numpy as np

from ...ir import dtype as dt
from ...ir.errors import ArgumentError, DTypeError
from ...ir.kernel import Kernel
from ...ir.kernel_builder import BOOL_RESULTS, KernelBuilder
from ...ir.target import host
from ...passes.codegen import library, scalars
from ...passes.codegen.llvm import doors as native_doors
from ...passes.codegen.llvm import kernels as code
from ...passes.codegen.llvm.emit import Module
from . import alloc, call, compile, pool  # noqa: F401 (pool gives kernels the thread pool's entry)

DOOR_RANKS = 5  # ranks 0 .. 4 have doors of their own; more dims are merged first
_LARGE = 65536  # bytes from which results come from the caching allocator
_lock = threading.RLock()


def _empty(shape, np_dtype):
    if math.prod(shape) * np_dtype.itemsize >= _LARGE:
        return alloc.empty(shape, np_dtype)
    return np.empty(shape, np_dtype)


def _entries(kernel: Kernel, ranks_of_doors: dict, rules: dict) -> dict:
    """Compiles a kernel with its doors: {name of door: callable on arrays}."""
    module = Module(host())
    code.write(module, kernel)
    for name, ranks in ranks_of_doors.items():
        native_doors.write_door(module, name, kernel, ranks, rules[name])
    addresses = compile.compile_module(module.text(), list(ranks_of_doors))
    out = {}
    for name, ranks in ranks_of_doors.items():
        parameters = [call.array(b.dtype.np, rank, b.written) for b, rank in zip(kernel.buffers, ranks)]
        out[name] = call.entry(kernel.name, addresses[name], parameters)
    return out


class Elementwise:
    """One scalar expression over arrays. `build(k, *values)` writes it with a KernelBuilder."""

    def __init__(self, name: str, inputs, outputs, build):
        self.name, self.inputs, self.build = name, tuple(inputs), build
        self.outputs = tuple(outputs)
        self.out = self.outputs[0].np
        self._doors = None
        self._strided: dict[tuple, object] = {}

    def kernel(self, rank: int = 1, classes=None) -> Kernel:
        """The kernel over `rank` dims; `classes` says each operand's innermost stride: 1, 0 or None (any)."""
        k = KernelBuilder(self.name)
        for d in range(rank):
            k.parallel(f"d{d}", f"n{d}")
        dtypes = (*self.inputs, *self.outputs)
        classes = classes or (1,) * len(dtypes)
        for b, (kind, inner) in enumerate(zip(dtypes, classes)):
            last = f"s{b}_{rank - 1}" if inner is None else inner
            strides = [*(f"s{b}_{d}" for d in range(rank - 1)), last]
            (k.input if b < len(self.inputs) else k.output)(f"b{b}", kind, strides)
        with k.point():
            values = self.build(k, *(k.load(f"b{b}") for b in range(len(self.inputs))))
            for b, v in enumerate(values if isinstance(values, tuple) else (values,), len(self.inputs)):
                k.store(v.to(dtypes[b]), f"b{b}")
        return k.build()

    @property
    def doors(self):
        """Native entries by rank, for contiguous arrays of one shape: inputs, then outputs."""
        if self._doors is None:
            with _lock:
                kernel, count = self.kernel(), len(self.inputs) + len(self.outputs)
                ranks = {f"door{r}": (r,) * count for r in range(DOOR_RANKS)}
                rules = {f"door{r}": {"n0": ("sizes", count - 1, 0, r)} for r in range(DOOR_RANKS)}
                made = _entries(kernel, ranks, rules)
                self._doors = [made[f"door{r}"] for r in range(DOOR_RANKS)]
        return self._doors

    def __call__(self, *arrays, out=None):
        first = arrays[0]
        shape = first.shape
        plain = len(shape) < DOOR_RANKS and len(self.outputs) == 1
        for a in arrays:
            if a.shape != shape or not a.flags.c_contiguous:
                plain = False
                break
        if not plain or out is not None and (out.shape != shape or not out.flags.c_contiguous):
            return self.general(arrays, out)
        if out is None:
            out = _empty(shape, self.out) if first.nbytes >= _LARGE else np.empty(shape, self.out)
        (self._doors or self.doors)[len(shape)](*arrays, out)
        return out

    def general(self, arrays, out=None):
        """Any shapes that broadcast, any strides, several outputs (`out` is then a tuple)."""
        shape = np.broadcast_shapes(*(a.shape for a in arrays))
        if out is None:
            outs = tuple(_empty(shape, d.np) for d in self.outputs)
        else:
            outs = out if isinstance(out, tuple) else (out,)
        for o in outs:
            if o.shape != shape:
                raise ArgumentError(f"{self.name}: out has shape {o.shape}, the operands give {shape}")
        operands = [a if a.shape == shape else np.broadcast_to(a, shape) for a in arrays]
        operands += outs
        if 0 not in shape:
            merged, views = merge_dims(shape, operands)
            self._entry(len(merged), views)(*views)
        return outs if len(outs) > 1 else outs[0]

    def _entry(self, rank, views):
        classes = tuple(_inner_class(v) for v in views)
        key = (rank, classes)
        found = self._strided.get(key)
        if found is None:
            with _lock:
                kernel = self.kernel(rank, classes)
                rules = {f"n{d}": ("size", len(views) - 1, d) for d in range(rank)}
                rules |= {f"s{b}_{d}": ("stride", b, d) for b in range(len(views)) for d in range(rank)}
                found = self._strided[key] = _entries(kernel, {"door": (rank,) * len(views)}, {"door": rules})["door"]
        return found


def _inner_class(view):
    stride = view.strides[-1]
    return 1 if stride == view.itemsize else 0 if stride == 0 else None


def merge_dims(shape, arrays):
    """(merged shape, views): dims that every array steps through evenly become one, at least one dim is left."""
    sizes, steps = [], []
    for d, n in enumerate(shape):
        here = [a.strides[d] for a in arrays]
        if n == 1:
            continue
        if sizes and all(s == h * n for s, h in zip(steps[-1], here)):
            sizes[-1] *= n
            steps[-1] = here
        else:
            sizes.append(n)
            steps.append(here)
    if not sizes:
        sizes, steps = [1], [[a.itemsize for a in arrays]]
    if len(sizes) == len(shape):
        return shape, arrays
    make = np.lib.stride_tricks.as_strided
    return tuple(sizes), [make(a, sizes, [s[i] for s in steps]) for i, a in enumerate(arrays)]


def _check(name):
    if name not in scalars.FUNCTIONS:
        raise ArgumentError(f"no scalar function {name}; there are {', '.join(sorted(scalars.FUNCTIONS))}")


@functools.lru_cache(None)
def elementwise(name: str, inputs: tuple, outputs: tuple, build) -> Elementwise:
    """The kernel of an expression: `build(k, *values)` gives one value, or a tuple, of a KernelBuilder."""
    return Elementwise(name, inputs, outputs, build)


@functools.lru_cache(None)
def function(name: str, *dtypes) -> Elementwise:
    """The kernel of a scalar function on arguments of the given dtypes (`where` takes a bool first)."""
    _check(name)
    result = dt.bool_ if name in BOOL_RESULTS else dtypes[-1]
    return Elementwise(name, dtypes, (result,), lambda k, *values: k.call(name, *values))


def unary(name: str, dtype) -> Elementwise:
    """A scalar function of one argument."""
    return function(name, dtype)


def binary(name: str, dtype) -> Elementwise:
    """A scalar function of two arguments of one dtype."""
    return function(name, dtype, dtype)


def ternary(name: str, dtype) -> Elementwise:
    """A scalar function of three arguments of one dtype."""
    return function(name, dtype, dtype, dtype)


@functools.lru_cache(None)
def cast(source, target) -> Elementwise:
    """Conversion between dtypes."""
    return Elementwise(f"cast_{source.short}_{target.short}", (source,), (target,), lambda k, x: x.to(target))


class Reduction:
    """A reduction of one kind and dtype over any dims of an array."""

    def __init__(self, kind: str, dtype, correction=1):
        self.kind, self.dtype, self.correction = kind, dtype, correction
        self.result = np.dtype(np.int64) if kind.startswith("arg") else dtype.np
        self._made: dict[tuple, object] = {}
        self._plans: dict[tuple, tuple] = {}

    def __call__(self, x, dims=None, keepdim=False, out=None):
        """The reduction over `dims` (all of them if None)."""
        key = (x.shape, dims, keepdim)
        plan = self._plans.get(key)
        if plan is None:
            plan = self._plans[key] = reduction_plan(x.shape, dims, keepdim)
        pattern, merged, kept, shape = plan
        if not x.flags.c_contiguous and not (x.flags.f_contiguous and x.shape == merged):
            x = np.ascontiguousarray(x)
        if out is None:
            out = _empty(shape, self.result)
        if out.size:
            target = out if out.shape == kept else out.reshape(kept)
            view = x if x.shape == merged else x.reshape(merged)
            unit = len(merged) - 1 if view.flags.c_contiguous else 0
            (self._made.get((pattern, unit)) or self._make(pattern, unit))(view, target)
        return out

    def _make(self, pattern, unit):
        with _lock:
            name = f"{self.kind}_{pattern}"
            kernel = library.reduction(name, self.kind, self.dtype, pattern, unit, correction=self.correction)
            kept = [i for i, c in enumerate(pattern) if c == "P"]
            rules = {f"n{i}": ("size", 0, i) for i in range(len(pattern))}
            rules |= {f"s{i}": ("stride", 0, i) for i in range(len(pattern))}
            rules |= {f"t{i}": ("stride", 1, d) for d, i in enumerate(kept)}
            made = _entries(kernel, {"door": (len(pattern), len(kept))}, {"door": rules})["door"]
            self._made[pattern, unit] = made
            return made


def reduction_plan(shape, dims, keepdim):
    """(pattern, merged shape of x, merged shape of the result, shape of the result). The pattern alternates P and R."""
    rank = len(shape)
    if dims is None:
        over = set(range(rank))
    else:
        over = {d % rank if rank else 0 for d in ((dims,) if isinstance(dims, int) else dims)}
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
    kept = tuple(n for n, c in zip(merged, pattern) if c == "P")
    result = tuple(1 if d in over else n for d, n in enumerate(shape) if keepdim or d not in over)
    return pattern, tuple(merged), kept, result


@functools.lru_cache(None)
def reduction(kind: str, dtype, correction=1) -> Reduction:
    """The reduction of a kind: sum prod max min any all argmax argmin mean var std norm sumsq."""
    if kind in ("mean", "var", "std", "norm") and not dtype.is_floating_point:
        raise DTypeError(f"{kind} takes floating point types, got {dtype}; cast with .to()")
    return Reduction(kind, dtype, correction)


class RowOp:
    """A composite along one dim: arrays of shape [..., R, ...], per row, or along R, as the library says."""

    def __init__(self, kind: str, dtype, params):
        self.kind, self.dtype, self.params = kind, dtype, params
        self._made: dict[str, tuple] = {}
        self._plans: dict[tuple, tuple] = {}

    def made(self, layout):
        """(kernel, native entry) of a layout."""
        found = self._made.get(layout)
        if found is None:
            with _lock:
                kernel = library.ROW_KERNELS[self.kind](f"{self.kind}_{layout}", self.dtype, layout, **self.params)
                ranks, rules = self._ranks(kernel)
                entry = _entries(kernel, {"door": ranks}, {"door": rules})["door"]
                found = self._made[layout] = (kernel, entry)
        return found

    def _ranks(self, kernel):
        columns = len(kernel.parallel) == 2
        full = next(i for i, b in enumerate(kernel.buffers) if _shape_kind(b, columns) == "full")
        ranks = {"full": 3 if columns else 2, "row": 2 if columns else 1, "along": 1}
        rules = {"A": ("size", full, 0), "R": ("size", full, 1), "B": ("size", full, 2), "RB": ("sizes", full, 1, 3)}
        return tuple(ranks[_shape_kind(b, columns)] for b in kernel.buffers), rules

    def __call__(self, *arrays, dim=-1, out=None):
        """Runs on arrays in the library's order; gives the outputs, one alone or a tuple."""
        key = (dim, *(a.shape for a in arrays))
        entry, forms, made = self._plans.get(key) or self._plan(key, arrays, dim)
        if out is None:
            outs = tuple(_empty(shape, kind) for shape, kind in made)
        else:
            outs = out if isinstance(out, tuple) else (out,)
        given = [v if v.flags.c_contiguous else np.ascontiguousarray(v) for v in (*arrays, *outs)]
        entry(*[v if v.shape == form else v.reshape(form) for v, form in zip(given, forms)])
        return outs if len(outs) > 1 else outs[0]

    def _plan(self, key, arrays, dim):
        """(native entry, the shape each buffer is seen in, shape and dtype of each output) for arrays of these shapes."""
        x = max(arrays, key=lambda a: a.ndim)
        shape = x.shape or (1,)
        dim %= len(shape)
        a, r, b = math.prod(shape[:dim]), shape[dim], math.prod(shape[dim + 1:])
        columns = b != 1 or self.kind in (library.scan.__name__, library.norm_weight_backward.__name__)
        kernel, entry = self.made(library.COLUMNS if columns else library.ROWS)
        seen = {"full": (a, r, b), "row": (a, b), "along": (r,)} if columns else {"full": (a, r), "row": (a,), "along": (r,)}
        whole = {"full": x.shape, "row": shape[:dim] + shape[dim + 1:], "along": (r,)}
        kinds = [_shape_kind(o, columns) for o in kernel.buffers]
        made = [(whole[kind], o.dtype.np) for kind, o in zip(kinds, kernel.buffers) if o.written]
        plan = self._plans[key] = (entry, [seen[kind] for kind in kinds], made)
        return plan


def _shape_kind(buffer, columns):
    """How a buffer of a row kernel is shaped: full, row or along."""
    if columns:
        return {("RB", 1, "B"): "full", ("B", 1, 0): "row"}.get(buffer.strides, "along")
    return {("R", 1): "full", (1, 0): "row"}.get(buffer.strides, "along")


@functools.lru_cache(None)
def _rowop(kind, dtype, params):
    if kind not in library.ROW_KERNELS:
        raise ArgumentError(f"no row kernel {kind}; there are {', '.join(library.ROW_KERNELS)}")
    return RowOp(kind, dtype, dict(params))


def rowop(kind: str, dtype, /, **params) -> RowOp:
    """A kernel of `passes/codegen/library.py` along one dim."""
    return _rowop(kind, dtype, tuple(sorted(params.items())))


DRAW_DTYPES = {"random_bits": dt.uint32, "random_uniform": dt.float32, "random_uniform_double": dt.float64,
               "random_normal": dt.float32, "random_normal_double": dt.float64, "random_below": dt.int64}


class Draw:
    """Random numbers by element index, as ir/philox.py defines them."""

    def __init__(self, name: str):
        self.name, self.dtype = name, DRAW_DTYPES[name]
        self._entry = None

    def _make(self):
        with _lock:
            k = KernelBuilder(self.name)
            k.parallel("i", "n")
            buffers = [k.input(b, dt.int64, (0,)) for b in ("start", "seed", "call", "span")]
            k.output("y", self.dtype, (1,))
            with k.point():
                start, *rest = (k.load(b) for b in buffers)
                rest = rest if self.name == "random_below" else rest[:2]
                k.store(k.append(self.name, self.dtype, (k.index("i") + start, *rest)), "y")
            self._entry = _entries(k.build(), {"door": (0, 0, 0, 0, 1)}, {"door": {"n": ("size", 4, 0)}})["door"]
        return self._entry

    def __call__(self, seed: int, call: int, n: int, start: int = 0, span: int = 0, out=None):
        """Elements start .. start + n - 1 of a call, as a 1-D array."""
        if out is None:
            out = _empty((n,), self.dtype.np)
        words = [np.array(v & (2**64 - 1), np.uint64).view(np.int64) for v in (start, seed, call, span)]
        (self._entry or self._make())(*words, out)
        return out


@functools.lru_cache(None)
def draw(name: str) -> Draw:
    """The kernel of a random draw: random_bits, random_uniform(_double), random_normal(_double), random_below."""
    return Draw(name)
