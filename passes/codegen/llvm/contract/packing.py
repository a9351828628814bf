"""Packing: copies of B's panels in the microkernel's order, step by step of the depth, all columns together.

Each packer is a function (source, bytes per step, bytes per column, columns, steps, panel); panels follow each other. Memory
beyond the last column stays as it is: edge tiles do not use it.
"""

from .....ir.reference.weight_formats import WeightFormat
from ..ir.emit import Module
from ..ir.types import F32, I16, I32, I64, PTR, VOID, bytes_of, vector, zero
from .microkernel import TileShape, transpose
from .stored_weights import Block, write_numbers

IN_PLACE, PACK_ROWS, PACK_TRANSPOSED, PACK_ANY = 0, 1, 2, 3
_ROWS_TOGETHER = 4
_AHEAD = 256                    # bytes between transposed and prefetched data
_FLOATS_TOGETHER = 64           # narrow floats of a row that are widened at a time
_STEPS_TOGETHER = 8             # lines of A that fit the nearest cache at any distance


def _packer(module, name):
    f = module.function(name, [("ptr noalias readonly", "source"), (I64, "step"), (I64, "across"), (I64, "columns"),
                               (I64, "count"), ("ptr noalias", "panel")], internal=True)
    return f, f.params


def packers(module: Module, shape: TileShape, stored: str) -> dict:
    """Return {mode: function name} of the packers for [panel][k][columns] of one memory type."""
    return {PACK_ROWS: _pack_rows(module, shape, stored),
            PACK_TRANSPOSED: _each_panel(module, _pack_transposed(module, "pack_turn", shape, stored), shape, bytes_of(stored)),
            PACK_ANY: _each_panel(module, _pack_any(module, shape, stored), shape, bytes_of(stored))}


def _each_panel(module, name, shape, size, group=1):
    """Write a packer of all panels from one of a single panel, whose steps are `group` elements of the depth."""
    f, (source, step, across, columns, count, panel) = _packer(module, f"{name}_all")
    apart = f.mul(f.ceil_div(count, group), shape.columns * size * group)
    with f.loop(0, columns, shape.columns) as loop:
        f.call(name, "void", f.at(source, f.mul(loop.index, across)), step, across,
               f.min(f.sub(columns, loop.index), shape.columns), count,
               f.at(panel, f.mul(f.div(loop.index, shape.columns), apart)))
    f.ret()
    return f"{name}_all"


def _pack_rows(module, shape, stored):
    """Write the packer of a few rows of B at a time, across all panels: memory is fast for few long pieces. Loads precede
    stores, because a load waits for an earlier store whose address has the same last twelve bits."""
    f, (source, step, _, columns, count, panel) = _packer(module, "pack_rows")
    width, size = shape.columns * bytes_of(stored), bytes_of(stored)
    apart, whole = f.mul(count, width), f.sub(columns, f.mod(columns, shape.columns))
    by_rows = f.bit_and(count, -_ROWS_TOGETHER)
    for rows, low, high in ((_ROWS_TOGETHER, 0, by_rows), (1, by_rows, count)):
        with f.loop(low, high, rows) as loop:
            starts = [f.at(source, f.mul(f.add(loop.index, row), step)) for row in range(rows)]
            end = f.at(panel, f.mul(loop.index, width))
            with f.loop(0, whole, shape.columns, [end]) as along:
                _copy_rows(f, shape, stored, [f.at(start, along.index, stored) for start in starts], along.carried[0],
                           range(shape.vectors))
                along.next(f.at(along.carried[0], apart))
            with f.loop(whole, columns, shape.lanes) as rest:
                spot = f.at(along.results[0], f.mul(f.sub(rest.index, whole), size))
                _copy_rows(f, shape, stored, [f.at(start, rest.index, stored) for start in starts], spot, range(1),
                           f.mask(f.sub(columns, rest.index), shape.lanes))
    f.ret()
    return "pack_rows"


