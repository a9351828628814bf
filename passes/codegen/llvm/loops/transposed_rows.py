"""Kernels with reduce dims over short rows of which each takes a function once (a logarithm): each lane is a row
of its own, as in `columns.py`, and what lies along the rows is turned by squares on the way in and out, so that memory is read
and written in order.

A block of as many rows as a vector has lanes is turned into panels [elements of a row][lanes] on the stack, where all sweeps
find it; a panel is the buffer's place for these rows, with other strides.
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

SHORTEST = 4        # elements of a row: turning squares of fewer takes longer than gathering them
LONGEST = 40        # the same of more, than what rows take one by one
FEWEST = 8          # rows from which some lanes may stay empty


class TransposedRows(Columns):
    """Writes the task and the launch of a kernel whose lanes are rows that lie one after the other."""

    def __init__(self, module: Module, kernel: Kernel):
        super().__init__(module, kernel)
        self.row_buffers = {b.name: b for b in _along_rows(kernel)}
        strides = [0] * len(kernel.dims)
        strides[-1], strides[len(kernel.parallel) - 1] = self.lanes(), 1
        standing = [replace(b, strides=tuple(strides)) if b.name in self.row_buffers else b for b in kernel.buffers]
        self.kernel = replace(kernel, buffers=tuple(standing))
        self.panels: dict = {}      # of the block that is being written

    def wide(self) -> int:
        return self.lanes()

    def write(self):
        for item in {b.dtype.itemsize for b in self.row_buffers.values()}:
            write_turn_square(self.module, _element(item), self.lanes())
        super().write()

    def block(self, place: Where):
        """All stages for the rows from `place` on, between turning what they read and what they wrote."""
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
        """Rows at `corner` into the buffer's panel, or out of it."""
        f, lanes, item = self.f, self.width, buffer.dtype.itemsize
        apart = f.mul(self.number(buffer.strides[len(self.kernel.parallel) - 1]), item)
        inner, panel = self.number(self.kernel.reduce[-1].extent), self.panels[buffer.name]
        if how is turn_in:
            turn_in(f, _element(item), corner, apart, rows, inner, panel, lanes * item, lanes)
        else:
            turn_out(f, _element(item), panel, lanes * item, corner, apart, rows, inner, lanes)

    def offset(self, buffer, indices: dict):
        """A panel holds the rows of one block."""
        if buffer.name in self.panels:
            indices = {name: at for name, at in indices.items() if name == self.kernel.reduce[-1].name}
        return super().offset(buffer, indices)

    def prefetch(self, stage, place, dim):
        """Nothing: rows lie one after the other, and panels in the cache."""

    def load(self, s, buffer, pointer, stride, mask=None):
        return super().load(s, buffer, pointer, stride, None if buffer.name in self.panels else mask)

    def store(self, s, value, buffer, pointer, stride, mask=None):
        super().store(s, value, buffer, pointer, stride, None if buffer.name in self.panels else mask)


def _element(item: int) -> str:
    return f"i{8 * item}"


def _along_rows(kernel: Kernel) -> list:
    """The buffers that lie along the rows; not those that are read at computed rows, too."""
    across, inner = len(kernel.parallel) - 1, kernel.reduce[-1].name
    elsewhere = {buffer_of(i) for i in kernel.instructions() if i.op == "load" and i.args and i.attr[1:] != (inner,)}
    return [b for b in kernel.buffers if b.strides[-1] == 1 and b.strides[across] not in (0, 1) and b.name not in elsewhere]


def suits(kernel: Kernel, extents) -> bool:
    """Whether a kernel over these extents should take this way: it takes a function once for a row, which would have a vector
    for itself, and registers hold a square."""
    if len(kernel.reduce) > 1 or host().vector_registers < 32 or any(b.dtype is dt.complex128 for b in kernel.buffers):
        return False
    once = [i for stage in kernel.stages if stage.over == POINT for i in stage.body]
    return (any(instr_cost(i) >= CHAIN for i in once) and SHORTEST <= extents[-1] <= LONGEST
            and extents[len(kernel.parallel) - 1] >= FEWEST and bool(_along_rows(kernel)))
