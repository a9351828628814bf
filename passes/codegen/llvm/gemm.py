"""Matrix multiplication on the micro-kernel: C[b] = epilogue(A[b] @ B[b]) for any sizes and strides, as pool tasks.

One module serves every shape of a (precision, epilogue, road); sizes and strides come at run time in a *job*, an array of
64-bit words named below. Strides are in bytes. Roads:

    tiles   register tiles over panels of B's columns; B is read in place or packed, panel by panel, into the worker's scratch
    vector  one row times a matrix in place: sweeps along whole rows of B, a few at a time, as memory likes to be read
    pairs   tiles for bfloat with the processor's dot instruction, B packed in pairs along the depth
    dots    both operands contiguous along the depth, few rows: sums across lanes, nothing is packed

A chunk is a range of items (batch, panel, block of rows). Each element of C is computed by one sequence of operations that
depends on sizes only, so results do not depend on the number of threads or on how chunks are cut.
"""

from dataclasses import dataclass, field
from typing import Any

from ....ir.target import Target
from .emit import Module
from .epilogue import Identity, Place
from .microkernel import (
    Operand,
    Precision,
    TileShape,
    dot_tile,
    memory_type,
    multiply_add,
    narrow,
    outer_tile,
    pair_tile,
    tile_shape,
    widen,
)
from .packing import IN_PLACE, PACK_ANY, PACK_ROWS, PACK_TRANSPOSED, packers, pair_packers
from .types import I64, PTR, Value, bytes_of, constant, lanes_of, null, vector, zero

WORDS = ("a", "b", "c", "a_row", "a_step", "b_step", "b_column", "c_row", "a_batch", "b_batch", "c_batch", "offsets",
         "rows", "columns", "depth", "depth_block", "panels", "row_blocks", "items", "chunks", "scratch", "scratch_bytes",
         "pack", "operands", "panel")
_WORD = {name: 8 * number for number, name in enumerate(WORDS)}
ROADS = ("tiles", "vector", "pairs", "dots")
VECTOR_PANEL = 2048                 # most columns of an item on the one-row road
_DOT_ROWS, _DOT_COLUMNS = 4, 4
_SWEEP_ROWS = 8
_ACCUMULATE, _LAST = 1, 2


# A plan is the words of a job followed by the task's address and the number of chunks.
PLAN_WORDS = (*WORDS, "task", "tasks")
LAUNCH = "gemm_launch"


def launch_text(target: Target) -> str:
    """A module with `void gemm_launch(ptr block)`: run a plan on {a, b, c, plan, scratch, operands}.

    The plan's job is copied to the stack, so that threads may run one plan at the same time.
    """
    module = Module(target)
    f = module.function(LAUNCH, [(PTR, "block")])
    block, = f.params
    job, plan = f.local(8 * len(WORDS)), f.load(PTR, f.at(block, 24))
    for number in range(len(WORDS)):
        f.store(f.load(I64, f.at(plan, 8 * number)), f.at(job, 8 * number))
    for name, offset in (("a", 0), ("b", 8), ("c", 16), ("scratch", 32), ("operands", 40)):
        f.store(f.load(I64, f.at(block, offset)), f.at(job, _WORD[name]))
    task, chunks = f.load(PTR, f.at(plan, 8 * len(WORDS))), f.load(I64, f.at(plan, 8 * len(WORDS) + 8))
    f.call("ingot_pool_run", "void", task, job, chunks)
    f.ret()
    return module.text()


@dataclass(frozen=True)
class GemmKernel:
    """What a module is made for; equal ones are the same code."""

    target: Target
    precision: Precision
    road: str = "tiles"
    epilogue: Any = field(default_factory=Identity)

    @property
    def shape(self) -> TileShape:
        """Rows and vectors of a full tile on this road."""
        shape = tile_shape(self.target, self.precision.accumulate)
        if self.road == "vector":
            return TileShape(1, 16, shape.lanes)
        return TileShape(_DOT_ROWS, _DOT_COLUMNS, shape.lanes) if self.road == "dots" else shape

    @property
    def panel(self) -> int:
        """Columns that one item covers, or a multiple of which it may on the roads without packing."""
        return 16 * _DOT_COLUMNS if self.road == "dots" else self.shape.columns

    @property
    def symbol(self) -> str:
        """The task's name in the module."""
        return f"gemm_{self.road}_{self.precision}{'_' + self.epilogue.name if self.epilogue.name else ''}"

    def text(self) -> str:
        """The module as LLVM IR."""
        module = Module(self.target)
        write = {"dots": _dot_item, "vector": _vector_item}.get(self.road, _tile_item)
        _task(module, self.symbol, write(module, self))
        return module.text()


