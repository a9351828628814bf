"""Elements by index along a dim: `gathered(x, index, dim=1)`, `scatter(x, index, src, dim=1, how="add")`.

Both return None if an index is out of range. An expanded index is read with its strides.
"""

import functools
import math
from math import prod

import numpy as np

from ....ir import dtype as dt
from ....ir.kernel.kernel_builder import KernelBuilder
from ....ir.ops.index import indexing
from ....ir.ops.nn import pool as pooling
from ....ir.target import host
from ....passes.codegen.llvm.index import gathers as codegen
from ....passes.codegen.llvm.ir.types import NUMBERS_BY_NP
from ..calls import pool
from ..calls.kernel_steps import check_range, copy_of, over_first, step
from ..calls.operator_kernel import Operand, OperatorKernel
from ..calls.plan import JobsPlan, one_job
from ..calls.step_list import At, NativeCall, Scratch, Status, Table
from ..compiler.compile import task_of
from ..loops import copies
from ..memory import alloc
from . import lookup

SIZES = (1, 2, 4, 8)
_KEPT = 512
_INDEX = np.dtype(np.int64)


def fits(shape, wanted, dim: int) -> bool:
    """Whether two shapes differ along a dim alone."""
    if not shape or len(shape) != len(wanted):
        return False
    dim %= len(shape)
    return shape[:dim] == wanted[:dim] and shape[dim + 1:] == wanted[dim + 1:]


def can_gather(dtype, shape, index_dtype, wanted, dim: int) -> bool:
    """Whether the kernels take integer indices in a shape that differs along the dim alone, and elements of a size that they
    copy."""
    return (dtype.itemsize in SIZES and index_dtype.kind in "iu" and 0 not in shape and 0 not in wanted
            and fits(shape, wanted, dim))


def strides_of_index(shape, strides, item: int, dim: int):
    """Return strides, in elements, of an index as [outer, count, inner] around a dim; None if three numbers do not express
    them."""
    dim %= len(shape)
    outer, inner = _joined(shape[:dim], strides[:dim]), _joined(shape[dim + 1:], strides[dim + 1:])
    if outer is None or inner is None or min(outer, inner, strides[dim]) < 0:
        return None
    return outer // item, (strides[dim] if shape[dim] > 1 else 0) // item, inner // item


def _joined(sizes, strides):
    """Return the stride of several dims as one; None if they are not one."""
    last = None
    for n, stride in zip(reversed(sizes), reversed(strides)):
        if n != 1:
            if last is not None and stride != last[0] * last[1]:
                return None
            last = (stride, n) if last is None else (last[0], last[1] * n)
    return 0 if last is None else last[0]


def _words(shape, wanted, steps, dim):
    """Return the words of both kernels about sizes, without the number of items."""
    strides = steps or strides_of_index(wanted, dense_strides(wanted), 1, dim)
    return {"size": shape[dim], "count": wanted[dim], "inner": math.prod(shape[dim + 1:])} | dict(
        zip(("by_outer", "by_count", "by_inner"), strides, strict=True))


def dense_strides(shape) -> tuple:
    """Return strides, in elements, of a C-contiguous array."""
    return tuple([math.prod(shape[d + 1:]) for d in range(len(shape))])


@functools.lru_cache(_KEPT)
def plan(dtype, shape: tuple, index_dtype, wanted: tuple, dim: int, threads: int, steps=None) -> JobsPlan | None:
    """Return the job on (x of this shape, int64 index of the wanted one, y, an int64 that a wrong index sets). None if the
    kernel does not take them. `steps` are the strides (`strides_of_index`) of an index that is not contiguous."""
    if not can_gather(dtype, shape, index_dtype, wanted, dim):
        return None
    kernel, dim = codegen.GatherKernel(host(), dtype.itemsize), dim % len(shape)
    words = _words(shape, wanted, steps, dim)
    items = math.prod(shape[:dim]) * wanted[dim]
    return one_job(codegen, task_of(kernel), 4 * items * words["inner"], items, threads, **words)


def can_scatter(dtype, how: str) -> bool:
    """Whether the kernel puts, or combines, elements of a dtype."""
    return dtype.itemsize in SIZES if how == codegen.SET else dtype in NUMBERS_BY_NP


