"""Copying a panel of B into the order in which the micro-kernel reads it: step by step of the depth, all columns together.

Each packer is a function (source, bytes per step, bytes per column, columns, steps, panel) of the module that uses it. What
lies beyond the last column is left as it is: the kernels' edge tiles do not use it.
"""

from .emit import Module
from .microkernel import TileShape, transpose
from .types import I16, I32, I64, bytes_of, vector, zero

IN_PLACE, PACK_ROWS, PACK_TRANSPOSED, PACK_ANY = 0, 1, 2, 3


def _packer(module, name):
    f = module.function(name, [("ptr noalias readonly", "source"), (I64, "step"), (I64, "across"), (I64, "columns"),
                               (I64, "count"), ("ptr noalias", "panel")], internal=True)
    return f, f.params


def packers(module: Module, shape: TileShape, stored: str) -> dict:
    """{mode: function name} of the packers for panel[k][columns] of one memory type."""
    return {PACK_ROWS: _pack_rows(module, shape, stored), PACK_TRANSPOSED: _pack_transposed(module, "pack_turn", shape, stored),
            PACK_ANY: _pack_any(module, shape, stored)}


def _pack_rows(module, shape, stored):
    f, (source, step, _, columns, count, panel) = _packer(module, "pack_rows")
    type_, size = vector(shape.lanes, stored), bytes_of(stored)

    def copy(masks):
        with f.loop(0, count) as loop:
            start, end = f.at(source, f.mul(loop.index, step)), f.at(panel, f.mul(loop.index, shape.columns * size))
            for number in range(shape.vectors):
                spot = f.at(start, number * shape.lanes * size)
                value = f.load(type_, spot) if masks is None else f.load_masked(type_, spot, masks[number])
                f.store(value, f.at(end, number * shape.lanes * size))

    def edge():
        copy([f.mask(f.sub(columns, number * shape.lanes), shape.lanes) for number in range(shape.vectors)])

    f.choose(f.compare("eq", columns, shape.columns), lambda: copy(None), edge)
    f.ret()
    return "pack_rows"


def _pack_transposed(module, name, shape, stored):
    """Columns that are contiguous along the depth: square blocks turned in registers, the rest one by one."""
    f, (source, _, across, columns, count, panel) = _packer(module, name)
    lanes, size = shape.lanes, bytes_of(stored)
    type_, row_bytes = vector(lanes, stored), shape.columns * size
    whole_columns, whole_steps = f.bit_and(columns, -lanes), f.bit_and(count, -lanes)
    with f.loop(0, whole_columns, lanes) as outer:
        with f.loop(0, whole_steps, lanes) as inner:
            corner = f.at(f.at(source, f.mul(outer.index, across)), f.mul(inner.index, size))
            rows = [f.load(type_, f.at(corner, f.mul(across, i)), align=min(size, 2)) for i in range(lanes)]
            spot = f.at(f.at(panel, f.mul(inner.index, row_bytes)), f.mul(outer.index, size))
            for i, value in enumerate(transpose(f, rows)):
                f.store(value, f.at(spot, i * row_bytes))
        _copy_elements(f, stored, source, size, across, panel, row_bytes, (whole_steps, count),
                       (outer.index, f.add(outer.index, lanes)))
    _copy_elements(f, stored, source, size, across, panel, row_bytes, (0, count), (whole_columns, columns))
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


def pair_packers(module: Module, shape: TileShape) -> dict:
    """{mode: function name} of the packers for panel[k / 2][columns][2] of bfloat; an odd last step is paired with zero."""
    turn = _pack_transposed(module, "pack_turn_pairs", shape, I32)
    return {PACK_ROWS: _pack_pair_rows(module, shape), PACK_TRANSPOSED: _pack_pair_columns(module, turn, shape),
            PACK_ANY: _pack_pair_any(module, shape)}


def _pack_pair_rows(module, shape):
    f, (source, step, _, columns, count, panel) = _packer(module, "pack_pair_rows")
    lanes, type_ = shape.lanes, vector(shape.lanes, I16)
    together = [lane // 2 + (lanes if lane % 2 else 0) for lane in range(2 * lanes)]
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
            f.store(f.shuffle(first, second, together), end)
    f.ret()
    return "pack_pair_rows"


def _pack_pair_columns(module, turn, shape):
    """Pairs lie together already: turn them as 32-bit words, then the odd last step."""
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