def _word(f, job, name, type_=I64):
    return f.load(type_, f.at(job, _WORD[name]))


def _task(module, symbol, item):
    """The pool task: a chunk's share of the items."""
    f = module.task(symbol)
    job, chunk, worker = f.params
    items, chunks = _word(f, job, "items"), _word(f, job, "chunks")
    first = f.div(f.mul(items, chunk), chunks)
    end = f.div(f.mul(items, f.add(chunk, 1)), chunks)
    with f.loop(first, end) as loop:
        f.call(item, "void", job, loop.index, worker)
    f.ret()


@dataclass
class _Item:
    """One item of a job: its batch, rows, columns and the operands of its batch."""

    batch: Value
    first_row: Value
    end_row: Value
    column: Value
    columns: Value
    a: Value
    b: Value
    c: Value


def _open_item(f, job, number):
    panel = _word(f, job, "panel")
    panels, blocks, rows = _word(f, job, "panels"), _word(f, job, "row_blocks"), _word(f, job, "rows")
    each = f.mul(panels, blocks)
    batch, rest = f.div(number, each), f.mod(number, each)
    column, block = f.mul(f.div(rest, blocks), panel), f.mod(rest, blocks)
    first, end = f.div(f.mul(rows, block), blocks), f.div(f.mul(rows, f.add(block, 1)), blocks)
    columns = f.min(f.sub(_word(f, job, "columns"), column), panel)
    return _Item(batch, first, end, column, columns, *_batch_operands(f, job, batch))


def _batch_operands(f, job, batch):
    """Pointers to the three matrices of a batch: by uniform strides, or from a table of byte offsets."""
    table = _word(f, job, "offsets", PTR)

    def uniform():
        return tuple(f.mul(batch, _word(f, job, f"{name}_batch")) for name in "abc")

    def listed():
        row = f.at(table, f.mul(batch, 24))
        return tuple(f.load(I64, f.at(row, 8 * number)) for number in range(3))

    offsets = f.choose(f.compare("eq", table, null()), uniform, listed)
    return tuple(f.at(_word(f, job, name, PTR), offset) for name, offset in zip("abc", offsets, strict=True))


# --- tiles ---
def _tile_item(module, kernel):
    """Function of one item: for each block of the depth, pack the panel if asked, then all tiles of its rows."""
    shape, precision, pairs = kernel.shape, kernel.precision, kernel.road == "pairs"
    table = _kernel_table(module, kernel)
    panels = pair_packers(module, shape) if pairs else packers(module, shape, memory_type(precision.b))
    f = module.function("item", [(PTR, "job"), (I64, "number"), (I64, "worker")], internal=True)
    job, number, worker = f.params
    item = _open_item(f, job, number)
    depth, block = _word(f, job, "depth"), _word(f, job, "depth_block")
    scratch = f.at(_word(f, job, "scratch", PTR), f.mul(worker, _word(f, job, "scratch_bytes")))
    full = f.compare("eq", item.columns, shape.columns)
    variant = f.select(full, 0, f.ceil_div(item.columns, shape.lanes))
    kernels = f.at(table, f.mul(variant, shape.rows), PTR)
    with f.loop(0, f.max(depth, 1), block) as loop:
        count = f.min(f.sub(depth, loop.index), block)
        panel = f.at(f.at(item.b, f.mul(item.column, _word(f, job, "b_column"))), f.mul(loop.index, _word(f, job, "b_step")))
        packed_step = (4 if pairs else bytes_of(precision.b)) * shape.columns
        panel, step = _panel(f, job, panels, panel, item.columns, count, scratch, packed_step)
        flags = _flags(f, loop.index, block, depth)
        steps = f.div(f.add(count, 1), 2) if pairs else count
        start = f.at(item.a, f.mul(loop.index, _word(f, job, "a_step")))
        _all_tiles(f, job, item, kernels, shape, steps, start, panel, step, flags)
    f.ret()
    return "item"