@functools.lru_cache(_KEPT)
def scatter_plan(dtype, how: str, shape: tuple, wanted: tuple, dim: int, threads: int, steps=None) -> JobsPlan:
    """Return the job on (the copy of x to write in, int64 index of the wanted shape, src, an int64 that a wrong index sets)."""
    element = f"i{8 * dtype.itemsize}" if how == codegen.SET else NUMBERS_BY_NP[dtype]
    kernel, dim = codegen.ScatterKernel(host(), element, how), dim % len(shape)
    words, outer = _words(shape, wanted, steps, dim), math.prod(shape[:dim])
    return one_job(codegen, task_of(kernel), 4 * outer * wanted[dim] * words["inner"], outer, threads, **words)


def _index(index, dim):
    """Return (an int64 index that kernels read, its strides; None of a contiguous one)."""
    if index.flags.c_contiguous and index.dtype == _INDEX:
        return index, None
    steps = strides_of_index(index.shape, index.strides, index.itemsize, dim) if index.dtype == _INDEX else None
    if steps is None:
        return alloc.dense(index, _INDEX), None
    return index, steps


def scatter(x, index, src, *, dim, how: str):
    """Return x with elements of `src` put, or combined with those there, at `index`."""
    out = copies.in_rows(x)
    return out if scatter_into(out, index, src, dim=dim, how=how) else None


def scatter_into(out, index, src, *, dim, how: str) -> bool:
    """Scatter into a contiguous array; return whether all indices were in range."""
    (index, steps), src, wrong = _index(index, dim), copies.dense(src), np.zeros(1, _INDEX)
    made = scatter_plan(out.dtype, how, out.shape, index.shape, dim, pool.get_num_threads(), steps)
    made(out, _first(index, steps), src, wrong)
    return not wrong[0]


def from_the_front(index, size):
    """Return indices that may count from the end, counted from the front; None if one is out of range."""
    low = index.min()
    if low < -size or index.max() >= size:
        return None
    return np.where(index < 0, index + size, index) if low < 0 else index.astype(_INDEX, copy=False)


def _first(index, steps):
    """Return an array with the address of the index."""
    return index if steps is None else np.lib.stride_tricks.as_strided(index, (1,), (_INDEX.itemsize,))


def gathered(x, index, *, dim):
    """Return the elements at `index` along a dim; None if the kernel does not take them, or an index is out of range."""
    steps = None
    if not index.flags.c_contiguous:
        index, steps = _index(index, dim)
    made = plan(x.dtype, x.shape, index.dtype, index.shape, dim, pool.get_num_threads(), steps)
    if made is None:
        return None
    out, wrong = alloc.empty(index.shape, x.dtype), np.zeros(1, _INDEX)
    index = alloc.dense(index, _INDEX) if steps is None else _first(index, steps)
    made.__call__(copies.dense(x), index, out, wrong)       # a method: quicker to call than an object
    return None if wrong[0] else out


_MANY = 1 << 12         # elements from which NumPy is slower for a lookup in the last dim


def gather(x, index, *, dim):
    """Return the elements at `index` along a dim."""
    found = gathered(x, index, dim=dim)
    return indexing.gather.ref(x, index, dim=dim) if found is None else found


