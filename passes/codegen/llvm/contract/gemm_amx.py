"""AMX strategy for bfloat16 products: C in blocks of 32 x 32, four matrix tiles of sums.

A tile is 16 rows of 64 bytes: 16 float sums, or 32 elements along the depth. One instruction adds 16 x 16 x 32 products. For
each sum it adds the even and the odd steps apart, then both, then the old sum. Products are exact, sums round to nearest even,
and subnormals count as zero.

B's columns of an item are packed in panels of the depth that fit the second-level cache, in strips of 32 columns [pair of
steps][column][2]. Then, 32 rows at a time, a block of the depth of A is copied to a buffer in the nearest cache, with zeros up
to whole tiles, and all strips stream past it. Unfinished sums wait in the scratch, strip after strip. Finished ones pass
through a block on the stack, where vector code applies the epilogue.

Packing an operand that is contiguous along the depth is expensive, copying it is not. If both are, the smaller one is packed;
that may swap the operands, and the product of the transposed matrices is transposed on the stack (`turned`).

The system must have permitted the process to use tiles (`runtime/cpu/compiler/amx.py`).

Each packer is a function (source, bytes per step, bytes per column, columns, steps, panel, bytes per strip). Columns beyond the
last one hold any values: their sums are never stored.
"""

from ..ir.types import BF16, F32, I8, I16, I32, I64, PTR, VOID, Value, bytes_of, constant, vector, zero
from .epilogue import Place
from .gemm_job import call_epilogue, open_item, word
from .microkernel import TileShape, narrow, transpose
from .packing import IN_PLACE, PACK_ANY, PACK_ROWS, PACK_TRANSPOSED

ROWS, LANES, DEPTH = 16, 16, 32              # rows, sums of a row, and elements of the depth of one tile
STRIP = TileShape(2 * ROWS, 2, LANES)        # four tiles of sums
MOST_DEPTH = 512                             # steps of a block of the depth: two thirds of a nearest cache of 48 KiB
STEP_BYTES = 4 * STRIP.columns               # bytes of a pair of steps in a strip
A_ROW = 2 * MOST_DEPTH + 64                  # bytes between rows of the copy of A: no power of two
A_BYTES = STRIP.rows * A_ROW
_SUMS_ROW = 4 * STRIP.columns
SUMS_BYTES = STRIP.rows * _SUMS_ROW          # bytes of a strip's sums
_LINE = 64
_SUMS, _A, _B, _TILES = (0, 1, 2, 3), (4, 5), (6, 7), 8
_FIRST, _LAST = 1, 2


def amx_item(module, kernel) -> str:
    """Write the function of one item: for each panel of the depth, pack its columns of B, then compute its rows in blocks."""
    write_packers(module, STRIP.columns)
    _write_transpose(module)
    _write_store(module, kernel)
    copies = _write_copy(module), _write_copy_transposed(module)
    row_functions = {tall: _write_rows(module, kernel, tall, copies) for tall in (2, 1)}
    f = module.function("item", [(PTR, "job"), (I64, "number"), (I64, "worker")], internal=True)
    job, number, worker = f.params
    item = open_item(f, job, number)
    first, end = (f.min(f.mul(f.ceil_div(row, STRIP.rows), STRIP.rows), word(f, job, "rows"))
                  for row in (item.first_row, item.end_row))
    sums = f.at(word(f, job, "scratch", PTR), f.mul(worker, word(f, job, "scratch_bytes")))
    depth, most = word(f, job, "depth"), word(f, job, "panel_depth")
    several_panels, a_row = f.compare("sgt", depth, most), word(f, job, "a_row")
    down = f.select(_is_swapped(f, job), f.index(bytes_of(kernel.precision.out)), word(f, job, "c_row"))
    wide = f.mul(f.ceil_div(item.columns, STRIP.columns), SUMS_BYTES)

    f.call("llvm.x86.ldtilecfg", VOID, _tile_config(module))
    with f.loop(0, f.max(depth, 1), most) as outer:
        count = f.min(f.sub(depth, outer.index), most)
        panel, size = _panel(f, job, item, outer.index, count, f.at(sums, word(f, job, "sums_bytes")))

        with f.loop(first, end, STRIP.rows) as loop:
            row = loop.index
            height = f.min(f.sub(end, row), STRIP.rows)
            before = f.select(several_panels, f.mul(f.div(f.sub(row, first), STRIP.rows), wide), f.index(0))
            rows = (job, f.at(item.a, f.mul(row, a_row)), panel, size, f.at(item.c, f.mul(row, down)), f.at(sums, before),
                    item.batch, row, item.column, height, item.columns, outer.index, count)
            f.choose(f.compare("sgt", height, ROWS), lambda rows=rows: f.call(row_functions[2], VOID, *rows),
                     lambda rows=rows: f.call(row_functions[1], VOID, *rows))
    f.call("llvm.x86.tilerelease", VOID)
    f.ret()
    return "item"