def _flags(f, at, block, depth):
    """What a sweep of the depth does with C: add to it (not the first), finish it (the last)."""
    again = f.select(f.compare("sgt", at, 0), constant(I64, _ACCUMULATE), constant(I64, 0))
    last = f.compare("sge", f.add(at, block), depth)
    return f.binary("or", again, f.select(last, constant(I64, _LAST), constant(I64, 0)))


def _panel(f, job, modes, panel, columns, count, scratch, packed_step):
    """Where the panel's rows lie and how far apart: in B itself, or packed into the scratch."""
    step, across = _word(f, job, "b_step"), _word(f, job, "b_column")
    mode = _word(f, job, "pack")

    def pack():
        cases = {kind: (lambda name=name: f.call(name, "void", panel, step, across, columns, count, scratch))
                 for kind, name in modes.items()}
        f.switch(mode, cases)
        return scratch, constant(I64, packed_step)

    return f.choose(f.compare("eq", mode, IN_PLACE), lambda: (panel, step), pack)


def _all_tiles(f, job, item, kernels, shape, steps, start, panel, step, flags):
    """Rows cut as evenly as they can be, so that only two heights of tile occur."""
    rows = f.sub(item.end_row, item.first_row)
    tiles = f.max(f.ceil_div(rows, shape.rows), 1)
    low, extra = f.div(rows, tiles), f.mod(rows, tiles)
    a_row, c_row = _word(f, job, "a_row"), _word(f, job, "c_row")
    with f.loop(0, f.select(f.compare("sgt", rows, 0), tiles, 0)) as loop:
        tall = f.cast("zext", f.compare("slt", loop.index, extra), I64)
        height = f.add(low, tall)
        row = f.add(item.first_row, f.add(f.mul(loop.index, low), f.min(loop.index, extra)))
        kernel = f.load(PTR, f.at(f.at(kernels, height, PTR), -8))
        f.call_pointer(kernel, "void", job, steps, f.at(start, f.mul(row, a_row)), panel, step,
                       f.at(item.c, f.mul(row, c_row)), row, item.column, item.batch, flags)


def _kernel_table(module, kernel):
    """Micro-kernels [variant][height - 1]: variant 0 has all columns, variant v has v vectors, the last one masked."""
    shape, names = kernel.shape, []
    for variant in range(shape.vectors + 1):
        for height in range(1, shape.rows + 1):
            names.append(_micro_kernel(module, kernel, height, variant or shape.vectors, masked=variant > 0))
    return module.function_table("kernels", names)


def _micro_kernel(module, kernel, height, vectors, masked):
    shape, precision = kernel.shape, kernel.precision
    name = f"tile_{height}x{vectors}{'m' if masked else ''}"
    f = module.function(name, [("ptr noalias readonly", "job"), (I64, "depth"), ("ptr noalias readonly", "a"),
                               ("ptr noalias readonly", "b"), (I64, "b_step"), ("ptr noalias", "c"), (I64, "row"),
                               (I64, "column"), (I64, "batch"), (I64, "flags")], internal=True)
    job, depth, a, b, b_step, c, row, column, batch, flags = f.params
    first = f.add(column, (vectors - 1) * shape.lanes)
    mask = f.mask(f.sub(_word(f, job, "columns"), first), shape.lanes) if masked else None
    left = Operand(a, _word(f, job, "a_row"), _word(f, job, "a_step"))
    right = Operand(b, 0, b_step)
    if kernel.road == "pairs":
        sums = pair_tile(f, height, vectors, shape.lanes, depth, left, right)
    else:
        sums = outer_tile(f, precision, height, vectors, shape.lanes, depth, left, right, mask)
    _finish(f, kernel, job, sums, c, (batch, row, column), mask, flags)
    f.ret()
    return name


