"""Matrix multiplication on the microkernel: C[b] = epilogue(A[b] @ B[b]) for any sizes and strides, as pool tasks.

One module serves every shape of a (precision, epilogue, strategy). Sizes and strides, in bytes, come at run time in a *job*, an
array of 64-bit words named in `gemm_job.py`. Register tiles take most of LLVM's time, so a module has only the tile widths that
its products need (`GemmKernel.fitted`). Strategies:

    tiles   register tiles over panels of B's columns. B is read in place or packed, a block at a time, into the worker's
            scratch, as are tiles of a transposed A. Blocks fit the caches (`runtime/cpu/gemm/tile_plan.py`). Operands may be
            swapped (`gemm_swapped.py`), and tiles of few vectors have more rows
    vector  one row times a matrix in place: sweeps along whole rows of B, a few at a time, in memory order
    pairs   tiles for bfloat with the dot instruction, B packed in pairs along the depth
    amx     bfloat products on the processor's matrix tiles
    dots    both operands contiguous along the depth, few rows: sums across lanes, no packing

A chunk is a range of items (batch, panels, block of rows). One sequence of operations computes each element of C; it depends on
sizes and the machine's caches, so results do not depend on the number of threads or the division into chunks.
"""

from dataclasses import dataclass, field, replace
from typing import Any

from .....ir.reference.weight_formats import format_named
from ..ir.emit import ModuleWriter
from ..ir.types import I64, PTR, bytes_of, constant
from ..pool.tasks import write_task
from .epilogue import Identity, Place
from .gemm_amx import DEPTH as TILE_DEPTH
from .gemm_amx import STRIP, amx_item
from .gemm_in_place import DOT_COLUMNS, DOT_ROWS, VECTOR_PANEL, dot_item, vector_item, write_last_rows
from .gemm_job import WORDS, call_epilogue, open_item, word
from .gemm_swapped import write_turn_out
from .microkernel import (
    TURN,
    Lines,
    Operand,
    Precision,
    TileShape,
    memory_type,
    narrow,
    outer_tile,
    pair_tile,
    tile_shape,
)
from .packing import IN_PLACE, PACK_ANY, PACK_ROWS, PACK_TRANSPOSED, left_packer, packers, pair_packers, stored_packer

STRATEGIES = ("tiles", "vector", "pairs", "amx", "dots")
_ACCUMULATE, _LAST = 1, 2
GROUP_TILES = 16                    # of rows in a group: its A may be packed, its C transposed
_TALLEST, _NEVER = 12, 1 << 30      # most rows of a tile of few vectors; more rows than exist
UNROLL = 2                          # steps of the depth in a round of a large tile's loop
_LARGE_TILE = 10                    # vectors of sums
_LINE, _FIRST_LINES = 64, 4


