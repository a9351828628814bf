"""Packing columns of B for matrix tiles: strips [pair of steps of the depth][column][2], zeros up to whole tiles.

Each packer is a function (source, bytes per step, bytes per column, columns, steps, panel, bytes per strip) of the module that
uses it. Columns beyond the last one hold anything: sums of them are never stored.
"""

from ..ir.types import I16, I32, I64, vector, zero
from .microkernel import transpose
from .packing import PACK_ANY, PACK_ROWS, PACK_TRANSPOSED

PACKERS = {PACK_ROWS: "strips_of_rows", PACK_TRANSPOSED: "strips_turned", PACK_ANY: "strips_of_any"}
TILE, LANES = 32, 16            # steps of a tile; pairs of a tile, and columns of half a strip
_TOGETHER = 4                   # strips that are packed side by side, so that pieces of rows are long
_LINE = 64


def write_packers(module, columns: int):
    """Adds the packers for strips of so many columns."""
    _write_rows(module, columns)
    _write_turned(module, columns)
    _write_any(module, columns)


def _packer(module, name):
    f = module.function(name, [("ptr noalias readonly", "source"), (I64, "step"), (I64, "across"), (I64, "columns"),
                               (I64, "count"), ("ptr noalias", "panel"), (I64, "size")], internal=True)
    return f, f.params


def _clear(f, strip, count, size, width):
    """Zeros from the last pair of steps to the end of the strip."""
    with f.loop(f.mul(f.ceil_div(count, 2), width), size, _LINE) as loop:
        f.store(zero(vector(_LINE // 4, I32)), f.at(strip, loop.index))


# Rows of B lie along the columns.


def _write_rows(module, columns):
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
    """Strips side by side, down the depth; a step without a partner at the end is paired with zeros."""
    kind, line = vector(columns, I16), 2 * columns
    halves = [[lane // 2 + half * LANES + (columns if lane % 2 else 0) for lane in range(columns)] for half in (0, 1)]

    def pack(number, paired):
        start = f.at(source, f.mul(number, f.mul(step, 2)))
        for strip in range(strips):
            spot = f.at(start, line * strip)
            goal = f.at(f.at(panel, f.mul(size, strip)), f.mul(number, 2 * line))
            first, second = (_load(f, kind, f.at(spot, f.mul(step, row)), mask) if row == 0 or paired else zero(kind)
                             for row in range(2))
            for half, lanes in enumerate(halves):
                f.store(f.shuffle(first, second, lanes), f.at(goal, line * half))

    with f.loop(0, f.div(count, 2)) as loop:
        pack(loop.index, True)
    with f.when(f.compare("ne", f.bit_and(count, 1), 0)):
        pack(f.div(count, 2), False)
    for strip in range(strips):
        _clear(f, f.at(panel, f.mul(size, strip)), count, size, 2 * line)


def _load(f, kind, spot, mask):
    return f.load(kind, spot) if mask is None else f.load_masked(kind, spot, mask)


# Columns of B lie along the depth: pairs lie together already, so blocks of 32-bit words are turned.


def _write_turned(module, columns):
    f, (source, _, across, wide, count, panel, size) = _packer(module, PACKERS[PACK_TRANSPOSED])
    row_bytes, whole_steps = 4 * columns, f.bit_and(count, -TILE)
    with f.loop(0, wide, LANES) as outer:
        left = f.sub(wide, outer.index)
        start = f.at(source, f.mul(outer.index, across))
        strip = f.at(f.at(panel, f.mul(f.div(outer.index, columns), size)), f.mul(f.mod(outer.index, columns), 4))
        full = f.compare("sge", left, LANES)
        inner = f.select(full, whole_steps, f.index(0))
        with f.loop(0, inner, TILE) as loop:
            _turn(f, f.at(start, loop.index, I16), across, f.at(strip, f.mul(loop.index, row_bytes // 2)), row_bytes)
        with f.loop(inner, count, TILE) as loop:
            _turn(f, f.at(start, loop.index, I16), across, f.at(strip, f.mul(loop.index, row_bytes // 2)), row_bytes,
                  f.sub(count, loop.index), left)
    f.ret()


def _turn(f, corner, across, goal, row_bytes, steps=None, columns=None):
    """A tile's worth of steps of 16 columns; at the edges only those that there are, zeros for the others."""
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


# Neither lies along memory.


def _write_any(module, columns):
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
