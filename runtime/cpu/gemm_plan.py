"""Planning a matrix product from shapes and strides alone: the road, the packing, the cut into chunks.

A plan holds for every call with the same layouts and number of threads; only addresses change from call to call.
"""

import ctypes
import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ...ir.errors import ShapeError
from ...passes.codegen.llvm import gemm as codegen
from . import amx_plan, cache_sizes

_DEPTH_BYTES = 2048                 # of a row of A in one sweep: a tile's rows stay in the nearest cache for all panels
_NEAR_BYTES = 32 << 10              # packed B that stays in the nearest cache, where it is used by few rows
_NEAR_STEPS = 64                    # of the depth in it
_NEAR_ROWS = 192                    # up to so many rows
_FAR_BYTES = 1 << 16                # rows of B so far apart are read in pieces twice as long
_TURNED_BYTES = 4096                # columns of a transposed A so far apart are packed
_NARROW_BYTES = 256                 # a B so narrow is read in place
_SPLIT_ROWS = 48                    # up to so many rows, loads across two lines cost less than packing
_FEW_ROWS = 16                      # up to so many rows, B is read once: a few of its rows at a time
_FEW_STEPS, _FEW_BYTES = 16, 4096   # so many of them, in pieces of so many bytes
_FEW_TILE_ROWS = 6                  # up to so many rows or columns, matrix tiles stand too empty; B's rows are read in place,
_FEW_TURNED_ROWS = 3                # or its columns, where they lie along the depth
_LEAST_TILE_WORK = 1 << 12          # multiply-adds from which tiles are worth being set up
_FEW_PAIR_ROWS = 12                 # up to so many rows, widening bfloat in place is faster than packing it in pairs
_DOT_ROWS = 24                      # up to so many rows, columns of B that lie along the depth are read in place
_ROWS_PER_PACK = 192                # rows that share a packed panel, at least
_ITEMS_EACH = 4                     # for each thread
_LINE = 64
_SERIAL_WORK = 1 << 17              # multiply-adds below which a second thread does not pay
_CHUNK_WORK = 1 << 15
_STEPS = ("a_row", "a_step", "b_step", "b_column")


class Layout(NamedTuple):
    """Shape and strides (bytes) of an array of matrices."""

    shape: tuple
    strides: tuple

    @property
    def turned(self) -> "Layout":
        """The layout of the transposed matrices."""
        shape, strides = self.shape, self.strides
        return Layout((*shape[:-2], shape[-1], shape[-2]), (*strides[:-2], strides[-1], strides[-2]))

    @property
    def contiguous(self) -> bool:
        """True for C order without gaps."""
        step = self.strides[-1]
        for size, stride in zip(reversed(self.shape), reversed(self.strides)):
            if size != 1 and stride != step:
                return False
            step *= size
        return True


@dataclass
class Plan:
    """How one product runs: words of its job, whether A and B change places, whether A is copied to an even depth."""

    shape: tuple
    road: str
    swapped: bool
    copies_a: bool
    words: ctypes.Array
    scratch_bytes: int
    scratch_item: int
    table: object
    parallel: bool

    def __post_init__(self):
        self.address = ctypes.addressof(self.words)


def result_shape(a: tuple, b: tuple) -> tuple:
    """Shape of the product of stacks of matrices of two shapes."""
    if a[-1] != b[-2]:
        raise ShapeError(f"matmul: inner sizes differ: {list(a)} @ {list(b)} needs {a[-1]} == {b[-2]}")
    if len(a) == len(b) == 2:
        return a[0], b[1]
    try:
        return (*np.broadcast_shapes(a[:-2], b[:-2]), a[-2], b[-1])
    except ValueError as error:
        raise ShapeError(f"matmul: batch sizes do not broadcast: {list(a)} @ {list(b)}") from error


