"""Attention: forward, and the gradients of queries, keys, values and mask.

Rows may have bounds: each attends to a range of keys. Scores may be shifted by a table of distances, which kernels read as a
mask whose rows begin a number earlier each. Kernels take float32 and float64. Operands are read in place with their strides;
results have the memory order of the dims of their operands, so parts of a fused projection go back into one without a copy.
Results do not depend on the number of threads. Plans are cached per layout.
"""

import functools
import math
from typing import NamedTuple

import numpy as np

from ....ir import dtype as dt
from ....ir.ops.nn import attention as ops
from ....ir.ops.nn.attention import distances_summed
from ....ir.target import host
from ....passes.codegen.llvm.attention import attention as codegen
from ....passes.codegen.llvm.attention import attention_grad as codegen_grad
from ....passes.codegen.llvm.attention.attention_few import FEW_ROWS
from ....passes.codegen.llvm.attention.attention_softmax import ADDED_MASK, BOOL_MASK, NO_MASK, RANGE
from ....passes.codegen.llvm.ir.types import FLOATS_BY_NP
from ....passes.layout.plain_operands import ROWS
from ..calls import pool
from ..calls.operator_kernel import OperatorKernel
from ..calls.plan import Jobs, chunks_for
from ..compiler.compile import task_of
from ..loops import copies, kernels
from ..loops.kernels import widened
from ..memory import alloc

_KEY_BLOCK_BYTES = 2048             # of a row of scores: rows of a register tile and a panel of keys fit the nearest cache
_LINE = 64
_BLOCKS_PER_THREAD = 4
_SPLIT_ROWS = 96                    # rows that share the transposed keys of an item, at least
_KEPT = 512


class Layout(NamedTuple):
    """Shape and strides (bytes) of an array (..., heads, rows, columns)."""

    shape: tuple
    strides: tuple
    start: int = 0          # bytes to the first element

    @property
    def head(self) -> int:
        return self.strides[-3]

    @property
    def row(self) -> int:
        return self.strides[-2]


def supported(*arrays) -> bool:
    """Whether the kernels take these arrays."""
    return arrays[0].dtype in FLOATS_BY_NP and all(a.size for a in arrays if a is not None)


def like(array, columns: int) -> np.ndarray:
    """Return memory for (..., heads, rows, columns) with heads and rows in the memory order of `array`."""
    *lead, heads, rows, _ = array.shape
    if array.strides[-3] < array.strides[-2] and heads > 1 and rows > 1:
        return alloc.empty((*lead, rows, heads, columns), array.dtype).swapaxes(-2, -3)
    return alloc.empty((*lead, heads, rows, columns), array.dtype)


_NO_MASK = np.zeros(1, np.int8)
_NO_BOUNDS = np.zeros(1, np.int64)


def mask_kind(mask) -> str:
    """Return the kernel's kind of a mask."""
    return NO_MASK if mask is None else BOOL_MASK if mask.dtype == np.bool_ else ADDED_MASK


def _readable(mask):
    """Return a mask that kernels can read by strides."""
    return mask if mask is None or not mask.ndim or mask.shape[-1] == 1 else copies.as_rows(mask)


def _mask_over(mask, q, k) -> Layout:
    """Return the layout of a mask broadcast over (..., heads, rows, keys)."""
    shape = (*q.shape[:-1], k.shape[-2])
    if mask is None:
        return Layout(shape, (0,) * len(shape))
    lead = [0] * (len(shape) - len(mask.shape))
    return Layout(shape, (*lead, *[0 if n == 1 else s for n, s in zip(mask.shape, mask.strides)]), mask.start)


