"""Plans of matrix products, from shapes and strides alone: algorithm, packing, chunks.

A plan holds for every call with the same layouts and number of threads; only addresses change from call to call.
"""

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ....ir.errors import ShapeError
from ....ir.interrupts import raise_interrupt
from ....ir.ops.linalg.products import unequal_inner_sizes
from ....passes.codegen.llvm.contract import gemm as codegen
from ..calls.step_list import At, NativeCall, NativeStep, Own, Scratch, Table
from ..memory import alloc
from . import amx_plan, swapped_plan, tile_plan
from .tile_plan import Operands

_FEW_TILE_ROWS = 6                  # up to so many rows or columns, matrix tiles are too empty; B's rows are read in place,
_FEW_TURNED_ROWS = 3                # or its columns, if they are contiguous
_LEAST_TILE_WORK = 1 << 12          # multiply-adds from which setting up tiles pays
_FEW_PAIR_ROWS = 12                 # up to so many rows, widening bfloat in place is faster than packing it in pairs
_DOT_ROWS = 24                      # up to so many rows, contiguous columns of B are read in place;
_DOT_DEPTH, _NEAR_BYTES = 64, 48 << 10  # or up to as many columns of such a depth, if all of them stay in the nearest cache
_LARGEST_ITEM = 8                   # bytes of an element
_SERIAL_WORK = 1 << 17              # multiply-adds below which a second thread does not pay


class Layout(NamedTuple):
    """Shape and strides (bytes) of an array of matrices."""

    shape: tuple
    strides: tuple

    @property
    def transposed(self) -> "Layout":
        """The layout of the transposed matrices."""
        shape, strides = self.shape, self.strides
        return Layout((*shape[:-2], shape[-1], shape[-2]), (*strides[:-2], strides[-1], strides[-2]))

    @property
    def contiguous(self) -> bool:
        step = self.strides[-1]
        for size, stride in zip(reversed(self.shape), reversed(self.strides)):
            if size != 1 and stride != step:
                return False
            step *= size
        return True


@dataclass
class Plan:
    """The plan of one product: words of its job by name, whether A and B are swapped, whether A is copied to an even depth."""

    shape: tuple
    strategy: str
    swapped: bool
    copies_a: bool
    words: dict
    scratch_bytes: int
    table: np.ndarray | None
    threads: int
    parallel: bool

    def __post_init__(self):
        self.lists = [None, None]       # (entry, words) of eager calls: with operands as an address, with one array
        small = math.prod(self.shape) * _LARGEST_ITEM < alloc.SMALL_BYTES
        self.make = np.empty if small else alloc.empty       # the allocator of results

    def native(self, epilogue_words=(), left=None, right=None, out=None, operands: Any = 0) -> NativeCall:
        """Return the product on operands 0 and 1 to operand 2, or on other locations. Its epilogue reads `epilogue_words`, or
        the words at the address `operands`."""
        first, second = (1, 0) if self.swapped else (0, 1)
        named = self.words | {
            "a": left or At(first), "b": right or At(second), "c": out or At(2),
            "scratch": Scratch() if self.scratch_bytes else 0,
            "operands": Own(len(codegen.WORDS)) if epilogue_words else operands,
            "offsets": 0 if self.table is None else Table(self.table)}
        words = (*[named[name] for name in codegen.WORDS], *epilogue_words)
        return NativeCall((NativeStep(named["task"], words, max(1, named["chunks"])),), self.scratch_bytes)


def result_shape(a: tuple, b: tuple) -> tuple:
    """Return the shape of the product of stacks of matrices of two shapes."""
    if a[-1] != b[-2]:
        raise unequal_inner_sizes("matmul", a, b)
    if len(a) == len(b) == 2:
        return a[0], b[1]
    try:
        return (*np.broadcast_shapes(a[:-2], b[:-2]), a[-2], b[-1])
    except ValueError as error:
        raise_interrupt(error, np.broadcast_shapes, a[:-2], b[:-2])
        raise ShapeError(f"matmul: batch sizes do not broadcast: {list(a)} @ {list(b)}") from error


