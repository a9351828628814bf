"""Matrix products of NumPy arrays on generated kernels.

    matmul(a, b)                      matrices or stacks that broadcast; any strides; float32, float64, float16, bfloat16
    Product(dtype, epilogue=...)      the same with a fused epilogue and another result dtype; `product_of` gives the cached one

Kernels are compiled per (dtype, algorithm, epilogue) and kind of width, never per shape; plans are cached per layout. Results
do not depend on the number of threads.
"""

import functools
import threading

import numpy as np

from ....ir import dtype as dt
from ....ir.errors import DTypeError, ShapeError
from ....ir.target import host
from ....passes.codegen.llvm.contract import gemm as codegen
from ....passes.codegen.llvm.contract.epilogue import Identity
from ....passes.codegen.llvm.ir.types import BF16, F16, F32, F64
from ....passes.schedule.plan_steps import LINE
from ..calls import call, pool
from ..calls.plan import NO_SCRATCH, runner
from ..calls.step_list import At, words_alone
from ..compiler import amx
from ..compiler.compile import task_of
from .gemm_plan import Layout, Plan, make_adding_plan, make_plan, result_shape

_STORED = {np.dtype(np.float32): F32, np.dtype(np.float64): F64, np.dtype(np.float16): F16, dt.bfloat16.np: BF16}
_MAX_PLANS = 4096
_local = threading.local()


class Product:
    """A family of matrix products: one dtype of operands, one of results, one epilogue; compiled when first needed."""

    def __init__(self, dtype, out_dtype=None, epilogue=None):
        self.dtype, self.out_dtype = np.dtype(dtype), np.dtype(out_dtype or dtype)
        for kind in (self.dtype, self.out_dtype):
            if kind not in _STORED:
                raise DTypeError(f"matmul takes float32, float64, float16 and bfloat16, got {kind}")
        self.epilogue = epilogue or Identity()
        self.precision = codegen.Precision.of(_STORED[self.dtype], _STORED[self.out_dtype])
        self.sums_in_place = self.precision.out == self.precision.accumulate
        self.pairs = self.precision.a == BF16 and host().has("avx512bf16")
        self._kernels, self._tasks, self._plans = {}, {}, {}

    def __call__(self, a: np.ndarray, b: np.ndarray, out: np.ndarray | None = None,
                 operands: int | np.ndarray = 0) -> np.ndarray:
        """Return out = epilogue(a @ b), for a (..., M, K) and b (..., K, N). `operands` is the address of the epilogue's words,
        or the array that its only word is the address of."""
        if out is not None:
            return self._into(a, b, out, operands)
        key = a.shape, a.strides, b.shape, b.strides, pool.get_num_threads()
        plan = self._plans.get(key) or self._make_plan(key)
        result = plan.make(plan.shape, self.out_dtype)
        self._run(plan, a, b, result, operands)
        return result

    def add(self, a: np.ndarray, b: np.ndarray, out: np.ndarray):
        """Add a @ b to `out`, for plain arrays of float32 or float64 of 2 or 3 dimensions; rows of b and out are contiguous."""
        key = "adds", a.shape, a.strides, b.shape, b.strides, out.strides, pool.get_num_threads()
        plan = self._plans.get(key)
        if plan is None:
            left, right, result = (Layout(x.shape, x.strides) for x in (a, b, out))
            plan = self._keep(key, make_adding_plan(left, right, result, self.dtype.itemsize, self, key[-1]))
        self._run(plan, a, b, out, 0)

    @property
    def amx(self) -> bool:
        """Whether plans made now may use matrix tiles."""
        return self.pairs and amx.is_wanted()

    def kernel(self, strategy: str) -> codegen.GemmKernel:
        found = self._kernels.get(strategy)
        if found is None:
            found = self._kernels[strategy] = codegen.GemmKernel(host(), self.precision, strategy, self.epilogue)
        return found

    def task(self, strategy: str, columns: int, swaps: bool) -> int:
        """Return the address of the task of an algorithm for products of so many columns, compiled when first needed."""
        kernel = self.kernel(strategy).fitted(columns, swaps)
        key = strategy, kernel.variants, kernel.may_swap
        found = self._tasks.get(key)
        if found is None:
            found = self._tasks[key] = task_of(kernel)
        return found

    def _make_plan(self, key, out_strides=None):
        a_shape, a_strides, b_shape, b_strides, threads = key[:5]
        shape = result_shape(a_shape, b_shape)
        strides = out_strides or _c_strides(shape, self.out_dtype.itemsize)
        return self._keep(key, make_plan(Layout(a_shape, a_strides), Layout(b_shape, b_strides), Layout(shape, strides),
                                         self.dtype.itemsize, self.out_dtype.itemsize, self, threads))

    def _keep(self, key, plan):
        if len(self._plans) >= _MAX_PLANS:
            self._plans.clear()
        self._plans[key] = plan
        return plan

    def _into(self, a, b, out, operands):
        shape = result_shape(a.shape, b.shape)
        if out.shape != shape or out.dtype != self.out_dtype:
            raise ShapeError(f"matmul: out is {out.dtype.name}{list(out.shape)}, the result is "
                             f"{self.out_dtype.name}{list(shape)}")
        if not self._fits(out, a, b):
            out[...] = self(a, b, None, operands)
            return out
        key = a.shape, a.strides, b.shape, b.strides, pool.get_num_threads(), out.strides
        plan = self._plans.get(key) or self._make_plan(key, out.strides)
        self._run(plan, a, b, out, operands)
        return out

    def _fits(self, out, a, b):
        """Whether the kernels can store into `out` itself: aligned, a unit stride, apart from the operands."""
        item, (rows, columns) = out.dtype.itemsize, out.shape[-2:]
        row_major = out.strides[-1] == item or columns == 1
        column_major = (out.strides[-2] == item or rows == 1) and not self.epilogue.name
        return ((row_major or column_major) and out.flags.aligned and out.flags.writeable and out.dtype.isnative
                and not np.may_share_memory(out, a) and not np.may_share_memory(out, b))

    def _run(self, plan: Plan, a, b, out, operands):
        left, right = (b, a) if plan.swapped else (a, b)
        if plan.copies_a:
            left = _even_depth(left.swapaxes(-1, -2) if plan.swapped else left)
        is_array = operands.__class__ is not int
        entry, address, _ = plan.lists[is_array] or self._write_list(plan, is_array)
        try:
            entry(address, _scratch(plan.scratch_bytes) if plan.scratch_bytes else NO_SCRATCH, left, right, out, operands)
        except TypeError:
            readable = not is_array or (self._is_plain(operands) and operands.flags.c_contiguous)
            if readable and self._is_plain(a) and self._is_plain(b):
                raise
            out[...] = self(self._plain(a), self._plain(b), None, operands if readable else self._copied(operands))

    def _write_list(self, plan, is_array):
        """Write the product's step as a list of its own, on left, right, out, and the epilogue's address or array."""
        made = plan.native((At(3),) if is_array else (), At(0), At(1), At(2), At(3))
        words = words_alone(made.steps, plan.threads)
        plan.lists[is_array] = _entry(self.dtype, self.out_dtype, is_array, plan.parallel), words.buffer_info()[0], words
        return plan.lists[is_array]

    def _is_plain(self, array):
        return type(array) is np.ndarray and array.dtype == self.dtype and array.dtype.isnative and array.flags.aligned

    def _plain(self, array):
        """Return the array, or an aligned, native, exact one with its elements."""
        return array if self._is_plain(array) else self._copied(array)

    def _copied(self, array):
        if array.dtype != self.dtype:
            raise DTypeError(f"matmul: expected {self.dtype.name}, got {array.dtype.name}")
        return np.array(array, self.dtype.newbyteorder("="), order="C", subok=False)