def _finish(f, kernel, job, sums, c, where, mask, flags):
    """Add what earlier blocks of the depth left in C, apply the epilogue after the last block, store."""
    shape, out = kernel.shape, kernel.precision.out
    batch, row, column = where
    c, c_row = f.at(c, column, out), _word(f, job, "c_row")
    spots = [(f.at(f.at(c, f.mul(c_row, i)), j * shape.lanes, out), i, j, mask if j == len(sums[0]) - 1 else None)
             for i in range(len(sums)) for j in range(len(sums[0]))]
    values = [value for line in sums for value in line]
    if out == kernel.precision.accumulate:
        again = f.compare("ne", f.bit_and(flags, _ACCUMULATE), 0)
        values = f.choose(again, lambda: [f.fadd(_load_out(f, value.type, spot, edge), value)
                                          for value, (spot, _, _, edge) in zip(values, spots)], lambda: values)
    if kernel.epilogue.name and not kernel.epilogue.is_long:
        operands = _word(f, job, "operands", PTR)

        def finished():
            places = [Place(operands, batch, f.add(row, i), f.add(column, j * shape.lanes), edge) for _, i, j, edge in spots]
            return [kernel.epilogue.apply(f, value, place, 0) for value, place in zip(values, places)]

        values = f.choose(f.compare("ne", f.bit_and(flags, _LAST), 0), finished, lambda: values)
    for value, (spot, _, _, edge) in zip(values, spots, strict=True):
        value = narrow(f, value, out)
        f.store(value, spot) if edge is None else f.store_masked(value, spot, edge)
    if kernel.epilogue.is_long:
        width = f.min(f.sub(_word(f, job, "columns"), column), len(sums[0]) * shape.lanes)
        with f.when(f.compare("ne", f.bit_and(flags, _LAST), 0)):
            _call_epilogue(f, job, c, where, len(sums), width)


def _call_epilogue(f, job, c, where, height, width):
    """A long epilogue, on a part of C that was just stored and lies in the nearest cache."""
    operands, (batch, row, column) = _word(f, job, "operands", PTR), where
    f.call_pointer(f.load(PTR, operands), "void", operands, c, _word(f, job, "c_row"), row, column, f.index(height),
                   f.index(width), batch)


def _load_out(f, type_, spot, edge):
    return f.load(type_, spot) if edge is None else f.load_masked(type_, spot, edge)


# --- vector ---
def _vector_item(module, kernel):
    """Function of one item of the one-row road: rows of B side by side, their weighted sum added to a row of sums."""
    precision, lanes = kernel.precision, kernel.shape.lanes
    f = module.function("item", [(PTR, "job"), (I64, "number"), (I64, "worker")], internal=True)
    job, number, _ = f.params
    item = _open_item(f, job, number)
    depth, b_step, a_step = (_word(f, job, name) for name in ("depth", "b_step", "a_step"))
    total = vector(lanes, precision.accumulate)
    sums = f.local(VECTOR_PANEL * bytes_of(precision.accumulate))
    with f.loop(0, item.columns, lanes) as loop:
        f.store(zero(total), f.at(sums, loop.index, precision.accumulate))
    corner, whole = f.at(item.b, f.mul(item.column, bytes_of(precision.b))), f.bit_and(depth, -_SWEEP_ROWS)
    for height, low, high in ((_SWEEP_ROWS, 0, whole), (1, whole, depth)):
        with f.loop(low, high, height) as loop:
            weights, rows = [], []
            for row in range(height):
                at = f.add(loop.index, row)
                scalar = f.load(memory_type(precision.a), f.at(item.a, f.mul(at, a_step)))
                weights.append(f.splat(widen(f, scalar, precision.a, precision.accumulate), lanes))
                rows.append(f.at(corner, f.mul(at, b_step)))
            _sweep(f, precision, weights, rows, sums, item.columns)
    _finish_row(f, kernel, job, item, sums)
    f.ret()
    return "item"


def _sweep(f, precision, weights, rows, sums, columns):
    """sums += weights @ rows, vector by vector."""
    lanes = lanes_of(weights[0].type)
    stored = vector(lanes, memory_type(precision.b))

    def one(at, mask):
        group: Any = None
        for weight, row in zip(weights, rows, strict=True):
            spot = f.at(row, at, precision.b)
            value = f.load(stored, spot) if mask is None else f.load_masked(stored, spot, mask)
            value = widen(f, value, precision.b, precision.accumulate)
            group = f.fmul(weight, value) if group is None else multiply_add(f, weight, value, group)
        place = f.at(sums, at, precision.accumulate)
        f.store(f.fadd(f.load(group.type, place), group), place)

    whole = f.bit_and(columns, -lanes)
    with f.loop(0, whole, lanes) as loop:
        one(loop.index, None)
    rest = f.sub(columns, whole)
    with f.when(f.compare("sgt", rest, 0)):
        one(whole, f.mask(rest, lanes))