def _copy_rows(f, shape, stored, starts, end, vectors, mask=None):
    type_, size = vector(shape.lanes, stored), bytes_of(stored)
    spots = [(f.at(start, number * shape.lanes * size), f.at(end, (row * shape.columns + number * shape.lanes) * size))
             for row, start in enumerate(starts) for number in vectors]
    values = [f.load_masked(type_, spot, mask) for spot, _ in spots]
    for value, (_, goal) in zip(values, spots, strict=True):
        f.store(value, goal)


def _pack_transposed(module, name, shape, stored):
    """Write the packer of columns contiguous along the depth: squares transposed in registers, the rest one by one."""
    f, (source, _, across, columns, count, panel) = _packer(module, name)
    lanes, size, row_bytes = shape.lanes, bytes_of(stored), shape.columns * bytes_of(stored)
    whole_columns, whole_steps = f.bit_and(columns, -lanes), f.bit_and(count, -lanes)
    with f.loop(0, whole_columns, lanes) as outer:
        with f.loop(0, whole_steps, lanes) as inner:
            corner = f.at(f.at(source, f.mul(outer.index, across)), f.mul(inner.index, size))
            with f.loop(0, lanes, 1, [f.at(corner, _AHEAD)]) as ahead:      # more streams than hardware prefetching follows
                f.prefetch(ahead.carried[0])
                ahead.next(f.at(ahead.carried[0], across))
            spot = f.at(f.at(panel, f.mul(inner.index, row_bytes)), f.mul(outer.index, size))
            f.call(turn_square(module, lanes, stored), VOID, corner, across, spot, f.index(row_bytes))
        _copy_elements(f, stored, source, size, across, panel, row_bytes, (whole_steps, count),
                       (outer.index, f.add(outer.index, lanes)))
    _copy_elements(f, stored, source, size, across, panel, row_bytes, (0, count), (whole_columns, columns))
    f.ret()
    return name


def turn_square(module: Module, lanes: int, stored: str) -> str:
    """Write `turn_square(source, bytes from row to row, goal, bytes from row to row)` once in a module: transpose a square of
    `lanes` rows in registers. LLVM takes long for shuffles."""
    name, type_ = f"turn_square_{stored}", vector(lanes, stored)
    if not module.has(name):
        f = module.function(name, [(PTR, "source"), (I64, "apart"), (PTR, "goal"), (I64, "beside")], internal=True)
        source, apart, goal, goal_apart = f.params
        rows = [f.load(type_, f.at(source, f.mul(apart, i)), align=min(bytes_of(stored), 2)) for i in range(lanes)]
        for i, value in enumerate(transpose(f, rows)):
            f.store(value, f.at(goal, f.mul(goal_apart, i)))
        f.ret()
    return name


def _pack_any(module, shape, stored):
    f, (source, step, across, columns, count, panel) = _packer(module, "pack_any")
    _copy_elements(f, stored, source, step, across, panel, shape.columns * bytes_of(stored), (0, count), (0, columns))
    f.ret()
    return "pack_any"


def _copy_elements(f, stored, source, step, across, panel, row_bytes, steps, columns):
    with f.loop(*steps) as outer:
        start, end = f.at(source, f.mul(outer.index, step)), f.at(panel, f.mul(outer.index, row_bytes))
        with f.loop(*columns) as inner:
            value = f.load(stored, f.at(start, f.mul(inner.index, across)), align=min(bytes_of(stored), 2))
            f.store(value, f.at(end, f.mul(inner.index, bytes_of(stored))))


