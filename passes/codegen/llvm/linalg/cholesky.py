"""Cholesky factors as pool tasks: U with U^T @ U = A in place of A's upper triangle, and the transposes in and out.

A few rows of U at a time: the microkernel subtracts the products of all rows above, first from the square on the diagonal,
which is factored in registers. The columns to its right are a triangular system (`triangular.solve_tile`) with that square.
"""

from dataclasses import dataclass

from ..contract.microkernel import Operand, Precision, TileShape, multiply_add, outer_tile
from ..contract.transpose_squares import turn_in, turn_out, write_turn_square
from ..ir.emit import ElementWriter
from ..ir.types import I32, I64, PTR, VOID, bytes_of, constant, mangled, vector, zero
from ..pool.tasks import Words, write_task
from .triangular import Steps, TriangularKernel, solve_tile

ARRAYS = ("x", "upper", "out", "info")
WORDS = (*ARRAYS, "scratch", "turn", "items", "chunks", "blocks", "rows", "x_row", "x_batch", "upper_row", "upper_batch",
         "out_row", "out_batch", "first")
# `upper` has whole vectors of rows and columns. `first` is this matrix's position on the diagonal of a large one.
TASKS = ("turn", "factor", "lower")


@dataclass(frozen=True)
class CholeskyKernel(ElementWriter):
    """Generator of the three tasks."""

    @property
    def tile(self) -> TileShape:
        """The tile of the rows that are computed together."""
        return TriangularKernel(self.target, self.element).shape

    @property
    def symbols(self) -> list:
        """Names of the tasks.

            turn      upper = x^T, of the lower triangle of x; an item is a vector of rows
            factor    upper becomes U, info the number (from 1) of the first pivot that is not positive; an item is a matrix
            lower     out = U^T, zeros above it; an item is a vector of rows
        """
        return [f"cholesky_{name}_{mangled(self.element)}" for name in TASKS]

    def write(self, module):
        write_turn_square(module, self.element)
        writers = (_write_turn, _write_factor, _write_lower)
        for name, symbol, write in zip(TASKS, self.symbols, writers, strict=True):
            f = module.function(name, [(PTR, "job"), (I64, "number")], internal=True)
            write(module, self, f)
            write_task(module, symbol, name, WORDS, worker=False)


def _block_of_rows(f, job, lanes):
    batch, start = f.div(f.params[1], job.blocks), f.mul(f.mod(f.params[1], job.blocks), lanes)
    return batch, start, f.min(f.sub(job.rows, start), lanes)


def _write_turn(module, kernel, f):
    job, element, size = Words(f, f.params[0], WORDS), kernel.element, bytes_of(kernel.element)
    lanes, rows, x_row, upper_row = f.lanes(element), job.rows, job.x_row, job.upper_row
    batch, start, high = _block_of_rows(f, job, lanes)
    x, upper = (f.at(job.address(name), f.mul(batch, f.load(I64, job.spot(f"{name}_batch")))) for name in ("x", "upper"))
    corner = f.at(f.at(x, f.mul(start, x_row)), f.mul(start, size))
    goal = f.at(f.at(upper, f.mul(start, upper_row)), f.mul(start, size))
    wide = f.sub(rows, start)
    turn_in(f, element, corner, x_row, wide, high, goal, upper_row)
    f.ret()


def _write_factor(module, kernel, f):
    strips = {number: _write_strip(module, kernel, number) for number in range(1, kernel.tile.vectors + 1)}
    heights = (kernel.tile.rows, 1)
    squares = [_write_square(module, kernel, height) for height in heights]
    job, element = Words(f, f.params[0], WORDS), kernel.element
    upper, upper_row, rows = f.at(job.address("upper"), f.mul(f.params[1], job.upper_batch)), job.upper_row, job.rows
    info, whole = f.at(job.address("info"), f.params[1], I32), f.bit_and(rows, -kernel.tile.rows)
    good = constant("i1", True)
    for height, square, low, high in zip(heights, squares, (0, whole), (whole, rows)):
        with f.loop(low, high, height, [good]) as loop:
            def go_on(first=loop.index, height=height, square=square):
                bad = f.call(square, I64, upper, upper_row, first)
                with f.when(f.compare("ne", bad, 0)):
                    f.store(f.cast("trunc", f.add(bad, job.first), I32), info)
                right = f.add(first, height)
                with f.loop(right, rows, kernel.tile.columns) as along:
                    wide = f.min(f.sub(rows, along.index), kernel.tile.columns)
                    x = f.at(upper, along.index, element)
                    f.switch(f.ceil_div(wide, kernel.tile.lanes), {
                        vectors: (lambda names=names: f.call(names[height], VOID, upper, x, upper_row, first, wide))
                        for vectors, names in strips.items()})
                return [f.compare("eq", bad, 0)]

            loop.next(*f.choose(loop.carried[0], go_on, lambda: [constant("i1", False)]))
        good = loop.results[0]
    f.ret()


