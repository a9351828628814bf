"""Matrix product as a function inside other kernels: C = (keep * C + A B) * scale for any sizes, on the microkernel.

Attention and recurrent layers call it on blocks in the near caches. `keep` and `scale` hold one number per row of C, or one for
all (stride 0). A null `keep` means that C is not read, a null `scale` that nothing is multiplied. B is read in place, or as
packed panels `b_panel` bytes apart.
"""

from ..ir.emit import Module
from ..ir.types import I64, PTR, VOID, bytes_of, null
from .microkernel import Operand, Precision, outer_tile, tile_shape

HEIGHTS = (6, 4, 2, 1)
# Arguments after a, b and c: strides in bytes, sizes, then the addresses of keep and scale and the bytes between their numbers.
_SHAPE = ("a_row", "a_step", "b_step", "b_panel", "c_row", "rows", "columns", "depth")
_NUMBERS = (PTR, "keep"), (PTR, "scale"), (I64, "number_step")


def write_product(module: Module, precision: Precision, name: str = "product",
                  steps: tuple[int | None, int | None] = (None, None)) -> str:
    """Add `void name(a, b, c, a_row, a_step, b_step, b_panel, c_row, rows, columns, depth, keep, scale, number_step)`.

    `steps` gives steps of the depth that are the same in all calls: they become constants.
    """
    shape = tile_shape(module.target, precision.accumulate)
    widths = [shape.vectors >> n for n in range(shape.vectors.bit_length())]
    tables = {(width, masked): module.function_table(f"{name}_tiles_{width}{'_edge' * masked}",
              [_tile(module, precision, shape.lanes, name, height, width, masked, steps) for height in HEIGHTS])
              for width, masked in [*((w, False) for w in widths), (1, True)]}
    all_rows = _write_all_rows(module, f"{name}_rows")
    words = [(I64, word) for word in _SHAPE]
    f = module.function(name, [(PTR, "a"), (PTR, "b"), (PTR, "c"), *words, *_NUMBERS], internal=True)
    a, b, c, a_row, a_step, b_step, b_panel, c_row, rows, columns, depth, *numbers = f.params
    size, panel = bytes_of(precision.out), shape.columns

    def sweep(width, masked, column, left=None):
        start = f.at(f.at(b, f.mul(f.div(column, panel), b_panel)), f.mul(f.mod(column, panel), size))
        f.call(all_rows, VOID, tables[width, masked], a, start, f.at(c, f.mul(column, size)), a_row, a_step, b_step, c_row,
               rows, depth, f.index(left or 0), *numbers)

    at = 0
    for width in widths:
        step = width * shape.lanes
        end = f.bit_and(columns, -step)
        with f.loop(at, end, step) as loop:
            sweep(width, False, loop.index)
        at = end
    rest = f.sub(columns, at)
    with f.when(f.compare("sgt", rest, 0)):
        sweep(1, True, at, rest)
    f.ret()
    return name


def _write_all_rows(module, name):
    """Write the function of all rows of C for some columns: tiles of 6 rows, the rest in smaller ones (8 rows as 4 and 4)."""
    words = [(I64, word) for word in ("a_row", "a_step", "b_step", "c_row", "rows", "depth", "left")]
    f = module.function(name, [(PTR, "table"), (PTR, "a"), (PTR, "b"), (PTR, "c"), *words, *_NUMBERS], internal=True)
    table, a, b, c, a_row, a_step, b_step, c_row, rows, depth, left, keep, scale, number_step = f.params
    tallest, at = HEIGHTS[0], 0
    spare = f.select(f.compare("eq", f.mod(rows, tallest), 2), f.index(tallest), f.index(0))
    for number, height in enumerate(HEIGHTS):
        remaining = f.sub(rows, at)
        end = f.add(at, f.sub(remaining, f.mod(remaining, height)))
        if number == 0:
            end = f.max(f.sub(end, spare), 0)
        kernel = f.load(PTR, f.at(table, 8 * number))
        with f.loop(at, end, height) as loop:
            row = loop.index
            f.call_pointer(kernel, VOID, f.at(a, f.mul(row, a_row)), b, f.at(c, f.mul(row, c_row)), a_row, a_step, b_step,
                           c_row, depth, left, *(_forward(f, numbers, f.mul(row, number_step)) for numbers in (keep, scale)),
                           number_step)
        at = end
    f.ret()
    return name


def _forward(f, pointer, offset):
    return f.select(f.compare("eq", pointer, null()), pointer, f.at(pointer, offset))


def _tile(module, precision, lanes, prefix, height, width, masked, steps):
    """Write the function of one register tile. With two unknown steps, LLVM runs out of registers in rounds of four."""
    name = f"{prefix}_{height}x{width}{'_edge' * masked}"
    f = module.function(name, [("ptr noalias readonly", "a"), ("ptr noalias readonly", "b"), ("ptr noalias", "c"),
                               *((I64, word) for word in ("a_row", "a_step", "b_step", "c_row", "depth", "left")),
                               ("ptr noalias readonly", "keep"), ("ptr noalias readonly", "scale"), (I64, "number_step")],
                        internal=True)
    a, b, c, a_row, a_step, b_step, c_row, depth, left, keep, scale, number_step = f.params
    mask = f.mask(left, lanes) if masked else None
    a_step, b_step = steps[0] or a_step, steps[1] or b_step
    tile = outer_tile(f, precision, height, width, lanes, depth, Operand(a, a_row, a_step), Operand(b, 0, b_step), mask,
                      unroll=4 if any(steps) else 2)
    kind, size = tile[0][0].type, bytes_of(precision.out)
    spots = [[f.at(f.at(c, f.mul(c_row, i)), j * lanes * size) for j in range(width)] for i in range(height)]

    def number(pointer, i):
        return f.splat(f.load(precision.accumulate, f.at(pointer, f.mul(number_step, i))), lanes)

    def load(spot):
        return f.load_masked(kind, spot, mask)

    def with_old_sums():
        return [f.fadd(f.fmul(load(spots[i][j]), n), tile[i][j]) for i in range(height) for n in (number(keep, i),)
                for j in range(width)]

    values = f.choose(f.compare("ne", keep, null()), with_old_sums, lambda: [v for line in tile for v in line])
    scaled = f.choose(f.compare("ne", scale, null()),
                      lambda: [f.fmul(values[i * width + j], n) for i in range(height) for n in (number(scale, i),)
                               for j in range(width)], lambda: values)
    for number_, value in enumerate(scaled):
        spot = spots[number_ // width][number_ % width]
        f.store_masked(value, spot, mask)
    f.ret()
    return name