def make_plan(a: Layout, b: Layout, out: Layout, item: int, out_item: int, product, threads: int) -> Plan:
    """The plan of a product whose result has the layout `out` with a unit stride; `product` supplies kernels."""
    shape, batch = out.shape, out.shape[:-2]
    may_turn = not product.epilogue.name
    if len(a.shape) > 2 and len(b.shape) == 2 and may_turn and a.contiguous and out.contiguous:
        a, out, batch = _folded(a, item), _folded(out, out_item), ()
    rows, columns = out.shape[-2:]
    column = columns == 1 and rows > 1 and a.strides[-1] != item and out.strides[-2] == out_item
    swapped = may_turn and (column or (out.strides[-1] != out_item and columns > 1))
    if swapped:
        a, b, out = b.turned, a.turned, out.turned
    road, pack, copies_a = _choose_road(a, b, item, product)
    turned, pack = _change_places(a, b, item, pack) if road == "amx" else (False, pack)
    if turned:
        a, b, swapped, copies_a = b.turned, a.turned, not swapped, False
    if copies_a:
        a = even_depth(a, item)
    return _fill(shape, batch, road, pack, swapped, copies_a, (a, b, out), item, product, threads,
                 {"turned": 1} if turned else None)


def make_packed_plan(a: Layout, columns: int, out: Layout, item: int, product, threads: int) -> Plan:
    """The plan of a product with a B packed beforehand (`gemm.Packed`): panels of B lie ready to be read in place."""
    shape, depth = out.shape, a.shape[-1]
    a, out = _folded(a, item), _folded(out, product.out_dtype.itemsize)
    road = packed_road(product)
    kernel = product.kernel(road)[0]
    copies_a = road == "pairs" and depth % 2 == 1
    if copies_a:
        a = even_depth(a, item)
    step = kernel.panel * item * (2 if product.pairs else 1)
    across = packed_steps(depth, product) * step // kernel.panel
    b = Layout((depth, columns), (step, across))
    return _fill(shape, (), road, codegen.IN_PLACE, False, copies_a, (a, b, out), item, product, threads,
                 {"b_step": step, "b_column": across, **({"depth_block": max(depth, 1)} if road == "pairs" else {})})


def packed_road(product) -> str:
    """The road that a packed B is laid out for."""
    return "amx" if product.amx else "pairs" if product.pairs else "tiles"