class Geometry:
    """Sizes, strides and the starts of key heads, from the operands' layouts, for forward and gradient plans. With one query
    row per head and no causal rule, the heads that share keys are rows of one matrix."""

    def __init__(self, q: Layout, k: Layout, v: Layout, mask: Layout, causal: bool, others=()):
        self.heads = q.shape[-3] // k.shape[-3]
        if q.shape[-2] == 1 and self.heads > 1 and not causal:
            q, mask, *others = (_heads_as_rows(x, self.heads) for x in (q, mask, *others))
            self.heads = 1
        self.q, self.k, self.v, self.mask, self.others = q, k, v, mask, tuple(others)
        self.rows, self.size, self.v_size = q.shape[-2], q.shape[-1], v.shape[-1]
        self.keys = min(k.shape[-2], self.rows) if causal else k.shape[-2]
        self.groups = math.prod(k.shape[:-2])
        self.mask_step = mask.strides[-1] if mask.shape[-1] > 1 else 0
        self.work = self.groups * self.heads * self.rows * self.keys * (self.size + self.v_size) // (1 + causal)

    def words(self, **layouts) -> dict:
        """Return the words of the named layouts: the bytes between rows and between heads."""
        found = {f"{name}_{what}": getattr(x, what) for name, x in layouts.items() for what in ("row", "head")}
        return {"heads": self.heads, "rows": self.rows, "keys": self.keys, "size": self.size, "v_size": self.v_size,
                "mask_step": self.mask_step, **found}

    def starts(self, *layouts) -> np.ndarray:
        """Return a table of byte offsets: for each key head of each batch, the first head of each layout."""
        *batch, heads = self.k.shape[:-2]
        strides = [[*x.strides[:-3], x.shape[-3] // heads * x.head] for x in layouts]
        return _indices((*batch, heads)) @ np.array(strides, np.int64).T + [x.start for x in layouts]


@functools.lru_cache(_KEPT)
def _indices(shape):
    """Return the indices of all elements of a shape, a row for each."""
    return np.indices(shape, np.int64).reshape(len(shape), -1).T


def _heads_as_rows(x, heads):
    *lead, count, _, columns = x.shape
    return Layout((*lead, count // heads, heads, columns), (*x.strides[:-3], heads * x.head, x.head, x.strides[-1]), x.start)


def _plain(shape, item) -> Layout:
    strides = [item]
    for size in reversed(shape[1:]):
        strides.insert(0, strides[0] * size)
    return Layout(shape, tuple(strides))


def _blocks(groups: int, rows: int, threads: int) -> int:
    """Return the number of parts of a key head's rows that keeps all threads busy."""
    if threads == 1 or groups >= _BLOCKS_PER_THREAD * threads:
        return 1
    return max(1, min(rows // _SPLIT_ROWS, -(-_BLOCKS_PER_THREAD * threads // groups)))


class Visibility(NamedTuple):
    """Rules of visibility in a plan: the kind of mask, causal or not, bounds or not, the two numbers of a tanh or None."""

    mask: str
    causal: bool
    bounds: bool = False
    squash: tuple | None = None

    @property
    def kernel(self) -> dict:
        return {"mask": self.mask, "bounds": self.bounds, "squash": self.squash is not None}

    def words(self, bounds: Layout, ranges_at: int) -> dict:
        inner, outer = map(float, self.squash or (1, 1))
        return {"causal": self.causal, "bounds_row": bounds.row, "bounds_head": bounds.head, "ranges_at": ranges_at,
                "squash_inner": inner, "squash_outer": outer}


def forward(q, k, v, mask, *, causal, scale):
    """Return (attention, logsumexp of each row), without the matrix of scores."""
    if not supported(q, k, v, mask):
        return ops.attention.ref(q, k, v, mask, causal=causal, scale=scale)
    q, k, v, mask = copies.as_rows(q), copies.as_rows(k), copies.as_rows(v), _readable(mask)
    return _run_forward(q, k, v, mask, None, layout_of(mask), Visibility(mask_kind(mask), causal), scale)


def _run_forward(q, k, v, mask, bounds, mask_layout, visibility, scale):
    """Run a forward plan on arrays that kernels read by strides."""
    out, lse = like(q, v.shape[-1]), alloc.empty(q.shape[:-1], q.dtype)
    plan = _forward_plan_of(q, k, v, mask_layout, out, bounds, visibility, scale)
    plan(q, k, v, _NO_MASK if mask is None else mask, out, lse, _NO_BOUNDS if bounds is None else bounds)
    return out, lse


def _forward_plan_of(q, k, v, mask_layout, out, bounds, visibility, scale):
    """Return the forward plan of arrays, or of operands of a step."""
    layouts = (*map(layout_of, (q, k, v)), mask_layout, layout_of(out), layout_of(bounds))
    return forward_plan(layouts, visibility, float(scale), q.dtype, pool.get_num_threads())


@functools.lru_cache(_KEPT)
def forward_plan(layouts, visibility, scale, dtype, threads):
    """Return the jobs of a forward call on (q, k, v, mask, out, lse, bounds); `layouts` are those of all but lse."""
    q, k, v, mask, out, bounds = map(_layout, layouts)
    mask, bounds, item = _mask_over(mask, q, k), _bounds_over(bounds, q), dtype.itemsize
    lse = _plain((*q.shape[:-1], 1), item)
    g = Geometry(q, k, v, mask, visibility.causal, (out, lse, bounds))
    out, lse, bounds = g.others
    is_few = g.heads * g.rows <= FEW_ROWS
    kernel = codegen.AttentionKernel(host(), FLOATS_BY_NP[dtype], **visibility.kernel, few=is_few)
    key_block = min(_KEY_BLOCK_BYTES // item, -(-g.keys // kernel.shape.lanes) * kernel.shape.lanes)
    panels = 0 if is_few else -(-key_block // kernel.shape.columns) * kernel.shape.columns * g.size * item
    score_row = (-(-key_block * item // _LINE) | 1) * _LINE
    scores_at = -(-panels // _LINE) * _LINE
    stats_at = scores_at + codegen.ROWS * score_row
    strips = g.heads * -(-g.rows // codegen.ROWS)
    blocks = _blocks(g.groups, g.heads * g.rows, threads)
    most = strips // blocks + 1
    ranges_at = -(-(stats_at + most * codegen.STATS * item) // _LINE) * _LINE
    scratch_bytes = -(-(ranges_at + visibility.bounds * most * RANGE) // _LINE) * _LINE + _LINE
    todo, items = Jobs(threads), g.groups * blocks
    chunks = chunks_for(g.work, items, threads)
    words = g.words(q=g.q, k=g.k, v=g.v, o=out, mask=g.mask) | {"lse_head": lse.head} | visibility.words(bounds, ranges_at)
    words = {name: value for name, value in words.items() if name in codegen.WORDS}
    todo.add(task_of(kernel), codegen.WORDS[len(codegen.ARRAYS) + 2:],
             offsets=todo.table(g.starts(g.q, g.k, g.v, g.mask, out, lse, bounds)), items=items, chunks=chunks, blocks=blocks,
             scale=scale, key_block=key_block, score_row=score_row, scratch_bytes=scratch_bytes,
             scores_at=scores_at, stats_at=stats_at, **words)
    return todo.plan(scratch_bytes * (threads if chunks > 1 else 1), g.work)


def bounded(q, k, v, bounds, table, *, scale, squash):
    """Return (attention over each row's keys, logsumexp of each row), without the matrix of scores."""
    if not supported(q, k, v, bounds, table):
        return ops.bounded_attention.ref(q, k, v, bounds, table, scale=scale, squash=squash)
    q, k, v = map(copies.as_rows, (q, k, v))
    table, bounds = [a if a is None else np.ascontiguousarray(a) for a in (table, bounds)]
    return _run_forward(q, k, v, table, bounds, distances_over(table, q, k), visibility_of(table, bounds, squash), scale)


def layout_of(a):
    """Return the layout of an array for plans, None for None."""
    return None if a is None else (a.shape, a.strides)


def _layout(layout):
    return layout if layout is None else Layout(*layout)


def visibility_of(table, bounds, squash) -> Visibility:
    """Return the visibility of rows with bounds and a table of distances."""
    return Visibility(NO_MASK if table is None else ADDED_MASK, False, bounds is not None, squash)


def _bounds_over(bounds, q) -> Layout:
    """Return the layout of bounds over all rows, or of unused bounds."""
    shape = (*q.shape[:-1], 2)
    if bounds is None:
        return Layout(shape, (0,) * len(shape))
    lead = [0 if n == 1 else s for n, s in zip(bounds.shape[:-2], bounds.strides)]
    return Layout(shape, (*lead, *bounds.strides[-2:]))


def distances_over(table, q, k):
    """Return the layout of a table of distances over (..., heads, rows, keys): each row begins a number earlier."""
    if table is None:
        return None
    shape = (*q.shape[:-1], k.shape[-2])
    lead, item = [0 if n == 1 else s for n, s in zip(table.shape[:-1], table.strides)], table.strides[-1]
    return Layout(shape, (*lead, -item, item), (shape[-2] - 1) * item)


def gradients(g, q, k, v, mask, lse, delta, *, causal, scale, mask_grad):
    """Return (dq, dk, dv, the mask's gradient, empty unless queried); probabilities are computed again."""
    if not supported(g, q, k, v, mask):
        return ops.attention_grad.ref(g, q, k, v, mask, lse, delta, causal=causal, scale=scale, mask_grad=mask_grad)
    g, q, k, v = map(copies.as_rows, (g, q, k, v))
    read = _readable(mask)
    results, ds = _run_gradients((g, q, k, v), read, None, (lse, delta), layout_of(read), Visibility(mask_kind(mask), causal),
                                 scale, mask_grad, alloc.zeros if causal else alloc.empty)
    return (*results, _summed(ds, mask.shape) if mask_grad else ds)


def _run_gradients(arrays, mask, bounds, rows, mask_layout, visibility, scale, mask_grad, make):
    """Run a plan of gradients; return (dq, dk, dv) and the gradients of scores, in memory of `make`, if queried."""
    _, q, k, v = arrays
    results = [like(a, a.shape[-1]) for a in (q, k, v)]
    ds = make((*q.shape[:-1], k.shape[-2]) if mask_grad else (0,) * q.ndim, q.dtype)
    plan = _grad_plan_of(arrays, mask_layout, results, bounds, visibility, scale, mask_grad)
    plan(*arrays, _NO_MASK if mask is None else mask, *map(np.ascontiguousarray, rows), *results, ds,
         _NO_BOUNDS if bounds is None else bounds)
    return results, ds


def _grad_plan_of(arrays, mask_layout, results, bounds, visibility, scale, mask_grad=False):
    """Return the plan of gradients of arrays (g, q, k, v), or of operands of a step."""
    layouts = (*map(layout_of, arrays), mask_layout, *map(layout_of, (*results, bounds)))
    return grad_plan(layouts, visibility, float(scale), arrays[1].dtype, mask_grad, pool.get_num_threads())


def bounded_gradients(g, q, k, v, bounds, table, lse, delta, *, scale, squash, table_grad):
    """Return (dq, dk, dv) and, if queried, the table's gradient, for which the gradients of all scores are stored."""
    if not supported(g, q, k, v, bounds, table):
        return ops.bounded_attention_grad.ref(g, q, k, v, bounds, table, lse, delta, scale=scale, squash=squash,
                                              table_grad=table_grad)
    g, q, k, v = map(copies.as_rows, (g, q, k, v))
    table, bounds = [a if a is None else np.ascontiguousarray(a) for a in (table, bounds)]
    results, ds = _run_gradients((g, q, k, v), table, bounds, (lse, delta), distances_over(table, q, k),
                                 visibility_of(table, bounds, squash), scale, table_grad, alloc.zeros)
    return (*results, distances_summed(ds, table.shape)) if table_grad else tuple(results)


def _summed(x, shape):
    """Sum x over the dims along which a shape was broadcast."""
    lead = x.ndim - len(shape)
    dims = (*range(lead), *(i + lead for i, n in enumerate(shape) if n == 1 and x.shape[i + lead] > 1))
    if not dims:
        return x.reshape(shape)
    return kernels.reduction("sum", dt.BY_NP[x.dtype])(x, dims, True).reshape(shape)


@functools.lru_cache(_KEPT)
def grad_plan(layouts, visibility, scale, dtype, mask_grad, threads):
    """Return the jobs of gradients on (g, q, k, v, mask, lse, delta, dq, dk, dv, ds, bounds). `layouts` are those of g, q, k,
    v, mask, dq, dk, dv and bounds."""
    upstream, q, k, v, mask, dq, dk, dv, bounds = map(_layout, layouts)
    mask, bounds = _mask_over(mask, q, k), _bounds_over(bounds, q)
    item, kernel = dtype.itemsize, codegen_grad.AttentionGradKernel(host(), FLOATS_BY_NP[dtype], **visibility.kernel)
    each = _plain((*q.shape[:-1], 1), item)
    g = Geometry(q, k, v, mask, visibility.causal, (upstream, each, dq, _plain((*q.shape[:-1], k.shape[-2]), item), bounds))
    upstream, each, dq, ds, bounds = g.others
    ranges_at = -(-kernel.scratch(g.size, g.v_size) // _LINE) * _LINE
    squares = g.heads * -(-g.rows // codegen_grad.SIDE)
    todo, scratch = Jobs(threads), -(-(ranges_at + visibility.bounds * squares * RANGE) // _LINE) * _LINE + _LINE
    words = g.words(q=g.q, k=g.k, v=g.v, mask=g.mask, g=upstream, lse=each, delta=each, dq=dq, dk=dk, dv=dv, ds=ds)
    words |= visibility.words(bounds, ranges_at)
    words = {name: value for name, value in words.items() if name in codegen_grad.WORDS}
    table = todo.table(g.starts(upstream, g.q, g.k, g.v, g.mask, each, each, dq, dk, dv, ds, bounds))
    most = 1
    for gives, blocks in _tasks(g, threads):
        items = g.groups * blocks
        chunks = chunks_for(2 * g.work, items, threads)
        most = max(most, min(chunks, threads))
        todo.add(task_of(kernel), codegen_grad.WORDS[len(codegen_grad.ARRAYS) + 2:], offsets=table, items=items, chunks=chunks,
                 blocks=blocks, scale=scale, scratch_bytes=scratch, gives=gives, all_keys=k.shape[-2],
                 keeps_ds=mask_grad and bool(gives & codegen_grad.GIVES_ROWS), **words)
    return todo.plan(scratch * (threads if most > 1 else 1), g.work)


def _tasks(g: Geometry, threads: int):
    """Return [(results of a task, parts of a key head)]: all at once, or keys and rows apart if heads are too few."""
    both = codegen_grad.GIVES_ROWS | codegen_grad.GIVES_KEYS
    wanted = -(-2 * threads // g.groups)
    if threads == 1 or g.groups % threads == 0 or g.groups >= 4 * threads:
        return [(both, 1)]
    rows, keys = (-(-n // codegen_grad.SIDE) for n in (g.rows, g.keys))
    if min(rows, keys) < 2:
        return [(both, 1)]
    return [(codegen_grad.GIVES_KEYS, min(keys, wanted)), (codegen_grad.GIVES_ROWS, min(rows, wanted))]


def _has_step(*operands):
    return operands[0].dtype in FLOATS_BY_NP and all(len(x.shape) >= 3 and x.dtype == operands[0].dtype for x in operands)


def _forward_step(node, operands, results):
    (q, k, v, mask), (out, _) = operands, results
    if not _has_step(q, k, v):
        return None
    visibility = Visibility(mask_kind(mask), node.params["causal"])
    plan = _forward_plan_of(q, k, v, layout_of(mask), out, None, visibility, node.params["scale"])
    return plan.native([0, 1, 2, None if mask is None else 3, 4, 5, None])


def _gradients_step(node, operands, results):
    """Plan the gradients, except the mask's."""
    (g, q, k, v, mask, lse, delta), visibility = operands, Visibility(mask_kind(operands[4]), node.params["causal"])
    if not _has_step(g, q, k, v) or node.params["mask_grad"] or not (lse.is_plain and delta.is_plain):
        return None
    plan = _grad_plan_of((g, q, k, v), layout_of(mask), results[:3], None, visibility, node.params["scale"])
    return plan.native([0, 1, 2, 3, None if mask is None else 4, 5, 6, 7, 8, 9, None, None])


def _bounded_step(node, operands, results):
    (q, k, v, edges, table), (out, _) = operands, results
    if not _has_step(q, k, v):
        return None
    visibility = visibility_of(table, edges, node.params["squash"])
    plan = _forward_plan_of(q, k, v, distances_over(table, q, k), out, edges, visibility, node.params["scale"])
    return plan.native([0, 1, 2, None if table is None else 4, 5, 6, None if edges is None else 3])


def _bounded_grad_step(node, operands, results):
    """Plan the gradients, except the table's."""
    g, q, k, v, edges, table, lse, delta = operands
    if not _has_step(g, q, k, v) or node.params["table_grad"] or not (lse.is_plain and delta.is_plain):
        return None
    visibility = visibility_of(table, edges, node.params["squash"])
    plan = _grad_plan_of((g, q, k, v), distances_over(table, q, k), results[:3], edges, visibility, node.params["scale"])
    return plan.native([0, 1, 2, 3, None if table is None else 5, 6, 7, 8, 9, 10, None, None if edges is None else 4])


OPERATORS = {
    ops.attention: OperatorKernel(widened(forward, 1), _forward_step, ROWS),
    ops.attention_grad: OperatorKernel(widened(gradients), _gradients_step, ROWS),
    ops.bounded_attention: OperatorKernel(widened(bounded, 1), _bounded_step, ROWS),
    ops.bounded_attention_grad: OperatorKernel(widened(bounded_gradients), _bounded_grad_step, ROWS),
}