@functools.lru_cache(None)
def product_of(dtype, epilogue=None) -> Product:
    """Return the family of products of a dtype, with an epilogue or without."""
    return Product(dtype, None, epilogue)


@functools.lru_cache(None)
def _entry(dtype, out_dtype, is_array, parallel):
    """Return the entry of products; short ones keep the interpreter lock."""
    operand, result = call.array(dtype, -1), call.array(out_dtype, -1, writable=True)
    last = call.array(dtype, -1, contiguous=True) if is_array else call.INTEGER
    return call.entry("matmul", runner(host()), (call.INTEGER, call.INTEGER, operand, operand, result, last),
                      0 if parallel else -1)


def matmul(a: np.ndarray, b: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
    """Return the matrix product of arrays of 2 or more dimensions and one float dtype; leading dimensions broadcast."""
    if a.dtype != b.dtype:
        raise DTypeError(f"matmul: operands of different dtypes, {a.dtype.name} and {b.dtype.name}; cast one of them")
    if a.ndim < 2 or b.ndim < 2:
        raise ShapeError(f"matmul: needs matrices or stacks of them, got shapes {list(a.shape)} and {list(b.shape)}")
    return _product(a.dtype).__call__(a, b, out)        # a method: quicker to call than an object


def add_product(a: np.ndarray, b: np.ndarray, out: np.ndarray):
    """Add a @ b to `out`; see `Product.add`."""
    _product(a.dtype).add(a, b, out)


@functools.lru_cache(None)
def _product(dtype):
    if dtype == np.float16 and not host().half_conversions:
        return _WideHalf()
    return product_of(dtype)


class _WideHalf:
    """float16 products on processors without its conversions: NumPy converts, float32 multiplies."""

    def __call__(self, a, b, out=None):
        wide = _product(np.dtype(np.float32))(a.astype(np.float32), b.astype(np.float32))
        if out is None:
            return wide.astype(np.float16)
        if out.shape != wide.shape:
            raise ShapeError(f"matmul: out has shape {list(out.shape)}, the result {list(wide.shape)}")
        out[...] = wide
        return out


def _c_strides(shape, item):
    strides = [item]
    for size in reversed(shape[1:]):
        strides.insert(0, strides[0] * size)
    return tuple(strides)


def _even_depth(a):
    """Return a copy contiguous along an even depth, padded with a zero."""
    depth = a.shape[-1]
    copy = np.zeros((*a.shape[:-1], depth + depth % 2), a.dtype)
    copy[..., :depth] = a
    return copy


def _scratch(size):
    """Return the address of this thread's arena: a line for the runner, then memory for packed panels."""
    cached = getattr(_local, "scratch", None)
    if cached is None or cached[0] < size:
        memory = np.empty(size + 2 * LINE, np.uint8)
        cached = _local.scratch = size, -(-memory.ctypes.data // LINE) * LINE, memory
    return cached[1]