def packed_steps(depth: int, product) -> int:
    """Steps of the depth that a packed panel has: pairs of elements count as one, matrix tiles are whole."""
    if product.amx:
        return -(-depth // codegen.TILE_DEPTH) * codegen.TILE_DEPTH // 2
    return -(-depth // 2) if product.pairs else depth


def _folded(layout, item):
    width = layout.shape[-1]
    return Layout((math.prod(layout.shape[:-1]), width), (width * item, item))


def even_depth(layout, item):
    """Layout of a C-contiguous copy with an even depth."""
    depth, strides = layout.shape[-1] + layout.shape[-1] % 2, [item]
    for size in reversed((*layout.shape[1:-1], depth)):
        strides.insert(0, strides[0] * size)
    return Layout(layout.shape, tuple(strides))


def _steps(a, b, item):
    """Strides (a_row, a_step, b_step, b_column); of a dimension of size one, whatever suits."""
    depth, columns = a.shape[-1], b.shape[-1]
    return (a.strides[-2], a.strides[-1] if depth > 1 else item, b.strides[-2] if depth > 1 else item * columns,
            b.strides[-1] if columns > 1 else item)


def _choose_road(a, b, item, product):
    (rows, depth), columns = a.shape[-2:], b.shape[-1]
    a_row, a_step, b_step, b_column = _steps(a, b, item)
    turned = codegen.PACK_TRANSPOSED if b_step == item else codegen.PACK_ANY
    few = _FEW_TILE_ROWS if b_column == item else _FEW_TURNED_ROWS
    if product.amx and min(rows, columns) > few and rows * columns * depth >= _LEAST_TILE_WORK:
        return "amx", codegen.PACK_ROWS if b_column == item else turned, item not in (a_step, a_row)
    if b_step == item and ((columns == 1 and a_step == item) or (b_column != item and rows <= _DOT_ROWS)):
        return "dots", codegen.IN_PLACE, a_step != item
    if product.pairs and rows > (_FEW_PAIR_ROWS if b_column == item else 1):
        return "pairs", codegen.PACK_ROWS if b_column == item else turned, a_step != item or depth % 2 == 1
    if b_column != item:
        return "tiles", turned, False
    if rows == 1:
        return "vector", codegen.IN_PLACE, False
    few = rows <= _FEW_ROWS or columns * item <= _NARROW_BYTES
    return "tiles", codegen.IN_PLACE if few or _is_near(b_step, rows, depth) else codegen.PACK_ROWS, False


def _change_places(a, b, item, pack):
    """(whether the operands of matrix tiles change places, how the right one is packed then): rows along the depth are only
    copied on the left, and columns along the depth dear to pack on the right."""
    (rows, depth), columns = a.shape[-2:], b.shape[-1]
    a_row, a_step, *_ = _steps(a, b, item)
    if pack != codegen.PACK_TRANSPOSED:
        return False, pack
    if a_step == item:
        return amx_plan.turns(rows, columns, depth), pack
    return (True, codegen.PACK_ROWS) if a_row == item else (False, pack)


def _is_near(b_step, rows, depth):
    """Whether rows of B are read as quickly in place as packed: they fill a part of the second-level cache evenly, and either
    begin at lines or are used by few rows."""
    whole = b_step % _LINE == 0 or rows <= _SPLIT_ROWS
    return whole and b_step % 2048 != 0 and b_step * depth <= cache_sizes.second_level() // 4


class Block(NamedTuple):
    """What an item of register tiles works on at a time: steps of the depth, and columns (whole panels)."""

    steps: int
    columns: int


def _block(rows, depth, columns, road, pack, item, panel, b_step, product):
    """The block of a product on register tiles, from sizes alone.

    Many rows: a row of A takes `_DEPTH_BYTES` of the nearest cache, B a quarter of the second one. Few rows that B is packed
    for: what is packed stays in the nearest cache, and is read in long pieces. Fewer still: nothing is packed, and pieces of a
    few rows of B pass by. A C that cannot hold partial sums takes all of the depth.
    """
    room = cache_sizes.second_level() // 4
    if not product.sums_in_place:
        steps = max(depth, 1)
    elif pack == codegen.IN_PLACE and rows <= _FEW_ROWS and b_step > panel * item and b_step * depth > room:
        steps, room = _FEW_STEPS, _FEW_STEPS * _FEW_BYTES
    elif pack != codegen.IN_PLACE and rows <= _NEAR_ROWS:
        steps, room = _equal_parts(depth, _NEAR_STEPS), _NEAR_BYTES * (1 if b_step < _FAR_BYTES else 2)
    else:
        steps = _equal_parts(depth, _DEPTH_BYTES // item)
    return Block(steps, max(1, min(room // (steps * item * panel), -(-columns // panel))) * panel)


def _equal_parts(depth, most):
    """Steps of each of as few equal parts as can be."""
    parts = -(-depth // most)
    return -(-depth // parts // 8) * 8 if parts > 1 else max(depth, 1)


def _fill(shape, batch, road, pack, swapped, copies_a, layouts, item, product, threads, fixed=None):
    a, b, out = layouts
    (rows, depth), columns = a.shape[-2:], b.shape[-1]
    kernel, task = product.kernel(road)
    count, strides, table = _batches(batch, a, b, out)
    steps, work = dict(zip(_STEPS, _steps(a, b, item))), rows * columns * depth * count
    parallel, left = threads > 1 and work >= _SERIAL_WORK, {}
    if road == "amx":
        block = depth
        cut = amx_plan.cut(count, rows, columns, depth, pack, threads)
        panel, blocks, items, chunks, *_, each = cut
        fixed = {**(fixed or {}), **cut.words}
    elif road in ("dots", "vector"):
        block, each = max(depth, 1), 0
        panel = kernel.panel if road == "dots" else _wide_panel(columns, kernel.panel, threads)
        blocks, items, chunks = _cut_rows(count, -(-columns // panel), rows, pack, work, threads, parallel)
    else:
        block, panel = _block(rows, depth, columns, road, pack, item, kernel.panel, steps["b_step"], product)
        left = _left(steps, rows, depth, block, road, item, kernel.shape)
        if parallel:
            panel = _narrowed(panel, columns, kernel.panel, count, threads, packs_left=bool(left))
        blocks, items, chunks = _cut_rows(count, -(-columns // panel), rows, pack, work, threads, parallel)
        each = (-(-((block + 1) * panel * item) // 4096) * 4096 + 128 if pack else 0) + left.get("left_bytes", 0)
    values = {**steps, "source_row": steps["a_row"], "source_step": steps["a_step"], **left, "c_row": out.strides[-2],
              "a_batch": strides[0], "b_batch": strides[1], "c_batch": strides[2],
              "offsets": 0 if table is None else table.ctypes.data, "rows": rows, "columns": columns, "depth": depth,
              "depth_block": block, "panels": -(-columns // panel), "row_blocks": blocks, "items": items, "chunks": chunks,
              "scratch_bytes": each, "pack": pack, "panel": panel, "task": task, "tasks": chunks,
              "ahead": steps["b_step"] if pack == codegen.PACK_ROWS else 0, **(fixed or {})}
    words = (ctypes.c_int64 * len(codegen.PLAN_WORDS))(*(values.get(name, 0) for name in codegen.PLAN_WORDS))
    return Plan(shape, road, swapped, copies_a, words, each * (threads if chunks > 1 else 1), item, table,
                work >= _SERIAL_WORK)


def _left(steps, rows, depth, block, road, item, shape):
    """Words of an A that is packed tile by tile, or nothing: its columns are contiguous and far apart."""
    if road != "tiles" or steps["a_row"] != item or steps["a_step"] < _TURNED_BYTES or rows <= shape.rows or depth == 1:
        return {}
    step = shape.rows * item
    return {"source_row": item, "source_step": steps["a_step"], "a_step": step,
            "left_bytes": -(-block * step * codegen.LEFT_TILES // _LINE) * _LINE}


def _batches(batch, a, b, out):
    """(number of matrices, their strides, or a table of byte offsets [batch][3] where strides do not say it)."""
    if not batch:
        return 1, (0, 0, 0), None
    if len(batch) == 1 and len(a.shape) == len(b.shape) == 3 and a.shape[0] == b.shape[0]:
        return batch[0], (a.strides[0], b.strides[0], out.strides[0]), None
    columns = [_batch_offsets(batch, layout) for layout in (a, b, out)]
    return math.prod(batch), (0, 0, 0), np.ascontiguousarray(np.stack(columns, axis=1))


def _batch_offsets(batch, layout):
    """Byte offset of each matrix of a stack, broadcast over the batch."""
    offsets = np.zeros((), np.int64)
    for size, stride in zip(layout.shape[:-2], layout.strides[:-2]):
        offsets = offsets[..., None] + np.arange(size, dtype=np.int64) * stride
    return np.broadcast_to(offsets, batch).reshape(-1)


def _wide_panel(columns, least, threads):
    """Columns per item for one row: all threads get some, and what they hold of C stays in the nearest cache."""
    share = -(-columns // threads)
    return min(max(1, -(-share // least)) * least, codegen.VECTOR_PANEL)


def _narrowed(panel, columns, least, count, threads, packs_left):
    """Columns of an item where threads share the work: enough items for all, none narrower than two panels. A packed A is
    packed again for each item beside, so then rows are cut instead."""
    wanted = 1 if packs_left else -(-_ITEMS_EACH * threads // max(count, 1))
    share = -(-columns // (least * wanted))
    return min(panel, max(share, 2) * least)


def _cut_rows(count, panels, rows, pack, work, threads, parallel):
    """(row blocks, items, chunks): enough items to keep all threads busy, few enough not to pack a panel too often."""
    if not parallel:
        return 1, count * panels, 1
    most = rows // _ROWS_PER_PACK if pack else -(-rows // 6)
    blocks = max(1, min(most, -(-_ITEMS_EACH * threads // max(count * panels, 1))))
    items = count * panels * blocks
    return blocks, items, max(1, min(items, 8 * threads, work // _CHUNK_WORK))