@dataclass(frozen=True)
class GemmKernel(ModuleWriter):
    """Generator of the products of a precision, strategy and epilogue.

        variants   widths of its register tiles, None for all: 0 for whole ones, v for v vectors, the last one masked
        may_swap   whether operands may be swapped, if this strategy permits it
        stored     weight format of B's columns, which tiles unpack as they pack them; a block of the depth is one of whole
                   blocks of the format, and `b_step` is 0
    """

    precision: Precision
    strategy: str = "tiles"
    epilogue: Any = field(default_factory=Identity)
    variants: tuple | None = None
    may_swap: bool = True
    stored: str = ""

    @property
    def shape(self) -> TileShape:
        """Rows and vectors of a full tile of this strategy."""
        shape = tile_shape(self.target, self.precision.accumulate)
        if self.strategy == "amx":
            return STRIP
        if self.strategy == "vector":
            return TileShape(1, 16, shape.lanes)
        return TileShape(DOT_ROWS, DOT_COLUMNS, shape.lanes) if self.strategy == "dots" else shape

    @property
    def panel(self) -> int:
        """Columns of an item; strategies without packing take any multiple is possible."""
        return 16 * DOT_COLUMNS if self.strategy == "dots" else self.shape.columns

    @property
    def can_swap(self) -> bool:
        """Whether products with swapped operands are possible."""
        return self.may_swap and self.strategy == "tiles" and self.precision.out == self.precision.accumulate

    def fitted(self, columns: int, swapped: bool) -> "GemmKernel":
        """Return the kernel for products of `columns` columns alone, with or without swapped operands."""
        if self.strategy not in ("tiles", "pairs"):
            return self
        whole, rest = divmod(columns, self.shape.columns)
        variants = (*[0][:whole], *[-(-rest // self.shape.lanes)][:rest])
        return replace(self, variants=variants or (0,), may_swap=swapped)

    @property
    def symbol(self) -> str:
        return "_".join(filter(None, ("gemm", self.strategy, str(self.precision), self.epilogue.name, self.stored)))

    def write(self, module):
        write = {"dots": dot_item, "vector": vector_item, "amx": amx_item}.get(self.strategy, _tile_item)
        write_task(module, self.symbol, write(module, self), WORDS)


def _tile_item(module, kernel):
    """Write the function of one item: for each block of the depth, pack panels of B if needed, then run every tile of its rows
    on all of them. So a tile's rows of A are in the nearest cache for all panels but the first."""
    shape, precision, pairs = kernel.shape, kernel.precision, kernel.strategy == "pairs"
    table = _kernel_table(module, kernel)
    form = format_named(kernel.stored) if kernel.stored else None
    modes = (pair_packers(module, shape) if pairs else {PACK_TRANSPOSED: stored_packer(module, shape, form)} if form else
             packers(module, shape, memory_type(precision.b)))
    left = None if pairs else left_packer(module, shape, memory_type(precision.a))
    finish = _write_finish(module, kernel) if kernel.can_swap else None
    f = module.function("item", [(PTR, "job"), (I64, "number"), (I64, "worker")], internal=True)
    job, number, worker = f.params
    item = open_item(f, job, number)
    if kernel.can_swap:                                # transposed squares of C begin at cache lines
        unit = f.select(_is_swapped(f, job), f.index(shape.lanes), 1)
        item.first_row, item.end_row = (f.min(f.mul(f.ceil_div(row, unit), unit), word(f, job, "rows"))
                                        for row in (item.first_row, item.end_row))
    depth, block = word(f, job, "depth"), word(f, job, "depth_block")
    sums = f.at(word(f, job, "scratch", PTR), f.mul(worker, word(f, job, "scratch_bytes")))
    room = f.at(sums, word(f, job, "sums_bytes"))
    scratch = f.at(room, word(f, job, "left_bytes"))
    packed_step = (4 if pairs else bytes_of(precision.b)) * shape.columns
    with f.loop(0, f.max(depth, 1), block) as loop:
        count = f.min(f.sub(depth, loop.index), block)
        steps = f.div(f.add(count, 1), 2) if pairs else count
        b_step, across = word(f, job, "b_step"), word(f, job, "b_column")
        right = f.at(item.b, f.mul(item.column, across))
        corner = f.at(right, f.mul(f.div(loop.index, form.block), form.nbytes) if form else f.mul(loop.index, b_step))
        panels = _panels(f, job, modes, corner, item.columns, count, (scratch, packed_step, f.mul(steps, packed_step)), shape)
        flags = _flags(f, f.add(loop.index, word(f, job, "adds")), loop.index, block, depth)
        follows = f.add(loop.index, block)
        next_panel = f.at(right, f.mul(across, word(f, job, "panel")))
        following = f.select(f.compare("slt", follows, depth), f.at(right, f.mul(follows, b_step)), next_panel)
        start = f.at(item.a, f.mul(loop.index, word(f, job, "source_step")))
        _all_rows(f, job, item, (kernel, table, left, room, finish, sums), steps, start, panels, following, flags)
    f.ret()
    return "item"


def _write_finish(module, kernel):
    """Write the functions that end a group of rows with swapped operands: transpose its sums, and compute A's last rows."""
    return write_turn_out(module, kernel, GROUP_TILES * kernel.shape.rows), write_last_rows(module, kernel)


def _flags(f, before, at, block, depth):
    """Return the flags of a sweep of the depth: accumulate (not the first, unless C counts) and finish (the last)."""
    again = f.select(f.compare("sgt", before, 0), constant(I64, _ACCUMULATE), constant(I64, 0))
    last = f.compare("sge", f.add(at, block), depth)
    return f.binary("or", again, f.select(last, constant(I64, _LAST), constant(I64, 0)))


def _panels(f, job, modes, corner, columns, count, packed, shape):
    """Return (first panel, bytes between steps, bytes between panels): in B itself, or packed into the scratch."""
    step, across, mode = word(f, job, "b_step"), word(f, job, "b_column"), word(f, job, "pack")
    scratch, packed_step, packed_panel = packed

    def pack():
        f.switch(mode, {kind: (lambda name=name: f.call(name, "void", corner, step, across, columns, count, scratch))
                        for kind, name in modes.items()})
        return scratch, constant(I64, packed_step), packed_panel

    return f.choose(f.compare("eq", mode, IN_PLACE), lambda: (corner, step, f.mul(across, shape.columns)), pack)


def _all_rows(f, job, item, parts, steps, start, panels, following, flags):
    """Loop over groups of tiles of rows; swapped operands' finished sums are transposed, then A's last rows follow."""
    kernel, table, left, room, finish, sums = parts
    c_row = word(f, job, "c_row")
    with f.loop(item.first_row, item.end_row, GROUP_TILES * kernel.shape.rows) as group:
        rows = f.min(f.sub(item.end_row, group.index), GROUP_TILES * kernel.shape.rows)
        c, waiting, in_tiles = f.at(item.c, f.mul(group.index, c_row)), sums, flags
        if finish is not None:
            swapped, several_blocks = _is_swapped(f, job), f.compare("slt", word(f, job, "depth_block"), word(f, job, "depth"))
            before = f.select(several_blocks, f.sub(group.index, item.first_row), 0)
            waiting = f.at(sums, f.mul(before, word(f, job, "sums_row")))
            c = f.select(swapped, f.at(waiting, f.mul(item.column, -bytes_of(kernel.precision.out))), c)
            in_tiles = f.select(swapped, f.bit_and(flags, _ACCUMULATE), flags)
        _some_rows(f, job, item, (kernel, table, left, room), steps, start, panels, c, (group.index, rows), following, in_tiles)
        if finish is not None:
            turn_out, last_rows = finish
            with f.when(f.bit_and(swapped, f.compare("ne", f.bit_and(flags, _LAST), 0))):
                f.call(turn_out, "void", job, waiting, f.at(item.c, f.mul(item.column, c_row)), item.column, group.index,
                       item.columns, rows, item.batch)
                f.call(last_rows, "void", job, item.b, item.a, item.c, group.index, rows, item.batch)


def _is_swapped(f, job):
    """Whether the operands are swapped, so that rows of A are columns of C."""
    return f.compare("ne", word(f, job, "turned"), 0)


def _some_rows(f, job, item, parts, steps, start, panels, c, some, following, flags):
    """Loop over tall tiles, if there are any, then tiles of nearly equal height; each tile goes along all panels."""
    (kernel, table, left, room), (first, rows) = parts, some
    shape = kernel.shape
    packed = None if left is None else f.compare("ne", word(f, job, "left_bytes"), 0)
    tall = _tall_rows(f, kernel, item.columns, packed)
    first_small = f.div(rows, tall)
    rest = f.sub(rows, f.mul(first_small, tall))
    tiles = f.ceil_div(rest, shape.rows)
    low, extra = f.div(rest, f.max(tiles, 1)), f.mod(rest, f.max(tiles, 1))
    source_row, source_step, sums_row = (word(f, job, name) for name in ("source_row", "source_step", "sums_row"))
    start = f.at(start, f.mul(first, source_row))
    apart = f.mul(steps, shape.rows * bytes_of(memory_type(kernel.precision.a)))
    if left is not None:
        with f.when(packed):
            f.call(left, "void", start, source_step, low, tiles, extra, steps, room, apart)
    with f.loop(0, f.add(first_small, tiles), carry=[constant(I64, 0)]) as loop:
        row, small = loop.carried[0], f.sub(loop.index, first_small)
        height = f.select(f.compare("slt", small, 0), tall, f.add(low, f.cast("zext", f.compare("slt", small, extra), I64)))
        a = f.at(start, f.mul(row, source_row))
        after = f.at(a, f.mul(height, source_row))
        _prefetch_rows(f, after, source_row, shape.rows)
        a = a if left is None else f.select(packed, f.at(room, f.mul(loop.index, apart)), a)
        number = f.add(f.div(f.sub(first, item.first_row), shape.rows), loop.index)
        kernels = f.at(f.at(table, f.min(height, shape.rows + 1), PTR), -8)
        _one_row_of_tiles(f, job, item, kernel, kernels, steps, a, panels, f.at(c, f.mul(row, sums_row)), f.add(first, row),
                          (number, following, after), flags, height)
        loop.next(f.add(row, height))


def _tall_rows(f, kernel, columns, packed):
    """Return the rows of tall tiles of an item with few vectors of columns; a huge number elsewhere, and if A is packed."""
    shape, rows = kernel.shape, f.index(_NEVER)
    for vectors in range(shape.vectors - 1, 0, -1):
        rows = f.select(f.compare("sle", columns, vectors * shape.lanes), f.index(_most_rows(shape, vectors)), rows)
    return rows if packed is None else f.select(packed, f.index(_NEVER), rows)


def _most_rows(shape, vectors):
    """Return the rows of a tall tile: as many sums as a full tile has, unless broadcasts become the bottleneck."""
    return min(_TALLEST, shape.rows * shape.vectors // vectors)


def _prefetch_rows(f, a, a_row, rows):
    """Prefetch the beginnings of A's rows for the next tile; hardware prefetching follows from there."""
    for row in range(rows):
        for line in range(_FIRST_LINES):
            f.prefetch(f.at(f.at(a, f.mul(a_row, row)), line * _LINE), 2)


def _one_row_of_tiles(f, job, item, kernel, kernels, steps, a, panels, c, row, ahead, flags, height):
    """Run tiles of one height; each prefetches a column of the next B's lines every other step (two if tiles are few)."""
    panel, b_step, apart = panels
    shape, size = kernel.shape, bytes_of(memory_type(kernel.precision.b))
    tile, following, rows_ahead = ahead
    wide, step = f.ceil_div(item.columns, shape.columns), word(f, job, "ahead")
    enough_rows = shape.rows * UNROLL * shape.columns * size // _LINE
    second_line = f.select(f.compare("sge", f.sub(item.end_row, item.first_row), enough_rows), f.index(0), _LINE)
    with f.loop(0, item.columns, shape.columns) as loop:
        left, number = f.sub(item.columns, loop.index), f.div(loop.index, shape.columns)
        variant = f.select(f.compare("sge", left, shape.columns), 0, f.ceil_div(left, shape.lanes))
        tile_kernel = f.load(PTR, f.at(kernels, f.mul(variant, shape.rows + 1), PTR))
        b = f.at(panel, f.mul(number, apart))
        turn = f.add(f.mul(tile, wide), number)
        line = f.mul(f.div(turn, UNROLL), f.add(second_line, _LINE))
        prefetched = f.at(f.at(following, line), f.mul(f.mod(turn, UNROLL), step))
        inside = f.compare("slt", line, f.select(f.compare("eq", step, 0), 0, f.mul(item.columns, size)))
        lines = _lines_ahead(f, job, kernel, inside, (prefetched, f.mul(step, UNROLL), second_line),
                             (rows_ahead, number, a, height))
        f.call_pointer(tile_kernel, "void", job, steps, a, b, b_step, c, row, f.add(item.column, loop.index), item.batch, flags,
                       *lines)


def _lines_ahead(f, job, kernel, inside, columns, rows):
    """Return the `Lines` that a tile prefetches: lines of the next B while some are left. Then the first tile of a row of tiles
    prefetches A's next rows, and the others repeat loaded lines."""
    (prefetched, down, second_line), (following, number, a, height) = columns, rows
    size, source_row = bytes_of(memory_type(kernel.precision.a)), word(f, job, "source_row")
    round_bytes = TURN * UNROLL * size                  # of a row of A, in as many rounds as rows are asked for
    first = f.compare("eq", number, 0)
    apart = f.select(inside, down, f.select(first, source_row, 0))
    back = f.sub(round_bytes, f.mul(source_row, TURN - 1))
    also = f.index(_LINE) if round_bytes > _LINE else f.select(f.compare("sgt", height, TURN), f.mul(source_row, TURN), 0)
    return (f.select(inside, prefetched, f.select(first, following, a)), apart,
            f.select(inside, second_line, f.select(first, also, 0)),
            f.select(inside, down, f.select(first, back, 0)))


def _kernel_table(module, kernel):
    """Write microkernels [variant][height - 1], each variant's tall tile last; a missing (unused) one repeats another."""
    shape, names = kernel.shape, {}
    every = range(shape.vectors + 1)
    for variant in every if kernel.variants is None else kernel.variants:
        vectors = variant or shape.vectors
        tall = _most_rows(shape, vectors)
        functions = [_micro_kernel(module, kernel, height, vectors, masked=variant > 0)
                for height in (*range(1, shape.rows + 1), *[tall][:tall > shape.rows])]
        names[variant] = functions + functions[-1:] * (shape.rows + 1 - len(functions))
    some = next(iter(names.values()))
    return module.function_table("kernels", [name for variant in every for name in names.get(variant, some)])


def _micro_kernel(module, kernel, height, vectors, masked):
    shape, precision = kernel.shape, kernel.precision
    name = f"tile_{height}x{vectors}{'m' if masked else ''}"
    f = module.function(name, [("ptr noalias readonly", "job"), (I64, "depth"), ("ptr noalias readonly", "a"),
                               ("ptr noalias readonly", "b"), (I64, "b_step"), ("ptr noalias", "c"), (I64, "row"),
                               (I64, "column"), (I64, "batch"), (I64, "flags"), (PTR, "lines"), (I64, "apart"),
                               (I64, "beside"), (I64, "turn")], internal=True)
    job, depth, a, b, b_step, c, row, column, batch, flags, lines, apart, second, turn = f.params
    first = f.add(column, (vectors - 1) * shape.lanes)
    mask = f.mask(f.sub(word(f, job, "columns"), first), shape.lanes) if masked else None
    _prefetch_destination(f, kernel, f.at(c, column, precision.out), word(f, job, "sums_row"), height, vectors)
    left = Operand(a, word(f, job, "a_row"), word(f, job, "a_step"))
    right = Operand(b, 0, b_step)
    if kernel.strategy == "pairs":
        sums = pair_tile(f, height, vectors, shape.lanes, depth, left, right)
    else:
        ahead, unroll = (None, 1) if height * vectors < _LARGE_TILE else (Lines(lines, apart, second, turn), UNROLL)
        sums = outer_tile(f, precision, height, vectors, shape.lanes, depth, left, right, mask, ahead, unroll)
    _finish(f, kernel, job, sums, c, (batch, row, column), mask, flags)
    f.ret()
    return name


def _prefetch_destination(f, kernel, start, sums_row, height, vectors):
    """Prefetch a tile's destination: a store that misses the caches blocks those behind it."""
    width = kernel.shape.lanes * bytes_of(kernel.precision.out)
    with f.loop(0, height, 1, [start]) as loop:
        for line in range(0, vectors * width, _LINE):
            f.prefetch(f.at(loop.carried[0], line))
        loop.next(f.at(loop.carried[0], sums_row))


def _finish(f, kernel, job, sums, c, where, mask, flags):
    """Add C's sums of earlier depth blocks, apply the epilogue after the last block, store."""
    shape, out = kernel.shape, kernel.precision.out
    batch, row, column = where
    c, sums_row = f.at(c, column, out), word(f, job, "sums_row")
    lines = [f.at(c, f.mul(sums_row, i)) for i in range(len(sums))]
    edges = [None] * (len(sums[0]) - 1) + [mask]
    spots = [(f.at(line, j * shape.lanes, out), edge) for line in lines for j, edge in enumerate(edges)]
    values = [value for line in sums for value in line]
    if out == kernel.precision.accumulate:
        again = f.compare("ne", f.bit_and(flags, _ACCUMULATE), 0)
        values = f.choose(again, lambda: [f.fadd(f.load_masked(value.type, spot, edge), value)
                                          for value, (spot, edge) in zip(values, spots)], lambda: values)
    if kernel.epilogue.name and not kernel.epilogue.is_long:
        operands = word(f, job, "operands", PTR)

        def finished():
            rows = [f.add(row, i) for i in range(len(sums))]
            columns = [kernel.epilogue.apply_all(f, values[j::len(edges)], [
                Place(operands, batch, at, f.add(column, j * shape.lanes), edge) for at in rows], 0)
                for j, edge in enumerate(edges)]
            return [value for line in zip(*columns) for value in line]

        values = f.choose(f.compare("ne", f.bit_and(flags, _LAST), 0), finished, lambda: values)
    for value, (spot, edge) in zip(values, spots, strict=True):
        value = narrow(f, value, out)
        f.store_masked(value, spot, edge)
    if kernel.epilogue.is_long:
        width = f.min(f.sub(word(f, job, "columns"), column), len(sums[0]) * shape.lanes)
        with f.when(f.compare("ne", f.bit_and(flags, _LAST), 0)):
            call_epilogue(f, job, c, where, len(sums), width)


__all__ = ["GROUP_TILES", "IN_PLACE", "PACK_ANY", "PACK_ROWS", "PACK_TRANSPOSED", "STRATEGIES", "TILE_DEPTH",
           "VECTOR_PANEL", "WORDS", "GemmKernel", "Precision"]