def _panel(f, job, item, at, count, room):
    """Return (address of the strips for `count` steps of the depth from `at` on, bytes between strips)."""
    start = f.at(item.b, f.mul(item.column, word(f, job, "b_column")))
    step, across, mode = word(f, job, "b_step"), word(f, job, "b_column"), word(f, job, "pack")

    def packed():
        size = strip_bytes(f, count)
        cases = {kind: (lambda name=name: f.call(name, VOID, f.at(start, f.mul(at, step)), step, across, item.columns,
                                                 count, room, size)) for kind, name in PACKERS.items()}
        f.switch(mode, cases)
        return room, size

    return f.choose(f.compare("eq", mode, IN_PLACE),
                    lambda: (f.at(start, f.mul(at, STEP_BYTES // 2)), strip_bytes(f, word(f, job, "depth"))), packed)


def strip_bytes(f, depth) -> Value:
    """Return the bytes of a packed strip."""
    return f.mul(f.ceil_div(depth, DEPTH), DEPTH // 2 * STEP_BYTES)


# Rows of A, and the shapes of tiles.


def _write_copy(module) -> str:
    """Write the function that copies rows of A, `count` steps of the depth, with zeros up to whole tiles."""
    f = module.function("copy", [(PTR, "source"), (I64, "row"), (I64, "count"), (I64, "height"), (PTR, "target")],
                        internal=True)
    source, row, count, height, target = f.params
    kind, whole = vector(DEPTH, I16), f.bit_and(count, -DEPTH)
    rest = f.sub(count, whole)
    some, mask = f.compare("ne", rest, 0), f.mask(rest, DEPTH)
    with f.loop(0, height) as loop:
        start, goal = f.at(source, f.mul(loop.index, row)), f.at(target, f.mul(loop.index, A_ROW))
        with f.loop(0, whole, DEPTH) as steps:
            f.store(f.load(kind, f.at(start, steps.index, I16)), f.at(goal, steps.index, I16))
        with f.when(some):
            f.store(f.load_masked(kind, f.at(start, whole, I16), mask), f.at(goal, whole, I16))
    f.ret()
    return "copy"


def _write_copy_transposed(module) -> str:
    """Write the copy for a transposed A, whose steps of the depth are `step` bytes apart."""
    f = module.function("copy_turned", [(PTR, "source"), (I64, "step"), (I64, "count"), (I64, "height"), (PTR, "target")],
                        internal=True)
    source, step, count, height, target = f.params
    whole = f.bit_and(count, -DEPTH)
    with f.loop(0, height, ROWS) as outer:
        left, start = f.sub(height, outer.index), f.at(source, outer.index, I16)
        goal = f.at(target, f.mul(outer.index, A_ROW))
        inner = f.select(f.compare("sge", left, ROWS), whole, f.index(0))
        with f.loop(0, inner, DEPTH) as loop:
            _tile_of_steps(f, f.at(start, f.mul(loop.index, step)), step, f.at(goal, loop.index, I16))
        with f.loop(inner, count, DEPTH) as loop:
            _tile_of_steps(f, f.at(start, f.mul(loop.index, step)), step, f.at(goal, loop.index, I16), left,
                           f.sub(count, loop.index))
    f.ret()
    return "copy_turned"


def _tile_of_steps(f, source, step, goal, rows=None, steps=None):
    """Build a tile of A from steps of 16 rows: pair neighbours in depth, transpose pairs; missing rows and steps are zeros."""
    kind, pairs = vector(ROWS, I16), []
    interleaved = [lane // 2 + (ROWS if lane % 2 else 0) for lane in range(2 * ROWS)]

    def load(k):
        spot = f.at(source, f.mul(step, k))
        if rows is None:
            return f.load(kind, spot)
        return f.load_masked(kind, spot, f.mask(f.select(f.compare("sgt", steps, k), rows, f.index(0)), ROWS))

    for k in range(0, DEPTH, 2):
        pairs.append(f.bitcast(f.shuffle(load(k), load(k + 1), interleaved), vector(ROWS, I32)))
    for i, value in enumerate(transpose(f, pairs)):
        f.store(value, f.at(goal, A_ROW * i))


def _tile_config(module) -> Value:
    """Return the tile configuration: all tiles are whole, since sums of missing rows are never stored."""
    return module.table("tiles", I8, [1, *[0] * 15, *[_LINE, 0] * _TILES, *[0] * (32 - 2 * _TILES), *[ROWS] * _TILES,
                                      *[0] * (16 - _TILES)])


# Blocks of C.


def _write_rows(module, kernel, tall, copies) -> str:
    """Write the function of `tall` tiles of rows: for each block of a panel of the depth, strip after strip."""
    blocks = {wide: _write_block(module, tall, wide) for wide in (2, 1)}
    name = f"rows_{tall}"
    f = module.function(name, [(PTR, "job"), (PTR, "a"), (PTR, "panel"), (I64, "size"), (PTR, "c"), (PTR, "sums"),
                               (I64, "batch"), (I64, "row"), (I64, "column"), (I64, "height"), (I64, "columns"), (I64, "from"),
                               (I64, "count")], internal=True)
    job, a, panel, size, c, sums, batch, row, column, height, columns, start, total = f.params
    depth, most, near = word(f, job, "depth"), word(f, job, "depth_block"), f.local(A_BYTES)
    a_row, a_step = word(f, job, "a_row"), word(f, job, "a_step")
    several_blocks = f.compare("sgt", depth, most)
    along = f.select(_is_swapped(f, job), word(f, job, "c_row"), f.index(bytes_of(kernel.precision.out)))
    with f.loop(0, f.max(total, 1), most) as outer:
        at = f.add(start, outer.index)
        count = f.min(f.sub(total, outer.index), most)
        source = f.at(a, f.mul(at, a_step))
        f.choose(f.compare("eq", a_step, bytes_of(I16)), lambda: f.call(copies[0], VOID, source, a_row, count, height, near),
                 lambda: f.call(copies[1], VOID, source, a_step, count, height, near))
        flags = f.binary("or", f.select(f.compare("eq", at, 0), f.index(_FIRST), f.index(0)),
                         f.select(f.compare("sge", f.add(at, most), depth), f.index(_LAST), f.index(0)))
        strips, steps = f.at(panel, f.mul(outer.index, STEP_BYTES // 2)), f.ceil_div(count, DEPTH)
        with f.loop(0, columns, STRIP.columns) as loop:
            number = f.div(loop.index, STRIP.columns)
            width, first = f.min(f.sub(columns, loop.index), STRIP.columns), f.add(column, loop.index)
            waiting = f.at(sums, f.mul(number, SUMS_BYTES))
            ahead = f.select(several_blocks, f.at(waiting, SUMS_BYTES), near)
            block = (job, steps, near, f.at(strips, f.mul(number, size)), f.at(c, f.mul(first, along)), waiting, ahead, batch,
                     row, first, height, width, flags)
            f.choose(f.compare("sgt", width, LANES), lambda block=block: f.call(blocks[2], VOID, *block),
                     lambda block=block: f.call(blocks[1], VOID, *block))
    f.ret()
    return name


def _write_block(module, tall, wide) -> str:
    """Write the function of one block of C, `tall` x `wide` tiles, over a block of the depth."""
    name = f"block_{tall}x{wide}"
    f = module.function(name, [(PTR, "job"), (I64, "steps"), (PTR, "a"), (PTR, "b"), (PTR, "c"), (PTR, "sums"), (PTR, "ahead"),
                               (I64, "batch"), (I64, "row"), (I64, "column"), (I64, "height"), (I64, "width"), (I64, "flags")],
                        internal=True)
    _, steps, a, b, _, sums, ahead, *_, flags = f.params
    tiles = [(i, j) for i in range(tall) for j in range(wide)]

    def begin():
        for i, j in tiles:
            _tile(f, "tilezero", _SUMS[2 * i + j])

    def go_on():
        for i, j in tiles:
            _tile(f, "tileloadd64", _SUMS[2 * i + j], _spot(f, sums, i, j), f.index(_SUMS_ROW))

    f.choose(f.compare("ne", f.bit_and(flags, _FIRST), 0), begin, go_on)
    each = SUMS_BYTES // (MOST_DEPTH // DEPTH)
    with f.loop(0, steps, 1, [a, b, ahead]) as loop:
        at_a, at_b, at_sums = loop.carried
        _add(f, tall, wide, at_a, at_b)
        for line in range(0, each, _LINE):
            f.prefetch(f.at(at_sums, line))
        loop.next(f.at(at_a, 2 * DEPTH), f.at(at_b, DEPTH // 2 * STEP_BYTES), f.at(at_sums, each))
    f.choose(f.compare("ne", f.bit_and(flags, _LAST), 0), lambda: _finish(f, tall, wide),
             lambda: _store_tiles(f, tall, wide, sums))
    f.ret()
    return name


def _spot(f, start, i, j):
    return f.at(start, _SUMS_ROW * ROWS * i + 4 * LANES * j)


def _add(f, tall, wide, a, b):
    """Load tiles of A and B, and add their products. B streams past, and must not push A out of the nearest cache."""
    for j in range(wide):
        _tile(f, "tileloaddt164", _B[j], f.at(b, 4 * LANES * j), f.index(STEP_BYTES))
    for i in range(tall):
        _tile(f, "tileloadd64", _A[i], f.at(a, A_ROW * ROWS * i), f.index(A_ROW))
    for i in range(tall):
        for j in range(wide):
            _tile(f, "tdpbf16ps", _SUMS[2 * i + j], constant(I8, _A[i]), constant(I8, _B[j]))


def _tile(f, name, tile, *args):
    f.call(f"llvm.x86.{name}", VOID, constant(I8, tile), *args)


# Finished sums.


def _finish(f, tall, wide):
    """Store the sums by rows of a block on the stack, even for a float C: tile stores to distant rows are slow."""
    job, _, _, _, c, _, _, batch, row, column, height, width, _ = f.params
    room, other = f.local(SUMS_BYTES), f.local(SUMS_BYTES)
    _store_tiles(f, tall, wide, room)

    def store_transposed():
        f.call("turn", VOID, room, other)
        f.call("store", VOID, job, other, c, batch, column, row, width, height)

    f.choose(_is_swapped(f, job), store_transposed,
             lambda: f.call("store", VOID, job, room, c, batch, row, column, height, width))


def _is_swapped(f, job):
    return f.compare("ne", word(f, job, "turned"), 0)


def _store_tiles(f, tall, wide, start):
    for i in range(tall):
        for j in range(wide):
            _tile(f, "tilestored64", _SUMS[2 * i + j], _spot(f, start, i, j), f.index(_SUMS_ROW))


def _write_transpose(module):
    """Write the function that transposes a block of sums, including its undefined edges."""
    f = module.function("turn", [(PTR, "source"), (PTR, "target")], internal=True)
    source, target = f.params
    with f.loop(0, 4) as loop:
        i, j = f.div(loop.index, 2), f.mod(loop.index, 2)
        start, goal = (f.at(base, f.add(f.mul(down, _SUMS_ROW * LANES), f.mul(along, 4 * LANES)))
                       for base, down, along in ((source, i, j), (target, j, i)))
        rows = [f.load(vector(LANES, F32), f.at(start, _SUMS_ROW * n)) for n in range(LANES)]
        for n, value in enumerate(transpose(f, rows)):
            f.store(value, f.at(goal, _SUMS_ROW * n))
    f.ret()


def _write_store(module, kernel):
    """Write the function that applies the epilogue to a block of sums and stores it to C."""
    f = module.function("store", [(PTR, "job"), (PTR, "room"), (PTR, "c"), (I64, "batch"), (I64, "row"), (I64, "column"),
                                  (I64, "height"), (I64, "width")], internal=True)
    job, room, c, batch, row, column, height, width = f.params
    c_row, operands = word(f, job, "c_row"), word(f, job, "operands", PTR)

    def rows(full):
        masks = [None if full else f.mask(f.sub(width, LANES * j), LANES) for j in range(STRIP.vectors)]
        both = None if full else f.mask(width, STRIP.columns)
        with f.loop(0, height) as loop:
            spot = f.at(room, f.mul(loop.index, _SUMS_ROW))
            values = [f.load(vector(LANES, F32), f.at(spot, 4 * LANES * j)) for j in range(STRIP.vectors)]
            _store_row(f, kernel, values, f.at(c, f.mul(loop.index, c_row)), masks, both,
                       (operands, batch, f.add(row, loop.index), column))

    f.choose(f.compare("eq", width, STRIP.columns), lambda: rows(True), lambda: rows(False))
    if kernel.epilogue.is_long:
        call_epilogue(f, job, c, (batch, row, column), height, width)
    f.ret()


def _store_row(f, kernel, values, spot, masks, both, where):
    out, (operands, batch, row, column) = kernel.precision.out, where
    if kernel.epilogue.name and not kernel.epilogue.is_long:
        values = [kernel.epilogue.apply(f, value, Place(operands, batch, row, f.add(column, LANES * j), mask), 0)
                  for j, (value, mask) in enumerate(zip(values, masks, strict=True))]
    if out == BF16:
        f.store_masked(_as_bfloat(f, values), spot, both)
        return
    for j, (value, mask) in enumerate(zip(values, masks, strict=True)):
        f.store_masked(narrow(f, value, out), f.at(spot, LANES * j, out), mask)


def _as_bfloat(f, values):
    """Round two float vectors to one of bfloat bits by the AVX-512 instruction."""
    low, high = values
    value = f.call("llvm.x86.avx512bf16.cvtne2ps2bf16.512", vector(STRIP.columns, BF16), high, low)
    return f.bitcast(value, vector(STRIP.columns, I16))


PACKERS = {PACK_ROWS: "strips_of_rows", PACK_TRANSPOSED: "strips_turned", PACK_ANY: "strips_of_any"}
TILE = 32                       # steps of a tile; `LANES` are its pairs, and the columns of half a strip
_TOGETHER = 4                   # adjacent strips packed together, so that pieces of rows are long


def write_packers(module, columns: int):
    """Add the packers for strips of `columns` columns."""
    _write_packer_of_rows(module, columns)
    _write_packer_transposed(module, columns)
    _write_packer_of_any(module, columns)


def _packer(module, name):
    f = module.function(name, [("ptr noalias readonly", "source"), (I64, "step"), (I64, "across"), (I64, "columns"),
                               (I64, "count"), ("ptr noalias", "panel"), (I64, "size")], internal=True)
    return f, f.params


def _clear(f, strip, count, size, width):
    with f.loop(f.mul(f.ceil_div(count, 2), width), size, _LINE) as loop:
        f.store(zero(vector(_LINE // 4, I32)), f.at(strip, loop.index))


# Rows of B are contiguous along the columns.


def _write_packer_of_rows(module, columns):
    f, (source, step, _, wide, count, panel, size) = _packer(module, PACKERS[PACK_ROWS])
    side = _TOGETHER * columns
    whole = f.mul(f.div(wide, side), side)
    with f.loop(0, whole, side) as loop:
        _pack_side(f, f.at(source, loop.index, I16), step, count, f.at(panel, f.mul(f.div(loop.index, columns), size)), size,
                   columns, _TOGETHER, None)
    with f.loop(whole, wide, columns) as loop:
        _pack_side(f, f.at(source, loop.index, I16), step, count, f.at(panel, f.mul(f.div(loop.index, columns), size)), size,
                   columns, 1, f.mask(f.sub(wide, loop.index), columns))
    f.ret()


def _pack_side(f, source, step, count, panel, size, columns, strips, mask):
    """Pack adjacent strips down the depth; an odd last step is paired with zeros."""
    kind, line = vector(columns, I16), 2 * columns
    halves = [[lane // 2 + half * LANES + (columns if lane % 2 else 0) for lane in range(columns)] for half in (0, 1)]

    def pack(number, paired):
        start = f.at(source, f.mul(number, f.mul(step, 2)))
        for strip in range(strips):
            spot = f.at(start, line * strip)
            goal = f.at(f.at(panel, f.mul(size, strip)), f.mul(number, 2 * line))
            first, second = (f.load_masked(kind, f.at(spot, f.mul(step, row)), mask) if row == 0 or paired else zero(kind)
                             for row in range(2))
            for half, lanes in enumerate(halves):
                f.store(f.shuffle(first, second, lanes), f.at(goal, line * half))

    with f.loop(0, f.div(count, 2)) as loop:
        pack(loop.index, True)
    with f.when(f.compare("ne", f.bit_and(count, 1), 0)):
        pack(f.div(count, 2), False)
    for strip in range(strips):
        _clear(f, f.at(panel, f.mul(size, strip)), count, size, 2 * line)


# Columns of B are contiguous along the depth: pairs are adjacent already, and blocks of 32-bit words are transposed.


def _write_packer_transposed(module, columns):
    f, (source, _, across, wide, count, panel, size) = _packer(module, PACKERS[PACK_TRANSPOSED])
    row_bytes, whole_steps = 4 * columns, f.bit_and(count, -TILE)
    with f.loop(0, wide, LANES) as outer:
        left = f.sub(wide, outer.index)
        start = f.at(source, f.mul(outer.index, across))
        strip = f.at(f.at(panel, f.mul(f.div(outer.index, columns), size)), f.mul(f.mod(outer.index, columns), 4))
        full = f.compare("sge", left, LANES)
        inner = f.select(full, whole_steps, f.index(0))
        with f.loop(0, inner, TILE) as loop:
            _transpose_tile(f, f.at(start, loop.index, I16), across, f.at(strip, f.mul(loop.index, row_bytes // 2)), row_bytes)
        with f.loop(inner, count, TILE) as loop:
            _transpose_tile(f, f.at(start, loop.index, I16), across, f.at(strip, f.mul(loop.index, row_bytes // 2)), row_bytes,
                  f.sub(count, loop.index), left)
    f.ret()


def _transpose_tile(f, corner, across, goal, row_bytes, steps=None, columns=None):
    """Transpose the 32 steps of a tile for 16 columns; at edges, missing steps and columns are zeros."""
    rows = []
    for i in range(LANES):
        spot = f.at(corner, f.mul(across, i))
        if steps is None:
            rows.append(f.load(vector(LANES, I32), spot, align=2))
        else:
            there = f.select(f.compare("sgt", columns, i), steps, f.index(0))
            rows.append(f.bitcast(f.load_masked(vector(TILE, I16), spot, f.mask(there, TILE)), vector(LANES, I32)))
    for i, value in enumerate(transpose(f, rows)):
        f.store(value, f.at(goal, i * row_bytes))


# B is contiguous along neither.


def _write_packer_of_any(module, columns):
    f, (source, step, across, wide, count, panel, size) = _packer(module, PACKERS[PACK_ANY])
    with f.loop(0, wide) as outer:
        start = f.at(source, f.mul(outer.index, across))
        strip = f.at(panel, f.mul(f.div(outer.index, columns), size))
        goal = f.at(strip, f.mul(f.mod(outer.index, columns), 4))

        def put(number, place, value, goal=goal):
            f.store(value, f.at(f.at(goal, f.mul(number, 4 * columns)), place))

        with f.loop(0, count) as loop:
            put(f.div(loop.index, 2), f.mul(f.bit_and(loop.index, 1), 2), f.load(I16, f.at(start, f.mul(loop.index, step))))
        with f.loop(count, f.div(size, 2 * columns)) as loop:
            put(f.div(loop.index, 2), f.mul(f.bit_and(loop.index, 1), 2), zero(I16))
    f.ret()