def _finish_row(f, kernel, job, item, sums):
    """The epilogue and the stores of a row of sums."""
    out, lanes = kernel.precision.out, kernel.shape.lanes
    operands, total = _word(f, job, "operands", PTR), vector(lanes, kernel.precision.accumulate)
    with f.loop(0, item.columns, lanes) as loop:
        column, mask = f.add(item.column, loop.index), f.mask(f.sub(item.columns, loop.index), lanes)
        value = f.load(total, f.at(sums, loop.index, kernel.precision.accumulate))
        if not kernel.epilogue.is_long:
            value = kernel.epilogue.apply(f, value, Place(operands, item.batch, item.first_row, column, mask), 0)
        f.store_masked(narrow(f, value, out), f.at(item.c, column, out), mask)
    if kernel.epilogue.is_long:
        _call_epilogue(f, job, f.at(item.c, item.column, out), (item.batch, item.first_row, item.column), 1, item.columns)


# --- dots ---
def _dot_item(module, kernel):
    """Function of one item: small tiles of dot products over its columns."""
    names = {(height, width): _dot_kernel(module, kernel, height, width)
             for height in range(1, _DOT_ROWS + 1) for width in (1, _DOT_COLUMNS)}
    table = module.function_table("kernels", [names[height, width] for width in (1, _DOT_COLUMNS)
                                              for height in range(1, _DOT_ROWS + 1)])
    f = module.function("item", [(PTR, "job"), (I64, "number"), (I64, "worker")], internal=True)
    job, number, _ = f.params
    item = _open_item(f, job, number)
    whole = f.bit_and(item.columns, -_DOT_COLUMNS)
    for width, low, high in ((_DOT_COLUMNS, 0, whole), (1, whole, item.columns)):
        kernels = f.at(table, 0 if width == 1 else _DOT_ROWS, PTR)
        with f.loop(low, high, width) as columns:
            column = f.add(item.column, columns.index)
            _dot_rows(f, job, item, kernels, column)
    f.ret()
    return "item"


def _dot_rows(f, job, item, kernels, column):
    a_row, b_column, c_row = (_word(f, job, name) for name in ("a_row", "b_column", "c_row"))
    with f.loop(item.first_row, item.end_row, _DOT_ROWS) as rows:
        height = f.min(f.sub(item.end_row, rows.index), _DOT_ROWS)
        kernel = f.load(PTR, f.at(f.at(kernels, height, PTR), -8))
        f.call_pointer(kernel, "void", job, f.at(item.a, f.mul(rows.index, a_row)), f.at(item.b, f.mul(column, b_column)),
                       f.at(item.c, f.mul(rows.index, c_row)), rows.index, column, item.batch)


def _dot_kernel(module, kernel, height, width):
    name, out = f"dot_{height}x{width}", kernel.precision.out
    f = module.function(name, [("ptr noalias readonly", "job"), ("ptr noalias readonly", "a"), ("ptr noalias readonly", "b"),
                               ("ptr noalias", "c"), (I64, "row"), (I64, "column"), (I64, "batch")], internal=True)
    job, a, b, c, row, column, batch = f.params
    sums = dot_tile(f, kernel.precision, height, width, kernel.shape.lanes, _word(f, job, "depth"),
                    Operand(a, _word(f, job, "a_row"), 0), Operand(b, _word(f, job, "b_column"), 0))
    operands, c_row = _word(f, job, "operands", PTR), _word(f, job, "c_row")
    for i in range(height):
        for j in range(width):
            place = Place(operands, batch, f.add(row, i), f.add(column, j), None)
            value = sums[i][j] if kernel.epilogue.is_long else kernel.epilogue.apply(f, sums[i][j], place, 0)
            f.store(narrow(f, value, out), f.at(f.at(c, f.mul(c_row, i)), place.column, out))
    if kernel.epilogue.is_long:
        _call_epilogue(f, job, f.at(c, column, out), (batch, row, column), height, width)
    f.ret()
    return name


__all__ = ["IN_PLACE", "LAUNCH", "PACK_ANY", "PACK_ROWS", "PACK_TRANSPOSED", "PLAN_WORDS", "ROADS", "VECTOR_PANEL", "WORDS",
           "GemmKernel", "Precision", "launch_text"]
