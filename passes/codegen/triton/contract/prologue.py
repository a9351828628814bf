"""Prologues of products inside their tiles: a factor computed where it is loaded (`passes/fusion/fuse_prologue.py`).

Its lines are those of an epilogue (`epilogue.py`) at the places of a factor's tile, without a product among them. Elements
beyond the edges are 0.
"""

from dataclasses import dataclass

from .....ir import dtype as dt
from ...epilogue_program import EpilogueProgram
from ..ir.source import SIZE, Parameter
from ..ir.spelling import TYPE
from . import epilogue

FIRST = {"x": 1000, "y": 2000}       # first numbers of each factor's names, distinct from an epilogue's


@dataclass(frozen=True)
class Before:
    """The computation of a factor.

        fused    the program, with operands called x0, x1 ... or y0, y1 ...
        along    for each operand: whether (rows, batches) differ
        transposed   whether the factor's last dim but one counts as columns, in memory order
    """

    fused: EpilogueProgram
    along: tuple
    transposed: bool = False

    @property
    def name(self) -> str:
        return self.fused.name.replace("epilogue", "prologue") + ("_turned" if self.transposed else "")


@dataclass(frozen=True)
class Tile:
    """A factor's tile as text: `lines` of the loop that make `ref`, functions, and its (pointers, sizes)."""

    ref: str
    lines: tuple
    helpers: str
    pointers: tuple
    sizes: tuple


def computed(name: str, before: Before, first: tuple, second: tuple) -> Tile:
    """Return the tile of a computed factor; `first` and `second` are (index, mask) of its dims."""
    row, column = (second, first) if before.transposed else (first, second)
    return factor_tile(name, before, epilogue.Site(("batch", ""), row, column), f"{first[1]} & {second[1]}")


def factor_tile(name: str, before: Before, site: epilogue.Site, inside: str) -> Tile:
    """Return the tile of a computed factor at a site; `inside` masks existing elements."""
    made = epilogue.written(before.fused, before.along, site, FIRST[name])
    pointers, sizes = made.parameters
    lines = [*[line.removeprefix("    ") for line in made.lines],
             f"{name}_tile = tl.where({inside}, {made.result}, {zero_of(before.fused.dtype)})"]
    return Tile(f"{name}_tile", tuple(lines), made.helpers, pointers, sizes)


def loaded(name: str, dtype, units: tuple, first: tuple, second: tuple, pointer: Parameter) -> Tile:
    """Return the tile of a factor in memory; `units` says which of its strides is 1."""
    strides = (f"s_{name}b", *[f"s_{name}{letter}" for letter in ("mk" if name == "x" else "kn")])
    terms = [i if unit else f"{i} * {s}" for i, s, unit in zip((first[0], second[0]), strides[1:], units)]
    address = f"{name} + (batch * {strides[0]} + {' + '.join(terms)})"
    line = f"{name}_tile = tl.load({address}, {first[1]} & {second[1]}, {zero_of(dtype)})"
    names = [strides[0], *[s for s, unit in zip(strides[1:], units) if not unit]]
    return Tile(f"{name}_tile", (line,), "", (pointer,), tuple([Parameter(s, SIZE) for s in names]))


def zero_of(dtype) -> str:
    """Return a zero of a dtype as text."""
    return "0.0" if dtype is dt.float32 or dtype in dt.FLOAT8 else f"tl.full([], 0.0, {TYPE[dtype]})"
