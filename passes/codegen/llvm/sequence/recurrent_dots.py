"""The recurrent product as dot products with the rows of the weights where they lie: for so few rows that packing the weights
would take longer than multiplying them.
"""

from ..contract.microkernel import Operand, Precision, dot_tile, tile_shape
from ..ir.emit import Module
from ..ir.types import I64, PTR, VOID, bytes_of

HEIGHT, WIDTH = 4, 4                # of a tile: rows, and units of a gate
_SHAPE = ("a_row", "w_row", "gate", "c_row", "rows", "units", "depth")


def write_dots(module: Module, precision: Precision, gates: int, panel: int, name: str = "dots") -> str:
    """Adds `void name(a, w, c, a_row, w_row, gate, c_row, rows, units, depth)`: c[row, gate * panel + unit], for each gate, is
    the product of a row of a and the weights' row of the unit. `gate` are the bytes between the weights of gates."""
    tables = {width: module.function_table(f"{name}_{width}", [_tile(module, precision, name, height, width)
                                                               for height in range(1, HEIGHT + 1)]) for width in (WIDTH, 1)}
    f = module.function(name, [(PTR, "a"), (PTR, "w"), (PTR, "c"), *((I64, word) for word in _SHAPE)], internal=True)
    a, w, c, a_row, w_row, gate, c_row, rows, units, depth = f.params
    item, whole = bytes_of(precision.out), f.bit_and(units, -WIDTH)
    with f.loop(0, gates) as outer:
        weights, sums = f.at(w, f.mul(gate, outer.index)), f.at(c, f.mul(outer.index, panel * item))
        for width, low, high in ((WIDTH, 0, whole), (1, whole, units)):
            with f.loop(low, high, width) as across, f.loop(0, rows, HEIGHT) as down:
                height = f.min(f.sub(rows, down.index), HEIGHT)
                kernel = f.load(PTR, f.at(f.at(tables[width], height, PTR), -8))
                target = f.at(f.at(sums, f.mul(across.index, item)), f.mul(down.index, c_row))
                f.call_pointer(kernel, VOID, f.at(a, f.mul(down.index, a_row)), f.at(weights, f.mul(across.index, w_row)),
                               target, a_row, w_row, c_row, depth)
    f.ret()
    return name


def _tile(module, precision, prefix, height, width):
    """Function of some rows and some units of a gate."""
    name = f"{prefix}_{height}x{width}"
    f = module.function(name, [("ptr noalias readonly", "a"), ("ptr noalias readonly", "w"), ("ptr noalias", "c"),
                               *((I64, word) for word in ("a_row", "w_row", "c_row", "depth"))], internal=True)
    a, w, c, a_row, w_row, c_row, depth = f.params
    lanes = tile_shape(module.target, precision.accumulate).lanes
    sums = dot_tile(f, precision, height, width, lanes, depth, Operand(a, a_row, 0), Operand(w, w_row, 0))
    for i, line in enumerate(sums):
        f.store(line, f.at(c, f.mul(c_row, i)))
    f.ret()
    return name