def stored_packer(module: Module, shape: TileShape, form: WeightFormat) -> str:
    """Write the packer of stored rows, which are columns of B: some of them are unpacked near by, a unit of a block at a time,
    and transposed in registers. The depth begins with a block; its bytes per step are not read."""
    f, (source, _, across, columns, count, panel) = _packer(module, "pack_stored")
    lanes, row_bytes = shape.lanes, shape.columns * bytes_of(F32)
    reader = None if form.codes is None else Block(f, form, form.codes, exact=True)
    unit = _FLOATS_TOGETHER if reader is None else reader.unit
    room, last = f.local(lanes * unit * bytes_of(F32)), f.local(lanes * lanes * bytes_of(F32))
    square, apart = turn_square(module, lanes, F32), f.index(unit * bytes_of(F32))
    with f.loop(0, columns, lanes) as outer, f.loop(0, count, unit) as inner:
        steps, start = f.min(f.sub(count, inner.index), unit), f.at(panel, f.mul(outer.index, bytes_of(F32)))
        with f.loop(0, f.min(f.sub(columns, outer.index), lanes)) as row:
            goal = f.at(room, f.mul(row.index, unit * bytes_of(F32)))
            write_numbers(f, form, reader, f.at(source, f.mul(f.add(outer.index, row.index), across)), inner.index, steps, goal)
        whole = f.bit_and(steps, -lanes)
        with f.loop(0, whole, lanes) as step:
            spot = f.at(start, f.mul(f.add(inner.index, step.index), row_bytes))
            f.call(square, VOID, f.at(room, step.index, F32), apart, spot, f.index(row_bytes))
        with f.when(f.compare("slt", whole, steps)):        # rows of a square beyond the depth lie in the next panel
            f.call(square, VOID, f.at(room, whole, F32), apart, last, f.index(lanes * bytes_of(F32)))
            with f.loop(whole, steps) as step:
                value = f.load(vector(lanes, F32), f.at(last, f.mul(f.sub(step.index, whole), lanes), F32))
                f.store(value, f.at(start, f.mul(f.add(inner.index, step.index), row_bytes)))
    f.ret()
    return _each_panel(module, "pack_stored", shape, bytes_of(F32))


def left_packer(module: Module, shape: TileShape, stored: str) -> str:
    """Write `pack_left(source, bytes per step, height, tiles, tall, steps, room, apart)`: pack a transposed A.

    Tiles have `height` rows (the first `tall` one more), step by step; steps are as far apart as a full tile's.
    """
    some_tiles = _left_tiles(module, shape, stored)
    f = module.function("pack_left", [(PTR, "source"), (I64, "step"), (I64, "height"), (I64, "tiles"), (I64, "tall"),
                                      (I64, "count"), (PTR, "room"), (I64, "apart")], internal=True)
    source, step, height, tiles, tall, count, room, apart = f.params
    size, tall = bytes_of(stored), f.max(f.min(tall, tiles), 0)
    low, higher = f.sub(tiles, tall), f.mul(f.add(height, 1), tall)
    for some, rows, first, start in ((tall, f.add(height, 1), source, room),
                                     (low, height, f.at(source, f.mul(higher, size)), f.at(room, f.mul(tall, apart)))):
        with f.when(f.compare("sgt", some, 0)):
            f.call(some_tiles, VOID, first, step, rows, some, count, start, apart)
    f.ret()
    return "pack_left"


def _left_tiles(module, shape, stored):
    """Write the packer of tiles of one height, a few steps for all tiles at once: a cache line holds rows of several."""
    size = bytes_of(stored)
    f = module.function("pack_left_tiles", [("ptr noalias readonly", "source"), (I64, "step"), (I64, "height"), (I64, "tiles"),
                                            (I64, "count"), ("ptr noalias", "room"), (I64, "apart")], internal=True)
    source, step, height, tiles, count, room, apart = f.params
    across = f.mul(height, size)
    with f.loop(0, count, _STEPS_TOGETHER) as outer:
        start, end = f.at(source, f.mul(outer.index, step)), f.at(room, f.mul(outer.index, shape.rows * size))
        steps = f.min(f.sub(count, outer.index), _STEPS_TOGETHER)
        with f.loop(0, tiles, 1, [start, end]) as loop:
            at, goal = loop.carried
            with f.loop(0, steps, 1, [at, goal]) as down:
                _copy_left(f, stored, height, shape.rows, *down.carried)
                down.next(f.at(down.carried[0], step), f.at(down.carried[1], shape.rows * size))
            loop.next(f.at(at, across), f.at(goal, apart))
    f.ret()
    return "pack_left_tiles"