def make_plan(a: Layout, b: Layout, out: Layout, item: int, out_item: int, product, threads: int) -> Plan:
    """Return the plan of a product whose result has the layout `out` with a unit stride; `product` supplies kernels."""
    shape, batch = out.shape, out.shape[:-2]
    may_turn = not product.epilogue.name
    if len(a.shape) > 2 and len(b.shape) == 2 and may_turn and a.contiguous and out.contiguous:
        a, out, batch = _folded(a, item), _folded(out, out_item), ()
    rows, columns = out.shape[-2:]
    column = columns == 1 and rows > 1 and a.strides[-1] != item and out.strides[-2] == out_item
    swapped = may_turn and (column or (out.strides[-1] != out_item and columns > 1))
    if swapped:
        a, b, out = b.transposed, a.transposed, out.transposed
    strategy, pack, copies_a = _choose_strategy(a, b, item, product)
    swaps, pack = _swap_operands(a, b, item, pack, strategy, product)
    if swaps:
        a, b, swapped, copies_a = b.transposed, a.transposed, not swapped, False
    if copies_a:
        a = even_depth(a, item)
    return _fill(shape, batch, strategy, pack, swapped, copies_a, (a, b, out), item, product, threads,
                 {"turned": 1} if swaps else None)


def make_adding_plan(a: Layout, b: Layout, out: Layout, item: int, product, threads: int) -> Plan:
    """Return the plan of C += A @ B on register tiles, for floats that C holds in the dtype of sums; rows of B and C are
    contiguous."""
    operands = Operands(*_steps(a, b, item), item)
    near = tile_plan.reads_in_place(a.shape[-2], b.shape[-2], b.shape[-1], operands, product.sums_in_place)
    return _fill(out.shape, out.shape[:-2], "tiles", codegen.IN_PLACE if near else codegen.PACK_ROWS, False, False,
                 (a, b, out), item, product, threads, {"adds": 1})


def _folded(layout, item):
    width = layout.shape[-1]
    return Layout((math.prod(layout.shape[:-1]), width), (width * item, item))


def even_depth(layout, item):
    """Return the layout of a C-contiguous copy with an even depth."""
    depth, strides = layout.shape[-1] + layout.shape[-1] % 2, [item]
    for size in reversed((*layout.shape[1:-1], depth)):
        strides.insert(0, strides[0] * size)
    return Layout(layout.shape, tuple(strides))


def _steps(a, b, item) -> tuple[int, int, int, int]:
    """Return strides (a_row, a_step, b_step, b_column); of a dimension of size one, any that suits."""
    depth, columns = a.shape[-1], b.shape[-1]
    return (a.strides[-2], a.strides[-1] if depth > 1 else item, b.strides[-2] if depth > 1 else item * columns,
            b.strides[-1] if columns > 1 else item)


def _choose_strategy(a, b, item, product):
    (rows, depth), columns = a.shape[-2:], b.shape[-1]
    a_row, a_step, b_step, b_column = _steps(a, b, item)
    transposed = codegen.PACK_TRANSPOSED if b_step == item else codegen.PACK_ANY
    few = _FEW_TILE_ROWS if b_column == item else _FEW_TURNED_ROWS
    if product.amx and min(rows, columns) > few and rows * columns * depth >= _LEAST_TILE_WORK:
        return "amx", codegen.PACK_ROWS if b_column == item else transposed, item not in (a_step, a_row)
    narrow = columns <= _DOT_ROWS and depth >= _DOT_DEPTH and columns * depth * item <= _NEAR_BYTES
    few_columns = a_step == item and (columns == 1 or narrow)
    if b_step == item and (few_columns or (b_column != item and rows <= _DOT_ROWS)):
        if a_step == item and swapped_plan.is_far(rows, depth, item) and _should_swap(rows, depth, columns, product):
            return "tiles", transposed, False
        return "dots", codegen.IN_PLACE, a_step != item
    if product.pairs and rows > (_FEW_PAIR_ROWS if b_column == item else 1):
        return "pairs", codegen.PACK_ROWS if b_column == item else transposed, a_step != item or depth % 2 == 1
    if b_column != item:
        return "tiles", transposed, False
    if rows == 1:
        return "vector", codegen.IN_PLACE, False
    near = tile_plan.reads_in_place(rows, depth, columns, Operands(a_row, a_step, b_step, b_column, item),
                                    product.sums_in_place)
    return "tiles", codegen.IN_PLACE if near else codegen.PACK_ROWS, False


def _should_swap(rows, depth, columns, product):
    return swapped_plan.turns(rows, depth, columns, product.kernel("tiles"))