def _write_strip(module, kernel, vectors):
    """Write functions by height: rows of U in `vectors` vectors of columns, the last of which may be partial."""
    names, shape, size = {}, kernel.tile, bytes_of(kernel.element)
    triangular = TriangularKernel(kernel.target, kernel.element)
    for height in {shape.rows, 1}:
        f = module.function(f"strip_{height}x{vectors}", [(PTR, "upper"), (PTR, "x"), (I64, "row"), (I64, "first"),
                                                          (I64, "wide")], internal=True)
        upper, x, row, first, wide = f.params
        mask = f.mask(f.sub(wide, (vectors - 1) * shape.lanes), shape.lanes)
        solve_tile(f, triangular, Steps(size, row, row, constant("i1", False)), upper, x, first, height, vectors, mask)
        f.ret()
        names[height] = f.name
    return names


def _write_square(module, kernel, height):
    """Write the function of a diagonal square of U; it returns the number (from 1) of a pivot that is not positive, or 0."""
    element, lanes, size = kernel.element, kernel.tile.lanes, bytes_of(kernel.element)
    f = module.function(f"square_{height}", [(PTR, "upper"), (I64, "row"), (I64, "first")], ret=I64, internal=True)
    upper, row, first = f.params
    column, type_, mask = f.at(upper, f.mul(first, size)), vector(lanes, element), f.mask(height, lanes)
    sums = outer_tile(f, Precision.of(element), height, 1, lanes, first, Operand(column, size, row), Operand(column, 0, row),
                      mask, None, 2)
    addresses = [f.at(column, f.mul(f.add(first, number), row)) for number in range(height)]
    values = [f.fsub(f.load_masked(type_, address, mask), line[0]) for address, line in zip(addresses, sums)]
    bad = constant(I64, 0)
    for number in range(height):
        pivot = f.extract(values[number], number)
        failed = f.binary("and", f.compare("eq", bad, 0), f.binary("xor", f.compare("ogt", pivot, 0.0), constant("i1", True)))
        bad = f.select(failed, f.add(f.add(first, number), 1), bad)
        root = f.intrinsic("sqrt", element, pivot)
        scaled = f.fmul(values[number], f.splat(f.fdiv(constant(element, 1.0), root), lanes))
        values[number] = f.insert(scaled, root, number)
        for after in range(number + 1, height):
            by = f.splat(f.fneg(f.extract(values[number], after)), lanes)
            values[after] = multiply_add(f, by, values[number], values[after])
    for value, address in zip(values, addresses):
        f.store_masked(value, address, mask)
    f.ret(bad)
    return f.name


def _write_lower(module, kernel, f):
    job, element, size = Words(f, f.params[0], WORDS), kernel.element, bytes_of(kernel.element)
    lanes, rows, out_row = f.lanes(element), job.rows, job.out_row
    batch, start, high = _block_of_rows(f, job, lanes)
    upper = f.at(f.at(job.address("upper"), f.mul(batch, job.upper_batch)), f.mul(start, size))
    out = f.at(f.at(job.address("out"), f.mul(batch, job.out_batch)), f.mul(start, out_row))
    turn_out(f, element, upper, job.upper_row, out, out_row, high, f.min(f.add(start, lanes), rows))
    type_ = vector(lanes, element)
    with f.loop(0, high) as row:
        line, begin = f.at(out, f.mul(row.index, out_row)), f.add(f.add(start, row.index), 1)
        f.vectors(f.sub(rows, begin), lanes, lambda at, mask: f.store_masked(
            zero(type_), f.at(line, f.add(begin, at), element), mask))
    f.ret()