def _copy_left(f, stored, height, most, start, end):
    """Copy a few adjacent elements, in pieces of four, two and one."""
    size = bytes_of(stored)
    for width in (4, 2, 1):
        if width <= most:
            with f.when(f.compare("ne", f.bit_and(height, width), 0)):
                at = f.mul(f.bit_and(height, -2 * width), size)
                value = f.load(vector(width, stored), f.at(start, at), align=size)
                f.store(value, f.at(end, at), align=size)


def pair_packers(module: Module, shape: TileShape) -> dict:
    """Return {mode: function name} of the packers for [panel][k / 2][columns][2] of bfloat; an odd last step is paired with
    zero."""
    turn = _pack_transposed(module, "pack_turn_pairs", shape, I32)
    singles = {PACK_ROWS: _pack_pair_rows(module, shape), PACK_TRANSPOSED: _pack_pair_columns(module, turn, shape),
               PACK_ANY: _pack_pair_any(module, shape)}
    return {mode: _each_panel(module, name, shape, 2, group=2) for mode, name in singles.items()}


def _pack_pair_rows(module, shape):
    f, (source, step, _, columns, count, panel) = _packer(module, "pack_pair_rows")
    lanes, type_ = shape.lanes, vector(shape.lanes, I16)
    interleaved = [lane // 2 + (lanes if lane % 2 else 0) for lane in range(2 * lanes)]
    masks = [f.mask(f.sub(columns, number * lanes), lanes) for number in range(shape.vectors)]
    with f.loop(0, f.div(f.add(count, 1), 2)) as loop:
        even = f.mul(loop.index, 2)
        start = f.at(source, f.mul(even, step))
        paired = f.splat(f.compare("slt", f.add(even, 1), count), lanes)
        for number in range(shape.vectors):
            spot = f.at(start, 2 * lanes * number)
            first = f.load_masked(type_, spot, masks[number])
            second = f.load_masked(type_, f.at(spot, step), f.binary("and", masks[number], paired))
            end = f.at(panel, f.add(f.mul(loop.index, 4 * shape.columns), 4 * lanes * number))
            f.store(f.shuffle(first, second, interleaved), end)
    f.ret()
    return "pack_pair_rows"


def _pack_pair_columns(module, turn, shape):
    """Write the packer of adjacent pairs: transpose them as 32-bit words, then add the odd last step."""
    f, (source, step, across, columns, count, panel) = _packer(module, "pack_pair_columns")
    pairs = f.div(count, 2)
    f.call(turn, "void", source, step, across, columns, pairs, panel)
    _last_pair(f, source, step, across, columns, count, panel, shape)
    f.ret()
    return "pack_pair_columns"


def _pack_pair_any(module, shape):
    f, (source, step, across, columns, count, panel) = _packer(module, "pack_pair_any")
    with f.loop(0, f.div(count, 2)) as loop:
        start = f.at(source, f.mul(f.mul(loop.index, 2), step))
        _pair_elements(f, start, step, across, columns, f.at(panel, f.mul(loop.index, 4 * shape.columns)))
    _last_pair(f, source, step, across, columns, count, panel, shape)
    f.ret()
    return "pack_pair_any"


def _pair_elements(f, start, step, across, columns, end):
    with f.loop(0, columns) as loop:
        spot, goal = f.at(start, f.mul(loop.index, across)), f.at(end, f.mul(loop.index, 4))
        f.store(f.load(I16, spot), goal)
        f.store(zero(I16) if step is None else f.load(I16, f.at(spot, step)), f.at(goal, 2))


def _last_pair(f, source, step, across, columns, count, panel, shape):
    width = 4 * shape.columns
    with f.when(f.compare("ne", f.bit_and(count, 1), 0)):
        half = f.div(count, 2)
        _pair_elements(f, f.at(source, f.mul(f.mul(half, 2), step)), None, across, columns, f.at(panel, f.mul(half, width)))