def _swap_operands(a, b, item, pack, strategy, product):
    """Return (whether the operands are swapped, how the right one is packed then). Columns along the depth are expensive to
    pack on the right, while rows along the depth are read in place on the left, or copied to matrix tiles."""
    (rows, depth), columns = a.shape[-2:], b.shape[-1]
    a_row, a_step, *_ = _steps(a, b, item)
    if pack != codegen.PACK_TRANSPOSED or strategy == "pairs":
        return False, pack
    if strategy == "tiles":
        return a_step == item and _should_swap(rows, depth, columns, product), pack
    if a_step == item:
        return amx_plan.turns(rows, columns, depth), pack
    return (True, codegen.PACK_ROWS) if a_row == item else (False, pack)


def _fill(shape, batch, strategy, pack, swapped, copies_a, layouts, item, product, threads, fixed=None):
    a, b, out = layouts
    (rows, depth), columns = a.shape[-2:], b.shape[-1]
    count, strides, table = _batches(batch, a, b, out)
    operands, work = Operands(*_steps(a, b, item), item), rows * columns * depth * count
    cut = _cut(strategy, count, (rows, depth, columns), pack, operands, product, threads if work >= _SERIAL_WORK else 1,
               bool(fixed and fixed.get("turned")))
    words = {**dict.fromkeys(codegen.WORDS, 0), **operands._asdict(), "c_row": out.strides[-2], "sums_row": out.strides[-2],
             **dict(zip(("a_batch", "b_batch", "c_batch"), strides)), "rows": rows, "columns": columns, "depth": depth,
             "panels": -(-columns // cut.panel), "row_blocks": cut.blocks, "items": cut.items, "chunks": cut.chunks,
             "pack": pack, "panel": cut.panel, **cut.words, **(fixed or {})}
    words["task"] = product.task(strategy, words["columns"], bool(words.get("turned")))
    scratch = words["scratch_bytes"] * (threads if cut.chunks > 1 else 1)
    return Plan(shape, strategy, swapped, copies_a, words, scratch, table, threads, work >= _SERIAL_WORK)


def _cut(strategy, count, sizes, pack, operands, product, threads, swaps=False):
    """Return the cut of an algorithm's work into items, and the kernel's other words."""
    (rows, depth, columns), kernel = sizes, product.kernel(strategy)
    if strategy == "amx":
        return amx_plan.cut(count, rows, columns, depth, pack, threads)
    if swaps and strategy == "tiles":
        return swapped_plan.cut(count, columns, depth, rows, operands, kernel, threads)
    if strategy in ("tiles", "pairs"):
        return tile_plan.cut(count, sizes, pack, operands, kernel, product.sums_in_place, threads)
    panel = kernel.panel if strategy == "dots" else _wide_panel(columns, kernel.panel, threads)
    shares = tile_plan.share(count, -(-columns // panel), rows, rows * columns * depth * count, pack, threads)
    return tile_plan.Cut(panel, *shares, {"depth_block": max(depth, 1), "scratch_bytes": 0})


def _batches(batch, a, b, out):
    """Return (number of matrices, their strides, or a table of byte offsets [batch][3] if strides cannot express it)."""
    if not batch:
        return 1, (0, 0, 0), None
    if len(batch) == 1 and len(a.shape) == len(b.shape) == 3 and a.shape[0] == b.shape[0]:
        return batch[0], (a.strides[0], b.strides[0], out.strides[0]), None
    columns = [_batch_offsets(batch, layout) for layout in (a, b, out)]
    return math.prod(batch), (0, 0, 0), np.ascontiguousarray(np.stack(columns, axis=1))


def _batch_offsets(batch, layout):
    """Return the byte offset of each matrix of a stack, broadcast over the batch."""
    offsets = np.zeros((), np.int64)
    for size, stride in zip(layout.shape[:-2], layout.strides[:-2]):
        offsets = offsets[..., None] + np.arange(size, dtype=np.int64) * stride
    return np.broadcast_to(offsets, batch).reshape(-1)


def _wide_panel(columns, least, threads):
    """Return the columns per item for one row: all threads get some, and their part of C stays in the nearest cache."""
    share = -(-columns // threads)
    return min(max(1, -(-share // least)) * least, codegen.VECTOR_PANEL)
