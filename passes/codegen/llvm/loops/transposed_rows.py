"""Kernels with reduce dims over short rows that take a function (a logarithm) once per row.

Each lane is a row, as in `columns.py`, and buffers along the rows are transposed by squares on the way in and out, so memory is
accessed in order. A block of as many rows as a vector has lanes is transposed into panels [elements of a row][lanes] on the
stack, which all sweeps read. A panel replaces the buffer for these rows, with other strides.
"""

from dataclasses import replace

from .....ir import dtype as dt
from .....ir.kernel.kernel import POINT, Kernel, buffer_of
from .....ir.target import host
from ...cost import instr_cost
from ..contract.transpose_squares import turn_in, turn_out, write_turn_square
from ..ir.emit import Module
from .columns import Columns
from .elementwise import CHAIN
from .nest import Where

SHORTEST = 4        # least elements of a row: for fewer, gathering is faster than transposing
LONGEST = 40        # most elements of a row: longer ones are faster one by one
FEWEST = 8          # least rows; some lanes may stay empty


class TransposedRows(Columns):
    """A nest whose lanes are adjacent rows."""

    def __init__(self, module: Module, kernel: Kernel):
        super().__init__(module, kernel)
        self.row_buffers = {b.name: b for b in _along_rows(kernel)}
        strides = [0] * len(kernel.dims)
        strides[-1], strides[len(kernel.parallel) - 1] = self.lanes(), 1
        standing = [replace(b, strides=tuple(strides)) if b.name in self.row_buffers else b for b in kernel.buffers]
        self.kernel = replace(kernel, buffers=tuple(standing))
        self.panels: dict = {}      # of the block being written

    def wide(self) -> int:
        return self.lanes()

    def write(self):
        for item in {b.dtype.itemsize for b in self.row_buffers.values()}:
            write_turn_square(self.module, _element(item), self.lanes())
        super().write()

    def block(self, place: Where):
        """Write all stages for the rows from `place` on, between transposing their inputs and results."""
        f, across = self.f, self.kernel.parallel[-1]
        rows = f.min(f.sub(self.number(across.extent), place.indices[across.name]), self.width)
        corners = {name: self.pointer(b, super(TransposedRows, self).offset(b, place.indices))
                   for name, b in self.row_buffers.items()}
        room = -(-LONGEST // self.width) * self.width ** 2      # whole squares
        self.panels = {name: f.local(room * b.dtype.itemsize) for name, b in self.row_buffers.items()}
        self.loaded |= self.panels
        for name, buffer in self.row_buffers.items():
            if buffer.role != "out":
                self.turn(turn_in, buffer, corners[name], rows)
        super().block(Where(self, place.indices, place.lane_dim, place.mask))
        for name, buffer in self.row_buffers.items():
            if buffer.written:
                self.turn(turn_out, buffer, corners[name], rows)

    def turn(self, how, buffer, corner, rows):
        """Transpose rows at `corner` into the buffer's panel, or out of it."""
        f, lanes, item = self.f, self.width, buffer.dtype.itemsize
        apart = f.mul(self.number(buffer.strides[len(self.kernel.parallel) - 1]), item)
        inner, panel = self.number(self.kernel.reduce[-1].extent), self.panels[buffer.name]
        if how is turn_in:
            turn_in(f, _element(item), corner, apart, rows, inner, panel, lanes * item, lanes)
        else:
            turn_out(f, _element(item), panel, lanes * item, corner, apart, rows, inner, lanes)

    def offset(self, buffer, indices: dict):
        """Return the offset within the panel of one block of rows."""
        if buffer.name in self.panels:
            indices = {name: at for name, at in indices.items() if name == self.kernel.reduce[-1].name}
        return super().offset(buffer, indices)

    def prefetch(self, stage, place, dim):
        """Prefetch nothing: rows are adjacent, and panels in the cache."""

    def load(self, s, buffer, pointer, stride, mask=None):
        return super().load(s, buffer, pointer, stride, None if buffer.name in self.panels else mask)

    def store(self, s, value, buffer, pointer, stride, mask=None):
        super().store(s, value, buffer, pointer, stride, None if buffer.name in self.panels else mask)


def _element(item: int) -> str:
    return f"i{8 * item}"


def _along_rows(kernel: Kernel) -> list:
    """Return the buffers contiguous along the rows, without those also read at computed rows."""
    across, inner = len(kernel.parallel) - 1, kernel.reduce[-1].name
    elsewhere = {buffer_of(i) for i in kernel.instructions() if i.op == "load" and i.args and i.attr[1:] != (inner,)}
    return [b for b in kernel.buffers if b.strides[-1] == 1 and b.strides[across] not in (0, 1) and b.name not in elsewhere]


def suits(kernel: Kernel, extents) -> bool:
    """Return whether transposed rows should reduce a kernel over these extents: a function per row would fill a vector, and
    registers hold a square."""
    if len(kernel.reduce) > 1 or host().vector_registers < 32 or any(b.dtype is dt.complex128 for b in kernel.buffers):
        return False
    once = [i for stage in kernel.stages if stage.over == POINT for i in stage.body]
    return (any(instr_cost(i) >= CHAIN for i in once) and SHORTEST <= extents[-1] <= LONGEST
            and extents[len(kernel.parallel) - 1] >= FEWEST and bool(_along_rows(kernel)))