def index(x, *indices):
    """Return x[indices]. One vector of the last dim is a gather with an expanded index; the reference does the rest."""
    last = indices[-1]
    if len(indices) == x.ndim > 1 and last is not None and last.ndim == 1 and (
            x.size // max(1, x.shape[-1]) * last.size >= _MANY and all([i is None for i in indices[:-1]])):  # noqa: C419
        at = from_the_front(last, x.shape[-1])
        if at is not None:
            found = gathered(x, np.broadcast_to(at, (*x.shape[:-1], at.size)), dim=x.ndim - 1)
            if found is not None:
                return found
    return _index_reference(x, *indices)


_index_reference = indexing.index.ref


def _index_rows_step(node, operands, results):
    """Plan rows by indices of consecutive dims; negative ones count from the end. Those of the first dim alone are rows of a
    table; others are first combined to flat row numbers."""
    x, *indices = operands
    if len(indices) == 1 and indices[0] is not None:
        return lookup.taken(operands, results, -x.shape[0])
    indexed_dims = [d for d, i in enumerate(indices) if i is not None]
    if indexed_dims[-1] - indexed_dims[0] + 1 != len(indexed_dims) or results[0].dtype.itemsize not in lookup.BY_SIZE:
        return None
    if not all(indices[d].dtype in lookup.INDICES for d in indexed_dims):
        return None
    first, last = indexed_dims[0], indexed_dims[-1] + 1
    common = np.broadcast_shapes(*[indices[d].shape for d in indexed_dims])
    shape, rows = (prod(x.shape[:first]), *common), prod(x.shape[:last])
    steps = [check_range(At(1 + d), indices[d].size, dt.BY_NP[indices[d].dtype], -x.shape[d], x.shape[d]) for d in indexed_dims]
    steps += [_place_step(shape, 1 + d, indices[d], x.shape[d], d == first) for d in indexed_dims]
    row_numbers = Operand((prod(shape),), (8,), dt.int64.np)
    take = lookup.rows_plan("take", results[0].dtype, row_numbers, prod(x.shape[last:]), rows, False)
    steps += [lookup.with_index(s, Scratch()) for s in take.native([0, 1, len(operands)]).steps]
    return NativeCall(tuple(steps), 8 * row_numbers.size)


@functools.lru_cache(64)
def _place(kind, rank: int, is_first: bool):
    """Return the kernel that adds a dim to flat numbers: those so far times its size, plus the index."""
    k = KernelBuilder(f"place_{kind.name}_{rank}_{int(is_first)}")
    for d in range(rank):
        k.parallel(f"d{d}", f"n{d}")
    k.input("x", kind, [f"x{d}" for d in range(rank)])
    k.input("rows", dt.int64, [0] * rank)
    if not is_first:
        k.input("y", dt.int64, [f"y{d}" for d in range(rank)])
    k.output("z", dt.int64, [f"y{d}" for d in range(rank)])
    with k.point():
        x, rows = k.load("x").to(dt.int64), k.load("rows")
        x = k.fn.where(k.fn.lt(x, 0), x + rows, x)
        k.store(k.fn.add(k.fn.mul(k.index("d0") if is_first else k.load("y"), rows), x), "z")
    return k.build()


def _place_step(shape, number: int, index, rows: int, is_first: bool):
    """Return the step that adds the indices of a dim; the first of `shape` is the product of the dims before the indices."""
    item, lead = index.dtype.itemsize, len(shape) - len(index.shape)
    strides = [0] * lead + [0 if n == 1 else s // item for n, s in zip(index.shape, index.strides)]
    named = {f"n{d}": n for d, n in enumerate(shape)} | {f"x{d}": s for d, s in enumerate(strides)}
    named |= {f"y{d}": prod(shape[d + 1:]) for d in range(len(shape))}
    read = () if is_first else (Scratch(),)
    kernel = _place(dt.BY_NP[index.dtype], len(shape), is_first)
    return step(kernel, (At(number), Table([rows]), *read, Scratch()), **named)


def _gather_step(node, operands, results):
    x, index = operands
    return _gather_call(x, x.shape, index, index.shape, node.params["dim"])


def _plane_take_step(node, operands, results):
    """Gather from planes, each of which is a row."""
    rows = [(prod(v.shape[:2]), prod(v.shape[2:])) for v in operands]
    return _gather_call(operands[0], rows[0], operands[1], rows[1], 1)


def _gather_call(x, shape, index, wanted, dim) -> NativeCall | None:
    made = plan(x.dtype, shape, index.dtype, wanted, dim, pool.get_num_threads())
    if made is None or index.dtype != dt.int64.np:
        return None
    return NativeCall(tuple(map(with_status, made.native([0, 1, 2, None]).steps)))


def with_status(native_step):
    """Return a step whose fourth array is the status word, set by an index out of range."""
    return native_step._replace(words=(*native_step.words[:3], Status(), *native_step.words[4:]))


def _in_range_step(node, operands, results):
    (index,), (out,) = operands, results
    if index.dtype not in lookup.INDICES:
        return None
    check = check_range(At(0), index.size, dt.BY_NP[index.dtype], node.params["low"], node.params["high"])
    return NativeCall((check, copy_of(index, 0, out, 1)), over=over_first(index, out, 1))


OPERATORS = {
    indexing.gather: OperatorKernel(gather, _gather_step),
    indexing.index: OperatorKernel(index, _index_rows_step),
    indexing.in_range: OperatorKernel(step=_in_range_step),
    pooling.plane_take: OperatorKernel(step=_plane_take_step),
}
