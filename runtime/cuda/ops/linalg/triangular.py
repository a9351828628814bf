"""Triangular systems on a device, in blocks: diagonal blocks by substitution, the rest by products.

They take real numbers of 32 and 64 bits; others are solved on the host.
"""

from typing import NamedTuple

import numpy as np

from .....ir import dtype as dt
from .....ir.ops.linalg import triangular as systems
from .....ir.symbols.symbolic import power_of_two
from .....passes.codegen.triton.linalg import triangular as text
from ....core.device_array import DeviceArray
from ...compiler.kernels import launch
from ...graph.eager import copied
from ...memory.arrays import empty
from ..products.products import as_batch

_KINDS = (np.dtype(np.float32), np.dtype(np.float64))


class Matrices(NamedTuple):
    """A batch of matrices in an array, from byte `offset`, with `strides` of batches, rows and columns in elements."""

    array: DeviceArray
    rows: int
    columns: int
    strides: tuple
    offset: int = 0

    @property
    def kind(self) -> dt.DType:
        return dt.from_numpy(self.array.dtype)

    @property
    def count(self) -> int:
        return self.array.size // (self.array.shape[-1] * self.array.shape[-2])

    @property
    def transposed(self) -> "Matrices":
        batch, row, column = self.strides
        return Matrices(self.array, self.columns, self.rows, (batch, column, row), self.offset)

    @property
    def start(self) -> DeviceArray:
        return self.array.look(self.array.shape, self.array.strides, self.offset) if self.offset else self.array

    def part(self, rows, columns) -> "Matrices":
        (top, bottom), (left, right) = rows, columns
        offset = (top * self.strides[1] + left * self.strides[2]) * self.array.itemsize
        return Matrices(self.array, bottom - top, right - left, self.strides, self.offset + offset)

    def sizes(self, name: str) -> dict:
        return dict(zip([f"{name}_{letter}" for letter in "brc"], self.strides))


def takes(*arrays) -> bool:
    """Return whether kernels take these matrices."""
    return all([isinstance(a, DeviceArray) and a.dtype in _KINDS and a.size > 0 for a in arrays])  # noqa: C419  (quicker)


def as_matrices(x: DeviceArray) -> Matrices:
    """Return the matrices of an array, copied if batches are not evenly spaced."""
    x, step = as_batch(x)
    return Matrices(x, x.shape[-2], x.shape[-1], (step, *[s // x.itemsize for s in x.strides[-2:]]))


def solve_in_place(a: Matrices, x: Matrices, upper: bool, unit: bool):
    """Replace x by the solution of a @ x = x."""
    n, step = a.rows, text.BLOCK
    starts = range(0, n, step)
    for start in reversed(starts) if upper else starts:
        stop = min(start + step, n)
        block, rest = (start, stop), (0, start) if upper else (stop, n)
        there = x.part(block, (0, x.columns))
        solve_block(a.part(block, block), there, upper, unit)
        if rest[0] < rest[1]:
            take_off(a.part(rest, block), there, x.part(rest, (0, x.columns)))


def solve_block(a: Matrices, x: Matrices, upper: bool, unit: bool):
    """Replace x by the solution for one block, by substitution."""
    n, columns = a.rows, x.columns
    constants = ("BN", power_of_two(n)), ("BC", power_of_two(min(text.COLUMNS[a.kind], columns)))
    sizes = {"N": n, "C": columns} | a.sizes("a") | x.sizes("x")
    grid = -(-columns // constants[1][1]) * x.count, 1, 1
    launch(x.array.device, text.solved(a.kind, upper, unit), (a.start, x.start), sizes, (constants, 1, grid))


def take_off(x: Matrices, y: Matrices, z: Matrices, lower=False):
    """Replace z by z - x @ y; with `lower` on and below the diagonal (and perhaps above it)."""
    m, n, k = x.rows, y.columns, x.columns
    sizes = {"M": m, "N": n, "K": k} | x.sizes("x") | y.sizes("y") | z.sizes("z")
    how = text.tile(x.kind, m, n, z.count)
    launch(z.array.device, text.taken_off(x.kind, lower), (x.start, y.start, z.start), sizes, how, 2)


def solve_triangular(inputs, params, device):
    """Return x with a @ x = b, for one triangle of a."""
    a, b = inputs
    if isinstance(b, DeviceArray) and not b.size:
        return empty(device, b.shape, b.dtype)
    if not takes(a, b):
        return NotImplemented
    x = copied(b)
    solve_in_place(as_matrices(a), as_matrices(x), params["upper"], params["unit"])
    return x


OPERATORS = {systems.solve_triangular: solve_triangular}
